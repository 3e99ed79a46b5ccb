//! Discontinuous elements: the 1D matrices of the symmetric interior penalty method, and eigenpairs of its patches.

use super::{distinct, entries, factors, inverse_diagonal, inverse_sums};
use crate::error::Result;
use crate::fe::{Eigenpairs, Element, FixedPoint, generalized_eigenpairs, largest_row_sum, symmetric_eigenpairs};
use crate::space::Space;
use nalgebra::{DMatrix, DVector};
use patchmg_device::dg::solve::is_thin;
use patchmg_device::kernels::Boxes;
use patchmg_device::matrices::{DgCellMatrices, DgSolveMatrices, DgTransferMatrices};
use patchmg_device::patch::{DgGrid, Ends};
use patchmg_device::scalar::Real;

/// `-Δ` by discontinuous elements with the form (paper 4, equation 2) of the symmetric interior penalty method
///
/// ```text
/// Σ_K ∫ ∇u·∇v + Σ_faces ∫ σ [u][v] - {∂ₙu} [v] - [u] {∂ₙv},    σ = k (k + 1) (1/h⁺ + 1/h⁻) = 2 k (k + 1) / h
/// ```
///
/// with the jump `[u] = u⁺ - u⁻`, the mean `{∂ₙu}` of the normal derivatives and the cell's size `h` normal to the face; on the
/// boundary both are those of the one cell there is, and `σ` is the same.
///
/// On a Cartesian mesh this is `L ⊗ M + M ⊗ L` (and its three terms in 3D) with the 1D mass matrix `M`, block diagonal,
/// and the 1D matrix `L` of the form itself, block tridiagonal (equation 9), of each direction.
///
/// CPU kernels take these; GPU kernels take those of the x direction, with [`Self::factors`].
#[derive(Clone, Debug)]
pub struct DiscontinuousForms {
    space: Space,
    /// One for each cell size.
    forms: Vec<DiscontinuousForm>,
    /// Which of them a direction has; in 2D the last counts for nothing.
    of_direction: [usize; 3],
}

