//! Errors of a discrete solution against a known one.

use super::fields::{ExactSolution, Factors};
use super::sum_factorization::{Bases, Basis, LANES, Lanes, cell_nodes, contract, first_nodes, unravel};
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
    let [cells_x, cells_y, cells_z] = space.mesh().cells_along();
    let bases = Bases::new(space, Basis::of_norms)?;
    let tables = u
        .products()
        .map(|terms| terms.iter().map(|factors| FactorTables::new(space, &bases, *factors)).collect::<Vec<_>>());
    // Where a factor overflows, the solution need not.
    let tables = tables.filter(|tables| tables.iter().all(FactorTables::is_finite));
    let sums = try_map(cells_y * cells_z, |pencil| {
        let cell = [0, pencil % cells_y, pencil / cells_y];
        let sums = Pencil { space, bases: &bases, u_h, cell, arch: Arch::new() }.integrate(u, tables.as_deref());
        match sums.iter().find(|sum| !sum.is_finite()) {
            None => Ok(sums),
            Some(&value) => {
                let place = format!("cells (0..{cells_x}, {}, {})", cell[1], cell[2]);
                Err(Error::NotFinite { what: "error of the solution", value, place })
            }
        }
    })?;
    let total = sums.iter().fold([0.0; 2], |total, sums| [total[0] + sums[0], total[1] + sums[1]]);
    Ok(ErrorNorms { l2: total[0].sqrt(), h1: total[1].sqrt() })
}

/// Factors of a product and their derivatives in the quadrature points of a row of cells, for each direction; in 2D the
/// third factor is 1.
struct FactorTables {
    points: [usize; 3],
    values: [Vec<f64>; 3],
    derivatives: [Vec<f64>; 3],
}

impl FactorTables {
    fn new(space: &Space, bases: &Bases, factors: &dyn Factors) -> Self {
        let cells = space.mesh().cells_along();
        let table = |function: &dyn Fn(usize, f64) -> f64| {
            let points = |d: usize, basis: &Basis| basis.points_in_a_row(cells[d]).map(|x| function(d, x)).collect();
            [0, 1, 2].map(|d| bases.0.get(d).map_or_else(|| vec![1.0], |basis| points(d, basis)))
        };
        Self {
            points: bases.points(),
            values: table(&|d, x| factors.factor(d, x)),
            derivatives: table(&|d, x| factors.factor_derivative(d, x)),
        }
    }

    fn is_finite(&self) -> bool {
        self.values.iter().chain(&self.derivatives).flatten().all(|value| value.is_finite())
    }

    /// Value and derivatives in quadrature point `q` of `lanes` cells in x from `first_cell` on.
    fn at(&self, first_cell: [usize; 3], q: [usize; 3], lanes: usize) -> [Lanes; 4] {
        let index = |d: usize, lane: usize| (first_cell[d] + lane) * self.points[d] + q[d];
        let factor = |table: &[Vec<f64>; 3], d: usize| table[d][index(d, 0)];
        let (y, z) = (factor(&self.values, 1), factor(&self.values, 2));
        let (dy, dz) = (factor(&self.derivatives, 1), factor(&self.derivatives, 2));
        let along_x = |table: &[Vec<f64>; 3]| -> Lanes {
            std::array::from_fn(|lane| if lane < lanes { table[0][index(0, lane)] } else { 0.0 })
        };
        let (x, dx) = (along_x(&self.values), along_x(&self.derivatives));
        [x.map(|x| x * y * z), dx.map(|dx| dx * y * z), x.map(|x| x * dy * z), x.map(|x| x * y * dz)]
    }
}

/// A row of cells in x.
struct Pencil<'a> {
    space: &'a Space,
    bases: &'a Bases,
    u_h: &'a [f64],
    cell: [usize; 3],
    arch: Arch,
}

