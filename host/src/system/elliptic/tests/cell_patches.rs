//! Patches of cells against inverses of dense matrices, and iterations with them.

use super::*;
use crate::backend::Scalar;
use mesh::Node;

/// Refined around a point, with hanging nodes; no flux through the side where `x` is largest.
fn boxes(dim: usize, uniformly: usize) -> Forest {
    let mut coarse = CoarseMesh::of_box(&[1; 3][..dim], &[1.0, 1.5, 0.5][..dim]).unwrap();
    coarse.set_boundary_where(3, |point| point.x == 1.0).unwrap();
    refined(coarse, uniformly, 1)
}

/// `P` as [`ForestCellPatches`](super::cell_patches::ForestCellPatches) has it, of [`boxes`] and a constant coefficient: local matrices by
/// Kronecker products, inverted.
fn dense_patches(system: &Elliptic, kappa: [f64; 3]) -> DMatrix<f64> {
    let mesh = &system.mesh;
    let (dim, n, all) = (mesh.dim(), mesh.degree() + 1, mesh.kinds().len());
    let is_smoothed = |node: usize| mesh.kinds()[node] == Node::Smoothed;
    let nodes_of =
        |cell: usize| -> Vec<usize> { mesh.numbering().leaf_nodes(cell).map(|node| node as usize).collect() };
    let cells: Vec<usize> =
        (0..mesh.cells().cells()).filter(|&cell| nodes_of(cell).into_iter().any(is_smoothed)).collect();
    let count = |node: usize| cells.iter().filter(|&&cell| nodes_of(cell).contains(&node)).count() as f64;
    let (matrix, mut patches) = (dense(system), DMatrix::zeros(all, all));
    let digit = |i: usize, d: usize| i / n.pow(d as u32) % n;
    for &cell in &cells {
        let (own, leaf) = (nodes_of(cell), mesh.forest().leaves()[cell]);
        let mut is_left_out = vec![false; own.len()];
        let mut by_direction = Vec::new();
        for d in 0..dim {
            let length = [1.0, 1.5, 0.5][d] / f64::from(1 << leaf.level);
            let (mut stiffness, mut mass) = (mesh.element().stiffness() / length, mesh.element().mass() * length);
            for (face, end) in [(2 * d, 0), (2 * d + 1, n - 1)] {
                let on_face: Vec<usize> = (0..own.len()).filter(|&i| digit(i, d) == end).collect();
                if !on_face.iter().any(|&i| is_smoothed(own[i])) {
                    on_face.iter().for_each(|&i| is_left_out[i] = true);
                } else if mesh.forest().boundary(&leaf, face).is_none() {
                    stiffness[(end, end)] *= 2.0;
                    mass[(end, end)] *= 2.0;
                }
            }
            by_direction.push((stiffness, mass));
        }
        let kept: Vec<usize> = (0..own.len()).filter(|&i| !is_left_out[i]).collect();
        let local = DMatrix::from_fn(kept.len(), kept.len(), |row, column| {
            let (i, j) = (kept[row], kept[column]);
            let product = |slope: usize| -> f64 {
                let of = |d: usize| {
                    let (stiffness, mass) = &by_direction[d];
                    (if d == slope { stiffness } else { mass })[(digit(i, d), digit(j, d))]
                };
                (0..dim).map(of).product()
            };
            (0..dim).map(|d| kappa[d] * product(d)).sum::<f64>() + system.equation.reaction * product(3)
        });
        let inverse = local.clone().try_inverse().unwrap();
        let weight = |row: usize| {
            let node = own[kept[row]];
            if !is_smoothed(node) {
                return 0.0;
            }
            (local[(row, row)] / (matrix[(node, node)] * count(node))).sqrt()
        };
        for (row, column) in (0..kept.len()).flat_map(|row| (0..kept.len()).map(move |column| (row, column))) {
            let weighted = weight(row) * inverse[(row, column)] * weight(column);
            patches[(own[kept[row]], own[kept[column]])] += weighted;
        }
    }
    patches
}

fn compare<T: Scalar>(tolerance: f64) {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let kappa = [2.0, 1.5, 0.25];
    for (dim, uniformly, degree) in [(2, 3, 1), (2, 2, 2), (2, 2, 4), (3, 2, 2), (3, 1, 3)] {
        for smoothing in [Smoothing::Local, Smoothing::Global] {
            let equation = Equation {
                diffusion: Diffusion::tensor(move |_| DMat3::from_diagonal(DVec3::from_array(kappa))),
                reaction: 0.75,
                natural: BTreeSet::from([3]),
                smoothing,
                ..Equation::default()
            };
            let system = Elliptic::new(&boxes(dim, uniformly), degree, equation).unwrap();
            assert!(system.mesh.numbering().hanging_nodes() > 0);
            let expected = dense_patches(&system, kappa);
            let level = Runs::<Elliptic>::level::<T>(&cpu, &system).unwrap();
            let mut numbers = random(2 * system.nodes(), 3).into_iter();
            let mut random = |_: usize| numbers.next().unwrap();
            let (x, mut y) = (level.vector_of(&mut random).unwrap(), level.vector_of(&mut random).unwrap());
            let in_double = |x: &[T]| DMatrix::from_iterator(x.len(), 1, x.iter().map(|value| value.to_f64()));
            let expected = 2.0 * expected * in_double(&x) + 0.5 * in_double(&y);
            level.cell_patches().unwrap().apply_axpby(2.0, &x, 0.5, &mut y).unwrap();
            let what = format!("{smoothing:?}, {dim}D, degree {degree}");
            assert_close(&what, in_double(&y).as_slice(), expected.as_slice(), tolerance);
        }
    }
}

