//! Block floating point, for operands of a narrow range: `f16` overflows above 65504 and has no digits below 6e-8, but vectors
//! are of any size. A block multiplies its data by the power of two that brings its largest entry to `1..2`, which is
//! exact, and its result by the inverse. Tables are of cells of size 1, so that nothing in between leaves the range.

use super::TRACES;
use super::contract::{Engine, Tensor};
use super::staging::for_each;
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
pub struct Traces<T: Copy, L> {
    pub tensors: [Tensor<T, L>; 3],
    pub shift: T,
}

/// Ends the loading of a block with a barrier. With traces there is a shift, if it [is done](is_shifted): it is off the traces
/// already, and is taken off the nodes. If the engine needs it, both are then scaled, with [`words`] from word `largest` on;
/// returns the factor of the result that makes up for it.
///
/// Threads have loaded what [`copy_from`](super::staging::copy_from) and [`traces`](super::staging::traces) give them.
#[inline(always)]
pub fn loaded<E: Engine<N>, const N: usize>(
    largest: usize,
    nodes: Tensor<E::Scalar, E::Layout>,
    traces: Option<Traces<E::Scalar, E::Layout>>,
) -> E::Scalar {
    wait_for_copies();
    if let (true, Some(&Traces { shift, .. })) = (is_shifted::<E::Scalar>(), traces.as_ref()) {
        for_each::<E::Layout, N>(N, |point, inside, stored| {
            let node = if stored { nodes.get(point) } else { E::Scalar::ZERO };
            nodes.set(inside, point, node - shift);
        });
    }
    if !E::IS_NARROW {
        thread::sync_threads();
        return E::Scalar::from_f64(1.0);
    }
    let traces = traces.map(|traces| traces.tensors);
    let largest = Tensor::<E::Scalar, E::Layout>::at(largest);
    let thread = thread::thread_idx_x() as usize;
    let mut most = 0;
    each_own::<E, N>(nodes, traces, |tensor, point, stored| {
        if stored {
            most = most.max(magnitude(tensor.get(point)));
        }
    });
    let most = of_warp(most);
    largest.memory.set_if(thread.is_multiple_of(LANES), largest.start() + thread / LANES, value(most));
    thread::sync_threads();

    let mut most = 0;
    for warp in 0..E::THREADS / LANES {
        most = most.max(magnitude(largest.get_at(warp)));
    }
    let (scale, inverse) = powers(most);
    each_own::<E, N>(nodes, traces, |tensor, point, stored| {
        let scaled = if stored { E::Scalar::scale(value(scale), tensor.get(point)) } else { E::Scalar::ZERO };
        tensor.set(stored, point, scaled);
    });
    thread::sync_threads();
    value(inverse)
}

/// Calls `visit` for the entries that a thread has loaded.
#[inline(always)]
fn each_own<E: Engine<N>, const N: usize>(
    nodes: Tensor<E::Scalar, E::Layout>,
    traces: Option<[Tensor<E::Scalar, E::Layout>; 3]>,
    mut visit: impl FnMut(Tensor<E::Scalar, E::Layout>, [usize; 3], bool),
) {
    for_each::<E::Layout, N>(N, |point, _, stored| visit(nodes, point, stored));
    if let Some([x, y, z]) = traces {
        for_each::<E::Layout, N>(TRACES / 2, |[u, w, side], _, stored| {
            visit(x, [u, w, 2 * side], stored);
            visit(x, [u, w, 2 * side + 1], stored);
            visit(y, [u, w, 2 * side], stored);
            visit(y, [u, w, 2 * side + 1], stored);
            visit(z, [u, w, 2 * side], stored);
            visit(z, [u, w, 2 * side + 1], stored);
        });
    }
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
