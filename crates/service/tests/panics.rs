//! What a panic leaves in the log. A program of its own: the hook is the process's.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    io::{self, Write},
    panic::catch_unwind,
    sync::Arc,
};

use parking_lot::Mutex;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_is_logged_with_its_place_and_without_what_it_quotes() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .init();
    service::log_panics();
    let secret = "hunter2".to_owned();
    catch_unwind(move || panic!("cannot read {secret}")).unwrap_err();
    catch_unwind(|| panic!("no such place")).unwrap_err();
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    // With a backtrace, too: whether there is one is up to the environment.
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines.iter().all(|line| line.contains("tests/panics.rs:")),
        "{text}"
    );
    assert!(lines[1].contains("no such place"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
