//! Load vectors `b_i = ∫ f φ_i`.

use super::fields::Field;
use super::sum_factorization::{Bases, Basis, LANES, Lanes, Table, cell_nodes, contract, first_nodes, unravel};
use crate::backend::OuterProducts;
use crate::backend::cpu::parallel::try_for_each_chunk;
use crate::error::{Error, Result, check_length};
use crate::memory;
use crate::space::{Axis, Space};
use glam::DVec3;
use pulp::Arch;

/// The load vector `b_i = ∫ f φ_i` in storage order, by Gauss's rule in each cell: `k + 1` points a direction for continuous
/// elements, `k + 2` for discontinuous ones.
///
/// A field that is a sum of [products](Field::products) costs one multiplication or two a dof and product; any other is evaluated
/// in every quadrature point, and integrated by sum factorization.
///
/// # Errors
/// [`Error::NotFinite`] with the point where `f` is not a finite number, [`Error::OutOfMemory`] if the host has no room
/// for the vector.
pub fn load_vector(space: &Space, f: &(impl Field + ?Sized)) -> Result<Vec<f64>> {
    load_vector_by(space, f, Basis::of_loads)
}

/// The same as a sum of outer products of 1D load vectors, which a machine evaluates in its own memory; none if the field is no sum
/// of [products](Field::products), or a factor is not a finite number.
///
/// # Errors
/// Those of Gauss's rule.
pub fn load_products(space: &Space, f: &(impl Field + ?Sized)) -> Result<Option<OuterProducts>> {
    products(space, &Bases::new(space, Basis::of_loads)?, f)
}

/// [`load_vector`] with more points a direction in each cell: `k + 1 + more`.
pub(crate) fn load_vector_with(space: &Space, f: &(impl Field + ?Sized), more: usize) -> Result<Vec<f64>> {
    load_vector_by(space, f, |axis| Basis::new(axis, axis.degree() + 1 + more))
}

/// [`load_vector`] by another rule.
pub(crate) fn load_vector_by(
    space: &Space,
    f: &(impl Field + ?Sized),
    basis: impl Fn(&Axis) -> Result<Basis>,
) -> Result<Vec<f64>> {
    memory::check(space.storage() as u64 * size_of::<f64>() as u64)?;
    let mut b = memory::zeros(space.storage())?;
    let bases = Bases::new(space, basis)?;
    match products(space, &bases, f)? {
        Some(products) => products.evaluate(&mut b, false),
        None => general(space, &bases, &|_cell, _q, point| f.value(point), &mut b)?,
    }
    Ok(b)
}

/// Coordinates of the quadrature points of [`load_vector`] along each direction, ascending. The points are all combinations of these.
///
/// # Errors
/// Those of Gauss's rule.
pub fn load_points(space: &Space) -> Result<Vec<Vec<f64>>> {
    let Bases(bases) = Bases::new(space, Basis::of_loads)?;
    Ok(bases.iter().zip(space.axes()).map(|(basis, axis)| basis.points_in_a_row(axis.cells()).collect()).collect())
}

/// [`load_vector`] for an `f` that is known by its values at all [points](load_points), `x` fastest.
///
/// ```
/// use glam::DVec3;
/// use patchmg::mesh::Mesh;
/// use patchmg::problem::{load_points, load_vector, load_vector_of_values};
/// use patchmg::space::Space;
///
/// # fn main() -> patchmg::Result<()> {
/// let space = Space::new(Mesh::unit_cube(2, 3)?, 2)?;
/// let points = load_points(&space)?;
/// let values: Vec<f64> = points[1].iter().flat_map(|y| points[0].iter().map(move |x| x.exp() * y)).collect();
/// assert_eq!(load_vector_of_values(&space, &values)?, load_vector(&space, &|point: DVec3| point.x.exp() * point.y)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::SizeMismatch`] for another number of values; those of [`load_vector`].
pub fn load_vector_of_values(space: &Space, values: &[f64]) -> Result<Vec<f64>> {
    let bases = Bases::new(space, Basis::of_loads)?;
    let (cells, points) = (space.mesh().cells_along(), bases.points());
    let [x, y, z] = [0, 1, 2].map(|d| cells[d] * points[d]);
    check_length("values at quadrature points", x * y * z, values.len())?;
    memory::check(space.storage() as u64 * size_of::<f64>() as u64)?;
    let mut b = memory::zeros(space.storage())?;
    let value = |cell: [usize; 3], q: [usize; 3], _point| {
        let [of_x, of_y, of_z] = [0, 1, 2].map(|d| cell[d] * points[d] + q[d]);
        values[of_x + x * (of_y + y * of_z)]
    };
    general(space, &bases, &value, &mut b)?;
    Ok(b)
}

/// A function by its values at quadrature points: of a cell, by the point's number in the cell, and by the point.
trait Samples: Fn([usize; 3], [usize; 3], DVec3) -> f64 + Sync {}

impl<F: Fn([usize; 3], [usize; 3], DVec3) -> f64 + Sync> Samples for F {}

fn not_finite(value: f64, place: String) -> Error {
    Error::NotFinite { what: "right-hand side", value, place }
}

