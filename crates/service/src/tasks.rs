//! Tasks that are meant to run as long as the process: each has a name and one
//! owner, who hears when one has ended all the same. A server whose watch or
//! worker is gone must not go on saying that it serves.

use std::collections::HashMap;

use tokio::task::{self, JoinError, JoinSet};

/// The long-lived tasks of a process. Dropping it ends them.
#[derive(Debug, Default)]
pub struct Tasks {
    running: JoinSet<()>,
    names: HashMap<task::Id, &'static str>,
}

/// A task has ended that should not have.
#[derive(Debug, thiserror::Error)]
pub enum TaskEnded {
    /// The panic's own words are in the log; they may quote a list.
    #[error("an internal task, {0:?}, has panicked; the log says where, please report it")]
    Panicked(&'static str),
    #[error("an internal task, {0:?}, has ended unasked; please report it")]
    Returned(&'static str),
}

impl Tasks {
    /// Starts a task that never ends by itself. Needs a runtime.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.running.spawn(task).id();
        self.names.insert(id, name);
    }

    /// Waits until one of them ends; for ever, as long as all of them run.
    /// Cancel-safe.
    pub async fn ended(&mut self) -> TaskEnded {
        match self.running.join_next_with_id().await {
            Some(Ok((id, ()))) => TaskEnded::Returned(self.name(id)),
            Some(Err(error)) => self.failed(&error),
            None => std::future::pending().await,
        }
    }

    fn failed(&mut self, error: &JoinError) -> TaskEnded {
        let name = self.name(error.id());
        if error.is_panic() {
            TaskEnded::Panicked(name)
        } else {
            TaskEnded::Returned(name)
        }
    }

    fn name(&mut self, id: task::Id) -> &'static str {
        self.names.remove(&id).unwrap_or("unknown")
    }

    /// Ends all of them and waits until they are gone.
    pub async fn end(mut self) {
        self.running.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{sync::oneshot, time::timeout};

    use super::*;

    #[tokio::test]
    async fn a_task_that_ends_is_named_whether_it_panics_or_returns() {
        let mut tasks = Tasks::default();
        tasks.spawn("endless", std::future::pending());
        tasks.spawn("panics", async { panic!("on purpose") });
        assert!(matches!(tasks.ended().await, TaskEnded::Panicked("panics")));
        tasks.spawn("returns", async {});
        let ended = tasks.ended().await;
        assert!(matches!(ended, TaskEnded::Returned("returns")));
        assert!(ended.to_string().contains("\"returns\""), "{ended}");
    }

    #[tokio::test(start_paused = true)]
    async fn as_long_as_all_run_nothing_is_heard() {
        let mut tasks = Tasks::default();
        let an_hour = Duration::from_secs(3600);
        timeout(an_hour, tasks.ended()).await.unwrap_err();
        tasks.spawn("endless", std::future::pending());
        timeout(an_hour, tasks.ended()).await.unwrap_err();
    }

    #[tokio::test]
    async fn the_end_of_the_owner_is_the_end_of_its_tasks() {
        let mut tasks = Tasks::default();
        let (alive, is_gone) = oneshot::channel::<()>();
        tasks.spawn("endless", async {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        tasks.end().await;
        is_gone.await.unwrap_err();
    }
}
