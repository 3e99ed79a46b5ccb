//! The 1D matrices of a patch and of a cell, as kernels take them: one `repr(C)` struct by value. On the GPU every
//! coefficient lies in constant bank 0; those of [`Scaled`] in `f32` the host writes into the instructions.
//!
//! `K` is the degree, `M = 2K - 1` the interior and `N = 2K + 1` all nodes of a patch in one direction, `C = K + 1`
//! the nodes of a cell and `H = ceil(C / 2)`.

use crate::contract::{Centrosymmetric, Dense, Parity};
use crate::patch::Ends;
use crate::scalar::Real;
use bytemuck::{Pod, Zeroable};

macro_rules! pod {
    ($name:ident<T, $(const $p:ident),+>) => {
        // SAFETY: all fields are arrays of `T`, or structs of such; `repr(C)` adds no padding between arrays of one alignment.
        unsafe impl<T: Zeroable, $(const $p: usize),+> Zeroable for $name<T, $($p),+> {}
        // SAFETY: as above.
        unsafe impl<T: Pod, $(const $p: usize),+> Pod for $name<T, $($p),+> {}
    };
}

/// 1D matrices of cells of size 1, and the factors that make a level's operator of theirs. (Eigenvectors differ by a factor
/// that cancels out.)
///
/// The operator is `sum_d c_d (.. M ⊗ A ⊗ M ..)`, with the stiffness matrix `A` in direction `d` and
/// `c_d = (h_0 h_1 [h_2]) / h_d²` on cells of sizes `h`: in 3D `h_y h_z / h_x` for x, in 2D `h_y / h_x`. Kernels multiply
/// by a factor what a matrix takes or gives, or entries of a mass matrix, never those of a stiffness matrix, whose rows must sum to
/// zero exactly. On the unit square and cube factors are powers of two, so that it does not matter where they multiply.
///
/// In 2D in high degrees in `f64` the coupling of the smoother has its factor already ([`coupling_has_factor`]).
///
/// Discontinuous elements have [`DgOperatorMatrices`] instead.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Scaled<M, T> {
    pub matrices: M,
    /// Those that [`factors`] gives.
    pub factors: [T; 3],
}

/// [`Scaled::factors`] from those of the operator's terms: in 2D `[c_x, c_y / c_x, 1]`, for one of two terms is scaled, and then the
/// sum.
#[cfg(not(target_arch = "nvptx64"))]
pub fn factors(dim: usize, [x, y, z]: [f64; 3]) -> [f64; 3] {
    if dim == 2 { [x, y / x, 1.0] } else { [x, y, z] }
}

/// Whether the coupling of [`SmootherMatrices`] has its factor, so that the kernel multiplies no values by it. Not in `f32`: there
/// the host writes entries into the instructions before there is a mesh. In 3D and in low degrees nothing is gained.
pub const fn coupling_has_factor<T>(dim: usize, degree: usize) -> bool {
    dim == 2 && degree > 5 && size_of::<T>() == 8
}

macro_rules! scaled_pod {
    ($name:ident<T, $(const $p:ident),+>) => {
        // SAFETY: arrays of `T` alone: `repr(C)` adds no padding.
        unsafe impl<T: Zeroable, $(const $p: usize),+> Zeroable for Scaled<$name<T, $($p),+>, T> {}
        // SAFETY: as above.
        unsafe impl<T: Pod, $(const $p: usize),+> Pod for Scaled<$name<T, $($p),+>, T> {}
    };
}
scaled_pod!(SmootherMatrices<T, const K, const M>);
scaled_pod!(FirstStepMatrices<T, const K, const M, const E>);
scaled_pod!(CellMatrices<T, const C, const H>);
scaled_pod!(RestrictionMatrices<T, const N, const H>);

/// What the patch smoother needs in one direction.
///
/// With `A_II S = M_II S Λ`, `Sᵀ M_II S = I` on the `M` interior nodes (paper 1, equation 2.15) and boundary columns
/// `A_IB`, `M_IB`. A patch is symmetric, so each function of `S` is even or odd; boundary columns are those of the
/// first node, and the last node's differ by the sign of the function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SmootherMatrices<T, const K: usize, const M: usize> {
    /// `S`.
    pub vectors: Parity<T, K>,
    /// `Sᵀ M_II`, the inverse of `S`.
    pub mass: Parity<T, K>,
    /// `Sᵀ M_IB`, first boundary node.
    pub mass_boundary: [T; M],
    /// `Sᵀ A_IB - Λ Sᵀ M_IB`, first boundary node: what couples an interior function to a boundary function that was
    /// made M-orthogonal to the interior.
    pub coupling: [T; M],
}
pod!(SmootherMatrices<T, const K, const M>);

