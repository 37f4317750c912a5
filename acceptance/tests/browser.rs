//! The status page in a real browser.

use acceptance::{
    LIST, Server,
    browser::{Look, look},
    call, evaluate,
};
use proto::EvaluateFunctionRequest;

#[tokio::test]
#[ignore = "needs chromium, node and the packages of scripts/browser-packages"]
async fn the_page_is_whole_in_both_colour_schemes_on_a_phone_and_for_a_screen_reader() {
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
    let address = server.status_address();
    for what in [Look::Whole, Look::Used] {
        look(&address, "pictures", what).unwrap();
    }
}