/// Outer products of 1D load vectors, if `f` is a sum of products that are finite numbers: where a factor overflows, `f` need not.
fn products(space: &Space, bases: &Bases, f: &(impl Field + ?Sized)) -> Result<Option<OuterProducts>> {
    let Some(terms) = f.products() else { return Ok(None) };
    let mut load = OuterProducts::zero(space.stored_nodes());
    for factors in terms {
        let line = |(d, (axis, basis)): (usize, (&Axis, &Basis))| {
            let values: Vec<f64> = basis.points_in_a_row(axis.cells()).map(|x| factors.factor(d, x)).collect();
            basis.integrals(&values, false)
        };
        let lines: Vec<_> = space.axes().iter().zip(&bases.0).enumerate().map(line).collect();
        let largest: f64 = lines.iter().map(|line| line.iter().fold(0.0, |max: f64, v| max.max(v.abs()))).product();
        if !largest.is_finite() || lines.iter().flatten().any(|value| value.is_nan()) {
            return Ok(None);
        }
        load.add(1.0, &lines)?;
    }
    Ok(Some(load))
}

/// Cell by cell. Layers of cells in the last direction may share a plane of nodes with the next: even layers are added
/// up first, each by one task, then odd ones.
fn general(space: &Space, bases: &Bases, f: &impl Samples, b: &mut [f64]) -> Result<()> {
    let last = &space.axes()[space.dim() - 1];
    let (planes, stride) = (last.stored_nodes(), last.stride());
    let plane = space.stored_nodes().iter().product::<usize>() / planes;
    let integrals = CellIntegrals::new(space, bases);
    for parity in 0..2 {
        // A single layer has no odd one.
        let first = (parity * stride).min(planes) * plane;
        try_for_each_chunk(&mut b[first..planes * plane], 2 * stride * plane, |index, chunk| {
            match 2 * index + parity {
                layer if layer < last.cells() => {
                    integrals.add_layer(f, layer, chunk, first + index * 2 * stride * plane)
                }
                // The plane of nodes at the upper end, where that is stored.
                _ => Ok(()),
            }
        })?;
    }
    Ok(())
}

struct CellIntegrals<'a> {
    space: &'a Space,
    bases: &'a Bases,
    /// `w_q l_j(x_q)` in row `j`, for each direction.
    tests: Vec<Table>,
    arch: Arch,
}

impl<'a> CellIntegrals<'a> {
    fn new(space: &'a Space, bases: &'a Bases) -> Self {
        Self { space, bases, tests: bases.0.iter().map(Basis::test).collect(), arch: Arch::new() }
    }

    /// Adds the integrals over one layer of cells to `b`, which begins at offset `start` of the whole vector.
    fn add_layer(&self, f: &impl Samples, layer: usize, b: &mut [f64], start: usize) -> Result<()> {
        let (dim, [cells_x, cells_y, _]) = (self.space.dim(), self.space.mesh().cells_along());
        let nodes = cell_nodes(self.space);
        let mut buffers = [Vec::new(), Vec::new()];
        for y in 0..if dim == 2 { 1 } else { cells_y } {
            for x in (0..cells_x).step_by(LANES) {
                let first_cell = if dim == 2 { [x, layer, 0] } else { [x, y, layer] };
                let lanes = LANES.min(cells_x - x);
                self.sample(f, first_cell, lanes, &mut buffers[0])?;
                for (mode, test) in self.tests.iter().enumerate() {
                    let [input, output] = &mut buffers;
                    contract(self.arch, test, nodes[..mode].iter().product(), input, output);
                    buffers.swap(0, 1);
                }
                self.scatter(first_cell, lanes, &buffers[0], b, start);
            }
        }
        Ok(())
    }

    /// `f` in the quadrature points of `lanes` cells; zero on the other lanes.
    fn sample(&self, f: &impl Samples, first_cell: [usize; 3], lanes: usize, values: &mut Vec<Lanes>) -> Result<()> {
        let points = self.bases.points();
        values.clear();
        for index in 0..points.iter().product() {
            let q = unravel(index, points);
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..lanes].iter_mut().enumerate() {
                let cell = [first_cell[0] + lane, first_cell[1], first_cell[2]];
                let point = self.bases.point(cell, q);
                *entry = f(cell, q, point);
                if !entry.is_finite() {
                    return Err(not_finite(*entry, point.to_string()));
                }
            }
            values.push(entry);
        }
        Ok(())
    }

    fn scatter(&self, first_cell: [usize; 3], lanes: usize, integrals: &[Lanes], b: &mut [f64], start: usize) {
        let (space, nodes, first) = (self.space, cell_nodes(self.space), first_nodes(self.space, first_cell));
        let factor = |lane: usize| -> f64 {
            let cell = [first_cell[0] + lane, first_cell[1], first_cell[2]];
            (0..3).map(|d| self.bases.factor(cell, d)).product()
        };
        let factors: Lanes = std::array::from_fn(|lane| if lane < lanes { factor(lane) } else { 0.0 });
        for (index, integrals) in integrals.iter().enumerate() {
            let local = unravel(index, nodes);
            let mut node = [0, 1, 2].map(|d| first[d] + local[d]);
            for (integral, factor) in integrals[..lanes].iter().zip(&factors) {
                if let Some(offset) = space.offset_of_unknown(node) {
                    b[offset - start] += factor * integral;
                }
                node[0] += space.axes()[0].stride();
            }
        }
    }
}
