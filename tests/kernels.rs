//! The device kernels, run on the host (`patchmg_emulation`), against naive twins: dense 1D matrices on the whole
//! mesh, Kronecker products written as loops, patches solved in an eigenbasis that knows nothing of parity.

use bytemuck::bytes_of;
use nalgebra::{DMatrix, DVector};
use patchmg::fe::{assemble, generalized_eigenpairs};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, Module, Operation};
use patchmg_device::matrices::Scaled;
use patchmg_device::operator::rows;
use patchmg_device::operator::tile::Tile;
use patchmg_device::patch::{Grid, bit, color_count, color_origin};
use patchmg_device::point;
use patchmg_device::scalar::Real;
use patchmg_device::smoother::interpolated_nodes;
use patchmg_device::transfer::restriction;
use patchmg_device::with_degree;
use patchmg_emulation::{Arguments, Kernel};

/// All interior nodes of a level, lexicographic, in 2 or 3 directions of equal length.
#[derive(Clone)]
struct Tensor {
    dim: usize,
    length: usize,
    values: DVector<f64>,
}

impl Tensor {
    fn random(dim: usize, length: usize, seed: u64) -> Self {
        let mut state = seed;
        let values = DVector::from_fn(length.pow(dim as u32), |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        });
        Self { dim, length, values }
    }

    /// The matrix times one mode; all modes must end with equal length before the tensor is used as one.
    fn times(&self, lengths: &mut [usize; 3], mode: usize, matrix: &DMatrix<f64>) -> Self {
        let stride: usize = lengths[..mode].iter().product();
        let outer: usize = lengths[mode + 1..].iter().product();
        let (rows, columns) = matrix.shape();
        assert_eq!(columns, lengths[mode]);
        let mut values = DVector::zeros(stride * rows * outer);
        for o in 0..outer {
            for i in 0..rows {
                for j in 0..columns {
                    for s in 0..stride {
                        values[s + stride * (i + rows * o)] +=
                            matrix[(i, j)] * self.values[s + stride * (j + columns * o)];
                    }
                }
            }
        }
        lengths[mode] = rows;
        Self { dim: self.dim, length: rows, values }
    }

    /// One matrix a direction, `x` first.
    fn kronecker(&self, matrices: &[&DMatrix<f64>]) -> Self {
        let mut lengths = [1; 3];
        lengths[..self.dim].fill(self.length);
        let mut result = self.clone();
        for (mode, matrix) in matrices.iter().enumerate() {
            result = result.times(&mut lengths, mode, matrix);
        }
        result
    }

    /// `sum_d (.. ⊗ stiffness in direction d ⊗ ..) x`, mass in the others.
    fn laplace(&self, mass: &DMatrix<f64>, stiffness: &DMatrix<f64>) -> Self {
        let mut sum = DVector::zeros(self.values.len());
        for direction in 0..self.dim {
            let mut matrices = vec![mass; self.dim];
            matrices[direction] = stiffness;
            sum += self.kronecker(&matrices).values;
        }
        Self { values: sum, ..self.clone() }
    }

    fn index(&self, node: [usize; 3]) -> usize {
        node[0] + self.length * (node[1] + self.length * node[2])
    }
}

/// A level with its dense 1D matrices on the whole mesh.
struct Naive {
    space: Space,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    /// From the coarse level's interior nodes to this one's.
    prolongation: DMatrix<f64>,
}

impl Naive {
    fn new(dim: usize, degree: usize, refine: usize) -> Self {
        let space = Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
        let (cells, h) = (space.mesh().cells_per_direction() as usize, space.mesh().cell_size());
        let inner = |full: DMatrix<f64>| full.view((1, 1), (full.nrows() - 2, full.ncols() - 2)).into_owned();
        let cell = space.element().prolongation();
        let mut prolongation = DMatrix::zeros(cells * degree + 1, cells / 2 * degree + 1);
        for coarse in 0..cells / 2 {
            prolongation.view_mut((2 * coarse * degree, coarse * degree), cell.shape()).copy_from(&cell);
        }
        Self {
            mass: inner(assemble(&space.element().mass(), cells) * h),
            stiffness: inner(assemble(&space.element().stiffness(), cells) / h),
            prolongation: inner(prolongation),
            space,
        }
    }

    fn length(&self) -> usize {
        self.mass.nrows()
    }

    fn residual(&self, b: &Tensor, x: &Tensor) -> Tensor {
        Tensor { values: &b.values - x.laplace(&self.mass, &self.stiffness).values, ..b.clone() }
    }

