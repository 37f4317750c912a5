//! The two registries: Debian's `docker-registry` with two configurations.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Launch, Ready};
use crate::command::call;
use crate::layout::{NODE_ADDRESS, state, write};
use crate::pki::Identity;
use crate::registry::{PASSWORD, Registry, USER};

pub(super) fn launch(registry: Registry) -> Result<Launch> {
    let home = state(registry.host());
    let mut config = json!({
        "version": "0.1",
        "log": { "level": "warn", "accesslog": { "disabled": false } },
        "storage": {
            "filesystem": { "rootdirectory": home.join("images") },
            "delete": { "enabled": true },
        },
        "http": {
            "addr": format!("{NODE_ADDRESS}:{}", registry.port()),
            // Only signs upload addresses; given, so that it need not warn about making one up.
            "secret": "test",
        },
    });
    if registry == Registry::Private {
        let passwords = home.join("htpasswd");
        write(&passwords, &password_line()?)?;
        let identity = Identity::of(registry.host());
        config["http"]["tls"] = json!({ "certificate": identity.certificate, "key": identity.key });
        config["auth"] = json!({ "htpasswd": { "realm": "test", "path": passwords } });
    }
    let file = home.join("config.json");
    write(&file, &Value::to_string(&config))?;
    Ok(Launch {
        program: PathBuf::from("docker-registry"),
        arguments: vec!["serve".to_owned(), file.display().to_string()],
    })
}

pub(super) fn ready(registry: Registry) -> Ready {
    match registry {
        Registry::Open => Ready::Http {
            port: registry.port(),
            path: "/v2/",
        },
        Registry::Private => Ready::Port(registry.port()),
    }
}

/// The registry reads bcrypt only; the lowest cost is enough for a published password.
fn password_line() -> Result<String> {
    call("htpasswd", &["-n", "-b", "-B", "-C", "4", USER, PASSWORD])
}
