//! Elliptic equations on forests.

use super::data::GIVEN;
use super::forest_args::{
    COARSEN_FRACTION, ForestArgs, GuessName, MarkingName, REFINE_FRACTION, SmoothingName, WritesName,
};
use super::forest_mesh::{INNER_RADIUS, MeshChoice, MeshName};
use super::{Details, Offered, SystemName};
use crate::args::{self, CaseArgs};
use crate::failure::Failure;
use crate::report::CycleReport;
use patchmg::Error;
use patchmg::forest::{Adaptation, Cell, Forest};
use patchmg::memory;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::vtu;
use patchmg::problem::ErrorNorms;
use patchmg::solve::{Case, Config, Method, Report};
use patchmg::system::elliptic::{
    Benchmark, Elliptic, EllipticProblem, Equation, ForestFunction, MinimalSurface, Norms, Smoothing, WRITES, Writes,
};
use patchmg::system::{ModelProblem, Nonlinear};
use std::path::Path;

/// A problem that the library has by name, or one that expressions give.
#[derive(Clone, Debug)]
pub struct ForestProblem {
    benchmark: Option<Benchmark>,
    problem: EllipticProblem,
    equation: Equation,
}

/// What is known of a solution's error, and the solution's size.
pub struct Estimates {
    errors: Option<ErrorNorms>,
    norms: Norms,
    indicators: Vec<f64>,
    /// Of the graph, where it is to be least.
    area: Option<f64>,
}

impl Estimates {
    /// Of the error, from the indicators of all cells.
    fn estimate(&self) -> f64 {
        self.indicators.iter().map(|eta| eta * eta).sum::<f64>().sqrt()
    }
}

impl ModelProblem for ForestProblem {
    type System = Elliptic;
    type Errors = Estimates;

    fn check(&self, system: &Elliptic) -> patchmg::Result<()> {
        self.problem.check(system)
    }

    fn load(&self, system: &Elliptic) -> patchmg::Result<Vec<f64>> {
        self.problem.load(system)
    }

    fn with_boundary_values(&self, solution: ForestFunction) -> patchmg::Result<ForestFunction> {
        self.problem.with_boundary_values(solution)
    }

    fn errors(&self, solution: &ForestFunction) -> patchmg::Result<Option<Estimates>> {
        let area = match self.benchmark {
            Some(Benchmark::MinimalSurface { .. }) => {
                Some(solution.integral(|_, _, gradient| MinimalSurface::area(gradient))?)
            }
            _ => None,
        };
        let indicators = solution.kelly_indicators(&self.equation)?;
        Ok(Some(Estimates { errors: self.problem.errors(solution)?, norms: solution.norms()?, indicators, area }))
    }

    fn nonlinear(&self, system: &Elliptic) -> patchmg::Result<Option<Nonlinear>> {
        self.problem.nonlinear(system)
    }
}

