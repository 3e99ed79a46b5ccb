//! Krylov solvers against a direct solver, on small dense operators and on Poisson's equation.

#[path = "common/cases.rs"]
mod common;

use common::{cpu, pseudo_random, solve_system, space};
use nalgebra::{DMatrix, DVector};
use patchmg::backend::cpu::Cpu;
use patchmg::backend::{Backend, PatchKernel};
use patchmg::krylov::{Cg, Divergence, Fgmres, Gmres, Info, Outcome, Richardson, Solver, Stopping};
use patchmg::multigrid::{LowPrecision, Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{Identity, LinearOperator, Preconditioner};
use patchmg::problem::Problem;
use patchmg::solve::{Config, Method, Precision, System};
use patchmg::system::Runs;
use patchmg::{Error, Result};
use std::sync::Arc;

type Vector = <Cpu as Backend>::Vector<f64>;

/// A dense matrix; as a preconditioner, applied times 1, 2, 1, 2, ... if it alternates.
struct Dense {
    backend: Arc<Cpu>,
    matrix: DMatrix<f64>,
    symmetric: bool,
    alternates: bool,
    applied: usize,
}

impl Dense {
    fn new(matrix: DMatrix<f64>) -> Self {
        let symmetric = matrix == matrix.transpose();
        Self { backend: cpu(), matrix, symmetric, alternates: false, applied: 0 }
    }

    fn multiply(&self, x: &Vector, scale: f64, y: &mut Vector) -> Result<()> {
        let product = &self.matrix * self.get(x)? * scale;
        self.backend.upload(product.as_slice(), y)
    }

    fn get(&self, x: &Vector) -> Result<DVector<f64>> {
        let mut host = DVector::zeros(self.matrix.nrows());
        self.backend.download(x, host.as_mut_slice())?;
        Ok(host)
    }

    fn set(&self, host: &DVector<f64>) -> Vector {
        let mut x = self.vector().unwrap();
        self.backend.upload(host.as_slice(), &mut x).unwrap();
        x
    }
}

impl LinearOperator<Cpu, f64> for Dense {
    fn backend(&self) -> &Arc<Cpu> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.matrix.nrows()
    }

    fn apply(&self, x: &Vector, y: &mut Vector) -> Result<()> {
        self.multiply(x, 1.0, y)
    }
}

impl Preconditioner<Cpu, f64> for Dense {
    fn apply(&mut self, r: &Vector, z: &mut Vector) -> Result<()> {
        let scale = if self.alternates && self.applied % 2 == 1 { 2.0 } else { 1.0 };
        self.applied += 1;
        self.multiply(r, scale, z)
    }

    fn is_symmetric(&self) -> bool {
        self.symmetric
    }
}

fn random(n: usize, seed: u64) -> DMatrix<f64> {
    let mut next = pseudo_random(seed);
    DMatrix::from_fn(n, n, |_, _| next())
}

/// Symmetric positive definite, condition number of some tens.
fn spd(n: usize, seed: u64) -> DMatrix<f64> {
    let a = random(n, seed);
    let b = &a * a.transpose() + DMatrix::identity(n, n) * (n as f64 / 20.0);
    (&b + b.transpose()) * 0.5
}

fn right_hand_side(n: usize) -> DVector<f64> {
    let mut next = pseudo_random(99);
    DVector::from_fn(n, |_, _| next())
}

/// Solves from zero; what the solver says, and the solution.
fn run<M>(
    solver: &mut impl Solver<Cpu, f64, Dense, M>,
    operator: &Dense,
    preconditioner: &mut M,
    stopping: Stopping,
) -> Result<(Info, DVector<f64>)> {
    let b = operator.set(&right_hand_side(operator.storage()));
    let mut x = operator.vector()?;
    let info = solver.solve(operator, preconditioner, &b, &mut x, &stopping, &mut |_, _| ())?;
    Ok((info, operator.get(&x)?))
}

