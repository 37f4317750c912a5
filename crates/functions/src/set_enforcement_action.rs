//! `set-enforcement-action`: sets what Gatekeeper's constraints do about
//! violations.

use crate::{
    function::{Clock, Function, Stop, report_failure},
    list::{ResourceList, W2},
    release::Release,
    results::{Report, Severity},
    yaml::Node,
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.1", W2, &SetEnforcementAction),
    Release::native("v0.1.0", W2, &SetEnforcementAction),
];

#[derive(Debug)]
pub(crate) struct SetEnforcementAction;

impl Function for SetEnforcementAction {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let data = list.config.as_ref().map_or_else(Vec::new, Node::data);
        let action = match data[..] {
            [("enforcementAction", action @ ("deny" | "dryrun"))] => Ok(action.to_owned()),
            [_] => Err("expected values for enforcementAction are [deny] or [dryrun]"),
            _ => Err("expecting exactly 1 enforcementAction as part of the ConfigMap"),
        };
        let action = match action {
            Ok(action) => action,
            Err(message) => {
                let told = format!("failed to process policies: {message}");
                return Err(report_failure(list, told, message.to_owned()));
            }
        };
        let mut results = Vec::new();
        for item in &mut list.items {
            clock.check()?;
            let is_policy = item.api_version() == "constraints.gatekeeper.sh/v1beta1";
            if !is_policy || item.name().is_empty() || item.kind().is_empty() {
                continue;
            }
            set_action(item, &action);
            let mut report = Report::info(format!("Policy name: [{}]", item.name()));
            report.file = item.file();
            results.push(report);
        }
        list.results = match results.len() {
            0 => {
                let message = format!("Found no policy to set to [{action}]");
                vec![Report::new(Severity::Warning, message)]
            }
            count => vec![Report::info(format!(
                "Number of policies set to [{action}]: {count}"
            ))],
        };
        list.results.append(&mut results);
        Ok(())
    }
}

fn set_action(policy: &mut Node, action: &str) {
    if policy.get("spec").is_none_or(Node::is_null) {
        policy.remove("spec");
        policy.insert("spec", Node::mapping(Vec::new()));
    }
    let Some(spec) = policy.get_mut("spec") else {
        return;
    };
    match spec.get_mut("enforcementAction") {
        // kyaml replaces the whole node: its comments go, its style stays.
        Some(value) => {
            value.set_text(action);
            *value.comments_mut() = crate::yaml::Comments::default();
        }
        None => spec.insert("enforcementAction", Node::text(action)),
    }
}
