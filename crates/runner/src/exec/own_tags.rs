//! The tags that this runner can run itself, for version constraints.

use std::sync::Arc;

use service::EvaluateError;
use tokio::time::Instant;
use versions::Constraint;

use super::Current;
use crate::tags::{Looked, TagSource};

/// Those of configured executables and bundled functions, as they are at the moment.
#[derive(Debug)]
pub(crate) struct OwnTags(pub(super) Arc<Current>);

#[tonic::async_trait]
impl TagSource for OwnTags {
    async fn look(
        &self,
        repository: &str,
        constraint: &Constraint,
        _deadline: Instant,
    ) -> Result<Looked, EvaluateError> {
        let table = self.0.table();
        let tags = table.tags(repository);
        let choice = constraint.choose(tags.iter().copied());
        Ok(Looked {
            best: choice.matching.into_iter().next(),
            at: format!("{} configured or bundled versions", tags.len()),
        })
    }
}
