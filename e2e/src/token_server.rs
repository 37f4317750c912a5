//! A small token server: gives the registry's users tokens for what they may pull.
//!
//! It speaks just enough HTTP for one request per connection, and signs with a key whose
//! certificate the registry trusts.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::real_registry::{PASSWORD, USER};

/// Traded in for a token, as long as it is this one.
pub const IDENTITY_TOKEN: &str = "identity-token-of-the-test";

const ISSUER: &str = "the test's token server";
const SERVICE: &str = "the test's registry";

/// What tokens are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issues {
    /// What was asked for.
    Asked,
    /// Nothing.
    Nothing,
    /// What was asked for, an hour ago.
    Expired,
}

#[derive(Debug)]
pub struct TokenServer {
    port: u16,
    files: TempDir,
    issues: Arc<Mutex<Issues>>,
    listener: TcpListener,
    serving: Option<JoinHandle<()>>,
}

impl TokenServer {
    pub fn start() -> Result<Self> {
        let files = TempDir::new()?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(Vec::new())?.self_signed(&key)?;
        fs::write(files.path().join("root.crt"), certificate.pem())?;
        let signer = Signer::new(&key, certificate.der())?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let issues = Arc::new(Mutex::new(Issues::Asked));
        let (accepting, what) = (listener.try_clone()?, Arc::clone(&issues));
        let serving = thread::spawn(move || {
            for stream in accepting.incoming() {
                let Ok(stream) = stream else { return };
                let issues = *what.lock();
                // It does not matter if the client has gone away.
                let _ = answer(stream, &signer, issues);
            }
        });
        Ok(Self {
            port,
            files,
            issues,
            listener,
            serving: Some(serving),
        })
    }

    pub fn issue(&self, issues: Issues) {
        *self.issues.lock() = issues;
    }

    /// The settings with which a registry wants tokens of this server.
    pub(crate) fn registry_settings(&self) -> Value {
        json!({
            "realm": format!("http://127.0.0.1:{}/token", self.port),
            "service": SERVICE,
            "issuer": ISSUER,
            "rootcertbundle": self.certificate(),
        })
    }

    fn certificate(&self) -> PathBuf {
        self.files.path().join("root.crt")
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        // Wakes the thread that accepts, with an error.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

struct Signer {
    key: EcdsaKeyPair,
    certificate: String,
}

impl Signer {
    fn new(key: &KeyPair, certificate: &[u8]) -> Result<Self> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, &key.serialize_der(), &random);
        Ok(Self {
            key: key.ok().context("an ECDSA key")?,
            certificate: BASE64_STANDARD.encode(certificate),
        })
    }

    fn token(&self, access: &Value, issued: u64) -> Result<String> {
        let header = json!({ "typ": "JWT", "alg": "ES256", "x5c": [self.certificate] });
        let claims = json!({
            "iss": ISSUER, "sub": USER, "aud": SERVICE, "jti": "1", "access": access,
            "iat": issued, "nbf": issued, "exp": issued + 300,
        });
        let encode = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.ok().context("a signature")?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
        Ok(format!("{signed}.{signature}"))
    }
}

fn answer(mut stream: TcpStream, signer: &Signer, issues: Issues) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let length = header(&head, "content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let asked = format!(
        "{} {}",
        head.lines().next().unwrap_or(""),
        String::from_utf8(body)?
    );
    let password = BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let is_user = header(&head, "authorization") == Some(&format!("Basic {password}"));
    let is_known = is_user || asked.contains(&format!("refresh_token={IDENTITY_TOKEN}"));
    let (status, text) = if is_known {
        let scope = asked
            .split(['&', '?', ' '])
            .find_map(|part| part.strip_prefix("scope="));
        let scope = scope
            .unwrap_or_default()
            .replace("%3A", ":")
            .replace("%2F", "/");
        let mut now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        if issues == Issues::Expired {
            now -= 3600;
        }
        let access = match (issues, scope.split(':').collect::<Vec<_>>().as_slice()) {
            (Issues::Asked | Issues::Expired, [kind, name, actions]) => {
                let actions: Vec<&str> = actions.split(',').collect();
                json!([{ "type": kind, "name": name, "actions": actions }])
            }
            _ => json!([]),
        };
        let token = signer.token(&access, now)?;
        ("200 OK", json!({ "token": token }).to_string())
    } else {
        (
            "401 Unauthorized",
            json!({ "details": "who are you?" }).to_string(),
        )
    };
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}"
    )?;
    Ok(stream.shutdown(Shutdown::Write)?)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let pairs = head.lines().filter_map(|line| line.split_once(": "));
    let mut named = pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value)
}
