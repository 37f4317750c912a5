//! The only place that wires the parts together, and their order at start and stop.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use registry::Timeouts;
use service::{Evaluator, Handler, Server, Shutdown, Tasks};
use telemetry::{Identity, Telemetry, metrics::Counts};
use tokio::time::timeout;
use tonic::service::Routes;

use crate::{
    chain::Chain,
    config::Config,
    exec::{ExecRuntime, confinement},
    function_config::live::Live,
    images, logging,
    pod::runtime::PodRuntime,
    policy::{self, Guard, PolicyFile},
    status::{self, Address, Sources},
    stop,
    tags::{Resolver, TagSource},
    tls::{self, Port},
};

/// The same check serves as liveness probe, which waits no longer.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// Porch keeps one connection: after this time it may find another replica.
const MAX_CONNECTION_AGE: Duration = Duration::from_secs(10 * 60);

/// The part of the memory that requests in flight may hold, as a divisor: answers
/// need as much again, and functions the rest.
const REQUESTS: u64 = 4;

/// How long a thread for blocking work waits for more of it. Files are looked at every two seconds, each time by
/// the thread that has waited longest: with tokio's ten seconds, twenty threads would stay for ever once there were
/// twenty, and the allocator keeps some memory for each.
const THREADS_WAIT: Duration = Duration::from_secs(1);

/// Serves until a signal asks it to stop.
pub(crate) fn run(config: Config) -> anyhow::Result<()> {
    metrics::is("function-runner", env!("CARGO_PKG_VERSION"));
    process::keep_freed_memory();
    logging::init(config.log);
    process::adopt_orphans();
    process::close_on_exec_from(3).context("cannot keep inherited descriptors from functions")?;
    process::raise_descriptor_limit().context("cannot raise the limit of open descriptors")?;
    if config.runtimes.exec {
        confinement::begin(&config)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(THREADS_WAIT)
        .build()?;
    let ended = runtime.block_on(serve(config));
    // A file or a name that is still being looked up must not delay the end.
    runtime.shutdown_background();
    process::remove_temporary_directories();
    ended
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let shutdown = Shutdown::listen().context("cannot listen for signals")?;
    let telemetry = Telemetry::from_environment(
        &identity(),
        Some(Counts {
            snapshot: metrics::snapshot,
            since: metrics::started(),
        }),
    );
    let mut tasks = Tasks::default();
    tasks.spawn("metrics push", telemetry.pushes_metrics());
    let mut runtimes: Vec<Box<dyn Evaluator>> = Vec::new();
    let mut tags: Vec<Box<dyn TagSource>> = Vec::new();
    let guard = guard(&config, &mut tasks)?;
    let mut exec = None;
    if config.runtimes.exec {
        let runtime = ExecRuntime::start(&config, guard.clone(), &mut tasks)?;
        tags.push(Box::new(runtime.tags()));
        exec = Some(runtime.current());
        runtimes.push(Box::new(runtime));
    }
    let mut pods = None;
    if !config.runtimes.pod {
        Live::without_pods(&config, exec, &mut tasks).await;
    } else {
        let (runtime, evaluator) = PodRuntime::start(
            &config,
            exec,
            guard.clone(),
            telemetry.tracing(),
            &mut tasks,
        )
        .await?;
        tags.push(Box::new(runtime.tags()));
        runtimes.push(Box::new(evaluator));
        pods = Some(runtime);
    }
    let memory = process::memory::budget(config.memory_budget);
    let chain = Chain::new(
        runtimes,
        Resolver::new(tags),
        config.default_image_prefix.clone(),
    )
    .guarded_by(guard);
    let handler = Handler::new(chain, config.evaluation_timeout).with_tracing(telemetry.tracing());
    let server = Server::new(handler, config.max_message_size)
        .await
        .with_request_memory(memory / REQUESTS)
        .with_max_connection_age(MAX_CONNECTION_AGE)
        .with_routes(reflection)
        .with_transport(port(&config, &mut tasks)?);

    let address = Address::read(config.status, |name| std::env::var(name).ok());
    if let Some(address) = address {
        let sources = Sources {
            configuration: config.shown.clone(),
            pods: pods.as_ref().map(PodRuntime::shown),
        };
        if let Some(address) = status::start(&address, sources, &mut tasks).await {
            tracing::info!("status page: http://{address}/");
        }
    }
    let listener = service::bind(config.port).with_context(|| {
        format!(
            "cannot listen on port {}; choose another one with --port",
            config.port
        )
    })?;
    tracing::info!(address = %listener.local_addr()?, "serving");
    let health = server.health();
    let announce = async {
        if let Some(pods) = &pods {
            let is_late = timeout(READY_WITHIN, pods.ready()).await.is_err();
            tracing::info!(is_late, "the pod runtime is ready");
        }
        health.set_serving(true).await;
        std::future::pending::<()>().await;
    };
    // Cancel-safe: nothing is left to announce when the server has ended.
    let ended = tokio::select! {
        ended = server.run(listener, shutdown, &mut tasks, stop::stages(&config)) => ended,
        () = announce => Ok(()),
    };
    let leave = async {
        if let Some(pods) = pods {
            pods.stop().await;
        }
    };
    tokio::join!(leave, telemetry.flush(stop::FLUSHED_WITHIN));
    tasks.end().await;
    ended.context("stopped")
}

/// Plain text, or TLS.
fn port(config: &Config, tasks: &mut Tasks) -> anyhow::Result<Port> {
    let Some(config) = &config.tls else {
        return Ok(Port::Plain);
    };
    let current = Arc::new(tls::Current::start(config.clone())?);
    tasks.spawn("certificates", Arc::clone(&current).watch());
    Ok(Port::tls(current))
}

/// The image policy, if there is one.
fn guard(config: &Config, tasks: &mut Tasks) -> anyhow::Result<Guard> {
    let Some(path) = &config.image_policy else {
        return Ok(Guard::default());
    };
    let current = Arc::new(policy::Current::start(PolicyFile(path.clone()))?);
    tasks.spawn("image policy", Arc::clone(&current).watch());
    let client = images::client(&config.registry, Timeouts::default());
    Ok(Guard::new(current, Arc::new(client)))
}

/// What is said about this process with what it exports.
fn identity() -> Identity {
    let is_inside = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let from = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let namespace = || {
        let file = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
        std::fs::read_to_string(file).ok()
    };
    Identity {
        version: env!("CARGO_PKG_VERSION"),
        // A pod's host name is its own.
        pod: from("POD_NAME").or_else(|| from("HOSTNAME").filter(|_| is_inside)),
        namespace: from("POD_NAMESPACE").or_else(namespace),
    }
}

/// Server reflection, so that tools such as grpcurl know the services.
fn reflection(routes: Routes) -> Routes {
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // Both versions: older tools only ask for the first.
    match (builder().build_v1alpha(), builder().build_v1()) {
        (Ok(v1alpha), Ok(v1)) => routes.add_service(v1alpha).add_service(v1),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "no server reflection");
            routes
        }
    }
}
