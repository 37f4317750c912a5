use super::*;

fn config_map(pod: &str, service: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({
        "metadata": { "name": "my-template" },
        "data": { "template": pod, "serviceTemplate": service },
    }))
    .unwrap()
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nspec:\n  type: ClusterIP\n";

#[test]
fn the_inline_template_keeps_its_contract() {
    let templates = Templates::inline("example.com/wrapper:v1");
    let spec = templates.pod.spec.unwrap();
    assert_eq!(
        spec.init_containers.unwrap()[0].image.as_deref(),
        Some("example.com/wrapper:v1")
    );
    assert_eq!(templates.version.len(), 16);
    assert_ne!(
        templates.version,
        Templates::inline("example.com/wrapper:v2").version
    );
}

#[test]
fn unknown_and_misplaced_fields_are_ignored() {
    let pod = "apiVersion: v1\nkind: Pod\nannotations:\n  safe-to-evict: true\nspec:\n  \
               no-such-field: 3\n  containers:\n  - name: function\n    image: x\n    command: [a]\n";
    let templates = Templates::from_config_map(&config_map(pod, SERVICE)).unwrap();
    assert_eq!(templates.pod.spec.unwrap().containers.len(), 1);
}

#[test]
fn every_breach_of_the_contract_is_told_with_its_place() {
    let good = "spec:\n  containers:\n  - name: function\n    command: [a]\n";
    for (pod, service, key, reason) in [
        ("kind: Pod\n", SERVICE, "template", "the Pod has no spec"),
        (
            "spec:\n  containers:\n  - name: other\n    command: [a]\n",
            SERVICE,
            "template",
            "no container is named \"function\"",
        ),
        (
            "spec:\n  containers:\n  - name: function\n",
            SERVICE,
            "template",
            "has no command",
        ),
        ("spec: [", SERVICE, "template", "line 1"),
        (
            good,
            "kind: Service\n",
            "serviceTemplate",
            "the Service has no spec",
        ),
        (
            good,
            "spec:\n  ports:\n  - port: http\n",
            "serviceTemplate",
            "invalid type: string \"http\", expected i32, at the end of `{\"spec\":{\"ports\":[{\"port\":\"http\"`",
        ),
    ] {
        let told = Templates::from_config_map(&config_map(pod, service))
            .unwrap_err()
            .to_string();
        let begin = format!("pod template ConfigMap \"my-template\", key {key:?}: ");
        assert!(told.starts_with(&begin) && told.contains(reason), "{told}");
    }
    let empty = ConfigMap::default();
    let told = Templates::from_config_map(&empty).unwrap_err().to_string();
    assert!(told.contains("has no such key"), "{told}");
}

#[test]
fn numbers_are_read_as_kubectl_reads_them() {
    let pod = "spec:\n  containers:\n  - name: function\n    command: [a]\n    args: ['0755', 'yes']\n  \
               volumes:\n  - name: tools\n    configMap: { name: tools, defaultMode: 0755 }\n";
    let templates = Templates::from_config_map(&config_map(pod, SERVICE)).unwrap();
    let spec = templates.pod.spec.unwrap();
    let volume = spec.volumes.unwrap().remove(0);
    assert_eq!(volume.config_map.unwrap().default_mode, Some(0o755));
    assert_eq!(spec.containers[0].args.as_ref().unwrap(), &["0755", "yes"]);
}
