//! In the tree, compiles the modules; in a package, finds them in `packed/`.

fn main() -> std::process::ExitCode {
    cuda_builder::embed(cuda_builder::Kernels::Papers)
}