    /// `x += sum_j R_jᵀ A_j⁻¹ R_j (b - A x)` over the patches of a color.
    fn smooth(&self, color: u32, b: &Tensor, x: &Tensor) -> Tensor {
        let degree = self.space.degree();
        let m = 2 * degree - 1;
        let patch = |matrix: &DMatrix<f64>| matrix.view((0, 0), (m, m)).into_owned();
        let pairs = generalized_eigenpairs(&patch(&self.stiffness), &patch(&self.mass)).unwrap();
        let transposed = pairs.vectors.transpose();
        let residual = self.residual(b, x);
        let mut result = x.clone();
        let counts = [0, 1, 2]
            .map(|d| if d < x.dim { color_count(self.space.mesh().cells_per_direction(), bit(color, d)) } else { 1 });
        let locals = [0, 1, 2].map(|d| if d < x.dim { m } else { 1 });
        for patch in grid(counts.map(|c| c as usize)) {
            // Interior nodes are numbered from node 1 on, and a patch's from its origin's successor on.
            let start = [0, 1, 2].map(|d| if d < x.dim { color_origin(degree, bit(color, d), patch[d]) } else { 0 });
            let nodes: Vec<_> = grid(locals).map(|n| x.index([0, 1, 2].map(|d| start[d] + n[d]))).collect();
            let local = Tensor {
                dim: x.dim,
                length: m,
                values: DVector::from_iterator(nodes.len(), nodes.iter().map(|&n| residual.values[n])),
            };
            let mut modes = local.kronecker(&vec![&transposed; x.dim]);
            for (index, n) in grid(locals).enumerate() {
                modes.values[index] /= (0..x.dim).map(|d| pairs.values[n[d]]).sum::<f64>();
            }
            let correction = modes.kronecker(&vec![&pairs.vectors; x.dim]);
            for (index, &n) in nodes.iter().enumerate() {
                result.values[n] += correction.values[index];
            }
        }
        result
    }

    /// `x_i += (b_i - (A x)_i) / A_ii` for the nodes whose classes, by direction, are the digits of the color.
    fn point(&self, color: usize, b: &Tensor, x: &Tensor) -> Tensor {
        let degree = self.space.degree();
        let class = |node: usize| if node.is_multiple_of(degree) { (node / degree + 1) % 2 } else { node % degree + 1 };
        let residual = self.residual(b, x);
        let mut result = x.clone();
        let lengths = [0, 1, 2].map(|d| if d < x.dim { x.length } else { 1 });
        for at in grid(lengths) {
            let classes = (0..x.dim).rev().fold(0, |color, d| color * (degree + 1) + class(at[d] + 1));
            if classes == color {
                let factor = |d: usize, stiff: usize| if d == stiff { &self.stiffness } else { &self.mass };
                let term = |stiff: usize| (0..x.dim).map(|d| factor(d, stiff)[(at[d], at[d])]).product::<f64>();
                let index = x.index(at);
                result.values[index] += residual.values[index] / (0..x.dim).map(term).sum::<f64>();
            }
        }
        result
    }

    fn stored<T: Real>(&self, tensor: &Tensor) -> Vec<T> {
        let dofs: Vec<T> = tensor.values.iter().map(|&v| T::from_f64(v)).collect();
        self.space.from_dofs(&dofs).unwrap()
    }

    /// Compares a stored vector; entries that are no unknowns must still be zero.
    fn check<T: Real>(&self, what: &str, stored: &[T], expected: &Tensor) {
        let dofs = self.space.to_dofs(stored).unwrap();
        assert_eq!(self.space.from_dofs(&dofs).unwrap(), stored, "{what} wrote where no unknown is");
        let scale = expected.values.amax();
        let tolerance = if T::NAME == "f64" { 1e-12 } else { 1e-5 };
        for (index, (&found, &expected)) in dofs.iter().zip(expected.values.iter()).enumerate() {
            let error = (found.to_f64() - expected).abs() / scale;
            assert!(error < tolerance, "{what} {}: dof {index} is {found:?}, not {expected} ({error:e})", T::NAME);
        }
    }
}

/// Indices of a box, the first fastest.
fn grid(lengths: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..lengths.iter().product())
        .map(move |index| [index % lengths[0], index / lengths[0] % lengths[1], index / lengths[0] / lengths[1]])
}

