//! The pull secret: the docker config with which kubelets pull private images,
//! kept in the pod namespace as a copy of the runner's own file.
//!
//! The secret is compared with the file whenever a pod needs it: created if it is
//! missing, replaced if the file has changed, otherwise left alone. Only `get`,
//! `create` and `update` are used, which is all that the roles of Porch's runner allow.

use std::{
    collections::BTreeMap,
    error::Error,
    io,
    path::{Path, PathBuf},
};

use k8s_openapi::{
    ByteString,
    api::core::v1::{LocalObjectReference, PodSpec, Secret},
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout_at};

use crate::pod::cluster::{
    ServerHeaders,
    api::{ApiError, Gate},
};

const TYPE: &str = "kubernetes.io/dockerconfigjson";
const KEY: &str = ".dockerconfigjson";

/// Other runners keep the same secret: the second one to write it reads it again. Each
/// round that fails is one in which another runner has succeeded.
const ROUNDS: usize = 5;

/// The secret and the file that it is a copy of.
#[derive(Debug, Clone)]
pub struct PullSecret {
    api: Api<Secret>,
    gate: Gate,
    name: String,
    file: PathBuf,
}

/// What had to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Created,
    Updated,
    /// It was equal already.
    Alone,
}

#[derive(Debug, thiserror::Error)]
pub enum PullSecretError {
    #[error("cannot read the docker config {}, which --registry-auth-secret-path names", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("the docker config {} is not JSON: see line {line}, column {column}", file.display())]
    Parse {
        file: PathBuf,
        line: usize,
        column: usize,
    },
    #[error(
        "the secret {name} exists, but its type is {kind} instead of {TYPE}; delete it, or name \
         another one with --registry-auth-secret-name"
    )]
    OtherType { name: String, kind: String },
    #[error("cannot get the pull secret {name}")]
    Get {
        name: String,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("cannot create the pull secret {name}")]
    Create {
        name: String,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("cannot update the pull secret {name}")]
    Update {
        name: String,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("the pull secret {name} was not in place before the caller's deadline")]
    Deadline { name: String },
}

impl PullSecret {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub fn new(client: Client, namespace: &str, name: &str, file: &Path) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            gate: Gate::new(ServerHeaders::default()),
            name: name.to_owned(),
            file: file.to_owned(),
        }
    }

    /// Its requests wait for their turns among those for pods: each for its own, so that what it
    /// waits for between them, such as another attempt, takes no turn from others.
    pub(crate) fn through(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    /// Sees to it that the secret is there and equals the file.
    pub async fn keep(&self, deadline: Instant) -> Result<Kept, PullSecretError> {
        let kept = timeout_at(deadline, self.keep_unbounded()).await;
        kept.unwrap_or_else(|_| {
            Err(PullSecretError::Deadline {
                name: self.name.clone(),
            })
        })
    }

    async fn keep_unbounded(&self) -> Result<Kept, PullSecretError> {
        let content = ByteString(self.read().await?);
        let mut round = 1;
        loop {
            match self.keep_once(&content).await {
                Err(error) if error.is_race() && round < ROUNDS => round += 1,
                outcome => return outcome,
            }
        }
    }

    async fn keep_once(&self, content: &ByteString) -> Result<Kept, PullSecretError> {
        let Some(secret) = self.get().await? else {
            return self.create(content.clone()).await;
        };
        match change(secret, content) {
            Change::None => Ok(Kept::Alone),
            Change::OtherType(kind) => {
                let name = self.name.clone();
                Err(PullSecretError::OtherType { name, kind })
            }
            Change::Replace(secret) => self.update(&secret).await,
        }
    }

    async fn read(&self) -> Result<Vec<u8>, PullSecretError> {
        let file = self.file.clone();
        let content = match tokio::fs::read(&file).await {
            Ok(content) => content,
            Err(source) => return Err(PullSecretError::Read { file, source }),
        };
        match serde_json::from_slice::<IgnoredAny>(&content) {
            Ok(_) => Ok(content),
            Err(error) => Err(PullSecretError::Parse {
                file,
                line: error.line(),
                column: error.column(),
            }),
        }
    }

    async fn get(&self) -> Result<Option<Secret>, PullSecretError> {
        let secret = self.gate.persist(|| self.api.get_opt(&self.name)).await;
        secret.map_err(|source| PullSecretError::Get {
            name: self.name.clone(),
            source: Box::new(source),
        })
    }

    async fn create(&self, content: ByteString) -> Result<Kept, PullSecretError> {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..Default::default()
            },
            type_: Some(TYPE.to_owned()),
            data: Some(BTreeMap::from([(KEY.to_owned(), content)])),
            ..Default::default()
        };
        let parameters = PostParams::default();
        let create = || self.api.create(&parameters, &secret);
        match self.gate.persist(create).await {
            Ok(_) => Ok(Kept::Created),
            Err(source) => Err(PullSecretError::Create {
                name: self.name.clone(),
                source: Box::new(source),
            }),
        }
    }

    async fn update(&self, secret: &Secret) -> Result<Kept, PullSecretError> {
        let parameters = PostParams::default();
        let replace = || self.api.replace(&self.name, &parameters, secret);
        match self.gate.persist(replace).await {
            Ok(_) => Ok(Kept::Updated),
            Err(source) => Err(PullSecretError::Update {
                name: self.name.clone(),
                source: Box::new(source),
            }),
        }
    }
}

