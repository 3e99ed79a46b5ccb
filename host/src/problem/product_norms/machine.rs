//! On a machine: matrices along axes, sums of outer products and two dot products.

use super::super::fields::Factors;
use super::super::norms::{ErrorNorms, check_finite};
use super::super::sum_factorization::{Bases, Basis};
use super::{Along, Difference};
use crate::backend::{Backend, Tensors};
use crate::error::Result;
use crate::space::Space;

/// Vectors of the space in `f64` that [`product_error_norms`] takes on the machine, with the one that it is given.
pub(crate) const VECTORS: usize = 4;

/// Norms of `u_h - u` for `u_h` in storage order on a machine, whose vector is overwritten, and `u` by its products; none if one of
/// their integrals is not finite, as where a factor overflows.
///
/// # Errors
/// [`NotFinite`](crate::Error::NotFinite) if a value of `u_h` is not finite; those of the machine.
pub(crate) fn product_error_norms<B: Backend>(
    backend: &B,
    space: &Space,
    mut u_h: B::Vector<f64>,
    u: &[&dyn Factors],
) -> Result<Option<ErrorNorms>> {
    let bases = Bases::new(space, Basis::of_norms)?;
    let axes = Along::each(space, &bases, u);
    let Some(difference) = Difference::new(space, &axes)? else { return Ok(None) };
    backend.outer_products(&difference.minus_interpolant, &mut u_h, true)?;
    let e = u_h;

    let dim = space.dim();
    let nodes = space.stored_nodes();
    let place = |direction| Tensors::across(&nodes[..dim], direction);
    let matrices = |kind: usize| -> Result<Vec<_>> {
        axes.iter().map(|along| backend.axis_matrix::<f64>(&along.matrix(kind))).collect()
    };
    let (mass, stiffness) = (matrices(0)?, matrices(1)?);
    let apply = |matrix: &[B::AxisMatrix<f64>], d: usize, x: &_, y: &mut _, add| {
        backend.apply_along_axis(&matrix[d], place(d), x, y, add)
    };
    let vector = || backend.zeros::<f64>(space.storage());
    let (mut a, mut b) = (vector()?, vector()?);
    // What values and gradients have in common is computed once: 8 matrices in 3D, where a product for each term takes 12.
    let sums = if dim == 2 {
        apply(&mass, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut b, false)?;
        let values = difference.integral(backend, 0, &e, &mut b)?;
        apply(&stiffness, 1, &a, &mut b, false)?;
        apply(&stiffness, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut b, true)?;
        [values, difference.integral(backend, 1, &e, &mut b)?]
    } else {
        let mut c = vector()?;
        apply(&mass, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut c, false)?;
        apply(&mass, 2, &c, &mut b, false)?;
        let values = difference.integral(backend, 0, &e, &mut b)?;
        apply(&stiffness, 2, &c, &mut b, false)?;
        apply(&stiffness, 1, &a, &mut c, false)?;
        apply(&stiffness, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut c, true)?;
        apply(&mass, 2, &c, &mut b, true)?;
        [values, difference.integral(backend, 1, &e, &mut b)?]
    };
    let sums = check_finite(sums, || "the sum over all cells".into())?;
    Ok(Some(ErrorNorms::from_squares(sums)))
}

impl Difference {
    /// `eᵀ (y + 2 g) + c` for values (`kind` 0) or gradients (1), where `y = M e` is overwritten.
    fn integral<B: Backend>(
        &self,
        backend: &B,
        kind: usize,
        e: &B::Vector<f64>,
        y: &mut B::Vector<f64>,
    ) -> Result<f64> {
        backend.outer_products(&self.twice_loads[kind], y, true)?;
        Ok(backend.dot(e, y)? + self.squares[kind])
    }
}
