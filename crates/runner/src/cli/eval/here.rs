//! Evaluates right here, without a server: by the exec runtime, as a server without pods
//! does it. What a function started ends with this process, also if somebody interrupts it.

use std::time::Duration;

use anyhow::Context as _;
use proto::{
    EvaluateFunctionRequest, EvaluateFunctionResponse, function_evaluator_server::FunctionEvaluator,
};
use service::{Handler, Shutdown, Tasks};
use tonic::{Request, Response, Status};

use crate::{
    chain::Chain,
    config::Config,
    exec::{ExecRuntime, confinement},
    policy::Guard,
    tags::Resolver,
};

type Answer = Result<EvaluateFunctionResponse, Status>;

pub(super) fn evaluate(
    config: &Config,
    request: EvaluateFunctionRequest,
    timeout: Duration,
) -> anyhow::Result<Answer> {
    process::adopt_orphans();
    confinement::begin(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let answer = runtime.block_on(answer(config, request, timeout));
    runtime.shutdown_background();
    process::remove_temporary_directories();
    answer
}

async fn answer(
    config: &Config,
    request: EvaluateFunctionRequest,
    timeout: Duration,
) -> anyhow::Result<Answer> {
    let mut shutdown = Shutdown::listen().context("cannot listen for signals")?;
    let mut tasks = Tasks::default();
    let exec = ExecRuntime::start(config, Guard::default(), &mut tasks)?;
    let tags = Resolver::new(vec![Box::new(exec.tags())]);
    let chain = Chain::new(
        vec![Box::new(exec)],
        tags,
        config.default_image_prefix.clone(),
    );
    let handler = Handler::new(chain, timeout);
    // Cancel-safe: a call that is dropped ends its function.
    let answer = tokio::select! {
        answer = handler.evaluate_function(Request::new(request)) => answer.map(Response::into_inner),
        () = shutdown.heard() => Err(Status::cancelled("interrupted")),
    };
    drop(handler);
    tasks.end().await;
    process::end_all(Duration::from_secs(1));
    Ok(answer)
}
