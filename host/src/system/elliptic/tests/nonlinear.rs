//! Fluxes, their derivatives on all levels, and Newton's method.

use super::cell::CellShape;
use super::interpolation::Interpolation;
use super::*;
use crate::krylov::{Observer, Outcome, unobserved};
use crate::solve::{Case, NewtonConfig, NewtonStart, Precision, Report, Solver};

/// `F(x, p) = (1 + x² + |p|²) p`.
#[derive(Debug)]
struct Stiffening;

impl Flux for Stiffening {
    fn value(&self, point: DVec3, gradient: DVec3) -> DVec3 {
        (1.0 + point.x * point.x + gradient.length_squared()) * gradient
    }

    fn derivative(&self, point: DVec3, gradient: DVec3) -> DMat3 {
        let outer = DMat3::from_cols(gradient * gradient.x, gradient * gradient.y, gradient * gradient.z);
        DMat3::IDENTITY * (1.0 + point.x * point.x + gradient.length_squared()) + 2.0 * outer
    }
}

/// With a reaction, and Robin's condition on all sides.
fn equation(flux: impl Flux) -> Equation {
    let robin = BTreeMap::from([(0, Coefficient::new(|point| 1.0 + point.x.abs()))]);
    let natural = BTreeSet::from([0]);
    Equation { flux: Some(Arc::new(flux)), reaction: 0.5, natural, robin, ..Equation::default() }
}

fn config() -> Config {
    Config {
        method: Method::Cg,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol: 1e-4, ..Stopping::default() },
        ..Config::default()
    }
}

fn random_function(system: &Elliptic, seed: u64) -> ForestFunction {
    ForestFunction::new(system, random(system.nodes(), seed))
}

/// The values of a function at nodes that do not hang.
fn vector(system: &Elliptic, u: &ForestFunction) -> Vec<f64> {
    let hangs = |node: usize| system.mesh.numbering().hangs(node);
    u.values().iter().enumerate().map(|(node, &value)| if hangs(node) { 0.0 } else { value }).collect()
}

/// `(R(u - ε w) - R(u + ε w)) / 2ε = A'(u) w`, and a diagonal that is that of `A'(u)`.
#[test]
fn the_derivative_is_that_of_the_residual() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    for (forest, degree) in meshes() {
        for equation in [equation(MinimalSurface), equation(Stiffening)] {
            let system = Elliptic::new(&forest, degree, equation).unwrap();
            let problem = EllipticProblem::new(|point| point.x);
            let [u, w] = [3, 4].map(|seed| vector(&system, &random_function(&system, seed)));
            let level = Runs::<Elliptic>::level::<f64>(&cpu, &system).unwrap();
            let nonlinear = level.nonlinear().unwrap();
            let of_values = |values: &[f64]| {
                let mut vector = level.vector().unwrap();
                cpu.upload(values, &mut vector).unwrap();
                vector
            };
            let load = of_values(&problem.nonlinear(&system).unwrap().unwrap().load);
            const STEP: f64 = 1e-4;
            let residual = |length: f64| {
                let mut residual = level.vector().unwrap();
                let at: Vec<f64> = u.iter().zip(&w).map(|(u, w)| u + length * w).collect();
                nonlinear.nonlinear_residual(&load, &of_values(&at), &mut residual).unwrap();
                residual
            };
            let differences: Vec<f64> = residual(-STEP)
                .iter()
                .zip(&*residual(STEP))
                .map(|(before, after)| (before - after) / (2.0 * STEP))
                .collect();
            // Twice: nothing of the first remains.
            nonlinear.linearize(&of_values(&w)).unwrap();
            nonlinear.linearize(&of_values(&u)).unwrap();
            let mut product = level.vector().unwrap();
            let nodes = system.mesh.numbering().in_order_of_leaves();
            let mut unknowns = nodes.filter(|&node| system.mesh.kinds()[node as usize].is_unknown());
            let x = level.vector_of(&mut |_| w[unknowns.next().unwrap() as usize]).unwrap();
            level.apply(&x, &mut product).unwrap();
            assert_close("A'(u) w", &differences, &product, 1e-6);
            let mut inverse = level.vector().unwrap();
            nonlinear.update_inverse_diagonal(&mut inverse).unwrap();
            let smoothed = system.mesh.kinds().iter().enumerate().filter(|(_, kind)| **kind == mesh::Node::Smoothed);
            for (node, _) in smoothed.step_by(7) {
                let mut unit = vec![0.0; system.nodes()];
                unit[node] = 1.0;
                level.apply(&of_values(&unit), &mut product).unwrap();
                assert!((product[node] * inverse[node] - 1.0).abs() < 1e-11, "{node}: {}", product[node]);
            }
        }
    }
}

