//! TLS on the port: who is served, who is not, and new certificates under load. The
//! clients are our own `eval` and probe; `interop` has the real grpc-health-probe.

use std::{
    fs,
    net::TcpStream,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use acceptance::{
    LIST, Server, image,
    server::binary,
    tls::{Authority, Validity, replace},
};
use tempfile::TempDir;

const PORCH: &str = "porch-server.porch-system.svc";
const SPIFFE: &str = "spiffe://cluster.local/ns/porch-system/sa/porch-server";

/// A runner with TLS, and the files around it.
struct Secured {
    files: TempDir,
    authority: Authority,
    server: Server,
}

impl Secured {
    /// `args` may speak of the files by name.
    fn start(args: &[&str]) -> Self {
        let files = TempDir::new().unwrap();
        let authority = Authority::new();
        fs::write(files.path().join("ca.crt"), authority.pem()).unwrap();
        authority.issue(files.path(), "server", &["localhost"], Validity::Now);
        let at = |name: &str| files.path().join(name).display().to_string();
        let mut flags = vec![
            format!("--tls-cert-file={}", at("server.crt")),
            format!("--tls-key-file={}", at("server.key")),
        ];
        flags.extend(args.iter().map(|arg| match arg.split_once("=@") {
            Some((flag, name)) => format!("{flag}={}", at(name)),
            None => (*arg).to_owned(),
        }));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = Server::runner(&flags);
        symlink(
            binary("function-runner"),
            files.path().join("grpc-health-probe"),
        )
        .unwrap();
        Self {
            files,
            authority,
            server,
        }
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    fn port(&self) -> String {
        self.server.address().rsplit_once(':').unwrap().1.to_owned()
    }

    fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// The flags of a client that shows the certificate `own`.
    fn flags(&self, own: &str) -> Vec<String> {
        let mut flags = vec![
            "--tls".to_owned(),
            format!("--tls-ca-cert={}", self.file("ca.crt")),
        ];
        if !own.is_empty() {
            flags.push(format!(
                "--tls-client-cert={}",
                self.file(&format!("{own}.crt"))
            ));
            flags.push(format!(
                "--tls-client-key={}",
                self.file(&format!("{own}.key"))
            ));
        }
        flags
    }

    fn probe(&self, flags: &[String]) -> Output {
        Command::new(self.path().join("grpc-health-probe"))
            .arg(format!("-addr=localhost:{}", self.port()))
            // A busy machine takes its time.
            .args(["-connect-timeout=20s", "-rpc-timeout=20s"])
            .args(flags)
            .output()
            .unwrap()
    }

    fn eval(&self, name: &str, flags: &[String]) -> Command {
        let list = self.path().join("list.yaml");
        fs::write(&list, LIST).unwrap();
        let mut command = Command::new(binary("function-runner"));
        command
            .args(["eval", "--image", &image(name), "--address"])
            .arg(format!("localhost:{}", self.port()))
            .args(flags)
            .arg(list);
        command
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_clients_with_the_right_certificate_are_served() {
    let begin = Instant::now();
    let secured = Secured::start(&[
        "--client-ca-file=@ca.crt",
        &format!("--allowed-clients={PORCH},{SPIFFE}"),
    ]);
    let (own, other) = (&secured.authority, Authority::new());
    let folder = secured.path();
    own.issue(folder, "porch", &[PORCH], Validity::Now);
    own.issue(folder, "workload", &[SPIFFE], Validity::Now);
    own.issue(folder, "expired", &[PORCH], Validity::Past);
    own.issue(folder, "stranger", &["stranger.example"], Validity::Now);
    own.issue(
        folder,
        "neighbour",
        &[&format!("{SPIFFE}-2")],
        Validity::Now,
    );
    other.issue(folder, "foreign", &[PORCH], Validity::Now);
    for good in ["porch", "workload"] {
        let output = secured.probe(&secured.flags(good));
        assert_eq!(output.status.code(), Some(0), "{good}: {}", said(&output));
    }
    for bad in ["", "expired", "stranger", "neighbour", "foreign"] {
        let output = secured.probe(&secured.flags(bad));
        assert!(
            matches!(output.status.code(), Some(2 | 3)),
            "{bad}: {}",
            said(&output)
        );
    }
    let plain = secured.probe(&[]);
    assert!(
        matches!(plain.status.code(), Some(2 | 3)),
        "{}",
        said(&plain)
    );
    let answer = secured
        .eval("echo", &secured.flags("porch"))
        .output()
        .unwrap();
    assert!(answer.status.success(), "{}", said(&answer));
    // The log says why, and once a minute only.
    secured.server.wait_for_log("a TLS handshake failed");
    let told = secured.server.lines_with("WARN a TLS handshake failed");
    let minutes = usize::try_from(begin.elapsed().as_secs() / 60).unwrap();
    assert!(told <= 1 + minutes, "{}", secured.server.log());
}

#[test]
fn clients_of_an_authority_that_was_removed_are_not_served() {
    let secured = Secured::start(&["--client-ca-file=@ca.crt"]);
    let folder = secured.path();
    let new = Authority::new();
    secured
        .authority
        .issue(folder, "old", &[PORCH], Validity::Now);
    new.issue(folder, "new", &[PORCH], Validity::Now);
    // What clients trust: the server's own certificate does not change.
    fs::copy(folder.join("ca.crt"), folder.join("servers.crt")).unwrap();
    let probe = |own: &str| {
        let mut flags = secured.flags(own);
        flags[1] = format!("--tls-ca-cert={}", secured.file("servers.crt"));
        secured.probe(&flags)
    };
    let served = probe("old");
    assert_eq!(served.status.code(), Some(0), "{}", said(&served));
    replace(&folder.join("ca.crt"), &new.pem());
    wait_for_lines(&secured.server, "certificates are in use", 2);
    let served = probe("new");
    assert_eq!(served.status.code(), Some(0), "{}", said(&served));
    let refused = probe("old");
    let code = refused.status.code();
    assert!(matches!(code, Some(2 | 3)), "{}", said(&refused));
}

#[test]
fn clients_verify_the_server() {
    let secured = Secured::start(&[]);
    let foreign = Authority::new();
    fs::write(secured.path().join("other.crt"), foreign.pem()).unwrap();
    let tls = |flag: String| vec!["--tls".to_owned(), flag];
    let trusted = secured.flags("");
    let named = [
        trusted.clone(),
        vec!["--tls-server-name=elsewhere.example".into()],
    ]
    .concat();
    for (flags, code) in [
        (trusted, 0),
        (tls("--tls-no-verify".into()), 0),
        (
            tls(format!("--tls-ca-cert={}", secured.file("other.crt"))),
            2,
        ),
        (named, 2),
        (vec!["--tls-no-verify".to_owned()], 1),
        (tls("--tls-client-cert=x".into()), 1),
    ] {
        let output = secured.probe(&flags);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{flags:?}: {}",
            said(&output)
        );
    }
}

#[test]
fn clients_refuse_a_server_whose_certificate_has_expired() {
    let secured = Secured::start(&[]);
    let (authority, folder) = (&secured.authority, secured.path());
    authority.issue(folder, "server", &["localhost"], Validity::Past);
    wait_for_lines(&secured.server, "certificates are in use", 2);
    let refused = secured.probe(&secured.flags(""));
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("xpired"), "{}", said(&refused));
}

#[test]
fn new_certificates_count_without_a_failed_call() {
    let secured = Secured::start(&["--client-ca-file=@ca.crt"]);
    secured
        .authority
        .issue(secured.path(), "client", &[PORCH], Validity::Now);
    let (is_over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failures: Vec<String> = thread::scope(|scope| {
        // Also if this fails below: the scope waits for its callers.
        let over = Over(&is_over);
        let callers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut failures = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let output = secured.probe(&secured.flags("client"));
                        calls.fetch_add(1, Ordering::Relaxed);
                        if !output.status.success() {
                            failures.push(said(&output));
                        }
                    }
                    failures
                })
            })
            .collect();
        // In flight while everything changes.
        let mut long = secured.eval("takes-a-second", &secured.flags("client"));
        let long = long.stdout(Stdio::null()).spawn().unwrap();
        // The authority changes as it does in life: first both are trusted, then the new
        // one signs.
        let new = Authority::new();
        fs::write(secured.path().join("new.crt"), new.pem()).unwrap();
        let both = secured.authority.pem() + &new.pem();
        replace(&secured.path().join("ca.crt"), &both);
        // The first line is about those of the start.
        wait_for_lines(&secured.server, "certificates are in use", 2);
        new.issue(secured.path(), "server", &["localhost"], Validity::Now);
        wait_for_lines(&secured.server, "certificates are in use", 3);
        let seen = calls.load(Ordering::Relaxed);
        while calls.load(Ordering::Relaxed) < seen + 4 {
            thread::yield_now();
        }
        drop(over);
        let output = long.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        callers
            .into_iter()
            .flat_map(|caller| caller.join().unwrap())
            .collect()
    });
    assert!(
        failures.is_empty(),
        "{failures:?}\n{}",
        secured.server.log()
    );
    // The server shows the new one: only its authority is trusted here.
    let mut only_new = secured.flags("client");
    only_new[1] = format!("--tls-ca-cert={}", secured.file("new.crt"));
    let output = secured.probe(&only_new);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn files_that_do_not_fit_together_change_nothing_and_do_not_let_it_start() {
    let secured = Secured::start(&[]);
    let stranger = Authority::new();
    let folder = secured.path();
    stranger.issue(folder, "stranger", &["localhost"], Validity::Now);
    fs::copy(folder.join("stranger.key"), folder.join("server.key")).unwrap();
    secured.server.wait_for_log("do not fit together");
    let output = secured.probe(&secured.flags(""));
    assert!(output.status.success(), "{}", said(&output));
    let start = |key: PathBuf| {
        let output = Command::new(binary("function-runner"))
            .args(["--port=0", "--disable-runtimes=pod"])
            .arg(format!(
                "--tls-cert-file={}",
                folder.join("server.crt").display()
            ))
            .arg(format!("--tls-key-file={}", key.display()))
            .output()
            .unwrap();
        (output.status.code(), said(&output))
    };
    for (key, words) in [
        ("server.key", "do not fit together"),
        ("missing.key", "cannot read"),
        ("server.crt", "no usable PEM private key"),
    ] {
        let (code, told) = start(folder.join(key));
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn handshakes_that_nobody_finishes_hold_up_nobody() {
    let secured = Secured::start(&[]);
    let address = secured.server.address();
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    let output = secured.probe(&secured.flags(""));
    assert!(output.status.success(), "{}", said(&output));
    drop(silent);
}

#[test]
#[ignore = "needs openssl"]
fn old_protocols_are_refused() {
    let secured = Secured::start(&[]);
    for (version, is_spoken) in [
        ("-tls1", false),
        ("-tls1_1", false),
        ("-tls1_2", true),
        ("-tls1_3", true),
    ] {
        let output = Command::new("openssl")
            .args([
                "s_client",
                "-connect",
                &format!("127.0.0.1:{}", secured.port()),
            ])
            .args([
                version,
                "-cipher",
                "ALL:@SECLEVEL=0",
                "-alpn",
                "h2",
                "-CAfile",
            ])
            .arg(secured.path().join("ca.crt"))
            .stdin(Stdio::null())
            .output()
            .expect("openssl");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
        let has_spoken =
            text.contains("Verify return code: 0 (ok)") && !text.contains("Cipher is (NONE)");
        assert_eq!(has_spoken, is_spoken, "{version}: {text}");
    }
}

/// Tells callers, when it is dropped, that they have called enough.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn wait_for_lines(server: &Server, text: &str, count: usize) {
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    while server.log().matches(text).count() < count {
        assert!(Instant::now() < deadline, "{}", server.log());
        thread::sleep(std::time::Duration::from_millis(20));
    }
}
