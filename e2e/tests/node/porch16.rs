//! Porch 1.6 on a real node: its kinds, made from our own types, and what objects of them do.

mod functions;
mod kinds;
mod templates;