fn true_residual(operator: &Dense, x: &DVector<f64>) -> f64 {
    let b = right_hand_side(operator.storage());
    (&b - &operator.matrix * x).norm() / b.norm()
}

const TIGHT: Stopping = Stopping { rtol: 1e-11, max_iters: 200 };

#[test]
fn gmres_equals_a_direct_solver() {
    let n = 40;
    for matrix in [spd(n, 1), random(n, 2) + DMatrix::identity(n, n) * 3.0] {
        let operator = Dense::new(matrix.clone());
        let expected = matrix.lu().solve(&right_hand_side(n)).unwrap();
        let mut identity = Identity::new(&operator.backend);
        let (info, x) = run(&mut Gmres::new(&operator, n).unwrap(), &operator, &mut identity, TIGHT).unwrap();
        assert!(info.converged && info.iterations <= n, "{info:?}");
        assert!((&x - &expected).norm() < 1e-8 * expected.norm());
        assert!((info.residual_history.last().unwrap() - true_residual(&operator, &x)).abs() < 1e-13);
    }
}

#[test]
fn gmres_minimizes_over_the_right_preconditioned_krylov_space() {
    let n = 30;
    let (a, m) = (random(n, 3) + DMatrix::identity(n, n) * 2.0, random(n, 4) + DMatrix::identity(n, n));
    let (operator, mut preconditioner) = (Dense::new(a.clone()), Dense::new(m.clone()));
    let mut solver = Gmres::new(&operator, 12).unwrap();
    let stopping = Stopping { max_iters: 12, ..TIGHT };
    let (info, _) = run(&mut solver, &operator, &mut preconditioner, stopping).unwrap();
    let b = right_hand_side(n);
    let mut images: Vec<DVector<f64>> = Vec::new();
    for found in &info.residual_history[1..] {
        let last = images.last().unwrap_or(&b);
        let image = &a * &m * last;
        images.push(image.normalize());
        let q = DMatrix::from_columns(&images).qr().q();
        let least = (&b - &q * (q.transpose() * &b)).norm() / b.norm();
        assert!((found / least - 1.0).abs() < 1e-6, "{found} != {least}");
    }
}

