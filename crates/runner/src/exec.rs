//! The exec runtime: functions as local executables, or bundled in the runner.
//!
//! The file of `--config` maps images to executables. An image that is not in the file
//! may be in a `FunctionConfig` object. An image that is in neither is run by a bundled
//! function, if one of its releases has that name. [`current`] keeps the mapping that
//! is in force.

pub(crate) mod bundled;
pub(crate) mod confinement;
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
use service::{EvaluateError, Evaluation, Evaluator, Tasks, trace::Part};

use crate::{
    config::Config,
    images,
    policy::{Guard, Runtime},
};

const NAME: &str = "exec";

#[derive(Debug)]
pub(crate) struct ExecRuntime {
    current: Arc<Current>,
    max_output: usize,
    threads: bundled::Threads,
    ahead: Ahead,
    /// `None`: without pods no registry is asked for anything.
    moving: Option<MovingTags>,
    guard: Guard,
}

impl ExecRuntime {
    /// Reads the file and goes on watching it.
    pub(crate) fn start(config: &Config, guard: Guard, tasks: &mut Tasks) -> anyhow::Result<Self> {
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
            guard,
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
            trace,
            ..
        } = evaluation;
        let table = self.current.table();
        let reference = images::parse(&image)?;
        let moving = async || {
            self.guard.lets_ask(&reference).ok()?;
            table.released(self.moving.as_ref()?.release(&image).await?)
        };
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
        let runtime = match function.program {
            Program::File(_) => Runtime::Exec,
            Program::Beside(..) | Program::Native(_) => Runtime::Bundled,
        };
        let allowed = self.guard.lets_run(&reference, runtime);
        allowed.map_err(|refused| refused.of(&image))?;
        // Counted by ownership: given back however this call ends.
        let Ok(_place) = function.places.try_acquire() else {
            let queued = self.current.max_queued();
            return Err(EvaluateError::QueueFull { image, queued });
        };
        let limits = Limits {
            output: self.max_output,
            deadline,
        };
        notes.note(|noted| noted.runtime = Some(runtime));
        let mut part = Part::waits(&notes, &trace);
        let answer = match &function.program {
            Program::File(command) | Program::Beside(_, command) => {
                let begins = |begin| part.process(begin);
                let run = self
                    .ahead
                    .run_telling(command, resource_list, limits, begins);
                krm::evaluate(&image, run).await.map_err(Into::into)
            }
            Program::Native(native) => {
                self.threads
                    .run(*native, &image, resource_list, limits, &mut part)
                    .await
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
