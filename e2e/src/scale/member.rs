//! One runner, with a proxy of its own before the API server.

use std::time::Duration;

use acceptance::Server;
use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use super::instructions::Counter;
use super::stage::Stage;
use crate::api_proxy::ApiProxy;
use crate::runner::Runner;

/// A runner under valgrind is ready in less than a minute; others much sooner.
const READY: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) server: Server,
    pub(super) proxy: ApiProxy,
    /// The references of those that are called here.
    pub(super) functions: Vec<String>,
}

impl Member {
    pub(super) async fn start(
        stage: &Stage<'_>,
        name: &str,
        functions: Vec<String>,
        counter: Option<&Counter>,
    ) -> Result<Self> {
        let proxy = ApiProxy::start()?;
        let template = stage.template_flag();
        // A scan looks at every pod and asks the registry for each function's tag: not while instructions of
        // something else are counted.
        let scans = if counter.is_some() { "1h" } else { "1m" };
        let scans = format!("--scan-interval={scans}");
        let args = [
            scans.as_str(),
            template.as_str(),
            "--pod-ttl=4h",
            // All pods start at the same time, on a machine that has to simulate them all.
            "--pod-start-timeout=20m",
            // What a departed runner leaves is taken over also where there is one of its function.
            "--max-parallel-pods-per-function=8",
            "--max-waitlist-length=1000",
        ];
        let mut setup = Runner::setup(stage.scope, &args)
            .named(name)
            .with_access(&proxy.kubeconfig())
            .with_wrapper("registry.local:5000/wrapper:none");
        if let Some(counter) = counter {
            setup = setup.counted_by(counter);
        }
        let server = setup.start_server()?;
        let begin = Instant::now();
        while server.lines_with("the pod runtime is ready") == 0 {
            let is_late = begin.elapsed() > READY;
            ensure!(!is_late, "{name} is not ready: {}", server.log());
            sleep(Duration::from_millis(50)).await;
        }
        Ok(Self {
            name: name.to_owned(),
            server,
            proxy,
            functions,
        })
    }

    /// How many pods it has taken over from others.
    pub(super) fn adopted(&self) -> usize {
        self.server.lines_with("adopted a pod")
    }

    /// Whether it was answered all that it follows the API server by, since its requests are counted.
    pub(super) fn follows_again(&self) -> bool {
        let counted = self.proxy.counted();
        let asked = |what: &str| counted.answered.contains_key(what);
        ["watch pods", "watch services", "PATCH leases"]
            .into_iter()
            .all(asked)
    }
}
