//! Fluxes, their derivatives on all levels, and Newton's method.

use super::*;
use crate::krylov::{Outcome, unobserved};
use crate::solve::{Case, NewtonConfig, Report, newton};

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

/// `(R(u - ε w) - R(u + ε w)) / 2ε = A'(u) w`.
#[test]
fn the_derivative_is_that_of_the_residual() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    for (forest, degree) in meshes() {
        for equation in [equation(MinimalSurface), equation(Stiffening)] {
            let system = Elliptic::new(&forest, degree, equation).unwrap();
            let problem = EllipticProblem::new(|point| point.x);
            let nonlinear = problem.nonlinear(&system).unwrap().unwrap();
            let [u, w] = [3, 4].map(|seed| random_function(&system, seed));
            const STEP: f64 = 1e-4;
            let residual = |length: f64| nonlinear.residual(&nonlinear.corrected(&u, &w, length).unwrap()).unwrap();
            let differences: Vec<f64> = residual(-STEP)
                .iter()
                .zip(residual(STEP))
                .map(|(before, after)| (before - after) / (2.0 * STEP))
                .collect();
            let derivative = nonlinear.derivative(&u).unwrap();
            let level = Runs::<Elliptic>::level::<f64>(&cpu, &derivative).unwrap();
            let mut product = level.vector().unwrap();
            let mut values = system.mesh.kinds().iter().zip(w.values()).filter(|(kind, _)| kind.is_unknown());
            let x = level.vector_of(&mut |_| *values.next().unwrap().1).unwrap();
            level.apply(&x, &mut product).unwrap();
            assert_close("A'(u) w", &differences, &product, 1e-6);
            assert!(derivative.coarser().is_some_and(|coarser| coarser.unwrap().state.is_some()));
        }
    }
}

/// A polynomial is the same at the nodes of every coarser mesh.
#[test]
fn functions_are_interpolated_on_coarser_meshes() {
    for (mesh, degree) in meshes() {
        let system = Elliptic::new(&straight(&mesh), degree, Equation::default()).unwrap();
        let coarser = system.coarser().unwrap().unwrap();
        let exact = Power { k: degree as i32, dim: mesh.dim() };
        let on_fine = interpolated(&system, &exact);
        let found = transfer::interpolate(&coarser.mesh, &system.mesh, &on_fine).unwrap();
        assert_close("values", &found, &interpolated(&coarser, &exact), 1e-13);
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

/// Steps, their lengths, iterations and area are those of deal.II 9.4.1 for the same cells.
#[test]
fn soap_films_are_those_of_another_program() {
    let (system, problem) = minimal_surface(2, 3);
    let (report, u) = newtons(system, problem, config());
    let lengths: Vec<f64> = report.newton.iter().map(|step| step.step_length).collect();
    assert_eq!(lengths, [0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    // Of the last step, whose residual is rounding, the other program has 1.
    for (step, expected) in report.newton.iter().zip([5, 4, 5, 5, 5, 6, 5, 6]) {
        assert!(step.linear_iterations.abs_diff(expected) <= 1, "{step:?}, not {expected}");
    }
    let residuals: Vec<f64> = report.newton.iter().map(|step| step.residual).take(7).collect();
    let expected = [0.12558, 0.095936, 0.044903, 0.0092765, 0.0013033, 4.7272e-5, 7.9348e-8];
    residuals.iter().zip(expected).for_each(|(found, expected)| assert!((found / expected - 1.0).abs() < 1e-2));
    let area = u.integral(|_, _, gradient| MinimalSurface::area(gradient)).unwrap();
    assert!((area / 6.057503379133 - 1.0).abs() < 1e-11, "{area}");
    assert!((u.norms().unwrap().l2 / 0.5113058142363 - 1.0).abs() < 1e-9);
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

    // Rounding is above such a tolerance.
    let equation = problem.nonlinear(&system).unwrap().unwrap();
    let start = || problem.with_boundary_values(system.solution(vec![0.0; system.nodes()]).unwrap()).unwrap();
    let impossible = NewtonConfig { tolerance: 1e-30, ..NewtonConfig::new(config()) };
    let done = newton(&cpu, &*equation, start(), &impossible, &mut unobserved).unwrap();
    assert!(matches!(done.info.outcome, Outcome::Stagnated { .. }), "{:?}", done.info);
    let wrong = NewtonConfig { tolerance: -1.0, ..NewtonConfig::new(config()) };
    let error = newton(&cpu, &*equation, start(), &wrong, &mut unobserved).map(|done| done.info).unwrap_err();
    assert_eq!(error.to_string(), "the tolerance of Newton's method is -1, but must be positive and finite");
    let stopped = newton(&cpu, &*equation, start(), &NewtonConfig::new(config()), &mut |step, _| match step {
        1 => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    });
    assert_eq!(stopped.unwrap().info.outcome, Outcome::Stopped);

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
