//! `-Δ` in one direction and in all: 1D matrices and eigenpairs as kernels take them.

mod continuous;
mod discontinuous;

use crate::error::Result;
use crate::memory;
use crate::mesh::Mesh;
use crate::space::Space;
pub use continuous::{ContinuousForm, ContinuousForms};
pub use discontinuous::{DiscontinuousForm, DiscontinuousForms};
use nalgebra::DMatrix;
use patchmg_device::scalar::Real;

/// The different sizes of a mesh's cells, and which of them each direction has.
fn distinct(mesh: &Mesh) -> (Vec<f64>, [usize; 3]) {
    let (mut sizes, mut of_direction) = (Vec::new(), [0; 3]);
    for (of_direction, size) in of_direction.iter_mut().zip(&mesh.cell_sizes()[..mesh.dim()]) {
        *of_direction = sizes.iter().position(|known| known == size).unwrap_or(sizes.len());
        if *of_direction == sizes.len() {
            sizes.push(*size);
        }
    }
    (sizes, of_direction)
}

/// Those of [`patchmg_device::matrices::Scaled`], of matrices of cells of a size: `(h_0 h_1 [h_2]) / h_d²` over that size to the
/// power `dim - 2`.
fn factors(mesh: &Mesh, size: f64) -> [f64; 3] {
    let sizes = mesh.cell_sizes();
    let volume: f64 = sizes[..mesh.dim()].iter().product();
    sizes.map(|h| volume / (h * h) / size.powi(mesh.dim() as i32 - 2))
}

/// `1 / (c_0 v_0[i] + c_1 v_1[j] [+ c_2 v_2[l]] + s)`, the first index fastest.
pub(crate) fn inverse_sums<'a>(terms: impl Iterator<Item = (f64, &'a [f64])>, shift: f64) -> impl Iterator<Item = f64> {
    let terms: Vec<_> = terms.collect();
    let count = terms.iter().map(|(_, values)| values.len()).product();
    (0..count).map(move |mut index: usize| {
        let mut sum = shift;
        for (factor, values) in &terms {
            sum += factor * values[index % values.len()];
            index /= values.len();
        }
        1.0 / sum
    })
}

/// `1 / A_ii` for every unknown of a space, in storage order, from the entries `(M_ii, A_ii)` of the 1D matrices of each
/// direction; other entries are zero.
fn inverse_diagonal<T: Real>(space: &Space, lines: &[Vec<(f64, f64)>]) -> Result<Vec<T>> {
    let mut inverse: Vec<T> = memory::zeros(space.storage())?;
    for node in space.unknowns() {
        // `A_ii` of one direction more: its stiffness times the mass so far, and its mass times the stiffness so far.
        let add = |(m, s): (f64, f64), (line, node): (&Vec<(f64, f64)>, usize)| {
            let (mass, stiffness) = line[node];
            (mass * m, stiffness * m + mass * s)
        };
        let (_, entry) = lines.iter().zip(node).fold((1.0, 0.0), add);
        inverse[space.offset(node)] = T::from_f64(1.0 / entry);
    }
    Ok(inverse)
}

fn entries(matrix: &DMatrix<f64>) -> impl Fn(usize, usize) -> f64 {
    |i, j| matrix[(i, j)]
}

/// `sum_d factors[d] (.. M ⊗ A ⊗ M ..)`, x fastest, of matrices `(M, A)` in each direction.
#[cfg(test)]
fn operator(matrices: &[(DMatrix<f64>, DMatrix<f64>)], factors: [f64; 3]) -> DMatrix<f64> {
    let (mut operator, mut mass) = (DMatrix::zeros(1, 1), DMatrix::identity(1, 1));
    for ((m, a), factor) in matrices.iter().zip(factors) {
        operator = a.kronecker(&mass) * factor + m.kronecker(&operator);
        mass = m.kronecker(&mass);
    }
    operator
}
