//! Entry points of a module, stamped for both scalars. The names are those of [`crate::kernels::KernelSpec::name`]. Modules of
//! [`kernels!`](crate::kernels!) have theirs by it.

#[cfg(module = "tensor_core")]
mod boxes;
#[cfg(module = "poisson_cg")]
mod continuous;
#[cfg(module = "poisson_dg")]
mod discontinuous;
#[cfg(module = "patch_variants")]
mod variants;
#[cfg(module = "blas1")]
mod vectors;

/// Cells or boxes in each direction; an array is nothing that `extern "C"` takes by value.
#[cfg(any(module = "patch_variants", module = "poisson_cg", module = "poisson_dg", module = "tensor_core"))]
#[repr(C)]
pub struct Counts([u32; 3]);

/// Degree, or nodes of a box, from the builder.
#[allow(dead_code)] // in modules of any size
pub(crate) const SIZE: usize = {
    let text = env!("PATCHMG_SIZE").as_bytes();
    let (mut value, mut i) = (0, 0);
    while i < text.len() {
        value = 10 * value + (text[i] - b'0') as usize;
        i += 1;
    }
    value
};
