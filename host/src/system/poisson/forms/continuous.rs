//! Continuous elements: the 1D matrices and eigenpairs that a patch column needs.

use super::{distinct, entries, factors, inverse_diagonal, inverse_sums};
use crate::error::Result;
use crate::fe::{Eigenpairs, Element, assemble, symmetric_eigenpairs, with_zero_row_sums};
use crate::space::Space;
use nalgebra::{DMatrix, DVector};
use patchmg_device::kernels::patch_nodes;
use patchmg_device::matrices::{
    CellMatrices, FirstStepMatrices, OperatorMatrices, PatchColumn, ProlongationMatrices, RestrictionMatrices,
    SmootherMatrices,
};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Real;

/// `-Δ` by continuous elements on the cells of a space: the stiffness matrix is `A ⊗ M + M ⊗ A`, in 3D three such terms, with the
/// 1D matrices of each direction.
///
/// CPU kernels take these; GPU kernels take those of cells of size 1, [`Self::unit`], with [`Self::factors`].
#[derive(Clone, Debug)]
pub struct ContinuousForms {
    space: Space,
    unit: ContinuousForm,
    /// One for each cell size.
    forms: Vec<ContinuousForm>,
    /// Which of them a direction has; in 2D the last counts for nothing.
    of_direction: [usize; 3],
}

impl ContinuousForms {
    /// In a space of continuous elements, of one degree.
    ///
    /// # Errors
    /// As [`symmetric_eigenpairs`].
    pub fn new(space: &Space) -> Result<Self> {
        let element = space.axes()[0].element();
        let (sizes, of_direction) = distinct(space.mesh());
        Ok(Self {
            unit: ContinuousForm::new(element, 1.0)?,
            forms: sizes.into_iter().map(|size| ContinuousForm::new(element, size)).collect::<Result<_>>()?,
            of_direction,
            space: space.clone(),
        })
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.space.dim()
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.space.degree()
    }

    /// Storage order of vectors.
    pub fn grid(&self) -> Grid {
        Grid { cells: self.space.mesh().cells_along().map(|cells| cells as u32), degree: self.degree() as u32 }
    }

    /// On cells of size 1.
    pub fn unit(&self) -> &ContinuousForm {
        &self.unit
    }

    /// What makes the operator of [`Self::unit`]: those of [`patchmg_device::matrices::Scaled`].
    pub fn factors(&self) -> [f64; 3] {
        factors(self.space.mesh(), 1.0)
    }

    /// One for each size of cells, and which of them a direction has; in 2D the last counts for nothing.
    pub fn by_size(&self) -> (&[ContinuousForm], [usize; 3]) {
        (&self.forms, self.of_direction)
    }

    /// In a direction.
    pub fn along(&self, direction: usize) -> &ContinuousForm {
        &self.forms[self.of_direction[direction]]
    }

    /// `1 / (λ_i + λ_j [+ λ_l])` with the eigenvalues of each direction, that of x fastest, functions ordered even ones first
    /// as in [`SmootherMatrices`].
    pub fn inverse_eigenvalues(&self) -> Vec<f64> {
        inverse_sums((0..self.dim()).map(|d| (1.0, self.along(d).eigenpairs.values.as_slice())), 0.0).collect()
    }

    /// What a GPU thread of the smoother looks up by its own column, [`patchmg_device::smoother::table_words`] numbers in its
    /// order, with the eigenvectors of cells of size 1.
    pub fn smoother_table<T: Real>(&self) -> Vec<T> {
        self.unit.smoother_table(self.dim(), self.factors(), 0.0)
    }

    /// What the patch smoother's kernels of paper 1 read, [`patchmg_device::variants::table_words`] numbers: `M` and `A`
    /// of a patch alone on all nodes, `S` on the interior ones, each row by row, and `λ`; those of the x direction.
    pub fn variant_table<T: Real>(&self) -> Vec<T> {
        let form = self.along(0);
        let Eigenpairs { values, vectors } = &form.eigenpairs;
        // Columns of the transposed matrix are rows; `M` and `A` are symmetric.
        let vectors = vectors.transpose();
        let stiffness = form.patch_stiffness::<T>();
        let numbers = form.mass.iter().chain(stiffness.iter()).chain(vectors.iter()).chain(values.iter());
        numbers.map(|&number| T::from_f64(number)).collect()
    }

    /// `A_j⁻¹` of a patch, `(2k - 1)^dim` rows and columns over the interior nodes, x fastest: the same for all patches.
    pub fn patch_inverse<T: Real>(&self) -> Vec<T> {
        let width = self.unit.eigenpairs.vectors.nrows();
        let vectors = |direction: usize| &self.along(direction).eigenpairs.vectors;
        let rows = width.pow(self.dim() as u32);
        let weights = self.inverse_eigenvalues();
        let digit = |index: usize, direction: usize| index / width.pow(direction as u32) % width;
        let column = |node: usize| {
            let coefficient = |(function, weight): (usize, &f64)| {
                (0..self.dim()).map(|d| vectors(d)[(digit(node, d), digit(function, d))]).product::<f64>() * weight
            };
            let mut column: Vec<f64> = weights.iter().enumerate().map(coefficient).collect();
            for direction in 0..self.dim() {
                let stride = width.pow(direction as u32);
                let at = |row: usize| {
                    let (own, start) = (digit(row, direction), row - digit(row, direction) * stride);
                    (0..width).map(|f| vectors(direction)[(own, f)] * column[start + f * stride]).sum()
                };
                column = (0..rows).map(at).collect();
            }
            column.into_iter().map(T::from_f64)
        };
        (0..rows).flat_map(column).collect()
    }

