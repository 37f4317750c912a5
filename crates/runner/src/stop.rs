//! What a stop of the runner consists of, and how long all of it takes at most:
//!
//! ```text
//! SIGTERM ─► lame duck ─► drain ─► functions are killed ─► the pods are left
//!            └── --drain-timeout ┘                          ├ starts end at once, deletions end
//!                                                           ├ the lease is given up
//!                                                           └ spans that are left are sent
//! ```
//! The lease goes as soon as no call uses the pods any more, and not before: from
//! then on another runner may adopt or replace them.

use std::time::Duration;

use service::Stages;

use crate::config::Config;

/// How long the pod runtime may take to leave its pods: deletions under way and
/// the lease's end, side by side.
pub(crate) const PODS_LEFT_WITHIN: Duration = Duration::from_secs(2);

/// How long spans that have not been sent may take, beside that: calls have ended by then.
pub(crate) const FLUSHED_WITHIN: Duration = PODS_LEFT_WITHIN;

/// The server's part.
pub(crate) fn stages(config: &Config) -> Stages {
    Stages::new(config.lame_duck, config.drain_timeout)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::config::Request;

    /// Starting and ending take a moment, too.
    const MARGIN: Duration = Duration::from_secs(1);

    #[derive(Deserialize)]
    struct Deployment {
        spec: DeploymentSpec,
    }

    #[derive(Deserialize)]
    struct DeploymentSpec {
        template: Template,
    }

    #[derive(Deserialize)]
    struct Template {
        spec: PodSpec,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PodSpec {
        termination_grace_period_seconds: u64,
        containers: Vec<Container>,
    }

    #[derive(Deserialize)]
    struct Container {
        args: Vec<String>,
    }

    #[test]
    fn all_stages_together_stay_below_the_manifests_grace_period() {
        let text = include_str!("../../../deploy/base/deployment.yaml");
        let deployment: Deployment = serde_saphyr::from_str(text).unwrap();
        let pod = deployment.spec.template.spec;
        let grace = Duration::from_secs(pod.termination_grace_period_seconds);
        let args = &pod.containers[0].args;
        let words = args.iter().map(Into::into).collect();
        let Ok(Request::Serve(config)) = Config::parse(words) else {
            panic!("the manifest's arguments are wrong: {args:?}")
        };
        let stages = stages(&config);
        assert_eq!(stages.lame_duck, Duration::from_secs(3));
        let sum = stages.sum() + PODS_LEFT_WITHIN.max(FLUSHED_WITHIN);
        assert!(sum + MARGIN < grace, "{sum:?} of {grace:?}");
    }
}
