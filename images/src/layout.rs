//! An image made from local files and written as an OCI layout on disk: one layer, and one manifest
//! per architecture. The same specification gives the same digest every time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use registry::Platform;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// What an image is made of. `Default` is an empty image for this machine's architecture.
#[derive(Debug, Clone, Default)]
pub struct ImageSpec {
    pub entries: Vec<Entry>,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    /// As in a Dockerfile: a name or number, with or without a group.
    pub user: Option<String>,
    /// `NAME=value`
    pub env: Vec<String>,
    /// What a server in it listens on, as `9445/tcp`.
    pub ports: Vec<String>,
    pub labels: Vec<(String, String)>,
    /// In Go's words (`amd64`, `arm64`); more than one makes an index. Empty: this machine's.
    pub architectures: Vec<String>,
    pub packing: Packing,
}

/// What matters more about a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Packing {
    /// That it is packed soon: for tests.
    #[default]
    Quick,
    /// That it is small: for everyone who pulls it.
    Small,
}

/// One path of an image, given without a leading slash. Parent directories come by themselves.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A local file, executable for all.
    Program {
        path: String,
        source: PathBuf,
    },
    File {
        path: String,
        content: Vec<u8>,
        mode: u32,
    },
    Directory {
        path: String,
        mode: u32,
    },
    Link {
        path: String,
        target: String,
    },
}

impl Entry {
    pub fn program(path: &str, source: impl Into<PathBuf>) -> Self {
        Self::Program {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// An OCI layout on disk that holds one image.
#[derive(Debug)]
pub struct Layout {
    directory: PathBuf,
}

impl Layout {
    /// Writes the image into an empty directory, made if need be.
    pub fn write(directory: &Path, spec: &ImageSpec) -> Result<Self> {
        let layout = Self {
            directory: directory.to_owned(),
        };
        fs::create_dir_all(directory.join("blobs/sha256"))?;
        fs::write(
            directory.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )?;
        let (layer, uncompressed) = layout.layer(spec)?;
        let native = [Platform::host().architecture];
        let architectures = if spec.architectures.is_empty() {
            &native[..]
        } else {
            &spec.architectures
        };
        let mut manifests = Vec::new();
        for architecture in architectures {
            let mut manifest = layout.manifest(spec, architecture, &layer, &uncompressed)?;
            manifest["platform"] = json!({ "os": "linux", "architecture": architecture });
            manifests.push(manifest);
        }
        let root = if manifests.len() > 1 {
            let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
            layout.json_blob(INDEX, &index)?
        } else {
            manifests.remove(0)
        };
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [root] });
        fs::write(directory.join("index.json"), index.to_string())?;
        Ok(layout)
    }

    /// The layout that was written there before.
    #[must_use]
    pub fn existing(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The digest by which a registry will know the image.
    pub fn digest(&self) -> Result<String> {
        digest_of(&self.index()?["manifests"][0]).map(str::to_owned)
    }

    /// Bytes of the layers as they are pulled, and as they are unpacked. For one architecture.
    pub fn sizes(&self) -> Result<Sizes> {
        let manifest = self.json(&self.digest()?)?;
        let layers = manifest["layers"].as_array();
        let mut sizes = Sizes::default();
        for layer in layers.context("an index has no layers of its own")? {
            let blob = File::open(self.blob(digest_of(layer)?))?;
            sizes.packed += blob.metadata()?.len();
            sizes.unpacked += io::copy(&mut GzDecoder::new(blob), &mut io::sink())?;
        }
        Ok(sizes)
    }

    pub(crate) fn index(&self) -> Result<Value> {
        let text = fs::read(self.directory.join("index.json"))
            .with_context(|| format!("no image in {}", self.directory.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    pub(crate) fn json(&self, digest: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.blob(digest))?)?)
    }

    fn manifest(
        &self,
        spec: &ImageSpec,
        architecture: &str,
        layer: &Value,
        uncompressed: &str,
    ) -> Result<Value> {
        let mut run = json!({});
        let mut set = |key: &str, values: &[String]| {
            if !values.is_empty() {
                run[key] = json!(values);
            }
        };
        set("Entrypoint", &spec.entrypoint);
        set("Cmd", &spec.cmd);
        set("Env", &spec.env);
        if let Some(user) = &spec.user {
            run["User"] = json!(user);
        }
        for port in &spec.ports {
            run["ExposedPorts"][port] = json!({});
        }
        for (name, value) in &spec.labels {
            run["Labels"][name] = json!(value);
        }
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": run,
            "rootfs": { "type": "layers", "diff_ids": [uncompressed] },
        });
        let config = self.json_blob("application/vnd.oci.image.config.v1+json", &config)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        });
        self.json_blob(MANIFEST, &manifest)
    }

    /// The layer's descriptor, and the digest of its content before compression.
    fn layer(&self, spec: &ImageSpec) -> Result<(Value, String)> {
        let path = self.directory.join("layer.partial");
        let compressed = Hashing::new(File::create(&path)?);
        let level = match spec.packing {
            Packing::Quick => Compression::fast(),
            Packing::Small => Compression::default(),
        };
        let plain = Hashing::new(GzEncoder::new(compressed, level));
        let mut archive = tar::Builder::new(plain);
        for entry in &spec.entries {
            append(&mut archive, entry).with_context(|| format!("could not pack {entry:?}"))?;
        }
        let (gzip, uncompressed) = archive.into_inner()?.finish();
        let (_, digest) = gzip.finish()?.finish();
        let size = fs::metadata(&path)?.len();
        fs::rename(path, self.blob(&digest))?;
        let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
        let descriptor = json!({ "mediaType": media_type, "digest": digest, "size": size });
        Ok((descriptor, uncompressed))
    }

    fn json_blob(&self, media_type: &str, value: &Value) -> Result<Value> {
        let bytes = value.to_string().into_bytes();
        let digest = format!("sha256:{:x}", Sha256::digest(&bytes));
        fs::write(self.blob(&digest), &bytes)?;
        Ok(json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() }))
    }

    fn blob(&self, digest: &str) -> PathBuf {
        self.directory.join(blob(digest))
    }
}

