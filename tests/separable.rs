//! `-div(diag(c) ∇u) + s u = f` on boxes: orders of errors, iterations, null spaces, many right-hand sides.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::unobserved;
use patchmg::mesh::{Grading, Mesh};
use patchmg::multigrid::SmootherConfig;
use patchmg::problem::{ErrorNorms, ExactSolution, Field, load_vector};
use patchmg::solve::{Case, Config, Method, Precision, Solver};
use patchmg::space::Family;
use patchmg::system::separable::{Condition, DirectNodes, Equation, Problem};
use patchmg::system::{ModelProblem, Poisson, Separable};
use std::f64::consts::TAU;
use std::sync::Arc;

const FAMILIES: [Family; 2] = [Family::Continuous, Family::Discontinuous];

const N: Condition = Condition::Neumann;
const D: Condition = Condition::Dirichlet;
const P: Condition = Condition::Periodic;

/// `Π_d (shift_d + sin(ω_d x_d + φ_d))`.
#[derive(Clone, Copy, Debug)]
struct Waves {
    dim: usize,
    frequencies: [f64; 3],
    shifts: [f64; 3],
}

impl Waves {
    /// Periodic where the equation is.
    fn of(equation: &Equation, mesh: &Mesh) -> Self {
        let is_periodic = |d: usize| equation.sides[d][0] == P;
        let frequency = |d: usize| if is_periodic(d) { TAU / mesh.lengths()[d] } else { 1.3 + 0.2 * d as f64 };
        Self { dim: mesh.dim(), frequencies: [0, 1, 2].map(frequency), shifts: [0.5, -0.25, 1.5] }
    }

    /// A factor, with its first and second derivative.
    fn factor(&self, d: usize, x: f64) -> [f64; 3] {
        let frequency = self.frequencies[d];
        let (sine, cosine) = (frequency * x + 0.4).sin_cos();
        [self.shifts[d] + sine, frequency * cosine, -frequency * frequency * sine]
    }

    /// The product with a derivative in one direction.
    fn derived(&self, point: DVec3, along: usize, order: usize) -> f64 {
        (0..self.dim).map(|d| self.factor(d, point[d])[if d == along { order } else { 0 }]).product()
    }

    fn right_hand_side(self, equation: &Equation) -> impl Fn(DVec3) -> f64 + Send + Sync + 'static {
        let (c, s) = (equation.diffusion, equation.reaction);
        move |point| s * self.value(point) - (0..self.dim).map(|d| c[d] * self.derived(point, d, 2)).sum::<f64>()
    }
}

impl Field for Waves {
    fn value(&self, point: DVec3) -> f64 {
        self.derived(point, 0, 0)
    }
}

impl ExactSolution for Waves {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |d: usize| if d < self.dim { self.derived(point, d, 1) } else { 0.0 };
        DVec3::new(slope(0), slope(1), slope(2))
    }
}

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::new(Some(2)).unwrap())
}

fn system(family: Family, mesh: Mesh, degree: usize, equation: Equation) -> Separable {
    Separable::of_family(family, mesh, degree, equation).unwrap().with_direct_nodes(DirectNodes::All(0))
}

fn case(family: Family, mesh: Mesh, degree: usize, equation: &Equation, config: Config) -> Case<Problem> {
    let system = system(family, mesh, degree, equation.clone());
    let waves = Waves::of(equation, &mesh);
    let problem = Problem::new(&system, waves.right_hand_side(equation)).with_exact(waves);
    Case { system, problem, config }
}

fn errors(family: Family, mesh: Mesh, degree: usize, equation: &Equation) -> ErrorNorms {
    let config = Config { method: Method::Gmres, ..Config::default() };
    let config = Config { stopping: patchmg::krylov::Stopping { rtol: 1e-12, ..config.stopping }, ..config };
    let (report, _) = case(family, mesh, degree, equation, config).solve(&cpu(), &mut unobserved).unwrap();
    assert!(report.info.converged, "{:?}", report.info);
    report.errors.unwrap()
}

