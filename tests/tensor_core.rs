//! The operator of discontinuous elements by products of small matrices, run on host threads (`patchmg_emulation`), against
//! a naive twin: dense 1D matrices on the whole mesh. The matrices are random: a kernel does not know what they are of.

use patchmg_device::kernels::{Engine, Module, Operands, Operation, TensorKernel};
use patchmg_device::scalar::Real;
use patchmg_device::tensor_core::list::{FULL, Listed, listed};
use patchmg_device::tensor_core::{NODES, TRACES};
use patchmg_emulation::{Arguments, Kernel};

/// Numbers in `-1..1`.
fn random(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(next).collect()
}

/// Boxes of `nodes` nodes in each direction, and what couples them.
struct Naive {
    nodes: usize,
    count: usize,
    mass: Vec<f64>,
    stiffness: Vec<f64>,
    normal: Vec<f64>,
    penalty: f64,
    factor: f64,
}

impl Naive {
    fn new(nodes: usize, count: usize) -> Self {
        let numbers = |seed, count| random(count, seed + 100 * nodes as u64);
        let (mass, stiffness) = (numbers(1, nodes * nodes), numbers(2, nodes * nodes));
        Self { nodes, count, mass, stiffness, normal: numbers(3, nodes), penalty: 0.7, factor: 0.3 }
    }

    fn row(&self) -> usize {
        self.nodes * self.count
    }

    /// `M` or `L` on the whole mesh, by rows.
    fn dense(&self, is_stiffness: bool) -> Vec<f64> {
        let (n, row) = (self.nodes, self.row());
        let mut dense = vec![0.0; row * row];
        let block = if is_stiffness { &self.stiffness } else { &self.mass };
        for b in 0..self.count {
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
        for face in 0..=self.count {
            // Nodes counted from the face on, in the box below and in that above it.
            let (below, above) = (|t: usize| n * face - 1 - t, |t: usize| n * face + t);
            for t in 0..n {
                if face == 0 || face == self.count {
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
            if face > 0 && face < self.count {
                add(below(0), above(0), -self.penalty);
                add(above(0), below(0), -self.penalty);
            }
        }
        dense
    }

    fn times(&self, matrix: &[f64], direction: u32, x: &[f64]) -> Vec<f64> {
        let row = self.row();
        let stride = row.pow(direction);
        let entry = |index: usize| {
            let i = index / stride % row;
            (0..row).map(|j| matrix[i * row + j] * x[index - i * stride + j * stride]).sum()
        };
        (0..x.len()).map(entry).collect()
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let (mass, stiffness) = (self.dense(false), self.dense(true));
        let mut sum = vec![0.0; x.len()];
        for stiff in 0..3 {
            let mut term = x.to_vec();
            for direction in 0..3 {
                term = self.times(if direction == stiff { &stiffness } else { &mass }, direction, &term);
            }
            sum.iter_mut().zip(term).for_each(|(sum, term)| *sum += self.factor * term);
        }
        sum
    }

    /// As a kernel takes it.
    fn table<T: Real>(&self) -> Vec<T> {
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

    /// `y = A x` by a kernel, on the first boxes.
    fn run<T: Real>(&self, listed: Listed, x: &[f64], blocks: [u32; 3]) -> Vec<f64> {
        let module = Module::TensorCore { nodes: self.nodes, hopper: listed.hopper };
        let spec = module.kernel::<T>(Operation::BoxApply(listed.kernel));
        let (mut table, mut x): (Vec<T>, Vec<T>) = (self.table(), x.iter().map(|&x| T::from_f64(x)).collect());
        let mut y = vec![T::ZERO; x.len()];
        let vectors = [table.as_mut_ptr().cast(), x.as_mut_ptr().cast(), y.as_mut_ptr().cast()];
        let count = self.count as u32;
        let arguments = Arguments { vectors: &vectors, cells: count, ..Arguments::default() };
        // SAFETY: a table and vectors of the size that the kernel takes.
        unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
        y.into_iter().map(Real::to_f64).collect()
    }
}

/// Of the relative error in the maximum norm: units in the last place of the operands, times the operations that they go
/// through.
fn tolerance(kernel: TensorKernel) -> f64 {
    match kernel.operands {
        Operands::F64 => 3e-15,
        Operands::F32 | Operands::Tf32Corrected | Operands::F16Corrected => 1e-6,
        Operands::Tf32 | Operands::F16 => 2e-3,
        Operands::Bf16 => 2e-2,
    }
}

/// On the first of two boxes in each direction; of boxes of all directions each has faces within and of the domain.
fn check(nodes: usize, blocks: [u32; 3]) {
    let naive = Naive::new(nodes, 2);
    let x = random(naive.row().pow(3), 7);
    let expected = naive.apply(&x);
    let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let row = naive.row();
    let is_computed = |index: usize| {
        [index % row, index / row % row, index / row / row].iter().zip(blocks).all(|(i, count)| i / nodes < count as usize)
    };
    for listed in listed(nodes) {
        let run = if listed.scalar == "f64" { Naive::run::<f64> } else { Naive::run::<f32> };
        let y = run(&naive, listed, &x, blocks);
        let errors = (0..y.len()).filter(|&index| is_computed(index)).map(|index| (y[index] - expected[index]).abs());
        let error = errors.fold(0.0, f64::max) / scale;
        assert!(error < tolerance(listed.kernel), "{nodes} nodes, {}: {error:e}", listed.name);
    }
}

#[test]
fn every_kernel_in_the_sizes_that_fit_the_fragments() {
    check(8, [2; 3]);
    check(16, [2, 1, 1]);
}

#[test]
fn every_kernel_in_small_sizes() {
    for nodes in NODES.filter(|nodes| *nodes < 8) {
        check(nodes, [2; 3]);
    }
}

#[test]
fn every_kernel_in_large_sizes() {
    for nodes in NODES.filter(|nodes| *nodes > 8 && *nodes != 16) {
        check(nodes, [[2, 1, 1], [1, 2, 1], [1, 1, 2]][nodes % 3]);
    }
}

/// As the emulation counts them: every access of a warp to shared memory takes the fewest passes.
#[test]
fn swizzled_kernels_have_no_bank_conflicts_in_any_size() {
    for nodes in NODES {
        for listed in listed(nodes) {
            let module = Module::TensorCore { nodes, hopper: listed.hopper };
            let of = |listed: Listed| match listed.scalar {
                "f64" => module.kernel::<f64>(Operation::BoxApply(listed.kernel)),
                _ => module.kernel::<f32>(Operation::BoxApply(listed.kernel)),
            };
            let excess = Kernel::new(module, of(listed)).unwrap().trace().wavefronts().excess();
            match listed.kernel.engine {
                Engine::MmaSwizzled => assert_eq!(excess, 0, "{nodes} nodes, {}", listed.name),
                Engine::Mma if FULL.contains(&nodes) => assert!(excess > 0, "{nodes} nodes, {}", listed.name),
                _ => {}
            }
        }
    }
}
