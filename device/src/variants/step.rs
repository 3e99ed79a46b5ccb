//! A kernel from its pieces: load, residual, local solver, store.

use super::contract::{Matrix, Tensor};
use super::order::{Outputs, of_residual, of_solve};
use super::residual::{boundary_residual, residual};
use super::solve::{diagonalized, stored};
use super::{Parts, Sizes, Step, shape, table_words};
use crate::block::Place;
use crate::kernels::Variant;
use crate::layout::Shared;
use crate::patch::{Grid, bit, color_count, color_origin};
use crate::scalar::Real;
use cuda_std::shared::Word;
use cuda_std::thread;

/// What a kernel computes with; pointers that its step does not use may be null.
#[derive(Clone, Copy)]
pub struct Data<T> {
    /// [`table_words`] words of 1D data.
    pub table: *const T,
    /// The inverse of a patch's matrix, row-major.
    pub inverse: *const T,
    /// Right-hand side.
    pub b: *const T,
    /// Residual: output of `Residual`, input of `Solve`.
    pub r: *mut T,
    pub x: *mut T,
}

/// A thread's view of its patch.
pub struct Patch<T> {
    pub step: Step,
    pub variant: Variant,
    pub sizes: Sizes,
    pub parts: Parts,
    /// Thread of the patch.
    pub thread: usize,
    /// Shared memory of the patch.
    pub memory: Shared<T>,
    /// 1D data, before those of all patches.
    table: Shared<T>,
    grid: Grid,
    origin: usize,
    /// Whether there is such a patch.
    exists: bool,
}

impl<T: Real + Word> Patch<T> {
    #[inline(always)]
    fn new(step: Step, variant: Variant, sizes: Sizes, cells: [u32; 3], color: u32) -> Self {
        let Sizes { dim, degree, .. } = sizes;
        let (columns, parts) = (shape(step, variant, dim, degree).columns, Parts::new(step, variant, dim, degree));
        let grid = Grid { cells, degree: degree as u32 };
        let patches = thread::block_dim_x() as usize / columns;
        let place = Place::new(columns, patches, color_count(cells[0], bit(color, 0)));
        let x = color_origin(degree, bit(color, 0), place.patch);
        let y = color_origin(degree, bit(color, 1), thread::block_idx_y() as usize);
        let origin = if dim == 3 {
            grid.offset_3d(x, y, color_origin(degree, bit(color, 2), thread::block_idx_z() as usize))
        } else {
            grid.offset_2d(x, y)
        };
        let memory = Shared::at(table_words(degree) + place.slot * parts.words);
        let (thread, exists) = (place.column, place.active);
        Self { step, variant, sizes, parts, thread, memory, table: Shared::at(0), grid, origin, exists }
    }

    /// `[M, A]` on all nodes.
    #[inline(always)]
    pub fn operator_matrices(&self) -> [Matrix<T>; 2] {
        let all = self.sizes.all;
        [0, all * all].map(|start| Matrix::new(self.table, start, all))
    }

    /// `S`.
    #[inline(always)]
    pub fn vectors(&self) -> Matrix<T> {
        let Sizes { all, interior, .. } = self.sizes;
        Matrix::new(self.table, 2 * all * all, interior)
    }

