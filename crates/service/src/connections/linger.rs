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
    io::{AsyncRead, AsyncWrite, ReadBuf, copy, sink},
    time::timeout,
};

/// For clients that do not close their end.
const LONGEST: Duration = Duration::from_secs(5);

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
        let _ = timeout(LONGEST, copy(&mut self, &mut sink())).await;
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
