//! What a test on the real node gets: a namespace of its own, images, pods, ways to break things,
//! and the logs of all that took part when it fails.
//!
//! Tests run inside the node's namespaces (`make e2e` sees to that), so service names resolve and
//! cluster addresses connect in the test process itself.
//!
//! ```no_run
//! #[test]
//! fn a_pod_starts() {
//!     e2e::scenario(async |scope| {
//!         scope.create_pod("hello", e2e::pod::shell("sleep 60")).await?;
//!         scope.pod_becomes("hello", "running", e2e::pod::is_running).await?;
//!         Ok(())
//!     });
//! }
//! ```

mod account;
pub mod api_proxy;
mod audit;
pub mod deployment;
pub mod inspection;
mod load;
pub mod many_tags;
pub mod name_server;
pub mod network_policies;
mod outage;
pub mod peer;
pub mod pod;
pub mod real_registry;
mod report;
pub mod runner;
pub mod scale;
mod scenario;
mod scope;
mod setup;
pub mod soak;
pub mod template;
pub mod token_server;

pub use account::{Account, Failure};
pub use audit::{audited_pods, audited_requests};
pub use load::{Calls, Load};
pub use outage::{Breakable, Outage};
pub use report::report;
pub use scenario::{outage_scenario, scenario};
pub use scope::Scope;
