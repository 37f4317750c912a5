//! Compiles `evaluator.proto` without a `protoc` on the machine.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(["evaluator.proto"], ["proto"])?;

    // Server reflection serves the contract itself, so it needs it at run time.
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("evaluator.bin"), descriptors.encode_to_vec())?;

    tonic_prost_build::configure()
        // A list of megabytes is sliced out of the received message, not copied.
        .bytes(".evaluator")
        .compile_fds(descriptors)?;
    Ok(())
}
