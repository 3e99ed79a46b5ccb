//! The device kernels, run on the host (`patchmg_emulation`), against naive twins: dense 1D matrices on the whole
//! mesh, Kronecker products written as loops, patches solved in an eigenbasis that knows nothing of parity.

use bytemuck::bytes_of;
use nalgebra::{DMatrix, DVector};
use patchmg::fe::{assemble, generalized_eigenpairs};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg::system::poisson::forms::ContinuousForms;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, Module, Operation};
use patchmg_device::march::Strip;
use patchmg_device::matrices::{self, Scaled};
use patchmg_device::operator::rows;
use patchmg_device::operator::tile::Tile;
use patchmg_device::patch::{Grid, bit, color_count, color_origin};
use patchmg_device::point;
use patchmg_device::scalar::Real;
use patchmg_device::smoother::interpolated_nodes;
use patchmg_device::transfer::restriction;
use patchmg_device::with_degree;
use patchmg_emulation::{Arguments, Kernel};

/// All interior nodes of a level, lexicographic, in 2 or 3 directions.
#[derive(Clone)]
struct Tensor {
    dim: usize,
    /// In 2D the third is 1.
    lengths: [usize; 3],
    values: DVector<f64>,
}

impl Tensor {
    fn random(dim: usize, lengths: [usize; 3], seed: u64) -> Self {
        let mut state = seed;
        let values = DVector::from_fn(lengths.iter().product(), |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        });
        Self { dim, lengths, values }
    }

    /// The matrix times one mode.
    fn times(&self, mode: usize, matrix: &DMatrix<f64>) -> Self {
        let mut lengths = self.lengths;
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
        Self { dim: self.dim, lengths, values }
    }

    /// One matrix a direction, `x` first.
    fn kronecker<'a>(&self, matrices: impl IntoIterator<Item = &'a DMatrix<f64>>) -> Self {
        let contract = |result: Self, (mode, matrix): (usize, &DMatrix<f64>)| result.times(mode, matrix);
        matrices.into_iter().enumerate().fold(self.clone(), contract)
    }

    /// `sum_d (.. ⊗ stiffness in direction d ⊗ ..) x`, mass in the others.
    fn laplace(&self, mass: &[DMatrix<f64>], stiffness: &[DMatrix<f64>]) -> Self {
        let mut sum = DVector::zeros(self.values.len());
        for direction in 0..self.dim {
            let matrices = (0..self.dim).map(|d| if d == direction { &stiffness[d] } else { &mass[d] });
            sum += self.kronecker(matrices).values;
        }
        Self { values: sum, ..self.clone() }
    }

    fn index(&self, node: [usize; 3]) -> usize {
        node[0] + self.lengths[0] * (node[1] + self.lengths[1] * node[2])
    }
}

/// `of(d)` in each direction that there is, 1 in others.
fn each<T: From<u8>>(dim: usize, of: impl Fn(usize) -> T) -> [T; 3] {
    [0, 1, 2].map(|d| if d < dim { of(d) } else { 1.into() })
}

/// Where the unknowns of a level lie. That of a coarse level may have a cell in a direction, which no space has.
struct Layout {
    dim: usize,
    grid: Grid,
}

impl Layout {
    /// Interior nodes in each direction.
    fn lengths(&self) -> [usize; 3] {
        each(self.dim, |d| self.grid.nodes(d) - 1)
    }

    fn offsets(&self) -> impl Iterator<Item = usize> {
        let (dim, grid) = (self.dim, self.grid);
        self::grid(self.lengths()).map(move |[x, y, z]| match dim {
            2 => grid.offset_2d(x + 1, y + 1),
            _ => grid.offset_3d(x + 1, y + 1, z + 1),
        })
    }

    fn storage(&self) -> usize {
        self.grid.storage(self.dim)
    }

    fn random(&self, seed: u64) -> Tensor {
        Tensor::random(self.dim, self.lengths(), seed)
    }

    fn stored<T: Real>(&self, tensor: &Tensor) -> Vec<T> {
        assert_eq!(tensor.lengths, self.lengths());
        let mut stored = vec![T::ZERO; self.storage()];
        for (offset, &value) in self.offsets().zip(tensor.values.iter()) {
            stored[offset] = T::from_f64(value);
        }
        stored
    }

