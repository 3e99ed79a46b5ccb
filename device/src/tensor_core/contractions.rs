//! The contractions of [`operator`](super::operator) alone, over and over between one load and one store, so that their time is
//! told from that of memory: on boxes whose faces couple with nothing
//!
//! ```text
//! y = (L ⊗ M ⊗ M + M ⊗ L ⊗ M + M ⊗ M ⊗ L)^repeats x
//! ```
//!
//! With the times `t(r)` and `t(2r)` of `r` and `2r` repetitions on `B` boxes the rate is
//! `r B` [`operations`] ` / (t(2r) - t(r))`, that of tensor cores with [`padded_operations`].

use super::contract::{Contraction, Engine, in_place, sink};
use super::matrix::Source;
use super::operator::{Box3, TERMS};
use super::range;
use super::staging::{Places, copy_from, for_each};
use crate::mma::Shape;
use cuda_std::hint::{made_here, opaque};
use cuda_std::thread;

/// Products of a box's nodes with `M` or `L` in a repetition: two in x, three in y, two in z.
const PRODUCTS: usize = 7;

/// Floating-point operations of a repetition on a box.
pub const fn operations(nodes: usize) -> usize {
    2 * PRODUCTS * nodes.pow(4)
}

/// What an engine of such products computes in place of them, with all that it pads.
pub const fn padded_operations(shape: Shape, nodes: usize) -> usize {
    let tiles = (nodes.next_multiple_of(8) * nodes).div_ceil(shape.rows);
    let products = PRODUCTS * tiles * nodes.div_ceil(shape.columns) * nodes.div_ceil(shape.inner);
    2 * shape.rows * shape.columns * shape.inner * products
}

/// Barriers of [`contract`], those of a repetition once.
pub fn barriers<E: Engine<N>, const N: usize>() -> usize {
    range::barriers::<E, N>() + 3 + E::barriers(0) + E::barriers(1) + E::barriers(2)
}

/// On a mesh of so many boxes in each direction, with the operator's shared memory: as many blocks are at work as there.
///
/// # Safety
/// As for [`operator::apply`](super::operator::apply).
#[inline(always)]
pub unsafe fn contract<E: Engine<N, Scalar = f64, Stored = f64>, S: Source<f64>, const N: usize>(
    source: S,
    table: *const f64,
    x: *const f64,
    y: *mut f64,
    boxes: [u32; 3],
    repeats: u32,
) {
    let place = Box3::<N>::of_block(boxes);
    let [p, q] = [[0, 0], [0, N]].map(|planes| Places::<E, N>::at(0, planes));
    let numbers = [0, 1, 0];
    // SAFETY: the launch's promise.
    unsafe {
        source.prepare(table, numbers);
        copy_from::<_, _, N>(p.loaded, |node| x.wrapping_add(place.offset(node)));
    }
    // A power of the scale would have to make up for it.
    const { assert!(!E::IS_NARROW) };
    range::loaded::<E, N>(0, p, None);
    let [p, q] = [p, q].map(|places| places.stored);

    let (mass, stiffness) = (source.matrix(0, numbers), source.matrix(1, numbers));
    let nodes = |direction: usize| Contraction {
        direction,
        planes: N,
        terms: TERMS[direction],
        mass,
        stiffness,
        p,
        q,
        faces: None,
        overwrites: true,
    };
    for _ in 0..opaque(repeats) {
        in_place::<E, S, N>(&nodes(0));
        thread::sync_threads();
        in_place::<E, S, N>(&nodes(1));
        thread::sync_threads();
        E::contract(&nodes(2), sink(&mut |entry, _, second| p.set_entry(entry, second)));
        thread::sync_threads();
    }
    // Where the box is, is not kept for as long.
    let [x_boxes, y_boxes, z_boxes] = boxes;
    let place = Box3::<N>::of_block([made_here(x_boxes), made_here(y_boxes), made_here(z_boxes)]);
    for_each::<E::Layout, N>(N, |node, inside, _| {
        if inside {
            // SAFETY: the launch's promise; the box is this block's.
            unsafe { *y.add(place.offset(node)) = p.get(node) };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::XorSwizzle;
    use crate::mma::{LANES, M8N8K4, M16N8K4, M16N8K16, Product};
    use crate::tensor_core::matrix::InReadOnly;
    use crate::tensor_core::operator::{shared_words, table_words};
    use crate::tensor_core::tile::Tiles;
    use cuda_std::emulate::Launch;
    use std::marker::PhantomData;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::vec;

    /// `P`, counted.
    struct Counted<P>(PhantomData<P>);

    static COUNT: AtomicUsize = AtomicUsize::new(0);

    impl<P: Product> Product for Counted<P> {
        type Scalar = P::Scalar;
        type A = P::A;
        type B = P::B;
        type C = P::C;
        const SHAPE: Shape = P::SHAPE;

        fn a(lane: usize, element: impl FnMut(usize, usize) -> P::Scalar) -> P::A {
            P::a(lane, element)
        }

        fn b(lane: usize, element: impl FnMut(usize, usize) -> P::Scalar) -> P::B {
            P::b(lane, element)
        }

        fn zero() -> P::C {
            P::zero()
        }

        unsafe fn multiply_add(_: &P::A, _: &P::B, c: &P::C) -> P::C {
            COUNT.fetch_add(1, Ordering::Relaxed);
            *c
        }

        fn sum(c: &P::C, i: usize) -> P::Scalar {
            P::sum(c, i)
        }
    }

    fn count<P: Product<Scalar = f64>, const N: usize>(repeats: u32) {
        type Counting<P, const N: usize> = Tiles<Counted<P>, XorSwizzle<8, N>>;
        let threads = <Counting<P, N> as Engine<N>>::THREADS as u32;
        let shared_bytes = 8 * shared_words::<Counting<P, N>, N>(0) as u32;
        let (table, x) = (vec![0.0; table_words(N)], vec![0.0; N.pow(3)]);
        let y = std::sync::Mutex::new(vec![0.0; N.pow(3)]);
        let (y, table, x) = (y.lock().unwrap().as_mut_ptr() as usize, &table, &x);
        COUNT.store(0, Ordering::Relaxed);
        Launch { grid: [1; 3], threads, shared_bytes }.run(|| {
            let source = InReadOnly::<_, N>(table.as_ptr());
            // SAFETY: one box, and a table of its size.
            unsafe {
                contract::<Counting<P, N>, _, N>(source, table.as_ptr(), x.as_ptr(), y as *mut f64, [1; 3], repeats)
            };
        });
        let Shape { rows, columns, inner, .. } = P::SHAPE;
        let products = COUNT.load(Ordering::Relaxed) / LANES;
        assert_eq!(2 * rows * columns * inner * products, repeats as usize * padded_operations(P::SHAPE, N));
    }

    #[test]
    fn operations_are_those_that_are_done() {
        count::<M8N8K4, 8>(1);
        count::<M16N8K4, 8>(3);
        count::<M16N8K16, 8>(1);
        count::<M8N8K4, 5>(2);
        count::<M16N8K4, 16>(1);
        assert_eq!(padded_operations(M16N8K4::SHAPE, 16), operations(16));
        assert_eq!(padded_operations(M16N8K16::SHAPE, 8), 2 * operations(8));
    }
}
