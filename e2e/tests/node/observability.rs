//! Prometheus itself scrapes a runner and the wrapper of its pod, and finds every metric that is
//! documented; the status page shows the pod and its cold start, and is looked at by a browser.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::browser::{Look, look};
use acceptance::http1::get;
use anyhow::{Context, Result, ensure};
use e2e::runner::{Runner, publish, script};
use e2e::template::{self, documented_but};
use e2e::{Scope, scenario};
use serde_json::Value;
use tempfile::TempDir;

/// How long Prometheus may take to start and to scrape.
const PATIENCE: Duration = Duration::from_secs(90);

/// A Prometheus of the test's own. Dropping it ends it.
struct Prometheus {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    fn start(targets: &[String]) -> Result<Self> {
        let folder = TempDir::new()?;
        let config = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: function-runner\n  \
             static_configs:\n  - targets: {targets:?}\n"
        );
        fs::write(folder.path().join("prometheus.yml"), config)?;
        // Freed again for it: nobody else on the node listens by chance.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = Command::new("prometheus")
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("log"))?)
            .spawn()
            .context("prometheus: apt-get install prometheus")?;
        Ok(Self {
            child,
            address,
            _folder: folder,
        })
    }

    /// How many series a query finds.
    fn series(&self, query: &str) -> usize {
        // It may not listen yet.
        let answer = std::panic::catch_unwind(|| {
            get(&self.address, &format!("/api/v1/query?query={query}")).body
        });
        let answer: Option<Value> = answer
            .ok()
            .and_then(|body| serde_json::from_str(&body).ok());
        let found = answer.map(|answer| answer["data"]["result"].as_array().map_or(0, Vec::len));
        found.unwrap_or(0)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names in the tables of docs/observability.md.
fn documented() -> Vec<String> {
    let text = include_str!("../../../docs/observability.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split('`').next());
    let is_metric = |name: &&str| {
        let begins = ["function_runner_", "rpc_", "process_"];
        begins.iter().any(|begin| name.starts_with(begin))
    };
    names.filter(is_metric).map(str::to_owned).collect()
}

async fn wrapper_address(scope: &Scope) -> Result<String> {
    let pod = scope.only_pod().await?;
    let status = pod.status.context("a status")?;
    Ok(format!("{}:9464", status.pod_ip.context("an address")?))
}

#[test]
fn prometheus_finds_every_documented_metric_of_a_runner_and_its_wrapper() {
    scenario(async |scope| {
        let variables = "image: image-replaced-by-kpt-func-image\n      env:\n      \
                         - {name: OTEL_METRICS_EXPORTER, value: prometheus}\n      \
                         - {name: OTEL_EXPORTER_PROMETHEUS_HOST, value: 0.0.0.0}\n";
        let pod = documented_but(&[("image: image-replaced-by-kpt-func-image\n", variables)])?;
        let flag = template::publish(scope, "scraped", &pod).await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--warm-up-pod-cache=false", &flag])?;
        runner.call(&image).await?;
        let wrapper = wrapper_address(scope).await?;
        let page = runner.server.status_address();
        let prometheus = Prometheus::start(&[page.clone(), wrapper])?;
        let begin = Instant::now();
        let both = "function_runner_build_info";
        while prometheus.series(both) < 2 {
            ensure!(
                begin.elapsed() < PATIENCE,
                "Prometheus scrapes only {}",
                prometheus.series(both)
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let names = documented();
        ensure!(names.len() > 30, "only {names:?} are documented");
        for name in names {
            let found = prometheus.series(&name) + prometheus.series(&format!("{name}_count"));
            ensure!(found > 0, "Prometheus has no {name}");
        }
        let view: Value = serde_json::from_str(&get(&page, "/status.json").body)?;
        let pod = &view["pods"][0];
        ensure!(pod["phase"] == "ready" && pod["node"].is_string(), "{pod}");
        let start = &view["starts"][0];
        ensure!(
            start["phases"].as_array().is_some_and(|all| all.len() > 2),
            "{start}"
        );
        let watches = view["watches"].as_array().context("watches")?;
        let is_connected = |watch: &Value| watch["is_connected"] == true;
        ensure!(
            !watches.is_empty() && watches.iter().all(is_connected),
            "{watches:?}"
        );
        Ok(())
    });
}

#[test]
fn the_page_is_whole_in_a_browser_during_load_and_tells_the_numbers_of_metrics_afterwards() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let markup = publish(scope, "markup", &script("echo '<b>bold</b>' >&2; exit 1"))?;
        let runner = Runner::start(scope, &[])?;
        let page = runner.server.status_address();
        let load = runner.calls(&image).callers(4).start();
        load.goes_on(4).await?;
        runner.heard(&markup).await?;
        let address = page.clone();
        let looked = tokio::task::spawn_blocking(move || look(&address, "node", Look::Whole));
        looked.await?.context("during load")?;
        load.goes_on(4).await?;
        let account = load.end().await?;
        println!("{account}");
        let looked = tokio::task::spawn_blocking(move || look(&page, "node", Look::Used));
        looked.await?.context("after it")
    });
}
