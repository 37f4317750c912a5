//! Container images made from local files, without a container engine.
//!
//! An image is written as an OCI layout on disk: one layer, and one manifest per architecture. The
//! same specification gives the same digest every time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
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
    /// In Go's words (`amd64`, `arm64`); more than one makes an index. Empty: this machine's.
    pub architectures: Vec<String>,
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
        let (layer, uncompressed) = layout.layer(&spec.entries)?;
        let native = [native_architecture().to_owned()];
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
    pub(crate) fn existing(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The digest by which a registry will know the image.
    pub(crate) fn digest(&self) -> Result<String> {
        let index: Value = serde_json::from_slice(&fs::read(self.directory.join("index.json"))?)?;
        let digest = index["manifests"][0]["digest"].as_str();
        Ok(digest.context("the layout names no image")?.to_owned())
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
    fn layer(&self, entries: &[Entry]) -> Result<(Value, String)> {
        let path = self.directory.join("layer.partial");
        let compressed = Hashing::new(File::create(&path)?);
        let plain = Hashing::new(GzEncoder::new(compressed, Compression::fast()));
        let mut archive = tar::Builder::new(plain);
        for entry in entries {
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
        self.directory.join("blobs").join(digest.replace(':', "/"))
    }
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

fn native_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
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

    fn digest(directory: &Path, spec: &ImageSpec) -> String {
        let layout = Layout::write(directory, spec).unwrap();
        let digest = layout.digest().unwrap();
        assert!(layout.blob(&digest).exists());
        fs::remove_dir_all(directory).unwrap();
        digest
    }

    #[test]
    fn an_image_has_one_digest_per_content() {
        let directory = std::env::temp_dir().join(format!("image-{}", std::process::id()));
        let file = |content: &str| Entry::File {
            path: "etc/colour".to_owned(),
            content: content.as_bytes().to_vec(),
            mode: 0o644,
        };
        let blue = ImageSpec {
            entries: vec![file("blue")],
            ..ImageSpec::default()
        };
        let green = ImageSpec {
            entries: vec![file("green")],
            ..ImageSpec::default()
        };
        let several = ["amd64", "arm64"].map(str::to_owned).to_vec();
        let index = ImageSpec {
            architectures: several,
            ..blue.clone()
        };
        assert_eq!(digest(&directory, &blue), digest(&directory, &blue));
        assert_ne!(digest(&directory, &blue), digest(&directory, &green));
        assert_ne!(digest(&directory, &blue), digest(&directory, &index));
    }
}