impl DiscontinuousForms {
    /// In a space of discontinuous elements, of one degree.
    ///
    /// # Errors
    /// As [`generalized_eigenpairs`].
    pub fn new(space: &Space) -> Result<Self> {
        let element = space.axes()[0].element();
        let (sizes, of_direction) = distinct(space.mesh());
        let forms = sizes.into_iter().map(|size| DiscontinuousForm::new(element, size)).collect::<Result<_>>()?;
        Ok(Self { space: space.clone(), forms, of_direction })
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
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
    pub fn grid(&self) -> DgGrid {
        DgGrid { cells: self.space.mesh().cells_along().map(|cells| cells as u32), degree: self.degree() as u32 }
    }

    /// What makes the operator of the 1D matrices of the x direction: those of [`patchmg_device::matrices::Scaled`].
    pub fn factors(&self) -> [f64; 3] {
        factors(self.space.mesh(), self.space.mesh().cell_sizes()[0])
    }

    /// One for each size of cells, and which of them a direction has; in 2D the last counts for nothing.
    pub fn by_size(&self) -> (&[DiscontinuousForm], [usize; 3]) {
        (&self.forms, self.of_direction)
    }

    /// In a direction.
    pub fn along(&self, direction: usize) -> &DiscontinuousForm {
        &self.forms[self.of_direction[direction]]
    }

    /// `1 / (λ_i + λ_j [+ λ_l])` of a patch with these ends in each direction, that of x fastest.
    pub fn inverse_eigenvalues(&self, ends: [Ends; 3]) -> Vec<f64> {
        inverse_sums((0..self.dim()).map(|d| (1.0, self.along(d).eigenpairs(ends[d]).values.as_slice())), 0.0).collect()
    }

    /// What [`patchmg_device::dg::solve`] looks up, [`table_words`](patchmg_device::dg::solve::table_words) numbers in its order, by
    /// the eigenpairs of the x direction's form.
    pub fn solve_table<T: Real>(&self) -> Vec<T> {
        let (factors, form) = (self.factors(), self.along(0));
        let directions = if self.dim() == 2 { vec![1, 0] } else { vec![1, 2, 0] };
        let of_class = |class: usize| {
            let values = |&d: &usize| {
                let ends = self.ends_of_class(d, class >> d & 1);
                (factors[d], form.eigenpairs(ends).values.as_slice())
            };
            inverse_sums(directions.iter().map(values), 0.0).map(T::from_f64).collect::<Vec<_>>()
        };
        let mut table: Vec<_> = (0..1 << self.dim()).flat_map(of_class).collect();
        if is_thin(self.dim(), self.grid().cells) {
            // Even functions, then odd ones, each at the nodes of the first cell.
            let both = &form.eigenpairs(Ends::Both).vectors;
            table.extend(both.rows(0, self.degree() + 1).iter().map(|&entry| T::from_f64(entry)));
        }
        table
    }

    /// `S` of patches as a GPU takes it, of the x direction's form: of those that are symmetric, and of those at the lower end.
    /// Symmetric are patches at both ends if there is one in every direction, else those between the ends.
    ///
    /// # Panics
    /// If the sizes are not those of the degree.
    pub fn solve_matrices<T: Real, const N: usize, const C: usize>(&self) -> DgSolveMatrices<T, N, C> {
        assert_eq!((N, C), (2 * self.degree() + 2, self.degree() + 1));
        let symmetric = if self.space.mesh().is_patch() { Ends::Both } else { Ends::Neither };
        let [symmetric, lower] = [symmetric, Ends::Lower].map(|ends| &self.along(0).eigenpairs(ends).vectors);
        DgSolveMatrices::new(entries(symmetric), entries(lower))
    }

    /// Patches at an end have eigenvalues of their own, but those at one end are those at the other: class 1, and class 0 what
    /// lies between. A direction of one patch has none of these; there both are that patch's.
    pub fn ends_of_class(&self, direction: usize, class: usize) -> Ends {
        match (self.space.mesh().cells_along()[direction], class) {
            (2, _) => Ends::Both,
            (_, 0) => Ends::Neither,
            _ => Ends::Lower,
        }
    }

    /// 1D data of the operator box by box, as [`patchmg_device::tensor_core::operator::table_words`] says, of cells of size 1,
    /// which keeps products within the range of half precision; the factor is that of cells of size `h` in 3D.
    pub fn box_table(&self, boxes: Boxes) -> Vec<f64> {
        let form = Form::of_cells(&self.along(0).element, 1.0);
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
        table.extend([form.penalty, self.along(0).cell_size]);
        table
    }

    /// 1D data of the solution on patches, as [`patchmg_device::tensor_core::solve::table_words`] says, of cells of size 1.
    pub fn box_solve_table(&self) -> Vec<f64> {
        let h = self.along(0).cell_size;
        let pairs = Ends::ALL.map(|ends| self.along(0).eigenpairs(ends));
        // With `Sᵀ M S = 1` and `L S = M S Λ`, `S` scales with `1 / √h` and `Λ` with `1 / h²`.
        let vectors = pairs.iter().flat_map(|pairs| pairs.vectors.transpose().iter().copied().collect::<Vec<_>>());
        let values = pairs.iter().flat_map(|pairs| pairs.values.iter().copied());
        vectors.map(|entry| entry * h.sqrt()).chain(values.map(|value| value * h * h)).chain([1.0 / h]).collect()
    }

    /// What a boundary value `1` adds to the load vector in each direction, `σ l_t - ∂ₙl_t`, nodes counted from the boundary on.
    pub(crate) fn boundary_load(&self) -> Vec<Vec<f64>> {
        (0..self.dim()).map(|direction| self.along(direction).boundary_load()).collect()
    }

    /// `1 / A_ii` for every unknown `i`, in storage order.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn inverse_diagonal<T: Real>(&self) -> Result<Vec<T>> {
        let cells = self.space.mesh().cells_along();
        let lines: Vec<_> = (0..self.dim()).map(|d| self.along(d).diagonals(cells[d])).collect();
        inverse_diagonal(&self.space, &lines)
    }
}

