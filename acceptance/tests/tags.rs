//! Porch 1.6's tag beside the image: a version, or a constraint that our own functions satisfy,
//! without a cluster and without a registry.

use acceptance::{LIST, Server, evaluate};
use proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tonic::{Code, Status};

async fn ask(server: &Server, image: &str, tag: &str) -> Result<EvaluateFunctionResponse, Status> {
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: image.into(),
        tag: tag.into(),
    };
    evaluate(server.connect().await, request).await
}

#[tokio::test]
async fn a_constraint_is_the_highest_configured_executable_that_satisfies_it() {
    let server = Server::runner(&[]);
    for (image, tag) in [
        ("test/echo", "v1"),
        ("test/echo:v9", "v1"),
        ("test/echo", ">=v1 <v2"),
        ("test/echo:v9", "1.x"),
    ] {
        let answer = ask(&server, image, tag).await.unwrap();
        assert_eq!(answer.resource_list, LIST, "{image} {tag}");
    }
    let status = ask(&server, "test/echo", ">=2").await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "no tag of \"test/echo\" satisfies \">=2\" (looked at: 1 configured or bundled versions); \
         `function-runner inspect test/echo --tag \">=2\"` shows why not"
    );
    let status = ask(&server, "test/echo", "v2").await.unwrap_err();
    assert!(status.message().contains("\"test/echo:v2\""), "{status}");
}

#[tokio::test]
async fn a_constraint_is_the_highest_bundled_release_that_satisfies_it() {
    let server = Server::runner(&[]);
    let list = format!(
        "{LIST}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  \
         data: {{namespace: prod}}\n"
    );
    for (image, tag, release) in [
        ("gcr.io/kpt-fn/set-namespace", "=v0.4.1", "v0.4.1"),
        (
            "gcr.io/kpt-fn/set-namespace:v0.1",
            ">=v0.4.0 <v0.4.3",
            "v0.4.2",
        ),
        // Of the default prefix.
        ("set-namespace", "~v0.4.2, <0.4.6", "v0.4.5"),
    ] {
        let request = EvaluateFunctionRequest {
            resource_list: list.clone().into(),
            image: image.into(),
            tag: tag.into(),
        };
        evaluate(server.connect().await, request).await.unwrap();
        let line = server.wait_for_log(&format!("set-namespace@{release}"));
        assert!(line.contains("evaluated"), "{line}");
    }
}

#[tokio::test]
async fn a_tag_that_no_image_can_have_is_refused() {
    let server = Server::runner(&[]);
    for tag in ["a b", "-x", "v1@sha256:0", "1.0.0+build"] {
        let status = ask(&server, "test/echo", tag).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{tag}: {status}");
        assert!(status.message().contains(&format!("{tag:?}")), "{status}");
    }
}
