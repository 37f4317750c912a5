//! `encoding/base64.star`: text as base64, and back.

use base64::{
    Engine as _,
    engine::{GeneralPurpose, general_purpose},
};
use starlark::{environment::GlobalsBuilder, starlark_module};

/// What scripts get, from the functions below.
pub(crate) const SOURCE: &str =
    "base64 = struct(encode = builtin.base64_encode, decode = builtin.base64_decode)\n";

fn engine(encoding: &str) -> anyhow::Result<GeneralPurpose> {
    match encoding {
        "standard" => Ok(general_purpose::STANDARD),
        "standard_raw" => Ok(general_purpose::STANDARD_NO_PAD),
        "url" => Ok(general_purpose::URL_SAFE),
        "url_raw" => Ok(general_purpose::URL_SAFE_NO_PAD),
        other => anyhow::bail!("unsupported encoding format: {other:?}"),
    }
}

#[starlark_module]
pub(crate) fn functions(builder: &mut GlobalsBuilder) {
    fn base64_encode(
        data: &str,
        #[starlark(default = "standard")] encoding: &str,
    ) -> anyhow::Result<String> {
        Ok(engine(encoding)?.encode(data))
    }

    fn base64_decode(
        data: &str,
        #[starlark(default = "standard")] encoding: &str,
    ) -> anyhow::Result<String> {
        Ok(String::from_utf8(engine(encoding)?.decode(data)?)?)
    }
}
