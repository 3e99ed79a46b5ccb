//! Errors of a discrete solution against a known one.

use super::fields::{ExactSolution, Factors};
use super::sum_factorization::{Bases, Basis, LANES, Lanes, cell_nodes, contract, first_nodes, unravel};
use crate::backend::cpu::parallel::try_map;
use crate::error::{Error, Result};
use crate::space::Space;
use pulp::{Arch, NullaryFnOnce};

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
    let weights = bases.weights();
    let sums = try_map(cells_y * cells_z, |pencil| {
        let cell = [0, pencil % cells_y, pencil / cells_y];
        let pencil = Pencil { space, bases: &bases, weights: &weights, u_h, cell, arch: Arch::new() };
        let sums = pencil.integrate(u, tables.as_deref());
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
    /// Along x, for each [`LANES`] cells one point after the other; zero on lanes without a cell.
    x: [Vec<Lanes>; 2],
    /// Along y and z.
    others: [[Vec<f64>; 2]; 2],
}

impl FactorTables {
    fn new(space: &Space, bases: &Bases, factors: &dyn Factors) -> Self {
        let (cells, points) = (space.mesh().cells_along(), bases.points());
        let tables = |d: usize| {
            let table = |function: &dyn Fn(usize, f64) -> f64| {
                let of_axis = |basis: &Basis| basis.points_in_a_row(cells[d]).map(|x| function(d, x)).collect();
                bases.0.get(d).map_or_else(|| vec![1.0], of_axis)
            };
            [table(&|d, x| factors.factor(d, x)), table(&|d, x| factors.factor_derivative(d, x))]
        };
        let by_lanes = |table: Vec<f64>| {
            let entry = |cell: usize, q: usize| table.get(cell * points[0] + q).copied().unwrap_or_default();
            let of_cells = |first: usize| {
                (0..points[0]).map(move |q| std::array::from_fn(|lane| entry(first + lane, q))).collect::<Vec<Lanes>>()
            };
            (0..cells[0]).step_by(LANES).flat_map(of_cells).collect()
        };
        Self { points, x: tables(0).map(by_lanes), others: [tables(1), tables(2)] }
    }

    fn is_finite(&self) -> bool {
        let others = self.others.iter().flatten().flatten();
        self.x.iter().flatten().flatten().chain(others).all(|value| value.is_finite())
    }

    /// Adds value and derivatives in the quadrature points of cells in x from `first_cell` on.
    fn add(&self, arch: Arch, first_cell: [usize; 3], exact: &mut [Vec<Lanes>]) {
        let [x, y, z] = [first_cell[0] / LANES, first_cell[1], first_cell[2]];
        let [points_x, points_y, points_z] = self.points;
        arch.dispatch(AddProduct {
            x: self.x.each_ref().map(|table| &table[x * points_x..][..points_x]),
            y: self.others[0].each_ref().map(|table| &table[y * points_y..][..points_y]),
            z: self.others[1].each_ref().map(|table| &table[z * points_z..][..points_z]),
            exact,
        });
    }
}

/// Adds a product and its derivatives in the points of cells: values and derivatives of the factors are given.
struct AddProduct<'a> {
    x: [&'a [Lanes]; 2],
    y: [&'a [f64]; 2],
    z: [&'a [f64]; 2],
    exact: &'a mut [Vec<Lanes>],
}

impl NullaryFnOnce for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (component, exact) in self.exact.iter_mut().enumerate() {
            // Component `d + 1` is the derivative in direction `d`.
            let derived = [1, 2, 3].map(|of| usize::from(component == of));
            let (x, y, z) = (self.x[derived[0]], self.y[derived[1]], self.z[derived[2]]);
            let rows = z.iter().flat_map(|z| y.iter().map(move |y| y * z));
            for (factor, exact) in rows.zip(exact.chunks_exact_mut(x.len())) {
                for (sums, x) in exact.iter_mut().zip(x) {
                    for lane in 0..LANES {
                        sums[lane] += x[lane] * factor;
                    }
                }
            }
        }
    }
}

/// Adds squares of errors: of values, and of derivatives.
struct AddSquares<'a> {
    /// Of each point.
    weights: &'a [f64],
    /// Of each cell: what weights are multiplied by, and each of the tensors.
    factors: &'a (Lanes, [Lanes; 4]),
    /// Values and derivatives, as in [`Pencil::integrate`].
    tensors: &'a [Vec<Lanes>],
    exact: &'a [Vec<Lanes>],
    sums: &'a mut [Lanes; 2],
}

