//! What tests of box kernels share, on the host and on a GPU: a naive reference of the operator, and how near it must be.

use patchmg_device::kernels::{Operands, TensorKernel};
use patchmg_device::scalar::Real;
use patchmg_device::tensor_core::TRACES;

/// Numbers in `-1..1`.
pub fn random(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(next).collect()
}

/// Boxes of `nodes` nodes in each direction, and what couples them.
pub struct Naive {
    pub nodes: usize,
    /// Boxes in each direction.
    pub boxes: [usize; 3],
    pub mass: Vec<f64>,
    pub stiffness: Vec<f64>,
    normal: Vec<f64>,
    penalty: f64,
    factor: f64,
}

impl Naive {
    pub fn new(nodes: usize, boxes: [usize; 3]) -> Self {
        let numbers = |seed, count| random(count, seed + 100 * nodes as u64);
        let (mass, mut stiffness) = (numbers(1, nodes * nodes), numbers(2, nodes * nodes));
        let (mut normal, penalty) = (numbers(3, nodes), 0.7);
        // As of any such operator, a constant is in its kernel but for what the boundary adds.
        normal[0] -= normal.iter().sum::<f64>();
        for i in 0..nodes {
            let jump = |node: usize| if i == node { penalty } else { 0.0 };
            let faces = normal[i] - jump(0) + normal[nodes - 1 - i] - jump(nodes - 1);
            stiffness[(nodes + 1) * i] -= faces + stiffness[nodes * i..][..nodes].iter().sum::<f64>();
        }
        Self { nodes, boxes, mass, stiffness, normal, penalty, factor: 0.3 }
    }

    /// Nodes of the mesh in each direction.
    pub fn size(&self) -> [usize; 3] {
        self.boxes.map(|count| self.nodes * count)
    }

    /// `M` or `L` on the whole mesh in a direction, by rows.
    pub fn dense(&self, is_stiffness: bool, direction: usize) -> Vec<f64> {
        let (n, count, row) = (self.nodes, self.boxes[direction], self.size()[direction]);
        let mut dense = vec![0.0; row * row];
        let block = if is_stiffness { &self.stiffness } else { &self.mass };
        for b in 0..count {
            for i in 0..n {
                for j in 0..n {
                    dense[(n * b + i) * row + n * b + j] = block[n * i + j];
                }
            }
        }
        if !is_stiffness {
            return dense;
        }
        let mut add = |i: usize, j: usize, value: f64| dense[i * row + j] += value;
        for face in 0..=count {
            // Nodes counted from the face on, in the box below and in that above it.
            let (below, above) = (|t: usize| n * face - 1 - t, |t: usize| n * face + t);
            for t in 0..n {
                if face == 0 || face == count {
                    let own: &dyn Fn(usize) -> usize = if face == 0 { &above } else { &below };
                    add(own(t), own(0), -self.normal[t]);
                    add(own(0), own(t), -self.normal[t]);
                } else {
                    add(below(t), above(0), self.normal[t]);
                    add(below(0), above(t), self.normal[t]);
                    add(above(t), below(0), self.normal[t]);
                    add(above(0), below(t), self.normal[t]);
                }
            }
            if face > 0 && face < count {
                add(below(0), above(0), -self.penalty);
                add(above(0), below(0), -self.penalty);
            }
        }
        dense
    }

    pub fn times(&self, matrix: &[f64], direction: usize, x: &[f64]) -> Vec<f64> {
        let size = self.size();
        let (row, stride) = (size[direction], size[..direction].iter().product::<usize>());
        let entry = |index: usize| {
            let i = index / stride % row;
            (0..row).map(|j| matrix[i * row + j] * x[index - i * stride + j * stride]).sum()
        };
        (0..x.len()).map(entry).collect()
    }

    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; x.len()];
        for stiff in 0..3 {
            let mut term = x.to_vec();
            for direction in 0..3 {
                term = self.times(&self.dense(direction == stiff, direction), direction, &term);
            }
            sum.iter_mut().zip(term).for_each(|(sum, term)| *sum += self.factor * term);
        }
        sum
    }

    /// As a kernel takes it.
    pub fn table<T: Real>(&self) -> Vec<T> {
        let n = self.nodes;
        let mut table = [self.mass.clone(), self.stiffness.clone()].concat();
        let delta = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        for t in 0..n {
            let traces: [f64; TRACES] = [self.normal[t], delta(t, 0), self.normal[n - 1 - t], delta(t, n - 1)];
            table.extend(traces);
        }
        table.extend(&self.normal);
        table.extend([self.penalty, self.factor]);
        table.into_iter().map(T::from_f64).collect()
    }
}

/// Of the relative error in the maximum norm: units in the last place of the operands, times the operations that they go
/// through.
pub fn tolerance(kernel: TensorKernel) -> f64 {
    match kernel.operands {
        Operands::F64 => 3e-15,
        Operands::F32 | Operands::Tf32Corrected | Operands::F16Corrected => 1e-6,
        Operands::Tf32 | Operands::F16 => 2e-3,
        Operands::Bf16 => 2e-2,
    }
}
