//! The operator against a dense matrix, polynomials, orders of convergence, and what is refused.

mod batched;
mod cell_patches;
mod coarse;
mod edges;
mod estimator;
mod nonlinear;
mod orientation;

use super::level::CellOperator;
use super::*;
use crate::backend::Backend;
use crate::forest::{Adaptation, CoarseMesh, Manifold};
use crate::krylov::Stopping;
use crate::multigrid::{SmootherConfig, levels};
use crate::operator::LinearOperator;
use crate::output::vtu;
use crate::problem::{ExactSolution, Field};
use crate::solve::{Config, Method, Precision, Solver};
use crate::system::ModelProblem;
use crate::testing::{VtuFile, assert_close, random};
use glam::{DMat3, DVec3};
use nalgebra::DMatrix;
use std::collections::{BTreeMap, BTreeSet};

/// With hanging nodes: refined around a point, `cycles` times.
fn refined(coarse: CoarseMesh, uniformly: usize, cycles: i32) -> Forest {
    let forest = Forest::new(coarse).refine_uniformly(uniformly).unwrap();
    (0..cycles).fold(forest, |forest, cycle| {
        let is_near = |center: DVec3| center.distance(DVec3::new(0.2, 0.1, 0.0)) < 0.4 / f64::from(1 << cycle);
        let flag = |leaf| if is_near(forest.point(leaf, [0.5; 3])) { Adaptation::Refine } else { Adaptation::Keep };
        forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap()
    })
}

fn anisotropic() -> Equation {
    let tensor = DMat3::from_cols_array(&[2.0, 0.5, 0.1, 0.5, 1.5, -0.2, 0.1, -0.2, 1.0]);
    Equation { diffusion: Diffusion::tensor(move |_| tensor), reaction: 0.75, ..Equation::default() }
}

/// Meshes whose trees meet in different orientations.
fn meshes() -> [(Forest, usize); 4] {
    let [disk, ball] = [CoarseMesh::disk(1.0).unwrap(), CoarseMesh::ball(1.0).unwrap()];
    [
        (refined(disk.clone(), 0, 2), 1),
        (refined(disk, 1, 1), 3),
        (refined(ball.clone(), 0, 1), 1),
        (refined(ball, 0, 1), 2),
    ]
}

/// The same trees with straight edges, refined somewhere.
fn straight(mesh: &Forest) -> Forest {
    let coarse = mesh.coarse();
    let cells = (0..coarse.cells()).flat_map(|cell| coarse.cell(cell).to_vec()).collect();
    refined(CoarseMesh::new(mesh.dim(), coarse.vertices().to_vec(), cells).unwrap(), mesh.levels() - 2, 1)
}

