//! The end of a thread without which this process is of no use: the process ends, too, and
//! its supervisor starts another one (decision 67).

/// Held by the thread while it works; ends the process when it is dropped.
pub(crate) struct DeadEnd {
    thread: &'static str,
}

impl DeadEnd {
    /// `thread` in words, for the log: what it does.
    pub(crate) fn of(thread: &'static str) -> Self {
        Self { thread }
    }

    /// The thread has nothing more to do, as it should be.
    pub(crate) fn avoid(self) {
        std::mem::forget(self);
    }
}

impl Drop for DeadEnd {
    fn drop(&mut self) {
        let thread = self.thread;
        tracing::error!("the thread that {thread} has ended; please report it");
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command, thread};

    use super::*;

    /// Says what this test is to do in a process of its own, which may end.
    const ROLE: &str = "ROLE_IN_THE_TEST_OF_DEAD_ENDS";

    #[test]
    fn a_thread_that_panics_ends_its_process_and_one_that_is_done_does_not() {
        if let Ok(role) = env::var(ROLE) {
            let work = move || {
                let dead_end = DeadEnd::of("is part of a test");
                assert_ne!(role, "panics");
                dead_end.avoid();
            };
            thread::spawn(work).join().unwrap();
            return;
        }
        // No unit test of this crate starts the thread that reaps, which would take these ends.
        for (role, code) in [("panics", 1), ("is done", 0)] {
            let own = thread::current().name().unwrap().to_owned();
            let ended = Command::new(env::current_exe().unwrap())
                .args(["--exact", &own])
                .env(ROLE, role)
                .output()
                .unwrap();
            assert_eq!(ended.status.code(), Some(code), "{role}: {ended:?}");
        }
    }
}
