//! The kernels of discontinuous elements, run on the host (`patchmg_emulation`), against naive references: dense 1D matrices on
//! whole levels with other numbers and sizes of cells in each direction. The 1D matrices are random, with the symmetries that
//! kernels rely on.

#[allow(dead_code)] // What the kernels of boxes need.
#[path = "common/boxes.rs"]
mod boxes;

use boxes::random;
use patchmg_device::dg::{self, operator::Tile};
use patchmg_device::kernels::{Module, Operation};
use patchmg_device::matrices::{DgCellMatrices, DgOperatorMatrices, DgSolveMatrices, DgTransferMatrices};
use patchmg_device::patch::{DgGrid, Ends, bit, color_count};
use patchmg_device::scalar::Real;
use patchmg_emulation::{Arguments, Kernel};

/// A matrix by rows.
#[derive(Clone)]
struct Dense {
    columns: usize,
    entries: Vec<f64>,
}

impl Dense {
    fn new(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        Self { columns, entries: (0..rows * columns).map(|index| entry(index / columns, index % columns)).collect() }
    }

    /// Random, `C[R-1-i][N-1-j] = C[i][j]`.
    fn centrosymmetric(rows: usize, columns: usize, seed: u64) -> Self {
        let half = random(rows * columns, seed);
        Self::new(rows, columns, |i, j| half[columns * i + j] + half[rows * columns - 1 - (columns * i + j)])
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.entries[self.columns * row + column]
    }

    fn rows(&self) -> usize {
        self.entries.len() / self.columns
    }

    fn transposed(&self) -> Self {
        Self::new(self.columns, self.rows(), |i, j| self.get(j, i))
    }

    /// `count` of them along the diagonal.
    fn blocks(&self, count: usize) -> Self {
        let (n, m) = (self.rows(), self.columns);
        Self::new(n * count, m * count, |i, j| if i / n == j / m { self.get(i % n, j % m) } else { 0.0 })
    }
}

/// A tensor times a matrix in each direction, `x` fastest.
fn tensor_product(matrices: &[&Dense], x: &[f64]) -> Vec<f64> {
    let mut stride = 1;
    matrices.iter().fold(x.to_vec(), |x, matrix| {
        let (n, rows, inner) = (matrix.columns, matrix.rows(), stride);
        stride *= rows;
        let entry = |index: usize| {
            let (low, row, high) = (index % inner, index / inner % rows, index / inner / rows);
            (0..n).map(|j| matrix.get(row, j) * x[low + inner * (j + n * high)]).sum()
        };
        (0..x.len() / n * rows).map(entry).collect()
    })
}

/// Data of a cell: `M`, `L`, half the normal derivative and `σ`; constants are in the null space away from the boundary.
struct Cell {
    mass: Dense,
    stiffness: Dense,
    normal: Vec<f64>,
    penalty: f64,
}

impl Cell {
    fn new(nodes: usize) -> Self {
        let (mass, mut stiffness) = (Dense::centrosymmetric(nodes, nodes, 1), Dense::centrosymmetric(nodes, nodes, 2));
        let (mut normal, penalty) = (random(nodes, 3), 0.7);
        normal[0] -= normal.iter().sum::<f64>();
        for i in 0..nodes {
            let of_faces = |t: usize| normal[t] - if t == 0 { penalty } else { 0.0 };
            let sum = of_faces(i) + of_faces(nodes - 1 - i) + (0..nodes).map(|j| stiffness.get(i, j)).sum::<f64>();
            stiffness.entries[(nodes + 1) * i] -= sum;
        }
        Self { mass, stiffness, normal, penalty }
    }

    /// `L` on a direction of so many cells.
    fn direction(&self, cells: usize) -> Dense {
        let n = self.normal.len();
        let mut dense = self.stiffness.blocks(cells);
        let row = dense.columns;
        let mut add = |i: usize, j: usize, value: f64| dense.entries[i * row + j] += value;
        for face in 0..=cells {
            // Nodes counted from the face on, in the cell below and in that above it.
            let (below, above) = (|t: usize| n * face - 1 - t, |t: usize| n * face + t);
            for (t, normal) in self.normal.iter().copied().enumerate() {
                if face == 0 || face == cells {
                    let own: &dyn Fn(usize) -> usize = if face == 0 { &above } else { &below };
                    add(own(t), own(0), -normal);
                    add(own(0), own(t), -normal);
                } else {
                    add(below(t), above(0), normal);
                    add(below(0), above(t), normal);
                    add(above(t), below(0), normal);
                    add(above(0), below(t), normal);
                }
            }
            if face > 0 && face < cells {
                add(below(0), above(0), -self.penalty);
                add(above(0), below(0), -self.penalty);
            }
        }
        dense
    }
}

