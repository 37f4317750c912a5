//! The real grpc-health-probe against a runner with TLS, and its exit codes beside those of ours.

use std::{fs, os::unix::fs::symlink, process::Command};

use acceptance::{
    Server,
    server::binary,
    tls::{Authority, Validity},
};
use interop::real_probe;
use tempfile::TempDir;

const CLIENT: &str = "porch-server.porch-system.svc";

#[test]
fn the_real_probe_and_ours_agree_on_who_is_served() {
    let files = TempDir::new().unwrap();
    let folder = files.path();
    let (own, other) = (Authority::new(), Authority::new());
    fs::write(folder.join("ca.crt"), own.pem()).unwrap();
    fs::write(folder.join("other.crt"), other.pem()).unwrap();
    own.issue(folder, "server", &["localhost"], Validity::Now);
    own.issue(folder, "client", &[CLIENT], Validity::Now);
    own.issue(folder, "stranger", &["stranger.example"], Validity::Now);
    let at = |name: &str| folder.join(name).display().to_string();
    let server = Server::runner(&[
        &format!("--tls-cert-file={}", at("server.crt")),
        &format!("--tls-key-file={}", at("server.key")),
        &format!("--client-ca-file={}", at("ca.crt")),
        &format!("--allowed-clients={CLIENT}"),
    ]);
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    let address = format!("-addr=localhost:{port}");
    let ours = folder.join("grpc-health-probe");
    symlink(binary("function-runner"), &ours).unwrap();

    let trusted = format!("-tls-ca-cert={}", at("ca.crt"));
    let untrusted = format!("-tls-ca-cert={}", at("other.crt"));
    let pair = |name: &str| {
        [
            format!("-tls-client-cert={}", at(&format!("{name}.crt"))),
            format!("-tls-client-key={}", at(&format!("{name}.key"))),
        ]
    };
    let ([cert, key], [odd_cert, odd_key]) = (pair("client"), pair("stranger"));
    for (flags, is_served) in [
        (vec!["-tls", &trusted, &cert, &key], true),
        (vec!["-tls", "-tls-no-verify", &cert, &key], true),
        (
            vec!["-tls", &trusted, &cert, &key, "-tls-server-name=localhost"],
            true,
        ),
        (
            vec!["-tls", &trusted, &cert, &key, "-tls-server-name=elsewhere"],
            false,
        ),
        (vec!["-tls", &untrusted, &cert, &key], false),
        (vec!["-tls", &trusted, &odd_cert, &odd_key], false),
        (vec!["-tls", &trusted], false),
        (vec!["-tls-no-verify"], false),
        (vec!["-tls", &cert], false),
        (vec![], false),
    ] {
        // A busy machine takes its time.
        let all = [
            &[&*address, "-connect-timeout=20s", "-rpc-timeout=20s"],
            &flags[..],
        ]
        .concat();
        let real = real_probe(&all);
        let own = Command::new(&ours).args(&all).output().unwrap();
        for output in [&real, &own] {
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), is_served, "{flags:?}: {said}");
        }
        // Bad flags are told apart from a server that cannot be reached.
        let is_usage = |code: Option<i32>| code == Some(1);
        assert_eq!(
            is_usage(real.status.code()),
            is_usage(own.status.code()),
            "{flags:?}"
        );
    }
}
