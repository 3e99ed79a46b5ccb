//! Contractions: a 1D matrix times lines of a tensor, the nodes of a line in registers.
//!
//! Long ones are functions of their own for the SIMD level, which all kernels of a degree share: the loops that are unrolled are
//! in few places, so that kernels compile quickly.

use super::lanes::{Lanes, Vectorized};
use patchmg_device::contract::{Centrosymmetric, Dense, Parity};
use patchmg_device::scalar::{Real, Value};
use pulp::{Simd, WithSimd};

/// Lines of `N` nodes in a slice: node `i` of line `l` is entry `first + l * apart + i * step`.
#[derive(Clone, Copy)]
pub struct Lines<const N: usize> {
    pub first: usize,
    pub step: usize,
    pub apart: usize,
    pub count: usize,
}

impl<const N: usize> Lines<N> {
    /// The rows of a plane, one behind the other.
    #[inline(always)]
    pub const fn rows(count: usize) -> Self {
        Self { first: 0, step: 1, apart: N, count }
    }

    /// The columns of a plane with `count` nodes a row.
    #[inline(always)]
    pub const fn columns(count: usize) -> Self {
        Self { first: 0, step: count, apart: 1, count }
    }

    /// In 3D, the lines in `z` through row `y` of planes with `rows` rows of `count` nodes.
    #[inline(always)]
    pub const fn across(y: usize, rows: usize, count: usize) -> Self {
        Self { first: y * count, step: rows * count, apart: 1, count }
    }

    /// These lines without their first and last nodes, of which `M = N - 2` are left.
    #[inline(always)]
    pub const fn interior<const M: usize>(self) -> Lines<M> {
        const { assert!(M + 2 == N) }
        let Self { first, step, apart, count } = self;
        Lines { first: first + step, step, apart, count }
    }

    /// Entries that a slice needs to hold them.
    #[inline(always)]
    pub const fn end(self) -> usize {
        if self.count == 0 { 0 } else { self.first + (self.count - 1) * self.apart + (N - 1) * self.step + 1 }
    }
}

/// What is done with a line of `N` nodes, one in each of `I` tensors, to make one of `R` nodes.
pub trait LineMap<T, const I: usize, const N: usize, const R: usize> {
    fn map<V: Value<T>>(&self, x: &[[V; N]; I]) -> [V; R];
}

/// `x`.
#[derive(Clone, Copy)]
pub struct Unchanged;

impl<T, const N: usize> LineMap<T, 1, N, N> for Unchanged {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x]: &[[V; N]; 1]) -> [V; N] {
        *x
    }
}

/// `C x`.
#[derive(Clone, Copy)]
pub struct Times<'a, M>(pub &'a M);

impl<T: Real, const N: usize, const H: usize, const R: usize> LineMap<T, 1, N, R>
    for Times<'_, Centrosymmetric<T, N, H>>
{
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x]: &[[V; N]; 1]) -> [V; R] {
        self.0.apply(x)
    }
}

impl<T: Real, const N: usize> LineMap<T, 1, N, N> for Times<'_, Dense<T, N>> {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x]: &[[V; N]; 1]) -> [V; N] {
        self.0.times(x)
    }
}

/// `C x + D z`.
pub struct Sum<'a, M>(pub &'a M, pub &'a M);

impl<T: Real, const N: usize, const H: usize, const R: usize> LineMap<T, 2, N, R>
    for Sum<'_, Centrosymmetric<T, N, H>>
{
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x, z]: &[[V; N]; 2]) -> [V; R] {
        self.0.apply_sum(x, self.1, z)
    }
}

/// Nodes to functions.
pub struct Analyze<'a, M>(pub &'a M);

impl<T: Real, const E: usize, const M: usize> LineMap<T, 1, M, M> for Analyze<'_, Parity<T, E>> {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x]: &[[V; M]; 1]) -> [V; M] {
        self.0.analyze(x)
    }
}

/// Functions to nodes.
pub struct Synthesize<'a, M>(pub &'a M);

impl<T: Real, const E: usize, const M: usize> LineMap<T, 1, M, M> for Synthesize<'_, Parity<T, E>> {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [z]: &[[V; M]; 1]) -> [V; M] {
        self.0.synthesize(z)
    }
}

/// `y = map(x)`, line by line.
///
/// # Panics
/// If a slice does not hold its lines, or there are not as many of them in `y` as in `x`.
#[inline(always)]
pub fn contract<S: Simd, T: Vectorized, const I: usize, const N: usize, const R: usize>(
    map: impl LineMap<T, I, N, R>,
    x: [&[Lanes<S, T>]; I],
    from: Lines<N>,
    y: &mut [Lanes<S, T>],
    to: Lines<R>,
) {
    assert!(from.count == to.count && x.iter().all(|x| from.end() <= x.len()) && to.end() <= y.len());
    // SAFETY: the lines lie in the slices.
    unsafe { run(&map, &Tensors { x: x.map(<[_]>::as_ptr), from, y: y.as_mut_ptr(), to }) }
}

/// `x = map(x)`, line by line.
///
/// # Panics
/// If the slice does not hold the lines.
#[inline(always)]
pub fn contract_in_place<S: Simd, T: Vectorized, const N: usize>(
    map: impl LineMap<T, 1, N, N>,
    x: &mut [Lanes<S, T>],
    lines: Lines<N>,
) {
    assert!(lines.end() <= x.len());
    let x = x.as_mut_ptr();
    // SAFETY: the lines lie in the slice; a line is written after it was read, and no other has its nodes.
    unsafe { run(&map, &Tensors { x: [x.cast_const()], from: lines, y: x, to: lines }) }
}

/// Where lines are read and written.
struct Tensors<V, const I: usize, const N: usize, const R: usize> {
    x: [*const V; I],
    from: Lines<N>,
    y: *mut V,
    to: Lines<R>,
}

/// Two pointers, which are passed in registers: a larger struct would be copied at the call, and the copy wait for what was just
/// written.
struct Contraction<'a, S: Simd, T: Vectorized, F, const I: usize, const N: usize, const R: usize> {
    map: &'a F,
    tensors: &'a Tensors<Lanes<S, T>, I, N, R>,
}

/// # Safety
/// The lines must lie in the tensors.
#[inline(always)]
unsafe fn run<S: Simd, T: Vectorized, F: LineMap<T, I, N, R>, const I: usize, const N: usize, const R: usize>(
    map: &F,
    tensors: &Tensors<Lanes<S, T>, I, N, R>,
) {
    let contraction = Contraction { map, tensors };
    if const { N > R } {
        Lanes::<S, T>::vectorize::<N, _>(contraction)
    } else {
        Lanes::<S, T>::vectorize::<R, _>(contraction)
    }
}

impl<S: Simd, T: Vectorized, F: LineMap<T, I, N, R>, const I: usize, const N: usize, const R: usize> WithSimd
    for Contraction<'_, S, T, F, I, N, R>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let Tensors { x, from, y, to } = self.tensors;
        for line in 0..from.count {
            let mut nodes = [[Lanes::<S, T>::ZERO; N]; I];
            for tensor in 0..I {
                for i in 0..N {
                    // SAFETY: the lines lie in the tensors: the caller's of `run`.
                    nodes[tensor][i] = unsafe { *x[tensor].add(from.first + line * from.apart + i * from.step) };
                }
            }
            let result = self.map.map(&nodes);
            for i in 0..R {
                // SAFETY: as above.
                unsafe { *y.add(to.first + line * to.apart + i * to.step) = result[i] };
            }
        }
    }
}
