//! Which objects a replacement is about: by identity, labels and annotations.

use std::rc::Rc;

use super::config::{Selector as Wanted, Target};
use crate::{
    expression::{self, Expression},
    fieldspec::id_of,
    object::group_version,
    selector::Selector,
    yaml::Node,
};

/// The parts of an object's identity that a selector names: group, version, kind,
/// name and namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Id([String; 5]);

impl Id {
    pub(super) fn new(parts: [String; 5]) -> Self {
        Self(parts)
    }

    /// What an object is and was called.
    pub(super) fn all_of(object: &Node) -> Result<Vec<Self>, String> {
        const PREVIOUS: &str = "internal.config.kubernetes.io/previous";
        let api_version = object.at(&["apiVersion"]).and_then(Node::value);
        let (group, version) = group_version(api_version.unwrap_or(""));
        let id = |kind: &str, name: &str, namespace: &str| {
            Self([group, version, kind, name, namespace].map(str::to_owned))
        };
        // A number is as good as text.
        let part = |path: &[&str]| {
            let scalar = object.at(path).filter(|node| !node.is_null());
            scalar.and_then(Node::value).unwrap_or("")
        };
        let name = part(&["metadata", "name"]);
        let mut ids = vec![id(part(&["kind"]), name, part(&["metadata", "namespace"]))];
        let annotations = object.at(&["metadata", "annotations"]);
        let has_names = annotations.is_some_and(|it| it.get(&format!("{PREVIOUS}Names")).is_some());
        if !has_names {
            return Ok(ids);
        }
        let before = |what: &str| {
            let annotation = object.annotation(&format!("{PREVIOUS}{what}"));
            annotation.split(',').map(str::to_owned).collect::<Vec<_>>()
        };
        let (kinds, names, namespaces) = (before("Kinds"), before("Names"), before("Namespaces"));
        if names.len() != namespaces.len() || names.len() != kinds.len() {
            return Err("number of previous names, number of previous namespaces, number of previous kinds not equal".into());
        }
        for ((kind, name), namespace) in kinds.iter().zip(&names).zip(&namespaces) {
            ids.push(id(kind, name, namespace));
        }
        Ok(ids)
    }

    pub(super) fn is_selected_by(&self, selector: &Self) -> bool {
        let fits = |at: usize| selector.0[at].is_empty() || selector.0[at] == self.0[at];
        let here = selector.0[4].is_empty() || selector.place() == self.place();
        (0..4).all(fits) && here
    }

    /// The namespace that counts.
    fn place(&self) -> &str {
        match self.0[4].as_str() {
            "" => "default",
            namespace => namespace,
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    pub(super) fn printed(&self) -> String {
        id_of(self.0.each_ref().map(String::as_str))
    }
}

/// How the parts of a selector are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// An object is taken by one of its identities that is not rejected.
    EachIdentity,
    /// An object is not taken if any of its identities is rejected.
    AllIdentities,
    /// As before, and the parts are expressions.
    Expressions,
}

/// Which objects a target selects.
pub(super) struct Choice<'a> {
    target: &'a Target,
    select: Part,
    reject: Vec<Part>,
    comparison: Comparison,
}

/// A selector's identity, in the form in which it is compared.
enum Part {
    Exact(Id),
    Expressions(Box<[Option<Rc<Expression>>; 5]>),
}

impl Part {
    fn new(wanted: &Wanted, comparison: Comparison) -> Result<Self, String> {
        let id = wanted.id();
        if comparison != Comparison::Expressions {
            return Ok(Self::Exact(id));
        }
        let mut expressions = [const { None }; 5];
        for (expression, part) in expressions.iter_mut().zip(&id.0) {
            if !part.is_empty() {
                let anchored = format!("^(?:{part})$");
                let compiled = expression::compile(&anchored)
                    .map_err(|error| format!("error creating target selector: {error}"))?;
                *expression = Some(compiled);
            }
        }
        Ok(Self::Expressions(Box::new(expressions)))
    }

    fn fits(&self, id: &Id) -> bool {
        match self {
            Self::Exact(selector) => id.is_selected_by(selector),
            Self::Expressions(parts) => {
                let mut pairs = parts.iter().zip(&id.0);
                pairs.all(|(part, own)| part.as_ref().is_none_or(|part| part.is_match(own)))
            }
        }
    }
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        target: &'a Target,
        select: &Wanted,
        comparison: Comparison,
    ) -> Result<Self, String> {
        let named = target
            .reject
            .0
            .iter()
            .flatten()
            .filter(|it| !it.id().is_empty());
        Ok(Self {
            target,
            select: Part::new(select, comparison)?,
            reject: named
                .map(|reject| Part::new(reject, comparison))
                .collect::<Result<_, _>>()?,
            comparison,
        })
    }

    pub(super) fn takes(&self, item: &Node, select: &Wanted) -> Result<bool, String> {
        let ids = Id::all_of(item)?;
        if !fits_labels(item, select)? {
            return Ok(false);
        }
        for reject in self.target.reject.0.iter().flatten() {
            let has_selector =
                !reject.annotation_selector.is_empty() || !reject.label_selector.is_empty();
            if has_selector && fits_labels(item, reject)? {
                return Ok(false);
            }
        }
        let is_rejected = |id: &Id| self.reject.iter().any(|reject| reject.fits(id));
        Ok(match self.comparison {
            Comparison::EachIdentity => ids
                .iter()
                .any(|id| self.select.fits(id) && !is_rejected(id)),
            _ => !ids.iter().any(is_rejected) && ids.iter().any(|id| self.select.fits(id)),
        })
    }
}

/// Whether the selectors for labels and annotations fit the object.
fn fits_labels(item: &Node, wanted: &Wanted) -> Result<bool, String> {
    let matches = |selector: &str, of: &str| -> Result<bool, String> {
        let pairs = item
            .at(&["metadata", of])
            .map_or_else(Vec::new, Node::texts);
        Ok(Selector::parse(selector)?.matches(&pairs))
    };
    let annotations = matches(&wanted.annotation_selector, "annotations")?;
    Ok(matches(&wanted.label_selector, "labels")? && annotations)
}