/// Where a layout keeps a blob.
pub(crate) fn blob(digest: &str) -> PathBuf {
    Path::new("blobs").join(digest.replace(':', "/"))
}

pub(crate) fn digest_of(descriptor: &Value) -> Result<&str> {
    let digest = descriptor["digest"].as_str();
    digest.context("the layout names no such blob")
}

/// Of an image, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    pub packed: u64,
    pub unpacked: u64,
}

/// All times are zero and all owners root, so that equal content has an equal digest.
fn append<W: Write>(archive: &mut tar::Builder<W>, entry: &Entry) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(0);
    header.set_mode(0o755);
    header.set_size(0);
    match entry {
        Entry::Program { path, source } => {
            let file = File::open(source)?;
            header.set_size(file.metadata()?.len());
            archive.append_data(&mut header, path, file)?;
        }
        Entry::File {
            path,
            content,
            mode,
        } => {
            header.set_size(content.len() as u64);
            header.set_mode(*mode);
            archive.append_data(&mut header, path, content.as_slice())?;
        }
        Entry::Directory { path, mode } => {
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(*mode);
            archive.append_data(&mut header, path, io::empty())?;
        }
        Entry::Link { path, target } => {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)?;
        }
    }
    Ok(())
}

/// Passes bytes on and remembers their digest.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    fn finish(self) -> (W, String) {
        (self.inner, format!("sha256:{:x}", self.hash.finalize()))
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> ImageSpec {
        let entry = Entry::File {
            path: "etc/colour".to_owned(),
            content: content.as_bytes().to_vec(),
            mode: 0o644,
        };
        ImageSpec {
            entries: vec![entry],
            ..ImageSpec::default()
        }
    }

    fn digest(spec: &ImageSpec) -> String {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::write(folder.path(), spec).unwrap();
        let digest = layout.digest().unwrap();
        assert!(layout.blob(&digest).exists());
        digest
    }

    #[test]
    fn an_image_has_one_digest_per_content() {
        let (blue, green) = (file("blue"), file("green"));
        let index = ImageSpec {
            architectures: ["amd64", "arm64"].map(str::to_owned).to_vec(),
            ..blue.clone()
        };
        assert_eq!(digest(&blue), digest(&blue));
        assert_ne!(digest(&blue), digest(&green));
        assert_ne!(digest(&blue), digest(&index));
    }

    #[test]
    fn sizes_are_those_of_the_layer() {
        let folder = tempfile::tempdir().unwrap();
        let spec = file(&"blue ".repeat(10_000));
        let sizes = Layout::write(folder.path(), &spec).unwrap().sizes();
        let Sizes { packed, unpacked } = sizes.unwrap();
        assert!((50_000..60_000).contains(&unpacked), "{unpacked}");
        assert!(packed < unpacked / 10, "{packed}");
    }
}
