//! The device kernels of discontinuous elements, run on the host (`patchmg_emulation`), against the CPU backend in `f64`.

use bytemuck::bytes_of;
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::level::SharedLevel;
use patchmg::mesh::Mesh;
use patchmg::operator::LinearOperator;
use patchmg::space::{DiscontinuousSpace, Space};
use patchmg::system::{Poisson, Runs};
use patchmg_device::dg::{self, operator::Tile};
use patchmg_device::kernels::{Module, Operation};
use patchmg_device::patch::{bit, color_count};
use patchmg_device::scalar::Real;
use patchmg_device::with_degree;
use patchmg_emulation::{Arguments, Kernel};
use std::sync::Arc;

/// Numbers in [-1, 1), the same for a seed in every run.
fn random(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let number = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(number).take(len).collect()
}

/// A level, and what the CPU makes of it.
struct Reference {
    space: Space,
    cpu: Arc<Cpu>,
}

impl Reference {
    fn new(dim: usize, degree: usize, refine: usize) -> Self {
        let space = Space::discontinuous(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
        Self { space, cpu: Arc::new(Cpu::new(None).unwrap()) }
    }

    fn lines(&self) -> &DiscontinuousSpace {
        let Space::Discontinuous(space) = &self.space else { unreachable!("made so") };
        space
    }

    /// What `operation` makes of `start`.
    fn run(
        &self,
        start: Vec<f64>,
        operation: impl FnOnce(&SharedLevel<Cpu, f64>, &mut <Cpu as Backend>::Vector<f64>),
    ) -> Vec<f64> {
        let level = self.cpu.level(&Poisson::from(&self.space)).unwrap();
        let mut vector = self.vector(&start);
        operation(&level, &mut vector);
        let mut result = start;
        self.cpu.download(&vector, &mut result).unwrap();
        result
    }

    fn vector(&self, host: &[f64]) -> <Cpu as Backend>::Vector<f64> {
        let mut vector = self.cpu.zeros(host.len()).unwrap();
        self.cpu.upload(host, &mut vector).unwrap();
        vector
    }

    fn random(&self, seed: u64) -> Vec<f64> {
        random(self.space.storage(), seed)
    }

    /// Runs a kernel, `blocks` being found from its specification; the last vector is what it makes of `start`.
    fn kernel<T: Real>(
        &self,
        operation: Operation,
        inputs: &[&[T]],
        start: &[T],
        [color, chunk]: [u32; 2],
        blocks: impl Fn(u32) -> [u32; 3],
    ) -> Vec<T> {
        let module = Module::PoissonDg { dim: self.space.dim(), degree: self.space.degree() };
        let spec = module.kernel::<T>(operation);
        let mut result = start.to_vec();
        let mut vectors: Vec<*mut u8> = inputs.iter().map(|input| input.as_ptr().cast_mut().cast()).collect();
        vectors.push(result.as_mut_ptr().cast());
        let (matrices, blocks) = (self.matrices::<T>(operation), blocks(spec.patches));
        if !blocks.contains(&0) {
            let (matrices, cells) = (Some(&*matrices), self.lines().grid().cells);
            let arguments = Arguments { matrices, vectors: &vectors, cells, color, chunk, ..Arguments::default() };
            // SAFETY: matrices of the space, vectors of it and of the next coarser one, all alive.
            unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
        }
        result
    }

    fn matrices<T: Real>(&self, operation: Operation) -> Vec<u8> {
        let space = self.lines();
        with_degree!(@ space.degree(), K, match operation {
            Operation::Apply | Operation::Residual => {
                bytes_of(&space.cell_matrices::<T, { K + 1 }, { (K + 2) / 2 }>()).to_vec()
            }
            Operation::Solve => bytes_of(&space.solve_matrices::<T, { 2 * K + 2 }, { K + 1 }>()).to_vec(),
            _ => bytes_of(&space.transfer_matrices::<T, { 2 * K + 2 }, { K + 1 }, { (K + 2) / 2 }>()).to_vec(),
        }, unreachable!("degrees are 1 to 8"), 1 2 3 4 5 6 7 8)
    }

    fn check<T: Real>(&self, what: &str, found: &[T], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.abs()));
        let tolerance = if T::NAME == "f64" { 1e-12 } else { 1e-5 };
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (found.to_f64() - expected).abs() / scale;
            let (dim, degree, cells) = (self.space.dim(), self.space.degree(), self.lines().grid().cells);
            let case = format!("{what} {}, {dim}D Q{degree}, {cells} cells", T::NAME);
            assert!(error < tolerance, "{case}: dof {index} is {found:?}, not {expected} ({error:e})");
        }
    }

    /// The product and the residual, in chunks of several lengths.
    fn check_operator<T: Real>(&self) {
        let (dim, degree, grid) = (self.space.dim(), self.space.degree(), self.lines().grid());
        let (b, x) = (self.random(1), self.random(2));
        let product = self.run(self.random(3), |level, y| level.apply(&self.vector(&x), y).unwrap());
        let residual: Vec<f64> = b.iter().zip(&product).map(|(b, product)| b - product).collect();
        let (b, x, start) = (rounded::<T>(&b), rounded::<T>(&x), rounded::<T>(&self.random(3)));
        for chunk in [1, 3, grid.cells] {
            let blocks = |_| Tile::of(dim, degree).blocks(grid, chunk);
            let found = self.kernel(Operation::Apply, &[&x], &start, [0, chunk], blocks);
            self.check(&format!("product, {chunk} layers at a time"), &found, &product);
            let found = self.kernel(Operation::Residual, &[&b, &x], &start, [0, chunk], blocks);
            self.check(&format!("residual, {chunk} layers at a time"), &found, &residual);
        }
    }

    /// The patches of every color.
    fn check_solve<T: Real>(&self) {
        let (dim, cells) = (self.space.dim(), self.lines().grid().cells);
        let (r, x) = (self.random(1), self.random(2));
        let table = self.lines().solve_table::<T>();
        for color in 0..1 << dim {
            let zeros = vec![0.0; x.len()];
            let step = |level: &SharedLevel<_, _>, x: &mut _| {
                level.patches().unwrap().smooth_color(color, &self.vector(&r), x).unwrap();
            };
            let correction = self.run(zeros, step);
            let expected: Vec<f64> = x.iter().zip(correction).map(|(x, correction)| x + correction).collect();
            let count = |direction| color_count(cells, bit(color as u32, direction));
            let blocks = |patches| dg::blocks(dim, patches, count);
            let inputs = [&*table, &rounded::<T>(&r)];
            let found = self.kernel(Operation::Solve, &inputs, &rounded::<T>(&x), [color as u32, 0], blocks);
            self.check(&format!("color {color}"), &found, &expected);
        }
    }

    fn check_transfers<T: Real>(&self) {
        let (dim, grid) = (self.space.dim(), self.lines().grid());
        let patches = |patches| dg::blocks(dim, patches, |_| grid.cells / 2);
        let coarse = random(grid.coarser().storage(dim), 4);
        let (r, x) = (self.random(1), self.random(2));
        let zeros = self.vector(&vec![0.0; r.len()]);
        let expected = self.run(coarse.clone(), |level, coarse| {
            level.restrict_residual(&self.vector(&r), &zeros, coarse).unwrap();
        });
        let inputs = [&*rounded::<T>(&r)];
        let found = self.kernel(Operation::Restrict, &inputs, &rounded::<T>(&coarse), [0; 2], patches);
        self.check("restriction", &found, &expected);
        let expected = self.run(x.clone(), |level, x| level.prolongate_add(&self.vector(&coarse), x).unwrap());
        let inputs = [&*rounded::<T>(&coarse)];
        let found = self.kernel(Operation::ProlongateAdd, &inputs, &rounded::<T>(&x), [0; 2], patches);
        self.check("prolongation", &found, &expected);
    }
}

