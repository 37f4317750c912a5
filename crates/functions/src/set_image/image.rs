//! The image that is wanted, and what becomes of an image that it names: three rules,
//! one of the function's own and two of kustomize's.

use std::rc::Rc;

use serde::Deserialize;

use crate::expression::{self, Expression};

/// What the configuration says of the image.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename = "types.Image", rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) name: String,
    pub(super) new_name: String,
    pub(super) tag_suffix: String,
    pub(super) new_tag: String,
    pub(super) digest: String,
}

/// How an image is taken apart and put together again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The function's own, in v0.1.2: it forgets what separates name and tag.
    Own,
    /// kustomize's up to 2022: a tag or a digest.
    TagOrDigest,
    /// kustomize's of today: a tag and a digest.
    TagAndDigest,
}

/// A rule for one image.
#[derive(Debug)]
pub(super) struct Change<'a> {
    image: &'a Image,
    rule: Rule,
    matcher: Rc<Expression>,
}

impl<'a> Change<'a> {
    /// The error is that the name, an expression by accident, is not a valid one.
    pub(super) fn new(image: &'a Image, rule: Rule) -> Result<Self, String> {
        let tag = match rule {
            Rule::Own | Rule::TagAndDigest => "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?",
            Rule::TagOrDigest => "(@sha256)?(:[a-zA-Z0-9_.{}-]*)?",
        };
        let matcher = expression::compile(&format!("^{}{tag}$", image.name))?;
        Ok(Self {
            image,
            rule,
            matcher,
        })
    }

    /// What an image becomes; `None` if it is another one.
    pub(super) fn of(&self, old: &str) -> Option<String> {
        if !self.matcher.is_match(old) {
            return None;
        }
        Some(match self.rule {
            Rule::Own => self.by_own_rule(old),
            Rule::TagOrDigest => self.by_old_rule(old),
            Rule::TagAndDigest => self.by_rule_of_today(old),
        })
    }

    fn name(&self, old: &str) -> String {
        match self.image.new_name.as_str() {
            "" => old.to_owned(),
            new => new.to_owned(),
        }
    }

    fn by_own_rule(&self, old: &str) -> String {
        let (name, tag, digest) = split(old);
        let name = self.name(name);
        let image = self.image;
        match (image.new_tag.as_str(), image.digest.as_str()) {
            (_, digest) if !digest.is_empty() => format!("{name}@{digest}"),
            ("", _) if tag.is_empty() => format!("{name}{digest}"),
            ("", _) => format!("{name}{tag}"),
            (tag, _) => format!("{name}:{tag}"),
        }
    }

    fn by_old_rule(&self, old: &str) -> String {
        let from = old.find('/').unwrap_or(0);
        let colon = old[from..].rfind(':').map(|at| from + at);
        let at = old.rfind('@').or(colon).unwrap_or(old.len());
        let name = self.name(&old[..at]);
        let image = self.image;
        match (image.new_tag.as_str(), image.digest.as_str()) {
            (_, digest) if !digest.is_empty() => format!("{name}@{digest}"),
            ("", _) => format!("{name}{}", &old[at..]),
            (tag, _) => format!("{name}:{tag}"),
        }
    }

    fn by_rule_of_today(&self, old: &str) -> String {
        let (name, tag, digest) = split(old);
        let mut name = self.name(name);
        let image = self.image;
        let (mut tag, mut digest) = (tag.to_owned(), digest);
        if !image.new_tag.is_empty() || !image.digest.is_empty() {
            (tag, digest) = (image.new_tag.clone(), &image.digest);
        } else if !image.tag_suffix.is_empty() {
            tag.push_str(&image.tag_suffix);
            digest = "";
        }
        for (separator, part) in [(':', tag.as_str()), ('@', digest)] {
            if !part.is_empty() {
                name.push(separator);
                name.push_str(part);
            }
        }
        name
    }
}

/// Name, tag and digest.
fn split(image: &str) -> (&str, &str, &str) {
    let domain = image.find('/').unwrap_or(0);
    let rest = &image[domain..];
    let (name_end, digest_at) = match (rest.find(':'), rest.find('@')) {
        (Some(colon), Some(at)) if colon < at => (colon, at),
        (_, Some(at)) => (at, at),
        (Some(colon), None) => (colon, rest.len()),
        (None, None) => (rest.len(), rest.len()),
    };
    let without = |text: &'_ str, separator| text.strip_prefix(separator).map_or(0, |_| 1);
    let (tag, digest) = (&rest[name_end..digest_at], &rest[digest_at..]);
    (
        &image[..domain + name_end],
        &tag[without(tag, ':')..],
        &digest[without(digest, '@')..],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_split_into_name_tag_and_digest() {
        for (image, parts) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1", ("nginx", "1", "")),
            ("host:5000/a/nginx", ("host:5000/a/nginx", "", "")),
            (
                "host:5000/nginx:1@sha256:0",
                ("host:5000/nginx", "1", "sha256:0"),
            ),
            ("nginx@sha256:0", ("nginx", "", "sha256:0")),
        ] {
            assert_eq!(split(image), parts);
        }
    }

    #[test]
    fn each_rule_has_its_own_idea_of_a_new_tag_with_a_digest() {
        let image = Image {
            name: "nginx".into(),
            new_tag: "2".into(),
            digest: "sha256:bb".into(),
            ..Image::default()
        };
        for (rule, old, new) in [
            (Rule::Own, "nginx:1", Some("nginx@sha256:bb")),
            (Rule::TagOrDigest, "nginx:1", Some("nginx@sha256:bb")),
            (Rule::TagOrDigest, "nginx:1@sha256:aa", None),
            (Rule::TagAndDigest, "nginx:1", Some("nginx:2@sha256:bb")),
            (Rule::TagAndDigest, "other:1", None),
        ] {
            let change = Change::new(&image, rule).expect("the name is an expression");
            assert_eq!(change.of(old).as_deref(), new, "{rule:?} {old}");
        }
    }
}
