use base64::Engine as _;
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};

use super::*;

const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// A signature of [`statement`] for the image `image`, which ring cannot make: made once
/// with openssl. The keys are for this test alone, and their private halves were not kept.
struct Fixture {
    key: &'static str,
    signature: &'static str,
}

/// `openssl genrsa 2048`, `openssl dgst -sha256`.
const RSA_2048: Fixture = Fixture {
    key: "-----BEGIN PUBLIC KEY-----\n\
         MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAw8Bky4m9rb03e9e4xaTd\n\
         a3MZxGNQW50kKIPSybbIrYYJM8iEDr6iwSsUe0ML1rOBkoMRjiICFLND2ZzZK7nx\n\
         1KCls09urOGwFbG7WNQYMTHTleW174t3SamMNZWb0xqOHbfEGq8x3J4oz2bXF+gU\n\
         MSNynh2QYLL+YZ4xcmi+wMKc1r6GEubJxtnipU3EyGUefPKNjAUHLGq/Do7PqkFQ\n\
         ni6QCjOhDZ8q1RwNdGxJl3qIN23MHzpUcIPGA5lRwOoWFUt/dgktEHAgRin8ee5U\n\
         Wo21cgdXuhvR6vGGNWU7tebaNLgz9Lmq5e1ppLggNf8C9VDLIWBsf5iEZJMsQ7Vj\n\
         oQIDAQAB\n\
         -----END PUBLIC KEY-----\n",
    signature: "pCtMk3Rot1uVfLj8VIgttLJ900zrJwLhP3JG4QybqgtrREtzMb+MR+ycdH/qcTWr\
         Fo58Gs5BIzjAM1I8KL4OSLtnVxnaZKJFBh7pFyu6pZwW6XZ6BWRh1rBOnt+g+cl6\
         KOitLGaaqvzikfYCdpHyxA0KU3Lz3a1884fA1kc92bqMPVcuQ9VT3WSMUIJfTTq1\
         JrmYTYIn/xFNGkQUUbUVLWgwPpuqdrRmPuGse60XuIIpEomUlz9AFTURV+VoPvI/\
         ujoIX95owcIi3G8vMYJ4Rjoa5WVxgNBRMJ7pVGVoQUDFE3Ne151JiG2IXL7towa5\
         N0w13pYjaPjTZzQi/ex6iw==",
};

/// `openssl ecparam -name secp384r1`, `openssl dgst -sha256`: as cosign did before it chose
/// the hash by the key.
const P384_SHA256: Fixture = Fixture {
    key: "-----BEGIN PUBLIC KEY-----\n\
         MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEB8+0cfJNZXvPmq8A1fWthNRSpAiIXgHo\n\
         uB3v4lvbg366mgY97zyVK2Be3W85ClhWZVbrwrrgsNUxEGSxRRK1VDOx8/wFqcrk\n\
         rOjtSKns+3fHrd5ZIBPJtDBtgJYel4WO\n\
         -----END PUBLIC KEY-----\n",
    signature: "MGQCMDOdNF+ivhEYXDI6EsfIEUARn6v//Y3XIGHMJa+Pfhq5rvkgNQxP63mGizjO\
         ZItkVAIwTxUp7y2JEAlG/xrtJnItoM9ICqZTSazxN9GDxcH00xCpQZGsKHESGSV/\
         5/cBOXBH",
};

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
    let made_now = [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ED25519,
    ]
    .map(|algorithm| {
        let pair = pair(algorithm);
        (public(&pair), signed(&pair, &text))
    });
    let made_before = [RSA_2048, P384_SHA256].map(|Fixture { key, signature }| {
        let signature = Signature {
            payload: text.clone().into(),
            signature: STANDARD.decode(signature).unwrap(),
        };
        (PublicKey::from_pem(key).unwrap(), signature)
    });
    for (key, signature) in made_now.into_iter().chain(made_before) {
        let keys = [key];
        let signatures = [signature];
        assert_eq!(signed_by(&signatures, &keys, &digest), Ok(&keys[0]));
        let mut tampered = signatures;
        tampered[0].payload = text.replace("example.com", "example.net").into();
        let told = signed_by(&tampered, &keys, &digest);
        assert_eq!(told, Err(Unverified::OtherKeys(1)), "{keys:?}");
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
