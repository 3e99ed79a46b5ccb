//! Errors of a discrete solution against a known one.

use super::fields::ExactSolution;
use super::product_norms::norms_on_host;
use super::sum_factorization::{Bases, Basis, LANES, Lanes, cell_nodes, contract, first_nodes, unravel};
use crate::backend::cpu::parallel::try_map_with;
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
    let bases = Bases::new(space, Basis::of_norms)?;
    // Where a factor of a product overflows, the solution need not.
    if let Some(products) = u.products()
        && let Some(norms) = norms_on_host(space, &bases, u_h, &products)?
    {
        return Ok(norms);
    }
    let weights = bases.weights();
    let integrate = |(): &mut (), cell| {
        Pencil { space, bases: &bases, weights: &weights, u_h, cell, arch: Arch::new() }.integrate(u)
    };
    sum_over_rows(space, integrate).map(ErrorNorms::from_squares)
}

impl ErrorNorms {
    /// From the integrals of squares: rounding may make a sum that is about zero negative.
    pub(super) fn from_squares(squares: [f64; 2]) -> Self {
        let [l2, h1] = squares.map(|square| square.max(0.0).sqrt());
        Self { l2, h1 }
    }
}

/// The sum over all rows of cells along x, which begin with a cell, of integrals that must be finite.
pub(super) fn sum_over_rows<W: Default>(
    space: &Space,
    integrate: impl Fn(&mut W, [usize; 3]) -> [f64; 2] + Sync + Send,
) -> Result<[f64; 2]> {
    let [cells_x, cells_y, cells_z] = space.mesh().cells_along();
    let sums = try_map_with(cells_y * cells_z, W::default, |work, row| {
        let [y, z] = [row % cells_y, row / cells_y];
        check_finite(integrate(work, [0, y, z]), || format!("cells (0..{cells_x}, {y}, {z})"))
    })?;
    Ok(sums.iter().fold([0.0; 2], |total, sums| [total[0] + sums[0], total[1] + sums[1]]))
}

/// Integrals over a place, if they are finite.
pub(super) fn check_finite(integrals: [f64; 2], place: impl FnOnce() -> String) -> Result<[f64; 2]> {
    match integrals.iter().find(|integral| !integral.is_finite()) {
        None => Ok(integrals),
        Some(&value) => Err(Error::NotFinite { what: "error of the solution", value, place: place() }),
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
    fn integrate(&self, u: &(impl ExactSolution + ?Sized)) -> [f64; 2] {
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
            for index in 0..self.weights.len() {
                let sample = self.sample(u, first_cell, lanes, unravel(index, points));
                exact.iter_mut().zip(sample).for_each(|(exact, sample)| exact[index] = sample);
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
