//! One of our servers, as a process of its own.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::{image, system};

/// How long a server may take to listen or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes that wait for a call end this soon: tests that count processes
/// should not wait for a minute.
const IDLE: &str = "--started-ahead-idle=1s";

/// A running server. Dropping it kills it and whatever it runs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    log: Arc<Log>,
    pub folder: TempDir,
}

#[derive(Debug, Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Log {
    /// Also after a test has failed over it: then the log is wanted most.
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock()
    }
}

/// The folder of the scripts.
pub fn functions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("functions")
}

/// A configuration that maps every script to its image.
pub fn exec_config() -> String {
    let mut config = "functions:\n".to_owned();
    for script in fs::read_dir(functions()).expect("functions").flatten() {
        let name = script.file_name().into_string().expect("a name");
        config += &format!("- function: {name}\n  images: ['{}']\n", image(&name));
    }
    config
}

/// One of the workspace's binaries: in the folder that `ACCEPTANCE_BINARIES` names,
/// as `make test` does for those that users get; else built beside the test.
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        if let Some(folder) = env::var_os("ACCEPTANCE_BINARIES") {
            return folder.into();
        }
        let test = env::current_exe().expect("the test's own path");
        let folder = test
            .parent()
            .and_then(Path::parent)
            .expect("target/PROFILE")
            .to_owned();
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "-p", "runner", "-p", "wrapper-server"]);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let built = build
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo");
        assert!(built.success(), "the binaries do not build");
        folder
    });
    folder.join(name)
}

/// Where `make build-starlark` and cargo leave the program.
fn starlark_program() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places = [
        binary("starlark-function"),
        root.join("target/release/starlark-function"),
        root.join("starlark-function/target/release/starlark-function"),
        root.join("starlark-function/target/debug/starlark-function"),
    ];
    places.into_iter().find(|place| place.is_file())
}

impl Server {
    /// The runner with the exec runtime and all scripts, and `args` besides.
    pub fn runner(args: &[&str]) -> Self {
        Self::runner_with(&[], args)
    }

    /// The same with variables in its environment. What it prints is in `stdout` of its folder.
    pub fn runner_with(environment: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let stdout = fs::File::create(folder.path().join("stdout")).expect("a file");
        let config = folder.path().join("config.yaml");
        fs::write(&config, exec_config()).expect("a file");
        let mut command = Command::new(binary("function-runner"));
        command.envs(environment.iter().copied()).stdout(stdout);
        command.args(["--port=0", "--disable-runtimes=pod", IDLE]);
        command.arg(format!("--functions={}", functions().display()));
        command.arg(format!("--config={}", config.display()));
        command.args(args);
        Self::start(command, folder)
    }

    /// The runner with the starlark function beside it, which `make build-starlark` builds.
    pub fn with_starlark(exec_config: &str) -> Self {
        let starlark = starlark_program().expect("starlark-function: make build-starlark");
        let runner = binary("function-runner");
        let folder = TempDir::new_in(runner.parent().expect("a folder")).expect("a folder");
        let own = folder.path().join("function-runner");
        fs::hard_link(runner, &own).expect("a link");
        fs::copy(starlark, folder.path().join("starlark-function")).expect("a copy");
        let config = folder.path().join("config.yaml");
        fs::write(&config, exec_config).expect("a file");
        let mut command = Command::new(own);
        // Processes that wait for work would look as if they were left over.
        command.args(["--port=0", "--disable-runtimes=pod", "--started-ahead=0"]);
        command.arg(format!("--functions={}", functions().display()));
        command.arg(format!("--config={}", config.display()));
        Self::start(command, folder)
    }

    /// The wrapper server around the script `name`.
    pub fn wrapper(name: &str) -> Self {
        Self::wrapper_with(&[], name)
    }

    pub fn wrapper_with(args: &[&str], name: &str) -> Self {
        let mut command = Command::new(binary("wrapper-server"));
        command
            .args(["--port", "0", IDLE])
            .args(args)
            .arg("--")
            .arg(functions().join(name));
        Self::start(command, TempDir::new().expect("a folder"))
    }

    /// Any command that says where it is serving, with a folder that it may use.
    pub fn start(mut command: Command, folder: TempDir) -> Self {
        command
            .env("SECRET_OF_THE_SERVER", "a-secret-value")
            // Tests run beside each other.
            .env("OTEL_EXPORTER_PROMETHEUS_PORT", "0")
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let stderr = child.stderr.take().expect("a pipe");
        let log = Arc::new(Log::default());
        let writer = Arc::clone(&log);
        // Ends with the server, when the pipe closes.
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                writer.lines().push(line);
                writer.changed.notify_all();
            }
        });
        let mut server = Self {
            child,
            port: 0,
            log,
            folder,
        };
        let line = server.wait_for_log("serving");
        // As text `address=[::]:PORT`, as JSON `"address":"[::]:PORT"`.
        let port = line.split("[::]:").nth(1).expect("an address");
        let end = port
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(port.len());
        server.port = port[..end].parse().expect("a port");
        server
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where the status page and the metrics are.
    pub fn status_address(&self) -> String {
        let line = self.wait_for_log("status page: http://");
        let (_, address) = line.split_once("http://").expect("an address");
        address.split('/').next().expect("an address").to_owned()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A new connection.
    pub async fn connect(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address()));
        endpoint
            .expect("an address")
            .connect()
            .await
            .expect("a connection")
    }

    pub fn log(&self) -> String {
        self.log.lines().join("\n")
    }

    /// How many lines of the log have this text.
    pub fn lines_with(&self, text: &str) -> usize {
        let lines = self.log.lines();
        lines.iter().filter(|line| line.contains(text)).count()
    }

    /// Waits for a line with `text` in the log.
    pub fn wait_for_log(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut lines = self.log.lines();
        loop {
            if let Some(line) = lines.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {text:?} in the log:\n{}",
                lines.join("\n")
            );
            self.log.changed.wait_for(&mut lines, left);
        }
    }

    /// Replaces the exec runtime's configuration as a ConfigMap mount does: the
    /// new file takes the old one's place in one step.
    pub fn replace_config(&self, text: &str) {
        let mut file = tempfile::NamedTempFile::new_in(self.folder.path()).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file.persist(self.folder.path().join("config.yaml"))
            .expect("replaced");
    }

    /// Asks the server to stop.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("a live server");
    }

    /// Asks the server to stop as somebody at a terminal does.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("a live server");
    }

    /// Waits for the server's end.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "the server does not end:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server as the system does when there is no memory left.
    pub fn kill(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).expect("a live server");
        self.wait();
    }

    /// Waits until no function, nor anything that one has started, is left.
    pub fn assert_nothing_left_running(&self) {
        system::wait_until("processes left", || {
            let left = system::descendants(self.pid());
            if left.is_empty() {
                Ok(())
            } else {
                Err(format!("{left:?}"))
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let below = system::descendants(self.pid());
            let _ = self.child.kill();
            let _ = self.child.wait();
            for (pid, _) in below {
                if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}\n---", self.log());
        }
    }
}
