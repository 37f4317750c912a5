//! `WWW-Authenticate`: what a registry wants to see before it answers. Several
//! challenges may stand in one header and in several; schemes that we do not
//! speak are passed over.

/// A way to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// A user name and a password with every request.
    Basic,
    /// A token from elsewhere.
    Bearer(Bearer),
}

/// Where to get a token, for what, and what was wrong with the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bearer {
    pub realm: String,
    pub service: Option<String>,
    pub scope: Option<String>,
    pub error: Option<String>,
}

/// The best of the offered ways: a token says less than a password.
pub fn choose<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Challenge> {
    let mut offered: Vec<Challenge> = headers.into_iter().flat_map(parse).collect();
    let bearer = |offer: &Challenge| matches!(offer, Challenge::Bearer(_));
    match offered.iter().position(bearer) {
        Some(at) => Some(offered.swap_remove(at)),
        None => offered.pop(),
    }
}

/// The challenges of one header. What cannot be read ends them.
fn parse(header: &str) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    let mut rest = Rest(header);
    let Some(mut scheme) = rest.token() else {
        return challenges;
    };
    loop {
        let (parameters, next) = rest.parameters();
        challenges.extend(challenge(scheme, parameters));
        match next {
            Some(next) => scheme = next,
            None => return challenges,
        }
    }
}

fn challenge(scheme: &str, parameters: Vec<(&str, String)>) -> Option<Challenge> {
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut bearer = Bearer::default();
    for (name, value) in parameters {
        match name.to_ascii_lowercase().as_str() {
            "realm" => bearer.realm = value,
            "service" => bearer.service = Some(value),
            "scope" => bearer.scope = Some(value),
            "error" => bearer.error = Some(value),
            _ => {}
        }
    }
    // Without a realm there is nobody to ask.
    (!bearer.realm.is_empty()).then_some(Challenge::Bearer(bearer))
}

/// What is left of a header.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, skipped: &[char]) {
        self.0 = self.0.trim_start_matches(skipped);
    }

    fn token(&mut self) -> Option<&'a str> {
        self.skip(&[' ', '\t', ',']);
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
        let end = self.0.find(|c| !is_token(c)).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(token).filter(|token| !token.is_empty())
    }

    /// The parameters up to the next scheme, and that scheme.
    fn parameters(&mut self) -> (Vec<(&'a str, String)>, Option<&'a str>) {
        let mut parameters = Vec::new();
        loop {
            let Some(name) = self.token() else {
                return (parameters, None);
            };
            let after_name = self.0;
            self.skip(&[' ', '\t']);
            let Some(value) = self.0.strip_prefix('=') else {
                // A word without a value is the next scheme.
                self.0 = after_name;
                return (parameters, Some(name));
            };
            self.0 = value;
            self.skip(&[' ', '\t', '=']);
            match self.value() {
                Some(value) => parameters.push((name, value)),
                None => return (parameters, None),
            }
        }
    }

    /// A quoted text, a word, or nothing (as after the padding of a `token68`).
    fn value(&mut self) -> Option<String> {
        let Some(quoted) = self.0.strip_prefix('"') else {
            if self.0.is_empty() || self.0.starts_with(',') {
                return Some(String::new());
            }
            return self.token().map(str::to_owned);
        };
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.0 = &quoted[at + 1..];
                    return Some(value);
                }
                '\\' => value.push(characters.next()?.1),
                _ => value.push(character),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        Challenge::Bearer(Bearer {
            realm: realm.into(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
            error: None,
        })
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let all = bearer(
            "https://a.b/token",
            Some("a.b"),
            Some("repository:x:pull,push"),
        );
        for (header, expected) in [
            (r#"Basic realm="registry""#, Challenge::Basic),
            ("basic", Challenge::Basic),
            (
                r#"Bearer realm="https://a.b/token",service="a.b",scope="repository:x:pull,push""#,
                all.clone(),
            ),
            (
                r#"bearer Realm = "https://a.b/token" , SERVICE=a.b, scope="repository:x:pull,push" "#,
                all.clone(),
            ),
            (
                r#"Basic realm="x", Bearer realm="https://a.b/token",service="a.b",scope="repository:x:pull,push""#,
                all.clone(),
            ),
            (
                r#"Bearer realm="https://a.b/token",service="a.b",scope="repository:x:pull,push", Basic realm="x""#,
                all,
            ),
            (r#"Negotiate, Basic realm="x""#, Challenge::Basic),
            (r#"Negotiate dG9rZW4==, Basic realm="x""#, Challenge::Basic),
            (
                r#"Digest realm="a, Bearer realm=\"b\"", nonce="c", Basic"#,
                Challenge::Basic,
            ),
            (
                r#"Bearer realm="say \"hi\"""#,
                bearer("say \"hi\"", None, None),
            ),
        ] {
            assert_eq!(choose([header]), Some(expected), "{header}");
        }
        let several = ["Negotiate", r#"Basic realm="x""#, r#"Bearer realm="y""#];
        assert_eq!(choose(several), Some(bearer("y", None, None)));
    }

    #[test]
    fn what_a_registry_disliked_is_kept() {
        let header = r#"Bearer realm="r",error="insufficient_scope""#;
        let Some(Challenge::Bearer(bearer)) = choose([header]) else {
            panic!("a bearer challenge")
        };
        assert_eq!(bearer.error.as_deref(), Some("insufficient_scope"));
    }

    #[test]
    fn what_nobody_can_answer_is_no_challenge() {
        for header in [
            "",
            ",",
            "Negotiate",
            "Bearer",
            r#"Bearer service="x""#,
            "=",
            "\"",
            r#"Bearer realm="open"#,
        ] {
            assert_eq!(choose([header]), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_a_panic(header in r#"[a-zBb"=,\\ ä]{0,60}"#) {
            let _ = choose([header.as_str()]);
        }
    }
}
