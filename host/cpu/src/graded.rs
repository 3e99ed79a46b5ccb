//! One color of the multiplicative vertex-patch smoother where every patch has 1D matrices of its own: `x += R_jᵀ A_j⁻¹ R_j (b - A x)` by
//! the residual on the nodes of a patch, and fast diagonalization.
//!
//! Lanes are patches of a row along x, so that matrices of x are registers, and those of the other directions numbers.

use super::batch::{Batch, PatchRows};
use super::lanes::{Lanes, MAX_LANES, Vectorized};
use super::rows::{self, Put, Rows};
use super::sweep::{BatchKernel, Shared, Sweep};
use super::workspace::workspace;
use core::ops::Range;
use patchmg_device::patch::{Grid, bit};
use patchmg_device::scalar::Value;
use patchmg_device::with_degree;
use pulp::Simd;

/// What the smoother is made from.
pub struct Graded<T> {
    /// 2 or 3.
    pub dim: usize,
    /// Where nodes are stored.
    pub grid: Grid,
    /// The cells that patches lie in; in 2D the last range counts for nothing.
    pub smoothed: [Range<u32>; 3],
    /// For each patch of a direction, from the one of the first two cells on, as many numbers as [`words`] says.
    pub matrices: [Vec<T>; 3],
    /// `s` of a reaction `s u`.
    pub reaction: T,
}

/// Colors of the smoother.
pub trait GradedKernels<T>: Send + Sync {
    /// One color.
    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]);
}

/// The 1D matrices of a patch with `M = 2k - 1` interior nodes of `N = 2k + 1`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PatchMatrices<X, const M: usize, const N: usize> {
    /// Rows of the interior nodes, of all nodes.
    mass: [[X; N]; M],
    stiffness: [[X; N]; M],
    /// `S`, a function in each column, by rows.
    functions: [[X; M]; M],
    /// `λ`.
    values: [X; M],
    /// `M 1`.
    constant: [X; M],
}

// SAFETY: all fields are made of `X` alone.
unsafe impl<X: bytemuck::Zeroable, const M: usize, const N: usize> bytemuck::Zeroable for PatchMatrices<X, M, N> {}
// SAFETY: as above, and `repr(C)` over one type has no padding.
unsafe impl<X: bytemuck::Pod, const M: usize, const N: usize> bytemuck::Pod for PatchMatrices<X, M, N> {}

/// Numbers of the matrices of a patch by degree: by rows, of the interior nodes, the mass and the stiffness matrix of all nodes, the eigenvectors, a function
/// in each column; then eigenvalues, and sums of the mass matrix's rows.
pub const fn words(degree: usize) -> usize {
    let (m, n) = (2 * degree - 1, 2 * degree + 1);
    2 * m * n + m * m + 2 * m
}

/// The smoother by degree; none for a degree without kernels.
///
/// # Panics
/// If there are not as many numbers as patches need.
pub(super) fn kernels<T: Vectorized>(space: Graded<T>) -> Option<Box<dyn GradedKernels<T>>> {
    let degree = space.grid.degree as usize;
    Some(if space.dim == 2 {
        with_degree!(degree, K => Box::new(Element::<T, 2, { 2 * K - 1 }, { 2 * K + 1 }>::new(space)), else return None)
    } else {
        with_degree!(@ degree, K, Box::new(Element::<T, 3, { 2 * K - 1 }, { 2 * K + 1 }>::new(space)), return None, 1 2 3 4 5 6 7 8)
    })
}

