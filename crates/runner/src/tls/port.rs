//! The server's connections: plain, or with TLS. A handshake may take as long as the first
//! request of a plain connection, and connections do not wait for each other's handshakes.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::Mutex;
use service::{Plain, Transport};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, ReadBuf},
    net::TcpStream,
    time::Instant,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Current;

/// Anybody can make a handshake fail, so not every failure is logged.
const TOLD_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(crate) enum Port {
    Plain,
    Tls(Arc<Current>, Arc<Failures>),
}

/// Handshakes that failed.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Option<Instant>>);

/// A connection of either kind.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<BufReader<TlsStream<TcpStream>>>),
}

impl Port {
    pub(crate) fn tls(current: Arc<Current>) -> Self {
        Self::Tls(current, Arc::default())
    }
}

impl Transport for Port {
    type Stream = Stream;

    async fn open(&self, stream: TcpStream) -> io::Result<Stream> {
        let (current, failures) = match self {
            Self::Plain => return Plain.open(stream).await.map(Stream::Plain),
            Self::Tls(current, failures) => (current, failures),
        };
        let peer = stream.peer_addr().ok();
        let accepted = TlsAcceptor::from(Arc::clone(&current.value().settings))
            .accept(stream)
            .await;
        let stream = accepted.inspect_err(|error| failures.tell(peer, error))?;
        // Somebody who shakes hands and then is silent gets no answer anyway.
        let mut stream = BufReader::new(stream);
        if stream.fill_buf().await?.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Stream::Tls(Box::new(stream)))
    }
}

impl Failures {
    fn tell(&self, peer: Option<std::net::SocketAddr>, error: &io::Error) {
        tracing::debug!(?peer, %error, "a TLS handshake failed");
        let mut told = self.0.lock();
        if told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(
                ?peer,
                "a TLS handshake failed: {error} (further failures are not logged for {} s; a \
                 caller that speaks plain text, as Porch does, causes one with each connection)",
                TOLD_EVERY.as_secs()
            );
        }
    }
}

macro_rules! either {
    ($stream:expr, $inner:ident => $work:expr) => {
        match $stream.get_mut() {
            Stream::Plain(stream) => {
                let $inner = Pin::new(stream);
                $work
            }
            Stream::Tls(stream) => {
                let $inner = Pin::new(&mut **stream);
                $work
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_shutdown(context))
    }
}