impl Offered for ForestProblem {
    const PROBLEMS: &'static [(&'static str, &'static str)] = &[
        ("corner", "elliptic: f = 0, u = r^(2/3) sin(2/3 phi) around the corner of an L; mesh lshape"),
        ("shell", "elliptic: u = sin(pi (x + y)), a coefficient of 1 to 10^6; mesh shell"),
        ("variable", "elliptic: f = 1, u = 0 on the boundary, coefficient 1 + 1/2 prod_i sin(2 pi x_i); mesh box"),
        ("variable-neumann", "elliptic: the same, u = xy on the boundary, no flux where x = 1"),
        ("variable-flux", "elliptic: the same, flux 1 where x = 1"),
        ("hyper-l", "elliptic: f = 1, u = 0 where x = -1, no flux elsewhere; mesh hyper-l"),
        ("minimal-surface", "elliptic: the graph of least area, u = sin(F pi (x + y)) on the boundary; mesh disk"),
        (GIVEN, "what the options under Data say; of elliptic on mesh box"),
    ];
    const WITH_SOLUTION: &'static str = "corner or shell, or given with --exact";
    const DEFAULT: &'static str = "corner";
    const ELEMENTS: &'static str = "Q";
    const SOLVER: Method = Method::Cg;
    const ADAPTS: bool = true;

    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let engine = args.products.engine.map(|engine| ("engine", engine.to_string()));
        if let Some((option, value)) = args.kernel_options().into_iter().chain(engine).next() {
            return Err(Failure::usage(option, value, format_args!("is not there with --system {}", args.system)));
        }
        use args::Smoother::{Chebyshev, Chebyshev4, ChebyshevPatch, Jacobi};
        match args.smoother {
            Some(ChebyshevPatch) if args.is_nonlinear() => {
                let reason = "must be chebyshev, chebyshev4 or jacobi for a nonlinear equation";
                return Err(Failure::usage("smoother", ChebyshevPatch, reason));
            }
            None | Some(Chebyshev | ChebyshevPatch | Chebyshev4 | Jacobi) => {}
            Some(other) => {
                let allowed = "chebyshev, chebyshev-patch, chebyshev4 or jacobi";
                let reason = format_args!("must be {allowed} with --system {}", args.system);
                return Err(Failure::usage("smoother", other, reason));
            }
        }
        args.marking()?.map(|marking| marking.check()).transpose()?;
        if let Some(estimate) = args.forest.until_estimate.filter(|estimate| estimate.is_nan() || *estimate <= 0.0) {
            return Err(Failure::usage("until-estimate", estimate, "must be positive"));
        }
        let benchmark = args.benchmark()?;
        let mut coarse = args.coarse_mesh()?;
        benchmark.map_or(Ok(()), |benchmark| benchmark.number_sides(&mut coarse)).map_err(|_| {
            let reason = format_args!("needs a side of the mesh that {} does not have", args.forest_mesh());
            Failure::usage("problem", args.problem_name(), reason)
        })?;
        args.check_sides(&coarse)?;
        args.check_data(&coarse)?;
        // Before there is any of them.
        let children = 1_u64.checked_shl(u32::try_from(coarse.dim().saturating_mul(args.refine())).unwrap_or(u32::MAX));
        let cells = children.and_then(|children| children.checked_mul(coarse.cells() as u64));
        if let Some(bytes) = cells.map(|cells| Elliptic::least_bytes(coarse.dim(), args.degree(), cells)) {
            memory::check(bytes)?;
        }
        let forest = Forest::new(coarse).refine_uniformly(args.refine())?;
        case_on(args, benchmark, &forest)
    }

    /// An error of the library, in the option that it is about.
    fn refused(args: &CaseArgs, error: Error) -> Failure {
        match (error, args.forest.writes) {
            (Error::Unsupported { backend, what: WRITES, available, .. }, Some(writes)) => {
                Failure::usage("writes", writes, format_args!("{backend} has: {available}"))
            }
            (other, _) => other.into(),
        }
    }

    fn kernels(case: &Case<Self>) -> String {
        let equation = case.system.equation();
        let flux = match (&equation.flux, equation.power_law()) {
            (None, _) => "",
            (Some(_), Some(_)) => "; the machine evaluates the flux",
            (Some(_), None) => "; the host evaluates the flux",
        };
        let smoothed = match equation.smoothing {
            Smoothing::Local => ", where cells are of the finest size",
            Smoothing::Global => ", on whole levels",
        };
        format!("{smoothed}{flux}")
    }

    fn knows_solution(case: &Case<Self>) -> bool {
        case.problem.problem.exact.is_some()
    }

    fn fill(_case: &Case<Self>, args: &mut CaseArgs) {
        let (mesh, by_default) = (args.forest_mesh(), args.initial_guess());
        let is_shell = matches!(mesh, MeshChoice::Named(MeshName::Shell));
        let is_film = args.problem_name() == "minimal-surface";
        let forest = &mut args.forest;
        forest.mesh = Some(mesh);
        forest.smoothing.get_or_insert_default();
        forest.writes.get_or_insert_default();
        if is_shell {
            forest.inner_radius.get_or_insert(INNER_RADIUS);
        }
        if is_film {
            forest.frequency.get_or_insert(1);
        }
        if forest.adapt.is_some() || forest.until_estimate.is_some() || forest.until_dofs.is_some() {
            forest.initial_guess = Some(by_default);
            match forest.marking.get_or_insert_default() {
                MarkingName::Kelly => {
                    forest.refine_fraction.get_or_insert(REFINE_FRACTION);
                    forest.coarsen_fraction.get_or_insert(COARSEN_FRACTION);
                }
                MarkingName::Dorfler => drop(forest.refine_fraction.get_or_insert(REFINE_FRACTION)),
                MarkingName::Corner | MarkingName::Ball => {}
            }
        }
    }

    fn details(case: &Case<Self>, errors: Option<Estimates>) -> Details {
        let area = errors.as_ref().and_then(|estimates| estimates.area);
        let errors = errors.and_then(|estimates| estimates.errors);
        let (l2_error, h1_error) = errors.map(|errors| (errors.l2, errors.h1)).unzip();
        let [kernel, local] = ["cells", "none"].map(String::from);
        let variant = case.system.writes().to_string();
        Details { kernel, variant, local, l2_error, h1_error, area, ..Details::default() }
    }

    /// Of the first mesh.
    fn most_vtu_bytes(case: &Case<Self>, config: &vtu::Config) -> Result<[u64; 2], Failure> {
        Ok([ForestFunction::most_vtu_bytes(&case.system, 1, config), ForestFunction::vtu_memory(&case.system)])
    }

    fn is_finite(u: &ForestFunction) -> bool {
        u.values().iter().all(|value| value.is_finite())
    }

    fn write_vtu(&self, u: &ForestFunction, path: &Path, config: &vtu::Config) -> Result<(), Failure> {
        Ok(u.write_vtu(path, &[("estimate", &u.kelly_indicators(&self.equation)?)], config)?)
    }

    fn write_npz(u: &ForestFunction, path: &Path) -> patchmg::Result<()> {
        u.write_npz(path)
    }

    fn read_npz(case: &Case<Self>, path: &Path) -> patchmg::Result<Vec<f64>> {
        ForestFunction::read_npz(&case.system, path)?.unknowns()
    }

    fn cycle(case: &Case<Self>, report: &Report<Estimates>) -> Option<CycleReport> {
        let estimates = report.errors.as_ref();
        Some(CycleReport {
            cells: report.cells,
            dofs: report.dofs,
            nodes: case.system.nodes(),
            iterations: report.info.iterations,
            residual_history: report.info.residual_history.clone(),
            l2_error: estimates.and_then(|estimates| estimates.errors).map(|errors| errors.l2),
            l2_norm: estimates.map(|estimates| estimates.norms.l2),
            h1_seminorm: estimates.map(|estimates| estimates.norms.h1),
            max_nodal: estimates.map(|estimates| estimates.norms.largest),
            estimate: estimates.map(Estimates::estimate),
            setup_s: report.setup_s,
            solve_s: report.timing.median_s,
        })
    }

    fn adapted(
        args: &CaseArgs,
        case: &Case<Self>,
        report: &Report<Estimates>,
        cycle: usize,
    ) -> Result<Option<Case<Self>>, Failure> {
        let ForestArgs { adapt, until_estimate, until_dofs, .. } = args.forest;
        let most =
            adapt.unwrap_or(if until_estimate.or(until_dofs.map(|n| n as f64)).is_some() { usize::MAX } else { 0 });
        let goes_on = |estimates: &&Estimates| {
            let (is_exact, is_large) = (
                until_estimate.is_some_and(|until| estimates.estimate() <= until),
                until_dofs.is_some_and(|until| report.dofs >= until),
            );
            cycle <= most && !is_exact && !is_large
        };
        let Some(estimates) = report.errors.as_ref().filter(goes_on) else { return Ok(None) };
        let forest = case.system.forest();
        let flags = match args.marking()? {
            Some(marking) => marking.mark(&estimates.indicators)?,
            None => {
                let is_marked = |leaf: &Cell| match args.forest.marking {
                    Some(MarkingName::Corner) => (0..1_u32 << forest.dim()).any(|corner| {
                        let corner = [0, 1, 2].map(|d| f64::from(corner >> d & 1));
                        forest.point(leaf, corner).truncate().length() < 1e-12
                    }),
                    _ => {
                        let center = forest.point(leaf, [0.5; 3]);
                        let [x, y, z] = center.to_array().map(|x| x - 0.3);
                        (x * x + y * y + z * z).sqrt() < 0.4 / 2.0_f64.powi(cycle as i32 - 1)
                    }
                };
                let flag = |leaf| if is_marked(leaf) { Adaptation::Refine } else { Adaptation::Keep };
                forest.leaves().iter().map(flag).collect()
            }
        };
        case_on(args, args.benchmark()?, &forest.adapt(&flags)?).map(Some)
    }

    fn guess(args: &CaseArgs, next: &Case<Self>, solution: &ForestFunction) -> Result<Option<Vec<f64>>, Failure> {
        Ok(match args.initial_guess() {
            GuessName::Zero => None,
            GuessName::Last => Some(solution.interpolated(&next.system)?.unknowns()?),
        })
    }
}

