//! Smoothers: one step against its error propagation as a dense matrix, and V-cycles that converge with each.

#[path = "common/cases.rs"]
mod cases;
#[path = "common/mod.rs"]
mod dense;

use cases::{cpu, pseudo_random, solve_system, space};
use dense::dense_operator;
use nalgebra::{DMatrix, DVector};
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::error::Error;
use patchmg::krylov::Stopping;
use patchmg::level::SharedLevel;
use patchmg::multigrid::{Chebyshev, Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::solve::{Config, Method, Precision};
use patchmg::space::Family;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Poisson, Problem};

/// Small enough for dense matrices: every kind of node, and more patches than one color has.
const SMALL: [[usize; 3]; 6] = [[2, 1, 3], [2, 2, 2], [2, 4, 2], [3, 1, 2], [3, 2, 2], [3, 3, 1]];

fn all(dim: usize) -> [SmootherConfig; 6] {
    [
        SmootherConfig::default(),
        SmootherConfig::additive_patch(dim),
        SmootherConfig::PointGaussSeidel,
        SmootherConfig::jacobi(),
        SmootherConfig::chebyshev(),
        SmootherConfig::chebyshev_fourth_kind(),
    ]
}

/// One space on the CPU, dofs in and dofs out.
struct Fixture {
    space: Space,
    a: DMatrix<f64>,
    level: SharedLevel<Cpu, f64>,
}

type Dofs = DVector<f64>;

impl Fixture {
    fn new([dim, degree, refine]: [usize; 3]) -> Self {
        let space = space(dim, degree, refine);
        let level = cpu().level(&Poisson::from(&space)).unwrap();
        Self { a: dense_operator(&space), space, level }
    }

    fn random(&self, seed: u64) -> Dofs {
        let mut next = pseudo_random(seed);
        DVector::from_fn(self.space.dofs(), |_, _| next())
    }

    fn diagonal(&self, x: &Dofs) -> Dofs {
        x.component_div(&self.a.diagonal())
    }

    fn step(&self, config: SmootherConfig, adjoint: bool, b: &Dofs, x: &Dofs) -> Dofs {
        let (backend, space) = (self.level.backend(), &self.space);
        let vector = |dofs: &Dofs| {
            let mut vector = backend.zeros(space.storage()).unwrap();
            backend.upload(&space.from_dofs(dofs.as_slice()).unwrap(), &mut vector).unwrap();
            vector
        };
        let (b, mut x) = (vector(b), vector(x));
        let mut smoother = config.build(&self.level).unwrap();
        if adjoint { smoother.step_adjoint(&b, &mut x) } else { smoother.step(&b, &mut x) }.unwrap();
        let mut stored = vec![0.0; space.storage()];
        backend.download(&x, &mut stored).unwrap();
        let dofs = space.to_dofs(&stored).unwrap();
        assert_eq!(space.from_dofs(&dofs).unwrap(), stored, "an entry that is no unknown is not zero");
        DVector::from_vec(dofs)
    }

    /// `E e` of `x - x* ← E (x - x*)`, for a solution that is not zero.
    fn propagated(&self, config: SmootherConfig, adjoint: bool, error: &Dofs) -> Dofs {
        let solution = self.random(7);
        self.step(config, adjoint, &(&self.a * &solution), &(&solution + error)) - solution
    }

    /// `e - ω D⁻¹ A e`.
    fn jacobi(&self, damping: f64, e: &Dofs) -> Dofs {
        e - self.diagonal(&(&self.a * e)) * damping
    }

    /// `-(D + L)⁻¹ U e`, or that of the opposite order.
    fn gauss_seidel(&self, reverse: bool, e: &Dofs) -> Dofs {
        let n = e.len();
        let mut e = e.clone();
        for i in (0..n).map(|i| if reverse { n - 1 - i } else { i }) {
            e[i] -= self.a.row(i).transpose().dot(&e) / self.a[(i, i)];
        }
        e
    }

