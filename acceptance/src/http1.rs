//! Plain HTTP/1.1 by hand, so that a test decides every header.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: String,
}

/// Asks for `path` as the host of the address.
pub fn get(address: &str, path: &str) -> Answer {
    get_as(address, path, address)
}

/// Asks for `path` as another host.
pub fn get_as(address: &str, path: &str, host: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut told = Vec::new();
    stream.read_to_end(&mut told).expect("an answer");
    let told = String::from_utf8(told).expect("text");
    let (head, body) = told.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}
