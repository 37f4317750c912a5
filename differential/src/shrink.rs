//! A smaller list on which two functions still differ in the same way.

/// How many lists are tried at most.
const TRIES: usize = 400;

/// Drops lines as long as `differs` says that the rest still shows it: first objects
/// and long runs of lines, then single ones.
pub(crate) fn shrink(input: &str, mut differs: impl FnMut(&str) -> bool) -> String {
    let mut lines: Vec<&str> = input.lines().collect();
    let mut tries = 0;
    loop {
        let before = lines.len();
        let mut at = 0;
        while at < lines.len() {
            let mut was_dropped = false;
            for size in [block(&lines, at), 1] {
                if tries >= TRIES {
                    return joined(&lines);
                }
                tries += 1;
                let mut fewer = lines.clone();
                fewer.drain(at..at + size);
                if differs(&joined(&fewer)) {
                    lines = fewer;
                    was_dropped = true;
                    break;
                }
            }
            if !was_dropped {
                at += 1;
            }
        }
        if lines.len() == before {
            return joined(&lines);
        }
    }
}

/// How many lines belong to the one at `at`: those that are indented more.
fn block(lines: &[&str], at: usize) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines[at]);
    let more = lines[at + 1..]
        .iter()
        .take_while(|line| depth(line) > own || line.is_empty());
    1 + more.count()
}

fn joined(lines: &[&str]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_dropped() {
        let input = "a:\n  b: 1\n  c: 2\nd:\n  e: 3\n";
        let small = shrink(input, |text| text.contains("e: 3") && text.contains("d:"));
        assert_eq!(small, "d:\n  e: 3\n");
    }
}