fn convert<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}

/// The last vector, after the kernel.
fn run<T: Real>(
    module: Module,
    operation: Operation,
    blocks: [u32; 3],
    matrices: &[u8],
    vectors: &[&[f64]],
    [cells, color_and_chunk]: [[u32; 3]; 2],
) -> Vec<f64> {
    let mut vectors: Vec<Vec<T>> = vectors.iter().map(|vector| convert(vector)).collect();
    let pointers: Vec<_> = vectors.iter_mut().map(|vector| vector.as_mut_ptr().cast()).collect();
    let [color, chunk, _] = color_and_chunk;
    let arguments =
        Arguments { matrices: Some(matrices), vectors: &pointers, cells, color, chunk, ..Arguments::default() };
    // SAFETY: matrices and vectors of the sizes that the kernel takes.
    unsafe { Kernel::new(module, module.kernel::<T>(operation)).unwrap().run(blocks, arguments) };
    vectors.pop().unwrap().into_iter().map(Real::to_f64).collect()
}

fn assert_near<T: Real>(found: &[f64], expected: &[f64], what: &str) {
    let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let error = found.iter().zip(expected).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs())) / scale;
    let tolerance = if T::NAME == "f32" { 2e-5 } else { 1e-13 };
    assert!(error < tolerance && found.len() == expected.len(), "{what} in {}: {error:e}", T::NAME);
}

/// Levels, with sizes of cells.
const LEVELS: [([u32; 3], [f64; 3]); 4] =
    [([6, 4, 2], [0.3, 0.5, 0.7]), ([2, 4, 6], [1.0, 0.1, 0.4]), ([4, 2, 8], [0.9, 0.2, 0.5]), ([2, 2, 2], [0.25; 3])];

/// `(h_0 h_1 [h_2]) / h_d²`.
fn factors(dim: usize, sizes: [f64; 3]) -> [f64; 3] {
    sizes.map(|h| sizes[..dim].iter().product::<f64>() / (h * h))
}

fn operator<T: Real, const C: usize, const H: usize>(dim: usize)
where
    DgOperatorMatrices<T, C, H>: bytemuck::Pod,
{
    let cell = Cell::new(C);
    let Cell { mass, stiffness, normal, penalty } = &cell;
    let module = Module::PoissonDg { dim, degree: C - 1 };
    for (cells, sizes) in LEVELS {
        let factors = factors(dim, sizes);
        let of_cell =
            DgCellMatrices::<T, C, H>::new(|i, j| mass.get(i, j), |i, j| stiffness.get(i, j), |t| normal[t], *penalty);
        let matrices = DgOperatorMatrices::new(dim, of_cell, factors);
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let (x, b) = (random(grid.storage(dim), 7), random(grid.storage(dim), 8));
        let (masses, stiff) =
            (cells.map(|cells| mass.blocks(cells as usize)), cells.map(|cells| cell.direction(cells as usize)));
        let mut expected = vec![0.0; x.len()];
        for (stiffness, factor) in factors.iter().enumerate().take(dim) {
            let along = |d: usize| if d == stiffness { &stiff[d] } else { &masses[d] };
            let term = tensor_product(&(0..dim).map(along).collect::<Vec<_>>(), &x);
            expected.iter_mut().zip(term).for_each(|(sum, term)| *sum += factor * term);
        }
        let residual: Vec<_> = b.iter().zip(&expected).map(|(b, y)| b - y).collect();
        for chunk in [1, 3, 8] {
            let blocks = Tile::of(dim, C - 1).blocks(grid, chunk);
            let (bytes, arguments, y) =
                (bytemuck::bytes_of(&matrices), [cells, [0, chunk, 0]], vec![f64::NAN; x.len()]);
            let what = format!("{dim}D, {C} nodes, {cells:?} cells");
            let found = run::<T>(module, Operation::Apply, blocks, bytes, &[&x, &y], arguments);
            assert_near::<T>(&found, &expected, &format!("operator, {what}"));
            let found = run::<T>(module, Operation::Residual, blocks, bytes, &[&b, &x, &y], arguments);
            assert_near::<T>(&found, &residual, &format!("residual, {what}"));
        }
    }
}

