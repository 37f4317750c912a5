//! Finds out which image a call wants, and asks the runtimes for it in a fixed order:
//! exec, then pod. If a runtime answers "not mine", the next one is asked; a result or
//! any other error is the call's answer. An image that the policy keeps out of one
//! runtime may still run in the next.

use krm::Output;
use service::{EvaluateError, Evaluation, Evaluator};

use crate::{
    images,
    observed::Observed,
    policy::Guard,
    tags::Resolver,
    wanted::{Wanted, wanted},
};

#[allow(missing_debug_implementations)]
pub(crate) struct Chain {
    runtimes: Vec<Box<dyn Evaluator>>,
    tags: Resolver,
    default_image_prefix: String,
    guard: Guard,
}

impl Chain {
    /// `runtimes` in the order in which they are asked.
    pub(crate) fn new(
        runtimes: Vec<Box<dyn Evaluator>>,
        tags: Resolver,
        default_image_prefix: String,
    ) -> Self {
        Self {
            runtimes,
            tags,
            default_image_prefix,
            guard: Guard::default(),
        }
    }

    #[must_use]
    pub(crate) fn guarded_by(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }
}

#[tonic::async_trait]
impl Evaluator for Chain {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let mut observed = Observed::begin(&evaluation);
        let answer = self.answer(evaluation, &mut observed).await;
        observed.ended(&answer);
        answer
    }
}

impl Chain {
    async fn answer(
        &self,
        mut evaluation: Evaluation,
        observed: &mut Observed,
    ) -> Result<Output, EvaluateError> {
        let image = images::resolve(&self.default_image_prefix, &evaluation.image);
        let tag = std::mem::take(&mut evaluation.tag);
        match wanted(&image, &tag)? {
            Wanted::Exactly(image) => {
                observed.is_about(&image);
                evaluation.image = image;
                self.run(evaluation).await
            }
            Wanted::Matching {
                repository,
                constraint,
            } => {
                let deadline = evaluation.deadline;
                let allowed = self.guard.lets_ask(&images::parse(&repository)?);
                allowed.map_err(|refused| refused.of(&repository))?;
                let looking = evaluation.trace.span("image tags");
                let image = self
                    .tags
                    .resolve(&repository, &constraint, deadline)
                    .await?;
                observed.is_about(&image);
                drop(looking);
                evaluation.image = image.clone();
                let mut output = self.run(evaluation).await?;
                // The log shall say what the constraint stood for.
                output.answered_by.get_or_insert(image);
                Ok(output)
            }
        }
    }

    async fn run(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let mut all_tried = Vec::new();
        let mut denied = None;
        let image = evaluation.image.clone();
        let mut evaluation = Some(evaluation);
        for (at, runtime) in self.runtimes.iter().enumerate() {
            // The last one gets the list itself: it need not be kept for another one.
            let asked = if at + 1 == self.runtimes.len() {
                evaluation.take()
            } else {
                evaluation.clone()
            };
            let Some(asked) = asked else { break };
            match runtime.evaluate(asked).await {
                Err(EvaluateError::NotFound { tried, .. }) => all_tried.extend(tried),
                Err(error @ EvaluateError::PermissionDenied { .. }) => {
                    denied.get_or_insert(error);
                }
                answer => return answer,
            }
        }
        Err(denied.unwrap_or(EvaluateError::NotFound {
            image,
            tried: all_tried,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;
    use crate::tags::tests::Fixed;

    thread_local!(static ASKED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) });

    /// Knows the functions that begin with its name.
    struct Runtime(&'static str);

    #[tonic::async_trait]
    impl Evaluator for Runtime {
        async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
            ASKED.with_borrow_mut(|asked| asked.push(self.0));
            assert_eq!(evaluation.tag, "", "runtimes are asked for one reference");
            let Evaluation {
                image,
                resource_list,
                ..
            } = evaluation;
            match image.strip_prefix("example.com/").unwrap() {
                name if name.starts_with(&format!("{}-full", self.0)) => {
                    Err(EvaluateError::QueueFull { image, queued: 1 })
                }
                name if name.starts_with(self.0) => Ok(Output {
                    resource_list,
                    log: self.0.into(),
                    errors: vec![],
                    answered_by: None,
                }),
                _ => Err(EvaluateError::NotFound {
                    image,
                    tried: vec![self.0],
                }),
            }
        }
    }

    async fn ask(image: &str) -> (Result<Output, EvaluateError>, Vec<&'static str>) {
        ask_with_tag(image, "").await
    }

    async fn ask_with_tag(
        image: &str,
        tag: &str,
    ) -> (Result<Output, EvaluateError>, Vec<&'static str>) {
        let runtimes: Vec<Box<dyn Evaluator>> =
            vec![Box::new(Runtime("exec")), Box::new(Runtime("pod"))];
        let own = Fixed("own", Some(&["v0.4.0", "v0.4.1", "v0.5.0"]));
        let tags = Resolver::new(vec![Box::new(own)]);
        let chain = Chain::new(runtimes, tags, "example.com/".into());
        let evaluation = Evaluation {
            image: image.into(),
            tag: tag.into(),
            resource_list: "list".into(),
            deadline: Instant::now(),
            notes: Default::default(),
            trace: Default::default(),
        };
        let answer = chain.evaluate(evaluation).await;
        (answer, ASKED.take())
    }

    #[tokio::test]
    async fn runtimes_are_asked_in_order_until_one_answers() {
        let (answer, asked) = ask("exec-fn:v1").await;
        assert_eq!((&*answer.unwrap().log, asked), (&b"exec"[..], vec!["exec"]));
        let (answer, asked) = ask("example.com/pod-fn").await;
        assert_eq!(
            (&*answer.unwrap().log, asked),
            (&b"pod"[..], vec!["exec", "pod"])
        );
        let (answer, asked) = ask("exec-full").await;
        assert!(matches!(answer, Err(EvaluateError::QueueFull { .. })));
        assert_eq!(asked, ["exec"]);
        let (answer, asked) = ask("other:v1").await;
        assert_eq!(asked, ["exec", "pod"]);
        assert_eq!(
            answer.unwrap_err().to_string(),
            "no runtime knows function \"example.com/other:v1\" (tried: exec, pod)"
        );
        for bad in ["", "UPPER", "a b", "x:"] {
            let (answer, asked) = ask(bad).await;
            assert!(
                matches!(answer, Err(EvaluateError::InvalidImage { .. })),
                "{bad:?}"
            );
            assert!(asked.is_empty());
        }
    }

    #[tokio::test]
    async fn a_tag_decides_which_reference_runs() {
        for (tag, answered_by) in [
            ("~0.4", Some("example.com/pod-fn:v0.4.1")),
            ("v0.4", None),
            ("", None),
        ] {
            let (answer, asked) = ask_with_tag("pod-fn:v9", tag).await;
            assert_eq!(asked, ["exec", "pod"]);
            assert_eq!(answer.unwrap().answered_by.as_deref(), answered_by, "{tag}");
        }
        let (answer, asked) = ask_with_tag("pod-fn", ">=9").await;
        assert!(matches!(answer, Err(EvaluateError::NoMatchingTag { .. })));
        assert!(asked.is_empty());
        let (answer, _) = ask_with_tag("other", "v0.4").await;
        let told = answer.unwrap_err().to_string();
        assert!(told.contains("\"example.com/other:v0.4\""), "{told}");
    }
}
