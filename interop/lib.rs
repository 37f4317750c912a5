//! Builds and runs the Go programs that our servers must get along with.

pub mod registry;

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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

/// Builds Go programs from the pinned modules of a folder here, once per test binary; where they are.
fn go_build(module: &str, packages: &[&str]) -> PathBuf {
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
        .args(packages)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(module))
        .env("CGO_ENABLED", "0")
        .status()
        .expect("these tests need Go: install it, or leave them out with plain `cargo test`");
    assert!(built.success(), "the Go programs do not build");
    folder
}

/// Porch's client, or the real grpc-health-probe.
fn go_program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let packages = [".", "github.com/grpc-ecosystem/grpc-health-probe"];
    FOLDER
        .get_or_init(|| go_build("porch-client", &packages))
        .join(name)
}

/// What Masterminds' semver answers to lines of `CONSTRAINT<TAB>VERSION VERSION …`, as `semver/main.go`
/// says.
pub fn semver_answers(lines: &str) -> Vec<String> {
    let program = go_build("semver", &["."]).join("semver-oracle");
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("it is piped");
    let lines = lines.to_owned();
    // It answers while it reads, so both have to go on at once.
    let feed = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    feed.join().expect("no panic").expect("it reads everything");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
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
