//! A thousand functions: one image under as many tags, each of which is a function to the runner.

use anyhow::Result;
use cluster::image::ImageSpec;
use cluster::layout::state;
use cluster::registry::Registry;

use super::size::Size;
use crate::real_registry;

const REPOSITORY: &str = "scale/function";

/// The references of all functions, by their numbers.
pub(super) fn publish(size: &Size) -> Result<Vec<String>> {
    let spec = ImageSpec {
        entrypoint: vec!["/function".to_owned()],
        ..ImageSpec::default()
    };
    let registry = Registry::Open;
    let name = format!("{REPOSITORY}:{}", tag(0));
    registry.publish(REPOSITORY, &tag(0), &spec)?;
    let storage = state(registry.host()).join("images");
    real_registry::tag(&storage, &name, (1..size.functions).map(tag))?;
    let reference = |number| format!("{}/{REPOSITORY}:{}", registry.address(), tag(number));
    Ok((0..size.functions).map(reference).collect())
}

fn tag(number: usize) -> String {
    format!("f{number}")
}
