//! Continuous elements: the 1D matrices and eigenpairs that a patch column needs.

use super::{check_storage, degree_out_of_range, entries};
use crate::error::Result;
use crate::fe::{Eigenpairs, Element, assemble, power_of_two_below, symmetric_eigenpairs, with_zero_row_sums};
use crate::mesh::Mesh;
use nalgebra::{DMatrix, DVector};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, patch_nodes};
use patchmg_device::matrices::{
    CellMatrices, FirstStepMatrices, OperatorMatrices, PatchColumn, ProlongationMatrices, RestrictionMatrices,
    SmootherMatrices,
};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Real;

/// Continuous `Q_k` on a uniform mesh of the unit square or cube, Gauss-Lobatto nodes, zero on the boundary.
///
/// Its 1D matrices carry the cell size `h`: mass `h M̂` and stiffness `Â / h` of the reference cell, so that
/// `A ⊗ M + M ⊗ A` (and its three terms in 3D) is the stiffness matrix of `-Δ`.
///
/// Whatever the cell size and the scalar, the entries of `A` and `PᵀA` are rounded such that [rows sum to zero
/// exactly](with_zero_row_sums). Only [`Self::operator_matrices`] and
/// [`Self::shifted_restriction_matrices`] in `f32` are not.
#[derive(Clone, Debug)]
pub struct ContinuousSpace {
    mesh: Mesh,
    element: Element,
    cell_size: f64,
    /// Of `M̂`: the cell size, and on [`Self::on_unit_cells`] what the operator's factor has beside a power of two.
    mass_factor: f64,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    prolongation: DMatrix<f64>,
    eigenpairs: Eigenpairs,
}

