//! The wrapper servers of all pods: one listener, which knows by the address that was dialled which pod
//! it is. Every function returns its list. Lives in a thread of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use futures::Stream;
use futures::stream::unfold;
use parking_lot::{Mutex, MutexGuard};
use proto::function_evaluator_server::{FunctionEvaluator, FunctionEvaluatorServer};
use proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::dials::Dials;
use crate::runner::WRAPPER_PORT;

/// They end when dropped.
#[derive(Debug)]
pub(super) struct Wrappers {
    dials: Arc<Mutex<Dials>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Wrappers {
    pub(super) fn start() -> Result<Self> {
        let dials = Arc::<Mutex<Dials>>::default();
        let (end, ended) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let shared = Arc::clone(&dials);
        let serve = async move || -> Result<()> {
            let all = SocketAddr::from((Ipv4Addr::UNSPECIFIED, WRAPPER_PORT));
            let listener = TcpListener::bind(all).await;
            let listener = listener.with_context(|| format!("cannot listen on {all}"))?;
            tell.send(())?;
            let (_reporter, health) = tonic_health::server::health_reporter();
            Server::builder()
                .add_service(health)
                .add_service(FunctionEvaluatorServer::new(Echo))
                .serve_with_incoming(counted(listener, shared))
                .await?;
            Ok(())
        };
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            // Cancel-safe: whoever drops the wrappers wants no more of them.
            runtime.block_on(async {
                tokio::select! {
                    outcome = serve() => eprintln!("the wrapper servers ended: {outcome:?}"),
                    _ = ended => {}
                }
            });
        });
        told.recv().context("the wrapper servers")?;
        Ok(Self {
            dials,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// How often each pod was dialled until now.
    pub(super) fn dials(&self) -> Dials {
        lock(&self.dials).clone()
    }
}

impl Drop for Wrappers {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connections as they come, each counted for the address that it came for.
fn counted(
    listener: TcpListener,
    dials: Arc<Mutex<Dials>>,
) -> impl Stream<Item = std::io::Result<TcpStream>> {
    unfold((listener, dials), |(listener, dials)| async move {
        let accepted = listener.accept().await.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
            let pod: IpAddr = stream.local_addr()?.ip();
            *lock(&dials).entry(pod).or_default() += 1;
            Ok(stream)
        });
        Some((accepted, (listener, dials)))
    })
}

#[derive(Debug)]
struct Echo;

#[tonic::async_trait]
impl FunctionEvaluator for Echo {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        Ok(Response::new(EvaluateFunctionResponse {
            resource_list: request.into_inner().resource_list,
            ..EvaluateFunctionResponse::default()
        }))
    }
}

fn lock(dials: &Mutex<Dials>) -> MutexGuard<'_, Dials> {
    dials.lock()
}