    /// `e - ω Σ_j R_jᵀ A_j⁻¹ R_j A e`, the patches being the dofs strictly inside of the cells around a vertex.
    fn additive(&self, damping: f64, e: &Dofs) -> Dofs {
        let Self { space, a, .. } = self;
        let (k, [cells, ..]) = (space.degree(), space.mesh().cells_along());
        let nodes: Vec<_> = space.unknowns().collect();
        let residual = a * e;
        let mut result = e.clone();
        let last = if space.dim() == 3 { cells } else { 2 };
        for vertex in (1..last).flat_map(|z| (1..cells).flat_map(move |y| (1..cells).map(move |x| [x, y, z]))) {
            let inside = |node: &[usize; 3]| (0..space.dim()).all(|d| node[d].abs_diff(vertex[d] * k) < k);
            let dofs: Vec<usize> = (0..nodes.len()).filter(|&i| inside(&nodes[i])).collect();
            let local = a.select_rows(&dofs).select_columns(&dofs).cholesky().unwrap();
            let correction = local.solve(&residual.select_rows(&dofs));
            for (&dof, correction) in dofs.iter().zip(correction.iter()) {
                result[dof] -= damping * correction;
            }
        }
        result
    }

    /// Without weights `e - Σ_k z_k` has the factor `W_m(1 - 2 λ / b) / (2 m + 1)`, `W_m` being the Chebyshev polynomial of the fourth
    /// kind, `W_m(cos θ) = sin((m + 1/2) θ) / sin(θ / 2)`. With weights, step `k` adds `β_k` times the difference of two of these.
    fn fourth_kind(&self, weights: &[f64], bound: f64, e: &Dofs) -> Dofs {
        let map = |e: &Dofs| e - self.diagonal(&(&self.a * e)) * (2.0 / bound);
        let (mut last, mut current) = (e.clone(), map(e) * 2.0 + e);
        let mut result = e.clone();
        for (k, weight) in (1..).map(f64::from).zip(weights) {
            result += (&current / (2.0 * k + 1.0) - &last / (2.0 * k - 1.0)) * *weight;
            (last, current) = (current.clone(), map(&current) * 2.0 - last);
        }
        result
    }

    /// `T_m((θ - D⁻¹ A) / δ) e / T_m(θ / δ)`.
    fn chebyshev(&self, degree: usize, [low, high]: [f64; 2], e: &Dofs) -> Dofs {
        let (center, radius) = (0.5 * (low + high), 0.5 * (high - low));
        let map = |e: &Dofs| (e * center - self.diagonal(&(&self.a * e))) / radius;
        let (mut last, mut current) = (e.clone(), map(e));
        let (mut last_scale, mut scale) = (1.0, center / radius);
        for _ in 1..degree {
            (last, current) = (current.clone(), map(&current) * 2.0 - last);
            (last_scale, scale) = (scale, 2.0 * center / radius * scale - last_scale);
        }
        current / scale
    }
}

fn close(found: &Dofs, expected: &Dofs, what: &str) {
    let error = (found - expected).amax();
    // Negated, so that a NaN fails.
    assert!(error <= 1e-11, "{what}: off by {error}, largest {}", expected.amax());
}

#[test]
fn a_step_propagates_the_error_as_the_books_say() {
    for case in SMALL {
        let fixture = Fixture::new(case);
        let e = fixture.random(1);
        let check = |config: SmootherConfig, adjoint: bool, expected: Dofs| {
            close(&fixture.propagated(config, adjoint, &e), &expected, &format!("{config:?} {case:?} {adjoint}"));
        };
        check(SmootherConfig::Jacobi { damping: 0.7 }, false, fixture.jacobi(0.7, &e));
        check(SmootherConfig::AdditivePatch { damping: 0.3 }, false, fixture.additive(0.3, &e));
        for reverse in [false, true] {
            check(SmootherConfig::PointGaussSeidel, reverse, fixture.gauss_seidel(reverse, &e));
        }
        for degree in [1, 2, 4] {
            let interval = Chebyshev::new(&fixture.level, degree, 8.0).unwrap().interval();
            let config = SmootherConfig::Chebyshev { degree, range: 8.0 };
            check(config, false, fixture.chebyshev(degree, interval, &e));
        }
        let [_, bound] = Chebyshev::new(&fixture.level, 1, 8.0).unwrap().interval();
        for weights in [
            &[1.125][..],
            &[1.02387287570313, 1.26408905371085],
            &[1.00842544782028, 1.0886783920873, 1.33753125909618],
        ] {
            let config = SmootherConfig::ChebyshevFourthKind { degree: weights.len() };
            check(config, false, fixture.fourth_kind(weights, bound, &e));
        }
    }
}

