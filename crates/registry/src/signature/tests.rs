use base64::Engine as _;
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};

use super::*;

const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn statement(digest: &str) -> String {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"example.com/fn"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    )
}

fn signed(pair: &KeyPair, payload: &str) -> Signature {
    Signature {
        payload: payload.to_owned().into(),
        signature: pair.sign(payload.as_bytes()).unwrap(),
    }
}

fn public(pair: &KeyPair) -> PublicKey {
    PublicKey::from_pem(&pair.public_key_pem()).unwrap()
}

fn pair(algorithm: &'static rcgen::SignatureAlgorithm) -> KeyPair {
    KeyPair::generate_for(algorithm).unwrap()
}

#[test]
fn only_a_signature_by_one_of_the_keys_and_of_this_image_counts() {
    let (own, other) = (
        pair(&rcgen::PKCS_ECDSA_P256_SHA256),
        pair(&rcgen::PKCS_ECDSA_P256_SHA256),
    );
    let digest = Digest::of(b"image");
    let text = statement(&digest.to_string());
    let keys = [public(&other), public(&own)];
    let good = signed(&own, &text);
    assert_eq!(
        signed_by(std::slice::from_ref(&good), &keys, &digest),
        Ok(&keys[1])
    );
    let mut tampered = good.clone();
    tampered.payload = text.replace("example.com", "example.net").into();
    let odd = text.replace("cosign container", "some other");
    let cases = [
        (vec![], Unverified::Unsigned),
        (vec![tampered], Unverified::OtherKeys(1)),
        (
            vec![signed(&own, &statement(OTHER))],
            Unverified::OtherImage {
                signed: OTHER.into(),
            },
        ),
        (
            vec![signed(&own, &odd)],
            Unverified::Payload(payload::InvalidPayload::Type(
                "some other image signature".into(),
            )),
        ),
        (
            vec![signed(&own, "{}")],
            Unverified::Payload(payload::InvalidPayload::Form),
        ),
    ];
    for (signatures, why) in cases {
        assert_eq!(signed_by(&signatures, &keys, &digest), Err(why));
    }
    let by_another = signed_by(std::slice::from_ref(&good), &keys[..1], &digest);
    assert_eq!(by_another, Err(Unverified::OtherKeys(1)));
    // A bad one beside it takes nothing from a good one.
    let both = [signed(&own, &statement(OTHER)), good];
    assert_eq!(signed_by(&both, &keys, &digest), Ok(&keys[1]));
}

#[test]
fn every_kind_of_key_that_is_promised_verifies() {
    let digest = Digest::of(b"image");
    let text = statement(&digest.to_string());
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519] {
        let pair = pair(algorithm);
        let keys = [public(&pair)];
        assert!(signed_by(&[signed(&pair, &text)], &keys, &digest).is_ok());
    }
}

#[test]
fn what_is_not_a_usable_public_key_is_told_at_once() {
    let private = pair(&rcgen::PKCS_ECDSA_P256_SHA256);
    let der = private.subject_public_key_info();
    let block = |der: &[u8]| {
        format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(der)
        )
    };
    assert!(PublicKey::from_pem(&block(&der)).is_ok());
    for (text, words) in [
        (String::new(), "no PEM block"),
        (private.serialize_pem(), "no PEM block"),
        (block(&der[..20]), "not a public key of ECDSA"),
        (block(b"x"), "not a public key of ECDSA"),
        (block(&der).replace("END", "FIN"), "broken"),
    ] {
        let told = PublicKey::from_pem(&text).unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn signatures_are_found_in_manifests_and_lists_and_the_rest_is_left_out() {
    let digest = Digest::of(b"payload");
    let layer = |kind: &str, annotation: &str| {
        format!(
            r#"{{"mediaType":"{kind}","digest":"{digest}","annotations":{{"{annotation}":"AQI="}}}}"#
        )
    };
    let manifest = [
        layer(PAYLOAD_TYPE, ANNOTATION),
        layer(PAYLOAD_TYPE, "other"),
        layer("text/plain", ANNOTATION),
    ]
    .join(",");
    let found = layers(format!(r#"{{"layers":[{manifest}]}}"#).as_bytes()).unwrap();
    let signature = vec![1, 2];
    assert_eq!(
        found,
        [Layer {
            payload: digest.clone(),
            signature
        }]
    );
    assert!(layers(b"<html>").is_err());

    let referrer = |kind: &str| format!(r#"{{"digest":"{digest}"{kind}}}"#);
    let index = [
        referrer(""),
        referrer(r#","artifactType":"application/vnd.dev.cosign.artifact.sig.v1+json""#),
        referrer(r#","artifactType":"application/spdx+json""#),
    ]
    .join(",");
    let found = referrers(format!(r#"{{"manifests":[{index}]}}"#).as_bytes()).unwrap();
    assert_eq!(found, [digest.clone(), digest]);
}

#[test]
fn a_place_leads_back_to_the_digest_that_it_is_for() {
    let image: Reference = "example.com:5000/a/fn:v1".parse().unwrap();
    let digest = Digest::of(b"image");
    let place = place(&image, &digest);
    let expected = format!("example.com:5000/a/fn:{digest}.sig").replace("sha256:", "sha256-");
    assert_eq!(place.to_string(), expected);
    assert_eq!(digest_of_place(&place), Some(digest));
    assert_eq!(digest_of_place(&image), None);
}
