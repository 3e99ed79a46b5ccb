//! Boundary values that enter the right-hand side by integrals over the boundary.

use super::fields::Field;
use super::sum_factorization::{Bases, Basis, LANES, Lanes, cell_nodes, contract, first_nodes, unravel};
use crate::error::{Result, finite};
use crate::space::Space;
use glam::DVec3;
use pulp::Arch;

/// Adds `∫ g ψ_i` over the boundary to a load vector in storage order, by the Gauss rule of load vectors on each face. In the
/// direction normal to a face `ψ_i` has the factor `normal[direction][t]`, `t` nodes away from the boundary; in the others it is
/// the basis function of node `i`. Faces of a direction without such factors are left out.
///
/// # Errors
/// [`SizeMismatch`](crate::Error::SizeMismatch) unless `b` has [`Space::storage`] entries; [`NotFinite`](crate::Error::NotFinite) with
/// the point where `g` is not a finite number.
pub(crate) fn add_boundary_integrals(
    space: &Space,
    normal: &[Vec<f64>],
    g: &(impl Field + ?Sized),
    b: &mut [f64],
) -> Result<()> {
    space.check_storage("load vector", b.len())?;
    let bases = Bases::new(space, Basis::of_loads)?;
    for (direction, normal) in normal.iter().enumerate().filter(|(_, normal)| !normal.is_empty()) {
        let last = space.axes()[direction].unknown_nodes().end - 1;
        for side in 0..2 {
            side_integrals(space, &bases, [direction, side], g, |mut node, integral| {
                for (t, factor) in normal.iter().enumerate() {
                    node[direction] = if side == 0 { t } else { last - t };
                    if let Some(offset) = space.offset_of_unknown(node) {
                        b[offset] += factor * integral;
                    }
                }
            })?;
        }
    }
    Ok(())
}

/// `∫ g l_j` over each face on a side of the domain, the lower (0) or the upper (1) end of a direction, for all nodes `j` of the axes
/// along the face: `visit` gets the node, with 0 in the direction, and the integral.
///
/// # Errors
/// [`NotFinite`](crate::Error::NotFinite) with the point where `g` is not a finite number.
pub(crate) fn side_integrals(
    space: &Space,
    bases: &Bases,
    [direction, side]: [usize; 2],
    g: &(impl Field + ?Sized),
    mut visit: impl FnMut([usize; 3], f64),
) -> Result<()> {
    let (arch, dim, cells, nodes) = (Arch::new(), space.dim(), space.mesh().cells_along(), cell_nodes(space));
    // The directions along the face; in 2D the second one has a single cell, and a single point and node of it.
    let tangents = [(direction + 1) % dim, (direction + 2) % 3];
    let tests: Vec<_> = tangents[..dim - 1].iter().map(|&tangent| bases.0[tangent].test()).collect();
    let mut buffers = [Vec::new(), Vec::new()];
    for row in 0..if dim == 2 { 1 } else { cells[tangents[1]] } {
        for first in (0..cells[tangents[0]]).step_by(LANES) {
            let lanes = LANES.min(cells[tangents[0]] - first);
            let face = Face { space, bases, direction, side, tangents, cells: [first, row], lanes };
            face.sample(g, &mut buffers[0])?;
            let mut stride = 1;
            for (test, &tangent) in tests.iter().zip(&tangents) {
                let [input, output] = &mut buffers;
                contract(arch, test, stride, input, output);
                buffers.swap(0, 1);
                stride *= nodes[tangent];
            }
            face.visit(&buffers[0], &mut visit);
        }
    }
    Ok(())
}

/// Up to [`LANES`] cells beside each other on the boundary.
struct Face<'a> {
    space: &'a Space,
    bases: &'a Bases,
    direction: usize,
    /// 0 for the lower end of the direction, 1 for the upper one.
    side: usize,
    tangents: [usize; 2],
    /// First cell in each tangential direction; lanes are neighbours in the first.
    cells: [usize; 2],
    lanes: usize,
}

impl Face<'_> {
    /// Sizes in the directions along the face; in 2D the second is 1.
    fn along(&self, sizes: [usize; 3]) -> [usize; 3] {
        let second = if self.space.dim() == 2 { 1 } else { sizes[self.tangents[1]] };
        [sizes[self.tangents[0]], second, 1]
    }

    /// The cell of a lane.
    fn cell(&self, lane: usize) -> [usize; 3] {
        let mut cell = [0; 3];
        cell[self.tangents[0]] = self.cells[0] + lane;
        if self.space.dim() == 3 {
            cell[self.tangents[1]] = self.cells[1];
        }
        cell
    }

    /// `g` in the quadrature points; zero on lanes that have no cell.
    fn sample(&self, g: &(impl Field + ?Sized), values: &mut Vec<Lanes>) -> Result<()> {
        let points = self.along(self.bases.points());
        values.clear();
        for index in 0..points.iter().product() {
            let along = unravel(index, points);
            let mut q = [0; 3];
            q[self.tangents[0]] = along[0];
            if self.space.dim() == 3 {
                q[self.tangents[1]] = along[1];
            }
            let mut entry = [0.0; LANES];
            for (lane, entry) in entry[..self.lanes].iter_mut().enumerate() {
                let mut point: DVec3 = self.bases.point(self.cell(lane), q);
                point[self.direction] = self.side as f64 * self.space.mesh().lengths()[self.direction];
                *entry = finite("boundary value", g.value(point), point)?;
            }
            values.push(entry);
        }
        Ok(())
    }

    /// The nodes along the face, and the integrals against them.
    fn visit(&self, integrals: &[Lanes], visit: &mut impl FnMut([usize; 3], f64)) {
        let nodes = self.along(cell_nodes(self.space));
        for (index, integrals) in integrals.iter().enumerate() {
            let local = unravel(index, nodes);
            for (lane, &integral) in integrals[..self.lanes].iter().enumerate() {
                let cell = self.cell(lane);
                let tangents = &self.tangents[..self.space.dim() - 1];
                let factor: f64 = tangents.iter().map(|&tangent| self.bases.factor(cell, tangent)).product();
                let mut node = first_nodes(self.space, cell);
                node[self.tangents[0]] += local[0];
                if self.space.dim() == 3 {
                    node[self.tangents[1]] += local[1];
                }
                node[self.direction] = 0;
                visit(node, factor * integral);
            }
        }
    }
}
