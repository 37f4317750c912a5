//! A layout as one file, for `docker load`, `podman load` and `ctr images import`.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::layout::{Layout, blob, digest_of};

/// Writes the image as a tar file under the name `name:tag`. It is an OCI archive, with the manifest
/// that Docker's own archives have beside it; both name the same blobs. For one architecture.
pub fn archive(layout: &Layout, name: &str, tag: &str, path: &Path) -> Result<()> {
    let reference = format!("{name}:{tag}");
    let mut index = layout.index()?;
    index["manifests"][0]["annotations"] = json!({
        "org.opencontainers.image.ref.name": tag,
        "io.containerd.image.name": format!("docker.io/library/{reference}"),
    });
    let manifest = layout.json(&layout.digest()?)?;
    let layers = manifest["layers"].as_array();
    let layers = layers
        .context("an index cannot be loaded as one image")?
        .iter()
        .map(|layer| Ok(blob(digest_of(layer)?)))
        .collect::<Result<Vec<_>>>()?;
    let docker = json!([{
        "Config": blob(digest_of(&manifest["config"])?),
        "RepoTags": [reference],
        "Layers": layers,
    }]);
    let mut tar = tar::Builder::new(File::create(path)?);
    tar.mode(tar::HeaderMode::Deterministic);
    for name in ["oci-layout", "blobs"] {
        let source = layout.directory().join(name);
        if source.is_dir() {
            tar.append_dir_all(name, source)?;
        } else {
            tar.append_path_with_name(source, name)?;
        }
    }
    for (name, content) in [("index.json", index), ("manifest.json", docker)] {
        let content = content.to_string();
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, content.as_bytes())?;
    }
    tar.into_inner()?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::Read as _;

    use serde_json::Value;

    use super::*;
    use crate::layout::ImageSpec;

    #[test]
    fn both_manifests_name_what_is_in_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::write(&folder.path().join("a"), &ImageSpec::default()).unwrap();
        let path = folder.path().join("a.tar");
        archive(&layout, "colour", "blue", &path).unwrap();
        let mut files = HashMap::new();
        for entry in tar::Archive::new(File::open(&path).unwrap())
            .entries()
            .unwrap()
        {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(name, content);
        }
        let json = |name: &str| serde_json::from_slice::<Value>(&files[name]).unwrap();
        let docker = json("manifest.json");
        assert_eq!(docker[0]["RepoTags"][0], "colour:blue");
        for blob in [&docker[0]["Config"], &docker[0]["Layers"][0]] {
            assert!(files.contains_key(blob.as_str().unwrap()), "{blob}");
        }
        let digest = json("index.json")["manifests"][0]["digest"].clone();
        let name = blob(digest.as_str().unwrap()).display().to_string();
        assert!(files.contains_key(&name), "{name}");
    }
}
