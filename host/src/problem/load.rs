//! Load vectors `b_i = ∫ f φ_i`.

use super::fields::{Factors, Field};
use super::sum_factorization::{Basis, LANES, Lanes, Table, contract, unravel};
use crate::backend::cpu::parallel::try_for_each_chunk;
use crate::error::{Error, Result};
use crate::memory;
use crate::space::Space;
use pulp::Arch;

/// The load vector `b_i = ∫ f φ_i` in storage order, by Gauss's rule in each cell: `k + 1` points a direction for continuous
/// elements, `k + 2` for discontinuous ones.
///
/// A field with [factors](Field::factors) costs one multiplication or two a dof; any other is evaluated in every
/// quadrature point, and integrated by sum factorization.
///
/// # Errors
/// [`Error::NotFinite`] with the point where `f` is not a finite number, [`Error::OutOfMemory`] if the host has no room
/// for the vector.
pub fn load_vector(space: &Space, f: &(impl Field + ?Sized)) -> Result<Vec<f64>> {
    memory::check(space.storage() as u64 * size_of::<f64>() as u64)?;
    let mut b = memory::zeros(space.storage())?;
    let basis = Basis::of_loads(space)?;
    match f.factors() {
        Some(factors) => product(space, &basis, factors, &mut b)?,
        None => general(space, &basis, f, &mut b)?,
    }
    Ok(b)
}

fn not_finite(value: f64, place: String) -> Error {
    Error::NotFinite { what: "right-hand side", value, place }
}

/// The outer product of 1D load vectors.
fn product(space: &Space, basis: &Basis, factors: &dyn Factors, b: &mut [f64]) -> Result<()> {
    let lines = (0..space.dim()).map(|d| line(space, basis, factors, d)).collect::<Result<Vec<_>>>()?;
    let largest: f64 = lines.iter().map(|line| line.iter().fold(0.0, |max: f64, v| max.max(v.abs()))).product();
    if !largest.is_finite() {
        return Err(not_finite(largest, "the product of its factors".into()));
    }
    let row = space.row();
    let rows = row.pow(space.dim() as u32 - 1);
    try_for_each_chunk(&mut b[..row * rows], row, |index, chunk| {
        let scale = lines[1][index % row] * lines.get(2).map_or(1.0, |line| line[index / row]);
        for (b, x) in chunk.iter_mut().zip(&lines[0]) {
            *b = scale * x;
        }
        Ok(())
    })
}

/// 1D load vector on the stored nodes of a direction; zero at those that are no unknowns.
fn line(space: &Space, basis: &Basis, factors: &dyn Factors, direction: usize) -> Result<Vec<f64>> {
    let (cells, stride) = (space.mesh().cells_per_direction() as usize, space.cell_stride());
    let points = basis.points_in_a_row(cells);
    let values: Vec<f64> = points
        .map(|x| match factors.factor(direction, x) {
            value if value.is_finite() => Ok(value),
            value => Err(not_finite(value, format!("{} = {x}", ["x", "y", "z"][direction]))),
        })
        .collect::<Result<_>>()?;
    // Continuous elements have a last node that is not stored.
    let mut line = vec![0.0; space.row() + 1];
    for (cell, values) in values.chunks_exact(basis.rule.points.len()).enumerate() {
        for ((value, weight), functions) in values.iter().zip(&basis.rule.weights).zip(basis.values.iter_rows()) {
            for (entry, function) in line[cell * stride..].iter_mut().zip(functions) {
                *entry += weight * value * function;
            }
        }
    }
    line[..space.unknown_nodes().start].fill(0.0);
    Ok(line)
}

/// Cell by cell. Layers of cells in the last direction may share a plane of nodes with the next: even layers are added
/// up first, each by one task, then odd ones.
fn general(space: &Space, basis: &Basis, f: &(impl Field + ?Sized), b: &mut [f64]) -> Result<()> {
    let (row, stride) = (space.row(), space.cell_stride());
    let plane = row.pow(space.dim() as u32 - 1);
    let integrals = CellIntegrals::new(space, basis);
    for parity in 0..2 {
        let first = parity * stride * plane;
        try_for_each_chunk(&mut b[first..row * plane], 2 * stride * plane, |index, chunk| {
            integrals.add_layer(f, 2 * index + parity, chunk, first + index * 2 * stride * plane)
        })?;
    }
    Ok(())
}

struct CellIntegrals<'a> {
    space: &'a Space,
    basis: &'a Basis,
    /// `w_q l_j(x_q)` in row `j`.
    test: Table,
    arch: Arch,
}

impl<'a> CellIntegrals<'a> {
    fn new(space: &'a Space, basis: &'a Basis) -> Self {
        Self { space, basis, test: basis.test(), arch: Arch::new() }
    }

    /// Adds the integrals over one layer of cells to `b`, which begins at offset `start` of the whole vector.
    fn add_layer(&self, f: &(impl Field + ?Sized), layer: usize, b: &mut [f64], start: usize) -> Result<()> {
        let (dim, cells) = (self.space.dim(), self.space.mesh().cells_per_direction() as usize);
        let mut buffers = [Vec::new(), Vec::new()];
        for y in 0..if dim == 2 { 1 } else { cells } {
            for x in (0..cells).step_by(LANES) {
                let first_cell = if dim == 2 { [x, layer, 0] } else { [x, y, layer] };
                self.sample(f, first_cell, &mut buffers[0])?;
                for mode in 0..dim {
                    let [input, output] = &mut buffers;
                    contract(self.arch, &self.test, (self.space.degree() + 1).pow(mode as u32), input, output);
                    buffers.swap(0, 1);
                }
                self.scatter(first_cell, &buffers[0], b, start);
            }
        }
        Ok(())
    }

    /// `f` in the quadrature points of up to [`LANES`] cells; zero on lanes that have no cell.
    fn sample(&self, f: &(impl Field + ?Sized), first_cell: [usize; 3], values: &mut Vec<Lanes>) -> Result<()> {
        let (dim, points) = (self.space.dim(), self.basis.rule.points.len());
        let lanes = LANES.min(self.space.mesh().cells_per_direction() as usize);
        values.clear();
        for index in 0..points.pow(dim as u32) {
            let q = unravel(index, points);
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..lanes].iter_mut().enumerate() {
                let cell = [first_cell[0] + lane, first_cell[1], first_cell[2]];
                let point = self.basis.point(cell, q);
                *entry = f.value(point);
                if !entry.is_finite() {
                    return Err(not_finite(*entry, point.to_string()));
                }
            }
            values.push(entry);
        }
        Ok(())
    }

    fn scatter(&self, first_cell: [usize; 3], integrals: &[Lanes], b: &mut [f64], start: usize) {
        let (space, nodes) = (self.space, self.space.degree() + 1);
        let (stride, unknowns) = (space.cell_stride(), space.unknown_nodes());
        let lanes = LANES.min(space.mesh().cells_per_direction() as usize);
        for (index, integrals) in integrals.iter().enumerate() {
            let local = unravel(index, nodes);
            let [x, y, z] = [0, 1, 2].map(|d| first_cell[d] * stride + local[d]);
            if !(unknowns.contains(&y) && (space.dim() == 2 || unknowns.contains(&z))) {
                continue;
            }
            let line = space.offset([0, y, z]) - start;
            for (lane, integral) in integrals[..lanes].iter().enumerate() {
                if unknowns.contains(&(x + lane * stride)) {
                    b[line + x + lane * stride] += integral;
                }
            }
        }
    }
}
