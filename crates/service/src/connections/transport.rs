//! What becomes of a TCP connection before HTTP/2 is spoken on it. Nobody else waits
//! for it, and the time that it may take is bounded.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::sleep,
};

/// What HTTP/2 clients say first.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
/// How often a connection is looked at that has said a part of it.
const PREFACE_LOOK: Duration = Duration::from_millis(50);

/// Opens connections.
pub trait Transport: Clone + Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// What HTTP/2 is spoken on, once the client has begun to speak.
    fn open(&self, stream: TcpStream) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// HTTP/2 as it comes, without TLS.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Transport for Plain {
    type Stream = TcpStream;

    async fn open(&self, stream: TcpStream) -> io::Result<TcpStream> {
        says_hello(&stream).await?;
        Ok(stream)
    }
}

/// Waits until the client has begun to speak HTTP/2. Somebody who connects and is
/// silent gets no answer anyway, only a place.
async fn says_hello(stream: &TcpStream) -> io::Result<()> {
    let mut hello = [0; PREFACE];
    loop {
        match stream.peek(&mut hello).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            PREFACE.. => return Ok(()),
            // What is there already would wake us again at once.
            _ => sleep(PREFACE_LOOK).await,
        }
    }
}