#[test]
fn restarted_gmres_ends_at_the_true_residual() {
    let operator = Dense::new(spd(40, 5));
    let mut identity = Identity::new(&operator.backend);
    let (full, _) = run(&mut Gmres::new(&operator, 40).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    let (info, x) = run(&mut Gmres::new(&operator, 5).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    assert!(info.converged && info.iterations > full.iterations, "{info:?}");
    assert!(true_residual(&operator, &x) <= 1.0001e-11);
    assert!(info.residual_history.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{info:?}");
    assert_eq!(info.residual_history[..5], full.residual_history[..5]);
}

#[test]
fn only_flexible_gmres_is_right_about_a_preconditioner_that_varies() {
    let operator = Dense::new(random(40, 6) + DMatrix::identity(40, 40) * 4.0);
    let varying = || Dense { alternates: true, ..Dense::new(DMatrix::identity(40, 40)) };
    let stopping = Stopping { max_iters: 60, ..TIGHT };
    let (flexible, x) = run(&mut Fgmres::new(&operator, 40).unwrap(), &operator, &mut varying(), stopping).unwrap();
    assert!(flexible.converged && flexible.iterations <= 40, "{flexible:?}");
    assert!(true_residual(&operator, &x) <= 1.0001e-11);
    // What plain GMRES reports at the end is true all the same.
    let (plain, x) = run(&mut Gmres::new(&operator, 40).unwrap(), &operator, &mut varying(), stopping).unwrap();
    let (last, truth) = (*plain.residual_history.last().unwrap(), true_residual(&operator, &x));
    assert!((last - truth).abs() <= 1e-12 + 1e-9 * truth, "{last} != {truth}");
    assert_eq!(plain.converged, truth <= 1e-11);
}

#[test]
fn conjugate_gradients_equal_a_direct_solver() {
    let (operator, mut preconditioner) = (Dense::new(spd(40, 7)), Dense::new(spd(40, 8)));
    let expected = operator.matrix.clone().lu().solve(&right_hand_side(40)).unwrap();
    let mut solver = Cg::new(&operator).unwrap();
    let (info, x) = run(&mut solver, &operator, &mut preconditioner, TIGHT).unwrap();
    assert!(info.converged, "{info:?}");
    assert!((x - &expected).norm() < 1e-8 * expected.norm());
}

#[test]
fn conjugate_gradients_refuse_what_they_cannot_solve() {
    let operator = Dense::new(spd(10, 9));
    let mut solver = Cg::new(&operator).unwrap();
    let error = run(&mut solver, &operator, &mut Dense::new(random(10, 10)), TIGHT).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    let negative = Dense::new(-spd(10, 9));
    let mut identity = Identity::new(&operator.backend);
    let error = run(&mut solver, &negative, &mut identity, TIGHT).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { what: "operator" }), "{error}");
}

#[test]
fn breakdown_is_no_panic() {
    let n = 8;
    // One step is enough: the Krylov space stops growing.
    let operator = Dense::new(DMatrix::identity(n, n));
    let mut identity = Identity::new(&operator.backend);
    let (info, _) = run(&mut Gmres::new(&operator, n).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    assert_eq!((info.iterations, info.converged), (1, true));
    // No step is enough: the operator is singular.
    let zero = Dense::new(DMatrix::zeros(n, n));
    let stopping = Stopping { max_iters: 3, ..TIGHT };
    let (info, x) = run(&mut Gmres::new(&zero, 3).unwrap(), &zero, &mut identity, stopping).unwrap();
    assert_eq!((info.iterations, info.outcome), (3, Outcome::MaxIterations));
    assert_eq!(x, DVector::zeros(n));
}

/// Where nothing is gained, and not because of rounding.
#[test]
fn a_standstill_is_stagnation_without_a_reason() {
    let n = 8;
    let standstill = Outcome::Stagnated { residual: 1.0, rounding: false };
    // A preconditioner that does nothing.
    let operator = Dense::new(DMatrix::identity(n, n));
    let mut nothing = Dense::new(DMatrix::zeros(n, n));
    let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut nothing, TIGHT).unwrap();
    assert_eq!((info.iterations, info.outcome), (5, standstill));
    // A cyclic shift: the Krylov space has the solution in it after `n` iterations and nothing of it before.
    let shift = Dense::new(DMatrix::from_fn(n, n, |i, j| f64::from(i == (j + 1) % n)));
    let mut identity = Identity::new(&shift.backend);
    let b = shift.set(&DVector::from_fn(n, |i, _| f64::from(i == 0)));
    for (restart, iterations, outcome) in [(3, 15, standstill), (n, n, Outcome::Converged)] {
        let mut x = shift.vector().unwrap();
        let mut gmres = Gmres::new(&shift, restart).unwrap();
        let info = gmres.solve(&shift, &mut identity, &b, &mut x, &TIGHT, &mut |_, _| ()).unwrap();
        assert_eq!((info.iterations, info.outcome), (iterations, outcome), "restart {restart}");
    }
}

/// `x ← x + 0.01 (b - A x)` with `A = I` gains 1 % an iteration.
#[test]
fn slow_convergence_is_not_stagnation() {
    let operator = Dense::new(DMatrix::identity(8, 8));
    let mut small = Dense::new(DMatrix::identity(8, 8) * 0.01);
    for rtol in [1e-6, 1e-9] {
        let stopping = Stopping { rtol, max_iters: 10_000 };
        let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut small, stopping).unwrap();
        assert!(info.converged, "{:?}", info.outcome);
        assert_eq!(info.iterations, (rtol.ln() / 0.99f64.ln()).ceil() as usize);
    }
}

