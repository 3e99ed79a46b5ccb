//! Kernels of discontinuous elements by products of small matrices.

use crate::Body;
use patchmg_device::kernels::Operation;
use patchmg_device::layout::{Padded, XorSwizzle};
use patchmg_device::mma::{Bf16, F16, F16Corrected, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Tf32, Tf32Corrected};
use patchmg_device::tensor_core::contract::Engine;
use patchmg_device::tensor_core::fma::Fma;
use patchmg_device::tensor_core::matrix::{InConstant, InTexture, Source};
use patchmg_device::tensor_core::tile::{HalfTiles, Tiles};
use patchmg_device::tensor_core::wmma::WmmaTiles;
use patchmg_device::tensor_core::{contractions, operator, solve};
use patchmg_device::{matrix_source, tensor_kernel, tensor_kernels, with_nodes};

/// What a kernel of the list does, by the macro that makes it from kind, scalar, source and engine, in these sizes or in those
/// of all kernels.
macro_rules! of_list {
    ($sizes:ident $nodes:expr, $body:ident, $kernel:ident) => {
        with_nodes!($sizes $nodes, N => tensor_kernels!(every bodies, $body, $kernel), else None)
            .or_else(|| with_nodes!(full $nodes, N => tensor_kernels!(full bodies, $body, $kernel), else None))
    };
}

/// Of each kernel of a list.
macro_rules! bodies {
    ([$body:ident, $kernel:ident] $($group:ident {
        $($name:ident: $t:ident, $source:ident, $engine:ty = $kind:ident $operands:ident $memory:ident $shape:ident;)+
    })+) => {
        match $kernel {
            $($(tensor_kernel!($kind $operands $memory $shape) => $body!($kind $t, $source, $engine),)+)+
            _ => None,
        }
    };
}

/// The operator; its constants and its texture begin like the table.
macro_rules! applies {
    ($kind:ident $t:ident, constant, $engine:ty) => {
        // SAFETY: the promise of `Kernel::run`.
        Some(apply::<$engine, _, N>(|table| unsafe { InConstant::<_, N>::at(table as u64) }))
    };
    ($kind:ident $t:ident, texture, $engine:ty) => {
        // SAFETY: as above; a table begins with both matrices.
        Some(apply::<$engine, _, N>(|table| unsafe { InTexture::<N>::of(table as u64) }))
    };
    ($kind:ident $t:ident, $source:ident, $engine:ty) => {
        Some(apply::<$engine, _, N>(|_table| matrix_source!(operator, $source, $engine, N, _table)))
    };
}

/// The solution on patches, where matrices are neither constants nor a texture.
macro_rules! solves {
    ($kind:ident $t:ident, constant, $engine:ty) => {
        None
    };
    ($kind:ident $t:ident, texture, $engine:ty) => {
        None
    };
    ($kind:ident $t:ident, $source:ident, $engine:ty) => {
        Some(solve::<$engine, _, N>(|_table| matrix_source!(solve, $source, $engine, N, _table)))
    };
}

/// The contractions alone, of those kernels that are there for them.
macro_rules! contracts {
    (MmaSwizzled f64, $source:ident, $engine:ty) => {
        Some(contract::<$engine, _, N>(|_table| matrix_source!(operator, $source, $engine, N, _table)))
    };
    ($($rest:tt)+) => {
        None
    };
}

/// Arguments as in `entries`; the boxes of a direction are the cells of [`crate::Arguments`], repetitions its chunk.
pub fn body(nodes: usize, operation: Operation) -> Option<Body> {
    match operation {
        Operation::BoxApply(kernel) => of_list!(every nodes, applies, kernel),
        Operation::BoxSolve(kernel) => of_list!(patch nodes, solves, kernel),
        Operation::BoxContract(kernel) => of_list!(full nodes, contracts, kernel),
        _ => None,
    }
}

fn apply<E: Engine<N>, S: Source<E::Scalar> + 'static, const N: usize>(source: fn(*const E::Scalar) -> S) -> Body {
    Box::new(move |a| {
        let (table, b, x, y) = (a.vector(0), a.vector(1), a.vector(2), a.vector(3));
        let vectors = [b, x].map(|vector: *mut E::Scalar| vector.cast_const());
        // SAFETY: the promise of `Kernel::run`.
        unsafe { operator::apply::<E, _, N>(source(table), table, vectors, y, a.cells) }
    })
}

fn solve<E: Engine<N>, S: Source<E::Scalar> + 'static, const N: usize>(source: fn(*const E::Scalar) -> S) -> Body {
    Box::new(move |a| {
        let (table, r, x) = (a.vector(0), a.vector(1), a.vector(2));
        // SAFETY: the promise of `Kernel::run`.
        unsafe { solve::solve::<E, _, N>(source(table), table, r, x, a.cells, a.color) }
    })
}

fn contract<E, S, const N: usize>(source: fn(*const f64) -> S) -> Body
where
    E: Engine<N, Scalar = f64, Stored = f64>,
    S: Source<f64> + 'static,
{
    Box::new(move |a| {
        let (table, x, y) = (a.vector(0), a.vector(1), a.vector(2));
        // SAFETY: the promise of `Kernel::run`.
        unsafe { contractions::contract::<E, _, N>(source(table), table, x, y, a.cells, a.chunk) }
    })
}
