//! Which tag a version constraint stands for: the sources of tags, and their order.
//!
//! Functions that this runner can run itself come first: configured executables and
//! bundled releases. If some of them satisfy the constraint, the highest version of
//! these is the answer, and no registry is asked (docs/decisions/0093). Otherwise the
//! answer is the highest version in the registry.

use std::{sync::Arc, time::Duration};

use registry::{MetadataError, Reference, TagLists};
use service::EvaluateError;
use tokio::time::Instant;
use versions::Constraint;

use crate::images;

/// Before a constraint is said to have no match, the list is looked up again if it is
/// older than this: somebody may just have pushed what is missing.
const OLD_WITHOUT_A_MATCH: Duration = Duration::from_secs(10);

/// Somebody who knows tags of repositories.
#[tonic::async_trait]
pub(crate) trait TagSource: Send + Sync {
    /// The best tag of a repository.
    async fn look(
        &self,
        repository: &str,
        constraint: &Constraint,
        deadline: Instant,
    ) -> Result<Looked, EvaluateError>;
}

/// What came of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Looked {
    pub(crate) best: Option<String>,
    /// What was looked at, for the caller: `3 tags of example.com`.
    pub(crate) at: String,
}

/// The tags that registries have.
#[derive(Debug)]
pub(crate) struct RegistryTags(pub(crate) Arc<TagLists>);

#[tonic::async_trait]
impl TagSource for RegistryTags {
    async fn look(
        &self,
        repository: &str,
        constraint: &Constraint,
        deadline: Instant,
    ) -> Result<Looked, EvaluateError> {
        let reference: Reference = images::parse(repository)?;
        let unknown = |error| not_listed(&reference, repository, constraint, &error);
        let look = |tags: &[String]| Looked {
            best: constraint
                .choose(tags.iter().map(String::as_str))
                .matching
                .into_iter()
                .next(),
            at: format!("{} tags at {}", tags.len(), reference.domain()),
        };
        let tags = self.0.get(&reference, deadline).await.map_err(unknown)?;
        let looked = look(&tags);
        if looked.best.is_some() {
            return Ok(looked);
        }
        let younger = self
            .0
            .get_younger(&reference, OLD_WITHOUT_A_MATCH, deadline);
        Ok(look(&younger.await.map_err(unknown)?))
    }
}

/// Why nobody knows which tags there are.
fn not_listed(
    reference: &Reference,
    repository: &str,
    constraint: &Constraint,
    error: &MetadataError,
) -> EvaluateError {
    let (image, log) = (repository.to_owned(), String::new());
    let host = reference.domain();
    let reason = format!(
        "cannot find out which of its tags satisfies {:?}, because {host} does not list them: {}; \
         name a version instead of the constraint",
        constraint.to_string(),
        causes::in_full(error)
    );
    match error {
        MetadataError::Deadline { .. } => EvaluateError::NoPodInTime {
            image,
            waits_for: format!("the list of its tags at {host}"),
        },
        MetadataError::Fetch(fetch) if fetch.is_definite() => {
            EvaluateError::FailedPrecondition { image, reason, log }
        }
        MetadataError::Fetch(_) | MetadataError::Lost { .. } => {
            EvaluateError::Unavailable { image, reason, log }
        }
    }
}

/// The sources of tags, in the order in which they are asked.
#[derive(Default)]
#[allow(missing_debug_implementations)]
pub(crate) struct Resolver {
    sources: Vec<Box<dyn TagSource>>,
}

impl Resolver {
    pub(crate) fn new(sources: Vec<Box<dyn TagSource>>) -> Self {
        Self { sources }
    }

