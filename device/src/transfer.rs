//! Transfer between a level and the next coarser one, whose cells are the fine level's patches of color 0.
//!
//! `P` interpolates a coarse cell's polynomial at the nodes of its patch: [`prolongation`]. Its transpose is fused with
//! the residual: [`restriction`]. A smoother that overwrites most of what `P` adds is given the rest: [`edges`]. Boxes with
//! sides have other [`levels`].

pub mod edges;
pub mod levels;
pub mod prolongation;
pub mod restriction;

pub use edges::prolongate_edges;
pub use prolongation::prolongate_add;
pub use restriction::restrict_residual;