impl ContinuousSpace {
    /// `Q_k` of degree 1 to 10 in 2D, 1 to 8 in 3D.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for another degree, or if a vector would not fit the address space.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        let degrees = if mesh.dim() == 2 { DEGREES_2D } else { DEGREES_3D };
        if !degrees.contains(&degree) {
            return Err(degree_out_of_range(degree, degrees, format_args!("in {}D", mesh.dim())));
        }
        check_storage(mesh, mesh.cells_per_direction() as usize * degree + 1)?;
        Self::of_cells(mesh, Element::new(degree)?, mesh.cell_size(), mesh.cell_size())
    }

    fn of_cells(mesh: Mesh, element: Element, cell_size: f64, mass_factor: f64) -> Result<Self> {
        let mass = assemble(&(element.mass() * mass_factor), 2);
        let stiffness = assemble(&cell_stiffness(&element, cell_size, f64::MANTISSA_DIGITS), 2);
        let eigenpairs = symmetric_eigenpairs(&interior(&stiffness), &interior(&mass))?;
        let prolongation = element.prolongation();
        Ok(Self { mesh, prolongation, element, cell_size, mass_factor, mass, stiffness, eigenpairs })
    }

    /// The same with `A` of cells of size 1: its 1D matrices are those of every level, and its operator times
    /// [`Self::operator_factor`] is this space's.
    ///
    /// # Errors
    /// As [`symmetric_eigenpairs`].
    pub fn on_unit_cells(&self) -> Result<Self> {
        // Every term of the operator has `dim - 1` factors `M`.
        let remainder = self.size_factor() / self.operator_factor();
        let mass_factor = remainder.powf(1.0 / (self.dim() - 1) as f64);
        Self::of_cells(self.mesh, self.element.clone(), 1.0, mass_factor)
    }

    /// The largest power of two that is not above `h^(dim - 2)`: multiplying a row by it keeps the row's sum zero.
    pub fn operator_factor(&self) -> f64 {
        power_of_two_below(self.size_factor())
    }

    /// `h^(dim - 2)`, which the operator has more than on cells of size 1.
    fn size_factor(&self) -> f64 {
        self.cell_size.powi(self.dim() as i32 - 2)
    }

    /// `A` of a cell alone, as numbers of `T`.
    fn cell_stiffness<T: Real>(&self) -> DMatrix<f64> {
        cell_stiffness(&self.element, self.cell_size, T::MANTISSA_DIGITS)
    }

    /// `A` of a patch alone, as numbers of `T`.
    fn patch_stiffness<T: Real>(&self) -> DMatrix<f64> {
        assemble(&self.cell_stiffness::<T>(), 2)
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The 1D element, on the reference cell.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.mesh.dim()
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element.degree()
    }

    /// Storage order of its vectors.
    pub fn grid(&self) -> Grid {
        Grid { cells: self.mesh.cells_per_direction(), degree: self.degree() as u32 }
    }

    /// `1 / (λ_i + λ_j [+ λ_l])`, index `i` fastest, functions ordered even ones first as in [`SmootherMatrices`].
    pub fn inverse_eigenvalues(&self) -> Vec<f64> {
        let lambda = &self.eigenpairs.values;
        let last: &[f64] = if self.dim() == 2 { &[0.0] } else { lambda.as_slice() };
        let sums = last.iter().flat_map(|l| lambda.iter().flat_map(move |j| lambda.iter().map(move |i| i + j + l)));
        sums.map(|sum| 1.0 / sum).collect()
    }

    /// What a GPU thread of the smoother looks up by its own column, [`patchmg_device::smoother::table_words`] numbers, with
    /// the eigenvectors of cells of size 1: [`Self::inverse_eigenvalues`] over [`Self::operator_factor`], then
    /// `mass_boundary`, then `coupling` of [`SmootherMatrices`] times the factor; in 2D then the columns of the interpolation
    /// from a coarse cell, at interior nodes.
    ///
    /// # Errors
    /// As [`Self::on_unit_cells`].
    pub fn smoother_table<T: Real>(&self) -> Result<Vec<T>> {
        let (unit, factor) = (self.on_unit_cells()?, self.operator_factor());
        let column = Column::new(&unit);
        let mut numbers: Vec<_> = unit.inverse_eigenvalues().into_iter().map(|inverse| inverse / factor).collect();
        numbers.extend(column.mass_boundary.iter().copied().chain(column.coupling.iter().map(|entry| factor * entry)));
        if self.dim() == 2 {
            numbers.extend(self.prolongation.rows(1, self.prolongation.nrows() - 2).iter());
        }
        Ok(numbers.into_iter().map(T::from_f64).collect())
    }

    /// What the patch smoother's kernels of paper 1 read, [`patchmg_device::variants::table_words`] numbers: `M` and `A`
    /// of a patch alone on all nodes, `S` on the interior ones, each row by row, and `λ`.
    pub fn variant_table<T: Real>(&self) -> Vec<T> {
        let Eigenpairs { values, vectors } = &self.eigenpairs;
        // Columns of the transposed matrix are rows; `M` and `A` are symmetric.
        let vectors = vectors.transpose();
        let stiffness = self.patch_stiffness::<T>();
        let numbers = self.mass.iter().chain(stiffness.iter()).chain(vectors.iter()).chain(values.iter());
        numbers.map(|&number| T::from_f64(number)).collect()
    }

    /// `A_j⁻¹` of a patch, `(2k - 1)^dim` rows and columns over the interior nodes, x fastest: the same for all patches.
    pub fn patch_inverse<T: Real>(&self) -> Vec<T> {
        let vectors = &self.eigenpairs.vectors;
        let (width, rows) = (vectors.nrows(), vectors.nrows().pow(self.dim() as u32));
        let weights = self.inverse_eigenvalues();
        let digit = |index: usize, direction: usize| index / width.pow(direction as u32) % width;
        let column = |node: usize| {
            let coefficient = |(function, weight): (usize, &f64)| {
                (0..self.dim()).map(|d| vectors[(digit(node, d), digit(function, d))]).product::<f64>() * weight
            };
            let mut column: Vec<f64> = weights.iter().enumerate().map(coefficient).collect();
            for direction in 0..self.dim() {
                let stride = width.pow(direction as u32);
                let at = |row: usize| {
                    let (own, start) = (digit(row, direction), row - digit(row, direction) * stride);
                    (0..width).map(|f| vectors[(own, f)] * column[start + f * stride]).sum()
                };
                column = (0..rows).map(at).collect();
            }
            column.into_iter().map(T::from_f64)
        };
        (0..rows).flat_map(column).collect()
    }

    /// Rows `1..=k` of a patch's mass and stiffness matrix, from which [`patchmg_device::point`] takes those of a mesh:
    /// `[mass row 1, stiffness row 1, mass row 2, ..]`, `2k + 1` entries each.
    pub fn point_rows<T: Real>(&self) -> Vec<T> {
        let stiffness = self.patch_stiffness::<T>();
        let rows = (1..=self.degree()).flat_map(|row| [&self.mass, &stiffness].map(|matrix| matrix.row(row)));
        rows.flat_map(|row| row.iter().map(|&entry| T::from_f64(entry)).collect::<Vec<_>>()).collect()
    }

    /// Entries `(M_ii, A_ii)` of the 1D matrices for every stored node of a direction.
    pub(super) fn diagonals(&self) -> Vec<(f64, f64)> {
        let rows = (0..self.grid().row()).map(|node| match node % self.degree() {
            0 => self.degree(),
            inside => inside,
        });
        rows.map(|row| (self.mass[(row, row)], self.stiffness[(row, row)])).collect()
    }

    /// What the patch smoother takes (paper 1, equation 2.15).
    ///
    /// # Panics
    /// If `K` is not the degree, a mistake in the program that no input can cause.
    pub fn smoother_matrices<T: Real, const K: usize, const M: usize>(&self) -> SmootherMatrices<T, K, M> {
        assert_eq!(K, self.degree());
        SmootherMatrices::new(&Column::new(self))
    }

    /// What the first color in 2D takes that adds a coarse correction, with the interpolation from `E` nodes of the coarse cell.
    ///
    /// # Panics
    /// If `K` is not the degree, or `E` more than `K + 1`.
    pub fn first_step_matrices<T: Real, const K: usize, const M: usize, const E: usize>(
        &self,
    ) -> FirstStepMatrices<T, K, M, E> {
        let interpolation = |node: usize, coarse: usize| T::from_f64(self.prolongation[(node + 1, coarse)]);
        let interpolation = core::array::from_fn(|node| core::array::from_fn(|coarse| interpolation(node, coarse)));
        FirstStepMatrices { smoother: self.smoother_matrices(), interpolation }
    }

    /// Mass and stiffness matrix of a patch alone, all `N = 2k + 1` nodes; `C = k + 1`.
    ///
    /// Kernels apply them to `x` less a constant, so rows of `f32` need not sum to zero: entries are rounded one by one,
    /// which is more exact (L2 errors in 2D, degree 10 in `f32`: 3e-7, and 4.7e-6 if rows sum to zero).
    ///
    /// # Panics
    /// If `N` and `C` are not those of the degree.
    pub fn operator_matrices<T: Real, const N: usize, const C: usize>(&self) -> OperatorMatrices<T, N, C> {
        assert_eq!((N, C), self.sizes());
        OperatorMatrices::new(entries(&self.mass), entries(&self.stiffness))
    }

    /// Mass and stiffness matrix of a cell alone, its `C = k + 1` nodes; `H = ceil(C / 2)`.
    ///
    /// # Panics
    /// If `C` and `H` are not those of the degree.
    pub fn cell_matrices<T: Real, const C: usize, const H: usize>(&self) -> CellMatrices<T, C, H> {
        let (_, c) = self.sizes();
        assert_eq!((C, H), (c, c.div_ceil(2)));
        let mass = self.element.mass() * self.mass_factor;
        CellMatrices::new(entries(&mass), entries(&self.cell_stiffness::<T>()))
    }

    /// `PᵀM`, `PᵀA` and `PᵀW` from a patch's `N = 2k + 1` nodes to the `k + 1` of its coarse cell; `H = ceil((k + 1) / 2)`.
    ///
    /// # Panics
    /// If `N` and `H` are not those of the degree.
    pub fn restriction_matrices<T: Real, const N: usize, const H: usize>(&self) -> RestrictionMatrices<T, N, H> {
        self.restriction(T::MANTISSA_DIGITS)
    }

    /// [`Self::restriction_matrices`] for kernels that apply them to `x` less a constant: as those of
    /// [`Self::operator_matrices`], entries in `f32` are rounded one by one.
    ///
    /// # Panics
    /// If `N` and `H` are not those of the degree.
    pub fn shifted_restriction_matrices<T: Real, const N: usize, const H: usize>(
        &self,
    ) -> RestrictionMatrices<T, N, H> {
        self.restriction(f64::MANTISSA_DIGITS)
    }

    /// With rows of `PᵀA` that sum to zero exactly in numbers of so many digits.
    fn restriction<T: Real, const N: usize, const H: usize>(&self, digits: u32) -> RestrictionMatrices<T, N, H> {
        let (n, c) = self.sizes();
        assert_eq!((N, H), (n, c.div_ceil(2)));
        let transposed = self.prolongation.transpose();
        let mut shared = transposed.clone();
        shared.column_mut(0).scale_mut(0.5);
        shared.column_mut(n - 1).scale_mut(0.5);
        let stiffness = with_zero_row_sums(&(&transposed * &self.stiffness), digits);
        RestrictionMatrices::new(entries(&(&transposed * &self.mass)), entries(&stiffness), entries(&shared))
    }

    /// `P` from a coarse cell's `C = k + 1` nodes to those of the patch that it becomes on this mesh.
    ///
    /// # Panics
    /// If `C` is not that of the degree.
    pub fn prolongation_matrices<T: Real, const C: usize>(&self) -> ProlongationMatrices<T, C> {
        assert_eq!(C, self.degree() + 1);
        ProlongationMatrices::new(entries(&self.prolongation))
    }

    /// Nodes of a patch and of a cell in one direction.
    fn sizes(&self) -> (usize, usize) {
        (patch_nodes(self.degree()).1, self.degree() + 1)
    }
}

