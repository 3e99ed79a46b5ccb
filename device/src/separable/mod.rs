//! `-div(diag(c) ∇u) + s u = f` on boxes with any sides, by continuous elements: operator, transfers and steps of the vertex-patch
//! smoother where cells of a direction are equal, operator and steps where they are [graded].
//!
//! Vectors have all nodes of each direction, also those at both ends and the last one of a period.

/// `$value` with the constants of a [`Module`](crate::kernels::Module): dimension `DIM` and degree `K`. In a direction a patch has `M`
/// unknowns and `N` nodes, and a cell has `C` nodes; `H` is half of `C`, rounded up.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        sizes!(
            @of $module, $value, (2 1) (2 2) (2 3) (2 4) (2 5) (2 6) (2 7) (2 8) (2 9) (2 10)
            (3 1) (3 2) (3 3) (3 4) (3 5) (3 6) (3 7) (3 8)
        )
    };
    (@of $module:expr, $value:expr, $(($dim:literal $degree:literal))+) => {
        match $module.space() {
            $(Some(($dim, $degree)) => {
                #[allow(unused)]
                const DIM: usize = $dim;
                #[allow(unused)]
                const K: usize = $degree;
                #[allow(unused)]
                const M: usize = 2 * K - 1;
                #[allow(unused)]
                const N: usize = 2 * K + 1;
                #[allow(unused)]
                const C: usize = K + 1;
                #[allow(unused)]
                const H: usize = C.div_ceil(2);
                $value
            })+
            _ => unreachable!("{:?} is no module of a box with sides", $module),
        }
    };
}

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod equal;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable_graded"))]
pub mod graded;
#[cfg(not(target_arch = "nvptx64"))]
mod kind;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod list;

#[cfg(not(target_arch = "nvptx64"))]
pub use equal::{
    blocks, longest_restriction_chunk, operator_blocks, prolongation_blocks, restriction_blocks, restriction_classes,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::{Apply, ProlongateAdd, Residual, RestrictResidual, Smooth};

/// The same constants of the module that is compiled.
#[cfg(target_arch = "nvptx64")]
mod sizes {
    pub const DIM: usize = if cfg!(dim = "3") { 3 } else { 2 };
    pub const K: usize = crate::entries::SIZE;
    pub const M: usize = 2 * K - 1;
    pub const N: usize = 2 * K + 1;
    pub const C: usize = K + 1;
    pub const H: usize = C.div_ceil(2);
}