fn rounded<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}

fn check_level<T: Real>(dim: usize, degree: usize, refine: usize) {
    let level = Reference::new(dim, degree, refine);
    level.check_operator::<T>();
    level.check_solve::<T>();
    if refine > 1 {
        level.check_transfers::<T>();
    }
}

macro_rules! check_levels {
    ($($name:ident = $dim:literal: $($degree:literal)+, $refines:expr;)+) => {$(
        #[test]
        fn $name() {
            for degree in [$($degree),+] {
                for refine in $refines {
                    check_level::<f32>($dim, degree, refine);
                    check_level::<f64>($dim, degree, refine);
                }
            }
        }
    )+};
}
check_levels! {
    low_degrees_in_2d = 2: 1 2 3 4, 1..=3;
    high_degrees_in_2d = 2: 5 6 7 8, 1..=3;
    low_degrees_in_3d = 3: 1 2 3, 1..=2;
    middle_degrees_in_3d = 3: 4 5, 1..=2;
    degree_6_in_3d = 3: 6, 1..=2;
    degree_7_in_3d = 3: 7, 1..=2;
    degree_8_in_3d = 3: 8, 1..=2;
}

/// Levels with cells beyond a block's tile, on both sides of it.
#[test]
fn the_operator_with_several_tiles_in_every_direction() {
    for (dim, degree, refine) in [(2, 1, 7), (2, 3, 6), (2, 8, 4), (3, 2, 4), (3, 3, 4), (3, 5, 3), (3, 7, 3)] {
        let level = Reference::new(dim, degree, refine);
        level.check_operator::<f64>();
    }
}

