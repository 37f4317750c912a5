//! How the wrapper's probe connects: `localhost` and addresses are understood without
//! a resolver, which a static binary in a scratch image does not have; other names are
//! not understood. There is no TLS: the wrapper does not speak it.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use goflags::{FlagError, Flags, Group};
use hyper_util::rt::TokioIo;
use probe::Dial;
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};

pub(crate) static FLAGS: &[Group] = &[probe::FLAGS];

/// The addresses to try.
#[derive(Debug)]
pub(crate) struct Addresses(Vec<SocketAddr>);

impl Dial for Addresses {
    fn read(flags: &Flags) -> Result<Self, FlagError> {
        flags.get("addr", resolve).map(Self)
    }

    /// Connects to the first address that answers.
    async fn dial(&self) -> Result<Channel, String> {
        let addresses = self.0.clone();
        let connector = tower::service_fn(move |_| {
            let addresses = addresses.clone();
            async move {
                let mut refusal = io::Error::other("no address");
                for address in addresses {
                    match TcpStream::connect(address).await {
                        Ok(stream) => return Ok(TokioIo::new(stream)),
                        Err(error) => refusal = error,
                    }
                }
                Err(refusal)
            }
        });
        // The name only becomes the `:authority`; the connector knows the addresses.
        let endpoint = Endpoint::from_static("http://localhost");
        let channel = endpoint.connect_with_connector(connector).await;
        channel.map_err(|error| {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })
    }
}

/// The addresses that `HOST:PORT` stands for.
fn resolve(address: &str) -> Result<Vec<SocketAddr>, &'static str> {
    let expected = "HOST:PORT, where HOST is an IP address or localhost";
    let (host, port) = address.rsplit_once(':').ok_or(expected)?;
    let port: u16 = port.parse().map_err(|_| expected)?;
    let hosts = match host {
        "" | "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        host => {
            let bare = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'));
            vec![
                bare.unwrap_or(host)
                    .parse::<IpAddr>()
                    .map_err(|_| expected)?,
            ]
        }
    };
    Ok(hosts
        .into_iter()
        .map(|host| SocketAddr::new(host, port))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn localhost_and_addresses_need_no_resolver() {
        for (text, addresses) in [
            ("localhost:9446", &["127.0.0.1:9446", "[::1]:9446"][..]),
            (":9446", &["127.0.0.1:9446", "[::1]:9446"]),
            ("10.1.2.3:80", &["10.1.2.3:80"]),
            ("[fe80::1]:80", &["[fe80::1]:80"]),
        ] {
            let found: Vec<String> = resolve(text)
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(found, addresses, "{text}");
        }
        for text in [
            "",
            "localhost",
            "localhost:",
            "localhost:http",
            "example.com:80",
            "1.2.3:80",
        ] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
