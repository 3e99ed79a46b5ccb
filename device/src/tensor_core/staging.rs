//! From global to shared memory: nodes of a box, and the traces behind its faces.

use super::contract::{Engine, Tensor};
use super::{TRACES, operator::Box3};
use crate::layout::Layout;
use crate::scalar::{Real, is_shifted};
use cuda_std::shared::Word;
use cuda_std::thread;

/// Where a tensor is loaded to, and where it is contracted: the same place, unless the engine [copies](Engine::IS_COPIED).
pub struct Places<E: Engine<N>, const N: usize> {
    pub loaded: Tensor<E::Scalar, E::Loaded>,
    pub stored: Tensor<E::Stored, E::Layout>,
}

impl<E: Engine<N>, const N: usize> Clone for Places<E, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Engine<N>, const N: usize> Copy for Places<E, N> {}

impl<E: Engine<N>, const N: usize> Places<E, N> {
    /// Words of shared memory, in the engine's scalar, for so many planes that are loaded and so many that are contracted.
    pub fn words([loaded, stored]: [usize; 2]) -> usize {
        let words = E::Layout::words(stored) * size_of::<E::Stored>() / size_of::<E::Scalar>();
        if E::IS_COPIED { E::Loaded::words(loaded) + words } else { words }
    }

    /// From these planes on; before the first plane that is contracted there are `loads` that are loaded.
    #[inline(always)]
    pub fn at(loads: usize, [loaded, stored]: [usize; 2]) -> Self {
        const { assert!(E::Loaded::PITCH == E::Layout::PITCH) };
        let start = E::Layout::words(stored);
        if E::IS_COPIED {
            let before = E::Loaded::words(loads) * size_of::<E::Scalar>() / size_of::<E::Stored>();
            Self { loaded: Tensor::at(E::Loaded::words(loaded)), stored: Tensor::at(before + start) }
        } else {
            Self { loaded: Tensor::at(start), stored: Tensor::at(start) }
        }
    }
}

/// Calls `visit` once for every entry of `planes` planes of a layout, by one of the threads, with whether it is one of the
/// `N` of a row and, last, of the rows that there are. Threads side by side have rows of 8 and then the next ones: free of
/// conflicts in [`XorSwizzle`](crate::layout::XorSwizzle).
#[inline(always)]
pub fn for_each<L: Layout, const N: usize>(planes: usize, mut visit: impl FnMut([usize; 3], bool, bool)) {
    let width = if L::PITCH.is_multiple_of(8) { 8 } else { L::PITCH };
    let (rows, blocks) = (N.next_multiple_of(8), L::PITCH / width);
    let mut index = thread::thread_idx_x() as usize;
    while index < width * rows * blocks * planes {
        let (row, rest) = (index / width % rows, index / (width * rows));
        let point = [index % width + width * (rest % blocks), row, rest / blocks];
        visit(point, point[0] < N && row < N, row < L::ROWS);
        index += thread::block_dim_x() as usize;
    }
}

/// Sets entries; zero beyond the `N` of a row or a column.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn fill<T: Real + Word, L: Layout, const N: usize>(
    tensor: Tensor<T, L>,
    planes: usize,
    entry: impl Fn([usize; 3]) -> T,
) {
    for_each::<L, N>(planes, |point, inside, stored| {
        tensor.set(stored, point, if inside { entry(point) } else { T::ZERO });
    });
}

/// Starts to copy a box's nodes from where they are in global memory.
///
/// # Safety
/// There are `N` nodes a direction that may be read and that nobody writes.
#[inline(always)]
pub unsafe fn copy_from<T: Real + Word, L: Layout, const N: usize>(
    tensor: Tensor<T, L>,
    node: impl Fn([usize; 3]) -> *const T,
) {
    for_each::<L, N>(N, |point, inside, stored| {
        // SAFETY: the caller's promise.
        unsafe { tensor.memory.copy_if(inside, tensor.index(point), node(point)) };
        tensor.set(stored && !inside, point, T::ZERO);
    });
}

/// Traces behind both faces of a direction, in the order of [`TRACES`], of `x` less `shift` where this is
/// [done](is_shifted).
///
/// # Safety
/// `x` is a vector of the level, which nobody writes; `normal` has `N` entries, then `σ`.
#[inline(always)]
pub unsafe fn traces<T: Real + Word, L: Layout, const N: usize>(
    tensor: Tensor<T, L>,
    place: &Box3<N>,
    direction: usize,
    x: *const T,
    normal: *const T,
    shift: T,
) {
    for_each::<L, N>(TRACES / 2, |[u, w, side], inside, stored| {
        let mut trace = [T::ZERO; 2];
        if inside {
            let (face, inward) = place.behind(direction, side, [u, w]);
            let node = |t: usize| {
                // SAFETY: the caller's promise; nodes of this box or of the one behind the face.
                let node = unsafe { *x.add(face.wrapping_add_signed(t as isize * inward)) };
                if is_shifted::<T>() { node - shift } else { node }
            };
            let value = node(0);
            // SAFETY: the caller's promise.
            let mut derivative = T::scale(unsafe { *normal }, value);
            for t in 1..N {
                // SAFETY: the caller's promise.
                derivative = T::fma(unsafe { *normal.add(t) }, node(t), derivative);
            }
            // SAFETY: the caller's promise.
            let penalty = unsafe { *normal.add(N) };
            trace = match (place.at_end(direction, side), is_shifted::<T>()) {
                (false, _) => [value, T::fma(-penalty, value, derivative)],
                (true, false) => [-value, -derivative],
                // What a boundary adds knows the value, and what the matrices of a box have of a constant there goes.
                (true, true) => [-value - (shift + shift), T::fma(penalty, shift, -derivative)],
            };
        }
        tensor.set(stored, [u, w, 2 * side], trace[0]);
        tensor.set(stored, [u, w, 2 * side + 1], trace[1]);
    });
}