/// What the first color of a step in 2D takes that adds a coarse correction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirstStepMatrices<T, const K: usize, const M: usize, const E: usize> {
    pub smoother: SmootherMatrices<T, K, M>,
    /// `P` to the `M` interior nodes of a patch, from the first `E` nodes of the coarse cell, all or none.
    pub interpolation: [[T; E]; M],
}
pod!(FirstStepMatrices<T, const K, const M, const E>);

/// A term `s u` for the smoother: on cells of size 1 it is the product of the mass matrices times a factor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reaction<T, const K: usize> {
    /// `Sᵀ M 1` of the even functions; those of odd ones are 0.
    pub sums: [T; K],
    /// `s h_0 h_1 [h_2]`.
    pub factor: T,
}
pod!(Reaction<T, const K>);

/// What the patch smoother needs on boxes with sides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SidedMatrices<T, const K: usize, const M: usize> {
    pub smoother: Scaled<SmootherMatrices<T, K, M>, T>,
    pub reaction: Reaction<T, K>,
}
pod!(SidedMatrices<T, const K, const M>);

/// What the operator needs on boxes with sides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SidedCellMatrices<T, const C: usize, const H: usize> {
    pub cell: Scaled<CellMatrices<T, C, H>, T>,
    /// A term `s u`: `s` times the product of all sizes `h`, over the factor of z in 3D, in 2D over that of x.
    pub reaction: T,
}
pod!(SidedCellMatrices<T, const C, const H>);

/// What the restriction of the residual needs on boxes with sides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SidedRestrictionMatrices<T, const N: usize, const H: usize> {
    pub patch: Scaled<RestrictionMatrices<T, N, H>, T>,
    /// A term `s u`: `s` times the product of all sizes `h`, in 2D over the factor of x.
    pub reaction: T,
}
pod!(SidedRestrictionMatrices<T, const N, const H>);

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Real, const K: usize, const M: usize, const E: usize> FirstStepMatrices<T, K, M, E> {
    /// As [`SmootherMatrices::scaled`].
    pub fn scaled(self, factors: [T; 3]) -> Scaled<Self, T> {
        let Scaled { matrices: smoother, factors } = self.smoother.scaled(2, factors);
        Scaled { matrices: Self { smoother, ..self }, factors }
    }
}

/// Dense 1D data of a patch, in `f64`, from which the host makes [`SmootherMatrices`].
pub trait PatchColumn {
    /// `S[a][f]`, interior node `a`, function `f`, even functions first.
    fn vector(&self, node: usize, function: usize) -> f64;
    /// `(Sᵀ M_II)[f][a]`.
    fn mass(&self, function: usize, node: usize) -> f64;
    /// `(Sᵀ M_IB)[f]`, first boundary node.
    fn mass_boundary(&self, function: usize) -> f64;
    /// `(Sᵀ A_IB - Λ Sᵀ M_IB)[f]`, first boundary node.
    fn coupling(&self, function: usize) -> f64;
}

impl<T: Real, const K: usize, const M: usize> SmootherMatrices<T, K, M> {
    pub fn new(column: &impl PatchColumn) -> Self {
        const { assert!(M + 1 == 2 * K) }
        Self {
            vectors: Parity::new::<M>(|f, a| column.vector(a, f)),
            mass: Parity::new::<M>(|f, a| column.mass(f, a)),
            mass_boundary: core::array::from_fn(|f| T::from_f64(column.mass_boundary(f))),
            coupling: core::array::from_fn(|f| T::from_f64(column.coupling(f))),
        }
    }

    /// With the factors of a level: `c_x` is in the coupling [where that takes a multiplication away](coupling_has_factor).
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn scaled(self, dim: usize, factors: [T; 3]) -> Scaled<Self, T> {
        let coupling =
            self.coupling.map(|entry| if coupling_has_factor::<T>(dim, K) { factors[0] * entry } else { entry });
        Scaled { matrices: Self { coupling, ..self }, factors }
    }

    /// Whether function `f` is even.
    #[inline(always)]
    pub const fn is_even(f: usize) -> bool {
        f < K
    }
}

/// 1D mass and stiffness matrix of a patch, all `N` nodes, neighbours' contributions absent; `C = ceil(N / 2)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorMatrices<T, const N: usize, const C: usize> {
    pub mass: Centrosymmetric<T, N, C>,
    pub stiffness: Centrosymmetric<T, N, C>,
}
pod!(OperatorMatrices<T, const N, const C>);

impl<T: Real, const N: usize, const C: usize> OperatorMatrices<T, N, C> {
    pub fn new(mass: impl Fn(usize, usize) -> f64, stiffness: impl Fn(usize, usize) -> f64) -> Self {
        Self { mass: Centrosymmetric::new(mass), stiffness: Centrosymmetric::new(stiffness) }
    }
}

