//! The GPU kernels of papers 1, 2 and 4, which the laboratory of `patchmg` compares its own with, as PTX, compressed
//! (`cuda_builder::ptx::unpack`). `patchmg::backend::cuda::add_modules` makes them known to the library.

#![no_std]

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
