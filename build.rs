//! Build script of the two packages in `device/ptx/`, whose `build.rs` are links to this one. In the tree it compiles `device/`
//! to PTX; in a package it finds the compiled modules in `packed/`.

use cuda_builder::Kernels;

fn main() -> std::process::ExitCode {
    cuda_builder::embed(match env!("CARGO_PKG_NAME") {
        "patchmg-kernels" => Kernels::Library,
        _ => Kernels::Papers,
    })
}