/// `A` of a cell of a size alone, in numbers of so many binary digits.
fn cell_stiffness(element: &Element, cell_size: f64, digits: u32) -> DMatrix<f64> {
    with_zero_row_sums(&(element.stiffness() / cell_size), digits)
}

/// Without the first and the last row and column.
fn interior(patch: &DMatrix<f64>) -> DMatrix<f64> {
    let m = patch.nrows() - 2;
    patch.view((1, 1), (m, m)).into_owned()
}

/// The dense 1D data behind [`SmootherMatrices`].
struct Column<'a> {
    vectors: &'a DMatrix<f64>,
    mass: DMatrix<f64>,
    mass_boundary: DVector<f64>,
    coupling: DVector<f64>,
}

impl<'a> Column<'a> {
    fn new(space: &'a ContinuousSpace) -> Self {
        let Eigenpairs { values, vectors } = &space.eigenpairs;
        let transposed = vectors.transpose();
        let boundary = |matrix: &DMatrix<f64>| &transposed * matrix.view((1, 0), (vectors.nrows(), 1)).column(0);
        let mass_boundary = boundary(&space.mass);
        let coupling = boundary(&space.stiffness) - values.component_mul(&mass_boundary);
        Self { vectors, mass: &transposed * interior(&space.mass), mass_boundary, coupling }
    }
}

impl PatchColumn for Column<'_> {
    fn vector(&self, node: usize, function: usize) -> f64 {
        self.vectors[(node, function)]
    }
    fn mass(&self, function: usize, node: usize) -> f64 {
        self.mass[(function, node)]
    }
    fn mass_boundary(&self, function: usize) -> f64 {
        self.mass_boundary[function]
    }
    fn coupling(&self, function: usize) -> f64 {
        self.coupling[function]
    }
}

#[cfg(test)]
#[path = "continuous_tests.rs"]
mod tests;
