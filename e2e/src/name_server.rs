//! A name server between one runner and the node's own, which answers late, badly or not at all.
//! Names work as usual for all other programs on the node.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::layout::NODE_ADDRESS;
use parking_lot::Mutex;

/// The port of every name server: resolv.conf knows no other.
const PORT: u16 = 53;

/// The longest message, and how long the node's own server may take.
const LONGEST: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);

/// How names are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// After this time.
    Late(Duration),
    /// With "server failure", at once.
    Failures,
    /// Never.
    Silence,
}

/// As long as it lives, it answers.
#[derive(Debug)]
pub struct NameServer {
    address: Ipv4Addr,
    answers: Arc<Mutex<Answers>>,
    /// Unblocks the thread when it is dropped.
    socket: UdpSocket,
}

impl NameServer {
    /// Starts one that answers at once, on a loopback address of its own.
    pub fn start() -> Result<Self> {
        let mut candidates = (1..=250).map(|last| Ipv4Addr::new(127, 0, 53, last));
        let (address, socket) = candidates
            .find_map(|address| Some((address, UdpSocket::bind((address, PORT)).ok()?)))
            .context("no address for a name server")?;
        let answers = Arc::new(Mutex::new(Answers::Late(Duration::ZERO)));
        let (server, shared) = (socket.try_clone()?, Arc::clone(&answers));
        // Ends with an error when the socket is shut down.
        thread::spawn(move || {
            let mut buffer = [0; LONGEST];
            while let Ok((length, client)) = server.recv_from(&mut buffer) {
                if length == 0 {
                    return;
                }
                let answers = *shared.lock();
                let (query, socket) = (buffer[..length].to_vec(), server.try_clone());
                // Ends within the time that an answer may take.
                thread::spawn(move || socket.map(|socket| answer(answers, query, &socket, client)));
            }
        });
        Ok(Self {
            address,
            answers,
            socket,
        })
    }

    /// From now on.
    pub fn give(&self, answers: Answers) {
        *self.answers.lock() = answers;
    }

    /// A command that runs a program with this name server, in a mount namespace of its own. It
    /// has the search list of a pod and no file of hosts.
    pub(crate) fn command(&self, folder: &Path, program: &Path) -> Result<Command> {
        let (resolver, hosts) = (folder.join("resolv.conf"), folder.join("hosts"));
        let domains = "porch-system.svc.cluster.local svc.cluster.local cluster.local";
        fs::write(
            &resolver,
            format!(
                "nameserver {}\nsearch {domains}\noptions ndots:5\n",
                self.address
            ),
        )?;
        fs::write(&hosts, "127.0.0.1 localhost\n")?;
        let script = "mount --bind \"$1\" \"$(realpath /etc/resolv.conf)\" && \
                      mount --bind \"$2\" /etc/hosts && shift 2 && exec \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .args([&resolver, &hosts])
            .arg(program);
        Ok(command)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        // An empty message ends its thread.
        let _ = self.socket.send_to(&[], (self.address, PORT));
    }
}

fn answer(
    answers: Answers,
    mut query: Vec<u8>,
    socket: &UdpSocket,
    client: SocketAddr,
) -> Result<()> {
    let reply = match answers {
        Answers::Silence => return Ok(()),
        Answers::Failures => {
            // RFC 1035, 4.1.1: an answer (QR) with response code 2.
            query[2] |= 0x80;
            query[3] = (query[3] & 0xf0) | 2;
            query
        }
        Answers::Late(time) => {
            thread::sleep(time);
            let way = UdpSocket::bind((NODE_ADDRESS, 0))?;
            way.set_read_timeout(Some(PATIENCE))?;
            way.send_to(&query, (NODE_ADDRESS, PORT))?;
            let mut reply = vec![0; LONGEST];
            let length = way.recv(&mut reply)?;
            reply.truncate(length);
            reply
        }
    };
    socket.send_to(&reply, client)?;
    Ok(())
}
