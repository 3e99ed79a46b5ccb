//! The laboratory of [`patchmg`]: suites of experiments with their pictures and pages, comparisons of two runs, what is
//! known of a GPU kernel without a GPU, and GPU kernels compiled in other ways.

pub mod commands;
pub mod compare;
pub mod inspect;
pub mod modules;
pub mod panels;
pub mod suite;

/// Makes the papers' GPU kernels known to [`patchmg`].
pub fn add_paper_kernels() {
    #[cfg(feature = "cuda")]
    patchmg::backend::cuda::add_modules(patchmg_paper_kernels::MODULES);
}