impl NullaryFnOnce for AddSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { weights, factors: (sizes, slopes), tensors, exact, sums } = self;
        for (component, ((tensor, exact), slopes)) in tensors.iter().zip(exact).zip(slopes).enumerate() {
            let mut own = [0.0; LANES];
            for ((tensor, exact), weight) in tensor.iter().zip(exact).zip(weights) {
                for lane in 0..LANES {
                    let error = slopes[lane] * tensor[lane] - exact[lane];
                    own[lane] += weight * (error * error);
                }
            }
            let sums = &mut sums[component.min(1)];
            (0..LANES).for_each(|lane| sums[lane] += sizes[lane] * own[lane]);
        }
    }
}

/// A row of cells in x.
struct Pencil<'a> {
    space: &'a Space,
    bases: &'a Bases,
    /// Of the quadrature points of a cell.
    weights: &'a [f64],
    u_h: &'a [f64],
    cell: [usize; 3],
    arch: Arch,
}

impl Pencil<'_> {
    /// `∫ (u_h - u)²` and `∫ |∇(u_h - u)|²` over its cells.
    fn integrate(&self, u: &(impl ExactSolution + ?Sized), tables: Option<&[FactorTables]>) -> [f64; 2] {
        let (cells, points) = (self.space.mesh().cells_along()[0], self.bases.points());
        // Tensor 0 holds values, tensor `d + 1` derivatives in direction `d`.
        let (mut tensors, mut spare) = (vec![Vec::new()], Vec::new());
        let mut exact = vec![vec![[0.0; LANES]; self.weights.len()]; 1 + self.space.dim()];
        let mut sums = [[0.0; LANES]; 2];
        for x in (0..cells).step_by(LANES) {
            let (first_cell, lanes) = ([x, self.cell[1], self.cell[2]], LANES.min(cells - x));
            spare.extend(tensors.drain(1..));
            self.gather(first_cell, lanes, &mut tensors[0]);
            self.evaluate(&mut tensors, &mut spare);
            exact.iter_mut().for_each(|exact| exact.fill([0.0; LANES]));
            match tables {
                Some(tables) => tables.iter().for_each(|table| table.add(self.arch, first_cell, &mut exact)),
                None => (0..self.weights.len()).for_each(|index| {
                    let sample = self.sample(u, first_cell, lanes, unravel(index, points));
                    exact.iter_mut().zip(sample).for_each(|(exact, sample)| exact[index] = sample);
                }),
            }
            let (weights, factors) = (self.weights, &self.factors(first_cell, lanes));
            self.arch.dispatch(AddSquares { weights, factors, tensors: &tensors, exact: &exact, sums: &mut sums });
        }
        sums.map(|sums| sums.iter().sum())
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

    /// From nodal values to values and derivatives in quadrature points, one direction after the other, by tensors that nobody needs.
    fn evaluate(&self, tensors: &mut Vec<Vec<Lanes>>, spare: &mut Vec<Vec<Lanes>>) {
        let points = self.bases.points();
        for (mode, basis) in self.bases.0.iter().enumerate() {
            let stride = points[..mode].iter().product();
            let apply = |table, input: &[Lanes], mut output: Vec<Lanes>| {
                contract(self.arch, table, stride, input, &mut output);
                output
            };
            let derivative = apply(&basis.derivatives, &tensors[0], spare.pop().unwrap_or_default());
            for tensor in tensors.iter_mut() {
                let values = apply(&basis.values, tensor, spare.pop().unwrap_or_default());
                spare.push(std::mem::replace(tensor, values));
            }
            tensors.push(derivative);
        }
    }
}