/// Runs a kernel for `counts` patches in each direction.
fn run<T: Real>(
    space: &Space,
    operation: Operation,
    counts: [u32; 3],
    matrices: &[u8],
    vectors: &[*mut T],
    color: u32,
) {
    let module = Module::PoissonCg { dim: space.dim(), degree: space.degree() };
    let spec = module.kernel::<T>(operation);
    let blocks = [counts[0].div_ceil(spec.patches), counts[1], counts[2]];
    if blocks.contains(&0) {
        return;
    }
    let vectors: Vec<_> = vectors.iter().map(|vector| vector.cast()).collect();
    let (matrices, cells) = (Some(matrices), space.mesh().cells_per_direction());
    let arguments = Arguments { matrices, vectors: &vectors, cells, color, ..Arguments::default() };
    // SAFETY: matrices of the space, vectors of it and of the next coarser one, all alive.
    unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
}

/// Runs the operator or the restriction on all of a level, `chunk` cells or patches at a time.
fn run_march<T: Real>(space: &Space, operation: Operation, matrices: &[u8], vectors: &[*mut T], chunk: u32) {
    let (dim, degree, grid) = (space.dim(), space.degree(), grid_of(space));
    let module = Module::PoissonCg { dim, degree };
    let strip = match operation {
        Operation::RestrictResidual => Some(restriction::strip(dim, degree)),
        _ => (dim == 2).then(|| rows::strip(degree)),
    };
    let vectors: Vec<_> = vectors.iter().map(|vector| vector.cast()).collect();
    for color in 0..strip.map_or(1, |strip| strip.classes()) {
        let tiles = || Tile::of(degree, size_of::<T>()).blocks(grid, chunk);
        let blocks = strip.map_or_else(tiles, |strip| strip.blocks(grid, chunk, color));
        if !blocks.contains(&0) {
            let (matrices, cells) = (Some(matrices), grid.cells);
            let arguments = Arguments { matrices, vectors: &vectors, cells, color, chunk, ..Arguments::default() };
            // SAFETY: matrices of the space, vectors of it and of the next coarser one, all alive.
            unsafe { Kernel::new(module, module.kernel::<T>(operation)).unwrap().run(blocks, arguments) };
        }
    }
}

fn grid_of(space: &Space) -> Grid {
    space.continuous("emulation").unwrap().grid()
}

/// The matrices of a space as a kernel takes them.
fn matrices<T: Real>(space: &Space, operation: Operation) -> Vec<u8> {
    let space = space.continuous("emulation").unwrap();
    let (unit, factor) = (space.on_unit_cells().unwrap(), T::from_f64(space.operator_factor()));
    with_degree!(space.degree(), K => match operation {
        Operation::Smooth => {
            bytes_of(&Scaled { matrices: unit.smoother_matrices::<T, K, { 2 * K - 1 }>(), factor }).to_vec()
        }
        Operation::SmoothFirst => {
            const E: usize = interpolated_nodes(K);
            bytes_of(&unit.first_step_matrices::<T, K, { 2 * K - 1 }, E>()).to_vec()
        }
        Operation::RestrictResidual => {
            let matrices = unit.restriction_matrices::<T, { 2 * K + 1 }, { (K + 1).div_ceil(2) }>();
            bytes_of(&Scaled { matrices, factor }).to_vec()
        }
        Operation::ProlongateAdd => bytes_of(&unit.prolongation_matrices::<T, { K + 1 }>()).to_vec(),
        _ => {
            let matrices = unit.cell_matrices::<T, { K + 1 }, { (K + 1).div_ceil(2) }>();
            bytes_of(&Scaled { matrices, factor }).to_vec()
        }
    }, else unreachable!("degrees are 1 to 10"))
}

