//! `remove-local-config-resources`: drops objects that are for tools only.

use crate::{
    function::{Clock, Function, Stop},
    list::{ResourceList, W2},
    object::LOCAL_CONFIG,
    release::Release,
    results::{Report, Severity},
    yaml::Node,
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.1", W2, &RemoveLocalConfig),
    Release::native("v0.1.0", W2, &RemoveLocalConfig),
];

#[derive(Debug)]
pub(crate) struct RemoveLocalConfig;

impl Function for RemoveLocalConfig {
    fn run(&self, list: &mut ResourceList, _: &Clock) -> Result<(), Stop> {
        let is_local = |item: &mut Node| item.annotation(LOCAL_CONFIG).eq_ignore_ascii_case("true");
        let removed: Vec<Node> = list.items.extract_if(.., is_local).collect();
        list.items.retain(|item| !item.fields().is_empty());
        if removed.is_empty() {
            let message = "Found no resources to prune with the local config annotation";
            list.results = vec![Report::new(Severity::Warning, message)];
            return Ok(());
        }
        list.results = vec![Report::info(format!(
            "Number of resources pruned: {}",
            removed.len()
        ))];
        list.results.extend(removed.iter().map(|object| {
            let mut report = Report::info(format!("Resource name: [{}]", object.name()));
            report.file = object.file();
            report
        }));
        Ok(())
    }
}
