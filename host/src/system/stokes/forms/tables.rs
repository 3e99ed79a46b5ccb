//! Forms as kernels take them.

use super::LineForms;
use nalgebra::DMatrix;
use patchmg_device::patch::Ends;

impl LineForms {
    /// [`LineTable`](patchmg_device::stokes::LineTable) for `s u - ν Δu`.
    pub fn line_table(&self, mass: f64, viscosity: f64) -> Vec<f64> {
        let (h, scale) = (self.cell_size, viscosity / self.cell_size);
        let (coupling, continuous) = (self.discontinuous.coupling(), &self.continuous);
        let mut table = Vec::new();
        table.extend_from_slice((coupling.transpose() * scale).as_slice());
        table.extend_from_slice((coupling * scale).as_slice());
        for ends in Ends::ALL {
            let at_ends = [matches!(ends, Ends::Lower | Ends::Both), matches!(ends, Ends::Upper | Ends::Both)];
            table.extend_from_slice((self.discontinuous.cell(at_ends) * scale).as_slice());
        }
        table.extend(self.discontinuous.mass.diagonal().iter().map(|weight| h * weight));
        table.extend_from_slice((&continuous.mass * h).as_slice());
        table.extend_from_slice((&continuous.stiffness * scale + &continuous.mass * (mass * h)).as_slice());
        table.extend_from_slice(self.divergence.transpose().as_slice());
        table
    }

    /// [`PatchTable`](patchmg_device::stokes::PatchTable) for `s u - ν Δu`.
    pub fn patch_table(&self, mass: f64, viscosity: f64) -> Vec<f64> {
        let nodes = 2 * self.stride();
        // Function 0 and node 0 of the continuous axis are no unknowns.
        let widened = |matrix: &DMatrix<f64>, rows: usize, columns: usize| {
            DMatrix::from_fn(rows + matrix.nrows(), columns + matrix.ncols(), |i, j| {
                if i < rows || j < columns { 0.0 } else { matrix[(i - rows, j - columns)] }
            })
        };
        let continuous = &self.patches[0].continuous;
        let mut table = Vec::with_capacity(nodes * (9 * nodes + 5));
        table.extend_from_slice(widened(&continuous.vectors, 1, 1).as_slice());
        table.push(1.0);
        table.extend(continuous.values.iter().map(|value| mass + viscosity * value));
        for patch in &self.patches {
            table.extend_from_slice(patch.discontinuous.vectors.as_slice());
            table.extend(patch.discontinuous.values.iter().map(|value| viscosity * value));
            table.extend_from_slice(widened(&patch.divergence.transpose(), 1, 0).as_slice());
        }
        table
    }
}
