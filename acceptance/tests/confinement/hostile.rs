//! A runner with a function that means harm, and what it attempts.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use acceptance::{
    LIST, Server, call, evaluate, image,
    server::{binary, functions},
    system,
};
use proto::EvaluateFunctionResponse;
use tempfile::TempDir;
use tonic::Status;

type Answer = Result<EvaluateFunctionResponse, Status>;

/// A runner with the hostile function, and `settings` in its entry.
pub fn runner(settings: &str, args: &[&str]) -> Server {
    runner_through(&[], settings, args)
}

pub fn runner_through(through: &[&str], settings: &str, args: &[&str]) -> Server {
    let folder = TempDir::new().expect("a folder");
    open(folder.path());
    let own = folder.path().join("functions");
    fs::create_dir(&own).expect("a folder");
    open(&own);
    system::copy_program(env!("CARGO_BIN_EXE_hostile"), own.join("hostile"));
    system::copy_program(functions().join("echo"), own.join("echo"));
    // What a deployment has beside its functions.
    for (name, content) in SECRETS {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("a folder");
    open(&temporary);
    let mut config = "functions:\n".to_owned();
    config += &format!("- function: echo\n  images: [{}]\n", image("echo"));
    config += &format!("- function: hostile\n  images: [{}]\n", image("hostile"));
    config += settings;
    let file = folder.path().join("config.yaml");
    fs::write(&file, config).expect("a file");
    // A copy, because the building folder may be root's alone.
    let runner = folder.path().join("function-runner");
    system::copy_program(binary("function-runner"), &runner);
    let mut words = through
        .iter()
        .map(|word| (*word).into())
        .collect::<Vec<_>>();
    words.push(runner.into_os_string());
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .args(["--port=0", "--disable-runtimes=pod", "--started-ahead=0"])
        .arg(format!("--functions={}", own.display()))
        .arg(format!("--config={}", file.display()))
        .args(args)
        .env("TMPDIR", &temporary);
    Server::start(command, folder)
}

pub const SECRETS: [(&str, &str); 2] = [
    ("token", "the-service-accounts-token"),
    (".dockerconfigjson", "the-docker-config"),
];

fn open(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("its mode");
}

pub async fn attempt(server: &Server, what: &str) -> Answer {
    let list = format!("{LIST}# try: {what}\n");
    evaluate(server.connect().await, call("hostile", list)).await
}

/// The attempt fails for the reason given, and the runner goes on.
pub async fn assert_stopped(server: &Server, what: &str, words: &str) -> Status {
    let status = match attempt(server, what).await {
        Err(status) => status,
        Ok(answer) => panic!("{what} succeeded: {:?}", answer.resource_list),
    };
    assert!(status.message().contains("test/hostile:v1"), "{status:?}");
    assert!(status.message().contains(words), "{what}: {status:?}");
    let neighbour = evaluate(server.connect().await, call("echo", LIST)).await;
    assert_eq!(neighbour.expect("a neighbour").resource_list, LIST);
    server.assert_nothing_left_running();
    status
}

pub async fn assert_done(server: &Server, what: &str) -> String {
    let answer = attempt(server, what).await;
    let list = answer.unwrap_or_else(|status| panic!("{what}: {status:?}"));
    String::from_utf8_lossy(&list.resource_list).into_owned()
}
