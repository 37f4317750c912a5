//! TCP connections to a host with several addresses, one of which may swallow
//! packets: they are tried side by side, each a moment after the one before.

use std::{collections::VecDeque, io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    task::JoinSet,
    time::sleep,
};

use super::ConnectError;

/// The head start of an address before the next one is tried as well (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to the first address that lets us.
pub(super) async fn dial(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let addresses = lookup_host((host, port)).await;
    let addresses = alternating(addresses.map_err(ConnectError::Resolve)?);
    let connected = race(addresses, TcpStream::connect).await;
    connected.map_err(ConnectError::Tcp)
}

/// The addresses with IPv6 and IPv4 in turns, in the resolver's order otherwise:
/// if one of both leads nowhere, the second attempt already gets through.
fn alternating(addresses: impl Iterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let addresses: Vec<SocketAddr> = addresses.collect();
    let leading = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == leading);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = VecDeque::new();
    loop {
        let before = turns.len();
        turns.extend(first.next());
        turns.extend(second.next());
        if turns.len() == before {
            return turns;
        }
    }
}

/// The first stream that opens. An address that fails lets the next one begin at
/// once. Whatever is still under way ends with the race.
async fn race<S, F>(
    mut waiting: VecDeque<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<S>
where
    S: Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let mut attempts = JoinSet::new();
    let mut last = io::Error::other("the name has no address");
    loop {
        if let Some(address) = waiting.pop_front() {
            attempts.spawn(connect(address));
        }
        // Both are cancel-safe: attempts stay in the set, a pause has no state.
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => last = error,
                Some(Err(panicked)) => last = panicked.into(),
                None => return Err(last),
            },
            () = sleep(HEAD_START), if !waiting.is_empty() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn addresses(count: u8) -> VecDeque<SocketAddr> {
        let address = |number| SocketAddr::from(([192, 0, 2, number], 443));
        (0..count).map(address).collect()
    }

    /// What an address does, by its number: swallows, refuses or answers.
    async fn behave(address: SocketAddr) -> io::Result<SocketAddr> {
        match address.to_string().as_str() {
            "192.0.2.0:443" => sleep(HOUR).await,
            "192.0.2.1:443" => return Err(io::ErrorKind::ConnectionRefused.into()),
            _ => sleep(Duration::from_millis(10)).await,
        }
        Ok(address)
    }

    #[tokio::test(start_paused = true)]
    async fn a_swallowed_address_costs_its_head_start_and_a_refused_one_nothing() {
        let began = Instant::now();
        let connected = race(addresses(3), behave).await.unwrap();
        assert_eq!(connected.to_string(), "192.0.2.2:443");
        assert_eq!(began.elapsed(), HEAD_START + Duration::from_millis(10));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_is_slow_may_still_win() {
        let slow = async |address: SocketAddr| {
            sleep(HEAD_START * 3 / 2).await;
            Ok::<_, io::Error>(address)
        };
        let connected = race(addresses(3), slow).await;
        assert_eq!(connected.unwrap().to_string(), "192.0.2.0:443");
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_refuse_the_reason_is_told() {
        let refused = |_| async { Err::<(), _>(io::ErrorKind::ConnectionRefused.into()) };
        let error = race(addresses(3), refused).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = race(addresses(0), refused).await.unwrap_err();
        assert_eq!(error.to_string(), "the name has no address");
    }

    #[test]
    fn families_take_turns() {
        let parsed = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"];
        let turns = alternating(parsed.iter().map(|address| address.parse().unwrap()));
        let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
        assert_eq!(
            turns,
            ["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]
        );
    }
}