#[test]
fn adjoint_steps_are_adjoint_in_energy() {
    for case in SMALL {
        let fixture = Fixture::new(case);
        let (u, v) = (fixture.random(2), fixture.random(3));
        for config in all(case[0]) {
            let left = (&fixture.a * fixture.propagated(config, true, &u)).dot(&v);
            let right = (&fixture.a * &u).dot(&fixture.propagated(config, false, &v));
            assert!(
                (left - right).abs() < 1e-11 * (&fixture.a * &u).norm() * v.norm(),
                "{config:?} {case:?}: {left} {right}"
            );
        }
    }
}

#[test]
fn the_interval_of_chebyshev_ends_above_the_largest_eigenvalue() {
    for case in [[2, 1, 3], [2, 2, 2], [2, 4, 2], [3, 1, 2], [3, 3, 1]] {
        let fixture = Fixture::new(case);
        let root = DMatrix::from_diagonal(&fixture.a.diagonal().map(|entry| 1.0 / entry.sqrt()));
        let largest = (&root * &fixture.a * &root).symmetric_eigenvalues().max();
        let [low, high] = Chebyshev::new(&fixture.level, 3, 15.0).unwrap().interval();
        assert!(high >= largest && high <= 1.2 * largest * (1.0 + 1e-9), "{case:?}: {high}, {largest}");
        assert!((high / low - 15.0).abs() < 1e-9, "{case:?}: {low}, {high}");
    }
}

fn iterations(case: [usize; 3], method: Method, smoother: SmootherConfig, precision: Precision) -> usize {
    let stopping = Stopping { rtol: 1e-8, max_iters: 100 };
    let config = Config { method, precision, smoother, stopping, ..Config::default() };
    let report = solve_system(Family::Continuous, case, Problem::Sine, config);
    assert!(report.info.converged, "{config:?} {case:?}: {:?}", report.info);
    report.info.iterations
}

#[test]
fn every_smoother_makes_v_cycles_and_krylov_methods_converge() {
    for case in [[2, 1, 4], [2, 3, 4], [2, 6, 3], [3, 1, 3], [3, 2, 3], [3, 4, 2]] {
        for smoother in all(case[0]) {
            let plain = iterations(case, Method::VCycle, smoother, Precision::F64);
            let gmres = iterations(case, Method::Gmres, smoother, Precision::F64);
            assert!(gmres <= plain, "{smoother:?} {case:?}: GMRES {gmres}, V-cycles {plain}");
            // The V-cycle made symmetric may be worse than the usual one.
            let cg = iterations(case, Method::Cg, smoother, Precision::F64);
            assert!(2 * cg <= 3 * plain, "{smoother:?} {case:?}: CG {cg}, V-cycles {plain}");
            let mixed = iterations(case, Method::VCycle, smoother, Precision::Mixed);
            assert_eq!(mixed, plain, "{smoother:?} {case:?}: in mixed precision and in double");
        }
    }
}

