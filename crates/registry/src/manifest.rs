//! What registries say about an image: manifest, index and configuration, in
//! OCI's and Docker's dialects. Pure: bytes in, meaning or error out.

use serde::Deserialize;

use crate::{digest::Digest, platform::Platform};

/// The media types to ask for; Docker's own are the older dialect.
pub(crate) const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.docker.distribution.manifest.v2+json";

/// What stands behind a tag or digest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Manifest {
    /// One image per platform.
    Index(Vec<Descriptor>),
    Image {
        config: Digest,
    },
}

/// An image of an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) digest: Digest,
    pub(crate) platform: Option<Platform>,
}

/// Why a document is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDocument {
    #[error("it is not valid JSON, or not of the expected form (line {line}, column {column})")]
    Form { line: usize, column: usize },
    #[error("it is of schema version 1, which registries gave up years ago; push the image again")]
    SchemaVersion1,
    #[error("it names neither a configuration nor images per platform")]
    Empty,
    #[error("its digest {0:?} is not one of sha256, sha384 or sha512")]
    Digest(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: Option<u32>,
    config: Option<RawDescriptor>,
    manifests: Option<Vec<RawDescriptor>>,
}

#[derive(Deserialize)]
struct RawDescriptor {
    digest: String,
    platform: Option<RawPlatform>,
}

#[derive(Deserialize)]
struct RawPlatform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    variant: Option<String>,
}

impl From<RawPlatform> for Platform {
    fn from(raw: RawPlatform) -> Self {
        Self {
            os: raw.os,
            architecture: raw.architecture,
            variant: raw.variant.filter(|variant| !variant.is_empty()),
        }
    }
}

impl Manifest {
    /// Reads either kind. The content decides which one it is: some
    /// registries send the wrong media type.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, InvalidDocument> {
        let document: Document = parse(bytes)?;
        if document.schema_version == Some(1) {
            return Err(InvalidDocument::SchemaVersion1);
        }
        if let Some(manifests) = document.manifests {
            let manifests = manifests.into_iter().map(Descriptor::try_from);
            return Ok(Self::Index(manifests.collect::<Result<_, _>>()?));
        }
        let config = document.config.ok_or(InvalidDocument::Empty)?;
        Ok(Self::Image {
            config: Descriptor::try_from(config)?.digest,
        })
    }
}

impl TryFrom<RawDescriptor> for Descriptor {
    type Error = InvalidDocument;

    fn try_from(raw: RawDescriptor) -> Result<Self, InvalidDocument> {
        let digest = raw.digest.parse();
        Ok(Self {
            digest: digest.map_err(|_| InvalidDocument::Digest(shortened(&raw.digest)))?,
            platform: raw.platform.map(Platform::from),
        })
    }
}

/// A part of a repository's list of tags.
#[derive(Debug, Deserialize)]
pub(crate) struct TagPage {
    /// Some registries say `null` for none.
    #[serde(default, deserialize_with = "none_is_empty")]
    pub(crate) tags: Vec<String>,
}

impl TagPage {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, InvalidDocument> {
        parse(bytes)
    }
}

fn none_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// What an image's configuration says about running it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImageConfig {
    /// The entrypoint followed by the arguments that come with it.
    pub(crate) command: Vec<String>,
    pub(crate) platform: Platform,
}

#[derive(Deserialize)]
struct RawConfig {
    #[serde(flatten)]
    platform: RawPlatform,
    config: Option<RawRun>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawRun {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
}

impl ImageConfig {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, InvalidDocument> {
        let RawConfig { platform, config } = parse(bytes)?;
        let (entrypoint, cmd) = config.map_or((None, None), |run| (run.entrypoint, run.cmd));
        let words = [entrypoint, cmd].into_iter().flatten().flatten();
        Ok(Self {
            command: words.collect(),
            platform: platform.into(),
        })
    }
}

/// Where a document is wrong, without quoting it: it may be anything.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, InvalidDocument> {
    serde_json::from_slice(bytes).map_err(|error| InvalidDocument::Form {
        line: error.line(),
        column: error.column(),
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

/// For the fuzz target: any bytes are read or refused with an error.
#[doc(hidden)]
pub fn understand(bytes: &[u8]) {
    if let Ok(Manifest::Index(manifests)) = Manifest::parse(bytes) {
        let _ = Platform::host().choose(&manifests);
    }
    let _ = ImageConfig::parse(bytes);
    let _ = TagPage::parse(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_told_apart_by_their_content() {
        let digest = Digest::of(b"x");
        let image =
            format!(r#"{{"schemaVersion":2,"config":{{"digest":"{digest}"}},"layers":[]}}"#);
        let config = digest.clone();
        assert_eq!(
            Manifest::parse(image.as_bytes()),
            Ok(Manifest::Image { config })
        );
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"anything","manifests":[{{"digest":"{digest}",
                "platform":{{"os":"linux","architecture":"arm","variant":"v7"}}}}]}}"#
        );
        let Ok(Manifest::Index(manifests)) = Manifest::parse(index.as_bytes()) else {
            panic!("an index")
        };
        assert_eq!(manifests[0].digest, digest);
        let platform = manifests[0].platform.as_ref().unwrap();
        assert_eq!(platform.to_string(), "linux/arm/v7");
    }

    #[test]
    fn what_is_no_manifest_is_told_why() {
        let form = |line, column| InvalidDocument::Form { line, column };
        for (text, why) in [
            ("", form(1, 0)),
            ("<html>", form(1, 1)),
            ("{}", InvalidDocument::Empty),
            (
                r#"{"schemaVersion":1,"name":"x"}"#,
                InvalidDocument::SchemaVersion1,
            ),
            (
                r#"{"config":{"digest":"md5:1"}}"#,
                InvalidDocument::Digest("md5:1".into()),
            ),
            (r#"{"manifests":"secret"}"#, form(1, 21)),
        ] {
            assert_eq!(Manifest::parse(text.as_bytes()), Err(why), "{text}");
        }
    }

    #[test]
    fn the_command_is_the_entrypoint_followed_by_cmd() {
        for (run, command) in [
            (
                r#"{"Entrypoint":["a","b"],"Cmd":["c"]}"#,
                &["a", "b", "c"][..],
            ),
            (r#"{"Entrypoint":["a"],"Cmd":null}"#, &["a"]),
            (r#"{"Cmd":["c"]}"#, &["c"]),
            ("{}", &[]),
            ("null", &[]),
        ] {
            let text = format!(r#"{{"os":"linux","architecture":"amd64","config":{run}}}"#);
            let config = ImageConfig::parse(text.as_bytes()).unwrap();
            assert_eq!(config.command, command, "{run}");
            assert_eq!(config.platform.to_string(), "linux/amd64");
        }
    }
}