/// A 1D matrix of a cell, `C = k + 1` nodes: as even and odd part for a column in registers, and entry by entry for one
/// row of it. `H = ceil(C / 2)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellMatrix<T, const C: usize, const H: usize> {
    pub split: Centrosymmetric<T, C, H>,
    pub rows: [[T; C]; C],
}
pod!(CellMatrix<T, const C, const H>);

impl<T: Real, const C: usize, const H: usize> CellMatrix<T, C, H> {
    pub fn new(entry: impl Fn(usize, usize) -> f64) -> Self {
        let rows = core::array::from_fn(|i| core::array::from_fn(|j| T::from_f64(entry(i, j))));
        Self { split: Centrosymmetric::new(entry), rows }
    }
}

/// 1D mass and stiffness matrix of a cell, neighbours' contributions absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellMatrices<T, const C: usize, const H: usize> {
    pub mass: CellMatrix<T, C, H>,
    pub stiffness: CellMatrix<T, C, H>,
}
pod!(CellMatrices<T, const C, const H>);

impl<T: Real, const C: usize, const H: usize> CellMatrices<T, C, H> {
    pub fn new(mass: impl Fn(usize, usize) -> f64, stiffness: impl Fn(usize, usize) -> f64) -> Self {
        Self { mass: CellMatrix::new(mass), stiffness: CellMatrix::new(stiffness) }
    }
}

/// Restriction of a patch's residual to the coarse cell that the patch is: with the interpolation `P` from the coarse
/// cell's `C` nodes to the patch's `N`, `PᵀM`, `PᵀA` and `Pᵀ W`, where `W` halves the first and the last node because
/// two patches share them. `H = ceil(C / 2)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RestrictionMatrices<T, const N: usize, const H: usize> {
    pub mass: Centrosymmetric<T, N, H>,
    pub stiffness: Centrosymmetric<T, N, H>,
    pub transfer: Centrosymmetric<T, N, H>,
}
pod!(RestrictionMatrices<T, const N, const H>);

impl<T: Real, const N: usize, const H: usize> RestrictionMatrices<T, N, H> {
    pub fn new(
        mass: impl Fn(usize, usize) -> f64,
        stiffness: impl Fn(usize, usize) -> f64,
        transfer: impl Fn(usize, usize) -> f64,
    ) -> Self {
        Self {
            mass: Centrosymmetric::new(mass),
            stiffness: Centrosymmetric::new(stiffness),
            transfer: Centrosymmetric::new(transfer),
        }
    }
}

/// Interpolation `P` from a coarse cell's `C` nodes to the `N = 2C - 1` nodes of the patch that it becomes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ProlongationMatrices<T, const C: usize> {
    pub transfer: Centrosymmetric<T, C, C>,
}
pod!(ProlongationMatrices<T, const C>);

impl<T: Real, const C: usize> ProlongationMatrices<T, C> {
    pub fn new(transfer: impl Fn(usize, usize) -> f64) -> Self {
        Self { transfer: Centrosymmetric::new(transfer) }
    }
}

/// 1D matrices of a cell of discontinuous elements between two others (paper 4, equation 2), `C = k + 1`, `H = ceil(C / 2)`.
///
/// A line of nodes that ends on a face has there a value `v` and half an outward normal derivative `g = Σ n_t u_t`, nodes
/// counted from the face on. What lies behind a face adds `n_t v + δ_t0 (g - σ v)` to the line before it, `v` and `g` being
/// the neighbour's; at the boundary it adds `-(n_t v + δ_t0 g)` with the line's own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DgCellMatrices<T, const C: usize, const H: usize> {
    /// `∫ l_i l_j`.
    pub mass: Centrosymmetric<T, C, H>,
    /// `∫ l_i' l_j'`, and what both faces add with the cell's own values.
    pub stiffness: Centrosymmetric<T, C, H>,
    /// `n_t v` of both faces, for the two `v` behind them.
    pub lift: Centrosymmetric<T, 2, H>,
    /// `n_t`.
    pub normal: [T; C],
    /// `σ`.
    pub penalty: [T; 1],
    /// `M 1`, the first half.
    pub weights: [T; H],
}
pod!(DgCellMatrices<T, const C, const H>);

impl<T: Real, const C: usize, const H: usize> DgCellMatrices<T, C, H> {
    pub fn new(
        mass: impl Fn(usize, usize) -> f64,
        stiffness: impl Fn(usize, usize) -> f64,
        normal: impl Fn(usize) -> f64,
        penalty: f64,
    ) -> Self {
        Self {
            weights: core::array::from_fn(|i| T::from_f64((0..C).map(|j| mass(i, j)).sum())),
            mass: Centrosymmetric::new(mass),
            stiffness: Centrosymmetric::new(stiffness),
            lift: Centrosymmetric::new(|t, side| normal(if side == 0 { t } else { C - 1 - t })),
            normal: core::array::from_fn(|t| T::from_f64(normal(t))),
            penalty: [T::from_f64(penalty)],
        }
    }
}