/// Every kind of side and grading, with coefficients.
fn equations() -> Vec<Equation> {
    let [u, g] = [Grading::Uniform, Grading::Geometric(8.0)];
    let equation = |sides, grading, diffusion, reaction| Equation { sides, diffusion, reaction, grading };
    vec![
        Equation::default(),
        equation([[D, N], [N, D], [N, N]], [u.clone(), u.clone(), u.clone()], [2.0, 0.5, 1.0], 0.0),
        equation([[N, N]; 3], [g.clone(), u.clone(), u.clone()], [1.0, 3.0, 0.5], 0.0),
        equation([[P, P], [D, N], [D, D]], [u.clone(), Grading::Geometric(0.1), g.clone()], [1.0, 1.0, 2.0], 1.5),
        equation([[N, D], [P, P], [N, N]], [Grading::BothEnds(5.0), g.clone(), u.clone()], [0.3, 1.0, 1.0], 0.0),
        equation([[P, P], [P, P], [P, P]], [u.clone(), g.clone(), u.clone()], [1.0, 0.2, 1.0], 0.0),
        equation([[P, P], [N, N], [P, P]], [u.clone(), u.clone(), Grading::BothEnds(0.3)], [1.0, 1.0, 1.0], 0.01),
        equation(
            [[N, N], [D, D], [N, D]],
            [Grading::Breakpoints(vec![0.0, 0.2, 0.9, 1.2]), u.clone(), g],
            [1.0; 3],
            10.0,
        ),
    ]
}

fn check_orders(family: Family, dim: usize, degree: usize, refinements: [usize; 2]) {
    for equation in equations() {
        let cells: &[usize] = if dim == 2 { &[3, 1] } else { &[3, 2, 2] };
        let mesh = |refine| Mesh::of_box(cells, &[1.2, 0.7, 1.0][..dim], refine).unwrap();
        let [coarse, fine] = refinements.map(|refine| errors(family, mesh(refine), degree, &equation));
        let order = |coarse: f64, fine: f64| (coarse / fine).log2();
        let [l2, h1] = [order(coarse.l2, fine.l2), order(coarse.h1, fine.h1)];
        let name = format!("{family:?} {dim}D Q{degree} {equation:?}: orders {l2:.2} {h1:.2}, {fine:?}");
        // The smallest errors of discontinuous elements are those of rounding.
        let is_rounding = family == Family::Discontinuous && fine.l2 < 1e-11;
        assert!((is_rounding || l2 > degree as f64 + 0.75) && h1 > degree as f64 - 0.2, "{name}");
    }
}

#[test]
fn errors_in_2d_have_their_orders() {
    for family in FAMILIES {
        for degree in [1, 2, 3, 5] {
            check_orders(family, 2, degree, if degree == 5 { [2, 3] } else { [3, 4] });
        }
    }
}

#[test]
fn errors_in_3d_have_their_orders() {
    for family in FAMILIES {
        for degree in [1, 2] {
            check_orders(family, 3, degree, [2, 3]);
        }
    }
}

/// A polynomial of the space is found exactly, whatever the cells.
#[test]
fn polynomials_are_found_exactly() {
    struct Cubic;
    impl Field for Cubic {
        fn value(&self, p: DVec3) -> f64 {
            (1.0 + p.x - p.x.powi(3)) * (p.y * p.y + 2.0)
        }
    }
    impl ExactSolution for Cubic {
        fn gradient(&self, p: DVec3) -> DVec3 {
            DVec3::new((1.0 - 3.0 * p.x * p.x) * (p.y * p.y + 2.0), (1.0 + p.x - p.x.powi(3)) * 2.0 * p.y, 0.0)
        }
    }
    let grading = [Grading::Breakpoints(vec![0.0, 0.01, 0.5, 1.2]), Grading::Geometric(1e3), Grading::Uniform];
    let equation = Equation { sides: [[D, N], [N, D], [D, D]], diffusion: [2.0, 0.3, 1.0], reaction: 0.5, grading };
    let mesh = Mesh::of_box(&[3, 1], &[1.2, 0.7], 3).unwrap();
    for system in FAMILIES.map(|family| system(family, mesh, 3, equation.clone())) {
        let f = |p: DVec3| {
            2.0 * 6.0 * p.x * (p.y * p.y + 2.0) - 0.3 * 2.0 * (1.0 + p.x - p.x.powi(3)) + 0.5 * Cubic.value(p)
        };
        let problem = Problem::new(&system, f).with_exact(Cubic);
        let stopping = patchmg::krylov::Stopping { rtol: 1e-14, ..Config::default().stopping };
        let config = Config { method: Method::Gmres, stopping, ..Config::default() };
        let (report, u) = Case { system, problem, config }.solve(&cpu(), &mut unobserved).unwrap();
        let errors = report.errors.unwrap();
        assert!(errors.l2 < 1e-11 && errors.h1 < 1e-9, "{errors:?}, {:?}", report.info);
        for point in [DVec3::new(0.005, 0.001, 0.0), DVec3::new(0.0, 0.7, 0.0), DVec3::new(1.2, 0.333, 0.0)] {
            assert!((u.at(point).unwrap() - Cubic.value(point)).abs() < 1e-10, "{point}");
            assert!((u.gradient_at(point).unwrap() - Cubic.gradient(point)).length() < 1e-7, "{point}");
        }
    }
}

