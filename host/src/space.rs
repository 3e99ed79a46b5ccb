//! A finite element space on a mesh: element, numbering, and the 1D matrices and eigenpairs that a patch column needs.

use crate::error::{Error, Result};
use crate::fe::{Eigenpairs, Element, assemble, symmetric_eigenpairs};
use crate::mesh::Mesh;
use glam::DVec3;
use nalgebra::{DMatrix, DVector};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, patch_nodes};
use patchmg_device::matrices::{
    CellMatrices, OperatorMatrices, PatchColumn, ProlongationMatrices, RestrictionMatrices, SmootherMatrices,
};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Real;

/// Continuous `Q_k` on a uniform mesh of the unit square or cube, Gauss-Lobatto nodes, zero on the boundary.
///
/// Its 1D matrices carry the cell size `h`: mass `h M̂` and stiffness `Â / h` of the reference cell, so that
/// `A ⊗ M + M ⊗ A` (and its three terms in 3D) is the stiffness matrix of `-Δ`.
#[derive(Clone, Debug)]
pub struct Space {
    mesh: Mesh,
    element: Element,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    prolongation: DMatrix<f64>,
    eigenpairs: Eigenpairs,
}

impl Space {
    /// `Q_k` of degree 1 to 10 in 2D, 1 to 8 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another degree, or if a vector would not fit the address space.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        let degrees = if mesh.dim() == 2 { DEGREES_2D } else { DEGREES_3D };
        if !degrees.contains(&degree) {
            return Err(Error::InvalidArgument {
                name: "degree",
                value: degree.to_string(),
                allowed: format!("{} to {} in {}D", degrees.start(), degrees.end(), mesh.dim()),
            });
        }
        check_storage(mesh, degree)?;
        let element = Element::new(degree)?;
        let h = mesh.cell_size();
        let mass = assemble(&element.mass(), 2) * h;
        let stiffness = assemble(&element.stiffness(), 2) / h;
        let eigenpairs = symmetric_eigenpairs(&interior(&stiffness), &interior(&mass))?;
        Ok(Self { mesh, prolongation: element.prolongation(), element, mass, stiffness, eigenpairs })
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

    /// The space of the same degree on the next coarser mesh, unless this one is a single patch.
    pub fn coarser(&self) -> Option<Result<Self>> {
        self.mesh.coarser().map(|mesh| Self::new(mesh, self.degree()))
    }

    /// Unknowns.
    pub fn dofs(&self) -> usize {
        self.grid().dofs(self.dim())
    }

    /// Storage order of its vectors.
    pub fn grid(&self) -> Grid {
        Grid { cells: self.mesh.cells_per_direction(), degree: self.degree() as u32 }
    }

    /// Length of its vectors: [`Grid::storage`].
    pub fn storage(&self) -> usize {
        self.grid().storage(self.dim())
    }

    /// Coordinate of node `index` of a direction, `0 ..= cells k`.
    pub fn coordinate(&self, index: usize) -> f64 {
        let (cell, node) = (index / self.degree(), index % self.degree());
        (cell as f64 + self.element.nodes()[node]) * self.mesh.cell_size()
    }

    /// Where node `(x, y, z)` lies; in 2D `z` must be 0 and the point's third coordinate is 0.
    pub fn point(&self, node: [usize; 3]) -> DVec3 {
        DVec3::from_array(node.map(|index| self.coordinate(index)))
    }

    /// Offset of node `(x, y, z)` in a vector; in 2D `z` must be 0.
    pub fn offset(&self, node: [usize; 3]) -> usize {
        self.grid().offset_3d(node[0], node[1], node[2])
    }

    /// The nodes that are unknowns, in the order of dofs: lexicographic, `x` fastest; `z` is 0 in 2D.
    pub fn unknowns(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let last = self.grid().row();
        let planes = if self.dim() == 2 { 0..1 } else { 1..last };
        planes.flat_map(move |z| (1..last).flat_map(move |y| (1..last).map(move |x| [x, y, z])))
    }

    /// The unknowns of a vector in storage order, in the order of dofs.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless `stored` has [`Self::storage`] entries.
    pub fn to_dofs<T: Real>(&self, stored: &[T]) -> Result<Vec<T>> {
        self.check_length("vector in storage order", self.storage(), stored.len())?;
        Ok(self.unknowns().map(|node| stored[self.offset(node)]).collect())
    }

    /// The vector in storage order with the given unknowns; other entries are zero.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless `dofs` has [`Self::dofs`] entries.
    pub fn from_dofs<T: Real>(&self, dofs: &[T]) -> Result<Vec<T>> {
        self.check_length("vector of dofs", self.dofs(), dofs.len())?;
        let mut stored = vec![T::ZERO; self.storage()];
        for (node, &value) in self.unknowns().zip(dofs) {
            stored[self.offset(node)] = value;
        }
        Ok(stored)
    }

