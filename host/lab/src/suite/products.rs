//! Floating-point operations of the operator of discontinuous elements, by kernel: those that its instructions do, zeros of
//! padding included.

use patchmg::system::poisson::{Boxes, Engine, Operands, PatchKernel, ProductShape, Products, TensorKernel};
use patchmg_device::mma::{Bf16, F16, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Product, Shape, Tf32};
use patchmg_device::tensor_core::TRACES;

/// A contraction of the operator on a box, as [`patchmg_device::tensor_core::operator`] has them.
#[derive(Clone, Copy)]
struct Contraction {
    /// 0 (x) to 2 (z).
    direction: usize,
    /// Products with a 1D matrix, `t` below.
    terms: usize,
    /// Of the box's nodes, with the traces behind two faces; else of the traces behind two other faces.
    of_nodes: bool,
}

const fn of_nodes(direction: usize, terms: usize) -> Contraction {
    Contraction { direction, terms, of_nodes: true }
}

const fn of_traces(direction: usize) -> Contraction {
    Contraction { direction, terms: 1, of_nodes: false }
}

const OPERATOR: [Contraction; 6] =
    [of_nodes(0, 2), of_traces(0), of_traces(0), of_nodes(1, 3), of_traces(1), of_nodes(2, 2)];

/// Operations of the operator for an unknown, a multiply-add being two. With `N` nodes of a box in a direction, `p = N` planes of
/// nodes (`f = 1`) or `p = 4` of traces (`f = 0`), a contraction with `t` matrices takes
/// - on CUDA cores `2 N² p (t N + 4 f)`;
/// - by products `m × 8 × k` on tensor cores `⌈8 c p / m⌉ c (t ⌈N / k⌉ + f ⌈4 / k⌉)` products with `c = ⌈N / 8⌉`, each of
///   `16 m k`, and three times as many with error correction (paper 4, algorithm 1);
/// - by `wmma` such products `8 × 8 × 4` in x and y; faces, and all in z, as on CUDA cores.
///
/// The traces behind the faces take `6 N² (2 N + 1)` more, the factor of the result `N³`.
///
/// Columns in registers, the default, are counted as cells (`N = k + 1`) on CUDA cores; they do less, because they split into
/// even and odd parts.
pub fn flops_per_dof(kernel: PatchKernel, degree: usize) -> f64 {
    let (kernel, boxes) = match kernel {
        PatchKernel::Products(Products { kernel, boxes }) => (Some(kernel), boxes),
        _ => (None, Boxes::Cell),
    };
    let n = boxes.nodes(degree);
    let contractions: usize = OPERATOR.iter().map(|&contraction| flops(contraction, kernel, n)).sum();
    (contractions + 6 * n.pow(2) * (2 * n + 1) + n.pow(3)) as f64 / n.pow(3) as f64
}

fn flops(Contraction { direction, terms, of_nodes }: Contraction, kernel: Option<TensorKernel>, n: usize) -> usize {
    let (planes, faces) = if of_nodes { (n, 1) } else { (TRACES, 0) };
    let on_cuda_cores = |terms: usize| 2 * n.pow(2) * planes * (terms * n + TRACES * faces);
    let by_products = |shape: Shape, faces: usize| {
        let columns = n.div_ceil(8);
        let tiles = (8 * columns * planes).div_ceil(shape.rows);
        let steps = terms * n.div_ceil(shape.inner) + faces * TRACES.div_ceil(shape.inner);
        tiles * columns * steps * 2 * shape.rows * shape.columns * shape.inner
    };
    match kernel {
        Some(kernel) if [Engine::Mma, Engine::MmaSwizzled].contains(&kernel.engine) => {
            let products =
                if [Operands::F16Corrected, Operands::Tf32Corrected].contains(&kernel.operands) { 3 } else { 1 };
            products * by_products(shape(kernel), faces)
        }
        Some(TensorKernel { engine: Engine::Wmma, .. }) if direction < 2 => {
            by_products(M8N8K4::SHAPE, 0) + on_cuda_cores(0)
        }
        _ => on_cuda_cores(terms),
    }
}

fn shape(kernel: TensorKernel) -> Shape {
    match (kernel.operands, kernel.shape) {
        (Operands::F64, Some(ProductShape::M16N8K4)) => M16N8K4::SHAPE,
        (Operands::F64, Some(ProductShape::M16N8K8)) => M16N8K8::SHAPE,
        (Operands::F64, Some(ProductShape::M16N8K16)) => M16N8K16::SHAPE,
        (Operands::F64 | Operands::F32, _) => M8N8K4::SHAPE,
        (Operands::Tf32 | Operands::Tf32Corrected, _) => Tf32::SHAPE,
        (Operands::Bf16, _) => Bf16::SHAPE,
        (Operands::F16 | Operands::F16Corrected, _) => F16::SHAPE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::system::poisson::MatrixMemory;

    fn count(engine: Engine, operands: Operands, shape: Option<ProductShape>, nodes: usize) -> f64 {
        let kernel = TensorKernel { engine, operands, matrices: MatrixMemory::Shared, shape };
        flops_per_dof(PatchKernel::Products(Products { kernel, boxes: Boxes::Patch }), nodes / 2 - 1)
    }

    #[test]
    fn where_nothing_is_padded_all_engines_do_the_same() {
        for nodes in [8, 16] {
            let cuda_cores = count(Engine::Fma, Operands::F64, None, nodes);
            // Seven contractions of the nodes, three of four planes, three times four columns for faces.
            let products = (14 * nodes.pow(4) + 2 * 24 * nodes.pow(3)) as f64;
            let traces = (6 * nodes.pow(2) * (2 * nodes + 1) + nodes.pow(3)) as f64;
            approx::assert_relative_eq!(cuda_cores, (products + traces) / nodes.pow(3) as f64, max_relative = 1e-14);
            for (engine, shape) in [(Engine::Mma, Some(ProductShape::M8N8K4)), (Engine::Wmma, None)] {
                assert_eq!(count(engine, Operands::F64, shape, nodes), cuda_cores, "{engine:?}");
            }
        }
    }

    #[test]
    fn padding_costs_and_error_correction_does_it_three_times() {
        let plain = |nodes| count(Engine::MmaSwizzled, Operands::F16, None, nodes);
        let corrected = |nodes| count(Engine::MmaSwizzled, Operands::F16Corrected, None, nodes);
        for nodes in [4, 8, 10, 16, 18] {
            let beside = 6.0 * (2 * nodes + 1) as f64 / nodes as f64 + 1.0;
            assert!(plain(nodes) > count(Engine::Fma, Operands::F32, None, nodes), "{nodes}");
            approx::assert_relative_eq!(corrected(nodes) - beside, 3.0 * (plain(nodes) - beside), max_relative = 1e-14);
        }
        // Patches of 10 nodes a direction are contracted as if they had 16 in two of three.
        let tensor = |nodes| count(Engine::MmaSwizzled, Operands::F64, Some(ProductShape::M16N8K16), nodes);
        assert!(tensor(10) > 1.5 * count(Engine::Fma, Operands::F64, None, 10));
    }
}
