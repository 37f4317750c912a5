//! The tags of a repository, page by page.
//!
//! Every page is asked of the registry itself: of the link to the next one only path
//! and query count. So credentials go nowhere else, and a registry behind a proxy may
//! name itself as it likes. Pages, bytes and tags are bounded.

use std::collections::BTreeSet;

use http::{HeaderMap, Method, header, uri::PathAndQuery};

use super::{FetchError, session::Session};
use crate::{manifest::TagPage, reference::is_tag, url::Url};

/// Wanted per page; registries may give fewer.
const PAGE: usize = 1000;

/// With a hundred tags per page, which is what the stingiest give, as many as are
/// looked at all.
const MOST_PAGES: usize = 200;

/// No function has had this many releases.
const MOST_TAGS: usize = 20_000;

/// This many names, with twice their length for the text around them.
const MOST_BYTES: usize = 8 * 1024 * 1024;

impl Session<'_> {
    /// All tags, in order, each once.
    pub(super) async fn tags(&mut self) -> Result<Vec<String>, FetchError> {
        let image = self.reference.to_string();
        let endless = |why: &'static str| FetchError::Pages {
            image: image.clone(),
            why,
        };
        let mut path = format!("/v2/{}/tags/list?n={PAGE}", self.reference.path());
        let mut asked = Vec::new();
        let mut bytes = 0;
        let mut tags = BTreeSet::new();
        loop {
            let answer = self.ask(Method::GET, &path, "application/json").await;
            let answer = answer.map_err(without_a_list)?;
            bytes += answer.body.len();
            let page = TagPage::parse(&answer.body).map_err(|source| FetchError::Document {
                url: answer.url.to_string(),
                source,
            })?;
            // What is not a tag can be neither asked for nor chosen.
            tags.extend(page.tags.into_iter().filter(|tag| is_tag(tag)));
            if tags.len() > MOST_TAGS || bytes > MOST_BYTES {
                return Err(FetchError::TooManyTags { image });
            }
            let Some(link) = next_link(&answer.headers) else {
                return Ok(tags.into_iter().collect());
            };
            let next =
                page_path(&path, link).ok_or_else(|| endless("to a place that is not a URL"))?;
            asked.push(path);
            if asked.contains(&next) {
                return Err(endless("to a page that was read before"));
            }
            if asked.len() >= MOST_PAGES {
                return Err(endless("to more pages than any list of tags has"));
            }
            path = next;
        }
    }
}

/// A missing list says something about the repository, not about one of its tags.
fn without_a_list(error: FetchError) -> FetchError {
    match error {
        FetchError::Missing {
            image, registry, ..
        } => FetchError::Missing {
            image,
            registry,
            what: "has no such repository, or does not list its tags",
        },
        error => error,
    }
}

/// Where the next page is, by the `Link` headers: the target of relation `next`, or
/// of none at all, which is how some leave it out.
fn next_link(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::LINK).iter();
    let links = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(links);
    let mut next = links.filter(|(_, relation)| {
        relation.is_none_or(|words| {
            let mut words = words.split_whitespace();
            words.any(|word| word.eq_ignore_ascii_case("next"))
        })
    });
    next.next().map(|(target, _)| target)
}

/// The links of one header: target and relation.
fn links(header: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = header;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (target, after) = after.split_once('>')?;
        let end = after.find('<').unwrap_or(after.len());
        let (parameters, after) = after.split_at(end);
        rest = after;
        let mut parameters = parameters.split([';', ',']).map(str::trim);
        let relation = parameters.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel").then_some(value)
        });
        Some((target.trim(), relation))
    })
}

/// Path and query of a link that stood in the answer for `current`.
fn page_path(current: &str, link: &str) -> Option<String> {
    let folder = || {
        let path = current.split('?').next().unwrap_or_default();
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    };
    let path = if let Some(url) = Url::parse(link) {
        url.path_and_query
    } else if let Some(host) = link.strip_prefix("//") {
        Url::parse(&format!("https://{host}"))?.path_and_query
    } else if link.starts_with('/') {
        link.to_owned()
    } else if link.starts_with('?') {
        format!("{}{link}", current.split('?').next()?)
    } else if link.contains("://") || link.is_empty() {
        return None;
    } else {
        format!("{}/{link}", folder())
    };
    path.parse::<PathAndQuery>()
        .ok()
        .map(|path| path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_paths_of_the_registry_itself() {
        let current = "/v2/a/b/tags/list?n=2";
        for (link, path) in [
            (
                "/v2/a/b/tags/list?last=x&n=2",
                "/v2/a/b/tags/list?last=x&n=2",
            ),
            (
                "https://r.example/v2/a/b/tags/list?last=x",
                "/v2/a/b/tags/list?last=x",
            ),
            (
                "http://inside:5000/v2/a/b/tags/list?last=x",
                "/v2/a/b/tags/list?last=x",
            ),
            ("//evil.example/v2/a?last=x", "/v2/a?last=x"),
            ("?last=x", "/v2/a/b/tags/list?last=x"),
            ("list?last=x", "/v2/a/b/tags/list?last=x"),
        ] {
            assert_eq!(page_path(current, link).as_deref(), Some(path), "{link}");
        }
        for link in [
            "",
            "ftp://r.example/x",
            "https://user@r.example/x",
            "/a b",
            "https://",
        ] {
            assert_eq!(page_path(current, link), None, "{link}");
        }
    }

    #[test]
    fn the_next_page_is_the_link_of_that_relation() {
        for (values, target) in [
            (
                vec![r#"</v2/x?last=b&n=2>; rel="next""#],
                Some("/v2/x?last=b&n=2"),
            ),
            (vec!["</a>; rel=next"], Some("/a")),
            (vec!["</a>"], Some("/a")),
            (
                vec![r#"</a>; rel="prev", </b>; title="x"; rel="last Next""#],
                Some("/b"),
            ),
            (
                vec![r#"</a>; rel="prev""#, r#"</b>; rel="next""#],
                Some("/b"),
            ),
            (vec![r#"</a,b;c>; rel="next""#], Some("/a,b;c")),
            (vec![r#"</a>; rel="prev""#], None),
            (vec!["/a; rel=next", "<", "<>", ""], Some("")),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(header::LINK, value.parse().unwrap());
            }
            assert_eq!(next_link(&headers), target, "{values:?}");
        }
    }
}
