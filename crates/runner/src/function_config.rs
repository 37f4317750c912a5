//! How functions are configured since Porch 1.6: by `FunctionConfig` objects beside the
//! files of 1.5.
//!
//! ```text
//! files ───► plain values ◄─── choose ◄─── kind (objects as the API server has them)
//!                 │               └─► what is wrong with an object, for its status
//!                 ├─► exec::table      which program an image is
//!                 └─► pod::functions   what holds for an image's pods
//! ```
//! Files and objects become the same plain values; everything that is decided over them
//! is pure. `live` keeps them up to date and writes the status.

pub(crate) mod choose;
pub mod kind;
pub(crate) mod live;
pub(crate) mod overrides;
pub(crate) mod plain;
mod report;
