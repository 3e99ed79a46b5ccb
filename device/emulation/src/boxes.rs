//! Kernels of discontinuous elements by products of small matrices, of every size and engine, whether compiled or not.

use crate::Body;
use patchmg_device::kernels::{Engine as E, MatrixMemory, Operands, Operation, ProductShape, TensorKernel};
use patchmg_device::layout::{Padded, XorSwizzle};
use patchmg_device::mma::{Bf16, F16, F16Corrected, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Tf32, Tf32Corrected};
use patchmg_device::tensor_core::contract::Engine;
use patchmg_device::tensor_core::fma::Fma;
use patchmg_device::tensor_core::matrix::{InConstant, InReadOnly};
use patchmg_device::tensor_core::tile::Tiles;
use patchmg_device::tensor_core::wmma::WmmaTiles;
use patchmg_device::tensor_core::{operator, solve};
use patchmg_device::with_nodes;

/// Arguments as in `entries`; the boxes of a direction are the cells of [`crate::Arguments`].
pub fn body(nodes: usize, operation: Operation) -> Option<Body> {
    let (kernel, solves) = match operation {
        Operation::BoxApply(kernel) => (kernel, false),
        Operation::BoxSolve(kernel) => (kernel, true),
        _ => return None,
    };
    with_nodes!(nodes, N => of_size::<N>(kernel, solves), else None)
}

fn of_engine<Eng: Engine<N>, const N: usize>(memory: MatrixMemory, solves: bool) -> Body {
    if solves { solve::<Eng, N>(memory) } else { apply::<Eng, N>(memory) }
}

fn solve<Eng: Engine<N>, const N: usize>(memory: MatrixMemory) -> Body {
    Box::new(move |a| {
        let (table, r, x) = (a.vector(0), a.vector(1), a.vector(2));
        // SAFETY: the promise of `Kernel::run`.
        unsafe {
            match memory {
                MatrixMemory::Shared => {
                    solve::solve::<Eng, _, N>(solve::in_shared::<Eng, N>(), table, r, x, a.cells, a.color)
                }
                _ => solve::solve::<Eng, _, N>(InReadOnly::<_, N>(table), table, r, x, a.cells, a.color),
            }
        }
    })
}

fn apply<Eng: Engine<N>, const N: usize>(memory: MatrixMemory) -> Body {
    Box::new(move |a| {
        let (table, b, x, y) = (a.vector(0), a.vector(1), a.vector(2), a.vector(3));
        let vectors = [b, x].map(|vector: *mut Eng::Scalar| vector.cast_const());
        // SAFETY: the promise of `Kernel::run`.
        unsafe {
            match memory {
                MatrixMemory::Shared => {
                    operator::apply::<Eng, _, N>(operator::in_shared::<Eng, N>(), table, vectors, y, a.cells)
                }
                MatrixMemory::ReadOnly => {
                    operator::apply::<Eng, _, N>(InReadOnly::<_, N>(table), table, vectors, y, a.cells)
                }
                MatrixMemory::Constant => {
                    // The kernel's parameter begins like the table.
                    let constants = InConstant::<_, N>::at(table as u64);
                    operator::apply::<Eng, _, N>(constants, table, vectors, y, a.cells)
                }
            }
        }
    })
}

macro_rules! shape {
    (None) => {
        None
    };
    ($shape:ident) => {
        Some(ProductShape::$shape)
    };
}

macro_rules! of_size {
    ([$kernel:ident, $solves:ident] $($group:ident {
        $($name:ident: $t:ty, $source:ident, $engine:ty = $kind:ident $operands:ident $memory:ident $shape:ident;)+
    })+) => {
        match $kernel {
            $($(TensorKernel {
                engine: E::$kind,
                operands: Operands::$operands,
                matrices: MatrixMemory::$memory,
                shape: shape!($shape),
            } => Some(of_engine::<$engine, N>(MatrixMemory::$memory, $solves)),)+)+
            _ => None,
        }
    };
}

fn of_size<const N: usize>(kernel: TensorKernel, solves: bool) -> Option<Body> {
    patchmg_device::tensor_kernels!(of_size, kernel, solves)
}