    /// Compares a stored vector; entries that are no unknowns must still be zero.
    fn check<T: Real>(&self, what: &str, stored: &[T], expected: &Tensor) {
        assert_eq!((stored.len(), expected.lengths), (self.storage(), self.lengths()));
        let what = format!("{what} {}, {}D Q{}, {:?} cells", T::NAME, self.dim, self.grid.degree, self.grid.cells);
        let mut others = stored.to_vec();
        self.offsets().for_each(|offset| others[offset] = T::ZERO);
        assert!(others.iter().all(|&value| value == T::ZERO), "{what} wrote where no unknown is");
        let scale = expected.values.amax();
        let tolerance = if T::NAME == "f64" { 1e-12 } else { 1e-5 };
        for (index, (offset, &expected)) in self.offsets().zip(expected.values.iter()).enumerate() {
            let found = stored[offset];
            let error = (found.to_f64() - expected).abs() / scale;
            assert!(error < tolerance, "{what}: dof {index} is {found:?}, not {expected} ({error:e})");
        }
    }
}

/// A level with its dense 1D matrices on the whole mesh, one a direction.
struct Naive {
    forms: ContinuousForms,
    layout: Layout,
    /// Of half as many cells in every direction.
    coarse: Layout,
    mass: Vec<DMatrix<f64>>,
    stiffness: Vec<DMatrix<f64>>,
    /// From the coarse level's interior nodes to this one's.
    prolongation: Vec<DMatrix<f64>>,
}

impl Naive {
    fn new(mesh: Mesh, degree: usize) -> Self {
        let space = Space::new(mesh, degree).unwrap();
        let inner = |full: DMatrix<f64>| full.view((1, 1), (full.nrows() - 2, full.ncols() - 2)).into_owned();
        let in_each = |of: &dyn Fn(usize, f64) -> DMatrix<f64>| -> Vec<_> {
            (0..mesh.dim()).map(|d| inner(of(mesh.cells_along()[d], mesh.cell_sizes()[d]))).collect()
        };
        let element = space.axes()[0].element();
        let cell = element.prolongation();
        let prolongation = |cells: usize, _| {
            let mut prolongation = DMatrix::zeros(cells * degree + 1, cells / 2 * degree + 1);
            for coarse in 0..cells / 2 {
                prolongation.view_mut((2 * coarse * degree, coarse * degree), cell.shape()).copy_from(&cell);
            }
            prolongation
        };
        let grid = Grid { cells: mesh.cells_along().map(|cells| cells as u32), degree: degree as u32 };
        let (layout, coarse) = (Layout { dim: mesh.dim(), grid }, Layout { dim: mesh.dim(), grid: grid.coarser() });
        // The host stores vectors where kernels look for them.
        assert!(layout.offsets().eq(space.unknowns().map(|node| space.offset(node))));
        assert_eq!(layout.storage(), space.storage());
        Self {
            mass: in_each(&|cells, h| assemble(&element.mass(), cells) * h),
            stiffness: in_each(&|cells, h| assemble(&element.stiffness(), cells) / h),
            prolongation: in_each(&prolongation),
            forms: ContinuousForms::new(&space).unwrap(),
            layout,
            coarse,
        }
    }

    fn dim(&self) -> usize {
        self.layout.dim
    }

    fn degree(&self) -> usize {
        self.layout.grid.degree as usize
    }

    fn cells(&self, direction: usize) -> u32 {
        self.layout.grid.cells[direction]
    }

    fn product(&self, x: &Tensor) -> Tensor {
        x.laplace(&self.mass, &self.stiffness)
    }

    fn residual(&self, b: &Tensor, x: &Tensor) -> Tensor {
        Tensor { values: &b.values - self.product(x).values, ..b.clone() }
    }

    fn restricted(&self, b: &Tensor, x: &Tensor) -> Tensor {
        let transposed: Vec<_> = self.prolongation.iter().map(DMatrix::transpose).collect();
        self.residual(b, x).kronecker(&transposed)
    }

