//! `-div(diag(c) ∇u) + s u = f` on boxes with any sides, by continuous elements: steps of the vertex-patch smoother, where cells of a
//! direction are equal, and where they are [graded].
//!
//! Vectors have all nodes of each direction, also those at both ends and the last one of a period.

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod equal;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable_graded"))]
pub mod graded;
#[cfg(not(target_arch = "nvptx64"))]
mod kind;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod list;

#[cfg(not(target_arch = "nvptx64"))]
pub use equal::blocks;
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::Smooth;
