use super::*;
use crate::status::view::tests::hostile;

const BAD: &str = "<script>alert(1)</script>\"'&";

#[test]
fn markup_in_names_and_messages_stays_text() {
    let page = html(&hostile(BAD));
    assert_eq!(page.matches("<script").count(), 1, "only our own: {page}");
    assert!(
        page.matches("&lt;script&gt;alert(1)").count() > 20,
        "{page}"
    );
    // Nor does it end an attribute.
    assert!(!page.contains(">\"'&"), "{page}");
}

#[test]
fn nothing_inline_that_the_policy_forbids_and_nothing_from_elsewhere() {
    let page = html(&hostile(BAD));
    for forbidden in [
        " style=",
        "<style",
        " onclick",
        "http://",
        "https://",
        "javascript:",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for asset in [STYLE, SCRIPT] {
        assert!(!asset.contains("http") && !asset.contains("@import"));
    }
}
