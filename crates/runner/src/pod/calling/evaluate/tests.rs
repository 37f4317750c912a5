//! Calls whose pod dies under them, with pods of a few lines and a paused clock.

use std::{
    future::pending,
    io,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use proto::{
    EvaluateFunctionResponse,
    function_evaluator_server::{FunctionEvaluator, FunctionEvaluatorServer},
};
use tokio::{
    io::{DuplexStream, copy_bidirectional, duplex},
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use tonic::{
    Response, Status,
    transport::{Endpoint, Server, Uri},
};

use super::*;
use crate::{
    pod::{
        calling::{check, connect::Origin},
        functions::Defaults,
        owning::Usage,
    },
    pool::{Launcher, PodId, Settings, Worker},
};

const SECOND: Duration = Duration::from_secs(1);

/// A cluster with pods in memory. A function takes two seconds.
#[derive(Default)]
struct World {
    /// How many calls kill their pod, from the first on.
    deadly: AtomicUsize,
    /// How long a pod that was killed does not listen; its container is started again then.
    downtime: Mutex<Duration>,
    /// What the cluster reports of a pod a second after it died.
    death: Option<&'static str>,
    is_away: AtomicBool,
    digest: Mutex<&'static str>,
    calls: Mutex<Vec<Arc<str>>>,
    started: AtomicUsize,
}

/// A pod: what runs over its connections, and since when it listens.
struct Container {
    name: Arc<str>,
    world: Arc<World>,
    up_from: Mutex<Instant>,
    connections: Mutex<JoinSet<()>>,
}

impl Container {
    fn die(&self) {
        let downtime = *self.world.downtime.lock();
        *self.up_from.lock() = Instant::now() + downtime;
        self.connections.lock().abort_all();
    }

    /// A connection that ends with the container.
    fn accept(self: &Arc<Self>) -> io::Result<DuplexStream> {
        if Instant::now() < *self.up_from.lock() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (client, mut outer) = duplex(64 * 1024);
        let (mut inner, server) = duplex(64 * 1024);
        let (reporter, health) = tonic_health::server::health_reporter();
        let served = Server::builder()
            .add_service(FunctionEvaluatorServer::new(Function(Arc::clone(self))))
            .add_service(health)
            .serve_with_incoming(futures::stream::iter([Ok::<_, io::Error>(server)]));
        let mut connections = self.connections.lock();
        connections.spawn(async move {
            let _ = copy_bidirectional(&mut outer, &mut inner).await;
        });
        connections.spawn(async move {
            let _ = served.await;
            drop(reporter);
            pending::<()>().await;
        });
        Ok(client)
    }
}

struct Function(Arc<Container>);

#[tonic::async_trait]
impl FunctionEvaluator for Function {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let Self(container) = self;
        let world = &container.world;
        world.calls.lock().push(Arc::clone(&container.name));
        sleep(2 * SECOND).await;
        let less = |deadly: usize| deadly.checked_sub(1);
        if (world.deadly)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
        {
            container.die();
            pending::<()>().await;
        }
        Ok(Response::new(EvaluateFunctionResponse {
            resource_list: request.into_inner().resource_list,
            log: Default::default(),
        }))
    }
}

impl Launcher for Arc<World> {
    type Connection = Connection;

    async fn start(&self, function: &str, pod: PodId, _: &Trace) -> Result<Connection, Failure> {
        self.started.fetch_add(1, Ordering::Relaxed);
        if function == "broken" {
            let digest = *self.digest.lock();
            if digest == "bad" {
                return Err(Failure::lasting("CrashLoopBackOff").of_image(digest));
            }
        }
        sleep(SECOND).await;
        let container = Arc::new(Container {
            name: format!("pod-{}", pod.0).into(),
            world: Self::clone(self),
            up_from: Mutex::new(Instant::now()),
            connections: Mutex::default(),
        });
        let name = Arc::clone(&container.name);
        let connector = tower::service_fn(move |_: Uri| {
            let connection = container.accept().map(TokioIo::new);
            async { connection }
        });
        let endpoint = Endpoint::from_static("http://pod");
        Ok(Connection {
            name,
            channel: endpoint.connect_with_connector_lazy(connector),
            usage: Usage::new(),
            origin: Origin::default(),
        })
    }

    fn adopted(&self, _: PodId, _: &Connection) {}

    async fn check(&self, connection: &Connection) -> Result<(), Failure> {
        let answers = || check::is_serving(&connection.channel);
        check::check(&**self, &connection.name, answers).await
    }

    async fn delete(&self, _: PodId) {}
}

impl Witness for World {
    fn restarts(&self, _: &str) -> i32 {
        0
    }

    async fn death(&self, _: &str, _: i32) -> String {
        sleep(SECOND).await;
        match self.death {
            Some(death) => death.into(),
            None => pending().await,
        }
    }

    async fn lost(&self, _: &str) -> String {
        pending().await
    }

    fn is_current(&self) -> bool {
        !self.is_away.load(Ordering::Relaxed)
    }

    async fn digest(&self, _: &str) -> Option<String> {
        Some((*self.digest.lock()).to_owned())
    }
}

struct Bed {
    world: Arc<World>,
    evaluator: PodEvaluator<World>,
    _worker: JoinHandle<()>,
}

fn bed(world: World, max_retries: usize) -> Bed {
    let world = Arc::new(world);
    let launcher = Arc::new(Arc::clone(&world));
    let (worker, pool) = Worker::new(launcher, 60 * SECOND, 0);
    let defaults = Defaults {
        settings: Settings {
            ttl: 1800 * SECOND,
            max_waitlist_length: 2,
            max_pods: 1,
            max_queued: 1000,
            is_warm_up: false,
            min_pods: 0,
            revision: 0,
        },
        warm_up: false,
        max_retries,
        retry_lost_calls: max_retries > 0,
    };
    let evaluator = PodEvaluator {
        guard: Default::default(),
        pool,
        functions: Arc::new(Functions::new(Path::new(""), "", defaults)),
        roster: Arc::default(),
        witness: Arc::clone(&world),
        has_adopted: watch::channel(true).1,
        max_message_size: 1024,
    };
    Bed {
        world,
        evaluator,
        _worker: tokio::spawn(worker.run(CancellationToken::new())),
    }
}

impl Bed {
    async fn call(&self, image: &str, seconds: u32) -> Result<Output, EvaluateError> {
        let evaluation = Evaluation {
            image: image.to_owned(),
            tag: String::new(),
            resource_list: "list".into(),
            deadline: Instant::now() + seconds * SECOND,
            notes: Default::default(),
            trace: Default::default(),
        };
        self.evaluator.evaluate(evaluation).await
    }

    /// The pods that got the call, one after the other.
    fn calls(&self) -> Vec<Arc<str>> {
        self.world.calls.lock().clone()
    }

    fn started(&self) -> usize {
        self.world.started.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_lost_is_sent_again_to_a_pod_that_answers() {
    let world = World {
        deadly: 2.into(),
        ..World::default()
    };
    let bed = bed(world, 2);
    let output = bed.call("fn", 60).await.unwrap();
    assert_eq!(output.resource_list, "list");
    assert_eq!(bed.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_function_that_kills_its_pod_each_time_ends_with_the_kubelets_reason() {
    let world = World {
        deadly: 100.into(),
        death: Some("container \"function\": OOMKilled, exit code 137"),
        ..World::default()
    };
    let bed = bed(world, 2);
    let error = bed.call("fn", 60).await.unwrap_err();
    assert!(
        matches!(error, EvaluateError::Unavailable { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("OOMKilled") && text.contains("2 times"),
        "{text}"
    );
    assert!(text.contains("pod-1"), "{text}");
    assert_eq!(bed.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_lost_is_not_sent_again_where_that_is_turned_off() {
    let world = World {
        deadly: 1.into(),
        ..World::default()
    };
    let bed = bed(world, 0);
    let text = bed.call("fn", 60).await.unwrap_err().to_string();
    for words in [
        "pod-1",
        "broke off",
        "may have run",
        "--retry-lost-calls",
        "try again",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(bed.calls().len(), 1);
    assert!(
        bed.call("fn", 60).await.is_ok(),
        "the next one is not disturbed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_stays_away_is_replaced_and_its_call_does_not_count_as_lost() {
    let world = World {
        deadly: 1.into(),
        downtime: Mutex::new(1000 * SECOND),
        ..World::default()
    };
    let bed = bed(world, 1);
    let begin = Instant::now();
    bed.call("fn", 60).await.unwrap();
    assert_eq!(bed.calls(), ["pod-1".into(), "pod-2".into()]);
    assert!(begin.elapsed() < 10 * SECOND, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn while_the_api_server_is_away_a_call_waits_for_its_pods_container_to_be_back() {
    let world = World {
        deadly: 1.into(),
        downtime: Mutex::new(20 * SECOND),
        is_away: true.into(),
        ..World::default()
    };
    let bed = bed(world, 1);
    let begin = Instant::now();
    bed.call("fn", 60).await.unwrap();
    assert_eq!(bed.calls(), ["pod-1".into(), "pod-1".into()]);
    assert_eq!(bed.started(), 1);
    let took = begin.elapsed();
    assert!((25 * SECOND..27 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_over_all_attempts_and_its_error_tells_of_them() {
    let world = World {
        deadly: 1.into(),
        downtime: Mutex::new(1000 * SECOND),
        is_away: true.into(),
        death: Some("the pod is gone"),
        ..World::default()
    };
    let bed = bed(world, 2);
    let begin = Instant::now();
    let error = bed.call("fn", 10).await.unwrap_err();
    assert_eq!(begin.elapsed().as_secs(), 10);
    assert!(
        matches!(error, EvaluateError::NoPodInTime { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains("pod-1 (the pod is gone)"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_failed_is_told_again_at_once_until_the_image_is_another() {
    let world = World {
        digest: Mutex::new("bad"),
        ..World::default()
    };
    let bed = bed(world, 2);
    bed.call("broken", 60).await.unwrap_err();
    let error = bed.call("broken", 60).await.unwrap_err();
    assert!(
        matches!(error, EvaluateError::FailedPrecondition { .. }),
        "{error}"
    );
    let text = error.to_string();
    for words in ["CrashLoopBackOff", "remembered", "in 5 s"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(bed.started(), 1);
    *bed.world.digest.lock() = "good";
    bed.call("broken", 60).await.unwrap();
    assert_eq!(bed.started(), 2);
}
