//! Applies the policy: fetches the signatures that a rule requires, and remembers those
//! that were verified.
//!
//! A valid signature stays valid, so it is remembered by digest and key for as long as
//! the process lives; a key that the policy no longer names counts no longer. A missing
//! or invalid signature is remembered only for the seconds that the registry's answer is
//! cached.

use std::{collections::HashSet, sync::Arc};

use causes::in_full;
use parking_lot::Mutex;
use registry::{Client, Digest, PublicKey, Reference, SignatureLists, signed_by};
use service::EvaluateError;
use tokio::time::Instant;

use super::{
    Current,
    rules::{Decision, Mode, Policy, Runtime, Subject, Verify},
};

/// More images than any cluster runs; beyond it everything is verified again.
const MOST_VERDICTS: usize = 10_000;

/// Stands at the entrance of every runtime; open where there is no policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard(Option<Arc<Posted>>);

#[derive(Debug)]
struct Posted {
    current: Arc<Current>,
    signatures: SignatureLists,
    /// Digests of images, and of the keys that have signed them.
    verified: Mutex<HashSet<(Digest, Digest)>>,
    /// Digests that were warned of.
    warned: Mutex<HashSet<Digest>>,
}

/// Why an image does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("{0}")]
    Denied(String),
    /// Nobody could be asked.
    #[error("{0}")]
    Unknown(String),
}

/// Why an image may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Admission {
    pub(crate) rule: Option<String>,
    /// The fingerprint of the key that has signed it, if a signature is wanted.
    pub(crate) signed_by: Option<Digest>,
    /// What would keep it out if the rule's mode were `enforce`.
    pub(crate) warning: Option<String>,
}

impl Refused {
    pub(crate) fn of(self, image: &str) -> EvaluateError {
        let image = image.to_owned();
        match self {
            Self::Denied(reason) => EvaluateError::PermissionDenied { image, reason },
            Self::Unknown(reason) => EvaluateError::Unavailable {
                image,
                reason,
                log: String::new(),
            },
        }
    }
}

impl Guard {
    pub(crate) fn new(current: Arc<Current>, client: Arc<Client>) -> Self {
        Self(Some(Arc::new(Posted {
            current,
            signatures: SignatureLists::of(client),
            verified: Mutex::default(),
            warned: Mutex::default(),
        })))
    }

    /// Whether the image has a chance, by its repository: otherwise no registry is asked.
    pub(crate) fn lets_ask(&self, image: &Reference) -> Result<(), Refused> {
        let Some(posted) = &self.0 else { return Ok(()) };
        let chance = posted.current.value().has_a_chance(image);
        chance.map_err(|denial| Refused::Denied(denial.to_string()))
    }

    /// Whether a function that needs no image may run.
    pub(crate) fn lets_run(&self, image: &Reference, runtime: Runtime) -> Result<(), Refused> {
        let Some(posted) = &self.0 else { return Ok(()) };
        let policy = posted.current.value();
        decide(&policy, image, image.digest(), runtime).map(drop)
    }

    /// Whether a pod may be made of this digest, for which the image stands.
    pub(crate) async fn admit(
        &self,
        image: &Reference,
        digest: &Digest,
        deadline: Instant,
    ) -> Result<Admission, Refused> {
        let Some(posted) = &self.0 else {
            return Ok(Admission::default());
        };
        let policy = posted.current.value();
        let (rule, verify) = decide(&policy, image, Some(digest), Runtime::Pod)?;
        let mut admission = match verify {
            Some(verify) => posted.verify(image, digest, verify, rule, deadline).await?,
            None => Admission::default(),
        };
        admission.rule = rule.map(str::to_owned);
        Ok(admission)
    }

    /// Whether a pod that is there may be used, made of this digest as far as it is known.
    pub(crate) async fn admit_pod(
        &self,
        image: &Reference,
        digest: Option<&Digest>,
        deadline: Instant,
    ) -> Result<(), Refused> {
        match digest {
            _ if self.0.is_none() => Ok(()),
            Some(digest) => self.admit(image, digest, deadline).await.map(drop),
            None => Err(Refused::Denied(
                "its pod does not say of which image it is".into(),
            )),
        }
    }

