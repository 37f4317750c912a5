//! The worst minute: whatever happens to pods under running functions, every call is answered.

use std::time::Duration;

use anyhow::{Result, ensure};
use cluster::component::Component;
use e2e::runner::{Runner, publish, script};
use e2e::{outage_scenario, pod};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use tokio::time::sleep;

/// A function that is under way most of the time.
const SLOW: &str = "sleep 2; exec cat";
const CALLERS: usize = 8;

/// The rhythm of the attacks.
const PAUSE: Duration = Duration::from_secs(5);

/// For each call that was lost and sent again, one line names the pod that it was lost in and the one
/// that takes it: another one, because the first was deleted. There may be none: a container often lives
/// for longer than the calls in it. `pods_faults` has calls that are lost for certain.
fn names_both_pods(log: &str) -> Result<()> {
    let lines = log.lines().filter(|line| line.contains("a call was lost"));
    for line in lines {
        let pod_after = |words: &str| {
            let rest = line.split_once(words).map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split_whitespace().next())
        };
        let lost = pod_after("a call was lost in pod ");
        let next = pod_after("it is sent again to pod ");
        let are_ours = [lost, next]
            .iter()
            .all(|pod| pod.is_some_and(|pod| pod.starts_with("slow-")));
        ensure!(are_ours && lost != next, "not both pods: {line}");
    }
    Ok(())
}

#[test]
fn a_minute_in_which_all_pods_are_force_deleted_every_5_seconds_loses_no_call() {
    // Alone: among the pods of other tests a new one may not have started when the next blow falls.
    outage_scenario(async |scope, _| {
        let image = publish(scope, "slow", &script(SLOW))?;
        let runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let load = runner.calls(&image).callers(CALLERS).start();
        let (at_once, all) = (
            DeleteParams::default().grace_period(0),
            ListParams::default().labels("fn.kpt.dev/image"),
        );
        for _ in 0..12 {
            load.goes_on_for(PAUSE).await?;
            scope.api::<Pod>().delete_collection(&at_once, &all).await?;
        }
        load.goes_on(CALLERS as u64).await?;
        let account = load.end().await?;
        ensure!(account.answered > 12, "hardly any call: {account}");
        names_both_pods(&runner.server.log())
    });
}

#[test]
fn containers_that_are_killed_while_the_api_server_is_away_lose_no_call() {
    outage_scenario(async |scope, node| {
        let image = publish(scope, "slow", &script(SLOW))?;
        let runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let pod = scope.only_pod().await?;
        let load = runner.calls(&image).callers(CALLERS).start();
        load.goes_on(CALLERS as u64).await?;
        let outage = node.stop(Component::ApiServer)?;
        let mut killed = 0;
        // For 20 seconds. The kubelet starts the container again, each time after a longer pause.
        for _ in 0..4 {
            for wrapper in pod::wrappers(&pod)? {
                wrapper.kill()?;
                killed += 1;
            }
            sleep(PAUSE).await;
        }
        outage.end()?;
        ensure!(killed > 1, "{killed} containers were killed");
        load.goes_on(CALLERS as u64).await?;
        load.end().await?;
        Ok(())
    });
}
