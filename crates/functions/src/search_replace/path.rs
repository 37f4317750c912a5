//! Patterns of paths.

use std::rc::Rc;

use crate::expression::{self, Expression};

/// The expression of a glob: `*` and `?` stay within a directory, `**` alone in its
/// place stands for any number of directories.
pub(super) fn glob(glob: &str) -> Result<Rc<Expression>, String> {
    let bad = || "syntax error in pattern".to_owned();
    let mut expression = String::from("(?s)^");
    let mut depth = 0usize;
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == glob.len() || glob[..glob.len() - rest.len()].ends_with('/');
        if let Some(behind) = rest.strip_prefix("**/").filter(|_| at_start) {
            expression.push_str("(?:.*/)?");
            rest = behind;
            continue;
        }
        if rest == "/**" {
            expression.push_str("(?:/.*)?");
            break;
        }
        if rest == "**" && at_start {
            expression.push_str(".*");
            break;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '*' => {
                rest = rest.trim_start_matches('*');
                expression.push_str("[^/]*");
            }
            '?' => expression.push_str("[^/]"),
            '\\' => {
                let escaped = rest.chars().next().ok_or_else(bad)?;
                rest = &rest[escaped.len_utf8()..];
                expression.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            '[' => {
                let (class, behind) = rest.split_once(']').ok_or_else(bad)?;
                let (not, class) = match class.strip_prefix(['!', '^']) {
                    Some(class) => ("^/", class),
                    None => ("", class),
                };
                let class = class.replace('[', "\\[").replace("&&", "&\\&");
                expression.push_str(&format!("[{not}{class}]"));
                rest = behind;
            }
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            ',' if depth > 0 => expression.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                expression.push(')');
            }
            c => expression.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 {
        return Err(bad());
    }
    expression.push('$');
    expression::compile(&expression).map_err(|_| bad())
}

/// `*` stands for one element of a path, `**` for any number of them.
pub(super) fn matches(path: &[&str], pattern: &[&str]) -> bool {
    // Reachable positions in the path, one pattern element after the other.
    let mut at = vec![false; path.len() + 1];
    at[0] = true;
    for element in pattern {
        if *element == "**" {
            let mut seen = false;
            for place in &mut at {
                seen |= *place;
                *place = seen;
            }
            continue;
        }
        for place in (0..path.len()).rev() {
            at[place + 1] = at[place] && (*element == "*" || matches_element(path[place], element));
        }
        at[0] = false;
    }
    at[path.len()]
}

fn matches_element(element: &str, pattern: &str) -> bool {
    if element == pattern {
        return true;
    }
    let mut parts = element.split('[');
    let (name, Some(index)) = (parts.next().unwrap_or(""), parts.next()) else {
        return false;
    };
    let mut wanted = pattern.split('[');
    let wanted_name = wanted.next().unwrap_or("");
    (wanted_name == "*" || wanted_name == name)
        && wanted
            .next()
            .is_some_and(|wanted| wanted == "*]" || wanted == index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_paths_of_files() {
        for (pattern, file, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a/b.yaml", false),
            ("**/*.yaml", "a.yaml", true),
            ("**/*.yaml", "a/b/c.yaml", true),
            ("a/**", "a/b/c.yaml", true),
            ("a/**", "b/c.yaml", false),
            ("{a,b}/?.yaml", "b/x.yaml", true),
            ("[!a]*", "a.yaml", false),
            ("[a-c]*", "b.yaml", true),
            ("a.yaml", "abyaml", false),
        ] {
            let is_match = glob(pattern).unwrap().is_match(file);
            assert_eq!(is_match, expected, "{pattern} {file}");
        }
        assert!(glob("[a").is_err() && glob("{a").is_err());
    }

    #[test]
    fn stars_match_elements_of_a_path() {
        for (path, pattern, expected) in [
            ("a.b.c", "a.*.c", true),
            ("a.b.c", "**.c", true),
            ("a.b.c", "a.**", true),
            ("a", "a.**", true),
            ("a.b.c", "*.c", false),
            ("a.b[0].c", "a.b[*].c", true),
            ("a.b[0].c", "a.*[0].c", true),
            ("a.b[0].c", "a.b[1].c", false),
            ("a.b[0].c", "a.b.c", false),
        ] {
            let split = |text: &'static str| text.split('.').collect::<Vec<_>>();
            assert_eq!(
                matches(&split(path), &split(pattern)),
                expected,
                "{path} {pattern}"
            );
        }
    }
}
