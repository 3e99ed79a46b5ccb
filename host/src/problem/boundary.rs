//! Dirichlet data of discontinuous elements, which enter the right-hand side by Nitsche's method.

use super::fields::Field;
use super::sum_factorization::{Basis, LANES, Lanes, contract, unravel};
use crate::error::{Error, Result};
use crate::space::Space;
use glam::DVec3;
use pulp::Arch;

/// Adds `∫ g (σ φ_i - ∂ₙφ_i)` over the boundary to a load vector in storage order (paper 4, equation 2, with the known `g`
/// instead of `u` there), by Gauss's rule of `k + 2` points a direction on each face.
///
/// # Errors
/// [`Error::InvalidArgument`] for continuous elements, whose boundary values are zero; [`Error::SizeMismatch`] unless `b` has
/// [`Space::storage`] entries; [`Error::NotFinite`] with the point where `g` is not a finite number.
pub fn add_boundary_load(space: &Space, g: &(impl Field + ?Sized), b: &mut [f64]) -> Result<()> {
    let Space::Discontinuous(discontinuous) = space else {
        return Err(Error::InvalidArgument {
            name: "space with boundary values",
            value: "continuous".into(),
            allowed: "discontinuous".into(),
        });
    };
    space.check_storage("load vector", b.len())?;
    let (normal, basis) = (discontinuous.boundary_load(), Basis::of_loads(space)?);
    let (test, arch) = (basis.test(), Arch::new());
    let (dim, cells, nodes) = (space.dim(), space.mesh().cells_per_direction() as usize, space.cell_stride());
    let mut buffers = [Vec::new(), Vec::new()];
    for direction in 0..dim {
        // The directions along the face; in 2D the second one has a single cell, and a single point and node of it.
        let tangents = [(direction + 1) % dim, (direction + 2) % 3];
        for side in 0..2 {
            for row in 0..if dim == 2 { 1 } else { cells } {
                for first in (0..cells).step_by(LANES) {
                    let face = Face { space, basis: &basis, direction, side, tangents, cells: [first, row] };
                    face.sample(g, &mut buffers[0])?;
                    for mode in 0..dim - 1 {
                        let [input, output] = &mut buffers;
                        contract(arch, &test, nodes.pow(mode as u32), input, output);
                        buffers.swap(0, 1);
                    }
                    face.scatter(&normal, &buffers[0], b);
                }
            }
        }
    }
    Ok(())
}

/// Up to [`LANES`] cells beside each other on the boundary.
struct Face<'a> {
    space: &'a Space,
    basis: &'a Basis,
    direction: usize,
    /// 0 for the lower end of the direction, 1 for the upper one.
    side: usize,
    tangents: [usize; 2],
    /// First cell in each tangential direction; lanes are neighbours in the first.
    cells: [usize; 2],
}

impl Face<'_> {
    fn lanes(&self) -> usize {
        LANES.min(self.space.mesh().cells_per_direction() as usize)
    }

    /// `g` in the quadrature points; zero on lanes that have no cell.
    fn sample(&self, g: &(impl Field + ?Sized), values: &mut Vec<Lanes>) -> Result<()> {
        let (points, h) = (&self.basis.rule.points, self.space.mesh().cell_size());
        values.clear();
        for index in 0..points.len().pow(self.space.dim() as u32 - 1) {
            let q = unravel(index, points.len());
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..self.lanes()].iter_mut().enumerate() {
                let mut point = DVec3::ZERO;
                point[self.direction] = self.side as f64;
                point[self.tangents[0]] = ((self.cells[0] + lane) as f64 + points[q[0]]) * h;
                if self.space.dim() == 3 {
                    point[self.tangents[1]] = (self.cells[1] as f64 + points[q[1]]) * h;
                }
                *entry = g.value(point);
                if !entry.is_finite() {
                    return Err(Error::NotFinite { what: "boundary value", value: *entry, place: point.to_string() });
                }
            }
            values.push(entry);
        }
        Ok(())
    }

    /// Adds integrals over the face against its nodes, times what the normal direction makes of them.
    fn scatter(&self, normal: &[f64], integrals: &[Lanes], b: &mut [f64]) {
        let (nodes, row) = (self.space.cell_stride(), self.space.row());
        for (index, integrals) in integrals.iter().enumerate() {
            let local = unravel(index, nodes);
            for (lane, integral) in integrals[..self.lanes()].iter().enumerate() {
                let mut node = [0; 3];
                node[self.tangents[0]] = (self.cells[0] + lane) * nodes + local[0];
                if self.space.dim() == 3 {
                    node[self.tangents[1]] = self.cells[1] * nodes + local[1];
                }
                for (t, factor) in normal.iter().enumerate() {
                    node[self.direction] = if self.side == 0 { t } else { row - 1 - t };
                    b[self.space.offset(node)] += factor * integral;
                }
            }
        }
    }
}
