//! The tensor kernels of a level, behind an interface that hides dimension and degree.

use super::batch::{Patches, Selection};
use super::dg::{self, Discontinuous};
use super::graded::{self, Graded};
use super::indexed::{self, IndexedKernels, IndexedMatrices};
use super::lanes::{Lanes, Vectorized};
use super::operator::{Apply, Apply2d, Apply3d};
use super::scatter::Output;
use super::sizes::BySize;
use super::smoother::{Smooth, Smooth2d, Smooth3d};
use super::stokes::{self, RaviartThomas, StokesKernels};
use super::sweep::{Shared, Sweep};
use super::transfer::{Prolongate, Prolongate2d, Prolongate3d, Restrict, Restrict2d, Restrict3d};
use bytemuck::pod_read_unaligned;
use core::ops::Range;
use patchmg_device::matrices::{OperatorMatrices, ProlongationMatrices, RestrictionMatrices, SmootherMatrices};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Value;
use patchmg_device::with_degree;
use pulp::Simd;

/// The operator and the smoother of a level. Vectors are as long as its storage.
pub trait LatticeKernels<T>: Send + Sync {
    /// `y = A x`.
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]);
    /// One color of the smoother.
    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]);
    /// The same without the patches that a correction leaves out; by default there are none.
    fn smooth_color_of_corrections(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        self.smooth_color(sweep, color, b, x);
    }
}

/// The tensor kernels of a level. Vectors are as long as its storage, or as the coarse level's.
pub trait Kernels<T>: LatticeKernels<T> {
    /// `r = b - A x`.
    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]);
    /// `coarse = Pᵀ (b - A x)`.
    fn restrict_residual(&self, sweep: Sweep, b: &[T], x: &[T], coarse: &mut [T]);
    /// `x += P coarse`.
    fn prolongate_add(&self, sweep: Sweep, coarse: &[T], x: &mut [T]);
}

/// What kernels of continuous elements are made from. Matrices are the bytes of [`patchmg_device::matrices`] for the scalar
/// and the degree of `grid`, those of a cell size in physical units: mass `h M̂`, stiffness `Â / h`.
pub struct Continuous<T> {
    /// 2 or 3.
    pub dim: usize,
    /// With even numbers of cells.
    pub grid: Grid,
    /// The cells that patches of the smoother lie in; in 2D the last range counts for nothing.
    pub smoothed: [Range<u32>; 3],
    /// The cells that operator and restriction integrate over, even numbers of them, from an even one on. Where a range ends before the
    /// grid does, their output must be zero at its last nodes before, and there is no [residual](Kernels::residual).
    pub integrated: [Range<u32>; 3],
    /// The entry of `smoother`, `operator` and `restriction` that each direction takes, one for each distinct cell size: on
    /// cubes all take the first one, which then stays in cache. In 2D the last number counts for nothing.
    pub sizes: [usize; 3],
    /// `1 / (λ_i + λ_j [+ λ_l] + s)` of a patch, `i` (of x) fastest, then `j` (of y), then `l` (of z).
    pub inverse_eigenvalues: Vec<T>,
    /// Of a reaction `s u`, if there is one.
    pub reaction: Option<Reaction<T>>,
    /// [`SmootherMatrices`].
    pub smoother: Vec<Box<[u8]>>,
    /// [`OperatorMatrices`]; the stiffness along x includes `s M`.
    pub operator: Vec<Box<[u8]>>,
    /// [`RestrictionMatrices`]; the stiffness along x includes `s PᵀM`.
    pub restriction: Vec<Box<[u8]>>,
    /// [`ProlongationMatrices`].
    pub prolongation: Box<[u8]>,
}

/// What a reaction `s u` makes of the constant 1 on a patch, which is the outer product of a vector for each direction: `s` is in that of x, and
/// in 2D the last one counts for nothing.
#[derive(Clone, Debug)]
pub struct Reaction<T> {
    /// For the functions of the smoother, `Sᵀ M 1`.
    pub functions: [Vec<T>; 3],
    /// For the nodes of a patch alone, `M 1`.
    pub nodes: [Vec<T>; 3],
    /// For the nodes of its coarse cell, `PᵀM 1`.
    pub coarse: [Vec<T>; 3],
}

