use proptest::prelude::*;

use super::*;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What Docker accepts, and how it writes it. `H` stands for 64 digits.
/// Both tables were compared with Docker's own parser.
const ACCEPTED: &[(&str, &str)] = &[
    ("fn", "docker.io/library/fn"),
    ("f", "docker.io/library/f"),
    ("0", "docker.io/library/0"),
    ("set-labels", "docker.io/library/set-labels"),
    ("set-labels:v0.2", "docker.io/library/set-labels:v0.2"),
    ("fn:latest", "docker.io/library/fn:latest"),
    ("fn:5000", "docker.io/library/fn:5000"),
    ("fn:_", "docker.io/library/fn:_"),
    ("fn:a..b", "docker.io/library/fn:a..b"),
    ("fn:a.-_", "docker.io/library/fn:a.-_"),
    ("fn:V1", "docker.io/library/fn:V1"),
    ("fn:sha256-abc.sig", "docker.io/library/fn:sha256-abc.sig"),
    ("team/fn", "docker.io/team/fn"),
    ("team/fn:v1", "docker.io/team/fn:v1"),
    ("a/b/c", "docker.io/a/b/c"),
    ("a/b/c/d/e/f:g", "docker.io/a/b/c/d/e/f:g"),
    ("library/fn", "docker.io/library/fn"),
    ("docker.io/fn", "docker.io/library/fn"),
    ("docker.io/team/fn", "docker.io/team/fn"),
    ("docker.io/library/fn:v1", "docker.io/library/fn:v1"),
    ("index.docker.io/fn:v1", "docker.io/library/fn:v1"),
    ("index.docker.io/team/fn", "docker.io/team/fn"),
    ("registry-1.docker.io/fn", "registry-1.docker.io/fn"),
    ("docker.io:443/fn", "docker.io:443/fn"),
    ("localhost/fn", "localhost/fn"),
    ("localhost:5000/fn", "localhost:5000/fn"),
    (
        "localhost:5000/fn:V1_Upper.2-x",
        "localhost:5000/fn:V1_Upper.2-x",
    ),
    ("Localhost/fn", "Localhost/fn"),
    ("Registry/fn", "Registry/fn"),
    ("REGISTRY.example.COM/fn", "REGISTRY.example.COM/fn"),
    ("Fn/fn", "Fn/fn"),
    ("local/fn", "docker.io/local/fn"),
    ("a:5000/fn", "a:5000/fn"),
    ("a:0/fn", "a:0/fn"),
    ("a:00080/fn", "a:00080/fn"),
    ("a:99999999/fn", "a:99999999/fn"),
    ("example.com/fn", "example.com/fn"),
    ("example.com/team/fn:v1", "example.com/team/fn:v1"),
    ("example.com:8443/a/b/c:v1", "example.com:8443/a/b/c:v1"),
    ("a.b.c.d.example.com/fn", "a.b.c.d.example.com/fn"),
    ("my-registry.example.com/fn", "my-registry.example.com/fn"),
    ("a--b.example.com/fn", "a--b.example.com/fn"),
    ("xn--n3h.com/fn", "xn--n3h.com/fn"),
    ("10.0.0.1/fn", "10.0.0.1/fn"),
    ("127.0.0.1:5000/fn:v1", "127.0.0.1:5000/fn:v1"),
    ("300.300.300.300/fn", "300.300.300.300/fn"),
    ("[::1]/fn", "[::1]/fn"),
    ("[::1]:5000/a/b", "[::1]:5000/a/b"),
    ("[2001:DB8::1]:5000/fn:v1", "[2001:DB8::1]:5000/fn:v1"),
    ("[abcd]:1/fn", "[abcd]:1/fn"),
    ("exa_mple.com/fn", "exa_mple.com/fn"),
    ("a.b/c__d/e--f.g_h", "a.b/c__d/e--f.g_h"),
    ("a.b/c---d", "a.b/c---d"),
    ("a.b/c-----------d", "a.b/c-----------d"),
    ("a.b/0/1/2", "a.b/0/1/2"),
    (
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
    ),
    (
        "gcr.io/kpt-fn/set-namespace:v0.4",
        "gcr.io/kpt-fn/set-namespace:v0.4",
    ),
    ("public.ecr.aws/a1b2c3/fn:v1", "public.ecr.aws/a1b2c3/fn:v1"),
    (
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com/fn:v1",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com/fn:v1",
    ),
    ("fn@sha256:H", "docker.io/library/fn@sha256:H"),
    ("team/fn@sha256:H", "docker.io/team/fn@sha256:H"),
    ("fn:v1@sha256:H", "docker.io/library/fn:v1@sha256:H"),
    ("example.com/fn@sha256:H", "example.com/fn@sha256:H"),
    (
        "example.com:5000/fn:v1@sha256:H",
        "example.com:5000/fn:v1@sha256:H",
    ),
    ("[::1]:5000/fn@sha256:H", "[::1]:5000/fn@sha256:H"),
    ("fn@sha512:HH", "docker.io/library/fn@sha512:HH"),
    ("H/fn", "docker.io/H/fn"),
    ("Hf", "docker.io/library/Hf"),
    ("H:v1", "docker.io/library/H:v1"),
];

