//! Discontinuous elements: the 1D matrices of the symmetric interior penalty method, and eigenpairs of its patches.

use super::{check_storage, degree_out_of_range, entries};
use crate::error::Result;
use crate::fe::{Eigenpairs, Element, FixedPoint, generalized_eigenpairs, largest_row_sum, symmetric_eigenpairs};
use crate::mesh::Mesh;
use nalgebra::{DMatrix, DVector};
use patchmg_device::kernels::Boxes;
use patchmg_device::matrices::{DgCellMatrices, DgSolveMatrices, DgTransferMatrices};
use patchmg_device::patch::{DgGrid, Ends};
use patchmg_device::scalar::Real;

/// Discontinuous `Q_k` on a uniform mesh of the unit square or cube, Gauss-Lobatto nodes, with the form (paper 4,
/// equation 2) of the symmetric interior penalty method
///
/// ```text
/// Σ_K ∫ ∇u·∇v + Σ_faces ∫ σ [u][v] - {∂ₙu} [v] - [u] {∂ₙv},    σ = k (k + 1) (1/h⁺ + 1/h⁻) = 2 k (k + 1) / h
/// ```
///
/// with the jump `[u] = u⁺ - u⁻` and the mean `{∂ₙu}` of the normal derivatives; on the boundary both are those of the one
/// cell there is, and `σ` is the same.
///
/// On a Cartesian mesh this is `L ⊗ M + M ⊗ L` (and its three terms in 3D) with the 1D mass matrix `M`, block diagonal,
/// and the 1D matrix `L` of the form itself, block tridiagonal (equation 9).
#[derive(Clone, Debug)]
pub struct DiscontinuousSpace {
    mesh: Mesh,
    element: Element,
    form: Form,
    /// Of a patch, one for each of [`Ends::ALL`].
    eigenpairs: Vec<Eigenpairs>,
}