/// Adds a row of an outer product of three vectors, or two in 2D, times a constant; nothing without vectors.
#[inline(always)]
pub(super) fn add_product<S: Simd, T: Vectorized>(
    vectors: Option<&[Vec<T>; 3]>,
    constant: &Lanes<S, T>,
    [y, z]: [usize; 2],
    row: &mut [Lanes<S, T>],
) {
    let Some([along_x, along_y, along_z]) = vectors else { return };
    let across = if along_z.is_empty() { along_y[y] } else { along_y[y] * along_z[z] };
    let across = Lanes::scale(across, *constant);
    for (entry, &along_x) in row.iter_mut().zip(along_x) {
        *entry = Lanes::fma(along_x, across, *entry);
    }
}

/// Scalars that there are kernels for. They are compiled here, once, and not in every crate that uses them: the choice of
/// dimension, degree and SIMD level makes them many.
pub trait Prepared: Vectorized {
    /// The kernels of continuous elements; `None` for a degree without kernels.
    ///
    /// # Panics
    /// If matrices or vectors are not as long as those of the degree, or a direction has none; if a number of cells is odd, or ranges
    /// of cells are not as [`Continuous`] says.
    fn continuous(space: Continuous<Self>) -> Option<Box<dyn Kernels<Self>>>;
    /// The operator and the smoother where cells have factors and patches eigenpairs of their own; `None` for a degree without kernels.
    ///
    /// # Panics
    /// If there are not as many numbers as patches and cells need, or ranges of cells are not as [`Graded`] says.
    fn graded(space: Graded<Self>) -> Option<Box<dyn LatticeKernels<Self>>>;
    /// The kernels of discontinuous elements; `None` for a degree without kernels.
    ///
    /// # Panics
    /// As [`Self::continuous`], but numbers of cells may be odd for the operator alone.
    fn discontinuous(space: Discontinuous<Self>) -> Option<Box<dyn Kernels<Self>>>;
    /// The kernels of the Stokes equations; `None` for a degree without kernels.
    ///
    /// # Panics
    /// If tables are not as long as those of the degree, or a number of cells is odd.
    fn stokes(space: RaviartThomas<Self>) -> Option<Box<dyn StokesKernels<Self>>>;
    /// The operator of cells with lists of nodes; `None` for a degree without kernels.
    ///
    /// # Panics
    /// If matrices are not as large as those of the degree.
    fn indexed(matrices: &IndexedMatrices) -> Option<Box<dyn IndexedKernels<Self>>>;
}

macro_rules! prepared {
    ($($t:ident)+) => {$(
        impl Prepared for $t {
            fn continuous(space: Continuous<Self>) -> Option<Box<dyn Kernels<Self>>> {
                kernels(space)
            }
            fn graded(space: Graded<Self>) -> Option<Box<dyn LatticeKernels<Self>>> {
                graded::kernels(space)
            }
            fn discontinuous(space: Discontinuous<Self>) -> Option<Box<dyn Kernels<Self>>> {
                dg::kernels(space)
            }
            fn stokes(space: RaviartThomas<Self>) -> Option<Box<dyn StokesKernels<Self>>> {
                stokes::kernels(space)
            }
            fn indexed(matrices: &IndexedMatrices) -> Option<Box<dyn IndexedKernels<Self>>> {
                indexed::kernels(matrices)
            }
        }
    )+};
}
prepared!(f32 f64);