/// The case on a forest.
fn case_on(args: &CaseArgs, benchmark: Option<Benchmark>, forest: &Forest) -> Result<Case<ForestProblem>, Failure> {
    let (dim, config) = (forest.dim(), args.config(SmootherConfig::chebyshev())?);
    let smoothing = match args.forest.smoothing.unwrap_or_default() {
        SmoothingName::Local => Smoothing::Local,
        SmoothingName::Global => Smoothing::Global,
    };
    let mapping_degree = args.forest.mapping_degree;
    let (mut problem, mut equation) = match benchmark {
        Some(benchmark) => (benchmark.problem(dim), benchmark.equation(dim)),
        None => (EllipticProblem::new(|_| 0.0), Equation::default()),
    };
    args.apply_sides(&mut equation, &mut problem);
    if benchmark.is_none() {
        args.apply_data(forest.coarse(), &mut equation, &mut problem);
    }
    let equation = Equation { mapping_degree, smoothing, ..equation };
    let writes = match args.forest.writes.unwrap_or_default() {
        WritesName::Gather => Writes::Gather,
        WritesName::Colors => Writes::Colors,
        WritesName::Atomics => Writes::Atomics,
    };
    let system = Elliptic::new(forest, args.degree(), equation.clone())?.with_writes(writes);
    // The bound is 1.2 times the estimate: eigenvalues from a tenth of the estimate on are smoothed, as in paper 3.
    let smoother = match config.smoother {
        SmootherConfig::Chebyshev { degree, .. } => SmootherConfig::Chebyshev { degree, range: 12.0 },
        other => other,
    };
    let problem = ForestProblem { benchmark, problem, equation };
    Ok(Case { system, problem, config: Config { smoother, ..config } })
}

