//! Names of pods and services: `<function>-<tag>-<digest8>-<unique>`, always a
//! valid DNS-1035 label, whatever the image is called.

use std::iter;

/// Longest DNS label.
const LONGEST: usize = 63;
const LONGEST_TAG: usize = 20;

/// A name for a pod of `image`, a full reference, whose content has `digest`
/// (`sha256:…`). `unique` distinguishes it from others of the same function.
pub(crate) fn pod_name(image: &str, digest: &str, unique: &str) -> String {
    let name = image.split('@').next().unwrap_or(image);
    let last = name.rsplit('/').next().unwrap_or(name);
    let (function, tag) = last.split_once(':').unwrap_or((last, ""));
    let hex = digest.rsplit(':').next().unwrap_or(digest);

    let mut ending = String::new();
    for part in [
        cut(&label(tag), LONGEST_TAG),
        cut(&label(hex), 8),
        &label(unique),
    ] {
        if !part.is_empty() {
            ending.push('-');
            ending.push_str(part);
        }
    }
    let mut function = label(function);
    if !function.starts_with(|c: char| c.is_ascii_lowercase()) {
        // A label of this kind begins with a letter.
        function.insert_str(0, if function.is_empty() { "fn" } else { "fn-" });
    }
    format!("{}{}", cut(&function, LONGEST - ending.len()), ending)
}

/// `text` with nothing but lower-case letters, digits and single dashes inside.
fn label(text: &str) -> String {
    let mut label = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            label.push(c.to_ascii_lowercase());
        } else if !label.ends_with('-') {
            label.push('-');
        }
    }
    label.trim_matches('-').to_owned()
}

/// At most `longest` bytes of a label, without a dash at its end.
fn cut(label: &str, longest: usize) -> &str {
    label[..label.len().min(longest)].trim_end_matches('-')
}

/// Distinguishes pods of the same image: five random letters and digits.
pub(crate) fn unique() -> String {
    const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let digit = || char::from(DIGITS[fastrand::usize(..DIGITS.len())]);
    iter::repeat_with(digit).take(5).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef";

    #[test]
    fn names_say_what_runs() {
        for (image, name) in [
            (
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
                "set-labels-v0-2-0-01234567-x1",
            ),
            ("localhost:5000/fn", "fn-01234567-x1"),
            ("a/fn@sha256:ffff", "fn-01234567-x1"),
            ("a/fn:V1_Beta@sha256:ffff", "fn-v1-beta-01234567-x1"),
            ("a/3scale_fn:1", "fn-3scale-fn-1-01234567-x1"),
        ] {
            assert_eq!(pod_name(image, DIGEST, "x1"), name);
        }
    }

    #[test]
    fn long_names_keep_their_ending() {
        let name = pod_name(
            &format!("a/{}:{}", "f".repeat(200), "t".repeat(128)),
            DIGEST,
            "x1",
        );
        assert_eq!(name.len(), LONGEST);
        assert!(name.ends_with(&format!("f-{}-01234567-x1", "t".repeat(20))));
    }

    proptest! {
        #[test]
        fn every_name_is_a_label(image in ".{0,200}", digest in ".{0,80}", unique in "[a-z0-9]{1,10}") {
            let name = pod_name(&image, &digest, &unique);
            prop_assert!(name.len() <= LONGEST && !name.ends_with('-'), "{}", name);
            prop_assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{}", name);
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            prop_assert!(name.chars().all(inner), "{}", name);
        }
    }
}
