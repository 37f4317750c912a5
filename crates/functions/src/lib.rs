//! The catalog's everyday KRM functions, native.
#![forbid(unsafe_code)]

pub mod yaml;
