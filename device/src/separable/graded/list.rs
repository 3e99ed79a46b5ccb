//! The kernels of graded boxes, and what they take.

#[allow(unused_imports)]
use super::smooth::smooth;
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
            @ $module, $value, (2 1) (2 2) (2 3) (2 4) (3 1) (3 2) (3 3) (3 4)
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
            _ => unreachable!("{:?} is no module of graded boxes", $module),
        }
    };
}

crate::kernels! {
    by sizes;

    /// `x_I = A_j⁻¹ (b_I - A_IB x_B)` on all patches `j` of a color.
    Smooth = smooth::<DIM, K, M, N>(
        /// A [`PatchTable`](super::PatchTable) for each number.
        tables: *const T,
        /// Where in them the table of each patch begins: along x, then along y, then along z.
        starts: *const u32,
        b: *const T,
        /// Another vector than `b`.
        x: *mut T,
        directions: Directions,
        color: u32,
    ), super::smooth::block(DIM, K, size_of::<T>());
}
