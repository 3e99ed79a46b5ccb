//! Kernels of lattices whose cells differ within a direction, or are odd in number: the operator has factors for each cell, the smoother eigenpairs for
//! each patch, too.

mod operator;
mod smoother;
mod tiles;

use super::batch::{PatchRows, Patches, Selection};
use super::kernels::LatticeKernels;
use super::lanes::{MAX_LANES, Vectorized};
use super::scatter::Output;
use super::sweep::{Shared, Sweep};
use core::ops::Range;
use operator::{Apply, Apply2d, Apply3d};
use patchmg_device::matrices::OperatorMatrices;
use patchmg_device::patch::Grid;
use patchmg_device::with_degree;
use smoother::{Eigenpairs, Smooth, Smooth2d, Smooth3d};
use tiles::{Form, Tile};

/// What the kernels are made from.
pub struct Graded<T> {
    /// 2 or 3.
    pub dim: usize,
    /// Where nodes are stored, with even numbers of cells.
    pub grid: Grid,
    /// The cells that patches lie in; in 2D the last range counts for nothing.
    pub smoothed: [Range<u32>; 3],
    /// For each of these cells of a direction.
    pub factors: [Vec<Factors<T>>; 3],
    /// For each patch of a direction, from the one of the first two cells on, as many numbers as [`words`] says.
    pub eigenpairs: [Vec<T>; 3],
    /// For each of these patches whether it is kept. A color of corrections leaves out the patches that are kept in all directions; all three are
    /// empty if there are none.
    pub kept: [Vec<bool>; 3],
    /// The cells of `smoothed` that the operator integrates over, from an even one on; in 2D the last range counts for nothing. If their number is even
    /// and they end before the grid does, `y` must be zero at their last nodes when the operator begins.
    pub integrated: [Range<u32>; 3],
    /// Mass and stiffness matrix of a cell of size 1, by rows.
    pub cell: [Vec<f64>; 2],
    /// `s` of a reaction `s u`.
    pub reaction: T,
}

/// The 1D matrices of a cell are those of a cell of size 1 times these.
#[derive(Clone, Copy, Debug)]
pub struct Factors<T> {
    /// `h`.
    pub mass: T,
    /// `c / h`.
    pub stiffness: T,
}

/// How many numbers the eigenpairs of a patch have, by degree: eigenvectors, a function in each column, by rows; then eigenvalues.
pub const fn words(degree: usize) -> usize {
    let m = 2 * degree - 1;
    m * m + m
}

