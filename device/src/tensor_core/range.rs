//! Block floating point, for operands of a narrow range: `f16` overflows above 65504 and has no digits below 6e-8, but vectors
//! are of any size. A block multiplies its data by the power of two that brings its largest entry to `1..2`, which is
//! exact, and its result by the inverse. Tables are of cells of size 1, so that nothing in between leaves the range.

use super::TRACES;
use super::contract::{Engine, Tensor};
use super::staging::{Places, for_each};
use super::stored::Stored;
use crate::layout::Layout;
use crate::mma::LANES;
use crate::scalar::{Real, Value, is_shifted};
use cuda_std::shared::wait_for_copies;
use cuda_std::thread;

/// Words of shared memory, the largest entry of each warp.
pub fn words<E: Engine<N>, const N: usize>() -> usize {
    if E::IS_NARROW { E::THREADS / LANES } else { 0 }
}

/// Barriers of [`loaded`].
pub fn barriers<E: Engine<N>, const N: usize>() -> usize {
    if E::IS_NARROW { 2 } else { 1 }
}

/// Those of three directions, and what is off them.
pub struct Traces<E: Engine<N>, const N: usize> {
    pub tensors: [Places<E, N>; 3],
    pub shift: E::Scalar,
}

/// Ends the loading of a block with a barrier. With traces there is a shift, if it [is done](is_shifted): it is off the traces
/// already, and is taken off the nodes. If the engine needs it, both are scaled, with [`words`] from word `largest` on, and
/// copied to where they are contracted; returns the factor of the result that makes up for the scale.
///
/// Threads have loaded what [`copy_from`](super::staging::copy_from) and [`traces`](super::staging::traces) give them.
#[inline(always)]
pub fn loaded<E: Engine<N>, const N: usize>(
    largest: usize,
    nodes: Places<E, N>,
    traces: Option<Traces<E, N>>,
) -> E::Scalar {
    wait_for_copies();
    let shift = traces.as_ref().map(|traces| traces.shift).filter(|_| is_shifted::<E::Scalar>());
    let traces = traces.map(|traces| traces.tensors);
    if !E::IS_NARROW && !E::IS_COPIED {
        if shift.is_some() {
            each_own::<E, N>(nodes, None, shift, |places, point, [inside, _], value| {
                places.loaded.set(inside, point, value);
            });
        }
        thread::sync_threads();
        return E::Scalar::from_f64(1.0);
    }
    let scale = E::IS_NARROW.then(|| {
        let largest = Tensor::<E::Scalar, E::Loaded>::at(largest);
        let thread = thread::thread_idx_x() as usize;
        let mut most = 0;
        each_own::<E, N>(nodes, traces, shift, |_, _, _, value| most = most.max(magnitude(value)));
        let most = of_warp(most);
        largest.memory.set_if(thread.is_multiple_of(LANES), largest.start() + thread / LANES, value(most));
        thread::sync_threads();
        let mut most = 0;
        for warp in 0..E::THREADS / LANES {
            most = most.max(magnitude(largest.get_at(warp)));
        }
        powers(most)
    });
    each_own::<E, N>(nodes, traces, shift, |places, point, [_, stored], node| {
        let scaled = scale.map_or(node, |(scale, _)| E::Scalar::scale(value(scale), node));
        places.stored.set(stored, point, E::Stored::of(scaled));
    });
    thread::sync_threads();
    scale.map_or(E::Scalar::from_f64(1.0), |(_, inverse)| value(inverse))
}

/// Calls `visit` for the entries that a thread has loaded, with whether they are a box's, and memory has their row where they
/// are contracted; with their values, of nodes less the shift, zero around the box.
#[inline(always)]
fn each_own<E: Engine<N>, const N: usize>(
    nodes: Places<E, N>,
    traces: Option<[Places<E, N>; 3]>,
    shift: Option<E::Scalar>,
    mut visit: impl FnMut(Places<E, N>, [usize; 3], [bool; 2], E::Scalar),
) {
    let stored = |point: [usize; 3]| point[1] < E::Layout::ROWS;
    for_each::<E::Loaded, N>(N, |point, inside, loaded| {
        let node = if loaded { nodes.loaded.get(point) } else { E::Scalar::ZERO };
        let node = match shift {
            Some(shift) if inside => node - shift,
            _ => node,
        };
        visit(nodes, point, [inside, stored(point)], node);
    });
    let Some([x, y, z]) = traces else { return };
    for_each::<E::Loaded, N>(TRACES / 2, |[u, w, side], inside, loaded| {
        let mut trace = |traces: Places<E, N>, trace: usize| {
            let point = [u, w, 2 * side + trace];
            let value = if loaded { traces.loaded.get(point) } else { E::Scalar::ZERO };
            visit(traces, point, [inside, stored(point)], value);
        };
        trace(x, 0);
        trace(x, 1);
        trace(y, 0);
        trace(y, 1);
        trace(z, 0);
        trace(z, 1);
    });
}

/// The bits of `|value|` in `f32`: they are in the order of the magnitudes, with infinity and NaN above all.
#[inline(always)]
fn magnitude<T: Real>(value: T) -> u32 {
    (value.to_f64() as f32).to_bits() & (u32::MAX >> 1)
}

/// The value with these bits in `f32`.
#[inline(always)]
fn value<T: Real>(bits: u32) -> T {
    T::from_f64(f64::from(f32::from_bits(bits)))
}

/// The bits of a power of two that brings a number, by the bits of its magnitude, to `1..2` (the largest ones to `2..4`), and
/// those of its inverse; both are 1 for zero, for what has no full mantissa and for what is not finite.
const fn powers(magnitude: u32) -> (u32, u32) {
    const MANTISSA: u32 = 23;
    let exponent = match magnitude >> MANTISSA {
        0 | 255 => 127,
        254 => 253,
        exponent => exponent,
    };
    ((254 - exponent) << MANTISSA, exponent << MANTISSA)
}

/// The largest of a warp's numbers. All its lanes come here together.
#[inline(always)]
fn of_warp(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    return unsafe { cuda_std::warp::warp_reduce_max(u32::MAX, number) };
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_std::emulate::exchange([number]).into_iter().fold(0, |most, [number]| most.max(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_bring_the_largest_entry_to_one_and_are_undone_exactly() {
        for exponent in -126..127 {
            for mantissa in [1.0, 1.3, 1.999_999_9] {
                let entry = mantissa * (exponent as f32).exp2();
                let (scale, inverse) = powers(magnitude(-entry));
                let (scale, inverse) = (f32::from_bits(scale), f32::from_bits(inverse));
                assert_eq!(scale * entry, mantissa);
                assert_eq!(scale * inverse, 1.0);
            }
        }
        let one = 1.0_f32.to_bits();
        for number in [0.0, -0.0, 1e-40, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            assert_eq!(powers(magnitude(number)), (one, one), "{number}");
        }
        let (scale, inverse) = powers(magnitude(f32::MAX));
        assert_eq!(f32::from_bits(scale) * f32::from_bits(inverse), 1.0);
        assert!((2.0..4.0).contains(&(f32::from_bits(scale) * f32::MAX)));
    }

    #[test]
    fn magnitudes_are_ordered_as_numbers() {
        let ascending = [0.0, 1e-40, 1e-7, -1.0, 65504.0, -1e30, f32::INFINITY, f32::NAN];
        assert!(ascending.is_sorted_by_key(|&number| magnitude(number)));
    }
}
