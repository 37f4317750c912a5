//! Builds and runs the Go programs that our servers must get along with.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use acceptance::Server;
use serde::Deserialize;

/// What Porch's client heard.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub code: String,
    pub message: String,
    pub details: Option<Vec<String>>,
    pub resource_list: String,
    pub log: String,
    pub seconds: f64,
}

/// One of the Go programs, built from the pinned modules.
fn go_program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let test = env::current_exe().expect("the test's own path");
        let folder = test
            .parent()
            .and_then(Path::parent)
            .expect("target/PROFILE")
            .join("interop");
        std::fs::create_dir_all(&folder).expect("a folder for the programs");
        let built = Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&folder)
            .args([".", "github.com/grpc-ecosystem/grpc-health-probe"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("porch-client"))
            .env("CGO_ENABLED", "0")
            .status()
            .expect("these tests need Go: install it, or leave them out with plain `cargo test`");
        assert!(built.success(), "the Go programs do not build");
        folder
    });
    folder.join(name)
}

/// Runs Porch's client against `server`.
pub fn porch_client(server: &Server, args: &[&str]) -> Answer {
    let output = Command::new(go_program("porch-client"))
        .arg(server.address())
        .args(args)
        .output()
        .expect("the client runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{error}: {text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// Runs the real grpc-health-probe.
pub fn real_probe(args: &[&str]) -> Output {
    Command::new(go_program("grpc-health-probe"))
        .args(args)
        .output()
        .expect("the probe runs")
}
