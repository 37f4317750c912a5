//! The signatures of one image: those under cosign's tag, and those that the list of
//! referrers names. Numbers are bounded, and content is checked against its digest.

use http::Method;

use super::{FetchError, session::Session};
use crate::{
    digest::Digest,
    manifest::ACCEPTED,
    signature::{self, Layer, Signature},
};

/// Each costs a request. An image is signed by a few, and somebody who may push could
/// add any number.
const MOST_SIGNATURES: usize = 32;
const MOST_REFERRERS: usize = 16;

impl Session<'_> {
    /// Everything that claims to be a signature of `digest`; empty if there is nothing.
    pub(super) async fn signatures(
        &mut self,
        digest: &Digest,
    ) -> Result<Vec<Signature>, FetchError> {
        let (own, listed) = signature::tags_of(digest);
        let mut layers = Vec::new();
        if let Some(manifest) = self.if_there(&own).await? {
            layers.extend(self.layers_of(&own, &manifest)?);
        }
        if let Some(index) = self.if_there(&listed).await? {
            let referrers = signature::referrers(&index);
            let referrers = referrers.map_err(|source| self.unreadable(&listed, source))?;
            for referrer in referrers.into_iter().take(MOST_REFERRERS) {
                let name = referrer.to_string();
                if let Some(manifest) = self.if_there(&name).await? {
                    check(&self.path_of(&name), &manifest, &referrer)?;
                    layers.extend(self.layers_of(&name, &manifest)?);
                }
            }
        }
        let mut signatures: Vec<Signature> = Vec::new();
        for Layer { payload, signature } in layers.into_iter().take(MOST_SIGNATURES) {
            let path = format!("/v2/{}/blobs/{payload}", self.reference.path());
            let answer = self.ask(Method::GET, &path, "*/*").await?;
            check(&path, &answer.body, &payload)?;
            signatures.push(Signature {
                payload: answer.body,
                signature,
            });
        }
        Ok(signatures)
    }

    fn path_of(&self, name: &str) -> String {
        format!("/v2/{}/manifests/{name}", self.reference.path())
    }

    /// The document of a tag or digest; `None` if the registry has none.
    async fn if_there(&mut self, name: &str) -> Result<Option<bytes::Bytes>, FetchError> {
        match self.ask(Method::GET, &self.path_of(name), ACCEPTED).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(FetchError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn layers_of(&self, name: &str, manifest: &[u8]) -> Result<Vec<Layer>, FetchError> {
        signature::layers(manifest).map_err(|source| self.unreadable(name, source))
    }

    fn unreadable(&self, name: &str, source: crate::InvalidDocument) -> FetchError {
        FetchError::Document {
            url: self.path_of(name),
            source,
        }
    }
}

fn check(url: &str, content: &[u8], expected: &Digest) -> Result<(), FetchError> {
    let actual = expected.computed_like_this(content);
    if actual == *expected {
        return Ok(());
    }
    Err(FetchError::Digest {
        url: url.to_owned(),
        expected: expected.clone(),
        actual,
    })
}