/// After `linearize`, the coarsest level solves with the matrix that it multiplies with.
#[test]
fn the_coarsest_level_follows() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let system = Elliptic::new(&Forest::new(CoarseMesh::disk(1.0).unwrap()), 4, equation(Stiffening)).unwrap();
    let level = Runs::<Elliptic>::level::<f64>(&cpu, &system).unwrap();
    let mut u = level.vector().unwrap();
    cpu.upload(random_function(&system, 5).values(), &mut u).unwrap();
    level.nonlinear().unwrap().linearize(&u).unwrap();
    let expected = level.vector_of(&mut |i| (i % 5) as f64 - 2.0).unwrap();
    let (mut b, mut x) = (level.vector().unwrap(), level.vector().unwrap());
    level.apply(&expected, &mut b).unwrap();
    level.solve(&b, &mut x).unwrap();
    assert_close("x", &x, &expected, 1e-10);
}

/// A polynomial is the same at the nodes of every coarser mesh.
#[test]
fn functions_are_interpolated_on_coarser_meshes() {
    for (mesh, degree) in meshes() {
        let system = Elliptic::new(&straight(&mesh), degree, Equation::default()).unwrap();
        let coarser = system.coarser().unwrap().unwrap();
        let exact = Power { k: degree as i32, dim: mesh.dim() };
        let on_fine = interpolated(&system, &exact);
        let interpolation = Interpolation::new(&coarser.mesh, &system.mesh).unwrap();
        let mut found = vec![f64::NAN; coarser.nodes()];
        interpolation.apply(&CellShape::new(&system.mesh).unwrap(), &on_fine, &mut found, &mut Vec::new());
        let expected = vector(&coarser, &ForestFunction::new(&coarser, interpolated(&coarser, &exact)));
        assert_close("values", &found, &expected, 1e-13);
    }
}

/// A polynomial is the same on a forest that is finer in some places and coarser in others, and back.
#[test]
fn functions_are_interpolated_on_other_forests() {
    for (mesh, degree) in meshes() {
        let mesh = straight(&mesh);
        let flag = |leaf| if leaf % 3 == 0 { Adaptation::Refine } else { Adaptation::Keep };
        let finer = mesh.adapt(&(0..mesh.leaves().len()).map(flag).collect::<Vec<_>>()).unwrap();
        let flag = |leaf| if leaf < finer.leaves().len() / 2 { Adaptation::Coarsen } else { Adaptation::Refine };
        let other = finer.adapt(&(0..finer.leaves().len()).map(flag).collect::<Vec<_>>()).unwrap();
        let exact = Power { k: degree as i32, dim: mesh.dim() };
        let systems = [finer, other].map(|forest| Elliptic::new(&forest, degree, Equation::default()).unwrap());
        let [on_finer, on_other] =
            systems.each_ref().map(|system| ForestFunction::new(system, interpolated(system, &exact)));
        assert_close("values", on_finer.interpolated(&systems[1]).unwrap().values(), on_other.values(), 1e-13);
        assert_close("values", on_other.interpolated(&systems[0]).unwrap().values(), on_finer.values(), 1e-13);
        let unknowns = on_finer.unknowns().unwrap();
        let kinds = systems[0].mesh.kinds().iter().zip(on_finer.values());
        let expected: Vec<f64> = kinds.map(|(kind, &value)| if kind.is_unknown() { value } else { 0.0 }).collect();
        assert_eq!(unknowns, expected);
    }
}

fn interpolated(system: &Elliptic, u: &impl Field) -> Vec<f64> {
    let (mesh, positions) = (&system.mesh, system.mesh.node_positions().unwrap());
    let mut values = vec![0.0; system.nodes()];
    for cell in 0..system.cells() {
        let own = positions.positions(cell);
        let nodes = mesh.numbering().leaf_nodes(cell).zip(own.iter());
        nodes.for_each(|(node, &position)| values[node as usize] = u.value(position));
    }
    values
}

fn newtons(system: Elliptic, problem: EllipticProblem, config: Config) -> (Report, ForestFunction) {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    Case { system, problem, config }.solve(&cpu, &mut unobserved).unwrap()
}

/// `x² + y² / 2 + xy`.
#[derive(Clone, Copy)]
struct Quadratic;

impl Field for Quadratic {
    fn value(&self, point: DVec3) -> f64 {
        point.x * point.x + 0.5 * point.y * point.y + point.x * point.y
    }
}

impl ExactSolution for Quadratic {
    fn gradient(&self, point: DVec3) -> DVec3 {
        DVec3::new(2.0 * point.x + point.y, point.y + point.x, 0.0)
    }
}

