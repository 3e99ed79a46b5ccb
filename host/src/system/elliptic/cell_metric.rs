//! The metric of cells, and whether it is the same at all of their points.

#[cfg(feature = "cuda")]
use super::Elliptic;
use super::equation::Equation;
use super::metric::{Geometry, Place, words};
#[cfg(feature = "cuda")]
use crate::backend::cpu::parallel::try_map_chunks;
use crate::backend::{Scalar, unit_roundoff};
use crate::error::Result;
#[cfg(feature = "cuda")]
use crate::memory;
use glam::DMat3;
#[cfg(feature = "cuda")]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The metric of a mesh where that of each cell is the same at all points but for their weights.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub(super) struct ConstantMetric<T> {
    /// [`words`] at the first Gauss point of each cell.
    pub at_first_points: Vec<T>,
    /// As [`CellOperator::is_diagonal`](super::level::CellOperator::is_diagonal).
    pub is_diagonal: bool,
}

#[cfg(feature = "cuda")]
impl<T: Scalar> ConstantMetric<T> {
    /// None if a cell has another, or if it changes: found without memory for the metric of all points.
    pub fn of(system: &Elliptic) -> Result<Option<Self>> {
        let Elliptic { equation, mesh, .. } = system;
        if equation.flux.is_some() {
            return Ok(None);
        }
        let (dim, words) = (mesh.dim(), words(mesh.dim()));
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let holds = AtomicBool::new(true);
        let mut at_first_points: Vec<T> = memory::zeros(words * mesh.cells().cells())?;
        let at_points = || vec![T::ZERO; words * mesh.cells().nodes_a_cell()];
        let of_cell = |at_points: &mut Vec<T>, cell: usize, at_first: &mut [T]| -> Result<bool> {
            if !holds.load(Relaxed) {
                return Ok(false);
            }
            let [is_constant, is_diagonal] = set_metric_of(equation, &geometry, dim, cell, at_points)?;
            if !is_constant {
                holds.store(false, Relaxed);
            }
            at_first.copy_from_slice(&at_points[..words]);
            Ok(is_diagonal)
        };
        let are_diagonal = try_map_chunks(&mut at_first_points, words, at_points, of_cell)?;
        let is_diagonal = are_diagonal.into_iter().all(|is_diagonal| is_diagonal);
        Ok(holds.into_inner().then_some(Self { at_first_points, is_diagonal }))
    }
}

/// As [`set_metric`], of the coefficients of a linear equation.
pub(super) fn set_metric_of<T: Scalar>(
    equation: &Equation,
    geometry: &Geometry,
    dim: usize,
    cell: usize,
    metric: &mut [T],
) -> Result<[bool; 2]> {
    let kappa = |_, place: &Place| equation.diffusion.at(dim, place.point);
    set_metric(geometry, dim, equation.reaction, cell, metric, kappa)
}

/// Sets the [`words`] of a cell, of a coefficient at its Gauss points; whether they are the same at all but for their weights, and
/// whether the tensor is diagonal.
///
/// # Errors
/// Those of the coefficient, and that the cell is inverted.
pub(super) fn set_metric<T: Scalar>(
    geometry: &Geometry,
    dim: usize,
    reaction: f64,
    cell: usize,
    metric: &mut [T],
    kappa: impl Fn(usize, &Place) -> Result<DMat3>,
) -> Result<[bool; 2]> {
    let map = geometry.map(cell);
    let rounding = unit_roundoff::<T>().max(map.rounding);
    let (mut constant, mut is_diagonal) = (Constant::new(rounding), true);
    // Of the point before, which in many cells has the same.
    let mut last: Option<[DMat3; 3]> = None;
    geometry.for_each_point_of(&map, |q, place| {
        let (jacobian, kappa) = (place.jacobian, kappa(q, &place)?);
        let known = last.filter(|[of, with, _]| *of == jacobian && *with == kappa);
        let pulled_back = known.map_or_else(
            || {
                let inverse = jacobian.inverse();
                inverse * kappa * inverse.transpose()
            },
            |[_, _, pulled_back]| pulled_back,
        );
        last = Some([jacobian, kappa, pulled_back]);
        let tensor = pulled_back * place.weight;
        let [x, y, z] = [tensor.x_axis, tensor.y_axis, tensor.z_axis];
        let mass = reaction * place.weight;
        let values = if dim == 2 { [x.x, x.y, y.y, mass, 0.0, 0.0, 0.0] } else { [x.x, x.y, y.y, x.z, y.z, z.z, mass] };
        let metric = &mut metric[words(dim) * q..][..words(dim)];
        metric.iter_mut().zip(values).for_each(|(to, word)| *to = T::from_f64(word));
        if known.is_none() {
            constant.compare(metric, place.gauss_weight);
            is_diagonal &= is_diagonal_at(dim, metric, rounding);
        }
        Ok(())
    })?;
    Ok([constant.holds, is_diagonal])
}

/// Whether a tensor, its lower triangle by rows, has no entries beside the diagonal, as far as rounding shows.
fn is_diagonal_at<T: Scalar>(dim: usize, tensor: &[T], rounding: f64) -> bool {
    let entry = |i: usize, j: usize| tensor[i * (i + 1) / 2 + j].to_f64();
    let is_zero = |i: usize, j: usize| entry(i, j).abs() <= 32.0 * rounding * (entry(i, i) * entry(j, j)).sqrt();
    (0..dim).all(|i| (0..i).all(|j| is_zero(i, j)))
}

/// Whether the metric of a cell is the same at all points but for their weights, as far as rounding shows.
struct Constant {
    tolerance: f64,
    /// At the first point, over its weight.
    first: Option<[f64; 7]>,
    holds: bool,
}

impl Constant {
    /// With what rounding changes of a word, relative to the largest.
    fn new(rounding: f64) -> Self {
        Self { tolerance: 32.0 * rounding, first: None, holds: true }
    }

    fn compare<T: Scalar>(&mut self, words: &[T], weight: f64) {
        if !self.holds {
            return;
        }
        let mut own = [0.0; 7];
        own.iter_mut().zip(words).for_each(|(own, word)| *own = word.to_f64() / weight);
        let first = self.first.get_or_insert(own);
        let largest = first.iter().fold(0.0_f64, |largest, word| largest.max(word.abs()));
        self.holds = first.iter().zip(own).all(|(first, word)| (word - first).abs() <= self.tolerance * largest);
    }
}
