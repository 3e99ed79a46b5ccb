//! Errors of a discrete solution against a known one.

use super::fields::{ExactSolution, Factors};
use super::sum_factorization::{Basis, LANES, Lanes, contract, unravel};
use crate::backend::cpu::parallel::try_map;
use crate::error::{Error, Result};
use crate::space::Space;
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
pub fn error_norms(space: &Space, u_h: &[f64], u: &(impl ExactSolution + ?Sized)) -> Result<ErrorNorms> {
    space.check_storage("solution", u_h.len())?;
    let cells = space.mesh().cells_per_direction() as usize;
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

/// Factors of a solution and their derivatives in the quadrature points of a row of cells, for each direction; in 2D the
/// third factor is 1.
struct FactorTables {
    values: [Vec<f64>; 3],
    derivatives: [Vec<f64>; 3],
}

impl FactorTables {
    fn new(space: &Space, basis: &Basis, factors: &dyn Factors) -> Self {
        let cells = space.mesh().cells_per_direction() as usize;
        let table = |function: &dyn Fn(usize, f64) -> f64| {
            let points = |d| basis.points_in_a_row(cells).map(move |x| function(d, x)).collect();
            [0, 1, 2].map(|d| if d < space.dim() { points(d) } else { vec![1.0] })
        };
        Self {
            values: table(&|d, x| factors.factor(d, x)),
            derivatives: table(&|d, x| factors.factor_derivative(d, x)),
        }
    }

    /// Value and derivatives in quadrature point `q` of `lanes` cells in x from `first_cell` on.
    fn at(&self, first_cell: [usize; 3], q: [usize; 3], points: usize, lanes: usize) -> [Lanes; 4] {
        let factor = |table: &[Vec<f64>; 3], d: usize| table[d][first_cell[d] * points + q[d]];
        let (y, z) = (factor(&self.values, 1), factor(&self.values, 2));
        let (dy, dz) = (factor(&self.derivatives, 1), factor(&self.derivatives, 2));
        let along_x = |table: &[Vec<f64>; 3]| -> Lanes {
            let at = |lane| if lane < lanes { table[0][(first_cell[0] + lane) * points + q[0]] } else { 0.0 };
            std::array::from_fn(at)
        };
        let (x, dx) = (along_x(&self.values), along_x(&self.derivatives));
        [x.map(|x| x * y * z), dx.map(|dx| dx * y * z), x.map(|x| x * dy * z), x.map(|x| x * y * dz)]
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
    fn integrate(&self, u: &(impl ExactSolution + ?Sized), tables: Option<&FactorTables>) -> [f64; 2] {
        let (dim, weights) = (self.space.dim(), &self.basis.rule.weights);
        let (cells, points) = (self.space.mesh().cells_per_direction() as usize, weights.len());
        // Tensor 0 holds values, tensor `d + 1` derivatives in direction `d`.
        let mut tensors = vec![Vec::new()];
        let mut sums = [0.0; 2];
        for x in (0..cells).step_by(LANES) {
            let first_cell = [x, self.cell[1], self.cell[2]];
            tensors.truncate(1);
            self.gather(first_cell, &mut tensors[0]);
            self.evaluate(&mut tensors);
            for index in 0..points.pow(dim as u32) {
                let q = unravel(index, points);
                let weight: f64 = (0..dim).map(|d| weights[q[d]]).product();
                let exact = match tables {
                    Some(tables) => tables.at(first_cell, q, points, LANES.min(cells)),
                    None => self.sample(u, first_cell, q),
                };
                for (component, (tensor, exact)) in tensors.iter().zip(&exact).enumerate() {
                    let squares: f64 = tensor[index].iter().zip(exact).map(|(u_h, u)| (u_h - u).powi(2)).sum();
                    sums[component.min(1)] += weight * squares;
                }
            }
        }
        sums
    }

    /// Value and gradient of the solution in quadrature point `q` of up to [`LANES`] cells; zero on lanes that have none.
    fn sample(&self, u: &(impl ExactSolution + ?Sized), first_cell: [usize; 3], q: [usize; 3]) -> [Lanes; 4] {
        let mut exact = [[0.0; LANES]; 4];
        for lane in 0..LANES.min(self.space.mesh().cells_per_direction() as usize) {
            let point = self.basis.point([first_cell[0] + lane, first_cell[1], first_cell[2]], q);
            let gradient = u.gradient(point);
            for (entry, value) in exact.iter_mut().zip([u.value(point), gradient.x, gradient.y, gradient.z]) {
                entry[lane] = value;
            }
        }
        exact
    }

    /// Nodal values of up to [`LANES`] cells; zero on lanes that have no cell.
    fn gather(&self, first_cell: [usize; 3], values: &mut Vec<Lanes>) {
        let (dim, k, stride) = (self.space.dim(), self.space.degree(), self.space.cell_stride());
        let lanes = LANES.min(self.space.mesh().cells_per_direction() as usize);
        values.clear();
        for index in 0..(k + 1).pow(dim as u32) {
            let local = unravel(index, k + 1);
            let first = self.space.offset([0, 1, 2].map(|d| first_cell[d] * stride + local[d]));
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..lanes].iter_mut().enumerate() {
                *entry = self.u_h[first + lane * stride];
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