const REJECTED: &[(&str, InvalidReference)] = &[
    ("", InvalidReference::Empty),
    ("H", InvalidReference::Id),
    (" ", InvalidReference::Path),
    (" fn", InvalidReference::Path),
    ("fn ", InvalidReference::Path),
    ("f n", InvalidReference::Path),
    ("fn\n", InvalidReference::Path),
    ("\tfn", InvalidReference::Path),
    ("Fn", InvalidReference::Path),
    ("fN", InvalidReference::Path),
    ("team/Fn", InvalidReference::Path),
    ("example.com/Team/fn", InvalidReference::Path),
    ("fü", InvalidReference::Path),
    ("fn?", InvalidReference::Path),
    ("fn#1", InvalidReference::Path),
    ("a+b", InvalidReference::Path),
    ("/fn", InvalidReference::Path),
    ("//fn", InvalidReference::Path),
    ("fn/", InvalidReference::Path),
    ("a//b", InvalidReference::Path),
    ("example.com/", InvalidReference::Path),
    ("example.com//fn", InvalidReference::Path),
    ("a/b___c", InvalidReference::Path),
    ("a/_b", InvalidReference::Path),
    ("a/b_", InvalidReference::Path),
    ("a/-b", InvalidReference::Path),
    ("a/b-", InvalidReference::Path),
    ("-fn", InvalidReference::Path),
    ("fn-", InvalidReference::Path),
    ("a/.b", InvalidReference::Path),
    ("a/b.", InvalidReference::Path),
    ("a/b..c", InvalidReference::Path),
    ("a/b.-c", InvalidReference::Path),
    ("a/b_.c", InvalidReference::Path),
    ("@sha256:H", InvalidReference::Path),
    (":v1", InvalidReference::Path),
    ("fn::v1", InvalidReference::Tag),
    ("fn:", InvalidReference::Tag),
    ("fn:.v1", InvalidReference::Tag),
    ("fn:-v1", InvalidReference::Tag),
    ("fn:v 1", InvalidReference::Tag),
    ("fn:v1:v2", InvalidReference::Tag),
    ("fn:v1/x:y/z", InvalidReference::Tag),
    ("fn:v+1", InvalidReference::Tag),
    ("fn:ü", InvalidReference::Tag),
    ("fn:@sha256:H", InvalidReference::Tag),
    ("fn@", InvalidReference::Digest),
    ("fn@v1", InvalidReference::Digest),
    ("fn@sha256", InvalidReference::Digest),
    ("fn@sha256:", InvalidReference::Digest),
    ("fn@sha256:abc", InvalidReference::Digest),
    ("fn@sha256:Hf", InvalidReference::Digest),
    ("fn@sha256:H:v1", InvalidReference::Digest),
    ("fn@sha256:H@sha256:H", InvalidReference::Digest),
    ("fn@Sha256:H", InvalidReference::Digest),
    ("fn@sha512:H", InvalidReference::Digest),
    (
        "fn@md5:0123456789abcdef0123456789abcdef",
        InvalidReference::Digest,
    ),
    (
        "fn@sha256:X0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
        InvalidReference::Digest,
    ),
    ("https://example.com/fn", InvalidReference::Domain),
    ("docker://fn", InvalidReference::Domain),
    ("-example.com/fn", InvalidReference::Domain),
    ("example-.com/fn", InvalidReference::Domain),
    ("example.com:/fn", InvalidReference::Domain),
    ("example.com:http/fn", InvalidReference::Domain),
    ("example.com:1:2/fn", InvalidReference::Domain),
    ("example..com/fn", InvalidReference::Domain),
    (".example.com/fn", InvalidReference::Domain),
    ("example.com./fn", InvalidReference::Domain),
    ("[abcd]/fn", InvalidReference::Path),
    ("exa_mple.com:80/fn", InvalidReference::Domain),
    ("user@example.com/fn", InvalidReference::Digest),
    ("[::1/fn", InvalidReference::Domain),
    ("::1/fn", InvalidReference::Domain),
    ("[]:5000/fn", InvalidReference::Domain),
    ("[fe80::1%eth0]/fn", InvalidReference::Domain),
    ("[::1]5000/fn", InvalidReference::Domain),
    ("../fn", InvalidReference::Domain),
    ("./fn", InvalidReference::Domain),
];

