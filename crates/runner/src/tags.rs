//! Which tag a version constraint stands for: who knows tags, and in which order
//! they are asked.
//!
//! What this runner can run itself comes first: configured executables and bundled
//! releases. If one of them satisfies the constraint, the highest of them is the
//! answer, and no registry is asked (docs/decisions/0093). Otherwise it is the highest
//! that the registry has.

use service::EvaluateError;
use tokio::time::Instant;
use versions::Constraint;

/// Somebody who knows tags of repositories.
#[tonic::async_trait]
pub trait TagSource: Send + Sync {
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
pub struct Looked {
    pub best: Option<String>,
    /// What was looked at, for the caller: `3 tags of example.com`.
    pub at: String,
}

/// Those who know tags, in the order in which they are asked.
#[derive(Default)]
#[allow(missing_debug_implementations)]
pub struct Resolver {
    sources: Vec<Box<dyn TagSource>>,
}

impl Resolver {
    pub fn new(sources: Vec<Box<dyn TagSource>>) -> Self {
        Self { sources }
    }

    /// The reference that the constraint stands for at the moment.
    pub async fn resolve(
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
}
