//! Placeholder until the kernels are here.
use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};
/// Shape of the restriction on a block.
pub const fn restrict_shape(dim: usize, degree: usize) -> Shape {
    let columns = columns(dim, patch_nodes(degree).1);
    Shape { columns, patches: patches_per_block(columns), words: 0, barriers: 0 }
}
/// Shape of the prolongation on a block.
pub const fn prolongate_shape(dim: usize, degree: usize) -> Shape {
    restrict_shape(dim, degree)
}
