//! What can be done before the input is there.
//!
//! The runner starts this program ahead. While it waits, it runs a script over a list of its
//! own, which loads the modules that scripts load: what a run needs of the program is then
//! in memory, and ready. A program that finds its input waiting has no time for that.

use functions::Clock;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    stdio::stdin,
};

use crate::{release::Release, script::Starlark};

/// Of what most scripts do, a little.
const LIST: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: a
    labels:
      a: b
  spec:
    replicas: 1
    template:
      spec:
        containers:
        - name: a
          args: ["a", 'b']
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  metadata:
    name: a
  source: |
    def change(resources, namespace):
      for resource in resources:
        if resource.get("kind") == "Deployment" and len(resource["spec"]) > 0:
          resource["metadata"]["namespace"] = "%s-%d" % (namespace, 1 + 1)
    change(ctx.resource_list["items"], "a".strip())
"#;

/// The modules that most scripts load, with something of each.
const MODULES: &str = r#"    load("encoding/base64.star", "base64")
    load("encoding/json.star", "json")
    load("encoding/yaml.star", "yaml")
    load("hash.star", "hash")
    load("math.star", "math")
    load("re.star", "re")
    load("time.star", "time")
    a = json.encode(json.decode('{"a": [1, 2.5, "b"]}'))
    b = yaml.dumps(yaml.loads("a: [1, b]\nc: {d: 'e'}\n"))
    c = base64.encode(base64.decode("YQ==")) + hash.sha256("a")
    d = re.sub("([a-z]+)-([0-9]+)", "b", "a-1") + str(re.findall("[ab]", "ab"))
    e = math.floor(1.5)
    f = time.parse_duration("1s")
"#;
/// Releases without this module have the others.
const KRMFN: &str = r#"    load("krmfn.star", "krmfn")
    g = [krmfn.match_gvk(resource, "apps/v1", "Deployment") for resource in ctx.resource_list["items"]]
"#;

/// Does it, unless there is something better to do.
pub(crate) fn up(release: Release) {
    if !is_input_there() {
        let starlark = Starlark::new(release);
        let clock = Clock::default();
        // Whatever comes of it: nobody has asked.
        let _ =
            functions::starlark::run(&starlark, release.version, list(release).as_bytes(), &clock);
    }
}

/// The list, with as much in its script as the release knows.
fn list(release: Release) -> String {
    let modules = if release.has_modules() { MODULES } else { "" };
    let krmfn = if release.has_krmfn() { KRMFN } else { "" };
    [LIST, modules, krmfn].concat()
}

fn is_input_there() -> bool {
    let stdin = stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut waited, Some(&Timespec::default())) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script that fails would have warmed up only what comes before the mistake.
    #[test]
    fn the_script_runs_in_every_release() {
        for version in ["v0.5.6", "v0.5.0", "v0.4.3", "v0.4.0", "v0.3.0", "v0.2.0"] {
            let release = Release::named(Some(version)).expect(version);
            let (starlark, clock) = (Starlark::new(release), Clock::default());
            let list = list(release);
            let ended = functions::starlark::run(&starlark, version, list.as_bytes(), &clock);
            let ended = ended.expect("no deadline");
            assert_eq!(
                ended.exit, 0,
                "{version}: {} {}",
                ended.stdout, ended.stderr
            );
            assert!(ended.stdout.contains("namespace: a-2"), "{version}");
        }
    }
}
