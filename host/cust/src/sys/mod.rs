//! The driver's types and functions as C declares them, named as in `cust_raw`: the part that patchmg uses.
//!
//! Functions are documented in NVIDIA's CUDA driver API reference. `_v2` are what `cuda.h` maps the plain names to.

#![allow(non_camel_case_types, non_snake_case)]

mod functions;
mod types;

pub(crate) use functions::Functions;
pub use functions::*;
pub use types::*;
