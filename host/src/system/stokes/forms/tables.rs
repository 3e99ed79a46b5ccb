//! Forms as kernels take them.

use super::{LineForms, PatchForms};
use nalgebra::DMatrix;

impl LineForms {
    /// [`LineMatrices`](patchmg_device::stokes::LineMatrices) as they lie in memory, but for the scales at their end.
    pub fn line_matrices(&self) -> Vec<f64> {
        let Self { continuous, discontinuous, .. } = self;
        let mut matrices = Vec::new();
        matrices.extend_from_slice(discontinuous.coupling().transpose().as_slice());
        matrices.extend_from_slice(discontinuous.cell([false; 2]).as_slice());
        matrices.extend(discontinuous.mass.diagonal().iter());
        matrices.extend_from_slice(continuous.mass.as_slice());
        matrices.extend_from_slice(continuous.stiffness.as_slice());
        matrices.extend_from_slice(self.divergence.transpose().as_slice());
        matrices
    }

    /// What cells at the lower, then at the upper end of the domain have more than others, of cells of size 1.
    pub fn at_ends(&self) -> Vec<f64> {
        let inside = self.discontinuous.cell([false; 2]);
        let more = [[true, false], [false, true]].map(|at_ends| self.discontinuous.cell(at_ends) - &inside);
        more.iter().flatten().copied().collect()
    }

    /// [`OperatorMatrices`](patchmg_device::stokes::paper2::operator::OperatorMatrices) as they lie in memory, but for the
    /// scales at their end: with so many nodes across a component, `k + 1` or more.
    pub fn operator_matrices(&self, across: usize) -> Vec<f64> {
        let Self { continuous, discontinuous, divergence, .. } = self;
        let (coupling, inside) = (discontinuous.coupling(), discontinuous.cell([false; 2]));
        let (before, last) = (discontinuous.face(1, false), &discontinuous.stiffness + discontinuous.face(0, false));
        // Of the three cells, from the cell before each, from itself, from the one behind.
        let (behind, transposed) = (Some(&coupling), coupling.transpose());
        let from_before = Some(&transposed);
        let blocks: [[Option<&DMatrix<f64>>; 3]; 3] =
            [[None, from_before, from_before], [Some(&before), Some(&inside), Some(&last)], [behind, behind, None]];
        let padded =
            |matrix: &DMatrix<f64>, row: usize, column: usize| matrix.get((row, column)).copied().unwrap_or(0.0);
        let mut matrices = Vec::new();
        for of_cells in blocks {
            for column in 0..across {
                let of_cell = |block: Option<&DMatrix<f64>>| -> Vec<f64> {
                    (0..across).map(|row| block.map_or(0.0, |block| padded(block, row, column))).collect()
                };
                matrices.extend(of_cells.into_iter().flat_map(of_cell));
            }
        }
        let square = (0..across).flat_map(|column| (0..across).map(move |row| (row, column)));
        matrices.extend(square.map(|(row, column)| padded(&discontinuous.mass, row, column)));
        matrices.extend_from_slice(continuous.mass.as_slice());
        matrices.extend_from_slice(continuous.stiffness.as_slice());
        let of_cell = |row: usize| (0..=self.stride()).map(move |column| padded(divergence, row, column));
        matrices.extend((0..across).flat_map(of_cell));
        matrices
    }

    /// What in [`Self::operator_matrices`] the first cell of a patch has more at the lower end of the domain, and its last one
    /// at the upper end.
    pub fn operator_ends(&self, across: usize) -> Vec<f64> {
        let discontinuous = &self.discontinuous;
        let more = [discontinuous.face(0, true) - discontinuous.face(0, false), discontinuous.face(1, true)];
        more.iter().flat_map(|more| more.clone().resize(across, across, 0.0).as_slice().to_vec()).collect()
    }

    /// [`PatchMatrices`](patchmg_device::stokes::PatchMatrices), in the same way.
    pub fn patch_matrices(&self) -> Vec<f64> {
        let (PatchForms { continuous, discontinuous, divergence, .. }, h) = (&self.patches[0], self.cell_size);
        let (stride, mut matrices) = (self.stride(), Vec::new());
        let mut extend = |entry: &dyn Fn(usize, usize) -> f64, rows: usize, columns: usize| {
            let entry = |i: usize, j: usize| if i < rows && j < columns { entry(i, j) } else { 0.0 };
            matrices.extend((0..stride).flat_map(|i| (0..stride).map(move |j| (i, j))).map(|(i, j)| entry(i, j)));
        };
        // Functions by nodes of a half: even ones, then odd ones.
        for vectors in [&continuous.vectors, &discontinuous.vectors] {
            let odd = vectors.nrows() - stride;
            extend(&|f, node| vectors[(node, f)] * h.sqrt(), stride, stride);
            extend(&|f, node| vectors[(node, stride + f)] * h.sqrt(), odd, odd);
        }
        extend(&|j, m| divergence[(stride + j, m)] * h, stride, stride);
        extend(&|j, m| divergence[(j, stride + m)] * h, stride, stride - 1);
        matrices
    }

    /// The eigenvalues and scales of a [`PatchTable`](patchmg_device::stokes::PatchTable) for `s u - ν Δu`.
    pub fn eigenvalues(&self, mass: f64, viscosity: f64) -> Vec<f64> {
        let mut values: Vec<_> =
            self.patches[0].continuous.values.iter().map(|value| mass + viscosity * value).collect();
        values.push(1.0 / self.cell_size);
        values.extend(
            self.patches.iter().flat_map(|patch| patch.discontinuous.values.iter()).map(|value| viscosity * value),
        );
        values
    }

    /// The matrices of one.
    pub fn functions_at_ends(&self) -> Vec<f64> {
        let h = self.cell_size;
        let mut table = Vec::new();
        for PatchForms { discontinuous, divergence, .. } in &self.patches[1..] {
            table.extend_from_slice((&discontinuous.vectors * h.sqrt()).as_slice());
            table.extend_from_slice((divergence.transpose() * h).insert_row(2 * self.stride() - 1, 0.0).as_slice());
        }
        table
    }
}