impl Pencil<'_> {
    /// `∫ (u_h - u)²` and `∫ |∇(u_h - u)|²` over its cells.
    fn integrate(&self, u: &(impl ExactSolution + ?Sized), tables: Option<&[FactorTables]>) -> [f64; 2] {
        let (cells, points) = (self.space.mesh().cells_along()[0], self.bases.points());
        // Tensor 0 holds values, tensor `d + 1` derivatives in direction `d`.
        let mut tensors = vec![Vec::new()];
        let mut sums = [0.0; 2];
        for x in (0..cells).step_by(LANES) {
            let (first_cell, lanes) = ([x, self.cell[1], self.cell[2]], LANES.min(cells - x));
            tensors.truncate(1);
            self.gather(first_cell, lanes, &mut tensors[0]);
            self.evaluate(&mut tensors);
            let (sizes, slopes) = self.factors(first_cell, lanes);
            for index in 0..points.iter().product() {
                let q = unravel(index, points);
                let weight: f64 = self.bases.0.iter().zip(q).map(|(basis, q)| basis.rule.weights[q]).product();
                let exact = match tables {
                    Some(tables) => tables.iter().fold([[0.0; LANES]; 4], |mut sums, table| {
                        let terms = table.at(first_cell, q, lanes);
                        sums.iter_mut().flatten().zip(terms.iter().flatten()).for_each(|(sum, term)| *sum += term);
                        sums
                    }),
                    None => self.sample(u, first_cell, lanes, q),
                };
                for (component, (tensor, exact)) in tensors.iter().zip(&exact).enumerate() {
                    let pairs = tensor[index].iter().zip(exact).zip(slopes[component].iter().zip(&sizes));
                    let squares: f64 = pairs.map(|((u_h, u), (slope, size))| size * (slope * u_h - u).powi(2)).sum();
                    sums[component.min(1)] += weight * squares;
                }
            }
        }
        sums
    }

    /// Of `lanes` cells: what weights are to be multiplied by, and what each of the tensors.
    fn factors(&self, first_cell: [usize; 3], lanes: usize) -> (Lanes, [Lanes; 4]) {
        let (mut sizes, mut slopes) = ([0.0; LANES], [[1.0; LANES]; 4]);
        for (lane, size) in sizes[..lanes].iter_mut().enumerate() {
            let cell = [first_cell[0] + lane, first_cell[1], first_cell[2]];
            let factors = [0, 1, 2].map(|d| self.bases.factor(cell, d));
            *size = factors.iter().product();
            (0..3).for_each(|d| slopes[d + 1][lane] = 1.0 / factors[d]);
        }
        (sizes, slopes)
    }

    /// Value and gradient of the solution in quadrature point `q` of `lanes` cells; zero on the other lanes.
    fn sample(
        &self,
        u: &(impl ExactSolution + ?Sized),
        first_cell: [usize; 3],
        lanes: usize,
        q: [usize; 3],
    ) -> [Lanes; 4] {
        let mut exact = [[0.0; LANES]; 4];
        for lane in 0..lanes {
            let point = self.bases.point([first_cell[0] + lane, first_cell[1], first_cell[2]], q);
            let gradient = u.gradient(point);
            for (entry, value) in exact.iter_mut().zip([u.value(point), gradient.x, gradient.y, gradient.z]) {
                entry[lane] = value;
            }
        }
        exact
    }

    /// Nodal values of `lanes` cells; zero on the other lanes.
    fn gather(&self, first_cell: [usize; 3], lanes: usize, values: &mut Vec<Lanes>) {
        let (nodes, first) = (cell_nodes(self.space), first_nodes(self.space, first_cell));
        let stride = self.space.axes()[0].stride();
        values.clear();
        for index in 0..nodes.iter().product() {
            let local = unravel(index, nodes);
            let offset = self.space.offset([0, 1, 2].map(|d| first[d] + local[d]));
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..lanes].iter_mut().enumerate() {
                *entry = self.u_h[offset + lane * stride];
            }
            values.push(entry);
        }
    }

    /// From nodal values to values and derivatives in quadrature points, one direction after the other.
    fn evaluate(&self, tensors: &mut Vec<Vec<Lanes>>) {
        let points = self.bases.points();
        for (mode, basis) in self.bases.0.iter().enumerate() {
            let stride = points[..mode].iter().product();
            let apply = |table, input: &[Lanes]| {
                let mut output = Vec::new();
                contract(self.arch, table, stride, input, &mut output);
                output
            };
            let derivative = apply(&basis.derivatives, &tensors[0]);
            for tensor in tensors.iter_mut() {
                *tensor = apply(&basis.values, tensor);
            }
            tensors.push(derivative);
        }
    }
}
