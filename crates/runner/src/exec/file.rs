//! The exec runtime's configuration file.

use std::path::PathBuf;

use goflags::value;
use process::{PROCESSES, Profile};
use serde::Deserialize;

use crate::{
    function_config::plain::{Bundled, Executable, Origin, Wanted},
    images,
};

/// One function: an executable, the images that it stands for, and what it may reach
/// and use when it is confined.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) function: String,
    #[serde(default)]
    pub(super) images: Vec<String>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    read_paths: Vec<AbsolutePath>,
    memory: Option<Memory>,
    processes: Option<u32>,
}

#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(try_from = "PathBuf")]
struct AbsolutePath(PathBuf);

impl TryFrom<PathBuf> for AbsolutePath {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        if path.is_absolute() {
            Ok(Self(path))
        } else {
            Err(format!("{} is not an absolute path", path.display()))
        }
    }
}

/// In bytes; written as a number or as `512Mi`.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Quantity")]
struct Memory(u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Quantity {
    Bytes(u64),
    Text(String),
}

impl TryFrom<Quantity> for Memory {
    type Error = String;

    fn try_from(quantity: Quantity) -> Result<Self, String> {
        match quantity {
            Quantity::Bytes(bytes) => Ok(Self(bytes)),
            Quantity::Text(text) => value::quantity(&text)
                .map(Self)
                .map_err(|wanted| format!("memory {text:?} is not {wanted}")),
        }
    }
}

impl Entry {
    #[cfg(test)]
    pub(super) fn new(function: &str, images: Vec<String>) -> Self {
        Self {
            function: function.to_owned(),
            images,
            ..Self::default()
        }
    }

    /// As plain data; names without a slash are below `prefix`.
    pub(super) fn read(self, prefix: &str) -> Executable {
        let images = self.images.iter();
        Executable {
            origin: Origin::File,
            profile: Profile {
                network: self.network,
                read_paths: self.read_paths.into_iter().map(|path| path.0).collect(),
                memory: self.memory.map(|memory| memory.0),
                processes: self.processes.map_or(PROCESSES, |most| most as usize),
            },
            images: images.map(|image| images::resolve(prefix, image)).collect(),
            wanted: Wanted::File {
                otherwise: Bundled::Named(self.function.clone()),
                path: self.function,
            },
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct File {
    #[serde(default)]
    functions: Vec<Entry>,
}

/// Reads the file's text. An empty file has no functions.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, serde_saphyr::Error> {
    // A complaint is one line of a log; the snippet would be several.
    let options = serde_saphyr::options! { with_snippet: false };
    let file: Option<File> = serde_saphyr::from_str_with_options(text, options)?;
    Ok(file.unwrap_or_default().functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_their_images_are_read() {
        let text = "# comment\nfunctions:\n- function: set-namespace\n  images:\n  - a/b:v1\n  \
                    - \"a/b@sha256:0\"\n- function: other\n  unknown: field\n";
        let entries = parse(text).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].function, "set-namespace");
        assert_eq!(entries[0].images, ["a/b:v1", "a/b@sha256:0"]);
        assert!(entries[1].images.is_empty());
        for nothing in ["", "# comment\n", "{}", "functions: []"] {
            assert_eq!(parse(nothing).unwrap(), [], "{nothing:?}");
        }
    }

    #[test]
    fn what_a_function_may_reach_and_use_is_read() {
        let text = "functions:\n- function: a\n  network: true\n  readPaths: [/opt/a]\n  \
                    memory: 512Mi\n  processes: 3\n- function: b\n  memory: 1024\n- function: c\n";
        let profiles = parse(text).unwrap().into_iter();
        let profiles: Vec<Profile> = profiles.map(|entry| entry.read("p/").profile).collect();
        let all = Profile {
            network: true,
            read_paths: vec!["/opt/a".into()],
            memory: Some(512 << 20),
            processes: 3,
        };
        let some = Profile {
            memory: Some(1024),
            ..Profile::default()
        };
        assert_eq!(profiles, [all, some, Profile::default()]);
    }

    #[test]
    fn what_does_not_parse_is_told_with_its_place() {
        for text in [
            "functions: 3",
            "functions:\n- images: [a]\n",
            "functions: [",
            "functions:\n- function: a\n  readPaths: [opt]\n",
            "functions:\n- function: a\n  memory: much\n",
            "functions:\n- function: a\n  processes: -1\n",
            "- a",
        ] {
            let told = parse(text).unwrap_err().to_string();
            assert!(told.contains("line"), "{text:?}: {told}");
        }
    }
}