impl DiscontinuousSpace {
    /// `Q_k` of degree 1 to 8.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for another degree, or if a vector would not fit the address
    /// space.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        if !DgGrid::DEGREES.contains(&degree) {
            return Err(degree_out_of_range(degree, DgGrid::DEGREES, format_args!("with discontinuous elements")));
        }
        check_storage(mesh, mesh.cells_per_direction() as usize * (degree + 1))?;
        let element = Element::new(degree)?;
        let form = Form::of_cells(&element, mesh.cell_size());
        let mass = twice(&form.mass);
        let symmetric = |ends| symmetric_eigenpairs(&form.patch(ends), &mass);
        let lower = generalized_eigenpairs(&form.patch(Ends::Lower), &mass)?;
        let eigenpairs = vec![symmetric(Ends::Neither)?, lower.clone(), mirrored(lower), symmetric(Ends::Both)?];
        Ok(Self { mesh, element, form, eigenpairs })
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
    pub fn grid(&self) -> DgGrid {
        DgGrid { cells: self.mesh.cells_per_direction(), degree: self.degree() as u32 }
    }

    /// `σ`.
    pub fn penalty(&self) -> f64 {
        self.form.penalty
    }

    /// `M` of a patch, `2(k + 1)` rows and columns.
    pub fn patch_mass(&self) -> DMatrix<f64> {
        twice(&self.form.mass)
    }

    /// `L` of a patch, cut out of that of the direction: it differs at the ends of the domain.
    pub fn patch_stiffness(&self, ends: Ends) -> DMatrix<f64> {
        self.form.patch(ends)
    }

    /// `L S = M S Λ` of a patch; if it is symmetric, its even functions first.
    pub fn eigenpairs(&self, ends: Ends) -> &Eigenpairs {
        &self.eigenpairs[ends as usize]
    }

    /// `S` of a patch by its rows, a node each.
    ///
    /// # Panics
    /// If `N` is not `2(k + 1)`, a mistake in the program that no input can cause.
    pub fn patch_vectors<T: Real, const N: usize>(&self, ends: Ends) -> [[T; N]; N] {
        let vectors = &self.eigenpairs(ends).vectors;
        assert_eq!((N, N), vectors.shape());
        core::array::from_fn(|node| core::array::from_fn(|function| T::from_f64(vectors[(node, function)])))
    }

    /// `1 / (λ_i + λ_j [+ λ_l])` of a patch with these ends in each direction, index `i` fastest.
    pub fn inverse_eigenvalues(&self, ends: [Ends; 3]) -> Vec<f64> {
        let [x, y, z] = ends.map(|ends| self.eigenpairs(ends).values.as_slice());
        let z = if self.dim() == 2 { &[0.0] } else { z };
        let sums = z.iter().flat_map(|l| y.iter().flat_map(move |j| x.iter().map(move |i| i + j + l)));
        sums.map(|sum| 1.0 / sum).collect()
    }

    /// `S` of this level's patches as a GPU takes it.
    ///
    /// # Panics
    /// If the sizes are not those of the degree.
    pub fn solve_matrices<T: Real, const N: usize, const C: usize>(&self) -> DgSolveMatrices<T, N, C> {
        assert_eq!((N, C), (2 * self.degree() + 2, self.degree() + 1));
        let symmetric = self.eigenpairs(self.ends_of_class(0));
        DgSolveMatrices::new(entries(&symmetric.vectors), entries(&self.eigenpairs(Ends::Lower).vectors))
    }

    /// Inverse eigenvalues of this level's patches as [`patchmg_device::dg::solve`] takes them: for every class of ends, that of
    /// `x` fastest, those of [`Self::inverse_eigenvalues`] with the indices in the order `y`, `z`, `x`, in 2D `y`, `x`.
    pub fn solve_table<T: Real>(&self) -> Vec<T> {
        let of_class = |class: usize| {
            let [x, y, z] = [0, 1, 2].map(|direction| self.ends_of_class(class >> direction & 1));
            self.inverse_eigenvalues(if self.dim() == 2 { [y, x, z] } else { [y, z, x] })
        };
        (0..1 << self.dim()).flat_map(of_class).map(T::from_f64).collect()
    }

    /// Patches at an end have eigenvalues of their own, but those at one end are those at the other: class 1, and class 0 what
    /// lies between. A level of one patch has none of these; there both are that patch's.
    fn ends_of_class(&self, class: usize) -> Ends {
        match (self.grid().cells, class) {
            (2, _) => Ends::Both,
            (_, 0) => Ends::Neither,
            _ => Ends::Lower,
        }
    }

    /// What the operator takes.
    ///
    /// # Panics
    /// If `C` and `H` are not those of the degree.
    pub fn cell_matrices<T: Real, const C: usize, const H: usize>(&self) -> DgCellMatrices<T, C, H> {
        assert_eq!((C, H), (self.degree() + 1, (self.degree() + 1).div_ceil(2)));
        let Form { mass, stiffness, normal, penalty } = &self.form;
        DgCellMatrices::new(entries(mass), entries(stiffness), |t| normal[t], *penalty)
    }

    /// `P` from a coarse cell to its halves, and `Pᵀ`.
    ///
    /// # Panics
    /// If the sizes are not those of the degree.
    pub fn transfer_matrices<T: Real, const N: usize, const C: usize, const H: usize>(
        &self,
    ) -> DgTransferMatrices<T, N, C, H> {
        assert_eq!((C, H), (self.degree() + 1, (self.degree() + 1).div_ceil(2)));
        let shared = self.element.prolongation();
        // The halves have the node between them in common there.
        DgTransferMatrices::new(|i, j| shared[(if i < C { i } else { i - 1 }, j)])
    }

    /// 1D data of the operator box by box, as [`patchmg_device::tensor_core::operator::table_words`] says, of cells of size 1,
    /// which keeps products within the range of half precision; the factor is that of cells of size `h` in 3D.
    pub fn box_table(&self, boxes: Boxes) -> Vec<f64> {
        let form = Form::of_cells(&self.element, 1.0);
        let (mass, stiffness) = match boxes {
            Boxes::Patch => (twice(&form.mass), form.patch(Ends::Neither)),
            Boxes::Cell => (form.mass, form.stiffness),
        };
        let nodes = mass.nrows();
        let normal = |t: usize| form.normal.get(t).copied().unwrap_or(0.0);
        let delta = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        // Symmetric: by columns as by rows.
        let mut table: Vec<f64> = mass.iter().chain(stiffness.iter()).copied().collect();
        for t in 0..nodes {
            table.extend([normal(t), delta(t, 0), normal(nodes - 1 - t), delta(t, nodes - 1)]);
        }
        table.extend((0..nodes).map(normal));
        table.extend([form.penalty, self.mesh.cell_size()]);
        table
    }

    /// 1D data of the solution on patches, as [`patchmg_device::tensor_core::solve::table_words`] says, of cells of size 1.
    pub fn box_solve_table(&self) -> Vec<f64> {
        let h = self.mesh.cell_size();
        let pairs = Ends::ALL.map(|ends| self.eigenpairs(ends));
        // With `Sᵀ M S = 1` and `L S = M S Λ`, `S` scales with `1 / √h` and `Λ` with `1 / h²`.
        let vectors = pairs.iter().flat_map(|pairs| pairs.vectors.transpose().iter().copied().collect::<Vec<_>>());
        let values = pairs.iter().flat_map(|pairs| pairs.values.iter().copied());
        vectors.map(|entry| entry * h.sqrt()).chain(values.map(|value| value * h * h)).chain([1.0 / h]).collect()
    }

    /// What a boundary value `1` adds to the load vector, `σ l_t - ∂ₙl_t`, nodes counted from the boundary on.
    pub(crate) fn boundary_load(&self) -> Vec<f64> {
        let mut load: Vec<f64> = self.form.normal.iter().map(|normal| -2.0 * normal).collect();
        load[0] += self.form.penalty;
        load
    }

    /// Entries `(M_ii, L_ii)` of the 1D matrices for every node of a direction.
    pub(super) fn diagonals(&self) -> Vec<(f64, f64)> {
        let (nodes, cells) = (self.degree() + 1, self.grid().cells as usize);
        let (lower, upper) = (self.patch_stiffness(Ends::Lower), self.patch_stiffness(Ends::Upper));
        let entry = |index: usize| {
            let (cell, node) = (index / nodes, index % nodes);
            let stiffness = match cell {
                0 => lower[(node, node)],
                _ if cell + 1 == cells => upper[(nodes + node, nodes + node)],
                _ => self.form.stiffness[(node, node)],
            };
            (self.form.mass[(node, node)], stiffness)
        };
        (0..self.grid().row()).map(entry).collect()
    }
}

