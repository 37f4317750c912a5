//! `hash.star`: digests of text.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;

use crate::lang::{Call, Fallible, Thread, Value};

pub(super) fn members() -> super::Members {
    vec![
        ("md5", Value::builtin("hash.md5", of::<Md5>)),
        ("sha1", Value::builtin("hash.sha1", of::<Sha1>)),
        ("sha256", Value::builtin("hash.sha256", of::<Sha256>)),
    ]
}

fn of<D: Digest>(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let text: Vec<u8> = call.arg(0)?;
    let digest = D::digest(text);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Value::text(hex))
}