impl PullSecretError {
    /// Somebody else has created, changed or deleted it in the same moment.
    fn is_race(&self) -> bool {
        !matches!(self, Self::Get { .. }) && matches!(self.code(), Some(404 | 409))
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Get { source, .. }
            | Self::Create { source, .. }
            | Self::Update { source, .. } => source.downcast_ref::<ApiError>()?.code,
            _ => None,
        }
    }
}

/// How a secret has to change to hold `content`.
enum Change {
    None,
    OtherType(String),
    /// The same object with the new content; its version guards against races.
    Replace(Box<Secret>),
}

fn change(mut secret: Secret, content: &ByteString) -> Change {
    match secret.type_.as_deref() {
        Some(TYPE) => {}
        // A secret's type cannot be changed.
        kind => return Change::OtherType(kind.unwrap_or("Opaque").to_owned()),
    }
    let data = secret.data.get_or_insert_default();
    if data.get(KEY) == Some(content) {
        return Change::None;
    }
    data.insert(KEY.to_owned(), content.clone());
    Change::Replace(Box::new(secret))
}

/// Lets a pod's images be pulled with the secret; once, however often it is
/// attached, and beside the secrets of the pod's template.
pub fn attach(pod: &mut PodSpec, name: &str) {
    let secrets = pod.image_pull_secrets.get_or_insert_default();
    if secrets.iter().all(|secret| secret.name != name) {
        secrets.push(LocalObjectReference {
            name: name.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::join_all;
    use k8s_openapi::api::core::v1::Pod;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::pod::cluster::fake;

    #[test]
    fn the_secret_is_attached_once_and_beside_others() {
        let names = |pod: &PodSpec| {
            let secrets = pod.image_pull_secrets.iter().flatten();
            secrets
                .map(|secret| secret.name.clone())
                .collect::<Vec<_>>()
        };
        let mut pod = PodSpec::default();
        attach(&mut pod, "auth-secret");
        attach(&mut pod, "auth-secret");
        assert_eq!(names(&pod), ["auth-secret"]);
        let mut pod = PodSpec::default();
        attach(&mut pod, "of-the-template");
        attach(&mut pod, "auth-secret");
        attach(&mut pod, "of-the-template");
        assert_eq!(names(&pod), ["of-the-template", "auth-secret"]);
    }

    #[test]
    fn a_secret_changes_only_in_what_differs() {
        let content = ByteString(b"{}".to_vec());
        let secret = |kind: &str, value: &[u8]| Secret {
            type_: Some(kind.to_owned()),
            data: Some(BTreeMap::from([
                (KEY.to_owned(), ByteString(value.to_vec())),
                ("mine".to_owned(), ByteString(b"x".to_vec())),
            ])),
            ..Default::default()
        };
        assert!(matches!(
            change(secret(TYPE, b"{}"), &content),
            Change::None
        ));
        let other = change(secret("Opaque", b"{}"), &content);
        assert!(matches!(other, Change::OtherType(kind) if kind == "Opaque"));
        let Change::Replace(changed) = change(secret(TYPE, b"old"), &content) else {
            panic!("a change")
        };
        let data = changed.data.unwrap();
        assert_eq!(data[KEY], content);
        assert_eq!(data["mine"], ByteString(b"x".to_vec()));
    }

    /// A secret over an API server that gives these answers, the last one first.
    fn secret(answers: Vec<(u16, Value)>, folder: &Path) -> PullSecret {
        let answers = Mutex::new(answers);
        let client = fake::client(move |_| answers.lock().pop().expect("no more"));
        let file = folder.join("config.json");
        std::fs::write(&file, "{}").unwrap();
        PullSecret::new(client, "pods", "auth-secret", &file)
    }

    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_api_server_is_asked_again() {
        let busy = fake::refusal(429, "TooManyRequests", "later");
        let missing = fake::refusal(404, "NotFound", "no such secret");
        let created = (201, json!({ "metadata": { "name": "auth-secret" } }));
        let folder = tempfile::tempdir().unwrap();
        let answers = vec![created, busy.clone(), missing, busy];
        let kept = secret(answers, folder.path()).keep(in_a_minute()).await;
        assert_eq!(kept.unwrap(), Kept::Created);
    }

    #[tokio::test(start_paused = true)]
    async fn while_secrets_wait_for_another_attempt_others_have_their_turn() {
        let (code, mut busy) = fake::refusal(429, "TooManyRequests", "later");
        busy["details"] = json!({ "retryAfterSeconds": 20 });
        let (folder, gate) = (
            tempfile::tempdir().unwrap(),
            Gate::new(ServerHeaders::default()),
        );
        let answers = vec![(code, busy); 10];
        let secrets: Vec<PullSecret> = (0..20)
            .map(|_| secret(answers.clone(), folder.path()).through(gate.clone()))
            .collect();
        let others = async {
            let pods: Api<Pod> = Api::namespaced(fake::client(|_| (200, json!({}))), "pods");
            sleep(Duration::from_secs(1)).await;
            timeout(Duration::from_secs(1), gate.once(pods.get("a"))).await
        };
        let keeps = secrets.iter().map(|secret| secret.keep(in_a_minute()));
        let (_, answer) = futures::join!(join_all(keeps), others);
        assert!(answer.is_ok(), "they pause outside of the gate");
    }
}
