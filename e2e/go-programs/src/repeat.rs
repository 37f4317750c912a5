//! Turns a program that does its work once and ends into one that does it for every line of its standard input.
//!
//! A function's start costs far more than its work on a small list. So its module is copied out of Go's cache, `main`
//! and the calls of `os.Exit` in its own package get other names, and a `main` of ours calls them in a loop. Nothing
//! of the copy outlives the build. What the libraries keep between two runs is not undone: an answer that matters has
//! to be asked for again, of the program that runs once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

/// The loop. A crash still ends the program, with the exit code of a crash.
pub(crate) const MAIN: &str = r#"package main

import (
	"bufio"
	"fmt"
	"os"
)

type ended struct{ code int }

func endRun(code int) { panic(ended{code}) }

func main() {
	lines, answers := bufio.NewScanner(os.Stdin), os.Stdout
	for lines.Scan() {
		fmt.Fprintln(answers, runInFiles())
	}
}

func runInFiles() (code int) {
	var err error
	if os.Stdin, err = os.Open("input"); err != nil {
		panic(err)
	}
	defer os.Stdin.Close()
	if os.Stdout, err = os.Create("output"); err != nil {
		panic(err)
	}
	defer os.Stdout.Close()
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case ended:
			code = reason.code
		default:
			panic(reason)
		}
	}()
	runOnce()
	return 0
}
"#;

/// Puts a rewritten copy of the module of a package into `folder`, and has the module in `sources` use it.
pub(crate) fn rewrite(package: &str, sources: &Path, folder: &Path) -> Result<()> {
    let listed = go(
        &["list", "-m", "-mod=readonly", "-f={{.Dir}}", package],
        sources,
    )?;
    let copy = folder.join("copy").join(package);
    copy_folder(Path::new(listed.trim()), &copy)?;
    for path in own_sources(&copy)? {
        let source = fs::read_to_string(&path)?;
        fs::write(&path, renamed(&source))?;
    }
    fs::write(copy.join("repeat_main.go"), MAIN)?;
    let replaced = format!("-replace={package}={}", copy.display());
    go(&["mod", "edit", &replaced], sources).map(drop)
}

/// The files of the program's own package.
fn own_sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if name.ends_with(".go") && !name.ends_with("_test.go") {
            found.push(path);
        }
    }
    Ok(found)
}

/// A source whose `main` and whose exits are ours to call and to catch.
fn renamed(source: &str) -> String {
    let mut renamed = source.replace("func main()", "func runOnce()");
    if renamed.contains("os.Exit(") {
        renamed = renamed.replace("os.Exit(", "endRun(");
        // The import may have had no other use.
        renamed.push_str("\nvar _ = os.Args\n");
    }
    renamed
}

fn go(words: &[&str], directory: &Path) -> Result<String> {
    let output = Command::new("go")
        .args(words)
        .current_dir(directory)
        .output()
        .context("go does not run")?;
    if !output.status.success() {
        bail!(
            "go {} said: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Files of Go's cache are read-only; their copies are not.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::write(target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_is_caught_and_still_compiles_without_another_use_of_os() {
        let source = "package main\n\nimport \"os\"\n\nfunc main() {\n\tos.Exit(1)\n}\n";
        let rewritten = renamed(source);
        assert!(rewritten.contains("func runOnce() {\n\tendRun(1)"));
        assert!(rewritten.ends_with("var _ = os.Args\n"));
        assert_eq!(renamed("package main\n"), "package main\n");
    }
}