    /// The reference that the constraint stands for at the moment.
    pub(crate) async fn resolve(
        &self,
        repository: &str,
        constraint: &Constraint,
        deadline: Instant,
    ) -> Result<String, EvaluateError> {
        let image = repository.to_owned();
        let mut looked_at = Vec::new();
        for source in &self.sources {
            let looked = source.look(repository, constraint, deadline).await?;
            match looked.best {
                Some(tag) => return Ok(format!("{repository}:{tag}")),
                None => looked_at.push(looked.at),
            }
        }
        if looked_at.is_empty() {
            let tried = Vec::new();
            return Err(EvaluateError::NotFound { image, tried });
        }
        Err(EvaluateError::NoMatchingTag {
            image,
            constraint: constraint.to_string(),
            looked_at,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// These tags, of every repository; none: out of reach.
    pub(crate) struct Fixed(
        pub(crate) &'static str,
        pub(crate) Option<&'static [&'static str]>,
    );

    #[tonic::async_trait]
    impl TagSource for Fixed {
        async fn look(
            &self,
            repository: &str,
            constraint: &Constraint,
            _: Instant,
        ) -> Result<Looked, EvaluateError> {
            let tags = self.1.ok_or_else(|| EvaluateError::Unavailable {
                image: repository.to_owned(),
                reason: format!("{} is down", self.0),
                log: String::new(),
            })?;
            let choice = constraint.choose(tags.iter().copied());
            Ok(Looked {
                best: choice.matching.into_iter().next(),
                at: format!("{} tags of {}", tags.len(), self.0),
            })
        }
    }

    async fn resolved(sources: [Fixed; 2], constraint: &str) -> String {
        let sources = sources.map(|source| Box::new(source) as Box<dyn TagSource>);
        let constraint = constraint.parse().unwrap();
        let resolver = Resolver::new(sources.into());
        let answer = resolver.resolve("a/b", &constraint, Instant::now()).await;
        answer.unwrap_or_else(|error| error.to_string())
    }

    const OWN: Fixed = Fixed("own", Some(&["v0.4.0", "v0.4.2"]));
    const REMOTE: Fixed = Fixed("r.example", Some(&["v0.4.0", "v0.4.9", "v0.5.1"]));
    const DOWN: Fixed = Fixed("r.example", None);

    #[tokio::test]
    async fn a_match_of_our_own_suffices_and_nobody_else_is_asked() {
        assert_eq!(resolved([OWN, DOWN], "~0.4").await, "a/b:v0.4.2");
        assert_eq!(resolved([OWN, REMOTE], "~0.4").await, "a/b:v0.4.2");
    }

    #[tokio::test]
    async fn what_we_do_not_have_is_looked_for_in_the_registry() {
        assert_eq!(resolved([OWN, REMOTE], ">=0.4.3 <0.5").await, "a/b:v0.4.9");
        let told = resolved([OWN, DOWN], ">=0.5").await;
        assert_eq!(told, "cannot run function \"a/b\": r.example is down");
    }

    #[tokio::test]
    async fn a_constraint_that_nothing_satisfies_is_told_with_what_was_looked_at() {
        assert_eq!(
            resolved([OWN, REMOTE], ">=9").await,
            "no tag of \"a/b\" satisfies \">=9\" (looked at: 2 tags of own, 3 tags of r.example); \
             `function-runner inspect a/b --tag \">=9\"` shows why not"
        );
        let nobody = Resolver::default();
        let constraint = ">=9".parse().unwrap();
        let error = nobody.resolve("a/b", &constraint, Instant::now()).await;
        assert!(matches!(error, Err(EvaluateError::NotFound { .. })));
    }

    #[tokio::test]
    async fn a_registry_out_of_reach_is_told_with_its_name_and_the_constraint() {
        let transport = registry::Transport::default();
        let timeouts = registry::Timeouts::default();
        let client = registry::Client::new(registry::Keychain::Default, transport, timeouts);
        let lists = TagLists::of(Arc::new(client), None);
        let source = RegistryTags(Arc::new(lists));
        let constraint = "~0.4".parse().unwrap();
        let look = |seconds| {
            let deadline = Instant::now() + Duration::from_secs(seconds);
            source.look("127.0.0.1:1/a", &constraint, deadline)
        };
        let late = look(0).await.unwrap_err();
        assert!(matches!(late, EvaluateError::NoPodInTime { .. }), "{late}");
        let error = look(60).await.unwrap_err();
        assert!(
            matches!(error, EvaluateError::Unavailable { .. }),
            "{error}"
        );
        let told = error.to_string();
        let begin = "cannot run function \"127.0.0.1:1/a\": cannot find out which of its tags \
                     satisfies \"~0.4\", because 127.0.0.1:1 does not list them: cannot connect to ";
        assert!(told.starts_with(begin), "{told}");
        assert!(
            told.ends_with("name a version instead of the constraint"),
            "{told}"
        );
    }
}
