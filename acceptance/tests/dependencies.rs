//! What comes along with us: only licences that `deny.toml` allows.

use std::{env, fs, path::Path, process::Command};

use serde_json::Value;

/// The licences in the `allow` list of `deny.toml`.
fn allowed() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deny.toml");
    let text = fs::read_to_string(file).unwrap();
    let list = text
        .split("allow = [")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Whether a licence expression can be met: of "A OR B" one part, of "A AND B" all.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace(['(', ')'], "");
    expression.replace('/', " OR ").split(" OR ").any(|choice| {
        choice
            .split(" AND ")
            .all(|part| allowed.iter().any(|name| name == part.trim()))
    })
}

#[test]
fn dependencies_have_only_licences_that_we_allow() {
    let metadata = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
        ])
        .arg("x86_64-unknown-linux-gnu")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        metadata.status.success(),
        "{}",
        String::from_utf8_lossy(&metadata.stderr)
    );
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let allowed = allowed();
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_met(package["license"].as_str().unwrap_or("none"), &allowed))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not allowed: {refused:#?}");
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT AND ISC",
        "Apache-2.0/MIT",
        "(GPL-3.0 OR ISC)",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "none", ""] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}
