//! What v0.3.0 shows of values in its results: not what seems to be a secret, and
//! of long ones only the beginning.

use std::sync::OnceLock;

use regex::{Captures, Regex};

use crate::setters::pattern;

const LONGEST: usize = 128;
const REDACTED: &str = "<redacted>";

/// Parts of names whose values are never shown.
const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "privatekey",
    "private_key",
    "cert",
    "certificate",
    "bearer",
    "auth",
];

/// Words that stand for a secret that is not there.
const PLACEHOLDERS: [&str; 17] = [
    "REPLACE_ME",
    "REPLACE_THIS",
    "REPLACE_WITH",
    "YOUR_KEY",
    "YOUR_TOKEN",
    "YOUR_SECRET",
    "YOUR_API_KEY",
    "YOUR_PASSWORD",
    "INSERT_HERE",
    "INSERT_KEY",
    "INSERT_TOKEN",
    "PLACEHOLDER",
    "EXAMPLE_KEY",
    "EXAMPLE_TOKEN",
    "TODO",
    "FIXME",
    "XXXX",
];

/// How one kind of secret looks.
struct Kind {
    looks: &'static str,
    /// One of these has to be in the text, in lower case.
    words: &'static [&'static str],
    /// Bits per byte that it has at least.
    entropy: f64,
    /// The group of the expression that is the secret; 0 is all of it.
    group: usize,
    is_address: bool,
}

