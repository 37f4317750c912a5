//! The end of a connection. A socket that is closed answers whatever still comes, such as a
//! client's acknowledgements, with a reset; and that takes away what is left of a large answer on
//! its way. So a socket is read from, for nothing, until the client has closed its end.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    time::timeout,
};

/// For clients that do not close their end, and acknowledge nothing any more.
const SILENCE: Duration = Duration::from_secs(5);

/// Whatever they still say.
const LONGEST: Duration = Duration::from_secs(60);

/// A stream that outlives the protocol spoken on it. Only one copy is used at a time.
#[derive(Debug)]
pub(super) struct Kept<S>(Arc<Mutex<S>>);

impl<S> Clone for Kept<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Kept<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    /// Nothing more is sent. Ends when the client has closed its end, too.
    pub(super) async fn linger(mut self) {
        let mut unheard = [0; 1024];
        let is_heard =
            async { while let Ok(Ok(1..)) = timeout(SILENCE, self.read(&mut unheard)).await {} };
        let _ = timeout(LONGEST, is_heard).await;
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Kept<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Kept<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.lock().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncWriteExt as _, DuplexStream, duplex},
        time::{Instant, sleep},
    };

    use super::*;

    const OFTEN: Duration = Duration::from_secs(4);

    /// How long a stream lingers whose client says something so many times.
    async fn lingers(times: u32, end: impl FnOnce(DuplexStream)) -> Duration {
        let (stream, mut client) = duplex(64);
        let begin = Instant::now();
        let lingers = tokio::spawn(async move {
            Kept::new(stream).linger().await;
            begin.elapsed()
        });
        for _ in 0..times {
            sleep(OFTEN).await;
            // Nobody reads it after the end.
            let _ = client.write_all(b"read so far").await;
        }
        end(client);
        lingers.await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_acknowledges_is_waited_for_but_not_for_ever() {
        let closes = lingers(5, drop).await;
        assert_eq!(closes, 5 * OFTEN, "at once");
        let falls_silent = lingers(5, std::mem::forget).await;
        assert_eq!(falls_silent, 5 * OFTEN + SILENCE);
        assert_eq!(lingers(100, drop).await, LONGEST);
    }
}
