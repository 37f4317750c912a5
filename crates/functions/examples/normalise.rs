//! Reads a YAML document from standard input and writes it as yaml.v3 does.
use std::io::Read as _;

use functions::yaml::{SequenceIndent, parse_all, write};

fn main() {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .expect("UTF-8 on standard input");
    let indent = match std::env::args().count() {
        1 => SequenceIndent::Compact,
        _ => SequenceIndent::Wide,
    };
    match parse_all(&text) {
        Ok(documents) => {
            if let Some(document) = documents.first() {
                print!("{}", write(document, indent));
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