/// Gauss's rule is exact for `F · ∇φ` of `Q_4`: a polynomial solution is found, with data on a natural side.
#[test]
fn polynomials_solve_a_nonlinear_equation() {
    for dim in [2, 3] {
        let mut coarse = CoarseMesh::of_box(&[2, 1, 1][..dim], &[1.0, 0.5, 0.5][..dim]).unwrap();
        coarse.set_boundary_where(3, |point| point.x == 1.0).unwrap();
        let forest = refined(coarse, 1, if dim == 2 { 2 } else { 1 });
        let flux: Arc<dyn Flux> = Arc::new(Stiffening);
        let equation = Equation { flux: Some(flux), natural: BTreeSet::from([3]), ..Equation::default() };
        let system = Elliptic::new(&forest, 4, equation).unwrap();
        assert!(system.mesh.numbering().hanging_nodes() > 0);
        let mut problem = EllipticProblem::new(|point| {
            let slope = Quadratic.gradient(point);
            // ∇(1 + x² + |∇u|²) · ∇u + (1 + x² + |∇u|²) Δu, with Δu = 3.
            let outer = DVec3::new(2.0 * point.x + 4.0 * slope.x + 2.0 * slope.y, 2.0 * slope.x + 2.0 * slope.y, 0.0);
            -(outer.dot(slope) + 3.0 * (1.0 + point.x * point.x + slope.length_squared()))
        });
        problem = problem.with_exact(0, Quadratic);
        problem.fluxes.insert(3, Arc::new(|point| Stiffening.value(point, Quadratic.gradient(point)).x));
        let (report, _) = newtons(system, problem, config());
        let errors = report.errors.unwrap();
        assert!(report.info.converged && report.newton.len() >= 3, "{:?}", report.info);
        assert!(errors.l2 < 1e-12 && errors.h1 < 1e-10, "{dim}D: {errors:?}");
    }
}

fn minimal_surface(frequency: u32, refinements: usize) -> (Elliptic, EllipticProblem) {
    let benchmark = Benchmark::MinimalSurface { frequency };
    let forest = Forest::new(CoarseMesh::disk(1.0).unwrap()).refine_uniformly(refinements).unwrap();
    (Elliptic::new(&forest, 4, benchmark.equation(2)).unwrap(), benchmark.problem(2))
}

/// `F(p) = |p|² p`, but no number where the gradient is steep.
#[derive(Debug)]
struct Breaking {
    steepest: f64,
}

impl Flux for Breaking {
    fn value(&self, _point: DVec3, gradient: DVec3) -> DVec3 {
        if gradient.length() > self.steepest { DVec3::NAN } else { gradient.length_squared() * gradient }
    }

    fn derivative(&self, _point: DVec3, gradient: DVec3) -> DMat3 {
        DMat3::IDENTITY * (gradient.x - 1.0)
    }
}

#[test]
fn why_newtons_method_ends_is_said() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let (system, problem) = minimal_surface(2, 2);
    let few = Config { stopping: Stopping { max_iters: 2, ..config().stopping }, ..config() };
    let (report, _) = newtons(system.clone(), problem.clone(), few);
    assert_eq!((report.info.outcome, report.info.iterations, report.newton.len()), (Outcome::MaxIterations, 2, 2));
    assert_eq!(report.info.residual_history.len(), 3);

    let equation = problem.nonlinear(&system).unwrap().unwrap();
    let newton = |config: NewtonConfig, observer: &mut Observer| {
        let mut solver = Solver::new(&cpu, &system, &self::config()).unwrap();
        let zero = vec![0.0; system.nodes()];
        solver.newton(&equation, NewtonStart::Guess(&zero), &config, observer).map(|done| done.info)
    };
    let usual = NewtonConfig::new(config().stopping);
    // Rounding is above such a tolerance.
    let done = newton(NewtonConfig { tolerance: 1e-30, ..usual }, &mut unobserved).unwrap();
    assert!(matches!(done.outcome, Outcome::Stagnated { .. }), "{done:?}");
    let error = newton(NewtonConfig { tolerance: -1.0, ..usual }, &mut unobserved).unwrap_err();
    assert_eq!(error.to_string(), "the tolerance of Newton's method is -1, but must be positive and finite");
    let stopped = newton(usual, &mut |step, _| match step {
        1 => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    });
    assert_eq!(stopped.unwrap().outcome, Outcome::Stopped);
    let single = Config { precision: Precision::F32, ..config() };
    let error = Solver::new(&cpu, &system, &single).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "precision is f32, but must be f64 or mixed: Newton's method needs residuals in f64");

    let with = |flux: Breaking| {
        let equation = Equation { flux: Some(Arc::new(flux)), ..Equation::default() };
        let system = Elliptic::new(system.forest(), 2, equation).unwrap();
        let problem = problem.clone();
        Case { system, problem, config: config() }.solve(&cpu, &mut unobserved).map(|(report, _)| report.info.outcome)
    };
    assert!(matches!(with(Breaking { steepest: 1e-3 }), Ok(Outcome::Diverged { iteration: 0, .. })));
    let error = with(Breaking { steepest: 1e3 }).unwrap_err().to_string();
    assert!(error.starts_with("the derivative of the flux is -") && error.contains(" at ["), "{error}");
}