    fn check_length(&self, what: &'static str, expected: usize, found: usize) -> Result<()> {
        if found == expected { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
    }

    /// `1 / (λ_i + λ_j [+ λ_l])`, index `i` fastest, functions ordered even ones first as in [`SmootherMatrices`].
    pub fn inverse_eigenvalues(&self) -> Vec<f64> {
        let lambda = &self.eigenpairs.values;
        let last: &[f64] = if self.dim() == 2 { &[0.0] } else { lambda.as_slice() };
        let sums = last.iter().flat_map(|l| lambda.iter().flat_map(move |j| lambda.iter().map(move |i| i + j + l)));
        sums.map(|sum| 1.0 / sum).collect()
    }

    /// What a GPU thread of the smoother looks up by its own column, [`patchmg_device::smoother::table_words`] numbers:
    /// [`Self::inverse_eigenvalues`], then `mass_boundary`, then `coupling` of [`SmootherMatrices`].
    pub fn smoother_table<T: Real>(&self) -> Vec<T> {
        let column = Column::new(self);
        let boundary = column.mass_boundary.iter().chain(column.coupling.iter()).copied();
        self.inverse_eigenvalues().into_iter().chain(boundary).map(T::from_f64).collect()
    }

    /// What the patch smoother's kernels of paper 1 read, [`patchmg_device::variants::table_words`] numbers: `M` and `A`
    /// of a patch alone on all nodes, `S` on the interior ones, each row by row, and `λ`.
    pub fn variant_table<T: Real>(&self) -> Vec<T> {
        let Eigenpairs { values, vectors } = &self.eigenpairs;
        // Columns of the transposed matrix are rows; `M` and `A` are symmetric.
        let vectors = vectors.transpose();
        let numbers = self.mass.iter().chain(self.stiffness.iter()).chain(vectors.iter()).chain(values.iter());
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
        let rows = (1..=self.degree()).flat_map(|row| [&self.mass, &self.stiffness].map(|matrix| matrix.row(row)));
        rows.flat_map(|row| row.iter().map(|&entry| T::from_f64(entry)).collect::<Vec<_>>()).collect()
    }

    /// `1 / A_ii` for every unknown `i`, in storage order; other entries are zero.
    pub fn inverse_diagonal<T: Real>(&self) -> Vec<T> {
        let diagonals: Vec<(f64, f64)> = (0..self.grid().row())
            .map(|node| if node.is_multiple_of(self.degree()) { self.degree() } else { node % self.degree() })
            .map(|row| (self.mass[(row, row)], self.stiffness[(row, row)]))
            .collect();
        let mut inverse = vec![T::ZERO; self.storage()];
        for node in self.unknowns() {
            // `A_ii` of one direction more: its stiffness times the mass so far, and its mass times the stiffness so far.
            let add = |(m, s): (f64, f64), &node: &usize| {
                let (mass, stiffness) = diagonals[node];
                (mass * m, stiffness * m + mass * s)
            };
            let (_, entry) = node[..self.dim()].iter().fold((1.0, 0.0), add);
            inverse[self.offset(node)] = T::from_f64(1.0 / entry);
        }
        inverse
    }

    /// What the patch smoother takes (paper 1, equation 2.15).
    ///
    /// # Panics
    /// If `K` is not the degree, a mistake in the program that no input can cause.
    pub fn smoother_matrices<T: Real, const K: usize, const M: usize>(&self) -> SmootherMatrices<T, K, M> {
        assert_eq!(K, self.degree());
        SmootherMatrices::new(&Column::new(self))
    }

    /// Mass and stiffness matrix of a patch alone, all `N = 2k + 1` nodes; `C = k + 1`.
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
        let h = self.mesh.cell_size();
        CellMatrices::new(entries(&(self.element.mass() * h)), entries(&(self.element.stiffness() / h)))
    }

    /// `PᵀM`, `PᵀA` and `PᵀW` from a patch's `N = 2k + 1` nodes to the `k + 1` of its coarse cell; `H = ceil((k + 1) / 2)`.
    ///
    /// # Panics
    /// If `N` and `H` are not those of the degree.
    pub fn restriction_matrices<T: Real, const N: usize, const H: usize>(&self) -> RestrictionMatrices<T, N, H> {
        let (n, c) = self.sizes();
        assert_eq!((N, H), (n, c.div_ceil(2)));
        let transposed = self.prolongation.transpose();
        let mut shared = transposed.clone();
        shared.column_mut(0).scale_mut(0.5);
        shared.column_mut(n - 1).scale_mut(0.5);
        RestrictionMatrices::new(
            entries(&(&transposed * &self.mass)),
            entries(&(&transposed * &self.stiffness)),
            entries(&shared),
        )
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

/// Vectors of `f64` must be addressable; a mesh's limit ensures that on 64 bits, so this is for smaller machines.
fn check_storage(mesh: Mesh, degree: usize) -> Result<()> {
    let nodes = (u128::from(mesh.cells_per_direction()) * degree as u128 + 1).pow(mesh.dim() as u32);
    if nodes * 8 <= isize::MAX as u128 {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        name: "refine",
        value: mesh.refine().to_string(),
        allowed: format!("such that a vector has at most {} bytes, not {}", isize::MAX, nodes * 8),
    })
}

fn entries(matrix: &DMatrix<f64>) -> impl Fn(usize, usize) -> f64 {
    |i, j| matrix[(i, j)]
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
    fn new(space: &'a Space) -> Self {
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
#[path = "space_tests.rs"]
mod tests;
