//! Errors of a discrete solution against a known one.

use super::fields::{Factors, Solution};
use super::sum_factorization::{Basis, LANES, Lanes, contract, unravel};
use crate::backend::cpu::parallel::try_map;
use crate::error::{Error, Result};
use crate::space::Space;
use glam::DVec3;
use pulp::Arch;

/// Norms of `u_h - u`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorNorms {
    /// `(∫ (u_h - u)²)^(1/2)`.
    pub l2: f64,
    /// `(∫ |∇(u_h - u)|²)^(1/2)`, the seminorm of H1.
    pub h1: f64,
}

/// Norms of `u_h - u`, for `u_h` in storage order, by Gauss's rule of `k + 3` points a direction in each cell.
///
/// # Errors
/// [`Error::SizeMismatch`] unless `u_h` has [`Space::storage`] entries, [`Error::NotFinite`] if a value of `u_h` or of
/// `u` is not finite.
pub fn error_norms(space: &Space, u_h: &[f64], u: &(impl Solution + ?Sized)) -> Result<ErrorNorms> {
    if u_h.len() != space.storage() {
        return Err(Error::SizeMismatch { what: "solution", expected: space.storage(), found: u_h.len() });
    }
    let cells = space.grid().cells as usize;
    let basis = Basis::new(space, space.degree() + 3)?;
    let tables = u.factors().map(|factors| FactorTables::new(space, &basis, factors));
    let pencils = cells.pow(space.dim() as u32 - 1);
    let sums = try_map(pencils, |pencil| {
        let cell = [0, pencil % cells, pencil / cells];
        let sums = Pencil { space, basis: &basis, u_h, cell, arch: Arch::new() }.integrate(u, tables.as_ref());
        match sums.iter().find(|sum| !sum.is_finite()) {
            None => Ok(sums),
            Some(&value) => {
                let place = format!("cells (0..{cells}, {}, {})", cell[1], cell[2]);
                Err(Error::NotFinite { what: "error of the solution", value, place })
            }
        }
    })?;
    let total = sums.iter().fold([0.0; 2], |total, sums| [total[0] + sums[0], total[1] + sums[1]]);
    Ok(ErrorNorms { l2: total[0].sqrt(), h1: total[1].sqrt() })
}

/// Factors of a solution and their derivatives in the quadrature points of a row of cells, for each direction.
struct FactorTables {
    values: [Vec<f64>; 3],
    derivatives: [Vec<f64>; 3],
}

impl FactorTables {
    fn new(space: &Space, basis: &Basis, factors: &dyn Factors) -> Self {
        let cells = space.grid().cells as usize;
        let table = |function: &dyn Fn(usize, f64) -> f64| {
            let points =
                |d| basis.points_in_a_row(cells, space.mesh().cell_size()).map(move |x| function(d, x)).collect();
            [0, 1, 2].map(|d| if d < space.dim() { points(d) } else { vec![] })
        };
        Self {
            values: table(&|d, x| factors.factor(d, x)),
            derivatives: table(&|d, x| factors.factor_derivative(d, x)),
        }
    }

    /// Value and derivatives in quadrature point `q` of cell `cell`.
    #[inline]
    fn at(&self, cell: [usize; 3], q: [usize; 3], points: usize, dim: usize) -> [f64; 4] {
        let index = [0, 1, 2].map(|d| cell[d] * points + q[d]);
        let factor = |table: &[Vec<f64>; 3], d: usize| if d < dim { table[d][index[d]] } else { 1.0 };
        let (f, g) = ([0, 1, 2].map(|d| factor(&self.values, d)), [0, 1, 2].map(|d| factor(&self.derivatives, d)));
        [f[0] * f[1] * f[2], g[0] * f[1] * f[2], f[0] * g[1] * f[2], f[0] * f[1] * g[2]]
    }
}

/// A row of cells in x.
struct Pencil<'a> {
    space: &'a Space,
    basis: &'a Basis,
    u_h: &'a [f64],
    cell: [usize; 3],
    arch: Arch,
}

impl Pencil<'_> {
    /// `∫ (u_h - u)²` and `∫ |∇(u_h - u)|²` over its cells.
    fn integrate(&self, u: &(impl Solution + ?Sized), tables: Option<&FactorTables>) -> [f64; 2] {
        let (dim, h) = (self.space.dim(), self.space.mesh().cell_size());
        let (points, weights) = (&self.basis.rule.points, &self.basis.rule.weights);
        let cells = self.space.grid().cells as usize;
        // Tensor 0 holds values, tensor `d + 1` derivatives in direction `d`.
        let mut tensors = vec![Vec::new()];
        let mut sums = [0.0; 2];
        for x in (0..cells).step_by(LANES) {
            let first_cell = [x, self.cell[1], self.cell[2]];
            tensors.truncate(1);
            self.gather(first_cell, &mut tensors[0]);
            self.evaluate(&mut tensors);
            for index in 0..tensors[0].len() {
                let q = unravel(index, points.len());
                let weight: f64 = (0..dim).map(|d| weights[q[d]]).product();
                for lane in 0..LANES.min(cells) {
                    let cell = [x + lane, first_cell[1], first_cell[2]];
                    let exact = match tables {
                        Some(tables) => tables.at(cell, q, points.len(), dim),
                        None => {
                            let coordinate = |d: usize| if d < dim { (cell[d] as f64 + points[q[d]]) * h } else { 0.0 };
                            let point = DVec3::new(coordinate(0), coordinate(1), coordinate(2));
                            let gradient = u.gradient(point);
                            [u.value(point), gradient.x, gradient.y, gradient.z]
                        }
                    };
                    let squared = |component: usize| (tensors[component][index][lane] - exact[component]).powi(2);
                    sums[0] += weight * squared(0);
                    sums[1] += weight * (1..=dim).map(squared).sum::<f64>();
                }
            }
        }
        sums
    }

    /// Nodal values of up to [`LANES`] cells; zero on lanes that have no cell.
    fn gather(&self, first_cell: [usize; 3], values: &mut Vec<Lanes>) {
        let (dim, k) = (self.space.dim(), self.space.degree());
        let lanes = LANES.min(self.space.grid().cells as usize);
        values.clear();
        for index in 0..(k + 1).pow(dim as u32) {
            let local = unravel(index, k + 1);
            let first = self.space.offset([0, 1, 2].map(|d| first_cell[d] * k + local[d]));
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..lanes].iter_mut().enumerate() {
                *entry = self.u_h[first + lane * k];
            }
            values.push(entry);
        }
    }

    /// From nodal values to values and derivatives in quadrature points, one direction after the other.
    fn evaluate(&self, tensors: &mut Vec<Vec<Lanes>>) {
        for mode in 0..self.space.dim() {
            let stride = self.basis.rule.points.len().pow(mode as u32);
            let apply = |table, input: &[Lanes]| {
                let mut output = Vec::new();
                contract(self.arch, table, stride, input, &mut output);
                output
            };
            let derivative = apply(&self.basis.derivatives, &tensors[0]);
            for tensor in tensors.iter_mut() {
                *tensor = apply(&self.basis.values, tensor);
            }
            tensors.push(derivative);
        }
    }
}
