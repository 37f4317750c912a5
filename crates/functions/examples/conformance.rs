//! Runs the bundled functions on `DIR/<function>/<case>/{input.yaml,output.yaml,exit}`
//! and prints, per function, how many outputs are equal to the byte, equal in
//! content, or different, with the first difference. Fails if a case misses the
//! bar: exit codes and content equal everywhere, bytes in at least 98 %.
//! `STARLARK_FUNCTION` names the program that is the starlark function.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use functions::{Clock, Ended, catalog, yaml::parse_all};

#[derive(Default)]
struct Tally {
    bytes: usize,
    content: usize,
    different: usize,
    exit: usize,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(directory) = words.next().map(PathBuf::from) else {
        eprintln!("usage: conformance DIR [FUNCTION]");
        return ExitCode::from(2);
    };
    let only = words.next();
    let mut total = Tally::default();
    let mut missing = 0;
    println!(
        "{:<32}{:>8}{:>8}{:>8}{:>8}",
        "function", "bytes", "content", "differ", "exit"
    );
    for function in sorted(&directory) {
        let name = file_name(&function);
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let mut tally = Tally::default();
        let mut shown = false;
        for case in sorted(&function) {
            match compare(&name, &case) {
                None => missing += 1,
                Some((exit_differs, outcome)) => {
                    tally.exit += usize::from(exit_differs);
                    match &outcome {
                        Outcome::Bytes => tally.bytes += 1,
                        Outcome::Content(_) => tally.content += 1,
                        Outcome::Different(_) => tally.different += 1,
                    }
                    if let Outcome::Content(what) | Outcome::Different(what) = outcome {
                        if only.is_some() || !shown {
                            shown = true;
                            println!("  {}: {what}", file_name(&case));
                        }
                    } else if exit_differs && only.is_some() {
                        println!("  {}: other exit code", file_name(&case));
                    }
                }
            }
        }
        println!(
            "{name:<32}{:>8}{:>8}{:>8}{:>8}",
            tally.bytes, tally.content, tally.different, tally.exit
        );
        total.bytes += tally.bytes;
        total.content += tally.content;
        total.different += tally.different;
        total.exit += tally.exit;
    }
    let cases = total.bytes + total.content + total.different;
    if cases == 0 {
        eprintln!("no cases in {}", directory.display());
        return ExitCode::from(2);
    }
    println!(
        "{:<32}{:>8}{:>8}{:>8}{:>8}   of {cases}, {missing} not bundled",
        "all", total.bytes, total.content, total.different, total.exit
    );
    let enough = total.bytes * 100 >= cases * 98;
    match total.different == 0 && total.exit == 0 && missing == 0 && enough {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

enum Outcome {
    Bytes,
    Content(String),
    Different(String),
}

/// Runs one case; `None` if the function is not bundled. Tells whether the exit
/// code differs.
fn compare(function: &str, case: &Path) -> Option<(bool, Outcome)> {
    let read = |name: &str| fs::read_to_string(case.join(name)).unwrap_or_default();
    let (input, expected, exit) = (read("input.yaml"), read("output.yaml"), read("exit"));
    let ended = run(function, input.as_bytes())?;
    let exit_differs = exit.trim() != ended.exit.to_string();
    if ended.stdout == expected {
        return Some((exit_differs, Outcome::Bytes));
    }
    let what = first_difference(&expected, &ended.stdout);
    let same = match (parse_all(&expected), parse_all(&ended.stdout)) {
        (Ok(a), Ok(b)) => {
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.root.same_content(&b.root))
        }
        _ => false,
    };
    let outcome = match same {
        true => Outcome::Content(what),
        false => Outcome::Different(what),
    };
    Some((exit_differs, outcome))
}

fn run(function: &str, input: &[u8]) -> Option<Ended> {
    if let Some(function) = catalog::find(function) {
        return function.run(input, &Clock::default()).ok();
    }
    let program = env::var_os("STARLARK_FUNCTION").filter(|_| function == "starlark")?;
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(Ended {
        exit: output.status.code()?.try_into().ok()?,
        stdout: String::from_utf8(output.stdout).ok()?,
        stderr: String::new(),
    })
}

fn first_difference(expected: &str, got: &str) -> String {
    let mut pairs = expected.lines().zip(got.lines()).enumerate();
    match pairs.find(|(_, (expected, got))| expected != got) {
        Some((at, (expected, got))) => {
            format!("line {}: expected {expected:?}, got {got:?}", at + 1)
        }
        None => format!(
            "{} lines expected, got {}",
            expected.lines().count(),
            got.lines().count()
        ),
    }
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