/// What the operator of discontinuous elements takes ([`dg::operator`](crate::dg::operator)): 1D matrices of cells of the size in
/// x, and the factors `c` of its terms. Of all matrices only those of the mass may have a factor: rows of the others must sum to zero.
/// In 2D two masses have all factors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DgOperatorMatrices<T, const C: usize, const H: usize> {
    /// In 2D with `c_x M` for the mass.
    pub cell: DgCellMatrices<T, C, H>,
    /// `(c_y / c_x) M`, in 2D `c_y M`.
    pub mass_x: Centrosymmetric<T, C, H>,
    /// `(c_z / c_y) M`, for 3D.
    pub mass_middle: Centrosymmetric<T, C, H>,
    /// `c_x`, `c_y / c_x` and `c_z / c_y`, for 3D.
    pub factors: [T; 3],
}
pod!(DgOperatorMatrices<T, const C, const H>);

impl<T: Real, const C: usize, const H: usize> DgOperatorMatrices<T, C, H> {
    pub fn new(dim: usize, cell: DgCellMatrices<T, C, H>, [x, y, z]: [f64; 3]) -> Self {
        let factors = [x, y / x, z / y].map(T::from_f64);
        let [of_cell, of_x] = if dim == 2 { [x, y].map(T::from_f64) } else { [T::from_f64(1.0), factors[1]] };
        let (mass, weights) = (cell.mass.times(of_cell), cell.weights.map(|weight| of_cell * weight));
        let (mass_x, mass_middle) = (cell.mass.times(of_x), cell.mass.times(factors[2]));
        Self { cell: DgCellMatrices { mass, weights, ..cell }, mass_x, mass_middle, factors }
    }
}

/// Between a coarse cell's `C` nodes and the `2C` of its two halves in discontinuous elements: `P`, and `Pᵀ`,
/// `H = ceil(C / 2)`, `N = 2C`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DgTransferMatrices<T, const N: usize, const C: usize, const H: usize> {
    /// `P`.
    pub prolongation: Centrosymmetric<T, C, C>,
    /// `Pᵀ`.
    pub restriction: Centrosymmetric<T, N, H>,
}
pod!(DgTransferMatrices<T, const N, const C, const H>);

impl<T: Real, const N: usize, const C: usize, const H: usize> DgTransferMatrices<T, N, C, H> {
    pub fn new(prolongation: impl Fn(usize, usize) -> f64) -> Self {
        const { assert!(N == 2 * C) }
        Self {
            restriction: Centrosymmetric::new(|i, j| prolongation(j, i)),
            prolongation: Centrosymmetric::new(prolongation),
        }
    }
}

/// The eigenvectors of a patch of discontinuous elements in one direction, `Sᵀ M S = I` on its `N = 2C` nodes.
///
/// A level has either patches at one end and between, or one at both: so one symmetric matrix suffices, with the functions
/// that are even about the middle first, and that of the lower end, of which the upper end's is the mirror image.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DgSolveMatrices<T, const N: usize, const C: usize> {
    pub symmetric: Parity<T, C>,
    pub lower: Dense<T, N>,
}
pod!(DgSolveMatrices<T, const N, const C>);

impl<T: Real, const N: usize, const C: usize> DgSolveMatrices<T, N, C> {
    /// From the values at `(node, function)`.
    pub fn new(symmetric: impl Fn(usize, usize) -> f64, lower: impl Fn(usize, usize) -> f64) -> Self {
        const { assert!(N == 2 * C) }
        Self { symmetric: Parity::new::<N>(|f, a| symmetric(a, f)), lower: Dense::new(lower) }
    }

    /// `Sᵀ x` for a patch with these ends.
    #[inline(always)]
    pub fn analyze(&self, ends: Ends, x: &[T; N]) -> [T; N] {
        match ends {
            Ends::Neither | Ends::Both => self.symmetric.analyze(x),
            Ends::Lower | Ends::Upper => self.lower.transposed(&mirrored(ends, x)),
        }
    }

    /// `S z` for a patch with these ends.
    #[inline(always)]
    pub fn synthesize(&self, ends: Ends, z: &[T; N]) -> [T; N] {
        match ends {
            Ends::Neither | Ends::Both => self.symmetric.synthesize(z),
            Ends::Lower | Ends::Upper => mirrored(ends, &self.lower.times(z)),
        }
    }
}

/// As seen from the lower end.
#[inline(always)]
fn mirrored<T: Copy, const N: usize>(ends: Ends, x: &[T; N]) -> [T; N] {
    let mut result = *x;
    if matches!(ends, Ends::Upper) {
        for i in 0..N {
            result[i] = x[N - 1 - i];
        }
    }
    result
}
