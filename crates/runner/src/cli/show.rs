//! Shows what came back: resources to standard output, everything that is for a
//! person's eyes to standard error.

use std::{
    env,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _, stderr, stdout},
};

use krm::resource_list::{self, FunctionResult};
use tonic::Status;

use super::yaml;

/// Colours for a terminal, or none.
#[derive(Debug, Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn for_stderr() -> Self {
        Self(stderr().is_terminal() && env::var_os("NO_COLOR").is_none())
    }

    fn bold_red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn severity(self, severity: &str) -> String {
        let text = format!("[{severity}]");
        match severity {
            "error" => self.with("31", &text),
            "warning" => self.with("33", &text),
            _ => self.with("36", &text),
        }
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Prints the resulting resources, then what the function had to say.
pub(super) fn answer(list: &[u8], log: &[u8]) -> io::Result<()> {
    let paint = Paint::for_stderr();
    let read = resource_list::read(list).ok();
    let resources = read.as_ref().and_then(|list| resources(list.items?));
    match resources {
        Some(resources) => stdout().write_all(resources.as_bytes())?,
        // In a form that cannot be taken apart unparsed: better whole than not.
        None => stdout().write_all(list)?,
    }
    stdout().flush()?;
    let results = read.map(|list| list.results.list).unwrap_or_default();
    stderr().write_all(told(&results, log, paint).as_bytes())
}

/// Prints why a call failed.
pub(super) fn failure(status: &Status) {
    let paint = Paint::for_stderr();
    let message = status.message();
    let (headline, rest) = message.split_once('\n').unwrap_or((message, ""));
    eprintln!(
        "{} {headline}",
        paint.bold_red(&format!("{:?}:", status.code()))
    );
    if !rest.is_empty() {
        eprintln!("{rest}");
    }
}

/// The entries of `items` as a stream of documents.
fn resources(items: &str) -> Option<String> {
    if items.trim() == "[]" || items.trim().is_empty() {
        return Some(String::new());
    }
    if let Some(entries) = yaml::entries(items) {
        return Some(entries.join("---\n"));
    }
    let values: Vec<serde_json::Value> = serde_json::from_str(items).ok()?;
    let texts: Vec<String> = values.iter().map(|value| format!("{value:#}\n")).collect();
    Some(texts.join("---\n"))
}

/// Results and log, readable.
fn told(results: &[FunctionResult], log: &[u8], paint: Paint) -> String {
    let mut text = String::new();
    for result in results {
        let subject = result.subject();
        let gap = if subject.is_empty() { "" } else { " " };
        let severity = paint.severity(&result.severity);
        let _ = writeln!(text, "{severity}{gap}{subject}: {}", result.message);
        if !result.file.is_empty() {
            let _ = writeln!(text, "{}", paint.dim(&format!("    in {}", result.file)));
        }
    }
    for line in String::from_utf8_lossy(log).lines() {
        let _ = writeln!(text, "{} {line}", paint.dim("log |"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_printed_as_a_stream() {
        assert_eq!(
            resources("\n- a: 1\n  # c\n- b: 2\n").unwrap(),
            "a: 1\n# c\n---\nb: 2\n"
        );
        assert_eq!(resources(" []\n").unwrap(), "");
        assert_eq!(
            resources("[{\"a\":1},2]").unwrap(),
            "{\n  \"a\": 1\n}\n---\n2\n"
        );
        assert_eq!(resources(" [{a: 1}]\n"), None);
    }

    #[test]
    fn colour_is_for_terminals_only() {
        let result = FunctionResult {
            severity: "error".into(),
            message: "bad".into(),
            name: "x".into(),
            file: "f.yaml".into(),
            ..Default::default()
        };
        let results = [result];
        assert_eq!(
            told(&results, b"one\ntwo", Paint(false)),
            "[error] x: bad\n    in f.yaml\nlog | one\nlog | two\n"
        );
        assert!(told(&results, b"", Paint(true)).starts_with("\x1b[31m[error]\x1b[0m x: bad\n"));
    }
}
