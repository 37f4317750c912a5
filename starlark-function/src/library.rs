//! The modules that scripts can load.

use starlark::{
    Error,
    environment::{FrozenModule, GlobalsBuilder, LibraryExtension, Module},
    eval::{Evaluator, FileLoader},
    syntax::{AstModule, Dialect},
};

use crate::{base64, math};

/// Matching of objects, as the catalog's own module does it: what is empty, on
/// either side, fits everything.
const KRMFN: &str = r#"
def _group_version(api_version):
    parts = api_version.split("/", 1)
    return parts if len(parts) == 2 else ["", api_version]

def _fits(a, b):
    return a == "" or b == "" or a == b

def _match_gvk(resource, api_version, kind):
    own = _group_version(resource.get("apiVersion", ""))
    wanted = _group_version(api_version)
    return _fits(own[0], wanted[0]) and _fits(own[1], wanted[1]) and _fits(resource.get("kind", ""), kind)

def _metadata(resource, field):
    return resource.get("metadata", {}).get(field, "")

def _match_name(resource, name):
    return _metadata(resource, "name") == name

def _match_namespace(resource, namespace):
    return _metadata(resource, "namespace") == namespace

krmfn = struct(match_gvk = _match_gvk, match_name = _match_name, match_namespace = _match_namespace)
"#;

const JSON: &str = "json = struct(decode = builtin.json.decode, encode = builtin.json.encode, loads = builtin.json.decode, dumps = builtin.json.encode)\n";

/// Finds modules by the names that scripts of the catalog use.
#[derive(Debug)]
pub(crate) struct Library;

impl FileLoader for Library {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        match path {
            "encoding/base64.star" => module(path, base64::SOURCE),
            "encoding/json.star" => module(path, JSON),
            "krmfn.star" => module(path, KRMFN),
            "math.star" => module(path, math::SOURCE),
            other => Err(Error::new_other(Unknown(other.to_owned()))),
        }
    }
}

#[derive(Debug)]
struct Unknown(String);

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(name) = self;
        write!(
            f,
            "cannot load {name}: the bundled starlark has encoding/base64.star, \
             encoding/json.star, krmfn.star and math.star; run the catalog's image in a pod for \
             others"
        )
    }
}

impl std::error::Error for Unknown {}

fn module(name: &str, source: &str) -> starlark::Result<FrozenModule> {
    let ast = AstModule::parse(name, source.to_owned(), &Dialect::Extended)?;
    let globals = GlobalsBuilder::extended_by(&[LibraryExtension::StructType])
        .with_namespace("builtin", |builder| {
            LibraryExtension::Json.add(builder);
            base64::functions(builder);
            math::functions(builder);
        })
        .build();
    Module::with_temp_heap(|module| {
        Evaluator::new(&module).eval_module(ast, &globals)?;
        Ok(module.freeze()?)
    })
}
