//! Functions that the GPU evaluates itself, against the host: values and derivatives, load vectors and errors.

use super::compare::{downloaded, random, uploaded};
use crate::{Outcome, Suite};
use libtest_mimic::Failed;
use patchmg::Error;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::backend::{Backend, Function, Operation, Program, Scalar, Step, WeightedGrid};
use patchmg::function::Function as Solution;
use patchmg::krylov::unobserved;
use patchmg::measure::Protocol;
use patchmg::mesh::Mesh;
use patchmg::problem::{ErrorNorms, SampledLoad, load_vector};
use patchmg::solve::{Case, Config, Precision, SolutionOnMachine, Wanted};
use patchmg::space::Family;
use patchmg::system::poisson::Problem;
use patchmg::system::{ErrorsOnMachine, ModelProblem, Poisson};
use std::sync::Arc;

const X: Step = Step::Coordinate(0);
const Y: Step = Step::Coordinate(1);
const Z: Step = Step::Coordinate(2);
const TIMES: Step = Step::Two(Operation::Multiply);
const PLUS: Step = Step::Two(Operation::Add);

fn program(steps: &[Step]) -> Program {
    Program::new(steps.iter().copied()).expect("steps that find their arguments")
}

pub fn add<T: Scalar>(suite: &mut Suite) {
    let mut test = |name: &str, programs: Vec<Program>| {
        suite.test(format!("expressions::{name}::{}", T::NAME), move |gpu| {
            programs.iter().try_for_each(|f| check::<T>(gpu, f))
        });
    };
    for function in Function::ALL {
        test(
            &format!("{function:?}").to_lowercase(),
            vec![program(&[X, Step::One(function)]), program(&[X, Y, TIMES, Step::One(function)])],
        );
    }
    for operation in Operation::ALL {
        let constants = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0].map(Step::Constant);
        let pairs = constants.iter().flat_map(|&constant| [[X, constant], [constant, X]]).chain([[X, Y], [X, X]]);
        test(
            &format!("{operation:?}").to_lowercase(),
            pairs.map(|[a, b]| program(&[a, b, Step::Two(operation)])).collect(),
        );
    }
    // exp(x y z) sqrt(1 + x x) / (2 + sin(3 y)): calls with results that are kept across others.
    test(
        "composed",
        vec![program(&[
            X,
            Y,
            TIMES,
            Z,
            TIMES,
            Step::One(Function::Exp),
            Step::Constant(1.0),
            X,
            X,
            TIMES,
            PLUS,
            Step::One(Function::Sqrt),
            TIMES,
            Step::Constant(2.0),
            Step::Constant(3.0),
            Y,
            TIMES,
            Step::One(Function::Sin),
            PLUS,
            Step::Two(Operation::Divide),
        ])],
    );
}

/// A difference in the last digits of a result that is a sum of terms as large as its weight, or larger.
fn is_close(found: f64, expected: f64, weight: f64, tolerance: f64) -> bool {
    found == expected
        || found.is_nan() && expected.is_nan()
        || (found - expected).abs() <= tolerance * expected.abs().max(weight.abs()).max(1.0)
}

/// Values and derivatives in special numbers and in others.
fn check<T: Scalar>(gpu: &Arc<Cuda>, f: &Program) -> Outcome {
    let special = [0.0, -0.0, 1.0, -1.0, 1e-310, 1e6, -3e9, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let numbers = |seed, count| random::<f64>(seed, count).iter().map(|x| 4.0 * x).collect::<Vec<_>>();
    let (many, few) = (numbers(1, 301), numbers(2, 7));
    let mixed = [&special[..], &few].concat();
    let ones = vec![1.0; many.len()];
    let weights = numbers(3, many.len());
    let ones = &ones[..mixed.len()];
    let grids = [
        // Rows that fill no block, and one plane.
        vec![[&mixed[..], ones], [&mixed, ones]],
        vec![[&many[..], &weights[..]], [&few, &weights[..7]], [&few[..5], &weights[7..12]]],
    ];
    // Some roundings of each step, or that of the result.
    let (cpu, tolerance) = (Cpu::new(None)?, if size_of::<T>() == 8 { 2e-15 * f.steps().len() as f64 } else { 2e-7 });
    for (axes, derivative) in grids.iter().flat_map(|grid| [None, Some(0), Some(1), Some(2)].map(|d| (grid, d))) {
        let grid = &WeightedGrid::new(axes)?;
        let weight = |mut index: usize| -> f64 {
            let of_axis = |[_, weights]: &[&[f64]; 2]| (weights[index % weights.len()], index /= weights.len()).0;
            axes.iter().map(of_axis).product()
        };
        for subtract in [false, true] {
            let length = grid.len() + 3;
            let start = if subtract { random::<T>(4, length) } else { vec![T::from_f64(f64::NAN); length] };
            let (mut x, mut y) = (uploaded(gpu.as_ref(), &start)?, uploaded(&cpu, &start)?);
            gpu.evaluate(f, grid, derivative, &mut x, subtract)?;
            cpu.evaluate(f, grid, derivative, &mut y, subtract)?;
            let (found, expected) = (downloaded(gpu.as_ref(), &x, length)?, downloaded(&cpu, &y, length)?);
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                if !is_close(found.to_f64(), expected.to_f64(), weight(index), tolerance) {
                    let what = format!("{f:?}, derivative {derivative:?}, subtract {subtract}, entry {index}");
                    return Err(format!("{what}: {found:?}, expected {expected:?}").into());
                }
            }
        }
    }
    Ok(())
}

/// Functions that are programs.
#[derive(Clone)]
struct Given {
    f: Program,
    u: Program,
    boundary: Option<Program>,
}

