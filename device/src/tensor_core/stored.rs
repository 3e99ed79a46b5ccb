//! What tensors are contracted in, and how a warp reads fragments of `A` from them.

use super::contract::Tensor;
use crate::layout::{Layout, within};
use crate::mma::{HalfProduct, Product, ldmatrix_x4};
use core::marker::PhantomData;
use cuda_std::shared::Word;

/// A word of a tensor, of a number that sums are made in.
pub trait Stored<T>: Word + 'static {
    /// The number, rounded if there are too few bits.
    fn of(value: T) -> Self;
}

macro_rules! stored_as_it_is {
    ($($t:ty)+) => {$(
        impl Stored<$t> for $t {
            #[inline(always)]
            fn of(value: $t) -> Self {
                value
            }
        }
    )+};
}
stored_as_it_is!(f32 f64);

/// A number of 16 bits, an operand of products `P`.
pub struct Half<P> {
    bits: u16,
    product: PhantomData<P>,
}

impl<P> Clone for Half<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Half<P> {}

impl<P: HalfProduct> Stored<f32> for Half<P> {
    #[inline(always)]
    fn of(value: f32) -> Self {
        Self { bits: P::rounded(value), product: PhantomData }
    }
}

impl<P> Word for Half<P> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn load(address: u32) -> Self {
        // SAFETY: the caller's promise.
        Self { bits: unsafe { u16::load(address) }, product: PhantomData }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn store(address: u32, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { u16::store(address, value.bits) };
    }
}

/// What fragments of `A` of products `P` are read from: rows are lines of a tensor, in the inner direction are their nodes.
pub trait Operand<P: Product>: Stored<P::Scalar> {
    /// Row and inner index of what a lane reads, or begins to read; `along_x` if lines run in the direction in which memory
    /// does, else neighbouring rows are neighbours in memory.
    fn place(lane: usize, along_x: bool) -> [usize; 2];

    /// The node that is read for number `node` of a line in x of `pitch` in memory.
    fn in_row(node: usize, pitch: usize) -> usize;

    /// A lane's fragment; `index` is the offset in the tensor of the lane's place and so many rows and nodes on.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn fragment<L: Layout>(
        tensor: Tensor<Self, L>,
        along_x: bool,
        index: impl Fn(usize, usize) -> usize,
    ) -> P::A;
}

/// Element by element, rounded as they are read.
macro_rules! operand_by_elements {
    ($($t:ty)+) => {$(
        impl<P: Product<Scalar = $t>> Operand<P> for $t {
            #[inline(always)]
            fn place(lane: usize, _: bool) -> [usize; 2] {
                P::SHAPE.a(lane, 0).into()
            }

            #[inline(always)]
            fn in_row(node: usize, pitch: usize) -> usize {
                within(node, pitch)
            }

            #[inline(always)]
            unsafe fn fragment<L: Layout>(
                tensor: Tensor<Self, L>,
                _: bool,
                index: impl Fn(usize, usize) -> usize,
            ) -> P::A {
                // Elements are those of lane 0, to which the others add their own.
                P::a(0, |row, node| tensor.get_at(index(row, node)))
            }
        }
    )+};
}
operand_by_elements!(f32 f64);

/// Matrices of 8 x 8 by `ldmatrix`: two of rows, then two of the next nodes. A row of such a matrix is 8 neighbours in x.
impl<P: HalfProduct> Operand<P> for Half<P> {
    #[inline(always)]
    fn place(lane: usize, along_x: bool) -> [usize; 2] {
        let (of_matrix, of_rows, of_nodes) = (lane % 8, 8 * (lane / 8 % 2), 8 * (lane / 16));
        if along_x { [of_rows + of_matrix, of_nodes] } else { [of_rows, of_nodes + of_matrix] }
    }

    #[inline(always)]
    fn in_row(node: usize, pitch: usize) -> usize {
        if node < pitch { node } else { pitch - 8 }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn fragment<L: Layout>(
        tensor: Tensor<Self, L>,
        along_x: bool,
        index: impl Fn(usize, usize) -> usize,
    ) -> P::A {
        let address = tensor.address(index(0, 0));
        // SAFETY: the caller's promise; the address is that of 8 neighbours, of which layouts of halves have whole chunks.
        unsafe { if along_x { ldmatrix_x4::<false>(address) } else { ldmatrix_x4::<true>(address) } }
    }
}