    /// `1 / A_ii` for every unknown `i`, in storage order; other entries are zero.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn inverse_diagonal<T: Real>(&self) -> Result<Vec<T>> {
        let lines: Vec<_> = (0..self.dim()).map(|d| self.along(d).diagonals(self.grid().nodes(d))).collect();
        inverse_diagonal(&self.space, &lines)
    }
}

/// `-d²/dx²` by continuous elements on cells of one size: mass `h M̂` and stiffness `Â / h` of the reference cell, of a patch.
///
/// Whatever the cell size and the scalar, the entries of `A` and `PᵀA` are rounded such that [rows sum to zero
/// exactly](with_zero_row_sums). Only [`Self::operator_matrices`] and
/// [`Self::shifted_restriction_matrices`] in `f32` are not.
#[derive(Clone, Debug)]
pub struct ContinuousForm {
    element: Element,
    cell_size: f64,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    prolongation: DMatrix<f64>,
    eigenpairs: Eigenpairs,
}

impl ContinuousForm {
    /// Of an element on cells of a size.
    ///
    /// # Errors
    /// As [`symmetric_eigenpairs`].
    pub fn new(element: &Element, cell_size: f64) -> Result<Self> {
        let mass = assemble(&(element.mass() * cell_size), 2);
        let stiffness = assemble(&cell_stiffness(element, cell_size, f64::MANTISSA_DIGITS), 2);
        let eigenpairs = symmetric_eigenpairs(&interior(&stiffness), &interior(&mass))?;
        let prolongation = element.prolongation();
        Ok(Self { element: element.clone(), cell_size, mass, stiffness, prolongation, eigenpairs })
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element.degree()
    }

    /// `A S = M S Λ` on the unknowns of so many cells in a row: the functions that are even about the middle first.
    ///
    /// # Errors
    /// As [`symmetric_eigenpairs`].
    pub fn line_eigenpairs(&self, cells: usize) -> Result<Eigenpairs> {
        let stiffness = interior(&assemble(&self.cell_stiffness::<f64>(), cells));
        symmetric_eigenpairs(&stiffness, &interior(&assemble(&(self.element.mass() * self.cell_size), cells)))
    }

    /// `A` of a cell alone, as numbers of `T`.
    fn cell_stiffness<T: Real>(&self) -> DMatrix<f64> {
        cell_stiffness(&self.element, self.cell_size, T::MANTISSA_DIGITS)
    }

    /// `A` of a patch alone, as numbers of `T`.
    fn patch_stiffness<T: Real>(&self) -> DMatrix<f64> {
        assemble(&self.cell_stiffness::<T>(), 2)
    }

    /// Rows `1..=k` of a patch's mass and stiffness matrix, from which [`patchmg_device::point`] takes those of a mesh:
    /// `[mass row 1, stiffness row 1, mass row 2, ..]`, `2k + 1` entries each.
    pub fn point_rows<T: Real>(&self) -> Vec<T> {
        let stiffness = self.patch_stiffness::<T>();
        let rows = (1..=self.degree()).flat_map(|row| [&self.mass, &stiffness].map(|matrix| matrix.row(row)));
        rows.flat_map(|row| row.iter().map(|&entry| T::from_f64(entry)).collect::<Vec<_>>()).collect()
    }