/// Random eigenvectors and eigenvalues in place of those of each of [`Ends::ALL`], with their symmetries.
struct Eigen {
    vectors: [Dense; 4],
    values: [Vec<f64>; 4],
}

impl Eigen {
    fn new(n: usize) -> Self {
        let symmetric = |seed: u64| {
            let numbers = random(n * n, seed);
            Dense::new(n, n, |node, function| {
                let (mirror, sign) =
                    (node.min(n - 1 - node), if function < n / 2 || node < n / 2 { 1.0 } else { -1.0 });
                sign * numbers[n * mirror + function]
            })
        };
        let lower = random(n * n, 12);
        let lower = Dense::new(n, n, |node, function| lower[n * node + function]);
        let upper = Dense::new(n, n, |node, function| lower.get(n - 1 - node, function));
        let values = |seed: u64| random(n, seed).into_iter().map(|value| value + 1.5).collect::<Vec<_>>();
        Self {
            vectors: [symmetric(11), lower, upper, symmetric(13)],
            values: [values(14), values(15), values(15), values(16)],
        }
    }
}

fn solve<T: Real, const N: usize, const C: usize>(dim: usize)
where
    DgSolveMatrices<T, N, C>: bytemuck::Pod,
{
    let eigen = Eigen::new(N);
    let module = Module::PoissonDg { dim, degree: C - 1 };
    for (cells, sizes) in LEVELS {
        let factors = factors(dim, sizes);
        let is_one_patch = cells[..dim].iter().all(|&cells| cells == 2);
        let is_thin = dg::solve::is_thin(dim, cells);
        let symmetric = &eigen.vectors[if is_one_patch { Ends::Both } else { Ends::Neither } as usize];
        let lower = &eigen.vectors[Ends::Lower as usize];
        let matrices = DgSolveMatrices::<T, N, C>::new(|a, f| symmetric.get(a, f), |a, f| lower.get(a, f));
        let order: &[usize] = if dim == 2 { &[1, 0] } else { &[1, 2, 0] };
        let mut table = Vec::new();
        for class in 0..1 << dim {
            let values = |d: usize, index: usize| {
                let ends = match (cells[d], class >> d & 1) {
                    (2, _) => Ends::Both,
                    (_, 0) => Ends::Neither,
                    _ => Ends::Lower,
                };
                factors[d] * eigen.values[ends as usize][index]
            };
            table.extend((0..N.pow(dim as u32)).map(|index| {
                let sum = |(place, &d): (usize, &usize)| values(d, index / N.pow(place as u32) % N);
                1.0 / order.iter().enumerate().map(sum).sum::<f64>()
            }));
        }
        if is_thin {
            let both = &eigen.vectors[Ends::Both as usize];
            table.extend((0..2 * C * C).map(|index| both.get(index % C, index / C)));
        }
        assert_eq!(table.len(), dg::solve::table_words(dim, C - 1, is_thin));
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let (r, x) = (random(grid.storage(dim), 7), random(grid.storage(dim), 8));
        for color in 0..1 << dim {
            let counts = [0, 1, 2].map(|d| if d < dim { color_count(cells[d], bit(color, d)) } else { 1 });
            if counts.contains(&0) {
                continue;
            }
            let mut expected = x.clone();
            for patch in 0..counts.iter().product() {
                let index = [patch % counts[0], patch / counts[0] % counts[1], patch / counts[0] / counts[1]];
                let first = [0, 1, 2].map(|d| if d < dim { bit(color, d) + 2 * index[d] } else { 0 });
                let offset = |i: usize| {
                    let node = [i % N, i / N % N, i / N / N];
                    let [x, y, z] = [0, 1, 2].map(|d| first[d] as usize * C + node[d]);
                    grid.offset_3d(x, y, z)
                };
                let ends: Vec<_> = (0..dim).map(|d| Ends::of_patch(cells[d], first[d]) as usize).collect();
                let local: Vec<_> = (0..N.pow(dim as u32)).map(|i| r[offset(i)]).collect();
                let analysis: Vec<_> = ends.iter().map(|&ends| eigen.vectors[ends].transposed()).collect();
                let mut modes = tensor_product(&analysis.iter().collect::<Vec<_>>(), &local);
                for (i, mode) in modes.iter_mut().enumerate() {
                    *mode /= (0..dim).map(|d| factors[d] * eigen.values[ends[d]][i / N.pow(d as u32) % N]).sum::<f64>();
                }
                let synthesis: Vec<_> = ends.iter().map(|&ends| &eigen.vectors[ends]).collect();
                let correction = tensor_product(&synthesis, &modes);
                correction.iter().enumerate().for_each(|(i, correction)| expected[offset(i)] += correction);
            }
            let operation = if is_thin { Operation::SolveThin } else { Operation::Solve };
            let blocks = dg::blocks(dim, module.kernel::<T>(operation).patches, |d| counts[d]);
            let bytes = bytemuck::bytes_of(&matrices);
            let found = run::<T>(module, operation, blocks, bytes, &[&table, &r, &x], [cells, [color, 0, 0]]);
            assert_near::<T>(
                &found,
                &expected,
                &format!("solution, {dim}D, {N} nodes, {cells:?} cells, color {color}"),
            );
        }
    }
}

