//! The Stokes equations by elements `RT_k x Q_k`: the operator row by row, exact solutions on patches a batch at a time.

mod functions;
mod lines;
mod operator;
mod solve;

use super::axis::AxisMatrix;
use super::batch::{Boxes, Set};
use super::lanes::{MAX_LANES, Vectorized};
use super::sweep::{BatchKernel, Shared, Sweep};
use functions::AxisFunctions;
pub use functions::{PatchAxis, PatchFunctions};
use operator::Operator;
use patchmg_device::patch::{DgGrid, Ends};
use patchmg_device::with_degree;
pub use solve::Coupled;
use solve::Solve;

/// The kernels of a level of the Stokes equations. Vectors are as long as its storage.
pub trait StokesKernels<T>: Send + Sync {
    /// `y = A x`.
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]);
    /// `r = b - A x`.
    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]);
    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color.
    fn add_solutions(&self, sweep: Sweep, color: u32, r: &[T], x: &mut [T]);
    /// Bytes of its tables.
    fn bytes(&self) -> usize;
}

/// The 1D matrices of a direction in physical units, of the stored nodes.
#[derive(Clone, Debug)]
pub struct StokesAxis {
    /// `D`, the diagonal mass matrix of the discontinuous axis.
    pub weights: AxisMatrix<f64>,
    /// `ν S` of the discontinuous axis.
    pub form: AxisMatrix<f64>,
    /// `M` of the continuous axis.
    pub mass: AxisMatrix<f64>,
    /// `ν L` of the continuous axis.
    pub stiffness: AxisMatrix<f64>,
    /// `G = ∫ q φ'`, from the continuous axis to the discontinuous one.
    pub divergence: AxisMatrix<f64>,
}

impl StokesAxis {
    /// One node of weight 1 that nothing couples to: the third direction in 2D.
    fn flat() -> Self {
        let [one, zero] = [1.0, 0.0].map(|entry| AxisMatrix::dense(1, 1, |_, _| entry));
        Self { weights: one, form: zero.clone(), mass: zero.clone(), stiffness: zero.clone(), divergence: zero }
    }
}

/// What kernels of the Stokes equations are made from.
#[derive(Clone, Debug)]
pub struct RaviartThomas<T> {
    /// Where the nodes of each field lie, by the degree `k`; numbers of cells are even, in 2D the last number counts for
    /// nothing.
    pub grid: DgGrid,
    /// Entries from the first one of a field to that of the next one: the components of the velocity, then the pressure.
    pub distance: usize,
    /// `s`.
    pub reaction: f64,
    /// Of each direction, 2 or 3.
    pub axes: Vec<StokesAxis>,
    /// Of each direction.
    pub patches: Vec<PatchAxis>,
    /// `1 / (s + ν Σ λ)` of a patch for each combination of the directions' classes of ends, that of `x` fastest, and each
    /// component: `2 (k + 1)` entries in each direction, `x` fastest, the last one along the component not read. Class 0
    /// touches no end of the domain, class 1 touches one or, in a direction of two cells, both. Combinations without patches
    /// may be empty.
    pub inverse_eigenvalues: Vec<Vec<Vec<T>>>,
    /// `S⁺` in the same way.
    pub schur: Vec<Vec<Coupled<T>>>,
}

/// Patches that a thread takes at a time: a few batches, each of which asks for the nodes of the next one.
const PIECE: usize = 4 * MAX_LANES;

/// The kernels of a space; `None` for a degree without kernels.
pub fn kernels<T: Vectorized>(space: RaviartThomas<T>) -> Option<Box<dyn StokesKernels<T>>> {
    let degree = space.grid.degree as usize;
    Some(if space.axes.len() == 2 {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, 2, { K + 1 }, { 2 * K + 2 }, { 2 * K + 1 }, 1>::new(space))
        }, return None, 1 2 3 4 5 6 7 8)
    } else {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, 3, { K + 1 }, { 2 * K + 2 }, { 2 * K + 1 }, { 2 * K + 2 }>::new(space))
        }, return None, 1 2 3 4 5)
    })
}

/// The tables of a dimension and degree: `C = k + 1`, `N = 2 C`, `M = N - 1`, `NZ` planes of a patch.
struct Element<T, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize> {
    grid: DgGrid,
    distance: usize,
    operator: Operator<T>,
    functions: Vec<AxisFunctions<T, C, N, M>>,
    inverse_eigenvalues: Vec<Vec<Vec<T>>>,
    schur: Vec<Vec<Coupled<T>>>,
}

impl<T: Vectorized, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize>
    Element<T, D, C, N, M, NZ>
{
    fn new(space: RaviartThomas<T>) -> Self {
        let RaviartThomas { grid, distance, reaction, axes, patches, inverse_eigenvalues, schur } = space;
        assert!(grid.cells[..D].iter().all(|cells| cells % 2 == 0), "{:?} cells", grid.cells);
        assert!(axes.len() == D && patches.len() == D && inverse_eigenvalues.len() == 1 << D && schur.len() == 1 << D);
        Self {
            grid,
            distance,
            operator: Operator::new(&axes, C, distance, reaction),
            functions: patches.iter().map(AxisFunctions::new).collect(),
            inverse_eigenvalues,
            schur,
        }
    }
}

impl<T: Vectorized, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize> StokesKernels<T>
    for Element<T, D, C, N, M, NZ>
{
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]) {
        self.operator.apply(sweep, None, x, y);
    }

    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]) {
        self.operator.apply(sweep, Some(b), x, r);
    }

    fn add_solutions(&self, sweep: Sweep, color: u32, r: &[T], x: &mut [T]) {
        let entries = D * self.distance + self.grid.storage(D);
        assert!(r.len() >= entries && x.len() >= entries);
        let x = Shared::new(x);
        let solve = |ends: [Ends; 3]| {
            let class = (0..D).map(|d| usize::from(ends[d] != Ends::Neither) << d).sum::<usize>();
            let inverse_eigenvalues = &self.inverse_eigenvalues[class];
            assert!(inverse_eigenvalues.iter().all(|values| values.len() == NZ * N * N));
            Solve::<T, D, C, N, M, NZ> {
                functions: &self.functions,
                ends,
                inverse_eigenvalues,
                schur: &self.schur[class],
                grid: self.grid,
                distance: self.distance,
                residual: r,
                x,
            }
        };
        let groups: Vec<_> =
            Boxes::of_color(self.grid, D, color).into_iter().map(|(ends, patches)| (solve(ends), patches)).collect();
        // Of all groups together, so that threads share small ones, too.
        let pieces: Vec<_> = groups
            .iter()
            .flat_map(|(solve, patches)| {
                let ranges = (0..patches.len()).step_by(PIECE).map(|first| first..patches.len().min(first + PIECE));
                ranges.map(move |range| (solve, patches, range))
            })
            .collect();
        sweep.share_out_by(1, pieces.len(), PIECE * (D + 1) * NZ * N * N, &|range| {
            for (solve, patches, range) in &pieces[range] {
                // SAFETY: the vectors are the level's, and the patches those of a color, which share no node.
                unsafe { solve.run_range(sweep.simd, *patches, range.clone()) };
            }
        });
    }

    fn bytes(&self) -> usize {
        let inverses = self.inverse_eigenvalues.iter().flatten().map(|values| size_of_val(values.as_slice()));
        let blocks = self.schur.iter().flatten();
        let schur = blocks.map(|(modes, matrix)| size_of_val(modes.as_slice()) + size_of_val(matrix.as_slice()));
        self.operator.bytes() + size_of_val(self.functions.as_slice()) + inverses.sum::<usize>() + schur.sum::<usize>()
    }
}