/// `Cᵀ A C` for the unknowns, `C` being the matrix of the constraints of hanging nodes, `A` that of all nodes of all leaves,
/// each with its own basis by [`Element`](crate::fe::Element): nothing in common with the operator but the metric's points.
fn dense(system: &Elliptic) -> DMatrix<f64> {
    let mesh = &system.mesh;
    let (dim, n, nodes) = (mesh.dim(), mesh.degree() + 1, mesh.kinds().len());
    let geometry = metric::Geometry::new(mesh, n).unwrap();
    let points = crate::fe::Quadrature::gauss(n).unwrap().points;
    let rows: Vec<_> = points.iter().map(|&x| (mesh.element().values(x), mesh.element().derivatives(x))).collect();
    let mut matrix = DMatrix::<f64>::zeros(nodes, nodes);
    for cell in 0..mesh.cells().cells() {
        let own: Vec<usize> = mesh.numbering().leaf_nodes(cell).map(|node| node as usize).collect();
        geometry
            .for_each_point(cell, |q, place| {
                let q = [q % n, q / n % n, q / n / n];
                let kappa = system.equation.diffusion.at(dim, place.point)?;
                let inverse = place.jacobian.inverse().transpose();
                let basis = |i: usize| {
                    let index = [i % n, i / n % n, i / n / n];
                    let product = |slope: usize| -> f64 {
                        let of = |d: usize| if d == slope { rows[q[d]].1[index[d]] } else { rows[q[d]].0[index[d]] };
                        (0..dim).map(of).product()
                    };
                    let gradient = DVec3::new(product(0), product(1), if dim == 3 { product(2) } else { 0.0 });
                    (product(3), inverse * gradient)
                };
                let all: Vec<_> = (0..own.len()).map(basis).collect();
                for (i, (value, gradient)) in all.iter().enumerate() {
                    for (j, (other, other_gradient)) in all.iter().enumerate() {
                        let energy = gradient.dot(kappa * *other_gradient) + system.equation.reaction * value * other;
                        matrix[(own[i], own[j])] += place.weight * energy;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
    let mut constraints = DMatrix::<f64>::identity(nodes, nodes);
    mesh.numbering().for_each_constraint(|constraint| {
        constraints.row_mut(constraint.node as usize).fill(0.0);
        for (&node, &weight) in constraint.nodes.iter().zip(constraint.weights) {
            constraints[(constraint.node as usize, node as usize)] += weight;
        }
    });
    let unknown = |node: usize| mesh.kinds()[node].is_unknown();
    let all = constraints.transpose() * matrix * constraints;
    DMatrix::from_fn(nodes, nodes, |i, j| if unknown(i) && unknown(j) { all[(i, j)] } else { 0.0 })
}

#[test]
fn the_operator_is_the_assembled_matrix() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    for (forest, degree) in meshes() {
        let system = Elliptic::new(&forest, degree, anisotropic()).unwrap();
        assert!(system.mesh.numbering().hanging_nodes() > 0);
        let level = Runs::<Elliptic>::level::<f64>(&cpu, &system).unwrap();
        let matrix = dense(&system);
        let mut numbers = random(system.nodes(), 3).into_iter();
        let x = level.vector_of(&mut |_| numbers.next().unwrap()).unwrap();
        let mut y = level.vector().unwrap();
        level.apply(&x, &mut y).unwrap();
        let expected = &matrix * DMatrix::from_column_slice(x.len(), 1, &x);
        assert_close("A x", &y, expected.as_slice(), 1e-13);
        let ones = level.vector_of(&mut |_| 1.0).unwrap();
        level.residual(&ones, &x, &mut y).unwrap();
        let expected: Vec<f64> = ones.iter().zip(expected.as_slice()).map(|(b, ax)| b - ax).collect();
        assert_close("b - A x", &y, &expected, 1e-13);
        let inverse = level.inverse_diagonal().unwrap();
        for (node, &entry) in inverse.iter().enumerate().filter(|(_, entry)| **entry != 0.0) {
            assert!((entry * matrix[(node, node)] - 1.0).abs() < 1e-12);
        }
        let smoothed = inverse.iter().filter(|entry| **entry != 0.0).count();
        assert!(0 < smoothed && smoothed < system.mesh.unknowns(), "local smoothing leaves some nodes alone");
    }
}

/// `coarse · Pᵀ r = r · P coarse`; and where cells are straight, a function of the coarser mesh has its energy on the finer one.
#[test]
fn restriction_is_the_transpose_of_the_prolongation() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let straight =
        [(refined(CoarseMesh::l_shape(2).unwrap(), 1, 1), 3), (refined(CoarseMesh::l_shape(3).unwrap(), 1, 1), 2)];
    let curved = meshes().map(|mesh| (mesh, false));
    for ((forest, degree), is_straight) in straight.map(|mesh| (mesh, true)).into_iter().chain(curved) {
        let system = Elliptic::new(&forest, degree, anisotropic()).unwrap();
        let [.., coarse, fine] = &*levels::<_, _, f64>(&cpu, &system).unwrap() else { panic!("two levels or more") };
        let mut numbers = random(2 * system.nodes(), 5).into_iter();
        let mut random = |_: usize| numbers.next().unwrap();
        let (x, r) = (coarse.vector_of(&mut random).unwrap(), fine.vector_of(&mut random).unwrap());
        let (mut up, mut down) = (fine.vector().unwrap(), coarse.vector().unwrap());
        fine.prolongate_add(&x, &mut up).unwrap();
        fine.restrict_load(&r, &up, &mut down).unwrap();
        let [product, other] = [cpu.dot(&r, &up).unwrap(), cpu.dot(&x, &down).unwrap()];
        assert!((product - other).abs() < 1e-12 * cpu.norm(&r).unwrap() * cpu.norm(&up).unwrap());
        let energy = |level: &SharedLevel<Cpu, f64>, x| {
            let mut product = level.vector().unwrap();
            level.apply(x, &mut product).unwrap();
            cpu.dot(x, &product).unwrap()
        };
        let difference = (energy(coarse, &x) / energy(fine, &up) - 1.0).abs();
        assert!(difference < 1e-12 || !is_straight, "{difference:e}");
    }
}

/// `sum_d c_d (x_d + 1/3)^k`, in 2D without z.
#[derive(Clone, Copy)]
struct Power {
    k: i32,
    dim: usize,
}

impl Field for Power {
    fn value(&self, point: DVec3) -> f64 {
        (0..self.dim).map(|d| (d as f64 + 1.0) * (point[d] + 1.0 / 3.0).powi(self.k)).sum()
    }
}

impl ExactSolution for Power {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |d: usize| (d as f64 + 1.0) * f64::from(self.k) * (point[d] + 1.0 / 3.0).powi(self.k - 1);
        DVec3::from_array([0, 1, 2].map(|d| if d < self.dim { slope(d) } else { 0.0 }))
    }
}

fn solved(system: &Elliptic, problem: &EllipticProblem) -> ForestFunction {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let config = Config {
        method: Method::Cg,
        precision: Precision::F64,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol: 1e-13, ..Stopping::default() },
        ..Config::default()
    };
    let mut solver = Solver::new(&cpu, system, &config).unwrap();
    problem.with_boundary_values(solver.solve(&problem.load(system).unwrap()).unwrap().u).unwrap()
}

/// On cells with straight edges, polynomials of degree `k` in x, y, z are in the space, also where cells are no parallelograms.
#[test]
fn polynomials_are_reproduced() {
    for (mesh, degree) in meshes() {
        let (forest, dim) = (straight(&mesh), mesh.dim());
        assert!(crate::forest::Numbering::new(&forest, degree).unwrap().hanging_nodes() > 0);
        let exact = Power { k: degree as i32, dim };
        let tensor = DMat3::from_cols_array(&[2.0, 0.5, 0.1, 0.5, 1.5, -0.2, 0.1, -0.2, 1.0]);
        let system = Elliptic::new(&forest, degree, anisotropic()).unwrap();
        let problem = EllipticProblem::new(move |point| {
            let k = f64::from(exact.k);
            let second = |d: usize| match exact.k {
                1 => 0.0,
                _ => (d as f64 + 1.0) * k * (k - 1.0) * (point[d] + 1.0 / 3.0).powi(exact.k - 2),
            };
            0.75 * exact.value(point) - (0..dim).map(|d| tensor.col(d)[d] * second(d)).sum::<f64>()
        });
        let problem = problem.with_exact(0, exact);
        let errors = problem.errors(&solved(&system, &problem)).unwrap().unwrap();
        assert!(errors.l2 < 1e-11 && errors.h1 < 1e-9, "{dim}D, degree {degree}: {errors:?}");
    }
}

/// Where the boundary is straight, a Robin condition of polynomial data has polynomial solutions.
#[test]
fn polynomials_satisfy_robins_condition() {
    for dim in [2, 3] {
        let mut coarse = CoarseMesh::of_box(&[1, 2, 1][..dim], &[1.0, 1.5, 1.0][..dim]).unwrap();
        coarse.set_boundary_where(3, |point| point.x == 1.0).unwrap();
        let forest = refined(coarse, 1, 2);
        assert!(crate::forest::Numbering::new(&forest, 3).unwrap().hanging_nodes() > 0);
        let exact = Power { k: 2, dim };
        let alpha = |point: DVec3| 0.5 + point.y * point.y;
        let robin = BTreeMap::from([(3, Coefficient::new(alpha))]);
        let equation = Equation { natural: BTreeSet::from([3]), robin, ..Equation::default() };
        let system = Elliptic::new(&forest, 3, equation).unwrap();
        let laplace: f64 = (0..dim).map(|d| 2.0 * (d as f64 + 1.0)).sum();
        let mut problem = EllipticProblem::new(move |_| -laplace).with_exact(0, exact);
        problem.fluxes.insert(3, Arc::new(move |point| exact.gradient(point).x + alpha(point) * exact.value(point)));
        let errors = problem.errors(&solved(&system, &problem)).unwrap().unwrap();
        assert!(errors.l2 < 1e-11 && errors.h1 < 1e-9, "{dim}D: {errors:?}");
    }
}

/// A jump along an edge, and none of linear functions.
#[test]
fn kellys_indicator_is_the_jump_of_the_normal_derivative() {
    for (forest, degree) in meshes() {
        let forest = straight(&forest);
        let system = Elliptic::new(&forest, degree, Equation::default()).unwrap();
        let values = |u: &dyn Fn(DVec3) -> f64| -> Vec<f64> {
            let (mesh, positions) = (&system.mesh, system.mesh.node_positions().unwrap());
            let mut values = vec![0.0; mesh.kinds().len()];
            for cell in 0..system.cells() {
                let own = positions.positions(cell);
                let nodes = mesh.numbering().leaf_nodes(cell).zip(own.iter());
                nodes.for_each(|(node, &position)| values[node as usize] = u(position));
            }
            values
        };
        let linear = ForestFunction::new(&system, values(&|x| 2.0 * x.x - x.y + 0.5 * x.z));
        let largest = linear.kelly_indicators(&Equation::default()).unwrap().into_iter().fold(0.0, f64::max);
        assert!(largest < 1e-13, "{largest:e}");
    }
    // Two cells of 1 x 1: a jump of 2 along an edge of length 1, in cells of diameter sqrt(2).
    let forest = Forest::new(CoarseMesh::of_box(&[2, 1], &[2.0, 1.0]).unwrap());
    let system = Elliptic::new(&forest, 2, Equation::default()).unwrap();
    let mut hat = vec![0.0; system.nodes()];
    let (mesh, positions) = (&system.mesh, system.mesh.node_positions().unwrap());
    for cell in 0..2 {
        let own = positions.positions(cell);
        let nodes = mesh.numbering().leaf_nodes(cell).zip(own.iter());
        nodes.for_each(|(node, position)| hat[node as usize] = (position.x - 1.0).abs());
    }
    let kappa = Equation { diffusion: Diffusion::scalar(|_| 3.0), ..Equation::default() };
    let indicators = ForestFunction::new(&system, hat).kelly_indicators(&kappa).unwrap();
    assert_close("indicators", &indicators, &[6.0 * (2.0_f64.sqrt() / 24.0).sqrt(); 2], 1e-14);
}

/// Quadratic functions are themselves at every point of the file.
#[test]
fn a_file_has_the_function_at_its_points() {
    let folder = tempfile::tempdir().unwrap();
    for (mesh, degree) in meshes().into_iter().filter(|(_, degree)| *degree >= 2) {
        let mesh = straight(&mesh);
        let system = Elliptic::new(&mesh, degree, Equation::default()).unwrap();
        let positions = system.mesh.node_positions().unwrap();
        let u = |x: DVec3| x.x * x.y + x.z * x.z - x.x;
        let mut values = vec![0.0; system.nodes()];
        for cell in 0..system.cells() {
            let own = positions.positions(cell);
            let nodes = system.mesh.numbering().leaf_nodes(cell).zip(own.iter());
            nodes.for_each(|(node, &position)| values[node as usize] = u(position));
        }
        let function = ForestFunction::new(&system, values);
        let path = folder.path().join("u.vtu");
        let numbers: Vec<f64> = (0..system.cells()).map(|cell| cell as f64).collect();
        let config = vtu::Config::default();
        // The name has marks of XML.
        function.write_vtu(&path, &[("a<\"b\"&", &numbers)], &config).unwrap();
        let (found, said) =
            (std::fs::metadata(&path).unwrap().len(), ForestFunction::most_vtu_bytes(&system, 1, &config));
        assert!(found <= said, "{found} bytes, said were at most {said}");
        let file = VtuFile::of(&path);
        assert!(file.is_complete());
        assert_eq!((file.count("NumberOfPoints"), file.count("NumberOfCells")), (system.nodes(), system.cells()));
        assert_eq!(file.floats("a<\"b\"&"), numbers);
        let levels: Vec<u8> = mesh.leaves().iter().map(|leaf| leaf.level).collect();
        assert_eq!(file.bytes("level"), levels);
        let nodes_a_cell = (degree + 1).pow(mesh.dim() as u32);
        assert_eq!(file.numbers("connectivity").len(), system.cells() * nodes_a_cell);
        let points = file.floats("Points");
        for (point, value) in points.chunks_exact(3).zip(file.floats("solution")) {
            let expected = u(DVec3::new(point[0], point[1], point[2]));
            assert!((value - expected).abs() < 1e-14, "{value} at {point:?}, not {expected}");
        }
        let wrong = |name, numbers| function.write_vtu(&path, &[(name, numbers)], &config).unwrap_err().to_string();
        let expected = format!("numbers of cells has length {}, expected {}", numbers.len() - 1, numbers.len());
        assert_eq!(wrong("number", &numbers[1..]), expected);
        assert!(wrong("a\nb", &numbers).contains("\"a\\nb\", but must be without control characters"));
    }
}

#[test]
fn a_function_comes_back_from_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.npz");
    for (mesh, degree) in meshes() {
        let system = Elliptic::new(&mesh, degree, Equation::default()).unwrap();
        let function = system.solution(random(system.nodes(), 7)).unwrap();
        function.write_npz(&path).unwrap();
        let read = ForestFunction::read_npz(&system, &path).unwrap();
        assert_eq!(read.values(), function.values());
        assert_eq!(read.unknowns().unwrap(), function.unknowns().unwrap());
        let finer = Elliptic::new(&mesh.refine_uniformly(1).unwrap(), degree, Equation::default()).unwrap();
        let error = ForestFunction::read_npz(&finer, &path).unwrap_err().to_string();
        let shapes = format!("is ({},), but must be ({},)", system.nodes(), finer.nodes());
        assert!(error.ends_with(&format!("the shape of 'values' {shapes}")), "{error}");
    }
}

