//! Whom a registry's certificate has to convince, and in which order.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, Result, ensure};
use e2e::inspection::Inspect;
use e2e::real_registry::{Certificates, ELSEWHERE, Guard, Images, PASSWORD, RealRegistry, USER};
use serde_json::json;

/// A registry behind TLS, and an inspection with the right password.
fn scene(certificates: &Certificates) -> Result<(RealRegistry, impl Fn() -> Result<Inspect>)> {
    let images = Images::new()?;
    images.store_command("fn:v1", "/fn")?;
    let registry = RealRegistry::start(&images, Guard::Password(certificates))?;
    let host = registry.host();
    let inspect = move || {
        let _served = &images;
        let entry = json!({ "username": USER, "password": PASSWORD });
        Inspect::new(&format!("{host}/fn:v1"))?.private(&json!({ &host: entry }))
    };
    Ok((registry, inspect))
}

#[test]
fn an_unknown_authority_is_refused_and_told_how_to_be_known() -> Result<()> {
    let certificates = Certificates::new()?;
    let (_registry, inspect) = scene(&certificates)?;
    let inspected = inspect()?.run()?;
    let complaint = inspected.complaint()?;
    ensure!(
        complaint.contains("an authority that this system does not trust"),
        "{complaint}"
    );
    ensure!(
        complaint.contains("ca.crt") && complaint.contains("--enable-private-registries-tls"),
        "{complaint}"
    );
    ensure!(complaint.contains("--tls-secret-path"), "{complaint}");
    Ok(())
}

#[test]
fn the_custom_authority_is_asked_first() -> Result<()> {
    let certificates = Certificates::new()?;
    let (_registry, inspect) = scene(&certificates)?;
    let authority = certificates.authority();
    let expected = format!("verified by {}", authority.join("ca.crt").display());
    let inspected = inspect()?.trusting(&authority).run()?.succeeded()?;
    ensure!(inspected.answer["tls"] == expected, "{inspected:?}");
    ensure!(inspected.stderr.is_empty(), "{}", inspected.stderr);
    // By its other name, too.
    std::fs::rename(authority.join("ca.crt"), authority.join("ca.pem"))?;
    inspect()?.trusting(&authority).run()?.succeeded()?;
    Ok(())
}

#[test]
fn after_a_wrong_authority_the_systems_roots_are_asked_with_a_warning() -> Result<()> {
    let certificates = Certificates::new()?;
    let others = Certificates::new()?;
    let (_registry, inspect) = scene(&certificates)?;
    // What the system trusts is said by the usual variable.
    let system = certificates.authority().join("ca.crt");
    let inspect_so = || Ok::<_, anyhow::Error>(inspect()?.env("SSL_CERT_FILE", &system));
    let inspected = inspect_so()?
        .trusting(&others.authority())
        .run()?
        .succeeded()?;
    let tls = inspected.answer["tls"].as_str().unwrap_or_default();
    ensure!(
        tls.starts_with("verified by the system's roots, after"),
        "{tls}"
    );
    ensure!(inspected.stderr.contains("WARN"), "{}", inspected.stderr);
    ensure!(
        inspected
            .stderr
            .contains("is not signed by the authority in"),
        "{}",
        inspected.stderr
    );
    let inspected = inspect_so()?.run()?.succeeded()?;
    ensure!(
        inspected.answer["tls"] == "verified by the system's roots",
        "{inspected:?}"
    );
    // And when neither knows it, both are named.
    let inspected = inspect()?.trusting(&others.authority()).run()?;
    ensure!(
        inspected
            .complaint()?
            .contains("neither by the authority in"),
        "{inspected:?}"
    );
    Ok(())
}

#[test]
fn an_authority_that_is_not_there_is_told() -> Result<()> {
    let certificates = Certificates::new()?;
    let (_registry, inspect) = scene(&certificates)?;
    let empty = tempfile::tempdir()?;
    let inspected = inspect()?.trusting(empty.path()).run()?;
    ensure!(
        inspected
            .complaint()?
            .contains("has neither ca.crt nor ca.pem"),
        "{inspected:?}"
    );
    std::fs::write(empty.path().join("ca.crt"), "no certificate")?;
    let inspected = inspect()?.trusting(empty.path()).run()?;
    ensure!(
        inspected
            .complaint()?
            .contains("holds no certificate in PEM form"),
        "{inspected:?}"
    );
    Ok(())
}

#[test]
fn a_certificate_for_another_name_is_told() -> Result<()> {
    let certificates = Certificates::new()?;
    let (registry, _inspect) = scene(&certificates)?;
    let image = registry.host().replace("127.0.0.1", "localhost") + "/fn:v1";
    let inspect = Inspect::new(&image)?.trusting(&certificates.authority());
    let inspected = inspect.run()?;
    ensure!(
        inspected
            .complaint()?
            .contains("its certificate is for another name"),
        "{inspected:?}"
    );
    Ok(())
}

/// Lets one connection through to `target`; tells how it was asked.
fn tunnel(proxy: &TcpListener, target: &str) -> Result<String> {
    let (mut client, _) = proxy.accept()?;
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let mut server = TcpStream::connect(target)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    let answering = thread::spawn(move || {
        let _ = io::copy(&mut answers, &mut back);
        back.shutdown(Shutdown::Both)
    });
    let _ = io::copy(&mut reader, &mut server);
    let _ = server.shutdown(Shutdown::Both);
    let _ = answering.join();
    Ok(head)
}

#[test]
fn a_proxy_of_the_environment_is_used_and_sees_no_secrets() -> Result<()> {
    let certificates = Certificates::new()?;
    let (registry, _inspect) = scene(&certificates)?;
    let proxy = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://me:pass@{}", proxy.local_addr()?);
    let target = registry.host();
    let asked = thread::spawn(move || tunnel(&proxy, &target));
    let entry = json!({ "username": USER, "password": PASSWORD });
    let inspect =
        Inspect::new(&format!("{ELSEWHERE}/fn:v1"))?.private(&json!({ ELSEWHERE: entry }))?;
    let inspect = inspect.env("HTTPS_PROXY", url).env("NO_PROXY", "");
    inspect
        .trusting(&certificates.authority())
        .run()?
        .succeeded()?;
    let asked = asked.join().ok().context("the proxy panicked")??;
    ensure!(
        asked.starts_with(&format!("CONNECT {ELSEWHERE}:443 HTTP/1.1\r\n")),
        "{asked}"
    );
    ensure!(
        asked.contains("Proxy-Authorization: Basic bWU6cGFzcw=="),
        "{asked}"
    );
    ensure!(!asked.contains("\nAuthorization"), "{asked}");
    Ok(())
}
