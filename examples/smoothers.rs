//! Smoothers on forests, as a table of Markdown: docs/forests.md has it.
//!
//!     cargo run --release --example smoothers -- [REPETITIONS]
//!
//! Iterations of conjugate gradients, and in brackets seconds of a solve on one thread: CPU time, which Linux tells, the least of the
//! repetitions.

use patchmg::backend::cpu::Cpu;
use patchmg::forest::{CoarseMesh, Forest, Marking};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::elliptic::{Benchmark, Elliptic, EllipticProblem, Equation, Smoothing};
use patchmg::system::{ModelProblem, System};
use std::sync::Arc;

/// A mesh with a problem on it.
struct Experiment {
    name: &'static str,
    /// None: `-Δu = 1`, `u = 0` on the boundary.
    benchmark: Option<Benchmark>,
    coarse: CoarseMesh,
    degree: usize,
    refine: usize,
    /// Cycles by Kelly's indicator.
    adapt: usize,
}

fn smoothers() -> Vec<(String, SmootherConfig)> {
    let chebyshev = |degree| (format!("chebyshev {degree}"), SmootherConfig::Chebyshev { degree, range: 12.0 });
    let fourth_kind = |degree| (format!("chebyshev4 {degree}"), SmootherConfig::ChebyshevFourthKind { degree });
    let patches =
        |degree| (format!("chebyshev-patch {degree}"), SmootherConfig::ChebyshevPatch { degree, range: 12.0 });
    let of_diagonal = [5, 3, 2].map(chebyshev).into_iter().chain([1, 2, 4].map(fourth_kind));
    of_diagonal.chain([1, 2, 3].map(patches)).collect()
}

fn experiments() -> patchmg::Result<Vec<Experiment>> {
    let [corner, shell, variable] = [Benchmark::Corner, Benchmark::Shell, Benchmark::Variable].map(Some);
    let (l_shape, disk) = (CoarseMesh::l_shape(2)?, CoarseMesh::disk(1.0)?);
    let extruded = l_shape.extruded(1.0, 1)?;
    let mut list = vec![
        Experiment { name: "L", benchmark: corner, coarse: l_shape, degree: 2, refine: 4, adapt: 6 },
        Experiment { name: "L, extruded", benchmark: corner, coarse: extruded, degree: 2, refine: 2, adapt: 3 },
        Experiment { name: "disk", benchmark: variable, coarse: disk, degree: 4, refine: 3, adapt: 3 },
    ];
    let mut uniform = |name, benchmark, coarse: CoarseMesh, degree, refine| {
        list.push(Experiment { name, benchmark, coarse, degree, refine, adapt: 0 });
    };
    for degree in [3, 4] {
        uniform("shell, 2D", shell, CoarseMesh::annulus(0.5, 1.0, 10)?, degree, 4);
    }
    for degree in [2, 3] {
        uniform("shell, 3D", shell, CoarseMesh::shell(0.5, 1.0)?, degree, 2);
    }
    for degree in [2, 3, 4] {
        uniform("ring, 6 : 1", None, CoarseMesh::annulus(0.9, 1.0, 10)?, degree, 4);
    }
    for (name, lengths) in
        [("box, 4 : 1 : 1", [4.0, 1.0, 1.0]), ("box, 8 : 1 : 1", [8.0, 1.0, 1.0]), ("box, 8 : 8 : 1", [8.0, 8.0, 1.0])]
    {
        uniform(name, None, CoarseMesh::of_box(&[1; 3], &lengths)?, 2, 4);
    }
    Ok(list)
}

impl Experiment {
    fn problem(&self, dim: usize) -> EllipticProblem {
        self.benchmark.map_or_else(|| EllipticProblem::new(|_| 1.0), |benchmark| benchmark.problem(dim))
    }

    fn equation(&self, dim: usize, smoothing: Smoothing) -> Equation {
        Equation { smoothing, ..self.benchmark.map_or_else(Equation::default, |benchmark| benchmark.equation(dim)) }
    }

    /// The last mesh.
    fn forest(&self, cpu: &Arc<Cpu>) -> patchmg::Result<Forest> {
        let mut forest = Forest::new(self.coarse.clone()).refine_uniformly(self.refine)?;
        for _ in 0..self.adapt {
            let equation = self.equation(forest.dim(), Smoothing::Local);
            let system = Elliptic::new(&forest, self.degree, equation.clone())?;
            let problem = self.problem(forest.dim());
            let u = Solver::new(cpu, &system, &config(smoothers()[0].1))?.solve(&problem.load(&system)?)?.u;
            let indicators = problem.with_boundary_values(u)?.kelly_indicators(&equation)?;
            forest = forest.adapt(&Marking::FixedNumber { refine: 0.3, coarsen: 0.03 }.mark(&indicators)?)?;
        }
        Ok(forest)
    }
}

fn config(smoother: SmootherConfig) -> Config {
    let stopping = Stopping { rtol: 1e-9, ..Stopping::default() };
    Config { method: Method::Cg, smoother, stopping, ..Config::default() }
}

/// Seconds that the threads of this program have run.
fn cpu_seconds() -> std::io::Result<f64> {
    std::fs::read_dir("/proc/self/task")?.try_fold(0.0, |sum, task| {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
        Ok(sum + 1e-9 * nanoseconds.unwrap_or(f64::NAN))
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let repetitions: usize = std::env::args().nth(1).map_or(Ok(1), |count| count.parse())?;
    let cpu = Arc::new(Cpu::new(Some(1))?);
    let names: Vec<String> = smoothers().into_iter().map(|(name, _)| name).collect();
    println!("| problem | k | unknowns | smoothing | {} |", names.join(" | "));
    println!("|---|---|---|---|{}", "---|".repeat(names.len()));
    for experiment in experiments()? {
        let forest = experiment.forest(&cpu)?;
        let smoothings = [(Smoothing::Local, "local"), (Smoothing::Global, "global")];
        // On uniform meshes both are the same.
        for (smoothing, name) in smoothings.into_iter().take(if experiment.adapt > 0 { 2 } else { 1 }) {
            let system = Elliptic::new(&forest, experiment.degree, experiment.equation(forest.dim(), smoothing))?;
            let load = experiment.problem(forest.dim()).load(&system)?;
            let mut cells = Vec::new();
            for (_, smoother) in smoothers() {
                let mut solver = Solver::new(&cpu, &system, &config(smoother))?;
                let (mut iterations, mut least) = (0, f64::INFINITY);
                for _ in 0..repetitions {
                    let start = cpu_seconds()?;
                    iterations = solver.solve(&load)?.info.iterations;
                    least = least.min(cpu_seconds()? - start);
                }
                cells.push(format!("{iterations} ({least:.3})"));
            }
            let (unknowns, cells) = (system.layout().dofs(), cells.join(" | "));
            println!("| {} | {} | {unknowns} | {name} | {cells} |", experiment.name, experiment.degree);
        }
    }
    Ok(())
}
