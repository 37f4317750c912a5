//! Builds and runs the Go programs that our servers must get along with.

pub mod registry;

use std::{
    env,
    io::Write as _,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

use acceptance::{Server, system::wait_until};
use serde::Deserialize;
use tempfile::TempDir;

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

/// The OpenTelemetry Collector: it receives OTLP, and writes what it gets into a file. Dropping it ends it.
#[derive(Debug)]
pub struct Collector {
    child: Child,
    folder: TempDir,
    grpc: u16,
    http: u16,
}

impl Collector {
    /// A collector that listens on ports of its own.
    pub fn start() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| go_build("collector", &["."]).join("collector"));
        let folder = TempDir::new().expect("a folder");
        let (grpc, http) = (free_port(), free_port());
        let config = folder.path().join("config.yaml");
        let received = folder.path().join("received");
        let text = format!(
            "receivers:\n  otlp:\n    protocols:\n      grpc: {{endpoint: '127.0.0.1:{grpc}'}}\n      http: {{endpoint: \
             '127.0.0.1:{http}'}}\nexporters:\n  file: {{path: '{}'}}\nservice:\n  telemetry: {{metrics: {{level: none}}}}\n  \
             pipelines:\n    traces: {{receivers: [otlp], exporters: [file]}}\n    metrics: {{receivers: [otlp], exporters: \
             [file]}}\n",
            received.display()
        );
        std::fs::write(&config, text).expect("a file");
        let child = Command::new(program)
            .arg(format!("--config=file:{}", config.display()))
            .stderr(Stdio::null())
            .spawn()
            .expect("the collector runs");
        let collector = Self {
            child,
            folder,
            grpc,
            http,
        };
        for port in [grpc, http] {
            wait_until("the collector listens", || {
                let connected = TcpStream::connect(("127.0.0.1", port));
                connected.map(drop).map_err(|error| error.to_string())
            });
        }
        collector
    }

    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.http)
    }

    pub fn grpc(&self) -> String {
        format!("http://127.0.0.1:{}", self.grpc)
    }

    /// Every span that it got so far, and who sent it.
    pub fn spans(&self) -> Vec<(serde_json::Value, serde_json::Value)> {
        let mut spans = Vec::new();
        for message in self.messages() {
            for resource in array(&message["resourceSpans"]) {
                for scope in array(&resource["scopeSpans"]) {
                    let sender = &resource["resource"];
                    let all = array(&scope["spans"]).iter();
                    spans.extend(all.map(|span| (span.clone(), sender.clone())));
                }
            }
        }
        spans
    }

    /// What it got so far.
    pub fn messages(&self) -> Vec<serde_json::Value> {
        let file = self.folder.path().join("received");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        // Only whole lines.
        let lines = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The elements of an array, if it is there.
pub fn array(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text attribute of a span or of who sent it.
pub fn attribute<'a>(holder: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let mut found = array(&holder["attributes"]).iter();
    let found = found.find(|attribute| attribute["key"] == name);
    found.map_or(
        &serde_json::Value::Null,
        |attribute| &attribute["value"]["stringValue"],
    )
}

/// A port that nobody listens on at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
