//! The GPU kernels that `patchmg` runs, as PTX of compute capability 8.0, compressed (`cuda_builder::ptx::unpack`). They are
//! compiled for the package, so that a program which depends on `patchmg` needs no compiler for them.

#![no_std]

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