struct Element<T, const DIM: usize, const M: usize, const N: usize> {
    grid: Grid,
    smoothed: [Range<u32>; 3],
    /// For each parity of a patch, entry by entry, those of all patches of it, and repeated ones up to whole registers.
    along_x: [Vec<T>; 2],
    across: [Vec<PatchMatrices<T, M, N>>; 2],
    reaction: T,
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize> Element<T, DIM, M, N> {
    fn new(space: Graded<T>) -> Self {
        let Graded { grid, smoothed, matrices: [x, y, z], reaction, .. } = space;
        let words = words(grid.degree as usize);
        for (d, matrices) in [&x, &y, &z][..DIM].iter().enumerate() {
            let patches = (smoothed[d].end - smoothed[d].start) as usize - 1;
            assert!(
                smoothed[d].end <= grid.cells[d] && matrices.len() == patches * words,
                "matrices of {patches} patches"
            );
        }
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
        Self { grid, smoothed, along_x: [0, 1].map(of_parity), across: [across(&y), across(&z)], reaction }
    }
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize> GradedKernels<T> for Element<T, DIM, M, N> {
    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        assert!(x.len() == b.len() && x.len() >= self.grid.storage(DIM), "vectors of the level");
        let patches = &PatchRows::new(self.grid, DIM, &self.smoothed, color);
        let smooth = Smooth { element: self, patches, color, b, x: Shared::new(x) };
        // SAFETY: the vectors are the level's, and the patches are those of a color.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Smooth2d(smooth)),
                _ => sweep.run(patches, &Smooth3d(smooth)),
            }
        }
    }
}

struct Smooth<'a, T, const DIM: usize, const M: usize, const N: usize> {
    element: &'a Element<T, DIM, M, N>,
    patches: &'a PatchRows,
    color: u32,
    b: &'a [T],
    x: Shared<T>,
}

/// In 2D.
struct Smooth2d<'a, T, const DIM: usize, const M: usize, const N: usize>(Smooth<'a, T, DIM, M, N>);
/// In 3D.
struct Smooth3d<'a, T, const DIM: usize, const M: usize, const N: usize>(Smooth<'a, T, DIM, M, N>);

/// An entry of a matrix: a number that all lanes have, or one of each.
trait Entry<S: Simd, T: Vectorized>: Copy {
    fn times_add(self, x: Lanes<S, T>, sum: Lanes<S, T>) -> Lanes<S, T>;
}

impl<S: Simd, T: Vectorized> Entry<S, T> for T {
    #[inline(always)]
    fn times_add(self, x: Lanes<S, T>, sum: Lanes<S, T>) -> Lanes<S, T> {
        Lanes::fma(self, x, sum)
    }
}

impl<S: Simd, T: Vectorized> Entry<S, T> for Lanes<S, T> {
    #[inline(always)]
    fn times_add(self, x: Self, sum: Self) -> Self {
        Self::times_add(self, x, sum)
    }
}

/// `y += A x`.
#[inline(always)]
fn add<S: Simd, T: Vectorized, X: Entry<S, T>, const I: usize, const O: usize>(
    matrix: &[[X; I]; O],
    x: &[Lanes<S, T>; I],
    y: &mut [Lanes<S, T>; O],
) {
    for o in 0..O {
        let mut sum = y[o];
        for i in 0..I {
            sum = matrix[o][i].times_add(x[i], sum);
        }
        y[o] = sum;
    }
}

/// `A x`.
#[inline(always)]
fn times<S: Simd, T: Vectorized, X: Entry<S, T>, const I: usize, const O: usize>(
    matrix: &[[X; I]; O],
    x: &[Lanes<S, T>; I],
) -> [Lanes<S, T>; O] {
    let mut y = [Lanes::ZERO; O];
    add(matrix, x, &mut y);
    y
}

