//! What `grpc.health.v1.Health` answers, for the server as a whole ("") and for
//! the FunctionEvaluator service by name.

use tonic_health::{
    ServingStatus,
    pb::health_server::{Health as HealthRpc, HealthServer},
    server::{HealthReporter, health_reporter},
};

/// Tells whether this server wants calls.
#[derive(Debug, Clone)]
pub struct Health(HealthReporter);

impl Health {
    /// Begins as not serving.
    pub async fn new() -> (Self, HealthServer<impl HealthRpc>) {
        let (reporter, service) = health_reporter();
        let health = Self(reporter);
        health.set_serving(false).await;
        (health, service)
    }

    pub async fn set_serving(&self, serving: bool) {
        let status = if serving {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for service in ["", proto::SERVICE_NAME] {
            self.0.set_service_status(service, status).await;
        }
    }
}
