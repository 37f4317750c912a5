//! The exec runtime's configuration file.

use serde::Deserialize;

use crate::{
    function_config::plain::{Bundled, Executable, Origin, Wanted},
    images,
};

/// One function: an executable, and the images that it stands for.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) function: String,
    #[serde(default)]
    pub(super) images: Vec<String>,
}

impl Entry {
    /// As plain data; names without a slash are below `prefix`.
    pub(super) fn read(self, prefix: &str) -> Executable {
        let images = self.images.iter();
        Executable {
            origin: Origin::File,
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
    fn what_does_not_parse_is_told_with_its_place() {
        for text in [
            "functions: 3",
            "functions:\n- images: [a]\n",
            "functions: [",
            "- a",
        ] {
            let told = parse(text).unwrap_err().to_string();
            assert!(told.contains("line"), "{text:?}: {told}");
        }
    }
}
