//! What `grpc.health.v1.Health` answers, for the server as a whole ("") and for
//! the FunctionEvaluator service by name.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tonic_health::{
    ServingStatus,
    pb::health_server::{Health as HealthRpc, HealthServer},
    server::{HealthReporter, health_reporter},
};

/// Tells whether this server wants calls.
#[derive(Debug, Clone)]
pub struct Health {
    reporter: HealthReporter,
    /// Set for good once the server stops.
    has_stopped: Arc<AtomicBool>,
}

impl Health {
    /// Begins as not serving.
    pub async fn new() -> (Self, HealthServer<impl HealthRpc>) {
        let (reporter, service) = health_reporter();
        let health = Self {
            reporter,
            has_stopped: Arc::default(),
        };
        health.set_serving(false).await;
        (health, service)
    }

    /// Not serving from now on, whatever is set later: a start that takes long may end
    /// after the stop has begun.
    pub async fn stop(&self) {
        self.has_stopped.store(true, Ordering::Relaxed);
        self.set_serving(false).await;
    }

    pub async fn set_serving(&self, serving: bool) {
        let serving = serving && !self.has_stopped.load(Ordering::Relaxed);
        let status = if serving {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for service in ["", proto::SERVICE_NAME] {
            self.reporter.set_service_status(service, status).await;
        }
    }
}