    /// `λ_i + λ_j [+ λ_l]`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn eigenvalue(&self, [i, j, l]: [usize; 3]) -> T {
        let Sizes { all, interior, dim, .. } = self.sizes;
        let start = 2 * all * all + interior * interior;
        let sum = self.table.get(start + i) + self.table.get(start + j);
        if dim == 3 { sum + self.table.get(start + l) } else { sum }
    }

    /// Right-hand side, then residual, on the interior nodes.
    #[inline(always)]
    pub fn r(&self) -> Tensor<T> {
        self.inner(self.parts.r)
    }

    /// Another such tensor.
    #[inline(always)]
    pub fn z(&self) -> Tensor<T> {
        self.inner(self.parts.z)
    }

    /// At the levels before `conflict-free` the interior stays among all nodes.
    #[inline(always)]
    fn inner(&self, start: usize) -> Tensor<T> {
        let Sizes { dim, all, interior, .. } = self.sizes;
        match self.variant {
            Variant::Basic | Variant::Linear if self.step.has_residual() => {
                Tensor::new(self.memory, start, all).interior(dim)
            }
            _ => Tensor::new(self.memory, start, interior),
        }
    }

    /// Where the value of a face at an interior point's other coordinates is; faces `2 d` and `2 d + 1` are normal to
    /// direction `d`.
    #[inline(always)]
    pub const fn face_point(&self, face: usize, [i, j, l]: [usize; 3]) -> [usize; 3] {
        match (self.sizes.dim, face / 2) {
            (3, 0) => [j, l, face],
            (3, 1) => [i, l, face],
            (3, _) => [i, j, face],
            (_, 0) => [j, face, 0],
            _ => [i, face, 0],
        }
    }

    /// Offset in a vector of a node of the patch.
    #[inline(always)]
    fn offset(&self, [x, y, z]: [usize; 3]) -> usize {
        // Kept from loads to stores, distances would spill in degree 5.
        let grid = self.grid.remade();
        self.origin + if self.sizes.dim == 3 { grid.local_3d(x, y, z) } else { grid.local_2d(x, y) }
    }

    /// Of an interior node.
    #[inline(always)]
    fn interior_offset(&self, [x, y, z]: [usize; 3]) -> usize {
        self.offset([x + 1, y + 1, z + 1])
    }

    /// 1D data to shared memory, by all threads of the block.
    #[inline(always)]
    unsafe fn load_table(&self, table: *const T) {
        let Sizes { all, degree, .. } = self.sizes;
        let operator = 2 * all * all;
        let start = if self.step.has_residual() { 0 } else { operator };
        let end = if self.step.has_solve() { table_words(degree) } else { operator };
        let mut index = start + thread::thread_idx_x() as usize;
        while index < end {
            // SAFETY: the caller's promise.
            self.table.set(index, unsafe { *table.add(index) });
            index += thread::block_dim_x() as usize;
        }
    }

    /// `x` on all nodes.
    #[inline(always)]
    unsafe fn load_x(&self, x: *const T) {
        let outputs = Outputs::all(self.step, self.variant, self.sizes, self.thread);
        let tensor = Tensor::new(self.memory, self.parts.x, self.sizes.all);
        if outputs.active {
            for layer in 0..outputs.count {
                let point = outputs.point(self.variant, 1, layer);
                // SAFETY: the patch lies within the grid and its guard.
                tensor.set(point, unsafe { *x.add(self.offset(point)) });
            }
        }
    }

    /// `x` on the faces: layers of a tensor, in 2D rows of it; zero where a later direction's faces have the node.
    #[inline(always)]
    unsafe fn load_faces(&self, x: *const T) {
        let Sizes { dim, all, .. } = self.sizes;
        let outputs = Outputs::faces(self.step, self.variant, self.sizes, self.thread);
        let tensor = Tensor::new(self.memory, self.parts.x, all);
        let inside = |coordinate: usize| coordinate > 0 && coordinate + 1 < all;
        if dim == 3 && outputs.active {
            let (a, b) = (outputs.column, outputs.row);
            for face in 0..6 {
                let end = (face % 2) * (all - 1);
                let (point, owned) = match face / 2 {
                    0 => ([end, a, b], inside(a) && inside(b)),
                    1 => ([a, end, b], inside(b)),
                    _ => ([a, b, end], true),
                };
                // SAFETY: as in `load_x`.
                let value = if owned { unsafe { *x.add(self.offset(point)) } } else { T::ZERO };
                tensor.set([a, b, face], value);
            }
        }
        if dim == 2 && outputs.active {
            let (a, face) = (outputs.column, outputs.row);
            let end = (face % 2) * (all - 1);
            let (point, owned) = if face < 2 { ([end, a, 0], inside(a)) } else { ([a, end, 0], true) };
            // SAFETY: as in `load_x`.
            let value = if owned { unsafe { *x.add(self.offset(point)) } } else { T::ZERO };
            tensor.set([a, face, 0], value);
        }
    }

    /// `b`, or a residual, on the interior nodes.
    #[inline(always)]
    unsafe fn load_r(&self, vector: *const T, outputs: Outputs) {
        if outputs.active {
            for layer in 0..outputs.count {
                let point = outputs.point(self.variant, 1, layer);
                // SAFETY: as in `load_x`.
                self.r().set(point, unsafe { *vector.add(self.interior_offset(point)) });
            }
        }
    }

    /// `x` of an interior node, as it was loaded.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn loaded(&self, point: [usize; 3]) -> T {
        Tensor::new(self.memory, self.parts.x, self.sizes.all).interior(self.sizes.dim).get(point)
    }
}

/// One color of the patch smoother, or a part of it.
///
/// # Safety
/// Launched as [`shape`] says, with any number of patches a block; vectors are the grid's.
#[inline(always)]
pub unsafe fn step<T: Real + Word, const L: usize>(
    (step, variant, sizes): (Step, Variant, Sizes),
    data: Data<T>,
    cells: [u32; 3],
    color: u32,
) {
    let patch = Patch::<T>::new(step, variant, sizes, cells, color);
    let boundary = matches!(variant, Variant::Boundary);
    // SAFETY: the caller's promise, here and below.
    unsafe { patch.load_table(data.table) };
    if step.has_residual() {
        match boundary {
            true => unsafe { patch.load_faces(data.x) },
            false => unsafe { patch.load_x(data.x) },
        }
        unsafe { patch.load_r(data.b, of_residual(step, variant, sizes, patch.thread)) };
    } else {
        unsafe { patch.load_r(data.r, of_solve(step, variant, sizes, patch.thread)) };
    }
    thread::sync_threads();

    if step.works() && step.has_residual() {
        if boundary {
            boundary_residual::<T, L>(&patch);
        } else {
            residual::<T, L>(&patch);
        }
        if step.has_solve() {
            thread::sync_threads();
        }
    }
    let last = sizes.dim - 1;
    if !step.has_solve() {
        let outputs = of_residual(step, variant, sizes, patch.thread);
        if outputs.active && patch.exists {
            for layer in 0..outputs.count {
                let point = outputs.point(variant, last, layer);
                let value =
                    if step.works() { patch.r().get(point) } else { patch.r().get(point) - patch.loaded(point) };
                unsafe { *data.r.add(patch.interior_offset(point)) = value };
            }
        }
        return;
    }

    let outputs = of_solve(step, variant, sizes, patch.thread);
    let corrections: [T; L] = match step {
        Step::FusedInverse => unsafe { stored(&patch, data.inverse) },
        _ if step.works() => diagonalized(&patch),
        _ => [T::ZERO; L],
    };
    if outputs.active && patch.exists {
        for layer in 0..outputs.count {
            let point = outputs.point(variant, last, layer);
            let x = unsafe { data.x.add(patch.interior_offset(point)) };
            let correction = if step.works() { corrections[layer] } else { patch.r().get(point) };
            unsafe {
                *x = match variant {
                    Variant::Boundary => correction,
                    Variant::Basic | Variant::Linear if step.has_residual() => patch.loaded(point) + correction,
                    // Among all nodes the interior is not contiguous: read in shared memory, threads would conflict.
                    _ => *x + correction,
                }
            };
        }
    }
}
