//! Runs the bundled functions on `DIR/FUNCTION[@VERSION]/CASE/{input.yaml,output.yaml,exit}`
//! and prints, per function and version: the cases, and in how many of them the
//! exit code, the content and the bytes are equal, and how many of the inputs' objects
//! the function reads as text.
//!
//! `conformance DIR... [--only NAME[@VERSION]] [--show N] [--bytes PERCENT]`
//!
//! Fails if exit codes differ, if a release is in no table, or if bytes are equal in
//! fewer cases than `--bytes` asks for (98). `--show` prints that many differences
//! per folder (1). `STARLARK_FUNCTION` names the program that runs starlark.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use functions::{Clock, Ended, Reading, catalog, yaml::parse_all};

/// What the folders without a version were made with, where that is not the
/// function's newest release.
const UNVERSIONED: &[(&str, &str)] = &[
    ("apply-replacements", "v0.1.5"),
    ("apply-setters", "v0.2.2"),
    ("create-setters", "v0.1.1"),
    ("ensure-name-substring", "v0.2.1"),
    ("list-setters", "head"),
    ("search-replace", "v0.2.1"),
    ("set-annotations", "v0.1.5"),
    ("set-image", "head"),
    ("set-labels", "v0.2.5"),
    ("set-namespace", "v0.4.5"),
    ("set-project-id", "v0.2.0"),
    ("starlark", "v0.5.5"),
    ("upsert-resource", "v0.2.1"),
];

struct Wanted {
    directories: Vec<PathBuf>,
    only: Option<String>,
    shown: usize,
    percent: f64,
}

#[derive(Default)]
struct Tally {
    cases: usize,
    exit: usize,
    content: usize,
    bytes: usize,
    /// Objects in the inputs, how many of them stay text, and cases whose output
    /// depends on that: none may.
    objects: usize,
    texts: usize,
    split: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.exit += other.exit;
        self.content += other.content;
        self.bytes += other.bytes;
        self.objects += other.objects;
        self.texts += other.texts;
        self.split += other.split;
    }

    fn print(&self, name: &str) {
        let Self {
            cases,
            exit,
            content,
            bytes,
            ..
        } = self;
        let texts = 100 * self.texts / self.objects.max(1);
        println!("{name:<40}{cases:>8}{exit:>8}{content:>8}{bytes:>8}{texts:>8} %");
    }
}

fn main() -> ExitCode {
    let Some(wanted) = wanted() else {
        eprintln!("usage: conformance DIR... [--only NAME[@VERSION]] [--show N] [--bytes PERCENT]");
        return ExitCode::from(2);
    };
    println!(
        "{:<40}{:>8}{:>8}{:>8}{:>8}{:>10}",
        "function", "cases", "exit =", "content", "bytes =", "as text"
    );
    let mut total = Tally::default();
    let (mut missing, mut left_out) = (Vec::new(), Vec::new());
    for folder in wanted.directories.iter().flat_map(|path| sorted(path)) {
        let name = file_name(&folder);
        let is_wanted = |only: &String| name == *only || name.starts_with(&format!("{only}@"));
        if !wanted.only.as_ref().is_none_or(is_wanted) {
            continue;
        }
        match compare_all(&name, &folder, wanted.shown) {
            Some(tally) => {
                tally.print(&name);
                total.add(&tally);
            }
            None if is_known_not_to_be_reproduced(&name) => left_out.push(name),
            None => missing.push(name),
        }
    }
    if total.cases == 0 && missing.is_empty() && left_out.is_empty() {
        eprintln!("no cases were found");
        return ExitCode::from(2);
    }
    total.print("all");
    for (what, names) in [("not reproduced", &left_out), ("not bundled", &missing)] {
        if !names.is_empty() {
            println!("{what}: {}", names.join(" "));
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "a percentage")]
    let percent = 100.0 * total.bytes as f64 / total.cases.max(1) as f64;
    println!(
        "bytes equal in {percent:.2} %, {} asked for",
        wanted.percent
    );
    println!(
        "{} of {} objects are read as text; the output depends on that in {} cases",
        total.texts, total.objects, total.split
    );
    if total.exit == total.cases
        && total.split == 0
        && missing.is_empty()
        && percent >= wanted.percent
    {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Whether the function's table says so: nothing is answered by that release.
fn is_known_not_to_be_reproduced(name: &str) -> bool {
    let Some((function, version)) = name.split_once('@') else {
        return false;
    };
    let function = catalog::FUNCTIONS.iter().find(|it| it.name == function);
    let mut releases = function.map_or(&[][..], |it| it.releases).iter();
    releases.any(|release| release.is_called(version) && !release.is_reproduced())
}

fn wanted() -> Option<Wanted> {
    let mut wanted = Wanted {
        directories: Vec::new(),
        only: None,
        shown: 1,
        percent: 98.0,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--only" => wanted.only = Some(words.next()?),
            "--show" => wanted.shown = words.next()?.parse().ok()?,
            "--bytes" => wanted.percent = words.next()?.parse().ok()?,
            flag if flag.starts_with('-') => return None,
            directory => wanted.directories.push(directory.into()),
        }
    }
    (!wanted.directories.is_empty()).then_some(wanted)
}

/// Runs the cases of a folder; `None` if its release is not bundled.
fn compare_all(name: &str, folder: &Path, shown: usize) -> Option<Tally> {
    let version = UNVERSIONED.iter().find(|(function, _)| *function == name);
    let function = match version {
        Some((function, version)) => format!("{function}@{version}"),
        None => name.to_owned(),
    };
    let mut tally = Tally::default();
    let mut left = shown;
    for case in sorted(folder) {
        let read = |name: &str| fs::read_to_string(case.join(name)).unwrap_or_default();
        let (input, expected, exit) = (read("input.yaml"), read("output.yaml"), read("exit"));
        let ended = run(&function, input.as_bytes())?;
        if let Some(chosen) = catalog::find(&function).filter(|it| !it.release.is_program()) {
            let (texts, objects) = chosen.texts(&input);
            tally.texts += texts;
            tally.objects += objects;
            let parsed = chosen.run_reading(Reading::Parsed, input.as_bytes(), &Clock::default());
            tally.split += usize::from(parsed.as_ref() != Ok(&ended));
        }
        tally.cases += 1;
        let same_exit = exit.trim() == ended.exit.to_string();
        tally.exit += usize::from(same_exit);
        let same_bytes = expected == ended.stdout;
        tally.bytes += usize::from(same_bytes);
        tally.content += usize::from(same_bytes || says_the_same(&expected, &ended.stdout));
        if left > 0 && !(same_exit && same_bytes) {
            left -= 1;
            let case = file_name(&case);
            let exits = if same_exit {
                String::new()
            } else {
                format!("exit {} instead of {}; ", ended.exit, exit.trim())
            };
            let what = first_difference(&expected, &ended.stdout);
            println!("  {case}: {exits}{what}");
        }
    }
    Some(tally)
}

fn says_the_same(expected: &str, got: &str) -> bool {
    match (parse_all(expected), parse_all(got)) {
        (Ok(a), Ok(b)) => {
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.root.same_content(&b.root))
        }
        _ => false,
    }
}

fn run(function: &str, input: &[u8]) -> Option<Ended> {
    let chosen = catalog::find(function)?;
    if !chosen.release.is_program() {
        return chosen.run(input, &Clock::default()).ok();
    }
    let mut child = Command::new(env::var_os("STARLARK_FUNCTION")?)
        .arg(chosen.release.version)
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
