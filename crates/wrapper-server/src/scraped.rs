//! `/metrics` for Prometheus, where the pod's template asks for it with
//! `OTEL_METRICS_EXPORTER=prometheus`. A page of text over HTTP/1.0 needs no library:
//! one caller at a time, one answer, and the connection is closed.

use std::{env, io, net::IpAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

/// A scraper sends its request at once. A client that does not must not keep others waiting.
const ASKS_WITHIN: Duration = Duration::from_secs(2);
const LONGEST_HEAD: usize = 8 * 1024;

/// Serves for ever; nothing at all if nobody asked for it, or the address cannot be used.
pub(crate) async fn serve() {
    let Some(address) = address(|name| env::var(name).ok()) else {
        return std::future::pending().await;
    };
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!("no metrics: cannot listen on {address:?}: {error}");
            return std::future::pending().await;
        }
    };
    loop {
        match listener.accept().await {
            // Late or broken: nobody is interested.
            Ok((stream, _)) => drop(timeout(ASKS_WITHIN, answer(stream)).await),
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Literal addresses only: names cannot be looked up in an image without a resolver.
fn address(variable: impl Fn(&str) -> Option<String>) -> Option<(IpAddr, u16)> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let exporter = variable("OTEL_METRICS_EXPORTER")?;
    if !exporter.split(',').any(|word| word.trim() == "prometheus") {
        return None;
    }
    let host = variable("OTEL_EXPORTER_PROMETHEUS_HOST");
    let host = host.and_then(|host| host.parse().ok());
    let port = variable("OTEL_EXPORTER_PROMETHEUS_PORT");
    let port = port.and_then(|port| port.parse().ok());
    Some((
        host.unwrap_or(IpAddr::from([127, 0, 0, 1])),
        port.unwrap_or(9464),
    ))
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LONGEST_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let (status, body) = if head.starts_with(b"GET /metrics ") {
        ("200 OK", metrics::prometheus(&metrics::wrapper()))
    } else {
        ("404 Not Found", "there is /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.0 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<(IpAddr, u16)> {
        address(|name| {
            let mut named = variables.iter().filter(|(known, _)| *known == name);
            named.next().map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn it_listens_only_where_the_template_asks_for_it() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("OTEL_METRICS_EXPORTER", "otlp")]), None);
        let exporter = ("OTEL_METRICS_EXPORTER", "prometheus");
        assert_eq!(found(&[exporter]).unwrap().1, 9464);
        assert!(found(&[exporter]).unwrap().0.is_loopback());
        let all = ("OTEL_EXPORTER_PROMETHEUS_HOST", "0.0.0.0");
        assert!(found(&[exporter, all]).unwrap().0.is_unspecified());
    }

    #[tokio::test]
    async fn a_scraper_gets_metrics_and_anybody_else_an_end() {
        for (asked, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n",
                "process_memory_usage_bytes ",
            ),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let served = tokio::spawn(async move {
                let (stream, _) = listener.accept().await.unwrap();
                answer(stream).await
            });
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(asked.as_bytes()).await.unwrap();
            let mut told = String::new();
            client.read_to_string(&mut told).await.unwrap();
            assert!(told.contains(expected), "{told}");
            served.await.unwrap().unwrap();
        }
    }
}