/// `sin x cos 2y`.
struct Smooth;

impl Field for Smooth {
    fn value(&self, point: DVec3) -> f64 {
        point.x.sin() * (2.0 * point.y).cos()
    }
}

impl ExactSolution for Smooth {
    fn gradient(&self, point: DVec3) -> DVec3 {
        DVec3::new(point.x.cos() * (2.0 * point.y).cos(), -2.0 * point.x.sin() * (2.0 * point.y).sin(), 0.0)
    }
}

#[test]
fn errors_on_curved_domains_have_the_order_of_the_elements() {
    for coarse in [CoarseMesh::disk(1.0).unwrap(), CoarseMesh::annulus(0.5, 1.0, 6).unwrap()] {
        for degree in 1..=6 {
            let [coarser, finer] = [2, 3].map(|refinements| {
                let forest = Forest::new(coarse.clone()).refine_uniformly(refinements).unwrap();
                let system = Elliptic::new(&forest, degree, Equation::default()).unwrap();
                let problem = EllipticProblem::new(|point| 5.0 * Smooth.value(point)).with_exact(0, Smooth);
                problem.errors(&solved(&system, &problem)).unwrap().unwrap()
            });
            let orders = [(coarser.l2 / finer.l2).log2(), (coarser.h1 / finer.h1).log2()];
            assert!(orders[0] > degree as f64 + 0.8, "degree {degree}: {orders:?} in L2");
            assert!(orders[1] > degree as f64 - 0.2, "degree {degree}: {orders:?} in H1");
        }
    }
}

