//! Which kernels there are: names, choices and engines, written once.

/// Hands the kernels of `every` size, or those of the sizes `full` alone, to a macro: by group, a name, a scalar, where matrices
/// come from, an engine (of `N` nodes) and the choice that it is. The group `hopper` needs compute capability 9.0, `ampere` 8.0.
#[macro_export]
macro_rules! tensor_kernels {
    (every $callback:ident $(, $argument:tt)*) => {
        $callback! { [$($argument),*]
            ampere {
                fma_f64: f64, shared, Fma<f64> = Fma F64 Shared None;
                fma_f32: f32, shared, Fma<f32> = Fma F32 Shared None;
                mma_swizzled_f64_m8n8k4_read_only:
                    f64, read_only, Tiles<M8N8K4, XorSwizzle<8, N>> = MmaSwizzled F64 ReadOnly M8N8K4;
                mma_swizzled_f16_corrected_read_only:
                    f32, read_only, Tiles<F16Corrected, XorSwizzle<4, N>> = MmaSwizzled F16Corrected ReadOnly None;
            }
            hopper {
                mma_swizzled_f64_m16n8k4_read_only:
                    f64, read_only, Tiles<M16N8K4, XorSwizzle<8, N>> = MmaSwizzled F64 ReadOnly M16N8K4;
            }
        }
    };
    (full $callback:ident $(, $argument:tt)*) => {
        $callback! { [$($argument),*]
            ampere {
                fma_f32_constant: f32, constant, Fma<f32> = Fma F32 Constant None;
                fma_f32_read_only: f32, read_only, Fma<f32> = Fma F32 ReadOnly None;
                fma_f32_texture: f32, texture, Fma<f32> = Fma F32 Texture None;
                wmma_f64: f64, shared, WmmaTiles = Wmma F64 Shared None;
                mma_f64_m8n8k4: f64, shared, Tiles<M8N8K4, Padded<N>> = Mma F64 Shared M8N8K4;
                mma_swizzled_f64_m8n8k4: f64, shared, Tiles<M8N8K4, XorSwizzle<8, N>> = MmaSwizzled F64 Shared M8N8K4;
                mma_tf32: f32, shared, Tiles<Tf32, Padded<N>> = Mma Tf32 Shared None;
                mma_swizzled_tf32: f32, shared, Tiles<Tf32, XorSwizzle<4, N>> = MmaSwizzled Tf32 Shared None;
                mma_swizzled_tf32_corrected:
                    f32, shared, Tiles<Tf32Corrected, XorSwizzle<4, N>> = MmaSwizzled Tf32Corrected Shared None;
                mma_f16: f32, shared, Tiles<F16, Padded<N>> = Mma F16 Shared None;
                mma_swizzled_f16: f32, shared, HalfTiles<F16, N> = MmaSwizzled F16 Shared None;
                mma_swizzled_f16_corrected:
                    f32, shared, Tiles<F16Corrected, XorSwizzle<4, N>> = MmaSwizzled F16Corrected Shared None;
                mma_swizzled_bf16: f32, shared, HalfTiles<Bf16, N> = MmaSwizzled Bf16 Shared None;
            }
            hopper {
                mma_swizzled_f64_m16n8k4: f64, shared, Tiles<M16N8K4, XorSwizzle<8, N>> = MmaSwizzled F64 Shared M16N8K4;
                mma_swizzled_f64_m16n8k8: f64, shared, Tiles<M16N8K8, XorSwizzle<8, N>> = MmaSwizzled F64 Shared M16N8K8;
                mma_swizzled_f64_m16n8k16:
                    f64, shared, Tiles<M16N8K16, XorSwizzle<8, N>> = MmaSwizzled F64 Shared M16N8K16;
            }
        }
    };
}

/// The choice that a kernel of [`tensor_kernels`](crate::tensor_kernels) is, as a value or a pattern.
#[macro_export]
macro_rules! tensor_kernel {
    ($engine:ident $operands:ident $memory:ident $shape:ident) => {
        $crate::choice::TensorKernel {
            engine: $crate::choice::Engine::$engine,
            operands: $crate::choice::Operands::$operands,
            matrices: $crate::choice::MatrixMemory::$memory,
            shape: $crate::tensor_kernel!(@ $shape),
        }
    };
    (@ None) => {
        None
    };
    (@ $shape:ident) => {
        Some($crate::choice::ProductShape::$shape)
    };
}

/// Where the matrices of a kernel are, by the word of [`tensor_kernels`](crate::tensor_kernels), for the functions of `operator`
/// or `solve`; constants and textures, which lie behind an address of their own, are not here.
#[macro_export]
macro_rules! matrix_source {
    ($room:ident, shared, $engine:ty, $nodes:ident, $table:ident) => {
        $crate::tensor_core::$room::in_shared::<$engine, $nodes>()
    };
    ($room:ident, read_only, $engine:ty, $nodes:ident, $table:ident) => {
        $crate::tensor_core::matrix::InReadOnly::<_, $nodes>($table)
    };
}

