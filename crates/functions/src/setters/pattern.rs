//! The patterns in setter comments.

use regex::Regex;

const MARK: &str = "# kpt-set: ";

/// The pattern of a comment; `None` if it is no setter comment.
pub(super) fn of_comment(comment: &str) -> Option<&str> {
    let pattern = comment.strip_prefix(MARK)?.trim();
    (!pattern.is_empty()).then_some(pattern)
}

/// The names in a pattern, in order.
pub(super) fn names(pattern: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = pattern;
    while let Some((_, behind)) = rest.split_once("${") {
        let Some((name, behind)) = behind.split_once('}') else {
            break;
        };
        names.push(name);
        rest = behind;
    }
    names
}

/// How a name stands in a pattern.
pub(super) fn placeholder(name: &str) -> String {
    format!("${{{name}}}")
}

/// The name that a pattern is, without its brackets.
pub(super) fn bare(pattern: &str) -> &str {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix("${").unwrap_or(pattern);
    pattern.strip_suffix('}').unwrap_or(pattern)
}

/// The values that the names of a pattern have in `value`; none if one of them
/// cannot be told.
pub(super) fn values<'a>(pattern: &'a str, value: &str) -> Vec<(&'a str, String)> {
    let names = names(pattern);
    let mut expression = regex::escape(pattern);
    for name in &names {
        expression = expression.replace(&regex::escape(&placeholder(name)), "(.*)");
    }
    let Some(captures) = Regex::new(&expression)
        .ok()
        .and_then(|regex| regex.captures(value))
    else {
        return Vec::new();
    };
    let found: Vec<String> = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|found| found.as_str().to_owned())
        .collect();
    if found.len() != names.len() || found.iter().any(String::is_empty) {
        return Vec::new();
    }
    names.into_iter().zip(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_off_a_text_by_its_pattern() {
        let told = values("app.${stage}.${domain}", "app.dev.example");
        assert_eq!(
            told,
            [
                ("stage", "dev".to_owned()),
                ("domain", "example".to_owned())
            ]
        );
        assert!(values("app.${stage}", "other").is_empty());
        assert!(values("app.${stage}", "app.").is_empty());
    }

    #[test]
    fn only_setter_comments_have_patterns() {
        assert_eq!(of_comment("# kpt-set:  ${a}-b "), Some("${a}-b"));
        assert_eq!(of_comment("# kpt-set: "), None);
        assert_eq!(of_comment("# other"), None);
    }
}