const fn kind(looks: &'static str, words: &'static [&'static str]) -> Kind {
    Kind {
        looks,
        words,
        entropy: 0.0,
        group: 0,
        is_address: false,
    }
}

const fn dense(looks: &'static str, words: &'static [&'static str], entropy: f64) -> Kind {
    Kind {
        entropy,
        ..kind(looks, words)
    }
}

const fn dense_part(looks: &'static str, words: &'static [&'static str], entropy: f64) -> Kind {
    Kind {
        group: 1,
        ..dense(looks, words, entropy)
    }
}

/// The kind whose documented example is not a secret.
const AWS: usize = 2;

const KINDS: &[Kind] = &[
    kind("-----BEGIN [A-Z ]+-----", &["-----begin"]),
    dense_part(
        r#"(?-u:\b)(ey[a-zA-Z0-9]{17,}\.ey[a-zA-Z0-9/_-]{17,}\.(?:[a-zA-Z0-9/_-]{10,}={0,2})?)(?:['"`]|[ \t\n\f\r;]|$)"#,
        &["eyj"],
        3.0,
    ),
    dense_part(
        r"(?-u:\b)((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})(?-u:\b)",
        &["a3t", "akia", "asia", "abia", "acca"],
        3.0,
    ),
    kind(
        "(?:ghp|gho|ghu|ghs)_[0-9a-zA-Z]{36}",
        &["ghp_", "gho_", "ghu_", "ghs_"],
    ),
    kind("github_pat_[0-9A-Za-z_]{82}", &["github_pat_"]),
    dense("glpat-[0-9A-Za-z_-]{20}", &["glpat-"], 3.0),
    dense_part(
        r#"(?-u:\b)(AIza[0-9A-Za-z_-]{35})(?:['"`]|[ \t\n\f\r;]|$)"#,
        &["aiza"],
        4.0,
    ),
    kind(
        r#"(?-u:\b)(sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58}|[A-Za-z0-9_-]{20})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58}|[A-Za-z0-9_-]{20})|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20})(?:['"`]|[ \t\n\f\r;]|$)"#,
        &["t3blbkfj", "sk-proj", "sk-svcacct", "sk-admin"],
    ),
    Kind {
        is_address: true,
        ..dense_part(
            r#"(?-u:\b)(mongodb(?:\+srv)?://[!-9;-~]{3,50}:[!-?A-~]{3,88}@(?:[a-zA-Z0-9][0-9A-Za-z_.-]+|[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?::[0-9]{1,5})?(?:,(?:[a-zA-Z0-9][0-9A-Za-z_.-]+|[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?::[0-9]{1,5})?)*/?(?:(?:[0-9A-Za-z_-]+)?(?:\?[0-9A-Za-z_]+=[0-9A-Za-z_@/.$-]+(?:&(?:amp;)?[0-9A-Za-z_]+=[0-9A-Za-z_@/.$-]+)*)?)?)(?:['" \t\n\f\r;`]|$)"#,
            &["mongodb://", "mongodb+srv://"],
            4.0,
        )
    },
    Kind {
        is_address: true,
        ..kind(
            r"(?i)(?-u:\b)(?:postgres(?:ql)?|mysql|redis|amqp)://[^ \t\n\f\r/:@]{1,64}:[^ \t\n\f\r@]{1,256}@",
            &[
                "postgres://",
                "postgresql://",
                "mysql://",
                "redis://",
                "amqp://",
            ],
        )
    },
    dense(
        "xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*",
        &["xoxb"],
        3.0,
    ),
    dense("(?i)xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+", &["xapp"], 2.0),
    dense_part(
        r#"(?-u:\b)((?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99})(?:['"`]|[ \t\n\f\r;]|$)"#,
        &[
            "sk_test", "sk_live", "sk_prod", "rk_test", "rk_live", "rk_prod",
        ],
        2.0,
    ),
    dense_part(
        r#"(?:^|[\\'"` \t\n\f\r>=:(,)])([a-zA-Z0-9_~.]{3}[0-9]Q~[a-zA-Z0-9_~.-]{31,34})(?:$|[\\'"` \t\n\f\r<),])"#,
        &["q~"],
        0.0,
    ),
    kind(
        r"(?i)(?:(?-u:\b)Bearer[ \t\n\f\r]+[A-Za-z0-9._~+/=-]{10,}|Authorization:[ \t\n\f\r]*Bearer[ \t\n\f\r]+[A-Za-z0-9._~+/=-]{10,})",
        &["bearer"],
    ),
    kind(
        r"(?i)(?-u:\b)Basic[ \t\n\f\r]+[A-Za-z0-9+/=]{8,}",
        &["basic"],
    ),
];

/// Values of a field as results show them.
pub(super) fn shown(values: [&str; 2], path: &str, pattern: &str) -> [String; 2] {
    let names = pattern::names(pattern).into_iter().map(pattern::bare);
    if std::iter::once(path).chain(names).any(names_a_secret) {
        return [REDACTED; 2].map(str::to_owned);
    }
    values.map(shown_value)
}

fn shown_value(value: &str) -> String {
    if is_secret(value) {
        return REDACTED.to_owned();
    }
    match value.char_indices().nth(LONGEST) {
        None => value.to_owned(),
        Some((end, _)) => {
            let more = value[end..].chars().count();
            format!("{}... (truncated {more} chars)", &value[..end])
        }
    }
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

fn is_secret(value: &str) -> bool {
    /// Each is compiled when a text has its words.
    static LOOKS: [OnceLock<Option<Regex>>; KINDS.len()] = [const { OnceLock::new() }; KINDS.len()];
    let looks = |at: usize| LOOKS[at].get_or_init(|| Regex::new(KINDS[at].looks).ok());
    if value.is_empty() || is_template(value) {
        return false;
    }
    let lower = value.to_lowercase();
    let found = KINDS.iter().enumerate().any(|(at, kind)| {
        kind.words.iter().any(|word| lower.contains(word))
            && looks(at).as_ref().is_some_and(|looks| {
                let mut all = looks.captures_iter(value);
                all.any(|captures| counts(at, kind, value, &captures))
            })
    });
    found || is_long_base64(value)
}

/// Whether what was found is a secret, and not something else of that look.
fn counts(at: usize, kind: &Kind, value: &str, captures: &Captures<'_>) -> bool {
    let Some(whole) = captures.get(0) else {
        return false;
    };
    let secret = captures.get(kind.group).unwrap_or(whole).as_str();
    let upper = secret.to_uppercase();
    let is_uuid = || {
        let lengths = secret.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && is_hex(&secret.replace('-', ""))
    };
    let is_hash = || matches!(secret.len(), 32 | 40 | 64) && is_hex(secret);
    let is_benign = is_variable(secret)
        || PLACEHOLDERS.iter().any(|word| upper.contains(word))
        || (at == AWS && upper.ends_with("EXAMPLE"))
        || is_uuid()
        || is_hash();
    let is_part_of_address = !kind.is_address
        && (secret.contains("://")
            || is_host_and_port(secret)
            || (whole.start() > 0 && is_in_path(value, whole.start(), whole.end())));
    !secret.is_empty()
        && (kind.entropy <= 0.0 || entropy(secret) >= kind.entropy)
        && !is_benign
        && !is_part_of_address
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A host with a dot in its name, and a colon.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, _)) = text.split_once(':') else {
        return false;
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let Some((name, last)) = host.rsplit_once('.') else {
        return false;
    };
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| is_part(byte) || byte == b'.')
        && !last.is_empty()
        && last.bytes().all(is_part)
}

/// Whether the part of the value is part of a path or an address.
fn is_in_path(value: &str, start: usize, end: usize) -> bool {
    const AROUND: &[u8] = br"/\:.@?=";
    let bytes = value.as_bytes();
    let around = |at: Option<usize>| {
        let byte = at.and_then(|at| bytes.get(at));
        byte.is_some_and(|byte| AROUND.contains(byte))
    };
    value[start..end].contains(['/', '\\', ':'])
        || around(start.checked_sub(1))
        || around(Some(end))
}

/// `{{x}}`, `${x}`, `%{x}` or `<x>`, and nothing else.
fn is_variable(text: &str) -> bool {
    let text = text.trim();
    let inner = |from: &str, to: &str, not: [char; 2]| {
        let inner = text
            .strip_prefix(from)
            .and_then(|text| text.strip_suffix(to));
        inner.is_some_and(|inner| !inner.is_empty() && !inner.contains(not))
    };
    let braces = ['{', '}'];
    inner("{{", "}}", braces)
        || inner("${", "}", braces)
        || inner("%{", "}", braces)
        || inner("<", ">", ['<', '>'])
}

/// Whether a value is nothing but variables and signs between them.
fn is_template(value: &str) -> bool {
    let value = value.trim();
    if is_variable(value) {
        return true;
    }
    let names = pattern::names(value);
    if names.is_empty() {
        return false;
    }
    let mut rest = value.to_owned();
    for name in names {
        rest = rest.replace(&pattern::placeholder(name), "");
    }
    !rest.chars().any(char::is_alphanumeric)
}

/// Bits per byte.
#[allow(clippy::cast_precision_loss, reason = "lengths are far from that")]
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = text.len() as f64;
    let counts = counts.iter().filter(|count| **count > 0);
    -counts
        .map(|count| f64::from(*count) / all)
        .map(|part| part * part.log2())
        .sum::<f64>()
}

fn is_long_base64(value: &str) -> bool {
    let is_sign = |c: char| matches!(c, '+' | '/' | '=');
    let (mut upper, mut lower, mut digit, mut sign) = (false, false, false, false);
    let mut count = 0;
    for c in value.chars() {
        match c {
            c if c.is_uppercase() => upper = true,
            c if c.is_lowercase() => lower = true,
            c if c.is_ascii_digit() => digit = true,
            c if is_sign(c) => sign = true,
            _ => return false,
        }
        count += 1;
    }
    let kinds = [upper, lower, digit, sign].into_iter().filter(|is| *is);
    value.len() >= 40 && 10 * count >= 9 * value.len() && kinds.count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_secret_is_an_expression() {
        for kind in KINDS {
            assert!(Regex::new(kind.looks).is_ok(), "{}", kind.looks);
        }
    }

    #[test]
    fn secrets_are_redacted_and_long_values_cut() {
        let shown = |value, path, pattern| {
            let [was, is] = super::shown([value; 2], path, pattern);
            assert_eq!(was, is);
            is
        };
        assert_eq!(shown("x", "spec.dbPassword", "${db}"), REDACTED);
        assert_eq!(shown("x", "spec.db", "${db-token}"), REDACTED);
        assert_eq!(shown("Basic dXNlcjpwYXNz", "a", "${b}"), REDACTED);
        assert_eq!(shown("nginx:1.20", "spec.image", "${image}"), "nginx:1.20");
        let long = shown(&"é ".repeat(70), "a", "${b}");
        assert!(long.ends_with("é ... (truncated 12 chars)"), "{long}");
    }
}
