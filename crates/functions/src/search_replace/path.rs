//! Patterns of paths.

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
