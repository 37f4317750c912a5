//! The catalog's everyday KRM functions, native: the same bytes as the Go
//! functions write, without a process.
//!
//! [`catalog`] lists the functions; each reads a ResourceList with [`yaml`],
//! edits it and writes it back. Nothing is kept between two calls.
#![forbid(unsafe_code)]

mod apply_replacements;
pub mod catalog;
pub mod encode;
mod ensure_name_substring;
pub mod expression;
mod fieldspec;
mod function;
mod go;
mod json;
mod kptfile;
mod kustomize;
mod list;
mod meter;
mod name_references;
mod object;
pub mod reference;
mod release;
mod remove_local_config;
mod resmap;
mod results;
mod runner_config;
mod scope;
mod search_replace;
mod selector;
mod set_annotations;
mod set_enforcement_action;
mod set_image;
mod set_labels;
mod set_namespace;
mod set_project_id;
mod setters;
pub mod starlark;
#[allow(dead_code, reason = "fields that are only checked")]
pub mod typed;
mod upsert_resource;
pub mod yaml;

pub use function::{Clock, Ended, Function, Late, Stop};
pub use list::{Reading, ResourceList};
pub use release::Release;