/// `Aᵀ x`.
#[inline(always)]
fn times_transposed<S: Simd, T: Vectorized, X: Entry<S, T>, const M: usize>(
    matrix: &[[X; M]; M],
    x: &[Lanes<S, T>; M],
) -> [Lanes<S, T>; M] {
    let mut y = [Lanes::ZERO; M];
    for o in 0..M {
        let mut sum = Lanes::ZERO;
        for i in 0..M {
            sum = matrix[i][o].times_add(x[i], sum);
        }
        y[o] = sum;
    }
    y
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize> Smooth<'_, T, DIM, M, N> {
    /// Rows of a patch from a node on, beside each other in y.
    #[inline(always)]
    fn rows(&self, [x, y, z]: [usize; 3]) -> Rows {
        let grid = self.patches.grid();
        Rows { first: grid.offset_3d(x, y, z), apart: grid.row() }
    }

    /// The matrices of the patches of a batch along x.
    ///
    /// # Safety
    /// The batch must be one of the color.
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, batch: &Batch, matrices: &mut PatchMatrices<Lanes<S, T>, M, N>) {
        let table = &self.element.along_x[bit(self.color, 0) as usize];
        let entries: &mut [Lanes<S, T>] = bytemuck::cast_slice_mut(core::slice::from_mut(matrices));
        let lanes = table.len() / entries.len();
        for (entry, value) in entries.iter_mut().enumerate() {
            // SAFETY: a row of the table has whole registers, and batches begin at such.
            *value = unsafe { Lanes::load(table.as_ptr().add(entry * lanes + batch.place[0])) };
        }
    }

    /// Those of all of them in another direction.
    #[inline(always)]
    fn across(&self, batch: &Batch, direction: usize) -> &PatchMatrices<T, M, N> {
        &self.element.across[direction - 1][2 * batch.place[direction] + bit(self.color, direction) as usize]
    }
}

workspace! {
    /// Matrices along x; nodes, and what the mass and the stiffness matrix along x make of their rows; the residual, `[j][i]`.
    pub struct Workspace2d<V, const M: usize, const N: usize> {
        along_x: PatchMatrices<V, M, N>,
        nodes: [[V; N]; N],
        mass: [[V; M]; N],
        stiffness: [[V; M]; N],
        residual: [[V; M]; M],
    }
}

workspace! {
    /// The same of a plane; after the contractions along x and y, `[j][i][z]`: with the mass matrix in both, and with the stiffness matrix in one of
    /// them, summed; the residual, `[l][j][i]`.
    pub struct Workspace3d<V, const M: usize, const N: usize> {
        along_x: PatchMatrices<V, M, N>,
        nodes: [[V; N]; N],
        mass: [[V; M]; N],
        stiffness: [[V; M]; N],
        mass_mass: [[[V; N]; M]; M],
        mass_stiffness: [[[V; N]; M]; M],
        residual: [[[V; M]; M]; M],
    }
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize> BatchKernel<T> for Smooth2d<'_, T, DIM, M, N> {
    type Workspace<S: Simd> = Workspace2d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        if batch.active == 0 {
            return;
        }
        let Workspace2d { along_x, nodes, mass, stiffness, residual } = work;
        let (along_y, s) = (self.0.across(batch, 1), self.0.element.reaction);
        // SAFETY (this block): the caller's; a patch's nodes are stored.
        let [[middle]] = &unsafe {
            self.0.load(batch, along_x);
            let middle = rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle());
            rows::load(self.0.x.pointer(), &batch.fine, self.0.rows([0, 0, 0]), &middle[0][0], nodes);
            rows::load(self.0.b.as_ptr(), &batch.fine, self.0.rows([1, 1, 0]), &Lanes::ZERO, residual);
            middle
        };
        for y in 0..N {
            mass[y] = times(&along_x.mass, &nodes[y]);
            stiffness[y] = times(&along_x.stiffness, &nodes[y]);
        }
        let constant = Lanes::ZERO - Lanes::scale(s, *middle);
        for i in 0..M {
            let (of_mass, of_stiffness) =
                (core::array::from_fn(|y| mass[y][i]), core::array::from_fn(|y| stiffness[y][i]));
            let mut product = times(&along_y.stiffness, &of_mass);
            add(&along_y.mass, &of_stiffness, &mut product);
            let constant = along_x.constant[i].times_add(constant, Lanes::ZERO);
            for j in 0..M {
                residual[j][i] = Lanes::fma(along_y.constant[j], constant, residual[j][i] - product[j]);
            }
        }
        for j in 0..M {
            residual[j] = times_transposed(&along_x.functions, &residual[j]);
        }
        for i in 0..M {
            let mut column = times_transposed(&along_y.functions, &core::array::from_fn(|j| residual[j][i]));
            for j in 0..M {
                column[j] = column[j] / (along_x.values[i] + Lanes::splat(along_y.values[j] + s));
            }
            let column = times(&along_y.functions, &column);
            for j in 0..M {
                residual[j][i] = column[j];
            }
        }
        for j in 0..M {
            residual[j] = times(&along_x.functions, &residual[j]);
        }
        // SAFETY: patches of a color share no interior node.
        unsafe { rows::store(residual, Put::Add, self.0.x, batch, &batch.fine, self.0.rows([1, 1, 0])) };
    }
}

