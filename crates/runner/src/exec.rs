//! The exec runtime: functions as local executables, or bundled in the runner.
//!
//! A file says which images are which executables. What it does not name may be
//! named by objects, and what those do not name is answered by the bundled functions,
//! if one of their releases stands for the image. [`current`] keeps what counts.

pub(crate) mod bundled;
mod current;
mod file;
mod moving;
mod own_tags;
pub(crate) mod program;
mod table;

use std::sync::Arc;

pub(crate) use current::Current;
#[cfg(test)]
pub(crate) use current::table_for_tests;
use krm::{FunctionError, Output};
use moving::MovingTags;
use own_tags::OwnTags;
use process::{Ahead, Bounds, Gate, Limits, memory};
use program::Program;
use registry::{Metadata, Timeouts};
use service::{EvaluateError, Evaluation, Evaluator, Tasks};

use crate::{config::Config, images};

const NAME: &str = "exec";

#[derive(Debug)]
pub struct ExecRuntime {
    current: Arc<Current>,
    max_output: usize,
    threads: bundled::Threads,
    ahead: Ahead,
    /// `None`: without pods no registry is asked for anything.
    moving: Option<MovingTags>,
}

impl ExecRuntime {
    /// Reads the file and goes on watching it.
    pub fn start(config: &Config, tasks: &mut Tasks) -> anyhow::Result<Self> {
        let current = Arc::new(Current::start(config)?);
        tasks.spawn("exec runtime's configuration", Arc::clone(&current).watch());
        let max_output = service::max_output(config.max_message_size);
        let ahead = Ahead::new(
            Bounds::new(config.exec.started_ahead, config.exec.started_ahead_idle),
            Gate::new(memory::budget(config.memory_budget)),
        );
        tasks.spawn("processes", ahead.keep());
        Ok(Self {
            current,
            max_output,
            threads: bundled::Threads::new(),
            moving: config
                .bundled_rules()
                .filter(|_| config.runtimes.pod)
                .map(|rules| {
                    let client = images::client(&config.registry, Timeouts::default());
                    let images = Metadata::new(client, config.registry.metadata_ttl);
                    MovingTags::new(rules, images)
                }),
            ahead,
        })
    }

    /// The tags that this runtime knows, also those of later configurations.
    pub(crate) fn tags(&self) -> OwnTags {
        OwnTags(Arc::clone(&self.current))
    }

    /// Where objects are applied.
    pub(crate) fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current)
    }
}

#[tonic::async_trait]
impl Evaluator for ExecRuntime {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let Evaluation {
            image,
            resource_list,
            deadline,
            notes,
            ..
        } = evaluation;
        let table = self.current.table();
        let moving = async || table.released(self.moving.as_ref()?.release(&image).await?);
        let found = match table.find(&image) {
            None if !table.is_for_pods(&image) => moving().await,
            found => found,
        };
        let Some(function) = found else {
            return Err(EvaluateError::NotFound {
                image,
                tried: vec![NAME],
            });
        };
        // Counted by ownership: given back however this call ends.
        let Ok(_place) = function.places.try_acquire() else {
            let queued = self.current.max_queued();
            return Err(EvaluateError::QueueFull { image, queued });
        };
        let limits = Limits {
            output: self.max_output,
            deadline,
        };
        let is_file = matches!(function.program, Program::File(_));
        notes.note(|noted| noted.runtime = Some(if is_file { "exec" } else { "bundled" }));
        let waiting = notes.waits();
        let answer = match &function.program {
            Program::File(command) | Program::Beside(_, command) => {
                let mut running = None;
                let run = self.ahead.run_telling(command, resource_list, limits, || {
                    drop(waiting);
                    running = Some(notes.runs());
                });
                krm::evaluate(&image, run).await.map_err(Into::into)
            }
            Program::Native(native) => {
                let call = bundled::Call {
                    image: &image,
                    notes: &notes,
                    waiting,
                };
                self.threads.run(*native, call, resource_list, limits).await
            }
        };
        let release = function
            .program
            .release()
            .map(|release| release.to_string());
        said_by(answer, release)
    }
}

/// The answer, with the release that gave it.
fn said_by(
    answer: Result<Output, EvaluateError>,
    release: Option<String>,
) -> Result<Output, EvaluateError> {
    match answer {
        Ok(output) => Ok(Output {
            answered_by: release,
            ..output
        }),
        Err(EvaluateError::Function(error)) => Err(EvaluateError::Function(FunctionError {
            answered_by: release,
            ..error
        })),
        other => other,
    }
}
