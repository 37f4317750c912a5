//! Images that the real cosign has signed, in a real registry, and what an image policy
//! makes of them. `inspect --policy` judges as the pod runtime does.

use std::{fs, process::Command};

use acceptance::server::binary;
use interop::registry::{Keys, Registry};

/// A registry, and a policy that wants everything in it signed with `keys`.
struct World {
    registry: Registry,
    keys: Keys,
}

impl World {
    fn new() -> Self {
        Self::with(Keys::generate())
    }

    fn with(keys: Keys) -> Self {
        let registry = Registry::start();
        Self { registry, keys }
    }

    fn name(&self, image: &str) -> String {
        format!("{}/{image}", self.registry.host())
    }

    /// Whether the image may run, and what is said of it.
    fn judged(&self, image: &str, mode: &str) -> (bool, String) {
        let folder = self.registry.files.path();
        let policy = folder.join("policy.yaml");
        fs::copy(self.keys.public(), folder.join("team.pub")).unwrap();
        let text = format!(
            "rules: [{{name: signed, allow: ['{}/**'], verify: {{mode: {mode}, keys: [team.pub]}}}}]",
            self.registry.host()
        );
        fs::write(&policy, text).unwrap();
        let output = Command::new(binary("function-runner"))
            .args(["inspect", &self.name(image), "--policy"])
            .arg(policy)
            .arg(format!("--insecure-registries={}", self.registry.host()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said)
    }

    fn refuses(&self, image: &str, words: &str) {
        let (allowed, said) = self.judged(image, "enforce");
        assert!(!allowed && said.contains(words), "{image}: {said}");
        assert!(said.contains("rule \"signed\""), "{said}");
    }

    fn allows(&self, image: &str) {
        let (allowed, said) = self.judged(image, "enforce");
        assert!(
            allowed && said.contains("signed by the key sha256:"),
            "{image}: {said}"
        );
    }
}

/// The tag of an image's signatures.
fn place(digest: &str) -> String {
    format!("{}.sig", digest.replace(':', "-"))
}

#[test]
#[ignore = "needs docker-registry and skopeo, and builds cosign"]
fn only_what_the_key_has_signed_may_run() {
    let world = World::new();
    let digest = world.registry.push("fn:v1", "/one");
    world.refuses("fn:v1", "it is not signed");
    let (allowed, said) = world.judged("fn:v1", "warn");
    assert!(allowed && said.contains("with a warning"), "{said}");

    let other = Keys::generate();
    other.sign(&world.name(&format!("fn@{digest}")));
    world.refuses("fn:v1", "none of its 1 signatures is by one of the keys");

    world.keys.sign(&world.name(&format!("fn@{digest}")));
    world.allows("fn:v1");
    world.allows(&format!("fn@{digest}"));
}

#[test]
#[ignore = "needs docker-registry and skopeo, and builds cosign"]
fn a_signature_of_another_image_or_with_a_changed_payload_is_none() {
    let world = World::new();
    let signed = world.registry.push("fn:v1", "/one");
    let unsigned = world.registry.push("fn:v2", "/two");
    world.keys.sign(&world.name(&format!("fn@{signed}")));
    let (from, to) = (place(&signed), place(&unsigned));
    world
        .registry
        .copy(&format!("fn:{from}"), &format!("fn:{to}"));
    world.refuses(
        "fn:v2",
        &format!("it is signed as {signed}, which is another image"),
    );

    let change = |payload: &str| payload.replace(&signed, &unsigned);
    world
        .registry
        .tamper(&format!("fn:{from}"), &format!("fn:{to}"), change);
    world.refuses("fn:v2", "none of its 1 signatures is by one of the keys");
    world.allows("fn:v1");
}

#[test]
#[ignore = "needs docker-registry and skopeo, and builds cosign"]
fn a_tag_that_moves_to_an_unsigned_image_is_refused_and_the_signed_digest_still_runs() {
    let world = World::new();
    let signed = world.registry.push("fn:v1", "/one");
    world.keys.sign(&world.name(&format!("fn@{signed}")));
    world.allows("fn:v1");
    let unsigned = world.registry.push("fn:v1", "/two");
    assert_ne!(signed, unsigned);
    world.refuses("fn:v1", &unsigned);
    world.allows(&format!("fn@{signed}"));
}

#[test]
#[ignore = "needs docker-registry and skopeo, and builds cosign"]
fn a_signature_that_is_listed_as_a_referrer_counts() {
    let world = World::new();
    let digest = world.registry.push("fn:v1", "/one");
    world
        .keys
        .sign_as_referrer(&world.name(&format!("fn@{digest}")));
    world.allows("fn:v1");
}

#[test]
#[ignore = "needs docker-registry, skopeo and openssl, and builds cosign"]
fn a_signature_counts_whatever_kind_of_key_made_it() {
    let p384 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"];
    let rsa = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    for kind in [p384, rsa] {
        let world = World::with(Keys::imported(&kind));
        let digest = world.registry.push("fn:v1", "/one");
        world.refuses("fn:v1", "it is not signed");
        world.keys.sign(&world.name(&format!("fn@{digest}")));
        world.allows("fn:v1");
    }
}