#[test]
fn patches_of_several_blocks_and_kinds_of_ends() {
    for (dim, degree, refine) in [(2, 1, 6), (2, 3, 5), (3, 1, 4), (3, 2, 3), (3, 4, 3)] {
        let level = Reference::new(dim, degree, refine);
        level.check_solve::<f64>();
        level.check_transfers::<f64>();
    }
}

/// In `f32` kernels apply the form to nodes less a constant: away from the boundary a constant gives sums of zeros. In 3D, from
/// degree 4 on, a face's values come from the neighbour by another order of sums, and what is left is their rounding.
#[test]
fn constants_are_in_the_null_space_of_the_operator_in_f32() {
    for (dim, degree) in (1..=8).map(|degree| (2, degree)).chain((1..=8).map(|degree| (3, degree))) {
        let level = Reference::new(dim, degree, 2);
        let (grid, storage) = (level.lines().grid(), level.space.storage());
        let (b, start, nodes) = (vec![0.0_f32; storage], vec![1e30_f32; storage], grid.cell_nodes());
        for constant in [1.0_f32, 0.7] {
            let x = vec![constant; storage];
            let blocks = |_| Tile::of(dim, degree).blocks(grid, grid.cells);
            let product = level.kernel(Operation::Apply, &[&x], &start, [0, grid.cells], blocks);
            let residual = level.kernel(Operation::Residual, &[&b, &x], &start, [0, grid.cells], blocks);
            let is_inside = |node: [usize; 3]| node[..dim].iter().all(|index| (nodes..3 * nodes).contains(index));
            for values in [product, residual] {
                let values = level.space.to_dofs(&values).unwrap();
                let inside = level.space.unknowns().zip(&values).filter(|(node, _)| is_inside(*node));
                let inside: Vec<f32> = inside.map(|(_, value)| *value).collect();
                assert_eq!(inside.len(), (2 * nodes).pow(dim as u32));
                let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                let (most, boundary) = (largest(&inside), largest(&values));
                let allowed = if (dim, degree) >= (3, 4) { 1.25 * f32::EPSILON * boundary } else { 0.0 };
                assert!(most <= allowed, "{dim}D Q{degree}: {most:e}, at the boundary {boundary:e}");
                assert!(boundary > 0.0, "{dim}D Q{degree}: nothing at the boundary either");
            }
        }
    }
}