#[test]
fn every_solver_stops_at_rounding() {
    let cases = [
        (System::PoissonCg, [2, 1, 5]),
        (System::PoissonCg, [2, 3, 4]),
        (System::PoissonCg, [2, 10, 3]),
        (System::PoissonCg, [3, 2, 3]),
        (System::PoissonCg, [3, 7, 2]),
        (System::PoissonDg, [2, 2, 4]),
        (System::PoissonDg, [3, 4, 2]),
    ];
    for ((system, parameters), method) in cases.into_iter().flat_map(|case| Method::ALL.map(|method| (case, method))) {
        for precision in Precision::ALL {
            let run = |rtol| {
                let stopping = Stopping { rtol, max_iters: 100 };
                let config = Config { method, precision, stopping, ..Config::default() };
                solve_system(system, parameters, Problem::Sine, config).info
            };
            let check = |info: &Info| {
                let name = format!("{} {parameters:?} {method:?} {precision:?}: {info:?}", system.name());
                let last = *info.residual_history.last().unwrap();
                assert_eq!(info.outcome, Outcome::Stagnated { residual: last, rounding: true }, "{name}");
                assert!(!info.converged && info.fractional_iterations.is_none(), "{name}");
                assert!(last < if precision == Precision::F32 { 1e-3 } else { 1e-11 }, "{name}");
                (last, name)
            };
            let (floor, _) = check(&run(1e-20));
            // A tolerance just below: as long as rounding happens to lower the residual by 2 %, the iteration goes on.
            let info = run(0.3 * floor);
            let (_, name) = check(&info);
            let near = info.residual_history.iter().position(|&residual| residual <= 2.0 * floor).unwrap();
            assert!(info.iterations <= near + 20, "{name}");
        }
    }
}

/// Just above the residual where it stagnates, an iteration that gains a few percent each time goes on.
#[test]
fn slow_multigrid_converges_to_near_its_rounding() {
    let smoother = SmootherConfig::Jacobi { damping: 0.1 };
    for (method, parameters) in [(Method::VCycle, [2, 2, 3]), (Method::Cg, [2, 4, 3]), (Method::Gmres, [2, 4, 3])] {
        let run = |rtol| {
            let stopping = Stopping { rtol, max_iters: 2000 };
            let config = Config { method, smoother, stopping, ..Config::default() };
            solve_system(System::PoissonCg, parameters, Problem::Sine, config).info
        };
        let Outcome::Stagnated { residual, rounding: true } = run(1e-20).outcome else {
            panic!("{method:?}: {:?}", run(1e-20))
        };
        let info = run(2.0 * residual);
        assert!(info.converged, "{method:?}: {:?}, stagnates at {residual:e}", info.outcome);
        assert!(info.iterations > 25, "{method:?}: {} iterations", info.iterations);
    }
}

#[test]
fn what_is_not_finite_is_divergence_with_its_iteration() {
    let diverged = |iteration| Outcome::Diverged { iteration, cause: Divergence::NotFinite };
    let large = Dense::new(DMatrix::identity(4, 4) * 1e200);
    let mut identity = Identity::new(&large.backend);
    let (info, _) = run(&mut Richardson::new(&large).unwrap(), &large, &mut identity, TIGHT).unwrap();
    assert_eq!((info.outcome, info.residual_history), (diverged(1), vec![1.0]));
    // Its entries are finite, and the squares of what an iteration leaves of them are not.
    let dense = Dense::new(spd(4, 12) * 1e200);
    let (info, x) = run(&mut Gmres::new(&dense, 3).unwrap(), &dense, &mut identity, TIGHT).unwrap();
    assert_eq!((info.outcome, info.residual_history), (diverged(1), vec![1.0]));
    assert_eq!(x, DVector::zeros(4), "as before the iteration");
    let (info, _) = run(&mut Cg::new(&large).unwrap(), &large, &mut identity, TIGHT).unwrap();
    assert!(info.converged, "conjugate gradients scale: {:?}", info.outcome);

    let broken = Dense::new(DMatrix::from_element(4, 4, f64::NAN));
    for info in [
        run(&mut Gmres::new(&broken, 3).unwrap(), &broken, &mut identity, TIGHT).unwrap().0,
        run(&mut Cg::new(&broken).unwrap(), &broken, &mut identity, TIGHT).unwrap().0,
        run(&mut Richardson::new(&broken).unwrap(), &broken, &mut identity, TIGHT).unwrap().0,
    ] {
        assert_eq!((info.outcome, info.residual_history), (diverged(0), Vec::new()));
    }
}