/// Those of assembled matrices (`data/full_multigrid.py gauss-seidel` for V-cycles), dofs in lexicographic order before and
/// after the coarse correction, in 2D on level 4. Two other implementations have 6 9 10 11 12 and 8 10 12 14 17, with
/// definitions of an iteration that are not known. Nearest here are GMRES to 1e-8, which differs for degree 1, and full
/// multigrid to 1e-9 of the residual after its first pass, 8 10 12 14 15, which differs for degree 5.
#[test]
fn point_gauss_seidel_takes_as_many_iterations_as_independent_ones() {
    for (method, rtol, expected) in [
        (Method::VCycle, 1e-8, [7, 9, 10, 11, 13]),
        (Method::VCycle, 1e-9, [8, 10, 11, 13, 15]),
        (Method::Fmg, 1e-9, [7, 8, 8, 9, 9]),
        (Method::Gmres, 1e-8, [7, 9, 10, 11, 12]),
        (Method::Cg, 1e-8, [7, 7, 8, 8, 10]),
        (Method::Cg, 1e-9, [7, 8, 9, 9, 11]),
    ] {
        let found = [1, 2, 3, 4, 5].map(|degree| {
            let (smoother, stopping) = (SmootherConfig::PointGaussSeidel, Stopping { rtol, max_iters: 30 });
            let config = Config { method, smoother, stopping, restart: 30, ..Config::default() };
            solve_system(Family::Continuous, [2, degree, 4], Problem::One, config).info.iterations
        });
        assert_eq!(found, expected, "{method:?} to {rtol:e}");
    }
}

/// Chebyshev of both kinds is left out: a step of it has several residuals.
#[test]
fn patches_need_fewest_iterations() {
    for case in [[2, 2, 4], [2, 5, 3], [3, 2, 3], [3, 3, 2]] {
        let [patch, additive, point, jacobi, ..] =
            all(case[0]).map(|s| iterations(case, Method::VCycle, s, Precision::F64));
        assert!(patch < point && point < jacobi && patch < additive, "{case:?}: {patch} {additive} {point} {jacobi}");
    }
}

#[test]
fn every_smoother_makes_a_symmetric_v_cycle() {
    let backend = cpu();
    for [dim, degree, refine] in [[2, 3, 3], [3, 2, 2]] {
        let space = space(dim, degree, refine);
        let vector = |seed| {
            let mut next = pseudo_random(seed);
            let dofs: Vec<f64> = (0..space.dofs()).map(|_| next()).collect();
            let mut x = backend.zeros(space.storage()).unwrap();
            backend.upload(&space.from_dofs(&dofs).unwrap(), &mut x).unwrap();
            x
        };
        let (x, y) = (vector(1), vector(2));
        for smoother in all(dim) {
            let mut cycle =
                Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &smoother, VCycle::symmetric()).unwrap();
            let mut z = backend.zeros(space.storage()).unwrap();
            cycle.apply(&y, &mut z).unwrap();
            let (xmy, norm) = (backend.dot(&x, &z).unwrap(), backend.norm(&z).unwrap());
            cycle.apply(&x, &mut z).unwrap();
            let ymx = backend.dot(&y, &z).unwrap();
            assert!((xmy - ymx).abs() < 1e-13 * norm * backend.norm(&x).unwrap(), "{smoother:?}: {xmy}, {ymx}");
        }
    }
}

#[test]
fn bad_values_name_what_is_allowed() {
    let fixture = Fixture::new([2, 2, 2]);
    let error = |smoother: SmootherConfig| smoother.build(&fixture.level).map(|_| ()).unwrap_err();
    for damping in [0.0, -1.0, 2.0, f64::NAN] {
        for smoother in [SmootherConfig::Jacobi { damping }, SmootherConfig::AdditivePatch { damping }] {
            assert!(matches!(error(smoother), Error::InvalidArgument { name: "damping", .. }), "{smoother:?}");
        }
    }
    for smoother in [(0, 15.0), (3, 1.0), (3, f64::NAN), (3, f64::INFINITY)] {
        let (degree, range) = smoother;
        assert!(matches!(error(SmootherConfig::Chebyshev { degree, range }), Error::InvalidArgument { .. }));
    }
    for degree in [0, 7] {
        assert!(matches!(error(SmootherConfig::ChebyshevFourthKind { degree }), Error::InvalidArgument { .. }));
    }
}
