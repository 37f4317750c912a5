//! Programs that are given a list: one process per list, or one for many.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// No function takes that long on a list of some objects.
const PATIENCE: Duration = Duration::from_secs(300);
/// A process is replaced after that many lists, because what libraries keep for ever grows.
const MOST_LISTS: u32 = 5000;

/// What a run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: Vec<u8>,
}

/// Runs a program on one list. Files in place of pipes: neither side ever waits for the other.
pub(crate) fn once(mut command: Command, input: &str, folder: &Path) -> Result<Outcome> {
    let (from, to) = (folder.join("input"), folder.join("output"));
    fs::write(&from, input)?;
    let mut child = command
        .env_clear()
        .stdin(File::open(&from)?)
        .stdout(File::create(&to)?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{command:?}"))?;
    let began = Instant::now();
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_micros(500));
    };
    Ok(Outcome {
        exit,
        stdout: fs::read(&to)?,
    })
}

/// A process of a program in its repeating form (`go_programs::Form`).
#[derive(Debug)]
pub(crate) struct Repeating {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    folder: TempDir,
    lists: u32,
}

impl Repeating {
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(program)
            .env_clear()
            // One of several: the others have the other processors.
            .env("GOMAXPROCS", "1")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let requests = child.stdin.take().context("its standard input")?;
        let lines = BufReader::new(child.stdout.take().context("its standard output")?).lines();
        let (send, answers) = channel();
        // Ends with the process.
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        Ok(Self {
            child,
            requests,
            answers,
            folder,
            lists: 0,
        })
    }

    /// The outcome for a list, and the process if it can be asked again.
    pub(crate) fn ask(mut self, input: &str) -> Result<(Outcome, Option<Self>)> {
        fs::write(self.folder.path().join("input"), input)?;
        self.requests.write_all(b"\n")?;
        let answer = self.answers.recv_timeout(PATIENCE);
        let exit = match &answer {
            Ok(code) => Some(code.parse()?),
            Err(RecvTimeoutError::Disconnected) => self.child.wait()?.code(),
            Err(RecvTimeoutError::Timeout) => None,
        };
        let stdout = fs::read(self.folder.path().join("output"))?;
        self.lists += 1;
        let goes_on = answer.is_ok() && self.lists < MOST_LISTS;
        Ok((Outcome { exit, stdout }, goes_on.then_some(self)))
    }
}

impl Drop for Repeating {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Answers each line as a rewritten Go function does: here a shell that is told what to do by the list.
    const PROGRAM: &str = "#!/bin/sh
while read -r line; do
  read -r word < input
  case $word in
    crash) echo partly > output; exit 2 ;;
    *) echo \"did $word\" > output; echo \"${word#exit}\" ;;
  esac
done
";

    #[test]
    fn one_process_answers_many_lists_and_a_crash_is_an_answer_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        fs::write(&program, PROGRAM).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
        let process = Repeating::start(&program).expect("it starts");
        let id = process.child.id();
        let (outcome, process) = process.ask("exit0\n").expect("an answer");
        assert_eq!(outcome.exit, Some(0));
        assert_eq!(outcome.stdout, b"did exit0\n");
        let process = process.expect("it goes on");
        assert_eq!(process.child.id(), id);
        let (outcome, process) = process.ask("exit1\n").expect("an answer");
        assert_eq!(outcome.exit, Some(1));
        let (outcome, process) = process
            .expect("it goes on")
            .ask("crash\n")
            .expect("an answer");
        assert_eq!(
            (outcome.exit, &outcome.stdout[..]),
            (Some(2), &b"partly\n"[..])
        );
        assert!(process.is_none());
    }
}
