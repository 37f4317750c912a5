//! HTTP/2 by hand, for what no library would send.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long a server may take to say something.
const PATIENCE: Duration = Duration::from_secs(30);

/// Kinds of frames.
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

pub const END_HEADERS: u8 = 4;

/// A frame as it is sent.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The headers of a call of `path`, as literals.
pub fn headers(path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend(text.as_bytes());
        }
    }
    block
}

/// A connection that sends any bytes that a test wants.
#[derive(Debug)]
pub struct Raw(TcpStream);

impl Raw {
    /// Connects and says nothing.
    pub fn silent(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Connects as a client of HTTP/2.
    pub fn connect(address: &str) -> io::Result<Self> {
        let mut raw = Self::silent(address)?;
        raw.send(PREFACE)?;
        raw.send(&frame(kind::SETTINGS, 0, 0, &[]))?;
        Ok(raw)
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// The kind of the next frame.
    pub fn next_kind(&mut self) -> io::Result<u8> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        io::copy(&mut (&self.0).take(length.into()), &mut io::sink())?;
        Ok(head[3])
    }

    /// Whether the server closes the connection; it may say why before.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.next_kind() {
                Ok(_) => {}
                // Nothing came for a long time.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => return true,
            }
        }
    }
}