/// The kernels by degree; none for a degree without kernels.
///
/// # Panics
/// If there are not as many numbers as patches and cells need, or ranges of cells are not as [`Graded`] says.
pub(super) fn kernels<T: Vectorized>(space: Graded<T>) -> Option<Box<dyn LatticeKernels<T>>> {
    let degree = space.grid.degree as usize;
    Some(if space.dim == 2 {
        with_degree!(degree, K => {
            Box::new(Element::<T, 2, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, else return None)
    } else {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, 3, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, return None, 1 2 3 4 5 6 7 8)
    })
}

struct Element<T, const DIM: usize, const M: usize, const N: usize, const C: usize, const H: usize> {
    grid: Grid,
    smoothed: [Range<u32>; 3],
    /// Of the patches of each direction.
    patches: [Vec<Tile<T>>; 3],
    /// See [`Graded::kept`].
    kept: [Vec<bool>; 3],
    /// Eigenpairs of the patches along x, for even and for odd ones: each entry for all patches, the last one repeated up to whole registers.
    along_x: [Vec<T>; 2],
    /// Those of the patches of y and z.
    across: [Vec<Eigenpairs<T, M>>; 2],
    /// Rounded up to even numbers: a cell that is added has factors 0.
    integrated: [Range<u32>; 3],
    /// Of pairs of these cells.
    tiles: [Vec<Tile<T>>; 3],
    form: Form<T, C, H>,
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Element<T, DIM, M, N, C, H>
{
    fn new(space: Graded<T>) -> Self {
        let Graded { grid, smoothed, factors, eigenpairs, kept, mut integrated, cell, reaction, .. } = space;
        let words = words(grid.degree as usize);
        let (mut patches, mut tiles) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
        for d in 0..DIM {
            let (smoothed, integrated, factors, cells) = (&smoothed[d], &mut integrated[d], &factors[d], grid.cells[d]);
            assert!(smoothed.end <= cells && cells.is_multiple_of(2), "{smoothed:?} of {cells} cells");
            assert!(factors.len() == smoothed.len(), "factors of {smoothed:?}");
            assert!(eigenpairs[d].len() == (smoothed.len() - 1) * words, "eigenpairs of patches of {smoothed:?}");
            let patches_or_none = if kept[0].is_empty() { 0 } else { smoothed.len() - 1 };
            assert!(kept[d].len() == patches_or_none, "patches of {smoothed:?} that are kept");
            let are_within = smoothed.start <= integrated.start && integrated.end <= smoothed.end;
            assert!(are_within && integrated.start.is_multiple_of(2), "{integrated:?} of {smoothed:?}");
            patches[d] = factors.windows(2).map(|two| Tile::new([two.first(), two.last()])).collect();
            let first = (integrated.start - smoothed.start) as usize;
            let tile = |two: &[Factors<T>]| Tile::new([two.first(), two.get(1)]);
            tiles[d] = factors[first..][..integrated.len()].chunks(2).map(tile).collect();
            integrated.end = integrated.end.next_multiple_of(2);
        }
        assert!(cell.iter().all(|matrix| matrix.len() == C * C), "matrices of a cell");
        let [x, y, z] = eigenpairs;
        let of_parity = |parity: usize| {
            let patches: Vec<&[T]> = x.chunks_exact(words).skip(parity).step_by(2).collect();
            let lanes = patches.len().next_multiple_of(MAX_LANES);
            let of_entry = |entry: usize| {
                let patches = &patches;
                (0..lanes).map(move |lane| patches[lane.min(patches.len() - 1)][entry])
            };
            (0..words).flat_map(of_entry).collect()
        };
        let across = |numbers: &[T]| {
            numbers.chunks_exact(words).map(|of| bytemuck::pod_read_unaligned(bytemuck::cast_slice(of))).collect()
        };
        let [mass, stiffness] = &cell;
        let cell = OperatorMatrices::new(|i, j| mass[i * C + j], |i, j| stiffness[i * C + j]);
        Self {
            grid,
            smoothed,
            patches,
            kept,
            along_x: [0, 1].map(of_parity),
            across: [across(&y), across(&z)],
            integrated,
            tiles,
            form: Form { cell, reaction },
        }
    }
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize, const C: usize, const H: usize> LatticeKernels<T>
    for Element<T, DIM, M, N, C, H>
{
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]) {
        assert!(x.len() == y.len() && x.len() >= self.grid.storage(DIM), "vectors of the level");
        let output = Output::Sum { y: Shared::new(y) };
        for class in 0..1 << DIM {
            let patches = &Patches::within(self.grid, DIM, &self.integrated, Selection::Class(class));
            let tiles = self.tiles.each_ref().map(Vec::as_slice);
            let apply = Apply { form: &self.form, tiles, patches, class, x, output };
            // SAFETY: the vectors are the level's, and the patches are those of the class.
            unsafe {
                match DIM {
                    2 => sweep.run(patches, &Apply2d::<T, C, H, N>(apply)),
                    _ => sweep.run(patches, &Apply3d::<T, C, H, N>(apply)),
                }
            }
        }
    }

    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        self.smooth(sweep, None, color, b, x);
    }

    fn smooth_color_of_corrections(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        self.smooth(sweep, (!self.kept[0].is_empty()).then_some(&self.kept), color, b, x);
    }
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Element<T, DIM, M, N, C, H>
{
    /// Smooths on a color; with `kept`, without the patches that are kept in all directions.
    fn smooth(&self, sweep: Sweep, kept: Option<&[Vec<bool>; 3]>, color: u32, b: &[T], x: &mut [T]) {
        assert!(x.len() == b.len() && x.len() >= self.grid.storage(DIM), "vectors of the level");
        let patches = &PatchRows::new(self.grid, DIM, &self.smoothed, color);
        let (along_x, across) = (&self.along_x, self.across.each_ref().map(Vec::as_slice));
        let (form, tiles) = (&self.form, self.patches.each_ref().map(Vec::as_slice));
        let smooth = Smooth { form, tiles, along_x, across, kept, patches, color, b, x: Shared::new(x) };
        // SAFETY: the vectors are the level's, and the patches are those of a color.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Smooth2d::<T, M, N, C, H>(smooth)),
                _ => sweep.run(patches, &Smooth3d::<T, M, N, C, H>(smooth)),
            }
        }
    }
}