fn whole(text: &str) -> String {
    text.replace('H', HEX)
}

#[test]
fn references_are_read_as_docker_reads_them() {
    assert!(ACCEPTED.len() >= 60);
    for (text, canonical) in ACCEPTED {
        let text = whole(text);
        let parsed: Reference = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(parsed.to_string(), whole(canonical));
    }
}

#[test]
fn what_docker_refuses_is_refused_and_told_why() {
    assert!(REJECTED.len() >= 40);
    for (text, why) in REJECTED {
        let text = whole(text);
        assert_eq!(text.parse::<Reference>(), Err(*why), "{text:?}");
    }
}

#[test]
fn lengths_end_where_docker_ends_them() {
    let tag = |length: usize| format!("fn:{}", "t".repeat(length)).parse::<Reference>();
    assert!(tag(128).is_ok());
    assert_eq!(tag(129), Err(InvalidReference::Tag));
    let path = |length: usize| format!("example.com/{}", "p".repeat(length)).parse::<Reference>();
    assert!(path(255).is_ok());
    assert_eq!(path(256), Err(InvalidReference::TooLong));
    // What is filled in counts, too.
    assert!("a".repeat(247).parse::<Reference>().is_ok());
    let filled_in = "a".repeat(248).parse::<Reference>();
    assert_eq!(filled_in, Err(InvalidReference::TooLong));
}

proptest! {
    #[test]
    fn a_canonical_reference_reads_as_itself(
        text in "([a-z]{1,5}(\\.[a-z]{1,3})?(:[0-9]{1,5})?/)?[a-z0-9]{1,5}(/[a-z]{1,4}(__?[a-z0-9]{1,3})?){0,2}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,9})?(@sha256:[0-9a-f]{64})?"
    ) {
        let parsed: Reference = text.parse().unwrap();
        prop_assert_eq!(parsed.to_string().parse::<Reference>(), Ok(parsed));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in ".{0,60}") {
        if let Ok(parsed) = text.parse::<Reference>() {
            prop_assert_eq!(parsed.to_string().parse::<Reference>(), Ok(parsed));
        }
    }
}

#[test]
fn a_pinned_reference_names_the_digest_instead_of_the_tag() {
    let digest: Digest = format!("sha256:{}", "1".repeat(64)).parse().unwrap();
    for (image, name) in [
        ("ghcr.io/a/fn:v1", "ghcr.io/a/fn"),
        ("registry.local:5000/fn", "registry.local:5000/fn"),
        ("registry.local:5000/fn:V1", "registry.local:5000/fn"),
        ("fn", "docker.io/library/fn"),
    ] {
        let reference: Reference = image.parse().unwrap();
        let pinned = reference.pinned(&digest).to_string();
        assert_eq!(pinned, format!("{name}@{digest}"));
    }
}
