//! Products of small matrices by a warp, `D = A B + C`, on tensor cores (paper 4, section 3.2): `mma.sync`, `ldmatrix` and
//! `wmma` of the PTX instruction set.
//!
//! The elements of `A`, `B` and `C` are spread over the lanes of a warp; which lane holds which, its [`Shape`] says. All
//! lanes of a warp come to a product together. On the host the lanes exchange their fragments and each computes its own
//! elements of `D` from these very maps, so that kernels can be tested without a GPU.
//!
//! Inline assembly is not convergent for the compiler: products must not stand behind branches that lanes of a warp take
//! differently.

mod double_precision;
#[cfg(not(target_arch = "nvptx64"))]
mod emulated;
mod half_precision;
mod ldmatrix;
mod single_precision;
mod wmma;

pub use double_precision::{M8N8K4, M16N8K4, M16N8K8, M16N8K16};
pub use half_precision::{Bf16, F16, F16Corrected, HalfProduct};
pub use ldmatrix::{ldmatrix_x1, ldmatrix_x2, ldmatrix_x4};
pub use single_precision::{Tf32, Tf32Corrected};
pub use wmma::{Wmma, WmmaLayout};

use crate::scalar::Real;
use cuda_std::ptr::ReadOnly;
use cuda_std::shared::Word;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Waits until the other lanes of the warp are here: afterwards this lane may overwrite what they have read. A product waits
/// for the values of all lanes, too, but the memory model does not take that for an order of their loads and later stores.
///
/// # Safety
/// All lanes of the warp come here together.
#[inline(always)]
pub unsafe fn wait_for_reads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        cuda_std::warp::sync_warp(u32::MAX)
    };
}

/// A product of a `rows x inner` and an `inner x columns` matrix, and where its elements are.
///
/// With `packed` elements in a register, register `r` of a lane holds neighbours in the inner direction. Lane `4 g + t` has
/// rows `g` and `g + 8` of `A` and `C`, column `g` of `B`, and in the inner direction every fourth register from `t` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub rows: usize,
    pub columns: usize,
    pub inner: usize,
    /// Elements of `A` and `B` in a register.
    pub packed: usize,
}

impl Shape {
    pub const fn new([rows, columns, inner]: [usize; 3], packed: usize) -> Self {
        Self { rows, columns, inner, packed }
    }

    /// Elements of `A` that a lane holds.
    pub const fn a_elements(self) -> usize {
        self.rows * self.inner / LANES
    }

    /// Elements of `B` that a lane holds.
    pub const fn b_elements(self) -> usize {
        self.columns * self.inner / LANES
    }

    /// Elements of `C` that a lane holds.
    pub const fn c_elements(self) -> usize {
        self.rows * self.columns / LANES
    }

    /// Row and column in `A` of element `i` of a lane.
    #[inline(always)]
    pub const fn a(self, lane: usize, i: usize) -> (usize, usize) {
        let (register, part, blocks) = (i / self.packed, i % self.packed, self.rows / 8);
        (lane / 4 + 8 * (register % blocks), self.packed * (lane % 4 + 4 * (register / blocks)) + part)
    }

    /// Row and column in `B` of element `i` of a lane.
    #[inline(always)]
    pub const fn b(self, lane: usize, i: usize) -> (usize, usize) {
        (self.packed * (lane % 4 + 4 * (i / self.packed)) + i % self.packed, lane / 4)
    }

    /// Row and column in `C` and `D` of element `i` of a lane.
    #[inline(always)]
    pub const fn c(self, lane: usize, i: usize) -> (usize, usize) {
        (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
    }
}

/// A kind of product: a shape, the operands' precision and what is summed up in.
pub trait Product: 'static {
    /// What operands come from and sums go to.
    type Scalar: Real + Word + ReadOnly;
    /// Fragments of a lane.
    type A: Copy;
    type B: Copy;
    type C: Copy;
    const SHAPE: Shape;
    /// Whether operands have a narrower range than the scalar.
    const IS_NARROW: bool = false;

    /// A lane's fragment of the matrix with these elements, by row and column.
    fn a(lane: usize, element: impl FnMut(usize, usize) -> Self::Scalar) -> Self::A;
    fn b(lane: usize, element: impl FnMut(usize, usize) -> Self::Scalar) -> Self::B;
    fn zero() -> Self::C;

    /// `A B + C`.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C;

    /// Element `i` of a lane's sums.
    fn sum(c: &Self::C, i: usize) -> Self::Scalar;
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    const SHAPES: [Shape; 7] =
        [M8N8K4::SHAPE, M16N8K4::SHAPE, M16N8K8::SHAPE, M16N8K16::SHAPE, Tf32::SHAPE, F16::SHAPE, Bf16::SHAPE];