fn check_kernels<T: Real>(dim: usize, degree: usize, refine: usize) {
    let fine = Naive::new(dim, degree, refine);
    let coarse = Naive::new(dim, degree, refine - 1);
    let cells = fine.space.mesh().cells_per_direction();
    let counts = |of: &dyn Fn(usize) -> u32| [0, 1, 2].map(|d| if d < dim { of(d) } else { 1 });
    let b = Tensor::random(dim, fine.length(), 1);
    let x = Tensor::random(dim, fine.length(), 2);
    let (mut b_stored, mut x_stored) = (fine.stored::<T>(&b), fine.stored::<T>(&x));

    let operation = Operation::Smooth;
    let smoother_matrices = matrices::<T>(&fine.space, operation);
    let mut table = fine.space.continuous("emulation").unwrap().smoother_table::<T>().unwrap();
    for color in 0..1 << dim {
        let mut smoothed = x_stored.clone();
        let vectors = [table.as_mut_ptr(), b_stored.as_mut_ptr(), smoothed.as_mut_ptr()];
        let counts = counts(&|d| color_count(cells, bit(color, d)));
        run(&fine.space, operation, counts, &smoother_matrices, &vectors, color);
        fine.check(&format!("color {color}"), &smoothed, &fine.smooth(color, &b, &x));
    }

    let mut rows = fine.space.continuous("emulation").unwrap().point_rows::<T>();
    let colors = point::colors(dim, degree);
    // Of hundreds of colors some: vertices, and nodes inside of cells.
    for color in (0..colors).step_by(colors.div_ceil(9) as usize) {
        let mut relaxed = x_stored.clone();
        let vectors = [rows.as_mut_ptr(), b_stored.as_mut_ptr(), relaxed.as_mut_ptr()];
        let class = |d| point::Class::of(grid_of(&fine.space), color, d).count;
        let blocks = (0..dim as u32).map(class).product::<usize>().div_ceil(point::THREADS) as u32;
        run(&fine.space, Operation::PointGaussSeidel, [blocks, 1, 1], &[], &vectors, color);
        fine.check(&format!("point color {color}"), &relaxed, &fine.point(color as usize, &b, &x));
    }

    let operator_matrices = matrices::<T>(&fine.space, Operation::Apply);
    let restriction_matrices = matrices::<T>(&fine.space, Operation::RestrictResidual);
    let mut product = vec![T::ZERO; x_stored.len()];
    let mut residual = vec![T::ZERO; x_stored.len()];
    let mut restricted = vec![T::ZERO; coarse.space.storage()];
    let (b_pointer, x_pointer) = (b_stored.as_mut_ptr(), x_stored.as_mut_ptr());
    let vectors = [b_pointer, x_pointer, restricted.as_mut_ptr()];
    run_march(&fine.space, Operation::RestrictResidual, &restriction_matrices, &vectors, cells / 2);
    run_march(&fine.space, Operation::Apply, &operator_matrices, &[x_pointer, product.as_mut_ptr()], cells);
    let vectors = [b_pointer, x_pointer, residual.as_mut_ptr()];
    run_march(&fine.space, Operation::Residual, &operator_matrices, &vectors, cells / 2);
    fine.check("product", &product, &x.laplace(&fine.mass, &fine.stiffness));
    fine.check("residual", &residual, &fine.residual(&b, &x));
    let transposed = fine.prolongation.transpose();
    coarse.check("restriction", &restricted, &fine.residual(&b, &x).kronecker(&vec![&transposed; dim]));

    let operation = Operation::ProlongateAdd;
    let correction = Tensor::random(dim, coarse.length(), 3);
    let mut correction_stored = coarse.stored::<T>(&correction);
    let transfer = matrices::<T>(&fine.space, operation);
    let mut added_stored = x_stored.clone();
    let vectors = [correction_stored.as_mut_ptr(), added_stored.as_mut_ptr()];
    run(&fine.space, operation, counts(&|_| cells / 2), &transfer, &vectors, 0);
    let values = &x.values + correction.kronecker(&vec![&fine.prolongation; dim]).values;
    let added = Tensor { values, ..x.clone() };
    fine.check("prolongation", &added_stored, &added);

    if dim == 3 {
        return;
    }
    // The same in part, and the rest in a step of the smoother.
    let x_pointer = x_stored.as_mut_ptr();
    let vectors = [correction_stored.as_mut_ptr(), x_pointer];
    run(&fine.space, Operation::ProlongateEdges, [cells / 2, cells / 2 - 1, 1], &transfer, &vectors, 0);
    let (table, b_pointer) = (table.as_mut_ptr(), b_stored.as_mut_ptr());
    let vectors = [table, correction_stored.as_mut_ptr(), b_pointer, x_pointer];
    let first_step = matrices::<T>(&fine.space, Operation::SmoothFirst);
    run(&fine.space, Operation::SmoothFirst, counts(&|_| cells / 2), &first_step, &vectors, 0);
    for color in 1..1 << dim {
        let counts = counts(&|d| color_count(cells, bit(color, d)));
        run(&fine.space, Operation::Smooth, counts, &smoother_matrices, &[table, b_pointer, x_pointer], color);
    }
    let smoothed = (0..1 << dim).fold(added, |x, color| fine.smooth(color, &b, &x));
    fine.check("step after the prolongation", &x_stored, &smoothed);
}

