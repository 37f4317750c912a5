//! A status page in a real browser: `acceptance/browser/look.cjs` says what is looked at.

use std::{fs, io, path::Path, process::Command};

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// Whether it is whole: in both colour schemes, on a desk and on a phone, for a screen reader.
    Whole,
    /// Whether it can be used, and its numbers are those of `/metrics`. Nobody may call meanwhile.
    Used,
}

/// Looks at the page at this address; pictures go to a folder of `target/browser`. The error is
/// what is wrong with it.
pub fn look(address: &str, pictures: &str, what: Look) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let browser = root.join("target/browser");
    let pictures = browser.join(pictures);
    fs::create_dir_all(&pictures)?;
    let looked = Command::new("node")
        .arg(root.join("acceptance/browser/look.cjs"))
        .arg(format!("http://{address}/"))
        .arg(&pictures)
        .arg(match what {
            Look::Whole => "whole",
            Look::Used => "used",
        })
        .env("NODE_PATH", browser.join("node_modules"))
        .output()
        .map_err(|error| io::Error::other(format!("node, which drives chromium: {error}")))?;
    if looked.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&looked.stderr).into_owned();
    Err(io::Error::other(told))
}
