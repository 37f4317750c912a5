//! The status page in a real browser: acceptance/browser/look.cjs says what is looked at.

use std::{env, fs, path::Path, process::Command};

use acceptance::{LIST, Server, call, evaluate};
use proto::EvaluateFunctionRequest;

#[tokio::test]
#[ignore = "needs chromium, node and the packages of scripts/browser-packages"]
async fn the_page_is_whole_in_both_colour_schemes_on_a_phone_and_for_a_screen_reader() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let server = Server::runner(&["--pod-ttl=5m"]);
    let channel = server.connect().await;
    for name in ["echo", "echo", "says-who", "reports-errors"] {
        evaluate(channel.clone(), call(name, LIST)).await.unwrap();
    }
    for name in ["fails-with-results", "fails-with-text", "there-is-none"] {
        let answer = evaluate(channel.clone(), call(name, LIST)).await;
        answer.unwrap_err();
    }
    for image in [
        "<script>alert(1)</script>",
        "x\"><img src=x onerror=alert(1)>",
    ] {
        let hostile = EvaluateFunctionRequest {
            image: image.into(),
            resource_list: LIST.into(),
            tag: String::new(),
        };
        evaluate(channel.clone(), hostile).await.unwrap_err();
    }
    let pictures = root.join("target/browser/pictures");
    fs::create_dir_all(&pictures).unwrap();
    let looked = Command::new("node")
        .arg(root.join("acceptance/browser/look.cjs"))
        .arg(format!("http://{}/", server.status_address()))
        .arg(&pictures)
        .env("NODE_PATH", root.join("target/browser/node_modules"))
        .output()
        .expect("node");
    let told = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success(), "{told}");
}
