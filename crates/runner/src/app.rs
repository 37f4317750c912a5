//! The only place that wires the parts together, and their order at start and stop.

use anyhow::{Context as _, bail};
use service::{Evaluator, Handler, Server, Shutdown};
use tonic::service::Routes;

use crate::{chain::Chain, config::Config, exec::ExecRuntime, logging};

/// Serves until told to stop.
pub(crate) fn run(config: Config) -> anyhow::Result<()> {
    logging::init(config.log);
    process::adopt_orphans();
    process::close_on_exec_from(3).context("cannot keep inherited descriptors from functions")?;
    process::raise_descriptor_limit().context("cannot raise the limit of open descriptors")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(config))
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let shutdown = Shutdown::listen().context("cannot listen for signals")?;
    if config.runtimes.pod {
        bail!(
            "the pod runtime is not part of this version yet; \
             start with --disable-runtimes=pod to run functions as local executables"
        );
    }
    let mut runtimes: Vec<Box<dyn Evaluator>> = Vec::new();
    if config.runtimes.exec {
        runtimes.push(Box::new(ExecRuntime::start(&config)?));
    }
    let chain = Chain::new(runtimes, config.default_image_prefix.clone());
    let handler = Handler::new(chain, config.evaluation_timeout);
    let server = Server::new(handler, config.max_message_size)
        .await
        .with_routes(reflection);

    let listener = service::bind(config.port).with_context(|| {
        format!(
            "cannot listen on port {}; choose another one with --port",
            config.port
        )
    })?;
    server.health().set_serving(true).await;
    tracing::info!(address = %listener.local_addr()?, "serving");
    server
        .run(listener, shutdown, config.drain_timeout)
        .await
        .context("the server failed")
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
