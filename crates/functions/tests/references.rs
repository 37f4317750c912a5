//! What Porch 1.5.8 maps to binaries in its default exec configuration is answered
//! by a release that is reproduced: ten functions (nine here), by digest, `latest` and tag.

use functions::reference::{Rules, resolve};

const CATALOG: &str = "ghcr.io/kptdev/krm-functions-catalog/";

/// Name, tag and digest. The digest is that of the tag. Left out: set-project-id
/// v0.2.1, which is not reproduced yet (digest sha256:bd4a262d…).
const MAPPED: [(&str, &str, &str); 9] = [
    (
        "apply-setters",
        "v0.2.2",
        "sha256:b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d",
    ),
    (
        "ensure-name-substring",
        "v0.2.1",
        "sha256:d1c3450f7e23fbc165ebdba258b4cd27bd22a0c5976ddd82f0d68af37ebc5591",
    ),
    (
        "search-replace",
        "v0.2.1",
        "sha256:68149a9d65ff8e0da26c57a74f828ac93573fb7211b06c63802107b8d159145d",
    ),
    (
        "set-annotations",
        "v0.1.5",
        "sha256:cc7461139e070ffe36e9bb126b7c1818008f851a08a8a1dbb126b98366df068c",
    ),
    (
        "set-image",
        "v0.1.2",
        "sha256:3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339",
    ),
    (
        "set-labels",
        "v0.2.2",
        "sha256:584115f2212bc154ba34412063f19711b19237ff05b312c2947f49a365429e3e",
    ),
    (
        "set-namespace",
        "v0.4.2",
        "sha256:744d6bee447d42891a0ae09fa33f0dd8df43fdb71f6df3eecc0c1a4756f53b0e",
    ),
    (
        "starlark",
        "v0.5.2",
        "sha256:95805cafaffa63449e9885c10a9c00bfc3f75c9794ee14b78e4723dcc9c71e76",
    ),
    (
        "upsert-resource",
        "v0.2.1",
        "sha256:e7c19a7dbfb391506ccb021d6b6dc35152c019eed962e16f98831850600ccf40",
    ),
];

#[test]
fn what_porch_maps_to_binaries_is_answered_by_the_release_it_names() {
    let mut missing = Vec::new();
    for (name, tag, digest) in MAPPED {
        for (reference, version) in [
            (format!("{CATALOG}{name}:{tag}"), Some(tag)),
            (format!("{CATALOG}{name}@{digest}"), Some(tag)),
            (format!("{CATALOG}{name}:latest"), None),
        ] {
            match resolve(&reference, &Rules::default()) {
                Ok(chosen) => {
                    assert_eq!(chosen.function.name, name, "{reference}");
                    let answered = version.is_none_or(|tag| chosen.release.version == tag);
                    assert!(answered, "{reference} is {chosen}");
                }
                Err(reason) => missing.push(format!("{reference}: {reason}")),
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
