//! The worst minute: whatever happens to pods under running functions, every call is answered.

use std::time::Duration;

use anyhow::ensure;
use cluster::component::Component;
use e2e::runner::{Runner, publish, script};
use e2e::{outage_scenario, pod, scenario};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use tokio::time::sleep;

/// A function that is under way most of the time.
const SLOW: &str = "sleep 2; exec cat";
const CALLERS: usize = 8;

/// The rhythm of the attacks.
const PAUSE: Duration = Duration::from_secs(5);

#[test]
fn a_minute_in_which_all_pods_are_force_deleted_every_5_seconds_loses_no_call() {
    scenario(async |scope| {
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
        Ok(())
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