    /// Patches of a color in each direction.
    fn counts(&self, color: u32) -> [u32; 3] {
        each(self.dim(), |d| color_count(self.cells(d), bit(color, d)))
    }

    /// `x += sum_j R_jᵀ A_j⁻¹ R_j (b - A x)` over the patches of a color.
    fn smooth(&self, color: u32, b: &Tensor, x: &Tensor) -> Tensor {
        let (dim, degree) = (self.dim(), self.degree());
        let m = 2 * degree - 1;
        let patch = |matrix: &DMatrix<f64>| matrix.view((0, 0), (m, m)).into_owned();
        let pairs = |(stiffness, mass)| generalized_eigenpairs(&patch(stiffness), &patch(mass)).unwrap();
        let pairs: Vec<_> = self.stiffness.iter().zip(&self.mass).map(pairs).collect();
        let transposed: Vec<_> = pairs.iter().map(|pairs| pairs.vectors.transpose()).collect();
        let residual = self.residual(b, x);
        let mut result = x.clone();
        let locals = each(dim, |_| m);
        for patch in grid(self.counts(color).map(|count| count as usize)) {
            // Interior nodes are numbered from node 1 on, and a patch's from its origin's successor on.
            let start = [0, 1, 2].map(|d| if d < dim { color_origin(degree, bit(color, d), patch[d]) } else { 0 });
            let nodes: Vec<_> = grid(locals).map(|n| x.index([0, 1, 2].map(|d| start[d] + n[d]))).collect();
            let local = Tensor {
                dim,
                lengths: locals,
                values: DVector::from_iterator(nodes.len(), nodes.iter().map(|&n| residual.values[n])),
            };
            let mut modes = local.kronecker(&transposed);
            for (index, n) in grid(locals).enumerate() {
                modes.values[index] /= pairs.iter().zip(n).map(|(pairs, n)| pairs.values[n]).sum::<f64>();
            }
            let correction = modes.kronecker(pairs.iter().map(|pairs| &pairs.vectors));
            for (index, &n) in nodes.iter().enumerate() {
                result.values[n] += correction.values[index];
            }
        }
        result
    }

    /// `x_i += (b_i - (A x)_i) / A_ii` for the nodes whose classes, by direction, are the digits of the color.
    fn point(&self, color: usize, b: &Tensor, x: &Tensor) -> Tensor {
        let (dim, degree) = (self.dim(), self.degree());
        let class = |node: usize| if node.is_multiple_of(degree) { (node / degree + 1) % 2 } else { node % degree + 1 };
        let residual = self.residual(b, x);
        let mut result = x.clone();
        for at in grid(x.lengths) {
            let classes = (0..dim).rev().fold(0, |color, d| color * (degree + 1) + class(at[d] + 1));
            if classes == color {
                let factor = |d: usize, stiff: usize| if d == stiff { &self.stiffness[d] } else { &self.mass[d] };
                let term = |stiff: usize| (0..dim).map(|d| factor(d, stiff)[(at[d], at[d])]).product::<f64>();
                let index = x.index(at);
                result.values[index] += residual.values[index] / (0..dim).map(term).sum::<f64>();
            }
        }
        result
    }

    /// Runs a kernel for `counts` patches in each direction.
    fn run<T: Real>(&self, operation: Operation, counts: [u32; 3], matrices: &[u8], vectors: &[*mut T], color: u32) {
        let module = Module::PoissonCg { dim: self.dim(), degree: self.degree() };
        let spec = module.kernel::<T>(operation);
        let blocks = [counts[0].div_ceil(spec.patches), counts[1], counts[2]];
        if blocks.contains(&0) {
            return;
        }
        let vectors: Vec<_> = vectors.iter().map(|vector| vector.cast()).collect();
        let (matrices, cells) = (Some(matrices), self.layout.grid.cells);
        let arguments = Arguments { matrices, vectors: &vectors, cells, color, ..Arguments::default() };
        // SAFETY: matrices of the space, vectors of it and of the next coarser one, all alive.
        unsafe { Kernel::new(module, spec).unwrap().run(blocks, arguments) };
    }

