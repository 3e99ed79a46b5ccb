//! The device kernels, run on host threads (`cuda_std::emulate`), against naive twins: dense 1D matrices on the whole
//! mesh, Kronecker products written as loops, patches solved in an eigenbasis that knows nothing of parity.

use cuda_std::emulate::Launch;
use nalgebra::{DMatrix, DVector};
use patchmg::fe::{assemble, generalized_eigenpairs};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg_device::kernels::{KernelSpec, Module, Operation};
use patchmg_device::patch::{bit, class_count, color_count, color_origin};
use patchmg_device::scalar::Real;
use patchmg_device::{operator, smoother, transfer};

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
        let counts = [0, 1, 2].map(|d| if d < x.dim { color_count(self.space.grid().cells, bit(color, d)) } else { 1 });
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

fn launch(spec: &KernelSpec, counts: [u32; 3], kernel: impl Fn() + Sync) {
    if counts.contains(&0) {
        return;
    }
    let blocks = [counts[0].div_ceil(spec.patches), counts[1], counts[2]];
    Launch { grid: blocks, threads: spec.threads, shared_bytes: spec.shared_bytes }.run(kernel);
}

/// A raw pointer that the emulation's threads may share: kernels write disjoint entries between barriers.
#[derive(Clone, Copy)]
struct Pointer<T>(*mut T);
// SAFETY: see above; the vectors outlive the launch.
unsafe impl<T> Sync for Pointer<T> {}
impl<T> Pointer<T> {
    fn of(vector: &mut [T]) -> Self {
        Self(vector.as_mut_ptr())
    }
    fn get(&self) -> *mut T {
        self.0
    }
}

macro_rules! check_kernels {
    ($name:ident, $dim:literal, $k:literal, $refine:literal, $t:ident, $smooth:ident, $apply:ident, $restrict:ident, $prolongate:ident) => {
        #[test]
        fn $name() {
            const K: usize = $k;
            const M: usize = 2 * K - 1;
            const N: usize = 2 * K + 1;
            const C: usize = K + 1;
            const H: usize = C.div_ceil(2);
            let fine = Naive::new($dim, K, $refine);
            let coarse = Naive::new($dim, K, $refine - 1);
            let cells = fine.space.grid().cells;
            let module = Module::PoissonCg { dim: $dim, degree: K };
            let counts = |of: &dyn Fn(usize) -> u32| [0, 1, 2].map(|d| if d < $dim { of(d) } else { 1 });
            let b = Tensor::random($dim, fine.length(), 1);
            let x = Tensor::random($dim, fine.length(), 2);
            let (mut b_stored, mut x_stored) = (fine.stored::<$t>(&b), fine.stored::<$t>(&x));
            let (b_pointer, x_pointer) = (Pointer::of(&mut b_stored), Pointer::of(&mut x_stored));

            let spec = module.kernel::<$t>(Operation::Smooth);
            let matrices = fine.space.smoother_matrices::<$t, K, M>();
            let table = fine.space.smoother_table::<$t>();
            for color in 0..1 << $dim {
                let mut smoothed = x_stored.clone();
                let target = Pointer::of(&mut smoothed);
                launch(&spec, counts(&|d| color_count(cells, bit(color, d))), || unsafe {
                    let table = smoother::Table::new(table.as_ptr());
                    smoother::$smooth::<$t, K, M, N>(&matrices, table, b_pointer.get(), target.get(), cells, color);
                });
                fine.check(&format!("color {color}"), &smoothed, &fine.smooth(color, &b, &x));
            }

            let matrices = fine.space.operator_matrices::<$t, N, C>();
            let spec = module.kernel::<$t>(Operation::Apply);
            let mut product = vec![0.0; x_stored.len()];
            let mut residual = vec![0.0; x_stored.len()];
            let (y, r) = (Pointer::of(&mut product), Pointer::of(&mut residual));
            for class in 0..1 << $dim {
                launch(&spec, counts(&|d| class_count(cells, bit(class, d))), || unsafe {
                    let output = operator::Output { b: std::ptr::null(), y: y.get() };
                    operator::$apply::<$t, false, K, N, C>(&matrices, x_pointer.get(), output, cells, class);
                });
                launch(&spec, counts(&|d| class_count(cells, bit(class, d))), || unsafe {
                    let output = operator::Output { b: b_pointer.get(), y: r.get() };
                    operator::$apply::<$t, true, K, N, C>(&matrices, x_pointer.get(), output, cells, class);
                });
            }
            fine.check("product", &product, &x.laplace(&fine.mass, &fine.stiffness));
            fine.check("residual", &residual, &fine.residual(&b, &x));

            let matrices = fine.space.restriction_matrices::<$t, N, H>();
            let spec = module.kernel::<$t>(Operation::RestrictResidual);
            let mut restricted = vec![0.0; coarse.space.storage()];
            let target = Pointer::of(&mut restricted);
            for class in 0..1 << $dim {
                launch(&spec, counts(&|d| class_count(cells, bit(class, d))), || unsafe {
                    let (b, x) = (b_pointer.get(), x_pointer.get());
                    transfer::$restrict::<$t, K, N, C, H>(&matrices, b, x, target.get(), cells, class);
                });
            }
            let transposed = fine.prolongation.transpose();
            coarse.check("restriction", &restricted, &fine.residual(&b, &x).kronecker(&vec![&transposed; $dim]));

            let matrices = fine.space.prolongation_matrices::<$t, C>();
            let spec = module.kernel::<$t>(Operation::ProlongateAdd);
            let correction = Tensor::random($dim, coarse.length(), 3);
            let mut correction_stored = coarse.stored::<$t>(&correction);
            let source = Pointer::of(&mut correction_stored);
            launch(&spec, counts(&|_| cells / 2), || unsafe {
                transfer::$prolongate::<$t, K, N, C>(&matrices, source.get(), x_pointer.get(), cells);
            });
            let added = &x.values + correction.kronecker(&vec![&fine.prolongation; $dim]).values;
            fine.check("prolongation", &x_stored, &Tensor { values: added, ..x.clone() });
        }
    };
}