#[test]
fn patches_of_boxes_are_inverses_in_double() {
    compare::<f64>(1e-11);
}

#[test]
fn patches_of_boxes_are_inverses_in_single() {
    compare::<f32>(2e-4);
}

/// Where cells are curved, lie in any orientation and have lines that hang: `x · P y = y · P x`, and `x · P x > 0` where nodes are smoothed.
#[test]
fn patches_are_symmetric_and_positive() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    for (forest, degree) in meshes() {
        let system = Elliptic::new(&forest, degree, anisotropic()).unwrap();
        let level = Runs::<Elliptic>::level::<f64>(&cpu, &system).unwrap();
        let patches = level.cell_patches().unwrap();
        let inverse = level.inverse_diagonal().unwrap();
        let mut numbers = random(2 * system.nodes(), 5).into_iter();
        let mut smoothed = |i: usize| if inverse[i] == 0.0 { 0.0 } else { numbers.next().unwrap() };
        let mut vector = || {
            let mut vector = level.vector().unwrap();
            vector.iter_mut().enumerate().for_each(|(i, entry)| *entry = smoothed(i));
            vector
        };
        let (x, y) = (vector(), vector());
        let [mut px, mut py] = [&x, &y].map(|_| level.vector().unwrap());
        patches.apply_axpby(1.0, &x, 0.0, &mut px).unwrap();
        patches.apply_axpby(1.0, &y, 0.0, &mut py).unwrap();
        assert!((0..inverse.len()).all(|i| (px[i] == 0.0) == (inverse[i] == 0.0)), "smoothed nodes alone change");
        let dot = |x, y| cpu.dot(x, y).unwrap();
        let scale = (dot(&x, &px) * dot(&y, &py)).sqrt();
        assert!((dot(&x, &py) - dot(&y, &px)).abs() < 1e-13 * scale && dot(&x, &px) > 0.0);
    }
}

/// Iterations of conjugate gradients.
fn iterations(forest: &Forest, degree: usize, benchmark: Option<Benchmark>, smoother: SmootherConfig) -> [usize; 2] {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let equation = benchmark.map_or_else(Equation::default, |benchmark| benchmark.equation(forest.dim()));
    let problem = benchmark.map_or(EllipticProblem::new(|_| 1.0), |benchmark| benchmark.problem(forest.dim()));
    let system = Elliptic::new(forest, degree, equation).unwrap();
    let load = problem.load(&system).unwrap();
    [Precision::F64, Precision::Mixed].map(|precision| {
        let config = Config { method: Method::Cg, precision, smoother, ..Config::default() };
        Solver::new(&cpu, &system, &config).unwrap().solve(&load).unwrap().info.iterations
    })
}

/// Fewer iterations than with the diagonal, each with two thirds of the products with the matrix.
#[test]
fn patches_smooth_on_stretched_cells() {
    let (diagonal, patches) = (SmootherConfig::Chebyshev { degree: 5, range: 12.0 }, SmootherConfig::chebyshev_patch());
    let ring =
        |inner: f64, times| Forest::new(CoarseMesh::annulus(inner, 1.0, 10).unwrap()).refine_uniformly(times).unwrap();
    let slab = Forest::new(CoarseMesh::of_box(&[1; 3], &[8.0, 8.0, 1.0]).unwrap()).refine_uniformly(3).unwrap();
    for (forest, degree) in [(ring(0.9, 2), 4), (slab, 2)] {
        let [few, many] = [patches, diagonal].map(|smoother| iterations(&forest, degree, None, smoother));
        assert!((0..2).all(|i| 5 * few[i] <= 4 * many[i]), "{few:?}, {many:?}");
    }
    // Elsewhere, where the coefficient varies by 10^6 and where nodes hang, as many iterations.
    let corner = refined(CoarseMesh::l_shape(2).unwrap(), 2, 3);
    for (forest, degree, benchmark) in [(ring(0.5, 3), 3, Benchmark::Shell), (corner, 2, Benchmark::Corner)] {
        let [few, many] = [patches, diagonal].map(|smoother| iterations(&forest, degree, Some(benchmark), smoother));
        assert!((0..2).all(|i| few[i] <= many[i] + 1), "{few:?}, {many:?}");
    }
}