#[test]
fn a_right_hand_side_that_is_not_finite_is_an_error() {
    let operator = Dense::new(DMatrix::identity(4, 4));
    let mut identity = Identity::new(&operator.backend);
    for value in [f64::NAN, f64::INFINITY] {
        let b = operator.set(&DVector::from_element(4, value));
        let mut x = operator.vector().unwrap();
        let mut solver = Richardson::new(&operator).unwrap();
        let error = solver.solve(&operator, &mut identity, &b, &mut x, &TIGHT, &mut |_, _| ()).unwrap_err();
        assert!(matches!(error, Error::NotFinite { what: "norm of the right-hand side", .. }), "{error}");
    }
}

/// `x ← x + 3 (b - x)` doubles the residual each time.
#[test]
fn growth_is_divergence_with_a_finite_history() {
    let operator = Dense::new(DMatrix::identity(4, 4));
    let mut large = Dense::new(DMatrix::identity(4, 4) * 3.0);
    let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut large, TIGHT).unwrap();
    // 2^20 is the first power above 1e6.
    assert_eq!(info.outcome, Outcome::Diverged { iteration: 20, cause: Divergence::Growth });
    assert_eq!((info.iterations, info.converged, info.residual_history.len()), (20, false, 21));
    assert!(info.residual_history.iter().all(|residual| residual.is_finite()));
}

#[test]
fn conjugate_gradients_diverge_with_a_preconditioner_that_is_not_definite() {
    let operator = Dense::new(spd(10, 9));
    let (info, x) =
        run(&mut Cg::new(&operator).unwrap(), &operator, &mut Dense::new(-DMatrix::identity(10, 10)), TIGHT).unwrap();
    let cause = Divergence::IndefinitePreconditioner;
    assert_eq!((info.outcome, info.residual_history), (Outcome::Diverged { iteration: 1, cause }, vec![1.0]));
    assert_eq!(x, DVector::zeros(10));
}

#[test]
fn nothing_is_the_solution_for_nothing() {
    let operator = Dense::new(spd(6, 11));
    let mut identity = Identity::new(&operator.backend);
    let b = operator.vector().unwrap();
    let mut x = operator.set(&right_hand_side(6));
    let mut solver = Gmres::new(&operator, 3).unwrap();
    let info = solver.solve(&operator, &mut identity, &b, &mut x, &TIGHT, &mut |_, _| ()).unwrap();
    assert_eq!((info.iterations, info.converged, info.residual_history), (0, true, vec![0.0]));
    assert_eq!(operator.get(&x).unwrap(), DVector::zeros(6));
    assert!(matches!(Gmres::new(&operator, 0), Err(Error::InvalidArgument { name: "restart", .. })));
}

/// A vector of random unknowns.
fn random_vector(space: &patchmg::space::Space, seed: u64) -> Vector {
    let mut next = pseudo_random(seed);
    let dofs: Vec<f64> = (0..space.dofs()).map(|_| next()).collect();
    let backend = cpu();
    let mut x = backend.zeros(space.storage()).unwrap();
    backend.upload(&space.from_dofs(&dofs).unwrap(), &mut x).unwrap();
    x
}

