//! The list of a call, and what its function has to make of it. Each list carries the mark of its
//! call, in the name of every item and in the function's configuration, so that an answer that
//! belongs to another call is recognised.

use super::call::{Call, Function, Script};

/// What functions change.
const BEFORE: &str = "    namespace: before\n";

/// A call's own list.
#[derive(Debug, Clone)]
pub(crate) struct List {
    items: String,
    config: String,
}

impl List {
    pub(crate) fn new(call: &Call, mark: &str) -> Self {
        let filler = "x".repeat(call.filler);
        let item = |number| {
            // In the order in which functions write fields and items.
            format!(
                "- apiVersion: v1\n  data:\n    filler: {filler}\n  kind: ConfigMap\n  metadata:\n    \
                 name: {mark}-{number:04}\n{BEFORE}"
            )
        };
        Self {
            items: (0..call.items).map(item).collect(),
            config: config(call.function, mark),
        }
    }

    pub(crate) fn text(&self) -> String {
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{}functionConfig:\n{}",
            self.items, self.config
        )
    }

    /// Whether this is what the function makes of this list; if not, what is wrong with it.
    pub(crate) fn judge(
        &self,
        function: Function,
        mark: &str,
        answer: &[u8],
    ) -> Result<(), String> {
        let answer = String::from_utf8_lossy(answer);
        let is_right = match function {
            // These add results, and move the configuration.
            Function::SetNamespace | Function::Starlark => {
                answer.contains(&self.changed(&format!("    namespace: {mark}\n")))
            }
            Function::SetLabels => {
                let labels = format!("{BEFORE}    labels:\n      namespace: {mark}\n");
                answer.contains(&self.changed(&labels))
            }
            Function::Executable(script) | Function::Pod(script) => {
                let changed = self.text().replace(BEFORE, &after(script));
                answer == changed
            }
            Function::Misconfigured => false,
        };
        if is_right {
            return Ok(());
        }
        let start: String = answer.chars().take(120).collect();
        Err(format!(
            "an answer that is not its own, of {} bytes, which begins: {start:?}",
            answer.len()
        ))
    }

    fn changed(&self, field: &str) -> String {
        self.items.replace(BEFORE, field)
    }
}

fn config(function: Function, mark: &str) -> String {
    if function == Function::Starlark {
        return format!(
            "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata:\n    name: config\n  \
             params:\n    mark: {mark}\n  source: |\n    config = ctx.resource_list[\"functionConfig\"]\n    \
             for resource in ctx.resource_list[\"items\"]:\n      \
             resource[\"metadata\"][\"namespace\"] = config[\"params\"][\"mark\"]\n"
        );
    }
    // Its own name, so that what the function says of it is this call's too.
    let kind = if function == Function::Misconfigured {
        format!("Wrong-{mark}")
    } else {
        "ConfigMap".to_owned()
    };
    format!(
        "  apiVersion: v1\n  kind: {kind}\n  metadata:\n    name: config\n  data:\n    namespace: {mark}\n"
    )
}

/// What a script of the soak writes in the place of [`BEFORE`]. It names the script: the answer of
/// another function is not right either.
fn after(script: Script) -> String {
    format!("    namespace: after-{}\n", script.name())
}

/// The shell script of a function; `sed` is how its place calls that program.
pub(crate) fn source(script: Script, sed: &str) -> String {
    let change = format!(
        "exec {sed} 's/^    namespace: before$/    namespace: after-{}/'",
        script.name()
    );
    match script {
        Script::Quick | Script::Rare => change,
        Script::Slow => format!("sleep 1.5; {change}"),
        // It says whose list it failed on.
        Script::Failing => {
            format!("{sed} -n 's/^    namespace: \\(m[0-9-]*\\)$/failed on \\1./p' >&2; exit 1")
        }
    }
}

/// Whether a failure is one of this call: it names the call's mark.
pub(crate) fn names(message: &str, mark: &str) -> bool {
    let mut rest = message;
    while let Some(at) = rest.find(mark) {
        rest = &rest[at + mark.len()..];
        // A longer mark is another call's.
        if !rest.starts_with(|next: char| next.is_ascii_digit()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::soak::call::Patience;
    use std::time::Duration;

    fn call(function: Function) -> Call {
        Call {
            function,
            items: 2,
            filler: 3,
            patience: Patience::Full,
            is_stranger: false,
            pause: Duration::ZERO,
        }
    }

    fn run(script: Script, list: &List) -> (Vec<u8>, String) {
        let mut child = Command::new("sh")
            .args(["-c", &source(script, "sed")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(list.text().as_bytes()).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("an end");
        let stderr = String::from_utf8(output.stderr).expect("text");
        (output.stdout, stderr)
    }

    #[test]
    fn what_a_script_answers_is_right_for_its_own_call_and_no_other() {
        let function = Function::Pod(Script::Quick);
        let list = List::new(&call(function), "m1-1");
        let (answer, _) = run(Script::Quick, &list);
        assert_eq!(list.judge(function, "m1-1", &answer), Ok(()));
        let other = List::new(&call(function), "m1-2");
        let told = other.judge(function, "m1-2", &answer);
        assert!(told.is_err_and(|told| told.contains("not its own")));
        let slow = Function::Pod(Script::Slow);
        assert!(list.judge(slow, "m1-1", &answer).is_err());
        let unchanged = list.text();
        assert!(list.judge(function, "m1-1", unchanged.as_bytes()).is_err());
    }

    #[test]
    fn a_failure_names_its_own_call_and_no_other() {
        let function = Function::Pod(Script::Failing);
        let (_, stderr) = run(Script::Failing, &List::new(&call(function), "m1-1"));
        assert_eq!(stderr, "failed on m1-1.\n");
        assert!(names(&stderr, "m1-1"));
        assert!(!names("failed on m1-12", "m1-1"));
        assert!(names("m1-12 and m1-1", "m1-1"));
    }
}
