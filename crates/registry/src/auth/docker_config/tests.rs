use super::*;

fn config(text: &str) -> Result<DockerConfig, CredentialsError> {
    DockerConfig::parse(Path::new("/c.json"), text.as_bytes())
}

/// The user found for an image, when every entry's user is its number.
fn found(keys: &[&str], image: &str) -> Option<String> {
    let entries = keys
        .iter()
        .enumerate()
        .map(|(number, key)| format!(r#""{key}":{{"username":"{number}","password":"p"}}"#));
    let text = format!(
        r#"{{"auths":{{{}}}}}"#,
        entries.collect::<Vec<_>>().join(",")
    );
    let entry = config(&text).unwrap().entry(&image.parse().unwrap());
    entry.unwrap().origin.username
}

#[test]
fn keys_of_every_form_find_their_registry() {
    for (key, image) in [
        ("example.com", "example.com/team/fn:v1"),
        ("EXAMPLE.com", "example.com/team/fn:v1"),
        ("https://example.com", "example.com/team/fn"),
        ("http://example.com/", "example.com/fn"),
        ("https://example.com/v2/", "example.com/team/fn"),
        ("https://example.com/v1/", "example.com/team/fn"),
        ("example.com:5000", "example.com:5000/fn"),
        ("https://example.com:443", "example.com/fn"),
        ("example.com", "example.com:443/fn"),
        ("example.com/team", "example.com/team/fn"),
        ("example.com/team/fn", "example.com/team/fn"),
        ("https://example.com/v2/team/", "example.com/team/fn"),
        ("[::1]:5000", "[::1]:5000/fn"),
        ("https://index.docker.io/v1/", "fn"),
        ("index.docker.io", "team/fn"),
        ("docker.io", "fn:v1"),
        ("registry-1.docker.io", "docker.io/team/fn"),
        ("docker.io/team", "team/fn"),
    ] {
        assert_eq!(
            found(&[key], image).as_deref(),
            Some("0"),
            "{key} for {image}"
        );
    }
}

#[test]
fn no_registry_gets_the_credentials_of_another() {
    for (key, image) in [
        ("example.com", "example.com:5000/fn"),
        ("example.com:5000", "example.com/fn"),
        ("example.com", "sub.example.com/fn"),
        ("sub.example.com", "example.com/fn"),
        ("example.com", "example.com.evil.org/fn"),
        ("example.com/team", "example.com/team2/fn"),
        ("example.com/team", "example.com/other/fn"),
        ("example.com/team/fn", "example.com/team"),
        ("https://index.docker.io/v1/", "example.com/fn"),
        ("", "example.com/fn"),
    ] {
        assert_eq!(found(&[key], image), None, "{key} for {image}");
    }
}

#[test]
fn the_longest_key_wins() {
    let keys = [
        "example.com",
        "example.com/team",
        "example.com/team/fn",
        "https://example.com",
    ];
    for (image, user) in [
        ("example.com/x", "3"),
        ("example.com/team/x", "1"),
        ("example.com/team/fn:v1", "2"),
        ("example.com/team/fn/sub", "2"),
    ] {
        assert_eq!(found(&keys, image).as_deref(), Some(user), "{image}");
    }
}

#[test]
fn every_form_of_an_entry_is_understood() {
    let basic = |username: &str, password: &str| Credentials::Basic {
        username: username.into(),
        password: Secret::new(password),
    };
    for (entry, expected) in [
        // user:pass:word
        (
            r#"{"auth":"dXNlcjpwYXNzOndvcmQ="}"#,
            Some(basic("user", "pass:word")),
        ),
        (
            r#"{"auth":" dXNlcjpwYXNzOndvcmQ=\n"}"#,
            Some(basic("user", "pass:word")),
        ),
        (
            r#"{"auth":"dXNlcjpwYXNzOndvcmQ"}"#,
            Some(basic("user", "pass:word")),
        ),
        (r#"{"username":"u","password":"p"}"#, Some(basic("u", "p"))),
        (
            r#"{"auth":"dXNlcjpwYXNzOndvcmQ=","username":"u","password":"p"}"#,
            Some(basic("user", "pass:word")),
        ),
        (
            r#"{"auth":"","username":"u","password":"p","email":"e"}"#,
            Some(basic("u", "p")),
        ),
        (
            r#"{"identitytoken":"t"}"#,
            Some(Credentials::Identity(Secret::new("t"))),
        ),
        (
            r#"{"auth":"dXNlcjo=","identitytoken":"t"}"#,
            Some(Credentials::Identity(Secret::new("t"))),
        ),
        // <token>:t
        (
            r#"{"auth":"PHRva2VuPjp0"}"#,
            Some(Credentials::Identity(Secret::new("t"))),
        ),
        (
            r#"{"registrytoken":"t"}"#,
            Some(Credentials::Token(Secret::new("t"))),
        ),
        ("{}", None),
    ] {
        let text = format!(r#"{{"auths":{{"example.com":{entry}}},"HttpHeaders":{{}}}}"#);
        let config = config(&text).unwrap();
        let found = config.entry(&"example.com/fn".parse().unwrap()).unwrap();
        assert_eq!(found.credentials, expected, "{entry}");
        let shown = format!("{config:?} {found:?}");
        for secret in ["pass:word", "dXNlcjp", "\"p\"", "\"t\""] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
}

#[test]
fn complaints_name_the_file_and_never_its_secrets() {
    for text in [
        r#"{"auths":{"example.com":{"auth":"c2VjcmV0"}}}"#,
        r#"{"auths":{"example.com":{"auth":"not base64: secret"}}}"#,
        r#"{"auths":"secret"}"#,
        r#"{"auths":{"example.com":{"password":["secret"]}}}"#,
        r#"{"auths":{"example.com":"secret"}}"#,
        "secret",
    ] {
        let image = "example.com/fn".parse().unwrap();
        let told = config(text)
            .and_then(|config| config.entry(&image))
            .unwrap_err();
        let told = format!("{told} {told:?}");
        assert!(told.contains("/c.json"), "{told}");
        assert!(
            !told.contains("secret") && !told.contains("c2VjcmV0"),
            "{told}"
        );
    }
}

#[test]
fn a_registry_has_its_own_helper_or_that_of_all() {
    let text = r#"{"credsStore":"all","credHelpers":{"example.com":"own","quay.io":""}}"#;
    let config = config(text).unwrap();
    for (image, helper) in [
        ("example.com/fn", Some(("own", "example.com"))),
        ("other.com:5000/fn", Some(("all", "other.com:5000"))),
        ("fn", Some(("all", "https://index.docker.io/v1/"))),
        ("quay.io/fn", None),
    ] {
        assert_eq!(config.helper(&image.parse().unwrap()), helper, "{image}");
    }
}
