//! The patterns in setter comments.

use memchr::memmem::Finder;

const MARK: &str = "# kpt-set: ";

/// The pattern of a comment; `None` if it is not a setter comment.
pub(super) fn of_comment(comment: &str) -> Option<&str> {
    let pattern = comment.strip_prefix(MARK)?.trim();
    (!pattern.is_empty()).then_some(pattern)
}

/// Where setter comments may begin in a text.
pub(super) fn mark() -> Finder<'static> {
    Finder::new(MARK)
}

/// Whether a text may hold setter comments.
pub(super) fn may_be_in(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), MARK.as_bytes()).is_some()
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
/// cannot be told. As by the expression with `(.*)` for each name: within the first
/// line that fits, the first names take as much as they can.
pub(super) fn values<'a, 'v>(pattern: &'a str, value: &'v str) -> Vec<(&'a str, &'v str)> {
    let names = names(pattern);
    let mut between = Vec::with_capacity(names.len() + 1);
    let mut rest = pattern;
    for name in &names {
        let (text, behind) = rest.split_once("${").unwrap_or((rest, ""));
        between.push(text);
        rest = behind.get(name.len() + 1..).unwrap_or("");
    }
    between.push(rest);
    let found = value.split('\n').find_map(|line| groups(line, &between));
    let found = found.unwrap_or_default();
    if found.iter().any(|found| found.is_empty()) {
        return Vec::new();
    }
    names.into_iter().zip(found).collect()
}

/// What stands between these texts in a line, the texts as far to the right as
/// they can be.
fn groups<'v>(line: &'v str, texts: &[&str]) -> Option<Vec<&'v str>> {
    let (first, others) = texts.split_first()?;
    let mut rest = &line[line.find(first)? + first.len()..];
    let mut groups = Vec::with_capacity(texts.len());
    for text in others.iter().rev() {
        let at = rest.rfind(text)?;
        groups.push(&rest[at + text.len()..]);
        rest = &rest[..at];
    }
    groups.push(rest);
    groups.reverse();
    // The group behind the last text belongs to no name.
    groups.truncate(others.len());
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_off_a_text_by_its_pattern() {
        let told = values("app.${stage}.${domain}", "app.dev.example");
        assert_eq!(told, [("stage", "dev"), ("domain", "example")]);
        let greedy = values("${a}-${b}", "x-y-z\nother");
        assert_eq!(greedy, [("a", "x-y"), ("b", "z")]);
        assert_eq!(values("p:${a}.", "a\np:b.c.d\n"), [("a", "b.c")]);
        assert!(values("${a}${b}", "x").is_empty());
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
