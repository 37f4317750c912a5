//! Clients that no library would be: floods of resets, frames that make no sense,
//! bodies that do not come, and more connections than anybody needs. Each costs
//! only itself: afterwards the next call is answered at once, in bounded memory.

use std::time::{Duration, Instant};

use acceptance::{
    LIST, Server, call,
    cgroup::Cgroup,
    evaluate,
    http2::{END_HEADERS, PREFACE, Raw, frame, headers, kind},
    system,
};
use bytes::Bytes;
use h2::client::SendRequest;
use tokio::{net::TcpStream, sync::RwLock, task::JoinSet, time::timeout};
use tonic::Code;

const EVALUATE: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";

/// What a call may take while nothing else goes on.
const QUICK: Duration = Duration::from_secs(3);

/// What the server may ever have needed in these tests.
const MOST_KIB: u64 = 200 * 1024;

/// Written by tests with a thousand callers, read by those that measure how long a call takes:
/// beside a thousand others that says nothing about the server.
static CROWD: RwLock<()> = RwLock::const_new(());

async fn assert_well(server: &Server) {
    let begin = Instant::now();
    let answer = evaluate(server.connect().await, call("echo", LIST)).await;
    assert_eq!(answer.unwrap().resource_list, LIST);
    let took = begin.elapsed();
    assert!(took < QUICK, "the next call took {took:?}");
    let peak = system::peak_kib(server.pid());
    assert!(peak < MOST_KIB, "{peak} KiB were needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_reset_as_soon_as_they_are_made_end_their_connection() {
    let _no_crowd = CROWD.read().await;
    let server = Server::runner(&[]);
    let block = headers(EVALUATE);
    for _ in 0..10 {
        let mut raw = Raw::connect(&server.address()).unwrap();
        let mut is_cut_off = false;
        for n in 0..10_000 {
            let stream = 2 * n + 1;
            let mut bytes = frame(kind::HEADERS, END_HEADERS, stream, &block);
            bytes.extend(frame(kind::RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
            if raw.send(&bytes).is_err() {
                is_cut_off = true;
                break;
            }
        }
        assert!(is_cut_off || raw.is_closed(), "10,000 resets were taken");
    }
    assert_well(&server).await;
    server.assert_nothing_left_running();
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_make_no_sense_end_their_connection_and_nothing_else() {
    let _no_crowd = CROWD.read().await;
    let server = Server::runner(&[]);
    let begun = frame(kind::HEADERS, END_HEADERS, 1, &headers(EVALUATE));
    let bad: Vec<(&str, Vec<u8>)> = vec![
        ("data of no stream", frame(kind::DATA, 0, 0, b"x")),
        ("data of an idle stream", frame(kind::DATA, 0, 7, b"x")),
        (
            "an even stream",
            frame(kind::HEADERS, END_HEADERS, 2, &headers(EVALUATE)),
        ),
        (
            "bad compression",
            frame(kind::HEADERS, END_HEADERS, 1, &[0xff; 64]),
        ),
        (
            "settings of five bytes",
            frame(kind::SETTINGS, 0, 0, &[0; 5]),
        ),
        (
            "a window of nothing",
            frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4]),
        ),
        ("a ping of one byte", frame(kind::PING, 0, 0, &[0])),
        (
            "a promise",
            frame(kind::PUSH_PROMISE, END_HEADERS, 1, &[0; 8]),
        ),
        (
            "a continuation of nothing",
            frame(kind::CONTINUATION, END_HEADERS, 1, &[]),
        ),
        (
            "a frame of 16 MB",
            [&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1][..], &[0; 100]].concat(),
        ),
        ("headers that never end", {
            let mut bytes = frame(kind::HEADERS, 0, 1, &headers(EVALUATE));
            for _ in 0..10_000 {
                bytes.extend(frame(kind::CONTINUATION, 0, 1, &[0; 16]));
            }
            bytes
        }),
        ("windows that overflow", {
            let most = 0x7fff_ffff_u32.to_be_bytes();
            let update = frame(kind::WINDOW_UPDATE, 0, 0, &most);
            [update.clone(), update].concat()
        }),
    ];
    for (what, bytes) in &bad {
        let mut raw = Raw::connect(&server.address()).unwrap();
        // It may be cut off while it still sends.
        let _ = raw.send(bytes);
        assert!(raw.is_closed(), "{what}: the connection stays open");
    }
    for hello in [&b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], &[0; 64]] {
        let mut raw = Raw::silent(&server.address()).unwrap();
        raw.send(hello).unwrap();
        assert!(raw.is_closed(), "{hello:?}");
    }
    // A call that has begun, and then noise, always the same.
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..50 {
        let mut bytes = begun.clone();
        for _ in 0..64 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            bytes.extend(noise.to_le_bytes());
        }
        let mut raw = Raw::connect(&server.address()).unwrap();
        let _ = raw.send(&bytes);
    }
    assert_well(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_and_bad_lengths_are_refused_in_words() {
    let _no_crowd = CROWD.read().await;
    let server = Server::runner(&[]);
    let mut client = connect(&server).await;
    let two = [message(LIST.as_bytes()), message(LIST.as_bytes())].concat();
    let (code, words) = send(&mut client, two.into(), true).await;
    assert_eq!(code, Code::InvalidArgument, "{words}");
    let huge = Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
    let (code, words) = send(&mut client, huge, false).await;
    assert_eq!(code, Code::ResourceExhausted, "{words}");
    assert_well(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_come_are_given_up_after_20_seconds() {
    let _no_crowd = CROWD.read().await;
    let server = Server::runner(&[]);
    let begin = Instant::now();
    let address = server.address();
    let silent = tokio::task::spawn_blocking(move || {
        // Neither says hello: one says nothing, one only half of it.
        let mut nothing = Raw::silent(&address).unwrap();
        let mut half = Raw::silent(&address).unwrap();
        half.send(&PREFACE[..10]).unwrap();
        assert!(nothing.is_closed() && half.is_closed());
    });
    let mut calls = JoinSet::new();
    for n in 0..20 {
        let mut client = connect(&server).await;
        for _ in 0..20 {
            client = client.ready().await.unwrap();
            // Of a megabyte there comes nothing, the head, or a part.
            let whole = message(&[b'x'; 1_000_000]);
            let part = Bytes::from(whole[..[0, 5, 100][n % 3]].to_vec());
            let mut client = client.clone();
            calls.spawn(async move { send(&mut client, part, false).await });
        }
    }
    // Meanwhile others are served.
    assert_well(&server).await;
    let answers = timeout(Duration::from_secs(60), calls.join_all());
    for (code, words) in answers.await.expect("still open") {
        assert_eq!(code, Code::DeadlineExceeded, "{words}");
        assert!(words.contains("did not arrive in time"), "{words}");
    }
    let took = begin.elapsed();
    assert!(took > Duration::from_secs(19), "{took:?}");
    silent.await.unwrap();
    assert_well(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_at_most_1024_streams() {
    let server = Server::runner(&[]);
    let client = connect(&server).await;
    // The library's guess until the server's settings have come.
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.current_max_send_streams() != 1024 {
        let most = client.current_max_send_streams();
        assert!(Instant::now() < deadline, "{most} streams");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_2500_connections_the_idle_ones_make_room_for_callers() {
    let _no_crowd = CROWD.read().await;
    system::raise_descriptor_limit();
    let server = Server::runner(&[]);
    let busy = server.connect().await;
    let call_in_flight = tokio::spawn(evaluate(busy, call("takes-a-second", LIST)));
    system::wait_until("the call in flight", || {
        match system::descendants(server.pid()).len() {
            0 => Err("none".into()),
            _ => Ok(()),
        }
    });
    let mut idle = Vec::new();
    for _ in 0..2500 {
        idle.push(Raw::connect(&server.address()).unwrap());
    }
    assert_eq!(call_in_flight.await.unwrap().unwrap().resource_list, LIST);
    system::wait_until("too many connections", || {
        match system::open_descriptors(server.pid()) {
            few if few < 2100 => Ok(()),
            many => Err(format!("{many} descriptors")),
        }
    });
    assert_well(&server).await;
    // The first to come was the first to go; the last is still there.
    assert!(idle[0].is_closed());
    let last = idle.last_mut().unwrap();
    last.send(&frame(kind::PING, 0, 0, &[7; 8])).unwrap();
    while last.next_kind().unwrap() != kind::PING {}
    drop(idle);
    system::wait_until("connections left", || {
        match system::open_descriptors(server.pid()) {
            few if few < 100 => Ok(()),
            many => Err(format!("{many} descriptors")),
        }
    });
    assert_well(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_callers_with_six_megabytes_each_are_answered_or_refused() {
    let _crowd = CROWD.write().await;
    let server = Server::runner(&["--memory-budget=512Mi"]);
    a_thousand_large_calls(&server).await;
    let peak = system::peak_kib(server.pid());
    println!("{peak} KiB at most");
    assert!(peak < 512 * 1024, "{peak} KiB");
}

/// The same where the kernel holds the limit against everything that the runner needs: the
/// functions' processes and the sockets' buffers, too.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and a cgroup for memory"]
async fn a_thousand_large_calls_do_not_end_a_runner_in_a_container_of_512_mebibytes() {
    let _crowd = CROWD.write().await;
    let cgroup = Cgroup::new(512 * 1024 * 1024).expect("root, and a cgroup for memory");
    let folder = tempfile::TempDir::new().unwrap();
    let config = folder.path().join("config.yaml");
    std::fs::write(&config, acceptance::server::exec_config()).unwrap();
    let functions = acceptance::server::functions();
    let mut command = cgroup.command(&acceptance::server::binary("function-runner"));
    command
        .args(["--port=0", "--disable-runtimes=pod"])
        .arg(format!("--functions={}", functions.display()))
        .arg(format!("--config={}", config.display()));
    let mut server = Server::start(command, folder);
    a_thousand_large_calls(&server).await;
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
}

async fn a_thousand_large_calls(server: &Server) {
    let list = format!("{LIST}#{}", "x".repeat(6_000_000));
    let whole = Bytes::from(message(list.as_bytes()));
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let client = connect(server).await;
        for _ in 0..5 {
            let (client, whole) = (client.clone(), whole.clone());
            calls.spawn(async move { send(&mut client.ready().await.unwrap(), whole, true).await });
        }
    }
    let answers = timeout(Duration::from_secs(300), calls.join_all());
    let (mut answered, mut refused) = (0, 0);
    for (code, words) in answers.await.expect("no call hangs") {
        match code {
            Code::Ok => answered += 1,
            Code::ResourceExhausted => {
                assert!(words.contains("--memory-budget"), "{words}");
                refused += 1;
            }
            _ => panic!("{code:?}: {words}"),
        }
    }
    println!("{answered} answered, {refused} refused");
    assert!(answered > 0 && refused > 0);
    assert_eq!(answered + refused, 1000);
    let alone = call("echo", list.clone());
    let answer = evaluate(server.connect().await, alone).await.unwrap();
    assert_eq!(answer.resource_list.len(), list.len());
}

/// A message with its head: a call of `echo` with this list.
fn message(list: &[u8]) -> Vec<u8> {
    use prost::Message as _;
    let request = call("echo", list).encode_to_vec();
    let length = u32::try_from(request.len()).unwrap();
    [&[0][..], &length.to_be_bytes(), &request].concat()
}

async fn connect(server: &Server) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    // Ends with the client's last stream, or when the server closes it.
    tokio::spawn(connection);
    client
}

/// Sends a body and says how the call ended, and in which words.
async fn send(client: &mut SendRequest<Bytes>, body: Bytes, ends: bool) -> (Code, String) {
    let request = http::Request::post(format!("http://localhost{EVALUATE}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (response, mut stream) = client.send_request(request, false).unwrap();
    stream.send_data(body, ends).unwrap();
    let response = response.await.unwrap();
    let mut trailers = response.headers().clone();
    let mut answer = response.into_body();
    if !trailers.contains_key("grpc-status") {
        while let Some(data) = answer.data().await {
            let length = data.unwrap().len();
            answer.flow_control().release_capacity(length).unwrap();
        }
        trailers = answer.trailers().await.unwrap().unwrap();
    }
    let status = tonic::Status::from_header_map(&trailers).unwrap();
    (status.code(), status.message().to_owned())
}
