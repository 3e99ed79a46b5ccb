//! Right-hand sides, known solutions, load vectors and error norms.

mod boundary;
mod fields;
mod load;
mod norms;
mod product_norms;
mod sampled;
pub(crate) mod sum_factorization;

pub(crate) use boundary::{add_boundary_integrals, side_integrals};
pub use fields::{Constant, CosineProduct, ExactSolution, Factors, Field, SineProduct};
pub use load::{load_points, load_products, load_vector, load_vector_of_values};
pub(crate) use load::{load_vector_by, load_vector_with};
pub use norms::{ErrorNorms, error_norms};
pub(crate) use product_norms::{VECTORS as NORM_VECTORS, product_error_norms};
pub use sampled::SampledLoad;
pub(crate) use sampled::sampled_error_norms;

#[cfg(test)]
mod tests;