/// Calls `$body` with the constant `$N` equal to the run-time `$nodes` if that is one of the sizes that there are kernels for
/// (`every`), of those with more kernels (`full`), or of those that a patch has (`patch`); other sizes give `$none`.
#[macro_export]
macro_rules! with_nodes {
    (every $nodes:expr, $N:ident => $body:expr, else $none:expr) => {
        $crate::with_degree!(@ $nodes, $N, $body, $none, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)
    };
    (full $nodes:expr, $N:ident => $body:expr, else $none:expr) => {
        $crate::with_degree!(@ $nodes, $N, $body, $none, 8 16)
    };
    (patch $nodes:expr, $N:ident => $body:expr, else $none:expr) => {
        $crate::with_degree!(@ $nodes, $N, $body, $none, 4 6 8 10 12 14 16 18)
    };
}

#[cfg(not(target_arch = "nvptx64"))]
pub use facts::*;

#[cfg(not(target_arch = "nvptx64"))]
mod facts {
    use crate::choice::{self, MatrixMemory, Operands, ProductShape, TensorKernel};
    use crate::layout::{Padded, XorSwizzle};
    use crate::mma::{Bf16, F16, F16Corrected, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Tf32, Tf32Corrected};
    use crate::scalar::Real;
    use crate::tensor_core::contract::Engine;
    use crate::tensor_core::fma::Fma;
    use crate::tensor_core::tile::{HalfTiles, Tiles};
    use crate::tensor_core::wmma::WmmaTiles;
    use crate::tensor_core::{contractions, operator, solve};
    use std::vec::Vec;

    /// A kernel of boxes of some size.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Listed {
        pub kernel: TensorKernel,
        pub name: &'static str,
        pub scalar: &'static str,
        pub threads: usize,
        /// Shared memory and barriers of the operator.
        pub operator: Shape,
        /// Those of the solution on patches.
        pub solve: Shape,
        /// Those of contractions alone.
        pub contractions: Shape,
        /// Needs compute capability 9.0.
        pub hopper: bool,
    }

    /// What a kernel takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Shape {
        pub shared_bytes: usize,
        pub barriers: usize,
    }

    impl Listed {
        fn new<E: Engine<N>, const N: usize>(kernel: TensorKernel, name: &'static str, hopper: bool) -> Self {
            let matrices = |count| if kernel.matrices == MatrixMemory::Shared { count } else { 0 };
            let bytes = |words: usize| words * size_of::<E::Scalar>();
            Self {
                kernel,
                name,
                scalar: E::Scalar::NAME,
                threads: E::THREADS,
                operator: Shape {
                    shared_bytes: bytes(operator::shared_words::<E, N>(matrices(2))),
                    barriers: operator::barriers::<E, N>(),
                },
                solve: Shape {
                    shared_bytes: bytes(solve::shared_words::<E, N>(matrices(3))),
                    barriers: solve::barriers::<E, N>(),
                },
                contractions: Shape {
                    shared_bytes: bytes(operator::shared_words::<E, N>(matrices(2))),
                    barriers: contractions::barriers::<E, N>(),
                },
                hopper,
            }
        }
    }

    macro_rules! listed {
        ([$N:ident] $($group:ident {
            $($name:ident: $t:ty, $source:ident, $engine:ty = $kind:ident $operands:ident $memory:ident $shape:ident;)+
        })+) => {{
            const N: usize = $N;
            [$($(Listed::new::<$engine, N>(
                crate::tensor_kernel!($kind $operands $memory $shape),
                stringify!($name),
                stringify!($group) == "hopper",
            ),)+)+].to_vec()
        }};
    }

    impl Listed {
        /// Blocks that a multiprocessor should hold: two of 256 threads, where they do not spill.
        pub fn min_blocks(&self, nodes: usize) -> usize {
            let TensorKernel { operands, matrices, shape, .. } = self.kernel;
            let many = matches!(shape, Some(ProductShape::M16N8K4 | ProductShape::M16N8K16))
                || operands == Operands::Tf32Corrected;
            // By a single word.
            let many = many && matrices == MatrixMemory::Shared || nodes == 14 && shape == Some(ProductShape::M16N8K4);
            if (9..=16).contains(&nodes) && !many { 2 } else { 1 }
        }

        /// Whether it solves on patches, too: its matrices may be of several kinds, which constants and textures are not.
        pub fn solves(&self, nodes: usize) -> bool {
            is_patch(nodes) && matches!(self.kernel.matrices, MatrixMemory::Shared | MatrixMemory::ReadOnly)
        }

        /// Whether its contractions are there alone, too, to be timed: of the fast ones in `f64`, where fragments fit.
        pub fn contracts(&self, nodes: usize) -> bool {
            let TensorKernel { engine, operands, .. } = self.kernel;
            is_full(nodes) && engine == choice::Engine::MmaSwizzled && operands == Operands::F64
        }
    }

    /// Whether there are all kernels for so many nodes a direction.
    pub fn is_full(nodes: usize) -> bool {
        crate::with_nodes!(full nodes, _N => true, else false)
    }

    /// Whether a patch has so many nodes a direction.
    pub fn is_patch(nodes: usize) -> bool {
        crate::with_nodes!(patch nodes, _N => true, else false)
    }

    /// The kernels of a size; none for a size that there are none for.
    pub fn listed(nodes: usize) -> Vec<Listed> {
        let every =
            crate::with_nodes!(every nodes, NODES => crate::tensor_kernels!(every listed, NODES), else Vec::new());
        let full = crate::with_nodes!(full nodes, NODES => crate::tensor_kernels!(full listed, NODES), else Vec::new());
        [every, full].concat()
    }
}
