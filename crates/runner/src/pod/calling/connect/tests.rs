use std::{convert::Infallible, sync::Arc};

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tonic::{body::Body, codegen::Service, server::NamedService};
use tonic_health::{pb::health_server::HealthServer, server::health_reporter};

use super::*;

#[test]
fn knocks_become_rarer_but_never_cost_much_of_the_time_that_was_waited() {
    assert_eq!(knock_after(Duration::ZERO), FIRST_KNOCK);
    let (mut waited, mut knocks) = (Duration::ZERO, 0);
    while waited < Duration::from_secs(10) {
        let pause = knock_after(waited);
        assert!(pause <= FIRST_KNOCK.max(waited / SHARE_OF_WAITING));
        waited += pause;
        knocks += 1;
    }
    assert!(knocks < 100, "{knocks} knocks in ten seconds");
    assert_eq!(knock_after(Duration::from_secs(60)), LONGEST_KNOCK);
}

/// A health service that writes down by which authority it was called.
#[derive(Clone)]
struct Listening<S>(S, Arc<Mutex<Vec<String>>>);

impl<S: NamedService> NamedService for Listening<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, R> Service<http::Request<Body>> for Listening<S>
where
    S: Service<http::Request<Body>, Response = R, Error = Infallible>,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> S::Future {
        let authority = request.uri().authority().map(ToString::to_string);
        self.1.lock().extend(authority);
        self.0.call(request)
    }
}

#[tokio::test]
async fn calls_name_the_service_though_its_address_is_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = listener.local_addr().unwrap();
    let called = Arc::default();
    let (_reporter, health) = health_reporter();
    let health: HealthServer<_> = health;
    let health = Listening(health, Arc::clone(&called));
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    let server = tonic::transport::Server::builder().add_service(health);
    let server = tokio::spawn(server.serve_with_incoming(incoming));

    let host = "fn-v1-x1.pods.svc.cluster.local".to_owned();
    let address = Address { host, ip: None };
    let connected = timeout(Duration::from_secs(10), address.connect_to(socket));
    connected.await.expect("in time").expect("a channel");
    let authority = format!("fn-v1-x1.pods.svc.cluster.local:{}", socket.port());
    assert_eq!(*called.lock(), [authority]);
    server.abort();
}

#[tokio::test]
async fn a_wrapper_that_takes_a_while_to_answer_is_dialled_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = listener.local_addr().unwrap();
    let host = socket.ip().to_string();
    let connected = tokio::spawn(async move {
        let address = Address { host, ip: None };
        address.connect_to(socket).await.map(drop)
    });
    let (first, _) = listener.accept().await.unwrap();
    // A busy one: in this time it would be dialled twice more if its silence counted as a lost packet.
    sleep(4 * FIRST_ATTEMPT).await;
    let dials = futures::stream::iter([Ok::<_, std::io::Error>(first)]);
    let (_reporter, health) = health_reporter();
    let server = tonic::transport::Server::builder().add_service(health);
    let server = tokio::spawn(server.serve_with_incoming(dials));
    let connected = timeout(Duration::from_secs(10), connected).await;
    connected.expect("in time").unwrap().expect("a channel");
    let again = listener.accept().now_or_never();
    assert!(again.is_none(), "it was dialled again");
    server.abort();
}

#[tokio::test]
async fn look_ups_do_not_use_up_the_threads_that_functions_need() {
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let answers = Arc::new(Mutex::new(answers));
    // Name servers that do not answer, and callers that have given up meanwhile.
    let abandoned = (0..3 * AT_ONCE).map(|_| {
        let (begin, answers) = (begin.clone(), Arc::clone(&answers));
        tokio::spawn(in_turn(move || {
            begin.send(()).ok()?;
            answers.lock().recv().ok()
        }))
    });
    let abandoned: Vec<_> = abandoned.collect();
    for _ in 0..AT_ONCE {
        begun.recv().await.unwrap();
    }
    abandoned.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(
        LOOK_UPS.available_permits(),
        0,
        "their threads are still busy"
    );
    assert!(begun.try_recv().is_err(), "and nobody else has taken one");
    drop(answer);
    assert_eq!(in_turn(|| Some(7)).await, Some(7));
}

#[tokio::test]
async fn a_dead_node_is_noticed_between_calls_and_during_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = listener.local_addr().unwrap();
    let uri = format!("http://{socket}").parse::<Uri>().unwrap();
    let stream = connector().call(uri).await.unwrap().into_inner();
    let options = socket2::SockRef::from(&stream);
    assert!(options.keepalive().unwrap());
    let asked = options.tcp_keepalive_interval().unwrap() * KEEPALIVE_PROBES;
    let noticed = options.tcp_keepalive_time().unwrap() + asked;
    assert!(noticed <= Duration::from_secs(30), "{noticed:?}");
    assert_eq!(options.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED));
}
