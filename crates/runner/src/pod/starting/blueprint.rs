//! Fills a function into the templates: pure, so that tests see without a cluster
//! what is created.

use k8s_openapi::{
    api::core::v1::{Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{pull_secret, template::Templates};
use crate::{
    function_config::overrides::{FUNCTION_CONTAINER, Overrides},
    pod::{
        calling::WRAPPER_PORT,
        marks::{
            IMAGE_DIGEST, IMAGE_LABEL, IMAGE_REFERENCE, INCARNATION, OWNER, RECLAIM_AFTER,
            SETTINGS_VERSION, TEMPLATE_VERSION, WITHOUT_LEASE,
        },
    },
};

const SERVICE_NAME_LABEL: &str = "app.kubernetes.io/name";
const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/// One function, on its way to become a pod.
#[derive(Debug, Clone)]
pub(crate) struct Blueprint<'a> {
    /// Of the pod and of its service.
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    /// The reference that callers ask for.
    pub(crate) image: &'a str,
    /// What it stood for when it was resolved.
    pub(crate) digest: &'a str,
    /// The image by its digest: what the node pulls.
    pub(crate) pinned: &'a str,
    pub(crate) entrypoint: &'a [String],
    pub(crate) max_message_size: usize,
    pub(crate) pull_secret: Option<&'a str>,
    pub(crate) owner: &'a str,
    pub(crate) incarnation: &'a str,
    /// Whether others can see by a lease that the owner lives.
    pub(crate) has_lease: bool,
    pub(crate) reclaim_after: u64,
    /// What the function changes of the template.
    pub(crate) overrides: &'a Overrides,
    /// The version of these, if pods with others are to be replaced.
    pub(crate) overrides_version: Option<&'a str>,
}

/// What a pod is made of beside the pod template; `None` where that is nothing.
pub(crate) fn settings_version(overrides: Option<&str>, templates: &Templates) -> Option<String> {
    match (overrides, templates.service_version.as_deref()) {
        (None, None) => None,
        (overrides, service) => {
            let [overrides, service] = [overrides, service].map(|part| part.unwrap_or("0"));
            Some(format!("{overrides}.{service}"))
        }
    }
}

/// The function's pod.
pub(crate) fn pod(templates: &Templates, blueprint: &Blueprint<'_>) -> Pod {
    let mut pod = templates.pod.clone();
    name(&mut pod.metadata, blueprint);
    label(&mut pod.metadata, IMAGE_LABEL, blueprint.name);
    let reclaim_after = blueprint.reclaim_after.to_string();
    let without_lease = (!blueprint.has_lease).then_some((WITHOUT_LEASE, "true"));
    let settings = settings_version(blueprint.overrides_version, templates);
    let settings = settings
        .as_deref()
        .map(|version| (SETTINGS_VERSION, version));
    for (key, value) in [
        (TEMPLATE_VERSION, templates.version.as_str()),
        (RECLAIM_AFTER, &reclaim_after),
        (IMAGE_REFERENCE, blueprint.image),
        (IMAGE_DIGEST, blueprint.digest),
        (OWNER, blueprint.owner),
        (INCARNATION, blueprint.incarnation),
        (SAFE_TO_EVICT, "true"),
    ]
    .into_iter()
    .chain(without_lease)
    .chain(settings)
    {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
    }
    let Some(spec) = &mut pod.spec else {
        return pod;
    };
    for container in &mut spec.containers {
        if container.name == FUNCTION_CONTAINER {
            container.image = Some(blueprint.pinned.to_owned());
            container
                .args
                .get_or_insert_default()
                .extend(arguments(blueprint));
        }
    }
    blueprint.overrides.apply(spec);
    if let Some(secret) = blueprint.pull_secret {
        pull_secret::attach(spec, secret);
    }
    pod
}

/// The service in front of it.
pub(crate) fn service(templates: &Templates, blueprint: &Blueprint<'_>) -> Service {
    let mut service = templates.service.clone();
    // Everything else that a template's author wrote on it stays.
    name(&mut service.metadata, blueprint);
    label(&mut service.metadata, SERVICE_NAME_LABEL, blueprint.name);
    label(&mut service.metadata, IMAGE_LABEL, blueprint.name);
    let annotations = service.metadata.annotations.get_or_insert_default();
    annotations.insert(OWNER.to_owned(), blueprint.owner.to_owned());
    if let Some(spec) = &mut service.spec {
        let selector = spec.selector.get_or_insert_default();
        selector.insert(IMAGE_LABEL.to_owned(), blueprint.name.to_owned());
    }
    service
}

/// What follows the template's own arguments.
fn arguments(blueprint: &Blueprint<'_>) -> Vec<String> {
    let flags = [
        "--port".to_owned(),
        WRAPPER_PORT.to_string(),
        "--max-request-body-size".to_owned(),
        blueprint.max_message_size.to_string(),
        "--".to_owned(),
    ];
    flags
        .into_iter()
        .chain(blueprint.entrypoint.iter().map(|word| literally(word)))
        .collect()
}

/// Kubernetes replaces `$(NAME)` in arguments by a variable's value, and `$$` by
/// `$`. An image's entrypoint is not written for that: each word has to arrive as
/// the image has it. A template's own arguments stay as their author wrote them.
fn literally(word: &str) -> String {
    word.replace('$', "$$")
}

/// A template's own name, or the wish for a generated one, would get in the way.
fn name(metadata: &mut ObjectMeta, blueprint: &Blueprint<'_>) {
    metadata.name = Some(blueprint.name.to_owned());
    metadata.generate_name = None;
    metadata.namespace = Some(blueprint.namespace.to_owned());
}

fn label(metadata: &mut ObjectMeta, key: &str, value: &str) {
    metadata
        .labels
        .get_or_insert_default()
        .insert(key.to_owned(), value.to_owned());
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::LocalObjectReference;

    use super::*;

    fn blueprint<'a>(entrypoint: &'a [String]) -> Blueprint<'a> {
        Blueprint {
            name: "fn-v1-01234567-x1",
            namespace: "porch-fn-system",
            image: "example.com/fn:v1",
            digest: "sha256:01234567",
            pinned: "example.com/fn@sha256:01234567",
            entrypoint,
            max_message_size: 6_291_456,
            pull_secret: Some("auth-secret"),
            owner: "runner-1",
            incarnation: "x1y2z",
            has_lease: true,
            reclaim_after: 1_800_000_000,
            overrides: Box::leak(Box::default()),
            overrides_version: None,
        }
    }

    #[test]
    fn the_function_takes_its_place_and_the_template_keeps_the_rest() {
        let mut templates = Templates::inline("example.com/wrapper:v1");
        let spec = templates.pod.spec.as_mut().unwrap();
        spec.containers[0].args = Some(vec!["--verbosity=3".into()]);
        spec.image_pull_secrets = Some(vec![LocalObjectReference { name: "own".into() }]);
        templates.pod.metadata.labels = Some([("team".into(), "a".into())].into());
        let entrypoint = ["/usr/bin/fn".to_owned(), "run".to_owned()];

        let pod = pod(&templates, &blueprint(&entrypoint));
        let spec = pod.spec.unwrap();
        let function = &spec.containers[0];
        assert_eq!(
            function.image.as_deref(),
            Some("example.com/fn@sha256:01234567")
        );
        assert_eq!(
            function.args.as_ref().unwrap().join(" "),
            "--verbosity=3 --port 9446 --max-request-body-size 6291456 -- /usr/bin/fn run"
        );
        let secrets: Vec<&str> = spec
            .image_pull_secrets
            .as_ref()
            .unwrap()
            .iter()
            .map(|s| s.name.as_str())
            .collect();
        assert_eq!(secrets, ["own", "auth-secret"]);
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels["team"], "a");
        assert_eq!(labels[IMAGE_LABEL], "fn-v1-01234567-x1");
        let annotations = pod.metadata.annotations.unwrap();
        assert_eq!(annotations[RECLAIM_AFTER], "1800000000");
        assert_eq!(annotations[IMAGE_REFERENCE], "example.com/fn:v1");
        assert_eq!(annotations[TEMPLATE_VERSION], templates.version);
        assert_eq!(annotations[SAFE_TO_EVICT], "true");
    }

    #[test]
    fn an_entrypoint_arrives_as_the_image_has_it() {
        let mut templates = Templates::inline("example.com/wrapper:v1");
        let function = &mut templates.pod.spec.as_mut().unwrap().containers[0];
        function.args = Some(vec!["--started-ahead=$(AHEAD)".into()]);
        let entrypoint = ["sh", "-c", "echo $(HOME) $$ $1"].map(str::to_owned);
        let pod = pod(&templates, &blueprint(&entrypoint));
        let arguments = pod.spec.unwrap().containers[0].args.clone().unwrap();
        assert_eq!(arguments.first().unwrap(), "--started-ahead=$(AHEAD)");
        assert_eq!(arguments.last().unwrap(), "echo $$(HOME) $$$$ $$1");
    }

    #[test]
    fn a_pod_says_whether_its_owner_has_a_lease() {
        let templates = Templates::inline("example.com/wrapper:v1");
        for has_lease in [true, false] {
            let blueprint = Blueprint {
                has_lease,
                ..blueprint(&[])
            };
            let annotations = pod(&templates, &blueprint).metadata.annotations.unwrap();
            assert_eq!(annotations[INCARNATION], "x1y2z");
            assert_eq!(annotations.contains_key(WITHOUT_LEASE), !has_lease);
        }
    }

    #[test]
    fn the_service_selects_the_one_pod() {
        let templates = Templates::inline("example.com/wrapper:v1");
        let service = service(&templates, &blueprint(&[]));
        assert_eq!(service.metadata.name.as_deref(), Some("fn-v1-01234567-x1"));
        assert_eq!(
            service.metadata.labels.unwrap()[SERVICE_NAME_LABEL],
            "fn-v1-01234567-x1"
        );
        let spec = service.spec.unwrap();
        assert_eq!(spec.selector.unwrap()[IMAGE_LABEL], "fn-v1-01234567-x1");
        assert_eq!(spec.ports.unwrap()[0].port, i32::from(WRAPPER_PORT));
    }

    #[test]
    fn the_pull_secret_is_attached_once() {
        let mut templates = Templates::inline("w");
        let own = vec![LocalObjectReference {
            name: "auth-secret".into(),
        }];
        templates.pod.spec.as_mut().unwrap().image_pull_secrets = Some(own);
        let pod = pod(&templates, &blueprint(&[]));
        assert_eq!(pod.spec.unwrap().image_pull_secrets.unwrap().len(), 1);
    }

    #[test]
    fn overrides_and_a_service_template_are_written_on_the_pod() {
        let mut templates = Templates::inline("w");
        let version = |templates: &Templates, overrides_version| {
            let blueprint = Blueprint {
                overrides_version,
                ..blueprint(&[])
            };
            let annotations = pod(templates, &blueprint).metadata.annotations.unwrap();
            annotations.get(SETTINGS_VERSION).cloned()
        };
        assert_eq!(version(&templates, None), None, "as in 1.5");
        assert_eq!(version(&templates, Some("o1")).unwrap(), "o1.0");
        templates.service_version = Some("77".into());
        assert_eq!(version(&templates, None).unwrap(), "0.77");
    }
}