impl CaseArgs {
    /// The library's problem; none if expressions give it.
    fn benchmark(&self) -> Result<Option<Benchmark>, Failure> {
        let name = self.problem_of::<ForestProblem>()?;
        let mut benchmark: Option<Benchmark> = if name == GIVEN { None } else { Some(name.parse()?) };
        if let Some(given) = self.forest.frequency {
            let Some(Benchmark::MinimalSurface { frequency }) = &mut benchmark else {
                let reason = format_args!("belongs to --problem minimal-surface, and --problem is {name}");
                return Err(Failure::usage("frequency", given, reason));
            };
            let number = u32::try_from(given).ok().filter(|&number| number > 0);
            *frequency =
                number.ok_or_else(|| Failure::usage("frequency", given, "must be at least 1, and fit into 32 bits"))?;
        }
        Ok(benchmark)
    }

    /// The guess that was given, or that of the equation.
    fn initial_guess(&self) -> GuessName {
        let by_default = if self.is_nonlinear() { GuessName::Last } else { GuessName::Zero };
        self.forest.initial_guess.unwrap_or(by_default)
    }

    /// Whether Newton's method solves the problem.
    pub(super) fn is_nonlinear(&self) -> bool {
        let has_flux = |benchmark: Benchmark| benchmark.equation(self.dim()).flux.is_some();
        self.is_on_forest() && self.problem_name().parse().is_ok_and(has_flux)
    }

    /// Whether the system has forests.
    pub fn is_on_forest(&self) -> bool {
        self.system == SystemName::Elliptic
    }
}