macro_rules! check_2d {
    ($($k:literal $f64:ident $f32:ident),+) => {$(
        check_kernels!($f64, 2, $k, 3, f64, smooth_2d, apply_2d, restrict_residual_2d, prolongate_add_2d);
        check_kernels!($f32, 2, $k, 3, f32, smooth_2d, apply_2d, restrict_residual_2d, prolongate_add_2d);
    )+};
}
macro_rules! check_3d {
    ($($k:literal $f64:ident $f32:ident),+) => {$(
        check_kernels!($f64, 3, $k, 2, f64, smooth_3d, apply_3d, restrict_residual_3d, prolongate_add_3d);
        check_kernels!($f32, 3, $k, 2, f32, smooth_3d, apply_3d, restrict_residual_3d, prolongate_add_3d);
    )+};
}
check_2d!(1 q1_2d_f64 q1_2d_f32, 2 q2_2d_f64 q2_2d_f32, 3 q3_2d_f64 q3_2d_f32, 4 q4_2d_f64 q4_2d_f32, 5 q5_2d_f64 q5_2d_f32);
check_2d!(6 q6_2d_f64 q6_2d_f32, 7 q7_2d_f64 q7_2d_f32, 8 q8_2d_f64 q8_2d_f32, 9 q9_2d_f64 q9_2d_f32, 10 q10_2d_f64 q10_2d_f32);
check_3d!(1 q1_3d_f64 q1_3d_f32, 2 q2_3d_f64 q2_3d_f32, 3 q3_3d_f64 q3_3d_f32, 4 q4_3d_f64 q4_3d_f32);
check_3d!(5 q5_3d_f64 q5_3d_f32, 6 q6_3d_f64 q6_3d_f32, 7 q7_3d_f64 q7_3d_f32, 8 q8_3d_f64 q8_3d_f32);