/// The restriction with chunks of every length, which begin a patch early or at the boundary.
fn check_restriction<T: Real>(dim: usize, degree: usize, refine: usize) {
    let (fine, coarse) = (Naive::new(dim, degree, refine), Naive::new(dim, degree, refine - 1));
    let (b, x) = (Tensor::random(dim, fine.length(), 1), Tensor::random(dim, fine.length(), 2));
    let (mut b_stored, mut x_stored) = (fine.stored::<T>(&b), fine.stored::<T>(&x));
    let matrices = matrices::<T>(&fine.space, Operation::RestrictResidual);
    let transposed = fine.prolongation.transpose();
    let expected = fine.residual(&b, &x).kronecker(&vec![&transposed; dim]);
    let patches = fine.space.mesh().cells_per_direction() / 2;
    for chunk in [1, 2, 3, patches, patches + 1] {
        let mut restricted = vec![T::ZERO; coarse.space.storage()];
        let vectors = [b_stored.as_mut_ptr(), x_stored.as_mut_ptr(), restricted.as_mut_ptr()];
        run_march(&fine.space, Operation::RestrictResidual, &matrices, &vectors, chunk);
        coarse.check(&format!("restriction, degree {degree}, {chunk} of {patches} patches"), &restricted, &expected);
    }
}

#[test]
fn restriction_in_chunks_of_any_length() {
    for degree in DEGREES_2D {
        check_restriction::<f64>(2, degree, 2);
        check_restriction::<f32>(2, degree, 4);
    }
    for degree in DEGREES_3D {
        check_restriction::<f64>(3, degree, 2);
        check_restriction::<f32>(3, degree, if degree < 5 { 3 } else { 2 });
    }
    check_restriction::<f64>(3, 5, 3);
    check_restriction::<f64>(3, 2, 4);
}

/// The operator with chunks of every length, which begin a cell early or at the boundary.
fn check_operator<T: Real>(dim: usize, degree: usize, refine: usize) {
    let naive = Naive::new(dim, degree, refine);
    let (b, x) = (Tensor::random(dim, naive.length(), 1), Tensor::random(dim, naive.length(), 2));
    let (mut b_stored, mut x_stored) = (naive.stored::<T>(&b), naive.stored::<T>(&x));
    let matrices = matrices::<T>(&naive.space, Operation::Apply);
    let (product, residual) = (x.laplace(&naive.mass, &naive.stiffness), naive.residual(&b, &x));
    let cells = naive.space.mesh().cells_per_direction();
    for chunk in [1, 2, 3, cells, cells + 1] {
        let mut y = vec![T::ZERO; x_stored.len()];
        run_march(&naive.space, Operation::Apply, &matrices, &[x_stored.as_mut_ptr(), y.as_mut_ptr()], chunk);
        naive.check(&format!("product, {cells} cells, {chunk} of them at a time"), &y, &product);
        let vectors = [b_stored.as_mut_ptr(), x_stored.as_mut_ptr(), y.as_mut_ptr()];
        run_march(&naive.space, Operation::Residual, &matrices, &vectors, chunk);
        naive.check(&format!("residual, {cells} cells, {chunk} of them at a time"), &y, &residual);
    }
}

#[test]
fn operator_in_chunks_of_any_length() {
    for degree in DEGREES_2D {
        check_operator::<f64>(2, degree, 1);
        check_operator::<f32>(2, degree, 4);
    }
    check_operator::<f64>(2, 10, 5);
    for degree in DEGREES_3D {
        check_operator::<f64>(3, degree, 1);
        check_operator::<f32>(3, degree, 2);
    }
    for degree in [2, 3] {
        check_operator::<f64>(3, degree, 3);
        check_operator::<f32>(3, degree, 3);
    }
}

macro_rules! check_kernels {
    ($($name:ident = $dim:literal $refine:literal: $($degree:literal)+;)+) => {$(
        #[test]
        fn $name() {
            for degree in [$($degree),+] {
                check_kernels::<f32>($dim, degree, $refine);
                check_kernels::<f64>($dim, degree, $refine);
            }
        }
    )+};
}
check_kernels! {
    low_degrees_in_2d = 2 3: 1 2 3 4;
    middle_degrees_in_2d = 2 3: 5 6 7;
    high_degrees_in_2d = 2 3: 8 9 10;
    low_degrees_in_3d = 3 2: 1 2 3;
    several_blocks_a_row_in_3d = 3 4: 3;
    middle_degrees_in_3d = 3 2: 4 5;
    degree_6_in_3d = 3 2: 6;
    degree_7_in_3d = 3 2: 7;
    degree_8_in_3d = 3 2: 8;
}
