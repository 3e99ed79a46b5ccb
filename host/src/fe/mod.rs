//! One-dimensional finite elements: quadrature, Lagrange bases, matrices of a cell and of a patch, eigenpairs.
//!
//! Everything lives on the reference cell `[0, 1]`; a [space](crate::space) scales it to a mesh. A cell is symmetric
//! about its middle, and every matrix here is centrosymmetric to the last bit, because kernels rely on it. Stiffness matrices
//! have constants exactly in their [null space](with_zero_row_sums).

mod eigen;
mod element;
mod null_space;
mod quadrature;

pub use eigen::{Eigenpairs, generalized_eigenpairs, symmetric_eigenpairs};
pub(crate) use element::assemble_multiples;
pub use element::{Element, MAX_DEGREE, assemble};
#[cfg(test)]
pub(crate) use null_space::cancel_in_any_order;
pub use null_space::{FixedPoint, stiffness_with_zero_row_sums, with_zero_row_sums};
pub(crate) use null_space::{largest_row_sum, stiffness_fixed_point, stiffness_in_fixed_point};
pub use quadrature::{Quadrature, gauss_lobatto_points};
