//! Asks one runtime after the other, in a fixed order: exec, then pod. "Not
//! mine" makes it go on; a result or any other error ends it.

use krm::Output;
use service::{EvaluateError, Evaluation, Evaluator};

use crate::images;

#[allow(missing_debug_implementations)]
pub struct Chain {
    runtimes: Vec<Box<dyn Evaluator>>,
    default_image_prefix: String,
}

impl Chain {
    /// `runtimes` in the order in which they are asked.
    pub fn new(runtimes: Vec<Box<dyn Evaluator>>, default_image_prefix: String) -> Self {
        Self {
            runtimes,
            default_image_prefix,
        }
    }
}

#[tonic::async_trait]
impl Evaluator for Chain {
    async fn evaluate(&self, mut evaluation: Evaluation) -> Result<Output, EvaluateError> {
        evaluation.image = images::resolve(&self.default_image_prefix, &evaluation.image);
        images::check(&evaluation.image)?;
        let mut all_tried = Vec::new();
        for runtime in &self.runtimes {
            match runtime.evaluate(evaluation.clone()).await {
                Err(EvaluateError::NotFound { tried, .. }) => all_tried.extend(tried),
                answer => return answer,
            }
        }
        Err(EvaluateError::NotFound {
            image: evaluation.image,
            tried: all_tried,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;

    static ASKED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    /// Knows the functions that begin with its name.
    struct Runtime(&'static str);

    #[tonic::async_trait]
    impl Evaluator for Runtime {
        async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
            ASKED.lock().unwrap().push(self.0);
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
        let runtimes: Vec<Box<dyn Evaluator>> =
            vec![Box::new(Runtime("exec")), Box::new(Runtime("pod"))];
        let chain = Chain::new(runtimes, "example.com/".into());
        let evaluation = Evaluation {
            image: image.into(),
            resource_list: "list".into(),
            deadline: Instant::now(),
        };
        let answer = chain.evaluate(evaluation).await;
        (answer, std::mem::take(&mut *ASKED.lock().unwrap()))
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
}
