//! Forests: a conforming coarse mesh of quadrilaterals or hexahedra, with a quadtree or octree on each of its cells.
//!
//! A [`CoarseMesh`] is given by vertices and cells, by a generator, or by a file of Gmsh. Its cells are the trees of a [`Forest`], whose leaves
//! are the cells of the mesh, sorted by tree and in Morton order within a tree. Leaves that touch, also at a single vertex,
//! differ by one level at most. A [`Numbering`] numbers the nodes of continuous elements on the leaves and has the
//! constraints of hanging nodes.
//!
//! Trees meet in any orientation. No code distinguishes these: a point of a tree is identified by the coarse vertex, edge,
//! face or cell in whose interior it lies and by its coordinates in the own frame of that entity, which all trees agree on.
//! It follows from the global numbers of the vertices.
//!
//! ```
//! use patchmg::forest::{Adaptation, CoarseMesh, Forest, Numbering};
//!
//! # fn main() -> patchmg::Result<()> {
//! let forest = Forest::new(CoarseMesh::ball(1.0)?).refine_uniformly(1)?;
//! let mut flags = vec![Adaptation::Keep; forest.leaves().len()];
//! flags[0] = Adaptation::Refine;
//! let forest = forest.adapt(&flags)?;
//! let numbering = Numbering::new(&forest, 2)?;
//! assert_eq!(forest.leaves().len(), 7 * 8 + 7);
//! assert!(numbering.hanging_nodes() > 0);
//! # Ok(())
//! # }
//! ```
//!
//! Forests as in Burstedde, Wilcox and Ghattas, *SIAM Journal on Scientific Computing* 33 (2011), 1103-1133; linear
//! octrees and their balance as in Sundar, Sampath and Biros, the same journal 30 (2008), 2675-2708.

mod cell;
mod cell_entities;
mod cell_nodes;
mod checks;
mod coarse;
mod constraints;
mod entities;
mod faces;
mod first_visits;
mod generators;
mod gmsh;
mod leaves;
mod locate;
mod manifold;
mod mapping;
mod marking;
mod neighbors;
mod numbering;
mod quadratic;
mod refined;
mod spherical;
#[cfg(test)]
pub(crate) mod tests;

pub use cell::{Cell, max_level};
pub use cell_nodes::{CellNodes, HangingLines};
pub use coarse::CoarseMesh;
pub use constraints::Constraint;
pub use faces::InnerFace;
pub(crate) use faces::Part;
pub use leaves::{Adaptation, Forest};
pub use manifold::Manifold;
pub use mapping::Mapping;
pub use marking::Marking;
pub use numbering::Numbering;