/// The form in one direction, on cells of one size.
#[derive(Clone, Debug)]
pub struct DiscontinuousForm {
    element: Element,
    cell_size: f64,
    form: Form,
    /// Of a patch, one for each of [`Ends::ALL`].
    eigenpairs: Vec<Eigenpairs>,
}

impl DiscontinuousForm {
    /// Of an element on cells of a size.
    ///
    /// # Errors
    /// As [`generalized_eigenpairs`].
    pub fn new(element: &Element, cell_size: f64) -> Result<Self> {
        let form = Form::of_cells(element, cell_size);
        let mass = twice(&form.mass);
        let symmetric = |ends| symmetric_eigenpairs(&form.patch(ends), &mass);
        let lower = generalized_eigenpairs(&form.patch(Ends::Lower), &mass)?;
        let eigenpairs = vec![symmetric(Ends::Neither)?, lower.clone(), mirrored(lower), symmetric(Ends::Both)?];
        Ok(Self { element: element.clone(), cell_size, form, eigenpairs })
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element.degree()
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

    /// `L S = M S Λ` on so many cells in a row, from one end of the domain to the other: the functions that are even about the
    /// middle first.
    ///
    /// # Errors
    /// As [`symmetric_eigenpairs`].
    pub fn line_eigenpairs(&self, cells: usize) -> Result<Eigenpairs> {
        symmetric_eigenpairs(&self.form.line(cells, Ends::Both), &repeated(&self.form.mass, cells))
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

    /// What a boundary value `1` adds to the load vector, `σ l_t - ∂ₙl_t`, nodes counted from the boundary on.
    fn boundary_load(&self) -> Vec<f64> {
        let mut load: Vec<f64> = self.form.normal.iter().map(|normal| -2.0 * normal).collect();
        load[0] += self.form.penalty;
        load
    }

    /// Entries `(M_ii, L_ii)` of the 1D matrices for every node of so many cells in a row.
    fn diagonals(&self, cells: usize) -> Vec<(f64, f64)> {
        let nodes = self.degree() + 1;
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
        (0..cells * nodes).map(entry).collect()
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

    /// Of a patch.
    fn patch(&self, ends: Ends) -> DMatrix<f64> {
        self.line(2, ends)
    }

    /// Of so many cells in a row that touch these ends.
    fn line(&self, cells: usize, ends: Ends) -> DMatrix<f64> {
        let nodes = self.normal.len();
        let mut line = repeated(&self.stiffness, cells);
        let end = cells * nodes - 1;
        for (t, &normal) in self.normal.iter().enumerate() {
            let mut couple = |i: usize, j: usize, value: f64| {
                line[(i, j)] += value;
                line[(j, i)] += value;
            };
            for face in (1..cells).map(|cell| cell * nodes) {
                // A face between two cells: the jump's part of one times the derivative's of the other.
                couple(face - 1 - t, face, normal);
                couple(face - 1, face + t, normal);
            }
            if matches!(ends, Ends::Lower | Ends::Both) {
                couple(0, t, -normal);
            }
            if matches!(ends, Ends::Upper | Ends::Both) {
                couple(end, end - t, -normal);
            }
        }
        for face in (1..cells).map(|cell| cell * nodes) {
            line[(face - 1, face)] -= self.penalty;
            line[(face, face - 1)] -= self.penalty;
        }
        line
    }
}

/// Two cells that do not couple.
fn twice(cell: &DMatrix<f64>) -> DMatrix<f64> {
    repeated(cell, 2)
}

/// Cells that do not couple.
fn repeated(cell: &DMatrix<f64>, cells: usize) -> DMatrix<f64> {
    let n = cell.nrows();
    DMatrix::from_fn(cells * n, cells * n, |i, j| if i / n == j / n { cell[(i % n, j % n)] } else { 0.0 })
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
