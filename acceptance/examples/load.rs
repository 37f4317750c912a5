//! Calls a server in a closed loop and tells how long it took:
//! `load ADDRESS IMAGE CALLERS SECONDS FILE`. The list is read from FILE; `generate:BYTES`
//! makes one of about that size instead.

use std::{
    env, fs,
    time::{Duration, Instant},
};

use acceptance::evaluate;
use proto::EvaluateFunctionRequest;
use tokio::task::JoinSet;
use tonic::transport::Endpoint;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [address, image, callers, seconds, file] = &words[..] else {
        return Err("usage: load ADDRESS IMAGE CALLERS SECONDS FILE|generate:BYTES".into());
    };
    let list: Vec<u8> = match file.strip_prefix("generate:") {
        Some(size) => list_of(size.parse()?).into_bytes(),
        None => fs::read(file)?,
    };
    let request = EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.clone(),
    };
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(64 << 20);
    let channel = endpoint.connect().await?;

    // The first call pays for what later ones find ready.
    evaluate(channel.clone(), request.clone()).await?;
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds.parse()?);
    let mut running = JoinSet::new();
    for _ in 0..callers.parse()? {
        let (channel, request) = (channel.clone(), request.clone());
        running.spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < end {
                let begin = Instant::now();
                evaluate(channel.clone(), request.clone()).await?;
                times.push(begin.elapsed());
            }
            Ok::<_, tonic::Status>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = running.join_next().await {
        times.extend(done??);
    }
    let took = begin.elapsed();
    times.sort();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "{callers} callers: {} calls, {:.0}/s, p10 {:.2} p50 {:.2} p90 {:.2} p99 {:.2} ms",
        times.len(),
        times.len() as f64 / took.as_secs_f64(),
        percentile(10),
        percentile(50),
        percentile(90),
        percentile(99),
    );
    Ok(())
}

/// A list of ConfigMaps, about `size` bytes long.
fn list_of(size: usize) -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    let mut n = 0;
    while list.len() < size {
        n += 1;
        list += &format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings-{n}\n    labels:\n      \
             app: shop\n      part: number-{n}\n  data:\n    key: some value\n    text: |\n      line one\n      \
             line two of {n}\n"
        );
    }
    list
}