fn asymmetry(space: &patchmg::space::Space, m: &mut impl Preconditioner<Cpu, f64>) -> f64 {
    let backend = cpu();
    let (x, y) = (random_vector(space, 1), random_vector(space, 2));
    let mut z = backend.zeros(space.storage()).unwrap();
    m.apply(&y, &mut z).unwrap();
    let xmy = backend.dot(&x, &z).unwrap();
    let length = backend.norm(&x).unwrap() * backend.norm(&z).unwrap();
    m.apply(&x, &mut z).unwrap();
    (xmy - backend.dot(&y, &z).unwrap()).abs() / length
}

#[test]
fn the_v_cycle_with_adjoint_post_smoothing_is_symmetric() {
    let backend = cpu();
    for [dim, degree, refine] in [[2, 1, 4], [2, 4, 3], [3, 1, 3], [3, 3, 2]] {
        let space = space(dim, degree, refine);
        let mut symmetric =
            Multigrid::<_, f64>::new(&backend, &space, &SmootherConfig::default(), VCycle::symmetric()).unwrap();
        assert!(symmetric.is_symmetric());
        let found = asymmetry(&space, &mut symmetric);
        assert!(found < 1e-14, "{dim}D Q{degree}: {found}");
        let mut usual =
            Multigrid::<_, f64>::new(&backend, &space, &SmootherConfig::default(), VCycle::default()).unwrap();
        assert!(!usual.is_symmetric());
        let found = asymmetry(&space, &mut usual);
        assert!(found > 1e-7, "{dim}D Q{degree}: {found}");
    }
}

#[test]
fn a_v_cycle_on_one_patch_is_a_direct_solver() {
    let backend = cpu();
    for (dim, degree) in [(2, 1), (2, 10), (3, 1), (3, 5)] {
        let space = space(dim, degree, 1);
        let operator = backend.level::<f64>(&space, PatchKernel::default()).unwrap();
        let mut multigrid =
            Multigrid::<_, f64>::new(&backend, &space, &SmootherConfig::default(), VCycle::default()).unwrap();
        let b = random_vector(&space, 3);
        let (mut x, mut r) = (operator.vector().unwrap(), operator.vector().unwrap());
        multigrid.apply(&b, &mut x).unwrap();
        operator.residual(&b, &x, &mut r).unwrap();
        let relative = backend.norm(&r).unwrap() / backend.norm(&b).unwrap();
        assert!(relative < 1e-11, "{dim}D Q{degree}: {relative}");
    }
}

#[test]
fn low_precision_does_not_underflow() {
    let backend = cpu();
    let space = space(2, 3, 3);
    let mut double = Multigrid::<_, f64>::new(&backend, &space, &SmootherConfig::default(), VCycle::default()).unwrap();
    let single = Multigrid::<_, f32>::new(&backend, &space, &SmootherConfig::default(), VCycle::default()).unwrap();
    let mut single = LowPrecision::<_, f64, f32, _>::new(&backend, &space, single).unwrap();
    let (unit, mut small) = (random_vector(&space, 4), random_vector(&space, 4));
    backend.axpby(1e-60, &unit, 0.0, &mut small).unwrap();
    let mut expected = backend.zeros::<f64>(space.storage()).unwrap();
    let mut found = backend.zeros::<f64>(space.storage()).unwrap();
    double.apply(&small, &mut expected).unwrap();
    single.apply(&small, &mut found).unwrap();
    let norm = backend.norm(&expected).unwrap();
    backend.axpby(-1.0, &expected, 1.0, &mut found).unwrap();
    assert!(norm > 0.0 && backend.norm(&found).unwrap() < 1e-5 * norm);
}

#[test]
fn a_v_cycle_that_does_not_smooth_is_refused() {
    let cycle = VCycle { pre: 0, post: 0, ..VCycle::default() };
    assert!(matches!(
        Multigrid::<_, f64>::new(&cpu(), &space(2, 1, 2), &SmootherConfig::default(), cycle),
        Err(Error::InvalidArgument { .. })
    ));
}