fn transfer<T: Real, const N: usize, const C: usize, const H: usize>(dim: usize)
where
    DgTransferMatrices<T, N, C, H>: bytemuck::Pod,
{
    let prolongation = Dense::centrosymmetric(N, C, 5);
    let matrices = DgTransferMatrices::<T, N, C, H>::new(|i, j| prolongation.get(i, j));
    let module = Module::PoissonDg { dim, degree: C - 1 };
    for (cells, _) in LEVELS {
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let (fine, coarse) = (random(grid.storage(dim), 7), random(grid.coarser().storage(dim), 8));
        let along: Vec<_> = (0..dim).map(|d| prolongation.blocks(cells[d] as usize / 2)).collect();
        let transposed: Vec<_> = along.iter().map(Dense::transposed).collect();
        let call = |operation, vectors: &[&[f64]]| {
            let blocks = dg::blocks(dim, module.kernel::<T>(operation).patches, |d| cells[d] / 2);
            run::<T>(module, operation, blocks, bytemuck::bytes_of(&matrices), vectors, [cells, [0; 3]])
        };
        let what = format!("{dim}D, {C} nodes, {cells:?} cells");
        let expected = tensor_product(&transposed.iter().collect::<Vec<_>>(), &fine);
        let found = call(Operation::Restrict, &[&fine, &vec![f64::NAN; coarse.len()]]);
        assert_near::<T>(&found, &expected, &format!("restriction, {what}"));
        let mut expected = tensor_product(&along.iter().collect::<Vec<_>>(), &coarse);
        expected.iter_mut().zip(&fine).for_each(|(sum, fine)| *sum += fine);
        let found = call(Operation::ProlongateAdd, &[&coarse, &fine]);
        assert_near::<T>(&found, &expected, &format!("prolongation, {what}"));
    }
}

macro_rules! for_degrees {
    ($dim:literal, $($degree:literal)+) => {
        $({
            const C: usize = $degree + 1;
            const H: usize = C.div_ceil(2);
            operator::<f64, C, H>($dim);
            operator::<f32, C, H>($dim);
            solve::<f64, { 2 * C }, C>($dim);
            solve::<f32, { 2 * C }, C>($dim);
            transfer::<f64, { 2 * C }, C, H>($dim);
            transfer::<f32, { 2 * C }, C, H>($dim);
        })+
    };
}

#[test]
fn kernels_in_2d_on_boxes_of_unequal_cells() {
    for_degrees!(2, 1 2 3 6 8);
}

#[test]
fn kernels_in_3d_on_boxes_of_unequal_cells() {
    for_degrees!(3, 1 2 3);
}