impl ModelProblem for Given {
    type System = Poisson;
    type Errors = ErrorNorms;

    fn check(&self, _system: &Poisson) -> patchmg::Result<()> {
        Ok(())
    }

    fn load(&self, system: &Poisson) -> patchmg::Result<Vec<f64>> {
        let mut load = load_vector(system.space(), &self.f)?;
        if let Some(boundary) = &self.boundary {
            system.add_boundary_load(boundary, &mut load)?;
        }
        Ok(load)
    }

    fn sampled_load(&self, system: &Poisson) -> patchmg::Result<Option<SampledLoad>> {
        system.sampled_load(&self.f, self.boundary.as_ref().map(|boundary| boundary as _))
    }

    fn errors(&self, u: &Solution) -> patchmg::Result<Option<ErrorNorms>> {
        u.error_to(&self.u).map(Some)
    }

    fn errors_on_machine<B: Backend>(
        &self,
        system: &Poisson,
        u: &SolutionOnMachine<B>,
    ) -> patchmg::Result<ErrorsOnMachine<ErrorNorms>> {
        system.errors_on_machine(u, Some(&self.u))
    }
}

pub fn add_solves(suite: &mut Suite) {
    for family in [Family::Continuous, Family::Discontinuous] {
        for precision in [Precision::F64, Precision::F32, Precision::Mixed] {
            for (dim, degree, refine) in [(2, 3, 5), (3, 2, 3), (3, 4, 3)] {
                let elements = if family == Family::Continuous { "continuous" } else { "discontinuous" };
                let name = format!("expressions::solve::{elements}::{dim}d::q{degree}::{precision}");
                suite.test(name, move |gpu| solve(gpu, family, [dim, degree, refine], precision));
            }
        }
    }
    suite.test("expressions::solve::cosine", cosine);
    suite.test("expressions::not_finite", not_finite);
}

/// `f = 1 + exp(x y)`, whose solution is not known: errors are those to any other function.
fn given(family: Family) -> Given {
    let exponential = [X, Y, TIMES, Step::One(Function::Exp)];
    let u = program(&exponential);
    let f = program(&[&exponential[..], &[Step::Constant(1.0), PLUS]].concat());
    Given { f, boundary: (family == Family::Discontinuous).then(|| u.clone()), u }
}

fn case<P: ModelProblem<System = Poisson>>(
    family: Family,
    [dim, degree, refine]: [usize; 3],
    precision: Precision,
    problem: P,
) -> patchmg::Result<Case<P>> {
    let system = Poisson::new(family, Mesh::of_box(&[1; 3][..dim], &[1.5, 1.0, 0.75][..dim], refine)?, degree)?;
    let mut config = Config { precision, ..Config::default() };
    config.stopping.rtol = if precision == Precision::F32 { 1e-4 } else { 1e-10 };
    Ok(Case { system, problem, config })
}

/// Errors alone, without the host, and those of the same solve with the load vector and the errors of the host. On a device of its own:
/// other tests launch kernels, too.
fn solve(_: &Arc<Cuda>, family: Family, sizes: [usize; 3], precision: Precision) -> Outcome {
    let gpu = &Arc::new(Cuda::new(0)?);
    let case = case(family, sizes, precision, given(family))?;
    let problem = case.problem.clone();
    gpu.take_launched();
    let prepared = case.clone().prepare(&**gpu)?;
    let (found, u) = prepared.solve_for(gpu, None, Wanted::ERRORS, Protocol::ONCE, &mut unobserved)?;
    let launched = gpu.take_launched();
    if u.is_some() || !launched.iter().any(|name| name == "expression_evaluate_f64") {
        return Err(format!("the host computed: {launched:?}").into());
    }
    let load = problem.load(&case.system)?;
    let on_host = patchmg::solve::solve(gpu, &case.system, load, &case.config, &mut unobserved)?;
    let expected = problem.errors(&on_host.u)?.ok_or("no errors")?;
    let found = found.errors.ok_or("no errors")?;
    // Load vectors differ by rounding, and so do residuals.
    let tolerance = if precision == Precision::F32 { 1e-4 } else { 1e-8 };
    for (found, expected) in [(found.l2, expected.l2), (found.h1, expected.h1)] {
        if (found - expected).abs() > tolerance * expected {
            return Err(format!("error {found:e}, expected {expected:e}").into());
        }
    }
    Ok(())
}

/// A problem of the library with boundary values.
fn cosine(gpu: &Arc<Cuda>) -> Outcome {
    let case = case(Family::Discontinuous, [3, 3, 2], Precision::F64, Problem::Cosine)?;
    let found = case.clone().solve(gpu, &mut unobserved)?.0.errors.ok_or("no errors")?;
    let expected = case.solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?.0.errors.ok_or("no errors")?;
    if (found.l2 - expected.l2).abs() > 1e-7 * expected.l2 {
        return Err(format!("error {:e}, expected {:e}", found.l2, expected.l2).into());
    }
    Ok(())
}

/// `f = log(x - 1)`: the error says where.
fn not_finite(gpu: &Arc<Cuda>) -> Outcome {
    let f = program(&[X, Step::Constant(1.0), Step::Two(Operation::Subtract), Step::One(Function::Log)]);
    let problem = Given { f, ..given(Family::Continuous) };
    let refused = case(Family::Continuous, [2, 2, 3], Precision::F64, problem)?.solve(gpu, &mut unobserved);
    match refused.err() {
        Some(Error::NotFinite { what: "right-hand side", place, .. }) if place.contains(',') => Ok(()),
        other => Err(Failed::from(format!("{other:?}"))),
    }
}