    /// Entries `(M_ii, A_ii)` of the 1D matrices for so many stored nodes of a direction.
    fn diagonals(&self, nodes: usize) -> Vec<(f64, f64)> {
        let rows = (0..nodes).map(|node| match node % self.degree() {
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

    /// What a GPU thread of the smoother looks up by its own column, [`patchmg_device::smoother::table_words`] numbers in its order,
    /// of these matrices with factors of [`patchmg_device::matrices::Scaled`], and a reaction times the product of the mass matrices.
    pub(crate) fn smoother_table<T: Real>(&self, dim: usize, factors: [f64; 3], reaction: f64) -> Vec<T> {
        let (column, values) = (Column::new(self), self.eigenpairs.values.as_slice());
        // In the order in which a thread reads them.
        let directions = if dim == 2 { vec![1, 0] } else { vec![0, 2, 1] };
        let mut numbers: Vec<_> = inverse_sums(directions.iter().map(|&d| (factors[d], values)), reaction).collect();
        numbers.extend(column.mass_boundary.iter());
        for &direction in &directions[..dim - 1] {
            numbers.extend(column.coupling.iter().map(|entry| factors[direction] * entry));
        }
        if dim == 2 {
            numbers.extend(self.prolongation.rows(1, self.prolongation.nrows() - 2).iter());
        }
        numbers.into_iter().map(T::from_f64).collect()
    }

    /// `Λ`, functions that are even about the middle first.
    pub(crate) fn eigenvalues(&self) -> &[f64] {
        self.eigenpairs.values.as_slice()
    }

    /// `M 1` of a patch alone.
    pub(crate) fn patch_mass_sums(&self) -> Vec<f64> {
        self.mass.column_sum().iter().copied().collect()
    }

    /// `PᵀM 1` of a patch alone.
    pub(crate) fn coarse_mass_sums(&self) -> Vec<f64> {
        (self.prolongation.transpose() * self.mass.column_sum()).iter().copied().collect()
    }

    /// `Sᵀ M 1` on a patch, a number for each function.
    pub(crate) fn mass_sums(&self) -> Vec<f64> {
        let inner = self.mass.rows(1, self.mass.nrows() - 2).column_sum();
        self.eigenpairs.vectors.tr_mul(&inner).iter().copied().collect()
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
        self.operator_matrices_with_reaction(0.0)
    }

    /// The same with `A + s M` instead of `A`.
    ///
    /// # Panics
    /// Those of [`Self::operator_matrices`].
    pub(crate) fn operator_matrices_with_reaction<T: Real, const N: usize, const C: usize>(
        &self,
        s: f64,
    ) -> OperatorMatrices<T, N, C> {
        assert_eq!((N, C), self.sizes());
        let stiffness = &self.stiffness + &self.mass * s;
        OperatorMatrices::new(entries(&self.mass), entries(&stiffness))
    }

    /// Mass and stiffness matrix of a cell alone, its `C = k + 1` nodes; `H = ceil(C / 2)`.
    ///
    /// # Panics
    /// If `C` and `H` are not those of the degree.
    pub fn cell_matrices<T: Real, const C: usize, const H: usize>(&self) -> CellMatrices<T, C, H> {
        let (_, c) = self.sizes();
        assert_eq!((C, H), (c, c.div_ceil(2)));
        let mass = self.element.mass() * self.cell_size;
        CellMatrices::new(entries(&mass), entries(&self.cell_stiffness::<T>()))
    }

    /// `PᵀM`, `PᵀA` and `PᵀW` from a patch's `N = 2k + 1` nodes to the `k + 1` of its coarse cell; `H = ceil((k + 1) / 2)`.
    ///
    /// # Panics
    /// If `N` and `H` are not those of the degree.
    pub fn restriction_matrices<T: Real, const N: usize, const H: usize>(&self) -> RestrictionMatrices<T, N, H> {
        self.restriction(T::MANTISSA_DIGITS, 0.0)
    }

    /// [`Self::restriction_matrices`] for kernels that apply them to `x` less a constant: as those of
    /// [`Self::operator_matrices`], entries in `f32` are rounded one by one.
    ///
    /// # Panics
    /// If `N` and `H` are not those of the degree.
    pub fn shifted_restriction_matrices<T: Real, const N: usize, const H: usize>(
        &self,
    ) -> RestrictionMatrices<T, N, H> {
        self.shifted_restriction_matrices_with_reaction(0.0)
    }

    /// The same with `A + s M` instead of `A`.
    ///
    /// # Panics
    /// Those of [`Self::shifted_restriction_matrices`].
    pub(crate) fn shifted_restriction_matrices_with_reaction<T: Real, const N: usize, const H: usize>(
        &self,
        s: f64,
    ) -> RestrictionMatrices<T, N, H> {
        self.restriction(f64::MANTISSA_DIGITS, s)
    }

    /// With rows of `PᵀA` that sum to zero exactly in numbers of so many digits, to which `s PᵀM` is added.
    fn restriction<T: Real, const N: usize, const H: usize>(
        &self,
        digits: u32,
        s: f64,
    ) -> RestrictionMatrices<T, N, H> {
        let (n, c) = self.sizes();
        assert_eq!((N, H), (n, c.div_ceil(2)));
        let transposed = self.prolongation.transpose();
        let mut shared = transposed.clone();
        shared.column_mut(0).scale_mut(0.5);
        shared.column_mut(n - 1).scale_mut(0.5);
        let mass = &transposed * &self.mass;
        let stiffness = with_zero_row_sums(&(&transposed * &self.stiffness), digits) + &mass * s;
        RestrictionMatrices::new(entries(&mass), entries(&stiffness), entries(&shared))
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
    fn new(form: &'a ContinuousForm) -> Self {
        let Eigenpairs { values, vectors } = &form.eigenpairs;
        let transposed = vectors.transpose();
        let boundary = |matrix: &DMatrix<f64>| &transposed * matrix.view((1, 0), (vectors.nrows(), 1)).column(0);
        let mass_boundary = boundary(&form.mass);
        let coupling = boundary(&form.stiffness) - values.component_mul(&mass_boundary);
        Self { vectors, mass: &transposed * interior(&form.mass), mass_boundary, coupling }
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
