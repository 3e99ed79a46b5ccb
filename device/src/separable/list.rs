//! The kernels of boxes with sides, and what they take.

#[allow(unused_imports)]
use super::equal::smooth;
use crate::matrices::SidedMatrices;
use crate::patch::Directions;

/// The module's dimension and degree; unknowns of a patch in a direction, and all of its nodes.
#[cfg(target_arch = "nvptx64")]
const DIM: usize = if cfg!(dim = "3") { 3 } else { 2 };
#[cfg(target_arch = "nvptx64")]
const K: usize = crate::entries::SIZE;
#[cfg(target_arch = "nvptx64")]
const M: usize = 2 * K - 1;
#[cfg(target_arch = "nvptx64")]
const N: usize = 2 * K + 1;

/// The same constants of a [`Module`](crate::kernels::Module).
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        sizes!(
            @ $module, $value, (2 1) (2 2) (2 3) (2 4) (2 5) (2 6) (2 7) (2 8) (2 9) (2 10)
            (3 1) (3 2) (3 3) (3 4) (3 5) (3 6) (3 7) (3 8)
        )
    };
    (@ $module:expr, $value:expr, $(($dim:literal $degree:literal))+) => {
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
                $value
            })+
            _ => unreachable!("{:?} is no module of boxes with sides", $module),
        }
    };
}

crate::kernels! {
    by sizes;

    /// `x_I = A_j⁻¹ (b_I - A_IB x_B)` on all patches `j` of a color, where cells of a direction are equal.
    Smooth = smooth::<DIM, K, M, N>[
        /// Those of cells of size 1.
        matrices: SidedMatrices<T, K, M>
    ](
        /// What a thread looks up: the smoother's [`table`](crate::smoother::table_words), and `Sᵀ M 1` behind it.
        table: *const T,
        b: *const T,
        /// Another vector than `b`.
        x: *mut T,
        directions: Directions,
        color: u32,
    ), super::equal::block(DIM, K, size_of::<T>());
}