fn kernels<T: Vectorized>(space: Continuous<T>) -> Option<Box<dyn Kernels<T>>> {
    let degree = space.grid.degree as usize;
    Some(if space.dim == 2 {
        with_degree!(degree, K => {
            Box::new(Element::<T, 2, K, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, else return None)
    } else {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, 3, K, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, return None, 1 2 3 4 5 6 7 8)
    })
}

/// The matrices of continuous elements of one dimension and degree.
struct Element<T, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize> {
    grid: Grid,
    smoothed: [Range<u32>; 3],
    integrated: [Range<u32>; 3],
    reaction: Option<Reaction<T>>,
    smoother: BySize<SmootherMatrices<T, K, M>>,
    inverse_eigenvalues: Vec<T>,
    operator: BySize<OperatorMatrices<T, N, C>>,
    restriction: BySize<RestrictionMatrices<T, N, H>>,
    prolongation: ProlongationMatrices<T, C>,
}

impl<T: Vectorized, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Element<T, DIM, K, M, N, C, H>
{
    fn new(space: Continuous<T>) -> Self {
        let Continuous { grid, sizes, .. } = space;
        let (smoothed, integrated) = (&space.smoothed, &space.integrated);
        let are_cells = |d: usize, cells: &Range<u32>| cells.start <= cells.end && cells.end <= grid.cells[d];
        let is_even = |cells: u32| cells.is_multiple_of(2);
        for d in 0..DIM {
            assert!(is_even(grid.cells[d]), "{:?} cells", grid.cells);
            assert!(are_cells(d, &smoothed[d]) && are_cells(d, &integrated[d]), "{smoothed:?}, {integrated:?}");
            assert!(is_even(integrated[d].start) && is_even(integrated[d].end), "{integrated:?}");
        }
        if let Some(Reaction { functions, nodes, coarse }) = &space.reaction {
            let are_of = |vectors: &[Vec<T>; 3], len| vectors[..DIM].iter().all(|vector| vector.len() == len);
            assert!(are_of(functions, M) && are_of(nodes, N) && are_of(coarse, C), "vectors of a reaction");
        }
        Self {
            grid,
            smoothed: space.smoothed,
            integrated: space.integrated,
            reaction: space.reaction,
            smoother: BySize::read(&space.smoother, sizes, DIM),
            inverse_eigenvalues: space.inverse_eigenvalues,
            operator: BySize::read(&space.operator, sizes, DIM),
            restriction: BySize::read(&space.restriction, sizes, DIM),
            prolongation: pod_read_unaligned(&space.prolongation),
        }
    }

    /// All classes of the operator, one after the other.
    fn apply_classes(&self, sweep: Sweep, x: &[T], output: Output<T>) {
        for class in 0..1 << DIM {
            let patches = &Patches::within(self.grid, DIM, &self.integrated, Selection::Class(class));
            let of_constant = self.reaction.as_ref().map(|reaction| &reaction.nodes);
            let apply = Apply { matrices: self.operator.by_direction(), of_constant, patches, class, x, output };
            // SAFETY: the vectors are the level's, and the patches are those of the class.
            unsafe {
                match DIM {
                    2 => sweep.run(patches, &Apply2d(apply)),
                    _ => sweep.run(patches, &Apply3d(apply)),
                }
            }
        }
    }
}

impl<T: Vectorized, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    LatticeKernels<T> for Element<T, DIM, K, M, N, C, H>
{
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]) {
        self.apply_classes(sweep, x, Output::Sum { y: Shared::new(y) });
    }

    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        let patches = &Patches::within(self.grid, DIM, &self.smoothed, Selection::Color(color));
        let (matrices, inverse_eigenvalues) = (self.smoother.by_direction(), &self.inverse_eigenvalues);
        let of_constant = self.reaction.as_ref().map(|reaction| &reaction.functions);
        let smooth = Smooth { matrices, inverse_eigenvalues, of_constant, patches, b, x: Shared::new(x) };
        // SAFETY: the vectors are the level's, and the patches are those of a color.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Smooth2d::<T, K, M, N>(smooth)),
                _ => sweep.run(patches, &Smooth3d::<T, K, M, N>(smooth)),
            }
        }
    }
}

impl<T: Vectorized, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Kernels<T> for Element<T, DIM, K, M, N, C, H>
{
    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]) {
        assert!((0..DIM).all(|d| self.integrated[d].end == self.grid.cells[d]), "a residual of a part of the grid");
        self.apply_classes(sweep, x, Output::Difference { b, r: Shared::new(r) });
    }

    fn restrict_residual(&self, sweep: Sweep, b: &[T], x: &[T], coarse: &mut [T]) {
        let coarse = Shared::new(coarse);
        for class in 0..1 << DIM {
            let patches = &Patches::within(self.grid, DIM, &self.integrated, Selection::Class(class));
            let of_constant = self.reaction.as_ref().map(|reaction| &reaction.coarse);
            let restrict =
                Restrict { matrices: self.restriction.by_direction(), of_constant, patches, class, b, x, coarse };
            // SAFETY: the vectors are the level's and the coarse level's, and the patches are those of the class.
            unsafe {
                match DIM {
                    2 => sweep.run(patches, &Restrict2d::<T, N, C, H>(restrict)),
                    _ => sweep.run(patches, &Restrict3d::<T, N, C, H>(restrict)),
                }
            }
        }
    }

    fn prolongate_add(&self, sweep: Sweep, coarse: &[T], x: &mut [T]) {
        let patches = &Patches::new(self.grid, DIM, Selection::Tiling);
        let prolongate = Prolongate { matrices: &self.prolongation, patches, coarse, x: Shared::new(x) };
        // SAFETY: the vectors are the level's and the coarse level's, and the patches are the tiling.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Prolongate2d::<T, N, C>(prolongate)),
                _ => sweep.run(patches, &Prolongate3d::<T, N, C>(prolongate)),
            }
        }
    }
}
