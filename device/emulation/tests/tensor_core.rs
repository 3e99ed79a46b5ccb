//! The operator of discontinuous elements by products of small matrices, run on the host (`patchmg_emulation`), against
//! a naive reference: dense 1D matrices on the whole mesh. The matrices are random: a kernel does not know what they are of.

#[path = "common/boxes.rs"]
mod boxes;

use boxes::{Naive, random, tolerance};
use patchmg_device::kernels::{Engine, Module, Operands, Operation};
use patchmg_device::patch::{DgGrid, Ends, bit, color_count};
use patchmg_device::scalar::Real;
use patchmg_device::tensor_core::NODES;
use patchmg_device::tensor_core::list::{Listed, is_full, is_patch, listed};
use patchmg_emulation::{Arguments, Kernel};

/// `y = A x` by a kernel, on the first boxes.
fn run<T: Real>(naive: &Naive, listed: Listed, x: &[f64], blocks: [u32; 3]) -> Vec<f64> {
    let module = Module::TensorCore { nodes: naive.nodes, hopper: listed.hopper };
    let spec = module.kernel::<T>(Operation::BoxApply(listed.kernel));
    let (mut table, mut x): (Vec<T>, Vec<T>) = (naive.table(), x.iter().map(|&x| T::from_f64(x)).collect());
    let mut y = vec![T::ZERO; x.len()];
    let b = std::ptr::null_mut();
    let vectors = [table.as_mut_ptr().cast(), b, x.as_mut_ptr().cast(), y.as_mut_ptr().cast()];
    let cells = naive.boxes.map(|count| count as u32);
    let arguments = Arguments { vectors: &vectors, cells, ..Arguments::default() };
    // SAFETY: a table and vectors of the size that the kernel takes.
    unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
    y.into_iter().map(Real::to_f64).collect()
}

/// On the first of two boxes in each direction; of boxes of all directions each has faces within and of the domain.
fn check(nodes: usize, blocks: [u32; 3]) {
    check_those(nodes, [2; 3], blocks, 1.0, |_| true);
}

