//! The device kernels of discontinuous elements, run on the host (`patchmg_emulation`), against the CPU backend in
//! `f64`, whose own tests know a naive twin.

use bytemuck::bytes_of;
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::level::SharedLevel;
use patchmg::mesh::Mesh;
use patchmg::operator::LinearOperator;
use patchmg::space::Space;
use patchmg::system::poisson::forms::DiscontinuousForms;
use patchmg::system::{Poisson, Runs};
use patchmg_device::dg::{self, operator::Tile};
use patchmg_device::kernels::{Module, Operation};
use patchmg_device::matrices::DgOperatorMatrices;
use patchmg_device::patch::{DgGrid, bit, color_count};
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
    forms: DiscontinuousForms,
    cpu: Arc<Cpu>,
}

impl Reference {
    fn new(mesh: Mesh, degree: usize) -> Self {
        let space = Space::discontinuous(mesh, degree).unwrap();
        let forms = DiscontinuousForms::new(&space).unwrap();
        Self { space, forms, cpu: Arc::new(Cpu::new(None).unwrap()) }
    }

    fn grid(&self) -> DgGrid {
        self.forms.grid()
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
            let (matrices, cells) = (Some(&*matrices), self.grid().cells);
            let arguments = Arguments { matrices, vectors: &vectors, cells, color, chunk, ..Arguments::default() };
            // SAFETY: matrices of the space, vectors of it and of the next coarser one, all alive.
            unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
        }
        result
    }

    fn matrices<T: Real>(&self, operation: Operation) -> Vec<u8> {
        let form = self.forms.along(0);
        with_degree!(@ self.space.degree(), K, match operation {
            Operation::Apply | Operation::Residual => {
                let matrices = form.cell_matrices::<T, { K + 1 }, { (K + 2) / 2 }>();
                bytes_of(&DgOperatorMatrices::new(self.space.dim(), matrices, self.forms.factors())).to_vec()
            }
            Operation::Solve | Operation::SolveThin => bytes_of(&self.forms.solve_matrices::<T, { 2 * K + 2 }, { K + 1 }>()).to_vec(),
            _ => bytes_of(&form.transfer_matrices::<T, { 2 * K + 2 }, { K + 1 }, { (K + 2) / 2 }>()).to_vec(),
        }, unreachable!("degrees are 1 to 8"), 1 2 3 4 5 6 7 8)
    }

    fn check<T: Real>(&self, what: &str, found: &[T], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.abs()));
        let tolerance = if T::NAME == "f64" { 1e-12 } else { 1e-5 };
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (found.to_f64() - expected).abs() / scale;
            let (dim, degree, cells) = (self.space.dim(), self.space.degree(), self.grid().cells);
            let case = format!("{what} {}, {dim}D Q{degree}, {cells:?} cells", T::NAME);
            assert!(error < tolerance, "{case}: dof {index} is {found:?}, not {expected} ({error:e})");
        }
    }

    /// The product and the residual, in chunks of several lengths.
    fn check_operator<T: Real>(&self) {
        let (dim, degree, grid) = (self.space.dim(), self.space.degree(), self.grid());
        let (b, x) = (self.random(1), self.random(2));
        let product = self.run(self.random(3), |level, y| level.apply(&self.vector(&x), y).unwrap());
        let residual: Vec<f64> = b.iter().zip(&product).map(|(b, product)| b - product).collect();
        let (b, x, start) = (rounded::<T>(&b), rounded::<T>(&x), rounded::<T>(&self.random(3)));
        for chunk in [1, 3, grid.cells[dim - 1]] {
            let blocks = |_| Tile::of(dim, degree).blocks(grid, chunk);
            let found = self.kernel(Operation::Apply, &[&x], &start, [0, chunk], blocks);
            self.check(&format!("product, {chunk} layers at a time"), &found, &product);
            let found = self.kernel(Operation::Residual, &[&b, &x], &start, [0, chunk], blocks);
            self.check(&format!("residual, {chunk} layers at a time"), &found, &residual);
        }
    }

    /// The patches of every color.
    fn check_solve<T: Real>(&self) {
        let (dim, cells) = (self.space.dim(), self.grid().cells);
        let (r, x) = (self.random(1), self.random(2));
        let table = self.forms.solve_table::<T>();
        let operation = if dg::solve::is_thin(dim, cells) { Operation::SolveThin } else { Operation::Solve };
        for color in 0..1 << dim {
            let zeros = vec![0.0; x.len()];
            let step = |level: &SharedLevel<_, _>, x: &mut _| {
                level.patches().unwrap().smooth_color(color, &self.vector(&r), x).unwrap();
            };
            let correction = self.run(zeros, step);
            let expected: Vec<f64> = x.iter().zip(correction).map(|(x, correction)| x + correction).collect();
            let count = |direction: usize| color_count(cells[direction], bit(color as u32, direction));
            let blocks = |patches| dg::blocks(dim, patches, count);
            let inputs = [&*table, &rounded::<T>(&r)];
            let found = self.kernel(operation, &inputs, &rounded::<T>(&x), [color as u32, 0], blocks);
            self.check(&format!("color {color}"), &found, &expected);
        }
    }

    /// Between this level and that of half as many cells in every direction, which must be its coarser one.
    fn check_transfers<T: Real>(&self) {
        let (dim, grid) = (self.space.dim(), self.grid());
        let patches = |patches| dg::blocks(dim, patches, |direction| grid.cells[direction] / 2);
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

/// `2^refine` cells a direction on the unit square or cube.
fn cube(dim: usize, refine: usize) -> Mesh {
    Mesh::unit_cube(dim, refine).unwrap()
}

/// So many cells, an even number in each direction, with such edges.
fn cells_of<const DIM: usize>(cells: [usize; DIM], edges: [f64; DIM]) -> Mesh {
    let lengths: [f64; DIM] = std::array::from_fn(|d| cells[d] as f64 * edges[d]);
    Mesh::of_box(&cells.map(|cells| cells / 2), &lengths, 1).unwrap()
}

fn check_level<T: Real>(mesh: Mesh, degree: usize) {
    let level = Reference::new(mesh, degree);
    level.check_operator::<T>();
    level.check_solve::<T>();
    let cells = &mesh.cells_along()[..mesh.dim()];
    if cells.contains(&2) {
        // Others than the kernels do the transfer.
        return;
    }
    if mesh.coarsened_directions().is_some_and(|coarsened| coarsened[..mesh.dim()].contains(&false)) {
        // The transfer takes no edges: those of a mesh that is coarsened in every direction will do.
        let equal: Vec<f64> = cells.iter().map(|&cells| cells as f64).collect();
        let halves: Vec<usize> = cells.iter().map(|cells| cells / 2).collect();
        Reference::new(Mesh::of_box(&halves, &equal, 1).unwrap(), degree).check_transfers::<T>();
    } else {
        level.check_transfers::<T>();
    }
}

macro_rules! check_levels {
    ($($name:ident = [$($mesh:expr),+]: $($degree:literal)+;)+) => {$(
        #[test]
        fn $name() {
            for degree in [$($degree),+] {
                for mesh in [$($mesh),+] {
                    check_level::<f32>(mesh, degree);
                    check_level::<f64>(mesh, degree);
                }
            }
        }
    )+};
}
check_levels! {
    low_degrees_in_2d = [cube(2, 1), cube(2, 2), cube(2, 3)]: 1 2 3 4;
    high_degrees_in_2d = [cube(2, 1), cube(2, 2), cube(2, 3)]: 5 6 7 8;
    low_degrees_in_3d = [cube(3, 1), cube(3, 2)]: 1 2 3;
    middle_degrees_in_3d = [cube(3, 1), cube(3, 2)]: 4 5;
    degree_6_in_3d = [cube(3, 1), cube(3, 2)]: 6;
    degree_7_in_3d = [cube(3, 1), cube(3, 2)]: 7;
    degree_8_in_3d = [cube(3, 1), cube(3, 2)]: 8;
    boxes_in_2d = [
        cells_of([6, 4], [0.1, 0.3]),
        cells_of([4, 10], [0.3, 0.4]),
        cells_of([2, 8], [0.7, 0.3]),
        cells_of([4, 2], [0.3, 0.25]),
        cells_of([2, 2], [0.1, 0.3])
    ]: 1 2 4 7 8;
    boxes_in_3d = [
        cells_of([4, 2, 6], [0.3, 0.7, 0.45]),
        cells_of([2, 4, 2], [0.21, 0.3, 0.13]),
        cells_of([2, 2, 4], [0.3, 0.1, 0.2]),
        cells_of([6, 4, 4], [0.2, 0.3, 0.25]),
        cells_of([2, 2, 2], [0.3, 0.1, 0.2])
    ]: 1 2 3;
    boxes_of_middle_degrees_in_3d =
        [cells_of([4, 2, 2], [0.3, 0.7, 0.45]), cells_of([2, 4, 6], [0.21, 0.3, 0.13])]: 4 5;
    boxes_of_degree_8_in_3d = [cells_of([4, 2, 4], [0.3, 0.7, 0.45]), cells_of([2, 4, 2], [0.2, 0.1, 0.3])]: 8;
}

/// Levels with cells beyond a block's tile, on both sides of it.
#[test]
fn the_operator_with_several_tiles_in_every_direction() {
    for (dim, degree, refine) in [(2, 1, 7), (2, 3, 6), (2, 8, 4), (3, 2, 4), (3, 3, 4), (3, 5, 3), (3, 7, 3)] {
        Reference::new(cube(dim, refine), degree).check_operator::<f64>();
    }
}

/// The same with other numbers of tiles from direction to direction, the last ones in part.
#[test]
fn the_operator_with_several_tiles_on_boxes() {
    for (cells, degree) in [([70, 4], 1), ([4, 70], 1), ([40, 6], 3), ([20, 4], 8)] {
        Reference::new(cells_of(cells, [0.1, 0.3]), degree).check_operator::<f64>();
    }
    let in_3d = [([34, 6, 2], 1), ([34, 4, 2], 2), ([4, 6, 4], 2), ([10, 4, 2], 3), ([6, 4, 2], 5), ([6, 2, 4], 7)];
    for (cells, degree) in in_3d {
        Reference::new(cells_of(cells, [0.3, 0.2, 0.5]), degree).check_operator::<f64>();
    }
}

#[test]
fn patches_of_several_blocks_and_kinds_of_ends() {
    for (dim, degree, refine) in [(2, 1, 6), (2, 3, 5), (3, 1, 4), (3, 2, 3), (3, 4, 3)] {
        let level = Reference::new(cube(dim, refine), degree);
        level.check_solve::<f64>();
        level.check_transfers::<f64>();
    }
}

/// In each direction of a level there are patches that touch no end, one or both, as it has more than two cells or not.
#[test]
fn patches_of_several_blocks_on_boxes() {
    for (cells, degree) in [([66, 2], 1), ([2, 66], 1), ([34, 6], 3), ([6, 34], 3), ([22, 2], 8)] {
        check_patches(cells_of(cells, [0.1, 0.3]), degree);
    }
    let in_3d = [([34, 2, 6], 1), ([2, 10, 6], 1), ([18, 6, 2], 2), ([6, 2, 2], 3), ([2, 2, 6], 4), ([10, 2, 4], 4)];
    for (cells, degree) in in_3d {
        check_patches(cells_of(cells, [0.3, 0.2, 0.5]), degree);
    }
    for (cells, degree) in [([34, 4], 1), ([10, 22], 3)] {
        Reference::new(cells_of(cells, [1.0, 1.0]), degree).check_transfers::<f64>();
    }
    for (cells, degree) in [([34, 4, 6], 1), ([6, 10, 4], 2)] {
        Reference::new(cells_of(cells, [1.0, 1.0, 1.0]), degree).check_transfers::<f64>();
    }
}

fn check_patches(mesh: Mesh, degree: usize) {
    let level = Reference::new(mesh, degree);
    level.check_solve::<f64>();
    level.check_solve::<f32>();
}

/// In `f32` kernels apply the form to nodes less a constant: away from the boundary a constant gives sums of zeros. In
/// 3D, from degree 4 on, a face's values come from the neighbour by another order of sums, and what is left is their
/// rounding. Matrices are of cells as long as those in x. Unless that is a power of two, entries and row sums are
/// rounded otherwise than on the unit cube: in degree 2, too, and in degree 8 by up to 1.6 units instead of 1.12,
/// whatever the other edges.
#[test]
fn constants_are_in_the_null_space_of_the_operator_in_f32() {
    let in_2d = [cube(2, 2), cells_of([4, 6], [0.1, 0.3])];
    let in_3d = [cube(3, 2), cells_of([4, 6, 4], [0.25, 0.7, 0.45]), cells_of([6, 4, 4], [0.3, 0.7, 0.45])];
    // On boxes low degrees, and the one of the largest rounding.
    let is_tested = |degree: usize, mesh: Mesh| [1, 2, 3, 8].contains(&degree) || [in_2d[0], in_3d[0]].contains(&mesh);
    let meshes = || in_2d.into_iter().chain(in_3d);
    let levels = DgGrid::DEGREES.flat_map(|degree| meshes().map(move |mesh| (mesh, degree)));
    let levels = levels.filter(|&(mesh, degree)| is_tested(degree, mesh));
    for (mesh, degree) in levels {
        let (dim, level) = (mesh.dim(), Reference::new(mesh, degree));
        let (grid, storage) = (level.grid(), level.space.storage());
        let (b, start, nodes) = (vec![0.0_f32; storage], vec![1e30_f32; storage], grid.cell_nodes());
        let layers = grid.cells[dim - 1];
        for constant in [1.0_f32, 0.7] {
            let x = vec![constant; storage];
            let blocks = |_| Tile::of(dim, degree).blocks(grid, layers);
            let product = level.kernel(Operation::Apply, &[&x], &start, [0, layers], blocks);
            let residual = level.kernel(Operation::Residual, &[&b, &x], &start, [0, layers], blocks);
            let is_inside = |node: [usize; 3]| (0..dim).all(|d| (nodes..grid.nodes(d) - nodes).contains(&node[d]));
            for values in [product, residual] {
                let values = level.space.to_dofs(&values).unwrap();
                let inside = level.space.unknowns().zip(&values).filter(|(node, _)| is_inside(*node));
                let inside: Vec<f32> = inside.map(|(_, value)| *value).collect();
                assert_eq!(inside.len(), (0..dim).map(|d| grid.nodes(d) - 2 * nodes).product());
                let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                let (most, boundary) = (largest(&inside), largest(&values));
                let units = match (dim, degree) {
                    (3, _) if mesh == in_3d[2] => 1.75,
                    (3, 4..) => 1.25,
                    _ => 0.0,
                };
                let allowed = units * f32::EPSILON * boundary;
                let case = format!("{dim}D Q{degree}, {:?}", mesh.cell_sizes());
                assert!(most <= allowed, "{case}: {most:e}, at the boundary {boundary:e}");
                assert!(boundary > 0.0, "{case}: nothing at the boundary either");
            }
        }
    }
}
