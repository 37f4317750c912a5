//! Just enough text work to put documents into a ResourceList and take them out
//! again, comments and all. Nothing is parsed: documents are moved as they are.

/// The documents of a stream, without those that consist of comments only.
pub(super) fn documents(text: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_separator(line) {
            documents.push(&text[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    documents.push(&text[begin..]);
    documents.retain(|document| document.lines().any(is_content));
    documents
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(" #"))
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && !line.starts_with('%') && line != "..."
}

/// `document` with every line moved to the right.
pub(super) fn indent(document: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    document.lines().fold(String::new(), |mut text, line| {
        if !line.trim().is_empty() {
            text.push_str(&margin);
            text.push_str(line);
        }
        text.push('\n');
        text
    })
}

/// `document` as an entry of a list.
pub(super) fn as_entry(document: &str) -> String {
    let mut dashed = false;
    document.lines().fold(String::new(), |mut text, line| {
        if !line.trim().is_empty() {
            // Comments before the content stand before the entry.
            text.push_str(match (dashed, is_content(line)) {
                (true, _) => "  ",
                (false, true) => "- ",
                (false, false) => "",
            });
            dashed |= is_content(line);
            text.push_str(line);
        }
        text.push('\n');
        text
    })
}

/// The entries of a block list, each as a document. `None`: it is not written
/// as a block list.
pub(super) fn entries(list: &str) -> Option<Vec<String>> {
    let first = list.lines().find(|line| is_content(line))?;
    let margin = first.len() - first.trim_start().len();
    if !is_entry(&first[margin..]) {
        return None;
    }
    let mut entries: Vec<Vec<String>> = Vec::new();
    // Comments in front of an entry belong to it.
    let mut comments = Vec::new();
    for line in list.lines() {
        let (before, rest) = line.split_at_checked(margin).unwrap_or((line, ""));
        if before.trim().is_empty() && is_entry(rest) {
            let mut entry: Vec<String> = std::mem::take(&mut comments);
            entry.push(format!("{before} {}", &rest[1..]));
            entries.push(entry);
        } else if before.trim().is_empty() && rest.starts_with('#') {
            comments.push(format!("{before}  {rest}"));
        } else if let Some(entry) = entries.last_mut() {
            entry.append(&mut comments);
            entry.push(line.to_owned());
        }
    }
    Some(entries.iter().map(|lines| dedent(lines)).collect())
}

fn is_entry(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

fn dedent(lines: &[String]) -> String {
    let margin = |line: &String| line.len() - line.trim_start().len();
    let common = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(margin)
        .min();
    let mut text = String::new();
    for line in lines {
        text.push_str(line.get(common.unwrap_or(0)..).unwrap_or(""));
        text.push('\n');
    }
    // Empty lines at the end separated this entry from the next.
    text.truncate(text.trim_end_matches('\n').len());
    text + "\n"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_is_split_and_comment_only_documents_are_dropped() {
        let text = "# head\n---\na: 1\n--- # second\n# c\nb: |\n  --- not\n---\n\n---\nc: 3";
        assert_eq!(
            documents(text),
            ["a: 1\n", "# c\nb: |\n  --- not\n", "c: 3"]
        );
        assert!(documents("").is_empty());
    }

    #[test]
    fn documents_go_into_a_list_and_come_out_as_they_were() {
        let stream = [
            "# comment\napiVersion: v1\nkind: ConfigMap\ndata:\n  text: |\n    one\n\n    two\n",
            "kind: A # why\nlist:\n- x\n- y: z\n",
            "{\n  \"kind\": \"B\"\n}\n",
        ];
        let list: String = stream.iter().map(|document| as_entry(document)).collect();
        assert_eq!(entries(&list).unwrap(), stream);
        let indented = indent(&list, 4);
        assert_eq!(entries(&indented).unwrap(), stream);
    }

    #[test]
    fn lists_that_are_not_in_block_style_are_left_alone() {
        for list in [" []\n", "\n[{a: b}]\n", "", "\n  {}\n", "\n# nothing\n"] {
            assert_eq!(entries(list), None, "{list:?}");
        }
    }

    #[test]
    fn wide_dashes_are_understood() {
        assert_eq!(
            entries("-   a: 1\n    b: 2\n-\n  c: 3\n").unwrap(),
            ["a: 1\nb: 2\n", "\nc: 3\n"]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_handled_without_a_panic(text in "[ \n#a:|%.ä-]{0,60}") {
            for document in documents(&text) {
                let _ = indent(document, 2);
                let _ = entries(&as_entry(document));
            }
            let _ = entries(&text);
        }
    }
}