/// Some kernels, on the first of so many boxes, of a vector of this size.
fn check_those(nodes: usize, boxes: [usize; 3], blocks: [u32; 3], size: f64, wanted: fn(&Listed) -> bool) {
    let naive = Naive::new(nodes, boxes);
    let x: Vec<_> = random(naive.size().iter().product(), 7).into_iter().map(|x| size * x).collect();
    let expected = naive.apply(&x);
    let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let [row, rows, _] = naive.size();
    let is_computed = |index: usize| {
        [index % row, index / row % rows, index / row / rows]
            .iter()
            .zip(blocks)
            .all(|(i, count)| i / nodes < count as usize)
    };
    for listed in listed(nodes).into_iter().filter(wanted) {
        let run = if listed.scalar == "f64" { run::<f64> } else { run::<f32> };
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

#[test]
fn every_kernel_on_boxes_that_are_not_equally_many_in_all_directions() {
    for (nodes, boxes) in [(3, [3, 1, 2]), (8, [1, 2, 3])] {
        check_those(nodes, boxes, boxes.map(|count| count as u32), 1.0, |_| true);
    }
}

/// Patches with random 1D matrices in place of eigenvectors, one for each kind of ends.
struct Patches {
    nodes: usize,
    vectors: [Vec<f64>; 4],
    values: [Vec<f64>; 4],
    factor: f64,
}

impl Patches {
    fn new(nodes: usize) -> Self {
        let vectors = [1, 2, 3, 4].map(|seed| random(nodes * nodes, seed + 100 * nodes as u64));
        let values = [5, 6, 7, 8].map(|seed| random(nodes, seed).into_iter().map(|value| value + 1.5).collect());
        Self { nodes, vectors, values, factor: 0.4 }
    }

    fn table<T: Real>(&self) -> Vec<T> {
        let table = [self.vectors.concat(), self.values.concat(), vec![self.factor]].concat();
        table.into_iter().map(T::from_f64).collect()
    }

    /// `S x`, or `Sᵀ x`, in one direction of a patch.
    fn times(&self, kind: Ends, transposed: bool, direction: u32, x: &[f64]) -> Vec<f64> {
        let (n, vectors) = (self.nodes, &self.vectors[kind as usize]);
        let stride = n.pow(direction);
        let entry = |i: usize, j: usize| if transposed { vectors[n * j + i] } else { vectors[n * i + j] };
        let sum = |index: usize| {
            let i = index / stride % n;
            (0..n).map(|j| entry(i, j) * x[index - i * stride + j * stride]).sum()
        };
        (0..x.len()).map(sum).collect()
    }

    /// `A_j⁻¹ r` of a patch with these ends.
    fn solve(&self, ends: [Ends; 3], r: &[f64]) -> Vec<f64> {
        let n = self.nodes;
        let all = |transposed: bool, x: Vec<f64>| {
            (0..3).fold(x, |x, direction| self.times(ends[direction as usize], transposed, direction, &x))
        };
        let mut modes = all(true, r.to_vec());
        for (index, mode) in modes.iter_mut().enumerate() {
            let value = |d: usize, i: usize| self.values[ends[d] as usize][i];
            *mode *= self.factor / (value(0, index % n) + value(1, index / n % n) + value(2, index / n / n));
        }
        all(false, modes)
    }

    /// `x` after a color of a level.
    fn run<T: Real>(&self, listed: Listed, cells: [u32; 3], color: u32, r: &[f64], x: &[f64]) -> Vec<f64> {
        let module = Module::TensorCore { nodes: self.nodes, hopper: listed.hopper };
        let spec = module.kernel::<T>(Operation::BoxSolve(listed.kernel));
        let convert = |values: &[f64]| -> Vec<T> { values.iter().map(|&value| T::from_f64(value)).collect() };
        let (mut table, mut r, mut x) = (self.table::<T>(), convert(r), convert(x));
        let vectors = [table.as_mut_ptr().cast(), r.as_mut_ptr().cast(), x.as_mut_ptr().cast()];
        let arguments = Arguments { vectors: &vectors, cells, color, ..Arguments::default() };
        let blocks = [0, 1, 2].map(|direction| color_count(cells[direction], bit(color, direction)));
        // SAFETY: a table and vectors of the size that the kernel takes.
        unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
        x.into_iter().map(Real::to_f64).collect()
    }

    /// Colors with few patches, that touch no end, or one of them.
    fn check(nodes: usize, colors: &[u32]) {
        Self::check_those(nodes, [4; 3], colors, 1.0, |_| true);
    }

    /// Some kernels, on a level of so many cells, of vectors of this size.
    fn check_those(nodes: usize, cells: [u32; 3], colors: &[u32], size: f64, wanted: fn(&Listed) -> bool) {
        let patches = Self::new(nodes);
        let grid = DgGrid { cells, degree: nodes as u32 / 2 - 1 };
        let [r, x] = [1, 2].map(|seed| random(grid.storage(3), seed).into_iter().map(|x| size * x).collect::<Vec<_>>());
        for &color in colors {
            let mut expected = x.clone();
            let counts = [0, 1, 2].map(|direction| color_count(cells[direction], bit(color, direction)));
            for patch in 0..counts.iter().product() {
                let index = [patch % counts[0], patch / counts[0] % counts[1], patch / counts[0] / counts[1]];
                let first = [0, 1, 2].map(|d| bit(color, d) + 2 * index[d]);
                let origin = first.map(|cell| cell as usize * nodes / 2);
                let node = |i: usize| [i % nodes, i / nodes % nodes, i / nodes / nodes];
                let offset = |i: usize| {
                    let node = node(i);
                    grid.offset_3d(origin[0] + node[0], origin[1] + node[1], origin[2] + node[2])
                };
                let local: Vec<_> = (0..nodes.pow(3)).map(|i| r[offset(i)]).collect();
                let correction = patches.solve([0, 1, 2].map(|d| Ends::of_patch(cells[d], first[d])), &local);
                correction.iter().enumerate().for_each(|(i, correction)| expected[offset(i)] += correction);
            }
            let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            for listed in listed(nodes).into_iter().filter(|listed| listed.solves(nodes) && wanted(listed)) {
                let run = if listed.scalar == "f64" { Self::run::<f64> } else { Self::run::<f32> };
                let found = run(&patches, listed, cells, color, &r, &x);
                let error = found.iter().zip(&expected).fold(0.0_f64, |most, (x, e)| most.max((x - e).abs())) / scale;
                assert!(error < 2.0 * tolerance(listed.kernel), "{nodes} nodes, {}: {error:e}", listed.name);
            }
        }
    }
}

#[test]
fn every_kernel_solves_on_patches_of_every_size() {
    for nodes in NODES.filter(|&nodes| is_patch(nodes)) {
        Patches::check(nodes, if nodes <= 8 { &[7, 6, 5, 3] } else { &[7] });
    }
    Patches::check(16, &[6]);
}

/// In a direction of two cells the patch touches both ends.
#[test]
fn every_kernel_solves_on_patches_of_levels_with_unequal_numbers_of_cells() {
    for nodes in [4, 8] {
        Patches::check_those(nodes, [6, 2, 4], &[0, 5], 1.0, |_| true);
        Patches::check_those(nodes, [2, 4, 6], &[0, 6], 1.0, |_| true);
    }
}

/// `f16` ends at 65504 and has no digits below 6e-8.
#[test]
fn half_precision_takes_vectors_of_any_size() {
    let is_half = |listed: &Listed| matches!(listed.kernel.operands, Operands::F16 | Operands::F16Corrected);
    for size in [1e-30, 1e-7, 1e7, 1e30] {
        for nodes in [7, 8] {
            check_those(nodes, [2; 3], [1; 3], size, is_half);
        }
        Patches::check_those(8, [4; 3], &[7], size, is_half);
    }
    check_those(16, [2; 3], [1; 3], 1e7, is_half);
    Patches::check_those(16, [4; 3], &[7], 1e-7, is_half);
}

#[test]
fn half_precision_of_a_vector_of_zeros_is_zero_and_of_infinity_not_finite() {
    let naive = Naive::new(8, [1; 3]);
    for listed in listed(8).into_iter().filter(|listed| listed.kernel.operands == Operands::F16Corrected) {
        let mut x = vec![0.0; naive.size().iter().product()];
        assert!(run::<f32>(&naive, listed, &x, [1; 3]).iter().all(|&y| y == 0.0), "{}", listed.name);
        x[100] = f64::INFINITY;
        assert!(run::<f32>(&naive, listed, &x, [1; 3]).iter().any(|&y| !y.is_finite()), "{}", listed.name);
    }
}

/// Over and over, against the dense matrices of boxes that nothing couples.
#[test]
fn contractions_alone_are_the_operator_of_a_box_without_its_faces() {
    let cases = [(8, [1; 3], 0), (8, [2; 3], 1), (8, [3, 1, 2], 1), (8, [1; 3], 3), (16, [1; 3], 2)];
    for (nodes, boxes, repeats) in cases {
        let naive = Naive::new(nodes, boxes);
        let x = random(naive.size().iter().product(), 3);
        let stiffness = |direction: usize| {
            let n = naive.size()[direction];
            let entry = |i: usize| {
                let (row, column) = (i / n, i % n);
                let is_of_box = row / nodes == column / nodes;
                if is_of_box { naive.stiffness[nodes * (row % nodes) + column % nodes] } else { 0.0 }
            };
            (0..n * n).map(entry).collect::<Vec<_>>()
        };
        let expected = (0..repeats).fold(x.clone(), |x, _| {
            let mut sum = vec![0.0; x.len()];
            for stiff in 0..3 {
                let along = |d: usize| if d == stiff { stiffness(d) } else { naive.dense(false, d) };
                let term = (0..3).fold(x.clone(), |x, direction| naive.times(&along(direction), direction, &x));
                sum.iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
            }
            sum
        });
        let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let timed: Vec<_> = listed(nodes).into_iter().filter(|listed| listed.contracts(nodes)).collect();
        assert_eq!(timed.len(), 6);
        for listed in timed {
            let module = Module::TensorCore { nodes, hopper: listed.hopper };
            let spec = module.kernel::<f64>(Operation::BoxContract(listed.kernel));
            let (mut table, mut x, mut y) = (naive.table::<f64>(), x.clone(), vec![f64::NAN; x.len()]);
            let vectors = [table.as_mut_ptr().cast(), x.as_mut_ptr().cast(), y.as_mut_ptr().cast()];
            let cells = boxes.map(|count| count as u32);
            let arguments = Arguments { vectors: &vectors, cells, chunk: repeats, ..Arguments::default() };
            // SAFETY: a table and vectors of the size that the kernel takes.
            unsafe { Kernel::new(module, spec).unwrap().run(cells, arguments) };
            let error = y.iter().zip(&expected).fold(0.0_f64, |most, (y, e)| most.max((y - e).abs())) / scale;
            assert!(error < 3.0 * tolerance(listed.kernel), "{nodes} nodes, {}: {error:e}", listed.name);
            assert!(y.iter().all(|y| y.is_finite()), "{nodes} nodes, {}", listed.name);
        }
    }
}

/// As the emulation counts them: every access of a warp to shared memory takes the fewest passes.
#[test]
fn swizzled_kernels_have_no_bank_conflicts_in_any_size() {
    for nodes in NODES {
        for listed in listed(nodes) {
            let module = Module::TensorCore { nodes, hopper: listed.hopper };
            let excess = |operation| {
                let spec = match listed.scalar {
                    "f64" => module.kernel::<f64>(operation),
                    _ => module.kernel::<f32>(operation),
                };
                Kernel::new(module, spec).unwrap().trace().wavefronts().excess()
            };
            match listed.kernel.engine {
                Engine::MmaSwizzled => {
                    assert_eq!(excess(Operation::BoxApply(listed.kernel)), 0, "{nodes} nodes, {}", listed.name);
                    if listed.contracts(nodes) {
                        assert_eq!(excess(Operation::BoxContract(listed.kernel)), 0, "{nodes} nodes, {}", listed.name);
                    }
                    if listed.solves(nodes) {
                        assert_eq!(excess(Operation::BoxSolve(listed.kernel)), 0, "{nodes} nodes, {}", listed.name);
                    }
                }
                Engine::Mma if is_full(nodes) => {
                    assert!(excess(Operation::BoxApply(listed.kernel)) > 0, "{nodes} nodes, {}", listed.name);
                }
                _ => {}
            }
        }
    }
}