/// Local smoothing without what edges carry would take many more iterations; so would a wrong diagonal.
#[test]
fn a_cycle_reduces_the_residual_whatever_is_smoothed() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    for smoothing in [Smoothing::Local, Smoothing::Global] {
        for precision in [Precision::F64, Precision::Mixed] {
            let forest = refined(CoarseMesh::l_shape(2).unwrap(), 2, 6);
            let system = Elliptic::new(&forest, 2, Equation { smoothing, ..Equation::default() }).unwrap();
            let config = Config {
                method: Method::Cg,
                precision,
                smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
                stopping: Stopping { rtol: 1e-9, ..Stopping::default() },
                ..Config::default()
            };
            let load = EllipticProblem::new(|_| 1.0).load(&system).unwrap();
            let solution = Solver::new(&cpu, &system, &config).unwrap().solve(&load).unwrap();
            assert!(
                solution.info.iterations <= 7,
                "{smoothing:?}, {precision}: {} iterations",
                solution.info.iterations
            );
        }
    }
}

#[test]
fn bad_input_is_refused_with_value_and_place() {
    let square = || CoarseMesh::of_box(&[1, 1], &[1.0, 1.0]).unwrap();
    let forest = Forest::new(square()).refine_uniformly(1).unwrap();
    let message = |result: Result<Elliptic>| result.unwrap_err().to_string();
    let with = |equation| message(Elliptic::new(&forest, 2, equation));
    assert_eq!(
        with(Equation { reaction: -1.0, ..Equation::default() }),
        "the reaction coefficient is -1, but must be 0 or positive, and finite"
    );
    assert_eq!(
        with(Equation { natural: BTreeSet::from([4]), ..Equation::default() }),
        "boundary number is 4, but must be one of {0}"
    );
    assert_eq!(
        with(Equation { natural: BTreeSet::from([0]), ..Equation::default() }),
        "natural sides is {0}, but must be not all of them around cell 0 and those that it is connected to, unless the reaction coefficient or one of Robin's is positive: constants would be free"
    );
    // Three squares, of which the last one touches no other.
    let places = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
    let apart = [[3.0, 0.0], [4.0, 0.0], [3.0, 1.0], [4.0, 1.0]];
    let vertices = places.iter().chain(&apart).map(|[x, y]| DVec3::new(*x, *y, 0.0)).collect();
    let mut parts = CoarseMesh::new(2, vertices, vec![0, 1, 3, 4, 1, 2, 4, 5, 6, 7, 8, 9]).unwrap();
    parts.set_boundary_where(1, |point| point.x >= 3.0).unwrap();
    let natural = |number| Equation { natural: BTreeSet::from([number]), ..Equation::default() };
    let refused = |natural: Equation| Elliptic::new(&Forest::new(parts.clone()), 2, natural).unwrap_err().to_string();
    assert!(refused(natural(0)).contains("natural sides is {0}, but must be not all of them around cell 0 and"));
    assert!(refused(natural(1)).contains("natural sides is {1}, but must be not all of them around cell 2 and"));
    let robin = BTreeMap::from([(1, Coefficient::new(|_| 1.0))]);
    Elliptic::new(&Forest::new(parts.clone()), 2, Equation { robin, ..natural(1) }).unwrap();
    assert_eq!(
        message(Elliptic::new(&Forest::new(square()), 1, Equation::default())),
        "the number of unknowns is 0, but must be at least 1: refine the mesh, or raise the degree"
    );
    assert!(message(Elliptic::new(&forest, 9, Equation::default())).contains("1 to 8 in 2D"));

    let operator = |equation: Equation| {
        let system = Elliptic::new(&forest, 1, equation).unwrap();
        CellOperator::<f64>::new(&system).unwrap_err().to_string()
    };
    let robin = |value: f64| BTreeMap::from([(0, Coefficient::new(move |_| value))]);
    assert_eq!(
        with(Equation { robin: robin(1.0), ..Equation::default() }),
        "a boundary with Robin's condition is 0, but must be a natural one"
    );
    let error = operator(Equation { natural: BTreeSet::from([0]), robin: robin(-2.0), ..Equation::default() });
    assert!(error.starts_with("the coefficient of Robin's condition is -2 at [0"), "{error}");
    let negative = Diffusion::scalar(|point| if point.x > 0.6 { -2.0 } else { 1.0 });
    let error = operator(Equation { diffusion: negative, ..Equation::default() });
    assert!(error.starts_with("the diffusion coefficient is -2 at [0.6056624327"), "{error}");
    assert!(error.ends_with(", but must be positive, a tensor symmetric positive definite"), "{error}");
    let not_symmetric = Diffusion::tensor(|_| DMat3::from_cols(DVec3::X, DVec3::new(0.5, 1.0, 0.0), DVec3::Z));
    assert!(operator(Equation { diffusion: not_symmetric, ..Equation::default() }).contains("a tensor symmetric"));

    let mut folded = square();
    let fold = |point: DVec3| point.with_y(1.0 - 20.0 * point.x * (1.0 - point.x));
    folded.set_boundary_where(1, |point| point.y == 1.0).unwrap();
    folded.set_boundary_manifold(1, Manifold::Projected(Arc::new(fold))).unwrap();
    let system = Elliptic::new(&Forest::new(folded), 2, Equation::default()).unwrap();
    let error = CellOperator::<f64>::new(&system).unwrap_err().to_string();
    assert!(error.starts_with("the Jacobian determinant is -") && error.contains(" in cell 0 at ["), "{error}");

    let system = Elliptic::new(&forest, 2, Equation::default()).unwrap();
    let mut problem = EllipticProblem::new(|_| 1.0);
    problem.values.insert(3, Arc::new(|_| 0.0));
    assert_eq!(problem.load(&system).unwrap_err().to_string(), "boundary number is 3, but must be one of {0}");
    let mut problem = EllipticProblem::new(|_| 1.0);
    problem.fluxes.insert(0, Arc::new(|_| 0.0));
    assert_eq!(
        problem.load(&system).unwrap_err().to_string(),
        "a boundary with a flux is 0, but must be a natural one"
    );
    let error = EllipticProblem::new(|point| 1.0 / (point.x - point.x)).load(&system).unwrap_err().to_string();
    assert!(error.starts_with("right-hand side is not finite: inf at ["), "{error}");
}
