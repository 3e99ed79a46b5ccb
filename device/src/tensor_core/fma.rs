//! Contractions on CUDA cores (paper 4, listing 3): thread `(row, column)` computes row `row` of the product for column
//! `column` of every layer, each operand of each multiply-add from shared memory.

use super::contract::{Contraction, Engine, Entry, point};
use super::matrix::Source;
use super::stored::Stored;
use super::{MOST_NODES, TRACES};
use crate::layout::{Layout, Plain};
use crate::scalar::Real;
use core::marker::PhantomData;
use cuda_std::hint::opaque;
use cuda_std::ptr::ReadOnly;
use cuda_std::shared::Word;
use cuda_std::thread;

/// The engine.
pub struct Fma<T>(PhantomData<T>);

/// Threads for one a column of nodes, in whole warps.
pub const fn threads(nodes: usize) -> usize {
    (nodes * nodes).next_multiple_of(32)
}

impl<T: Real + Word + ReadOnly + Stored<T>, const N: usize> Engine<N> for Fma<T> {
    type Scalar = T;
    type Stored = T;
    type Layout = Plain<N>;
    type Loaded = Plain<N>;
    const THREADS: usize = threads(N);

    #[inline(always)]
    fn barriers(_: usize) -> usize {
        1
    }

    #[inline(always)]
    fn contract<S: Source<T>>(contraction: &Contraction<Self, S, N>, sink: impl FnMut(Entry, T, T)) {
        contract::<T, Self, S, N>(contraction, sink);
    }
}

/// In any layout; all reads are before a barrier, all calls of the sink behind it.
#[inline(always)]
pub fn contract<T: Real + Word, E: Engine<N, Scalar = T, Stored = T>, S: Source<T>, const N: usize>(
    contraction: &Contraction<E, S, N>,
    mut sink: impl FnMut(Entry, T, T),
) {
    let Contraction { direction, planes, terms, mass, stiffness, p, q, .. } = *contraction;
    let thread = thread::thread_idx_x() as usize;
    let (row, column, active) = (thread / N, thread % N, thread < N * N);
    let layers = if direction == 2 { N } else { planes };
    let mut first = [T::ZERO; MOST_NODES];
    let mut second = [T::ZERO; MOST_NODES];
    if active {
        for k in 0..opaque(N as u32) as usize {
            let m: T = if terms.first || terms.mixed { mass.get(row, k) } else { T::ZERO };
            let l: T = if terms.second { stiffness.get(row, k) } else { T::ZERO };
            for layer in 0..layers {
                let at = point(direction, [column, layer], k);
                let value = p.get(at);
                if terms.first {
                    first[layer] = T::fma(m, value, first[layer]);
                }
                if terms.second {
                    second[layer] = T::fma(l, value, second[layer]);
                }
                if terms.mixed {
                    second[layer] = T::fma(m, q.get(at), second[layer]);
                }
            }
        }
        if let Some(faces) = &contraction.faces {
            for trace in 0..TRACES {
                let coefficient = faces.coefficient(row, trace);
                for layer in 0..layers {
                    second[layer] = T::fma(coefficient, faces.traces.get([column, layer, trace]), second[layer]);
                }
            }
        }
    }
    thread::sync_threads();
    for layer in 0..layers {
        let (line, node) = ([column, layer], row);
        let index = E::Layout::index(point(direction, line, node));
        sink(Entry { line, node, active, index }, first[layer], second[layer]);
    }
}
