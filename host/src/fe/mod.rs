//! One-dimensional finite elements: quadrature, Lagrange bases, matrices of a cell and of a patch, eigenpairs.
//!
//! Everything lives on the reference cell `[0, 1]`; a [space](crate::space) scales it to a mesh. A cell is symmetric
//! about its middle, and every matrix here is centrosymmetric to the last bit, because kernels rely on it.

mod eigen;
mod element;
mod quadrature;

pub use eigen::{Eigenpairs, generalized_eigenpairs, symmetric_eigenpairs};
pub use element::{Element, MAX_DEGREE, assemble};
pub use quadrature::{Quadrature, gauss_lobatto_points};
