//! What Porch 1.5.8 maps to binaries in its default exec configuration is answered
//! by a release that is reproduced: ten functions, by digest, `latest` and tag. A
//! test each, so that a release that is missing fails for its function only.

use functions::reference::{Rules, resolve};

const CATALOG: &str = "ghcr.io/kptdev/krm-functions-catalog/";

fn answered(reference: &str) -> String {
    let chosen = resolve(&format!("{CATALOG}{reference}"), &Rules::default());
    let chosen = chosen.unwrap_or_else(|reason| panic!("{reference}: {reason}"));
    chosen.to_string()
}

macro_rules! mapped {
    ($($test:ident $name:literal $tag:literal $digest:literal)*) => {$(
        #[test]
        fn $test() {
            let release = concat!($name, "@", $tag);
            assert_eq!(answered(concat!($name, ":", $tag)), release);
            assert_eq!(answered(concat!($name, "@sha256:", $digest)), release);
            let latest = answered(concat!($name, ":latest"));
            assert!(latest.starts_with(concat!($name, "@v")), "{latest}");
        }
    )*};
}

mapped! {
    apply_setters_is_answered_by_tag_digest_and_latest "apply-setters" "v0.2.2" "b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d"
    ensure_name_substring_is_answered_by_tag_digest_and_latest "ensure-name-substring" "v0.2.1" "d1c3450f7e23fbc165ebdba258b4cd27bd22a0c5976ddd82f0d68af37ebc5591"
    search_replace_is_answered_by_tag_digest_and_latest "search-replace" "v0.2.1" "68149a9d65ff8e0da26c57a74f828ac93573fb7211b06c63802107b8d159145d"
    set_annotations_is_answered_by_tag_digest_and_latest "set-annotations" "v0.1.5" "cc7461139e070ffe36e9bb126b7c1818008f851a08a8a1dbb126b98366df068c"
    set_image_is_answered_by_tag_digest_and_latest "set-image" "v0.1.2" "3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339"
    set_labels_is_answered_by_tag_digest_and_latest "set-labels" "v0.2.2" "584115f2212bc154ba34412063f19711b19237ff05b312c2947f49a365429e3e"
    set_namespace_is_answered_by_tag_digest_and_latest "set-namespace" "v0.4.2" "744d6bee447d42891a0ae09fa33f0dd8df43fdb71f6df3eecc0c1a4756f53b0e"
    set_project_id_is_answered_by_tag_digest_and_latest "set-project-id" "v0.2.1" "bd4a262d125b48127fae24c97828f2414a1fb7547a98ced849eba18dcef51b58"
    starlark_is_answered_by_tag_digest_and_latest "starlark" "v0.5.2" "95805cafaffa63449e9885c10a9c00bfc3f75c9794ee14b78e4723dcc9c71e76"
    upsert_resource_is_answered_by_tag_digest_and_latest "upsert-resource" "v0.2.1" "e7c19a7dbfb391506ccb021d6b6dc35152c019eed962e16f98831850600ccf40"
}
