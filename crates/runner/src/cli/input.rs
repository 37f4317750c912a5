//! Makes a ResourceList out of what a person has: a file, a stream, a package.

use std::{
    ffi::OsStr,
    fs,
    io::{IsTerminal as _, Read as _, stdin},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::yaml;

/// Where resources come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Stdin,
    Path(PathBuf),
}

/// What configures the function.
#[derive(Debug)]
pub(super) enum FunctionConfig {
    None,
    File(PathBuf),
    /// A ConfigMap's data, as kpt makes it of `key=value` arguments.
    Values(Vec<(String, String)>),
}

/// Reads everything and makes one ResourceList of it.
pub(super) fn resource_list(source: &Source, config: &FunctionConfig) -> anyhow::Result<String> {
    let mut documents = Vec::new();
    for text in texts(source)? {
        if krm::resource_list::read(text.as_bytes()).is_ok() {
            if !matches!(config, FunctionConfig::None) {
                bail!("the input is a ResourceList, which has a functionConfig of its own");
            }
            return Ok(text);
        }
        documents.extend(yaml::documents(&text).into_iter().map(str::to_owned));
    }
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n".to_owned();
    match config {
        FunctionConfig::None => {}
        FunctionConfig::File(path) => {
            let text = read(path)?;
            match yaml::documents(&text)[..] {
                [document] => list += &format!("functionConfig:\n{}", yaml::indent(document, 2)),
                _ => bail!("{}: expected one document", path.display()),
            }
        }
        FunctionConfig::Values(values) => {
            list += "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n";
            list += "  metadata:\n    name: function-input\n  data:\n";
            for (key, value) in values {
                // JSON strings are YAML, whatever is in them.
                let (key, value) = (serde_json::json!(key), serde_json::json!(value));
                list += &format!("    {key}: {value}\n");
            }
        }
    }
    list += if documents.is_empty() {
        "items: []\n"
    } else {
        "items:\n"
    };
    list.extend(documents.iter().map(|document| yaml::as_entry(document)));
    Ok(list)
}

fn texts(source: &Source) -> anyhow::Result<Vec<String>> {
    match source {
        Source::Stdin => {
            if stdin().is_terminal() {
                bail!("name a file or a directory, or pipe resources in");
            }
            let mut text = String::new();
            stdin()
                .read_to_string(&mut text)
                .context("cannot read standard input")?;
            Ok(vec![text])
        }
        Source::Path(path) if path.is_dir() => {
            let mut files = Vec::new();
            package_files(path, &mut files)?;
            if files.is_empty() {
                bail!("{}: no .yaml or .yml files, and no Kptfile", path.display());
            }
            files.iter().map(|file| read(file)).collect()
        }
        Source::Path(path) => Ok(vec![read(path)?]),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The files of a package, in a stable order. Hidden files and folders are not
/// part of it; links are not followed out of it.
fn package_files(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot_list = || format!("cannot list {}", folder.display());
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(cannot_list)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let kind = entry.file_type().with_context(cannot_list)?;
        if hidden {
            continue;
        } else if kind.is_dir() {
            package_files(&path, files)?;
        } else if kind.is_file() && is_resource_file(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_resource_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
        || path.file_name() == Some(OsStr::new("Kptfile"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(path: &Path, config: &FunctionConfig) -> anyhow::Result<String> {
        resource_list(&Source::Path(path.to_owned()), config)
    }

    #[test]
    fn a_package_becomes_one_list_in_a_stable_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        for (name, text) in [
            ("b.yaml", "kind: B\n---\nkind: C\n"),
            ("Kptfile", "# the package\nkind: Kptfile\n"),
            ("sub/a.yml", "kind: A"),
            ("sub/.git/x.yaml", "kind: X"),
            (".hidden.yaml", "kind: X"),
            ("README.md", "text"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        assert_eq!(
            made(root, &FunctionConfig::None).unwrap(),
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n# the package\n\
             - kind: Kptfile\n- kind: B\n- kind: C\n- kind: A\n"
        );
    }

    #[test]
    fn a_resource_list_passes_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.yaml");
        let text = "kind: ResourceList # mine\nitems:   []\n";
        fs::write(&file, text).unwrap();
        assert_eq!(made(&file, &FunctionConfig::None).unwrap(), text);
        let told = made(&file, &FunctionConfig::Values(vec![])).unwrap_err();
        assert!(told.to_string().contains("functionConfig of its own"));
    }

    #[test]
    fn arguments_and_files_become_the_function_config() {
        let folder = tempfile::tempdir().unwrap();
        let (resources, config) = (folder.path().join("r.yaml"), folder.path().join("c.yaml"));
        fs::write(&resources, "").unwrap();
        fs::write(&config, "# why\nkind: SetLabels\nlabels:\n  a: b\n").unwrap();
        let values = FunctionConfig::Values(vec![("key".into(), "a: \"b\"\n".into())]);
        assert_eq!(
            made(&resources, &values).unwrap(),
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  \
             apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    \
             \"key\": \"a: \\\"b\\\"\\n\"\nitems: []\n"
        );
        assert_eq!(
            made(&resources, &FunctionConfig::File(config)).unwrap(),
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  # why\n  \
             kind: SetLabels\n  labels:\n    a: b\nitems: []\n"
        );
    }

    #[test]
    fn missing_input_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let told = made(&folder.path().join("none.yaml"), &FunctionConfig::None).unwrap_err();
        assert!(told.to_string().contains("none.yaml"), "{told}");
        let told = made(folder.path(), &FunctionConfig::None).unwrap_err();
        assert!(
            told.to_string().contains("no .yaml or .yml files"),
            "{told}"
        );
    }
}
