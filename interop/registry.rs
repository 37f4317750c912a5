//! A real registry on loopback with images in it, and the real cosign to sign them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use go_programs::{Form, Missing, Module, Program};
use images::layout::{ImageSpec, Layout};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// A registry is up in a fraction of this, on two busy cores as well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Debian's `docker-registry`; it ends with this value.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    port: u16,
    pub files: TempDir,
}

impl Registry {
    pub fn start() -> Self {
        let files = TempDir::new().expect("a folder");
        let config = files.path().join("config.json");
        let text = serde_json::json!({
            "version": "0.1",
            "storage": { "filesystem": { "rootdirectory": files.path().join("data") },
                         "delete": { "enabled": true } },
            "http": { "addr": "127.0.0.1:0", "secret": "test" },
        });
        fs::write(&config, text.to_string()).expect("a file");
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry, of the Debian package of that name, is needed");
        let output = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, port) = mpsc::channel();
        // Ends with the registry, whose output it reads.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("listening on 127.0.0.1:") {
                    let digits: String = address.chars().take_while(char::is_ascii_digit).collect();
                    let _ = sender.send(digits.parse().expect("a port"));
                }
            }
        });
        let port = port.recv_timeout(PATIENCE).expect("the registry starts");
        Self { child, port, files }
    }

    /// As image references begin.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Pushes an image that runs `command` as `name`, and returns its digest.
    pub fn push(&self, name: &str, command: &str) -> String {
        let folder = TempDir::new().expect("a folder");
        let spec = ImageSpec {
            entrypoint: vec![command.to_owned()],
            ..ImageSpec::default()
        };
        let layout = Layout::write(folder.path(), &spec).expect("a layout");
        let layout = format!("oci:{}", layout.directory().display());
        skopeo(&["copy", "--all", &layout, &self.docker(name)]);
        let digest = skopeo(&["inspect", "--format={{.Digest}}", &self.docker(name)]);
        String::from_utf8(digest.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    /// Gives what is there as `from` the name `to`, too.
    pub fn copy(&self, from: &str, to: &str) {
        skopeo(&["copy", "--all", &self.docker(from), &self.docker(to)]);
    }

    /// Changes the only layer of `from` and its digest in the manifest, and pushes that as `to`.
    pub fn tamper(&self, from: &str, to: &str, change: impl Fn(&str) -> String) {
        let folder = TempDir::new().expect("a folder");
        let place = format!("dir:{}", folder.path().display());
        skopeo(&["copy", &self.docker(from), &place]);
        let path = folder.path().join("manifest.json");
        let mut manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).expect("a manifest")).expect("JSON");
        let layer = &mut manifest["layers"][0];
        let digest = layer["digest"].as_str().expect("a digest").to_owned();
        let blob = |digest: &str| folder.path().join(digest.trim_start_matches("sha256:"));
        let content = change(&fs::read_to_string(blob(&digest)).expect("text"));
        let changed = format!("sha256:{:x}", Sha256::digest(&content));
        fs::remove_file(blob(&digest)).expect("removed");
        fs::write(blob(&changed), &content).expect("written");
        layer["digest"] = changed.into();
        layer["size"] = content.len().into();
        fs::write(path, manifest.to_string()).expect("written");
        skopeo(&["copy", &place, &self.docker(to)]);
    }

    fn docker(&self, name: &str) -> String {
        format!("docker://{}/{name}", self.host())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn skopeo(words: &[&str]) -> Output {
    let mut command = Command::new("skopeo");
    command.args(["--insecure-policy", words[0]]);
    match words[0] {
        "copy" => command.args([
            "--quiet",
            "--src-tls-verify=false",
            "--dest-tls-verify=false",
        ]),
        _ => command.arg("--tls-verify=false"),
    };
    let output = command.args(&words[1..]).output();
    let output = output.expect("skopeo, of the Debian package of that name, is needed");
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The real cosign, built once and kept as the node's programs are.
fn cosign() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let module = Module {
            name: "cosign",
            go_mod: include_str!("cosign/go.mod"),
            go_sum: include_str!("cosign/go.sum"),
            main_go: None,
            linker_flags: "-s -w".to_owned(),
            programs: vec![Program {
                name: "cosign",
                package: "github.com/sigstore/cosign/v2/cmd/cosign",
                version: "v2.6.5",
            }],
            form: Form::Once,
        };
        let built = go_programs::obtain(&[module], Missing::Build).expect("cosign builds");
        built[0].join("cosign")
    })
}

/// A pair of keys, as cosign makes them.
#[derive(Debug)]
pub struct Keys(TempDir);

impl Keys {
    pub fn generate() -> Self {
        let folder = TempDir::new().expect("a folder");
        run(Command::new(cosign())
            .arg("generate-key-pair")
            .current_dir(folder.path()));
        Self(folder)
    }

    /// A pair that openssl makes with these arguments of `genpkey`, for cosign to sign with.
    pub fn imported(arguments: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        run(Command::new("openssl")
            .arg("genpkey")
            .args(arguments)
            .args(["-out", "private.pem"])
            .current_dir(folder.path()));
        run(Command::new(cosign())
            .args([
                "import-key-pair",
                "--key=private.pem",
                "--output-key-prefix=cosign",
            ])
            .current_dir(folder.path()));
        Self(folder)
    }

    pub fn public(&self) -> PathBuf {
        self.0.path().join("cosign.pub")
    }

    /// Signs an image, which has to be named by its digest.
    pub fn sign(&self, image: &str) {
        run(&mut self.signing(image));
    }

    /// The same, with the signature as a referrer instead of under a tag of its own.
    pub fn sign_as_referrer(&self, image: &str) {
        let mut command = self.signing(image);
        command.env("COSIGN_EXPERIMENTAL", "1");
        run(command.arg("--registry-referrers-mode=oci-1-1"));
    }

    fn signing(&self, image: &str) -> Command {
        let mut command = Command::new(cosign());
        command
            .args([
                "sign",
                "--yes",
                "--tlog-upload=false",
                "--allow-insecure-registry",
                "--key",
            ])
            .arg(self.0.path().join("cosign.key"))
            .arg(image);
        command
    }
}

fn run(command: &mut Command) {
    let output = command
        .env("COSIGN_PASSWORD", "")
        .output()
        .expect("the program runs");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
