//! The runner called as `grpc-health-probe`: with a resolver and with TLS, unlike the
//! wrapper's, because it is the runner that may speak TLS.

use goflags::{FlagError, Flags, Group, value};
use probe::Dial;
use tonic::transport::Channel;

use crate::tls::{CLIENT_FLAGS, TlsClient};

pub(crate) static FLAGS: &[Group] = &[probe::FLAGS, CLIENT_FLAGS];

#[derive(Debug)]
pub(crate) struct Anywhere(TlsClient);

impl Dial for Anywhere {
    fn read(flags: &Flags) -> Result<Self, FlagError> {
        let address = flags.get("addr", |text| match text.rsplit_once(':') {
            Some(("", port)) if port.parse::<u16>().is_ok() => Ok(format!("localhost:{port}")),
            Some((_, port)) if port.parse::<u16>().is_ok() => Ok(text.to_owned()),
            _ => Err("HOST:PORT"),
        })?;
        let timeout = flags.get("connect-timeout", value::positive_duration)?;
        TlsClient::read(flags, address, timeout).map(Self)
    }

    async fn dial(&self) -> Result<Channel, String> {
        self.0.connect().await
    }
}