impl<T: Vectorized, const DIM: usize, const M: usize, const N: usize> BatchKernel<T> for Smooth3d<'_, T, DIM, M, N> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        if batch.active == 0 {
            return;
        }
        let Workspace3d { along_x, nodes, mass, stiffness, mass_mass, mass_stiffness, residual } = work;
        let (along_y, along_z, s) = (self.0.across(batch, 1), self.0.across(batch, 2), self.0.element.reaction);
        // SAFETY (this block): the caller's; a patch's nodes are stored.
        let [[middle]] = &unsafe {
            self.0.load(batch, along_x);
            rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle())
        };
        for z in 0..N {
            // SAFETY: as above.
            unsafe { rows::load(self.0.x.pointer(), &batch.fine, self.0.rows([0, 0, z]), middle, nodes) };
            for y in 0..N {
                mass[y] = times(&along_x.mass, &nodes[y]);
                stiffness[y] = times(&along_x.stiffness, &nodes[y]);
            }
            for i in 0..M {
                let (of_mass, of_stiffness) =
                    (core::array::from_fn(|y| mass[y][i]), core::array::from_fn(|y| stiffness[y][i]));
                let masses = times(&along_y.mass, &of_mass);
                let mut sum = times(&along_y.stiffness, &of_mass);
                add(&along_y.mass, &of_stiffness, &mut sum);
                for j in 0..M {
                    mass_mass[j][i][z] = masses[j];
                    mass_stiffness[j][i][z] = sum[j];
                }
            }
        }
        for l in 0..M {
            // SAFETY: as above.
            unsafe {
                let rows = self.0.rows([1, 1, l + 1]);
                rows::load(self.0.b.as_ptr(), &batch.fine, rows, &Lanes::ZERO, &mut residual[l]);
            }
        }
        let constant = Lanes::ZERO - Lanes::scale(s, *middle);
        for j in 0..M {
            for i in 0..M {
                let mut product = times(&along_z.stiffness, &mass_mass[j][i]);
                add(&along_z.mass, &mass_stiffness[j][i], &mut product);
                let constant = along_x.constant[i].times_add(constant, Lanes::ZERO);
                let constant = Lanes::scale(along_y.constant[j], constant);
                for l in 0..M {
                    residual[l][j][i] = Lanes::fma(along_z.constant[l], constant, residual[l][j][i] - product[l]);
                }
            }
        }
        for plane in residual.iter_mut() {
            for j in 0..M {
                plane[j] = times_transposed(&along_x.functions, &plane[j]);
            }
            for i in 0..M {
                let column = times_transposed(&along_y.functions, &core::array::from_fn(|j| plane[j][i]));
                for j in 0..M {
                    plane[j][i] = column[j];
                }
            }
        }
        for j in 0..M {
            for i in 0..M {
                let mut column = times_transposed(&along_z.functions, &core::array::from_fn(|l| residual[l][j][i]));
                let value = along_x.values[i] + Lanes::splat(along_y.values[j] + s);
                for l in 0..M {
                    column[l] = column[l] / (value + Lanes::splat(along_z.values[l]));
                }
                let column = times(&along_z.functions, &column);
                for l in 0..M {
                    residual[l][j][i] = column[l];
                }
            }
        }
        for (l, plane) in residual.iter_mut().enumerate() {
            for i in 0..M {
                let column = times(&along_y.functions, &core::array::from_fn(|j| plane[j][i]));
                for j in 0..M {
                    plane[j][i] = column[j];
                }
            }
            for j in 0..M {
                plane[j] = times(&along_x.functions, &plane[j]);
            }
            // SAFETY: patches of a color share no interior node.
            unsafe { rows::store(plane, Put::Add, self.0.x, batch, &batch.fine, self.0.rows([1, 1, l + 1])) };
        }
    }
}