    /// How the operator in 2D or the restriction marches.
    fn strip(&self, operation: Operation) -> Option<Strip> {
        match operation {
            Operation::RestrictResidual => Some(restriction::strip(self.dim(), self.degree())),
            _ => (self.dim() == 2).then(|| rows::strip(self.degree())),
        }
    }

    /// Cells or patches in the direction in which the operator or the restriction marches.
    fn marched(&self, operation: Operation) -> u32 {
        let along = |strip: Strip| strip.along(self.layout.grid, strip.direction());
        self.strip(operation).map_or(self.cells(self.dim() - 1), along)
    }

    /// Runs the operator or the restriction on all of a level, `chunk` cells or patches at a time.
    fn run_march<T: Real>(&self, operation: Operation, matrices: &[u8], vectors: &[*mut T], chunk: u32) {
        let (dim, degree, grid) = (self.dim(), self.degree(), self.layout.grid);
        let (module, strip) = (Module::PoissonCg { dim, degree }, self.strip(operation));
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

    /// The 1D matrices as a kernel takes them.
    fn matrices<T: Real>(&self, operation: Operation) -> Vec<u8> {
        let unit = self.forms.unit();
        let factors = matrices::factors(self.forms.dim(), self.forms.factors()).map(T::from_f64);
        with_degree!(self.degree(), K => match operation {
            Operation::Smooth => {
                bytes_of(&unit.smoother_matrices::<T, K, { 2 * K - 1 }>().scaled(self.forms.dim(), factors)).to_vec()
            }
            Operation::SmoothFirst => {
                const E: usize = interpolated_nodes(K);
                bytes_of(&unit.first_step_matrices::<T, K, { 2 * K - 1 }, E>().scaled(factors)).to_vec()
            }
            Operation::RestrictResidual => {
                let matrices = unit.restriction_matrices::<T, { 2 * K + 1 }, { (K + 1).div_ceil(2) }>();
                bytes_of(&Scaled { matrices, factors }).to_vec()
            }
            Operation::ProlongateAdd => bytes_of(&unit.prolongation_matrices::<T, { K + 1 }>()).to_vec(),
            _ => {
                let matrices = unit.cell_matrices::<T, { K + 1 }, { (K + 1).div_ceil(2) }>();
                bytes_of(&Scaled { matrices, factors }).to_vec()
            }
        }, else unreachable!("degrees are 1 to 10"))
    }
}

/// Indices of a box, the first fastest.
fn grid(lengths: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..lengths.iter().product())
        .map(move |index| [index % lengths[0], index / lengths[0] % lengths[1], index / lengths[0] / lengths[1]])
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

fn check_kernels<T: Real>(mesh: Mesh, degree: usize) {
    let naive = Naive::new(mesh, degree);
    let (dim, fine, coarse) = (naive.dim(), &naive.layout, &naive.coarse);
    let (b, x) = (fine.random(1), fine.random(2));
    let (mut b_stored, mut x_stored) = (fine.stored::<T>(&b), fine.stored::<T>(&x));

    let operation = Operation::Smooth;
    let smoother_matrices = naive.matrices::<T>(operation);
    let mut table = naive.forms.smoother_table::<T>();
    for color in 0..1 << dim {
        let mut smoothed = x_stored.clone();
        let vectors = [table.as_mut_ptr(), b_stored.as_mut_ptr(), smoothed.as_mut_ptr()];
        naive.run(operation, naive.counts(color), &smoother_matrices, &vectors, color);
        fine.check(&format!("color {color}"), &smoothed, &naive.smooth(color, &b, &x));
    }

    let mut rows: Vec<T> = (0..dim).flat_map(|direction| naive.forms.along(direction).point_rows()).collect();
    let colors = point::colors(dim, degree);
    // Of hundreds of colors some: vertices, and nodes inside of cells.
    for color in (0..colors).step_by(colors.div_ceil(9) as usize) {
        let mut relaxed = x_stored.clone();
        let vectors = [rows.as_mut_ptr(), b_stored.as_mut_ptr(), relaxed.as_mut_ptr()];
        let class = |d| point::Class::of(fine.grid, color, d).count;
        let blocks = (0..dim as u32).map(class).product::<usize>().div_ceil(point::THREADS) as u32;
        naive.run(Operation::PointGaussSeidel, [blocks, 1, 1], &[], &vectors, color);
        fine.check(&format!("point color {color}"), &relaxed, &naive.point(color as usize, &b, &x));
    }

    let operator_matrices = naive.matrices::<T>(Operation::Apply);
    let restriction_matrices = naive.matrices::<T>(Operation::RestrictResidual);
    let mut product = vec![T::ZERO; x_stored.len()];
    let mut residual = vec![T::ZERO; x_stored.len()];
    let mut restricted = vec![T::ZERO; coarse.storage()];
    let (b_pointer, x_pointer) = (b_stored.as_mut_ptr(), x_stored.as_mut_ptr());
    let (cells, patches) = (naive.marched(Operation::Apply), naive.marched(Operation::RestrictResidual));
    let vectors = [b_pointer, x_pointer, restricted.as_mut_ptr()];
    naive.run_march(Operation::RestrictResidual, &restriction_matrices, &vectors, patches);
    naive.run_march(Operation::Apply, &operator_matrices, &[x_pointer, product.as_mut_ptr()], cells);
    let vectors = [b_pointer, x_pointer, residual.as_mut_ptr()];
    naive.run_march(Operation::Residual, &operator_matrices, &vectors, cells / 2);
    fine.check("product", &product, &naive.product(&x));
    fine.check("residual", &residual, &naive.residual(&b, &x));
    coarse.check("restriction", &restricted, &naive.restricted(&b, &x));

    let operation = Operation::ProlongateAdd;
    let correction = coarse.random(3);
    let mut correction_stored = coarse.stored::<T>(&correction);
    let transfer = naive.matrices::<T>(operation);
    let mut added_stored = x_stored.clone();
    let vectors = [correction_stored.as_mut_ptr(), added_stored.as_mut_ptr()];
    naive.run(operation, naive.counts(0), &transfer, &vectors, 0);
    let values = &x.values + correction.kronecker(&naive.prolongation).values;
    let added = Tensor { values, ..x.clone() };
    fine.check("prolongation", &added_stored, &added);

    if dim == 3 {
        return;
    }
    // The same in part, and the rest in a step of the smoother.
    let x_pointer = x_stored.as_mut_ptr();
    let vectors = [correction_stored.as_mut_ptr(), x_pointer];
    let [patches, rows, _] = naive.counts(0);
    naive.run(Operation::ProlongateEdges, [patches, rows - 1, 1], &transfer, &vectors, 0);
    let (table, b_pointer) = (table.as_mut_ptr(), b_stored.as_mut_ptr());
    let vectors = [table, correction_stored.as_mut_ptr(), b_pointer, x_pointer];
    let first_step = naive.matrices::<T>(Operation::SmoothFirst);
    naive.run(Operation::SmoothFirst, naive.counts(0), &first_step, &vectors, 0);
    for color in 1..1 << dim {
        naive.run(Operation::Smooth, naive.counts(color), &smoother_matrices, &[table, b_pointer, x_pointer], color);
    }
    let smoothed = (0..1 << dim).fold(added, |x, color| naive.smooth(color, &b, &x));
    fine.check("step after the prolongation", &x_stored, &smoothed);
}

/// The restriction with chunks of every length, which begin a patch early or at the boundary.
fn check_restriction<T: Real>(mesh: Mesh, degree: usize) {
    let naive = Naive::new(mesh, degree);
    let (b, x) = (naive.layout.random(1), naive.layout.random(2));
    let (mut b_stored, mut x_stored) = (naive.layout.stored::<T>(&b), naive.layout.stored::<T>(&x));
    let matrices = naive.matrices::<T>(Operation::RestrictResidual);
    let expected = naive.restricted(&b, &x);
    let patches = naive.marched(Operation::RestrictResidual);
    for chunk in [1, 2, 3, patches, patches + 1] {
        let mut restricted = vec![T::ZERO; naive.coarse.storage()];
        let vectors = [b_stored.as_mut_ptr(), x_stored.as_mut_ptr(), restricted.as_mut_ptr()];
        naive.run_march(Operation::RestrictResidual, &matrices, &vectors, chunk);
        naive.coarse.check(&format!("restriction, {chunk} of {patches} patches,"), &restricted, &expected);
    }
}

#[test]
fn restriction_in_chunks_of_any_length() {
    for degree in DEGREES_2D {
        check_restriction::<f64>(cube(2, 2), degree);
        check_restriction::<f32>(cube(2, 4), degree);
    }
    for degree in DEGREES_3D {
        check_restriction::<f64>(cube(3, 2), degree);
        check_restriction::<f32>(cube(3, if degree < 5 { 3 } else { 2 }), degree);
    }
    check_restriction::<f64>(cube(3, 3), 5);
    check_restriction::<f64>(cube(3, 4), 2);
}

#[test]
fn restriction_in_chunks_on_boxes() {
    for degree in [1, 2, 5, 10] {
        check_restriction::<f64>(cells_of([6, 14], [0.3, 0.1]), degree);
        check_restriction::<f32>(cells_of([10, 4], [0.2, 0.35]), degree);
    }
    // Blocks march along z up to degree 3, then along x.
    for degree in [1, 3, 4, 6] {
        check_restriction::<f64>(cells_of([4, 2, 10], [0.3, 0.7, 0.45]), degree);
        check_restriction::<f32>(cells_of([10, 4, 2], [0.21, 0.3, 0.13]), degree);
    }
    check_restriction::<f64>(cells_of([6, 4, 2], [0.3, 0.2, 0.5]), 8);
    check_restriction::<f32>(cells_of([2, 6, 4], [0.3, 0.2, 0.5]), 8);
}

/// The operator with chunks of every length, which begin a cell early or at the boundary.
fn check_operator<T: Real>(mesh: Mesh, degree: usize) {
    let naive = Naive::new(mesh, degree);
    let (b, x) = (naive.layout.random(1), naive.layout.random(2));
    let (mut b_stored, mut x_stored) = (naive.layout.stored::<T>(&b), naive.layout.stored::<T>(&x));
    let matrices = naive.matrices::<T>(Operation::Apply);
    let (product, residual) = (naive.product(&x), naive.residual(&b, &x));
    let cells = naive.marched(Operation::Apply);
    // Of a vector in `f32`, in 3D and `f64`.
    let mut rounded = naive.layout.stored::<f32>(&x);
    let values = x.values.map(|value| f64::from(value as f32));
    let product_of_rounded = naive.product(&Tensor { values, ..x.clone() });
    for chunk in [1, 2, 3, cells, cells + 1] {
        let mut y = vec![T::ZERO; x_stored.len()];
        if naive.dim() == 3 && T::NAME == f64::NAME {
            let vectors = [rounded.as_mut_ptr().cast(), y.as_mut_ptr()];
            naive.run_march(Operation::ApplyRounded, &matrices, &vectors, chunk);
            naive.layout.check(&format!("product of rounded, {chunk} cells at a time,"), &y, &product_of_rounded);
        }
        naive.run_march(Operation::Apply, &matrices, &[x_stored.as_mut_ptr(), y.as_mut_ptr()], chunk);
        naive.layout.check(&format!("product, {chunk} cells at a time,"), &y, &product);
        let vectors = [b_stored.as_mut_ptr(), x_stored.as_mut_ptr(), y.as_mut_ptr()];
        naive.run_march(Operation::Residual, &matrices, &vectors, chunk);
        naive.layout.check(&format!("residual, {chunk} cells at a time,"), &y, &residual);
        if naive.dim() == 3 && T::NAME == f64::NAME {
            let blocks: u32 = Tile::of(degree, size_of::<T>()).blocks(naive.layout.grid, chunk).iter().product();
            let mut norms = vec![T::from_f64(f64::NAN); blocks as usize];
            let vectors = [b_stored.as_mut_ptr(), x_stored.as_mut_ptr(), norms.as_mut_ptr()];
            naive.run_march(Operation::ResidualNorms, &matrices, &vectors, chunk);
            let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
            let found = norm(&mut norms.iter().map(|norm| norm.to_f64()));
            let expected = norm(&mut y.iter().map(|value| value.to_f64()));
            assert!((found / expected - 1.0).abs() < 1e-14, "{chunk} cells at a time: {found}, expected {expected}");
        }
    }
}

#[test]
fn operator_in_chunks_of_any_length() {
    for degree in DEGREES_2D {
        check_operator::<f64>(cube(2, 1), degree);
        check_operator::<f32>(cube(2, 4), degree);
    }
    check_operator::<f64>(cube(2, 5), 10);
    for degree in DEGREES_3D {
        check_operator::<f64>(cube(3, 1), degree);
        check_operator::<f32>(cube(3, 2), degree);
    }
    for degree in [2, 3] {
        check_operator::<f64>(cube(3, 3), degree);
        check_operator::<f32>(cube(3, 3), degree);
    }
}

#[test]
fn operator_in_chunks_on_boxes() {
    for degree in [1, 2, 5, 10] {
        check_operator::<f64>(cells_of([4, 10], [0.3, 0.1]), degree);
        check_operator::<f32>(cells_of([10, 2], [0.2, 0.35]), degree);
    }
    // Rows of an odd number of patches: in odd degrees no whole chunks of `f32`.
    for degree in [1, 2, 3, 5] {
        check_operator::<f64>(cells_of([4, 2, 6], [0.3, 0.7, 0.45]), degree);
        check_operator::<f32>(cells_of([2, 4, 6], [0.21, 0.3, 0.13]), degree);
    }
    check_operator::<f64>(cells_of([4, 2, 2], [0.3, 0.7, 0.45]), 8);
    check_operator::<f32>(cells_of([2, 2, 4], [0.3, 0.7, 0.45]), 7);
    // Several tiles, the last ones in part.
    let edges = [0.3, 0.2, 0.5];
    check_operator::<f64>(cells_of([34, 6, 2], edges), 1);
    check_operator::<f32>(cells_of([10, 2, 4], edges), 3);
    check_operator::<f64>(cells_of([2, 10, 4], edges), 3);
    check_operator::<f64>(cells_of([6, 2, 4], edges), 4);
}

macro_rules! check_kernels {
    ($($name:ident = [$($mesh:expr),+]: $($degree:literal)+;)+) => {$(
        #[test]
        fn $name() {
            for degree in [$($degree),+] {
                for mesh in [$($mesh),+] {
                    check_kernels::<f32>(mesh, degree);
                    check_kernels::<f64>(mesh, degree);
                }
            }
        }
    )+};
}
check_kernels! {
    low_degrees_in_2d = [cube(2, 3)]: 1 2 3 4;
    middle_degrees_in_2d = [cube(2, 3)]: 5 6 7;
    high_degrees_in_2d = [cube(2, 3)]: 8 9 10;
    low_degrees_in_3d = [cube(3, 2)]: 1 2 3;
    several_blocks_a_row_in_3d = [cube(3, 4)]: 3;
    middle_degrees_in_3d = [cube(3, 2)]: 4 5;
    degree_6_in_3d = [cube(3, 2)]: 6;
    degree_7_in_3d = [cube(3, 2)]: 7;
    degree_8_in_3d = [cube(3, 2)]: 8;
    boxes_in_2d =
        [cells_of([6, 4], [0.1, 0.3]), cells_of([2, 8], [0.7, 0.3]), cells_of([4, 2], [0.3, 0.25])]: 1 2 5 8 10;
    boxes_in_3d = [
        cells_of([4, 2, 6], [0.3, 0.7, 0.45]),
        cells_of([2, 4, 2], [0.21, 0.3, 0.13]),
        cells_of([2, 2, 4], [0.3, 0.1, 0.2])
    ]: 1 2 3 5;
    boxes_of_degree_8_in_3d = [cells_of([2, 4, 2], [0.21, 0.3, 0.13]), cells_of([4, 2, 2], [0.1, 0.3, 0.2])]: 8;
    // More patches in a row than a block has, the last block with a part of its own.
    several_blocks_a_row_on_boxes_in_2d = [cells_of([130, 4], [0.1, 0.3])]: 1 2 3;
    several_blocks_a_row_on_boxes_in_3d = [cells_of([34, 4, 2], [0.1, 0.3, 0.2])]: 2 3;
}
