//! Bounded capture of what a program writes.

use std::{collections::VecDeque, io};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    net::unix::pipe,
};

/// How much of a log's beginning and of its end is kept. The beginning says what
/// a program was doing, the end why it stopped.
const HEAD: usize = 64 * 1024;
const TAIL: usize = 64 * 1024;

/// How much is read at a time: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// Standard error, bounded: its head, its tail, and how much was between them.
#[derive(Debug, Default, Clone)]
pub struct Log {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: u64,
}

impl Log {
    fn append(&mut self, mut text: &[u8]) {
        if self.head.len() < HEAD {
            let (head, rest) = text.split_at(text.len().min(HEAD - self.head.len()));
            self.head.extend_from_slice(head);
            text = rest;
        }
        self.tail.extend(text);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.cut += surplus as u64;
    }

    /// The log's bytes, with a note where something was cut.
    pub fn into_bytes(self) -> Bytes {
        let mut bytes = self.head;
        if self.cut > 0 {
            bytes.extend_from_slice(format!("\n[… {} bytes cut …]\n", self.cut).as_bytes());
        }
        bytes.extend(self.tail);
        bytes.into()
    }
}

impl From<&[u8]> for Log {
    fn from(text: &[u8]) -> Self {
        let mut log = Self::default();
        log.append(text);
        log
    }
}

/// Why capturing standard output ended early.
#[derive(Debug)]
pub(crate) enum CaptureError {
    TooLarge,
    Read(io::Error),
}

/// Appends to `output` until the writers are gone. Nothing beyond `limit` is kept.
///
/// Cancel-safe: what was read before is in `output`.
pub(crate) async fn capture(
    from: &mut pipe::Receiver,
    output: &mut BytesMut,
    limit: usize,
) -> Result<(), CaptureError> {
    loop {
        if output.capacity() == output.len() {
            output.reserve(CHUNK.max(output.len()));
        }
        match from.read_buf(output).await {
            Ok(0) => return Ok(()),
            Ok(_) if output.len() > limit => return Err(CaptureError::TooLarge),
            Ok(_) => {}
            Err(error) => return Err(CaptureError::Read(error)),
        }
    }
}

/// Appends to `log` until the writers are gone. Read errors end it: a log is
/// worth having, but never worth failing for.
///
/// Cancel-safe: what was read before is in `log`.
pub(crate) async fn capture_log(mut from: impl AsyncRead + Unpin, log: &mut Log) {
    let mut chunk = BytesMut::with_capacity(4096);
    while let Ok(1..) = from.read_buf(&mut chunk).await {
        log.append(&chunk);
        if chunk.len() == chunk.capacity() {
            // The program has much to say: read more at a time.
            chunk = BytesMut::with_capacity(CHUNK);
        }
        chunk.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_log_is_kept_whole() {
        let mut log = Log::default();
        log.append(b"one ");
        log.append(b"two");
        assert_eq!(log.into_bytes(), "one two");
    }

    #[test]
    fn a_long_log_keeps_head_and_tail_and_says_how_much_was_cut() {
        let mut log = Log::default();
        log.append(b"begin");
        for _ in 0..1000 {
            log.append(&[b'x'; 1000]);
        }
        log.append(b"end");
        let total = 5 + 1_000_000 + 3;
        let text = String::from_utf8(log.into_bytes().to_vec()).unwrap();
        assert!(text.starts_with("beginxxx"));
        assert!(text.ends_with("xxxend"));
        assert!(text.contains(&format!("[… {} bytes cut …]", total - HEAD - TAIL)));
        assert!(text.len() < HEAD + TAIL + 64);
    }
}
