//! `set-enforcement-action`: sets what Gatekeeper's constraints do about
//! violations.

use crate::{
    function::{Clock, Function, Stop, report_failure},
    list::{ResourceList, W2},
    release::Release,
    results::{Report, Severity},
    yaml::{Comments, Node, SequenceIndent, kind_name, write_node},
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
            [("enforcementAction", action @ ("deny" | "warn" | "dryrun"))] => Ok(action.to_owned()),
            [_] => Err("expected values for enforcementAction are [deny] or [warn] or [dryrun]"),
            _ => Err("expecting exactly 1 enforcementAction as part of the ConfigMap"),
        };
        let action = match action {
            Ok(action) => action,
            Err(message) => return Err(fail(list, message.to_owned())),
        };
        let mut results = Vec::new();
        let mut failed = None;
        for item in &mut list.items {
            clock.check()?;
            let is_policy = item.api_version() == "constraints.gatekeeper.sh/v1beta1";
            if !is_policy || item.name().is_empty() || item.kind().is_empty() {
                continue;
            }
            if let Err(message) = set_action(item, &action) {
                failed = Some(message);
                break;
            }
            let mut report = Report::info(format!("Policy name: [{}]", item.name()));
            report.file = item.file();
            results.push(report);
        }
        if let Some(message) = failed {
            return Err(fail(list, message));
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

fn fail(list: &mut ResourceList, message: String) -> Stop {
    let told = format!("failed to process policies: {message}");
    report_failure(list, told, message)
}

fn set_action(policy: &mut Node, action: &str) -> Result<(), String> {
    let is_missing = policy.get("spec").is_none();
    if is_missing {
        // What the Go function creates is a scalar, which it then refuses.
        policy.insert("spec", Node::plain(""));
    }
    let Some(spec) = policy.get_mut("spec") else {
        return Ok(());
    };
    // A null stays one, and yet counts as set.
    if spec.is_null() && !is_missing {
        return Ok(());
    }
    if !spec.is_mapping() {
        let (kind, value) = (kind_name(spec), write_node(spec, SequenceIndent::Compact));
        let value = value.trim();
        return Err(format!(
            "wrong Node Kind for spec expected: MappingNode was {kind}: value: {{{value}}}"
        ));
    }
    match spec.get_mut("enforcementAction") {
        // kyaml replaces the whole node: its comments go, its style stays.
        Some(value) => {
            value.set_text(action);
            *value.comments_mut() = Comments::default();
        }
        None => spec.insert("enforcementAction", Node::text(action)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_all;

    #[test]
    fn a_policy_without_a_spec_is_refused_and_one_with_a_spec_warns() {
        let policy = |text: &str| parse_all(text).unwrap().remove(0).root;
        let mut good = policy("spec: {match: {}}\n");
        set_action(&mut good, "warn").unwrap();
        let action = good.at(&["spec", "enforcementAction"]).unwrap();
        assert_eq!(action.value(), Some("warn"));
        for (text, value) in [("kind: K\n", ""), ("spec: none\n", "none")] {
            let error = set_action(&mut policy(text), "warn").unwrap_err();
            assert!(
                error.ends_with(&format!("was ScalarNode: value: {{{value}}}")),
                "{error}"
            );
        }
    }
}
