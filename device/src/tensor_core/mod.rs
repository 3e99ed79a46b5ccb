//! Poisson's operator of discontinuous elements, and the solution on patches, as products of small matrices (paper 4): on
//! tensor cores, and on CUDA cores to compare with.
//!
//! A kernel works on boxes of `N` nodes a direction, one a block of threads: cells (`N = k + 1`) or patches
//! (`N = 2(k + 1)`, figure 1). It takes the box's dense 1D matrices. With `M` and `L` (the form (2) in one direction, the
//! box's faces included) `A = L ⊗ M ⊗ M + M ⊗ L ⊗ M + M ⊗ M ⊗ L` (equation 9) is seven contractions:
//!
//! ```text
//! a = M_x u,  b = L_x u;    c = M_y a,  d = L_y a + M_y b;    y = L_z c + M_z d
//! ```
//!
//! What a neighbour adds is of rank two in a face's direction: with the value `v` and the half normal derivative `g` on
//! the face, `n_t v + δ_t0 (g - σ v)` to node `t` from the face on. Both faces of a direction together are a product with
//! four columns more, so that every face is one step of the same products, and none is summed up by atomics. The
//! traces of y- and z-faces are planes that are contracted with `M` in the directions before, as the nodes are.
//!
//! [`contract`](contract::Contraction) is the contraction, [`Engine`](contract::Engine) who does it.

pub mod contract;
pub mod contractions;
pub mod fma;
pub mod list;
pub mod matrix;
pub mod operator;
pub mod range;
pub mod solve;
pub mod staging;
pub mod stored;
pub mod tile;
pub mod wmma;

/// Nodes of a box in one direction that there are kernels for.
pub const NODES: core::ops::RangeInclusive<usize> = 2..=18;
/// The most of them.
pub const MOST_NODES: usize = *NODES.end();
/// Traces that a line of nodes couples with: behind its lower face a value and what acts on the node at the face, then
/// behind its upper one.
pub const TRACES: usize = 4;