fn gmres() -> Config {
    Config { method: Method::Gmres, ..Config::default() }
}

/// Without symmetries, and with integral 0.
fn source(lengths: DVec3, p: DVec3) -> f64 {
    ((3.0 * p.x / lengths.x).exp() - (3.0_f64.exp() - 1.0) / 3.0) * (7.0 * p.y / lengths.y + p.z).sin()
}

fn iterations(family: Family, mesh: Mesh, degree: usize, equation: Equation) -> usize {
    iterations_with(SmootherConfig::Patch, family, mesh, degree, equation)
}

/// For stretched cells whose patches hold a single unknown.
const FOR_STRETCHED_CELLS: SmootherConfig = SmootherConfig::ChebyshevFourthKind { degree: 3 };

fn iterations_with(smoother: SmootherConfig, family: Family, mesh: Mesh, degree: usize, equation: Equation) -> usize {
    let system = system(family, mesh, degree, equation);
    let lengths = DVec3::from_array(mesh.lengths());
    let problem = Problem::new(&system, move |p| source(lengths, p));
    let config = Config { smoother, ..gmres() };
    let solution = Solver::new(&cpu(), &system, &config).unwrap().solve(&problem.load(&system).unwrap()).unwrap();
    assert!(solution.info.converged, "{:?}", solution.info);
    solution.info.iterations
}

