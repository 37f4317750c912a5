//! The modules that scripts can load, by the names that starlib gives them.

mod base64;
mod csv;
mod gotime;
mod gotime_parse;
mod hash;
mod json;
mod krmfn;
mod math;
mod open_api;
mod pattern;
mod re;
mod time;
mod yaml;

use std::rc::Rc;

pub(crate) use self::time::Time;
pub(crate) use open_api::open_api;

use crate::{
    lang::{Call, Module, Thread, Value},
    release::Release,
};

type Members = Vec<(&'static str, Value)>;

/// Modules of the original that are not here.
const MISSING: [&str; 6] = [
    "bsoup.star",
    "geo.star",
    "html.star",
    "http.star",
    "xlsx.star",
    "zipfile.star",
];

/// What a module has to offer. One that does not exist has nothing, as in the
/// original.
pub(crate) fn load(release: Release, name: &str) -> Result<Members, String> {
    if !release.has_modules() {
        return Err("load not implemented by this application".into());
    }
    let (name, members) = match name {
        "encoding/base64.star" => ("base64", base64::members()),
        "encoding/csv.star" => ("csv", csv::members()),
        "encoding/json.star" => ("json", json::members(release.has_encode_indent())),
        "encoding/yaml.star" => ("yaml", yaml::members()),
        "hash.star" => ("hash", hash::members()),
        "krmfn.star" if release.has_krmfn() => ("krmfn", krmfn::members(release)),
        "math.star" => ("math", math::members()),
        "re.star" => ("re", re::members()),
        "time.star" => ("time", time::members()),
        name if MISSING.contains(&name) => {
            return Err(format!(
                "cannot load {name}: the bundled starlark has no such module; run the catalog's \
                 image in a pod"
            ));
        }
        _ => return Ok(Vec::new()),
    };
    Ok(vec![(
        name,
        Value::Module(Rc::new(Module { name, members })),
    )])
}

/// A member that is a function.
fn function(
    name: &'static str,
    run: fn(&mut Thread<'_>, &Call) -> Result<Value, String>,
) -> (&'static str, Value) {
    (name, Value::builtin(name, run))
}