/// The form in one direction.
///
/// Constants are exactly in the null space: `∫ l_i' l_j'`, the normal derivatives and `σ` are numbers of one [`FixedPoint`], the
/// derivatives of a constant are zero, and what the faces add cancels. This holds for the `f64` entries; in `f32` the
/// kernels apply the form to `u` less a constant.
#[derive(Clone, Debug)]
struct Form {
    /// Of a cell.
    mass: DMatrix<f64>,
    /// Of a cell between two others, its faces included.
    stiffness: DMatrix<f64>,
    /// Half the outward normal derivatives on a face, nodes counted from the face on.
    normal: Vec<f64>,
    /// `σ`.
    penalty: f64,
}

impl Form {
    /// On cells of size `h`.
    fn of_cells(element: &Element, h: f64) -> Self {
        let last = element.degree();
        let penalty = (2 * last * (last + 1)) as f64 / h;
        let slopes = element.derivatives(1.0);
        let normal = DMatrix::from_fn(1, last + 1, |_, t| 0.5 * slopes[last - t] / h);
        let stiffness = element.stiffness() / h;

        // A row with both neighbours has σ and the derivatives twice, and four derivatives at single nodes.
        let largest = largest_row_sum(&stiffness) + 2.0 * (normal.abs().sum() + 2.0 * normal.amax() + penalty);
        let numbers = FixedPoint::of_row_sums(largest, 3 * (last + 1), f64::MANTISSA_DIGITS);
        let penalty = numbers.round(penalty);
        let normal: Vec<f64> = numbers.with_zero_row_sums(&normal).iter().copied().collect();
        let mut stiffness = numbers.with_zero_row_sums(&stiffness);
        for j in 0..=last {
            stiffness[(0, j)] -= normal[j];
            stiffness[(j, 0)] -= normal[j];
            stiffness[(last, last - j)] -= normal[j];
            stiffness[(last - j, last)] -= normal[j];
        }
        stiffness[(0, 0)] += penalty;
        stiffness[(last, last)] += penalty;
        Self { mass: element.mass() * h, stiffness, normal, penalty }
    }

    fn patch(&self, ends: Ends) -> DMatrix<f64> {
        let last = self.normal.len() - 1;
        let mut patch = twice(&self.stiffness);
        for (t, &normal) in self.normal.iter().enumerate() {
            let mut couple = |i: usize, j: usize, value: f64| {
                patch[(i, j)] += value;
                patch[(j, i)] += value;
            };
            // The face between the two cells: the jump's part of one times the derivative's of the other.
            couple(last - t, last + 1, normal);
            couple(last, last + 1 + t, normal);
            if matches!(ends, Ends::Lower | Ends::Both) {
                couple(0, t, -normal);
            }
            if matches!(ends, Ends::Upper | Ends::Both) {
                couple(2 * last + 1, 2 * last + 1 - t, -normal);
            }
        }
        patch[(last, last + 1)] -= self.penalty;
        patch[(last + 1, last)] -= self.penalty;
        patch
    }
}

/// Two cells that do not couple.
fn twice(cell: &DMatrix<f64>) -> DMatrix<f64> {
    let n = cell.nrows();
    DMatrix::from_fn(2 * n, 2 * n, |i, j| if i / n == j / n { cell[(i % n, j % n)] } else { 0.0 })
}

/// Of the patch seen from the other end.
fn mirrored(pairs: Eigenpairs) -> Eigenpairs {
    let n = pairs.vectors.nrows();
    let vectors = DMatrix::from_fn(n, n, |node, function| pairs.vectors[(n - 1 - node, function)]);
    Eigenpairs { values: DVector::clone(&pairs.values), vectors }
}

#[cfg(test)]
#[path = "discontinuous_tests.rs"]
mod tests;