/// Of the cube by the kernels of its own.
fn iterations_of_the_cube(family: Family, dim: usize, refine: usize, degree: usize) -> usize {
    let poisson = Poisson::new(family, Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
    let load = load_vector(poisson.space(), &|p: DVec3| source(DVec3::ONE, p)).unwrap();
    Solver::new(&cpu(), &poisson, &gmres()).unwrap().solve(&load).unwrap().info.iterations
}

#[test]
fn sides_and_aspects_take_the_cubes_iterations() {
    for (family, dim, refine) in FAMILIES.into_iter().flat_map(|family| [(family, 2, 5), (family, 3, 3)]) {
        for degree in [1, 3] {
            let most = iterations_of_the_cube(family, dim, refine, degree) + 2;
            for sides in [
                [[D, D]; 3],
                [[N, N]; 3],
                [[P, P]; 3],
                [[N, D], [P, P], [N, N]],
                [[D, N], [N, D], [D, D]],
                [[N, N], [D, D], [P, P]],
            ] {
                for (aspect, c) in [(1.0, 1.0), (3.0, 1.0), (10.0, 1.0), (100.0, 1.0), (1.0, 1e4), (1.0, 0.01)] {
                    for reaction in [0.0, 30.0] {
                        let mesh = Mesh::of_box(&[1; 3][..dim], &[1.0, aspect, 1.0][..dim], refine).unwrap();
                        let equation = Equation { sides, diffusion: [1.0, c, 1.0], reaction, ..Equation::default() };
                        // Long directions couple neighbours by mass matrices, and patches of a single unknown join none.
                        let is_pointwise = dim == 3 && family == Family::Continuous && degree == 1;
                        let is_stretched = aspect > 1.5 || c != 1.0;
                        let name =
                            format!("{family:?} {dim}D Q{degree}, {sides:?}, aspect {aspect}, c {c}, s {reaction}");
                        if is_pointwise && is_stretched && sides == [[D, D]; 3] {
                            let found = iterations_with(FOR_STRETCHED_CELLS, family, mesh, degree, equation.clone());
                            assert!(found <= most, "{name}, Chebyshev: {found}, not {most}");
                        }
                        let most = if is_pointwise && c > 1.0 { 11 } else { most };
                        let found = iterations(family, mesh, degree, equation);
                        assert!(found <= most, "{name}: {found}, not {most}");
                    }
                }
            }
        }
    }
}

#[test]
fn bases_of_any_cells_take_few_iterations() {
    for base in [[3, 2], [6, 4], [5, 3], [3, 1], [7, 5]] {
        for sides in [[[D, D]; 3], [[N, D], [P, P], [D, D]], [[P, P], [N, N], [D, D]]] {
            for (degree, most) in [(1, 8), (3, 6)] {
                for family in FAMILIES {
                    let mesh = Mesh::of_box(&base, &base.map(|cells| cells as f64), 3).unwrap();
                    let found = iterations(family, mesh, degree, Equation { sides, ..Equation::default() });
                    assert!(found <= most, "{family:?} {base:?}, {sides:?}, Q{degree}: {found}");
                }
            }
        }
    }
}

#[test]
fn graded_meshes_take_fewer_than_ten_iterations() {
    let [u, one, both] = [Grading::Uniform, Grading::Geometric(1e3), Grading::BothEnds(1e3)];
    // By degree, in 2D and 3D.
    let limits =
        [(Family::Continuous, [[9, 6, 5, 4], [9, 6, 5, 4]]), (Family::Discontinuous, [[6, 4, 4, 4], [6, 5, 4, 3]])];
    for (family, [plane, space]) in limits {
        for gradings in [[&one, &u], [&one, &one], [&both, &u], [&both, &both], [&one, &both]] {
            for sides in [[[D, D]; 3], [[N, D], [D, N], [D, D]], [[N, N]; 3], [[D, D], [P, P], [D, D]]] {
                for (degree, most) in (1..).zip(plane) {
                    let grading = [gradings[0].clone(), gradings[1].clone(), Grading::Uniform];
                    let equation = Equation { sides, grading: grading.clone(), ..Equation::default() };
                    let found = iterations(family, Mesh::unit_cube(2, 5).unwrap(), degree, equation);
                    assert!(found <= most, "{family:?} Q{degree}, {sides:?}, {grading:?}: {found}");
                }
            }
        }
        let grading = [one.clone(), one.clone(), both.clone()];
        let equation = Equation { sides: [[N, D], [D, D], [D, D]], grading, ..Equation::default() };
        for (degree, most) in (1..).zip(space) {
            let found = iterations(family, Mesh::unit_cube(3, 3).unwrap(), degree, equation.clone());
            assert!(found <= most, "{family:?} 3D Q{degree}: {found}");
        }
    }
}

/// Cycles are direct solutions there, but for rounding.
#[test]
fn graded_meshes_of_few_nodes_take_few_iterations() {
    let [u, one, both] = [Grading::Uniform, Grading::Geometric(1e3), Grading::BothEnds(1e3)];
    for family in FAMILIES {
        for sides in [[[D, D]; 3], [[N, D], [D, N], [D, D]], [[N, N]; 3], [[D, D], [P, P], [D, D]]] {
            for (degree, precision) in [(1, Precision::F64), (4, Precision::F64), (4, Precision::Mixed)] {
                let equation =
                    Equation { sides, grading: [one.clone(), both.clone(), u.clone()], ..Equation::default() };
                let mesh = Mesh::unit_cube(2, 4).unwrap();
                let system = Separable::of_family(family, mesh, degree, equation.clone()).unwrap();
                let waves = Waves::of(&equation, &mesh);
                let problem = Problem::new(&system, waves.right_hand_side(&equation)).with_exact(waves);
                let config = Config { method: Method::Gmres, precision, ..Config::default() };
                let (report, _) = Case { system, problem, config }.solve(&cpu(), &mut unobserved).unwrap();
                // In `f32` the solution itself is rounded, which the largest eigenvalues enlarge.
                let (info, most) = (report.info, if precision == Precision::F64 { 2 } else { 4 });
                let name = format!("{family:?} Q{degree} {sides:?} {precision:?}");
                assert!(info.converged && info.iterations <= most, "{name}: {info:?}");
            }
        }
    }
}

/// In 3D patches of degree 1, which hold a single unknown, take more.
#[test]
fn chebyshev_iteration_takes_fewer_than_ten_iterations_of_degree_one() {
    let [u, one, both] = [Grading::Uniform, Grading::Geometric(1e3), Grading::BothEnds(1e3)];
    let gradings = [
        [&one, &u, &u],
        [&one, &one, &u],
        [&one, &one, &one],
        [&both, &u, &u],
        [&both, &both, &u],
        [&both, &both, &both],
        [&one, &u, &both],
    ];
    for grading in gradings.map(|grading| grading.map(Grading::clone)) {
        let equation = Equation { grading: grading.clone(), ..Equation::default() };
        let found =
            iterations_with(FOR_STRETCHED_CELLS, Family::Continuous, Mesh::unit_cube(3, 4).unwrap(), 1, equation);
        assert!(found < 10, "{grading:?}: {found}");
    }
}

/// All methods, precisions and smoothers that the system has lead to one solution.
#[test]
fn all_methods_agree() {
    FAMILIES.into_iter().for_each(check_methods);
}

fn check_methods(family: Family) {
    let equation = equations().swap_remove(4);
    let mesh = Mesh::of_box(&[3, 1], &[1.2, 0.7], 3).unwrap();
    let expected = errors(family, mesh, 2, &equation);
    let check = |config: Config, tolerance: f64| {
        let (report, _) = case(family, mesh, 2, &equation, config).solve(&cpu(), &mut unobserved).unwrap();
        let found = report.errors.unwrap();
        assert!(report.info.converged, "{config:?}: {:?}", report.info);
        assert!((found.l2 / expected.l2 - 1.0).abs() < tolerance, "{config:?}: {found:?} {expected:?}");
    };
    for method in Method::ALL {
        for precision in [Precision::F64, Precision::Mixed] {
            check(Config { method, precision, ..Config::default() }, 1e-3);
        }
        let stopping = patchmg::krylov::Stopping { rtol: 1e-5, ..Config::default().stopping };
        check(Config { method, precision: Precision::F32, stopping, ..Config::default() }, 0.5);
    }
    let weak = [SmootherConfig::additive_patch(2), SmootherConfig::jacobi()];
    let strong = [SmootherConfig::chebyshev(), SmootherConfig::chebyshev_fourth_kind()];
    // Weak ones are not for discontinuous elements.
    let weak = weak.into_iter().filter(|_| family == Family::Continuous);
    for smoother in weak.chain(strong) {
        check(Config { method: Method::Gmres, smoother, ..Config::default() }, 1e-3);
    }
    let point = Config { smoother: SmootherConfig::PointGaussSeidel, ..Config::default() };
    let message = case(family, mesh, 2, &equation, point).solve(&cpu(), &mut unobserved).unwrap_err().to_string();
    let expected = match family {
        Family::Continuous => "no smoother of separable equations 'point-gs'; it has: patch",
        Family::Discontinuous => "must be patch, chebyshev or chebyshev4 with discontinuous elements",
    };
    assert!(message.contains(expected), "{message}");
}

/// Pure Neumann and periodic boxes: the mean is zero, what does not fit is said, and a small reaction term changes little.
#[test]
fn null_spaces_are_handled() {
    let mesh = Mesh::of_box(&[1, 2], &[1.0, 2.0], 3).unwrap();
    let all_sides = [[[N, N]; 3], [[P, P]; 3], [[P, P], [N, N], [D, D]]];
    for (sides, family) in all_sides.into_iter().flat_map(|sides| FAMILIES.map(|family| (sides, family))) {
        let equation = Equation { sides, ..Equation::default() };
        let with = |reaction: f64| system(family, mesh, 3, Equation { reaction, ..equation.clone() });
        let system = with(0.0);
        assert!(system.has_null_space());
        let mean = |u: &patchmg::function::Function| {
            load_vector(u.space(), &|p| u.at(p).unwrap()).unwrap().iter().sum::<f64>() / 2.0
        };
        // cos(2 π x) is compatible with all of them.
        let f = |p: DVec3| TAU * TAU * (TAU * p.x).cos();
        for method in [Method::Fmg, Method::VCycle, Method::Gmres, Method::Cg] {
            for precision in [Precision::F64, Precision::Mixed] {
                let case = Case {
                    system: system.clone(),
                    problem: Problem::new(&system, f),
                    config: Config { method, precision, ..Config::default() },
                };
                let (report, u) = case.solve(&cpu(), &mut unobserved).unwrap();
                assert!(report.info.converged && report.info.iterations < 10, "{method} {:?}", report.info);
                assert!(mean(&u).abs() < 1e-14);
                let value = u.at(DVec3::new(0.1, 0.6, 0.0)).unwrap();
                assert!((value - (TAU * 0.1).cos()).abs() < 2e-4, "{value}");
            }
        }
        let message = Problem::new(&system, |p| 1.0 + p.x).load(&system).unwrap_err().to_string();
        let expected =
            "the integral of the right-hand side and of the fluxes is 3.000e0, and 3.000e0 of absolute values";
        assert!(message.starts_with(expected), "{message}");
        // Quadrature that is not exact is no reason to refuse.
        let rough = |p: DVec3| (TAU * 8.0 * p.x).cos().abs() - 2.0 / std::f64::consts::PI;
        assert!(Problem::new(&system, rough).load(&system).is_ok());
        // With a tiny reaction term the mean may be anything, and the rest is as accurate as before.
        for reaction in [1e-10, 1e-6, 1.0] {
            let system = with(reaction);
            assert!(!system.has_null_space());
            let problem = Problem::new(&system, move |p| f(p) * (1.0 + reaction / TAU / TAU) + 2.5);
            let (report, u) = Case { system, problem, config: gmres() }.solve(&cpu(), &mut unobserved).unwrap();
            assert!(report.info.converged && report.info.iterations < 10, "{reaction} {:?}", report.info);
            let (mean, value) = (2.5 / reaction, u.at(DVec3::new(0.1, 0.6, 0.0)).unwrap());
            let tolerance = 2e-4 + 1e-15 * mean;
            assert!((value - mean - (TAU * 0.1).cos()).abs() < tolerance, "{reaction}: {value} {mean}");
        }
    }
}

/// On coarse levels Lanczos' method meets constants after few steps.
#[test]
fn chebyshev_iteration_takes_few_iterations_where_constants_are_in_the_null_space() {
    for (dim, refine, degree) in [(2, 2, 1), (2, 4, 1), (2, 3, 2), (3, 3, 1)] {
        for sides in [[[N, N]; 3], [[P, P]; 3], [[P, P], [N, N], [P, P]]] {
            for (smoother, most) in [(SmootherConfig::chebyshev(), 5), (FOR_STRETCHED_CELLS, 8)] {
                let (mesh, equation) =
                    (Mesh::unit_cube(dim, refine).unwrap(), Equation { sides, ..Equation::default() });
                let found = iterations_with(smoother, Family::Continuous, mesh, degree, equation);
                assert!(found <= most, "{dim}D Q{degree}, {sides:?}, {smoother:?}: {found}");
            }
        }
    }
}

/// Fluxes through the sides take part in what must balance.
#[test]
fn fluxes_balance_sources() {
    let system = Separable::new(Mesh::unit_cube(2, 3).unwrap(), 2, Equation::with_all_sides(N)).unwrap();
    let balanced = Problem::new(&system, |_| 1.0).with_side(0, 1, |p| -2.0 * p.y);
    let (report, _) =
        Case { system: system.clone(), problem: balanced, config: gmres() }.solve(&cpu(), &mut unobserved).unwrap();
    assert!(report.info.converged);
    assert!(Problem::new(&system, |_| 1.0).with_side(0, 1, |p| -2.1 * p.y).load(&system).is_err());
    let periodic = Separable::new(Mesh::unit_cube(2, 3).unwrap(), 2, Equation::with_all_sides(P)).unwrap();
    let message = Problem::new(&periodic, |_| 0.0).with_side(1, 0, |_| 1.0).check(&periodic).unwrap_err().to_string();
    assert_eq!(message, "side is y- with data, but must be without data if it is periodic");
    assert!(Problem::new(&periodic, |_| 0.0).check(&system).is_err());
    let message = Problem::new(&system, |p| 1.0 / (p.x - p.x)).load(&system).unwrap_err().to_string();
    assert!(message.contains("right-hand side is not finite"), "{message}");
}