    fn covers(rows: usize, columns: usize, elements: usize, map: impl Fn(usize, usize) -> (usize, usize)) {
        assert_eq!(elements * LANES, rows * columns);
        let mut seen = vec![0; rows * columns];
        for lane in 0..LANES {
            for i in 0..elements {
                let (row, column) = map(lane, i);
                assert!(row < rows && column < columns, "lane {lane}, element {i}: ({row}, {column})");
                seen[row * columns + column] += 1;
            }
        }
        assert!(seen.iter().all(|&count| count == 1), "{rows} x {columns}: {seen:?}");
    }

    #[test]
    fn fragments_cover_each_matrix_once() {
        for shape in SHAPES {
            covers(shape.rows, shape.inner, shape.a_elements(), |lane, i| shape.a(lane, i));
            covers(shape.inner, shape.columns, shape.b_elements(), |lane, i| shape.b(lane, i));
            covers(shape.rows, shape.columns, shape.c_elements(), |lane, i| shape.c(lane, i));
        }
    }

    /// PTX instruction set, matrix fragments for `mma`: formulas of each shape as they stand there.
    #[test]
    fn maps_are_those_of_the_instruction_set() {
        for lane in 0..LANES {
            let (group, member) = (lane >> 2, lane % 4);
            for i in 0..8 {
                let odd = 8 * (i % 2);
                let column = if i % 2 == 0 { 2 * i } else { 2 * i - 2 };
                assert_eq!(M16N8K16::SHAPE.a(lane, i), (group + odd, column + member));
                let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
                let column = member * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
                assert_eq!(F16::SHAPE.a(lane, i), (row, column));
            }
            for i in 0..4 {
                let row = if i % 2 == 0 { group } else { group + 8 };
                let column = if i < 2 { member } else { member + 4 };
                assert_eq!(M16N8K8::SHAPE.a(lane, i), (row, column));
                assert_eq!(Tf32::SHAPE.a(lane, i), (row, column));
                let row = member * 2 + (i & 1) + if i < 2 { 0 } else { 8 };
                assert_eq!(F16::SHAPE.b(lane, i), (row, group));
                assert_eq!(M16N8K16::SHAPE.b(lane, i), (member + 4 * i, group));
                let row = if i < 2 { group } else { group + 8 };
                assert_eq!(F16::SHAPE.c(lane, i), (row, member * 2 + (i & 1)));
            }
            assert_eq!(M8N8K4::SHAPE.a(lane, 0), (group, member));
            assert_eq!(M8N8K4::SHAPE.b(lane, 0), (member, group));
            assert_eq!(M8N8K4::SHAPE.c(lane, 1), (group, 2 * member + 1));
            assert_eq!(M16N8K4::SHAPE.a(lane, 1), (group + 8, member));
        }
    }

    /// Each lane's sums of a product of random matrices against the dense product.
    fn multiplies<P: Product>(tolerance: f64) {
        let Shape { rows, columns, inner, .. } = P::SHAPE;
        let entry =
            |seed: usize, row: usize, column: usize| ((row * 37 + column * 11 + seed) % 101) as f64 / 50.0 - 1.0;
        let launch = cuda_std::emulate::Launch { grid: [1, 1, 1], threads: 64, shared_bytes: 0 };
        launch.run(|| {
            let lane = cuda_std::thread::thread_idx_x() as usize % LANES;
            let a = P::a(lane, |row, column| {
                assert!(row < rows && column < inner);
                P::Scalar::from_f64(entry(1, row, column))
            });
            let b = P::b(lane, |row, column| {
                assert!(row < inner && column < columns);
                P::Scalar::from_f64(entry(2, row, column))
            });
            // SAFETY: all threads come here.
            let twice = unsafe { P::multiply_add(&a, &b, &P::multiply_add(&a, &b, &P::zero())) };
            for i in 0..P::SHAPE.c_elements() {
                let (row, column) = P::SHAPE.c(lane, i);
                let exact: f64 = (0..inner).map(|k| 2.0 * entry(1, row, k) * entry(2, k, column)).sum();
                let error = (P::sum(&twice, i).to_f64() - exact).abs();
                assert!(error < tolerance, "({row}, {column}): {error:e}");
            }
        });
    }

    #[test]
    fn products_are_as_exact_as_their_operands() {
        multiplies::<M8N8K4>(1e-14);
        multiplies::<M16N8K4>(1e-14);
        multiplies::<M16N8K8>(1e-14);
        multiplies::<M16N8K16>(1e-14);
        multiplies::<Tf32>(1e-2);
        multiplies::<Tf32Corrected>(2e-6);
        multiplies::<F16>(2e-2);
        multiplies::<F16Corrected>(2e-6);
        multiplies::<Bf16>(1e-1);
    }
}