    /// Whether the wrapper server's image has to show something.
    pub(crate) fn verifies_wrapper(&self) -> bool {
        let posted = self.0.as_ref();
        posted.is_some_and(|posted| posted.current.value().wrapper.is_some())
    }

    /// Whether the wrapper server's image may be part of a pod.
    pub(crate) async fn admit_wrapper(
        &self,
        image: &Reference,
        digest: &Digest,
        deadline: Instant,
    ) -> Result<(), Refused> {
        let Some(posted) = &self.0 else { return Ok(()) };
        let policy = posted.current.value();
        let Some(verify) = &policy.wrapper else {
            return Ok(());
        };
        let verified = posted.verify(image, digest, verify, Some("wrapper"), deadline);
        verified.await.map(drop)
    }
}

/// The rule that allows it, and what it wants to see.
fn decide<'p>(
    policy: &'p Policy,
    image: &Reference,
    digest: Option<&Digest>,
    runtime: Runtime,
) -> Result<(Option<&'p str>, Option<&'p Verify>), Refused> {
    let subject = Subject {
        image,
        digest,
        runtime,
    };
    match policy.decide(&subject) {
        Decision::Allow { rule, verify } => Ok((rule, verify)),
        Decision::Deny(denial) => Err(Refused::Denied(denial.to_string())),
    }
}

impl Posted {
    async fn verify(
        &self,
        image: &Reference,
        digest: &Digest,
        verify: &Verify,
        rule: Option<&str>,
        deadline: Instant,
    ) -> Result<Admission, Refused> {
        let signed_by = |key: &PublicKey| Admission {
            signed_by: Some(key.fingerprint().clone()),
            ..Admission::default()
        };
        if let Some(key) = self.known_signer(digest, &verify.keys) {
            return Ok(signed_by(key));
        }
        let refused = match self
            .signer(image, digest, &verify.keys, rule, deadline)
            .await
        {
            Ok(key) => return Ok(signed_by(key)),
            Err(refused) => refused,
        };
        if verify.mode == Mode::Enforce {
            return Err(refused);
        }
        let warning = refused.to_string();
        if remember(&self.warned, digest.clone()) {
            tracing::warn!(%image, %digest, "runs nevertheless, because the rule only warns: {warning}");
        }
        Ok(Admission {
            warning: Some(warning),
            ..Admission::default()
        })
    }

    fn known_signer<'k>(&self, digest: &Digest, keys: &'k [PublicKey]) -> Option<&'k PublicKey> {
        let verified = self.verified.lock();
        let mut keys = keys.iter();
        keys.find(|key| verified.contains(&(digest.clone(), key.fingerprint().clone())))
    }

    async fn signer<'k>(
        &self,
        image: &Reference,
        digest: &Digest,
        keys: &'k [PublicKey],
        rule: Option<&str>,
        deadline: Instant,
    ) -> Result<&'k PublicKey, Refused> {
        let rule = rule.unwrap_or_default();
        let pinned = image.pinned(digest);
        let signatures = self.signatures.of_image(image, digest, deadline).await;
        let signatures = signatures.map_err(|error| {
            Refused::Unknown(format!(
                "rule {rule:?} of the image policy requires a signature of {pinned}, which could \
                 not be checked: {}",
                in_full(&error)
            ))
        })?;
        let key = signed_by(&signatures, keys, digest).map_err(|why| {
            Refused::Denied(format!(
                "rule {rule:?} of the image policy requires {pinned} to be signed with one of its \
                 keys, but {why}; ask its publisher for a signature (cosign sign --key … {pinned})"
            ))
        })?;
        remember(&self.verified, (digest.clone(), key.fingerprint().clone()));
        tracing::info!(%image, %digest, key = %key.fingerprint(), "the image's signature is good");
        Ok(key)
    }
}

/// Whether it is new.
fn remember<T: std::hash::Hash + Eq>(known: &Mutex<HashSet<T>>, entry: T) -> bool {
    let mut known = known.lock();
    if known.len() >= MOST_VERDICTS {
        known.clear();
    }
    known.insert(entry)
}

#[cfg(test)]
mod tests;
