//! What an experiment is: points to compute, columns that they have, and how they are drawn.

use super::domain::Domain;
use super::drawing::Picture;
use super::goal::{Better, Goal};
use super::sizes::Sizes;
use patchmg::measure::Part;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::poisson::{PatchKernel, Problem};
use patchmg::system::stokes::{LocalSolver, StokesKernel};
use serde::{Deserialize, Serialize};

/// A table or a figure.
pub struct Experiment {
    /// As it is asked for: `table3`.
    pub name: &'static str,
    /// With the paper's number, if it is of a paper.
    pub title: &'static str,
    /// What is measured, what the paper says, and what differs here.
    pub remark: &'static str,
    pub columns: &'static [Column],
    pub points: fn(&Sizes) -> Vec<Point>,
    pub picture: Picture,
}

/// A quantity that rows have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    /// In words, with the unit in brackets.
    pub label: &'static str,
    /// Which of two values is better, if one is.
    pub better: Option<Better>,
    /// Whether runs are compared by it.
    pub compared: bool,
    /// Of which others it is `100 max(over) / under`, if it is.
    pub percent: Option<(&'static [&'static str], &'static str)>,
}

impl Column {
    /// A quantity that says nothing of better or worse.
    pub const fn new(name: &'static str, label: &'static str) -> Self {
        Self { name, label, better: None, compared: false, percent: None }
    }

    /// The more the better; runs are compared by it.
    pub const fn higher(self) -> Self {
        Self { better: Some(Better::Higher), compared: true, ..self }
    }

    /// The less the better; runs are compared by it.
    pub const fn lower(self) -> Self {
        Self { better: Some(Better::Lower), compared: true, ..self }
    }

    /// Follows from others, by which runs are compared.
    pub const fn derived(self) -> Self {
        Self { compared: false, ..self }
    }

    /// `100 max(over) / under` of others, by which runs are compared.
    pub const fn percent(self, over: &'static [&'static str], under: &'static str) -> Self {
        Self { percent: Some((over, under)), ..self.derived() }
    }
}

/// A row to compute.
#[derive(Clone, Debug)]
pub struct Point {
    pub key: Key,
    pub elements: Family,
    pub task: Task,
    /// What the paper has, by column.
    pub paper: Vec<(&'static str, f64)>,
    /// What is aimed at, by column.
    pub goals: Vec<(&'static str, Goal)>,
    /// What others have, the paper on a CPU or other programs, by columns of their own.
    pub beside: Vec<(&'static str, f64)>,
}

/// What tells a row from the others of its experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// A line of the picture.
    pub series: String,
    pub dim: usize,
    pub degree: usize,
    /// `2^refine` cells a direction; of a forest, in each of its root cells.
    pub refine: usize,
    /// Of vectors, or of operands.
    pub precision: String,
    /// Patches of a block, where they are chosen.
    pub patches: Option<usize>,
    /// Nodes of a box in one direction, where there are boxes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Cycles of refinement where the error seems large, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<usize>,
}

impl Key {
    /// Names of [`Self::fields`].
    pub const FIELDS: [&str; 8] = ["series", "dim", "degree", "refine", "precision", "patches", "nodes", "cycle"];

    /// In double precision, without a number of patches, of nodes or of cycles.
    pub fn new(series: impl Into<String>, [dim, degree, refine]: [usize; 3]) -> Self {
        let precision = Precision::F64.name().into();
        Self { series: series.into(), dim, degree, refine, precision, patches: None, nodes: None, cycle: None }
    }

    /// As text; empty for none.
    pub fn fields(&self) -> [String; 8] {
        let Self { series, dim, degree, refine, precision, patches, nodes, cycle } = self;
        let [dim, degree, refine] = [dim, degree, refine].map(ToString::to_string);
        let numbers = [patches, nodes, cycle].map(|number| number.map_or(String::new(), |number| number.to_string()));
        let [patches, nodes, cycle] = numbers;
        [series.clone(), dim, degree, refine, precision.clone(), patches, nodes, cycle]
    }
}

/// In words.
impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { series, dim, degree, refine, precision, patches, nodes, cycle } = self;
        write!(f, "{series}, {dim}D, k = {degree}, L = {refine}, {precision}")?;
        patches.map_or(Ok(()), |patches| write!(f, ", {patches} patches"))?;
        nodes.map_or(Ok(()), |nodes| write!(f, ", N = {nodes}"))?;
        cycle.map_or(Ok(()), |cycle| write!(f, ", cycle {cycle}"))
    }
}

/// What is computed for a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// Iterations until the residual is `1e-9` of that of the stopping rule.
    Iterations { method: Method, smoother: SmootherConfig, rule: Rule },
    /// Error, iterations and time of a solve, in the precision of the point.
    Solve { problem: Problem, config: Config, kernel: PatchKernel },
    /// Residuals of a solve of `u = prod sin(pi x_i)`.
    History { config: Config, kernel: PatchKernel },
    /// Errors of GMRES, or of its flexible variant, over a V-cycle in `f32` with these kernels.
    Errors { flexible: bool, kernel: PatchKernel },
    /// One step of the patch smoother.
    Step(PatchKernel),
    /// The same with what limits it (table 5).
    Analysis(PatchKernel),
    /// The kernels of a color apart (table 6).
    Launch(Launch),
    /// A GMRES solve by its components.
    Components(PatchKernel),
    /// A V-cycle by its levels.
    Levels,
    /// Work and memory traffic of a part.
    Roofline(Part),
    /// Work and shared-memory traffic of the patch smoother.
    SharedRoofline(PatchKernel),
    /// What the machine could do.
    Roofs(Units),
    /// The operator of discontinuous elements.
    Operator(Aspect, PatchKernel),
    /// A part beside the time that its words of memory take.
    Floor(Part),
    /// Prolongation as a V-cycle does it, beside the time that its words of memory would take alone.
    Correction,
    /// Restriction and prolongation of all levels, the same, and their share of a V-cycle.
    Transfer,
    /// A V-cycle beside the time that its words of memory take.
    VCycle,
    /// Time of a solve for an unknown.
    Speed(Method),
    /// Memory of the same solve.
    Memory(Method),
    /// A solve by the program itself, from its start.
    Start(Kernels, Data),
    /// Operator, smoothing step and solve (paper 2, table 2).
    Comparison,
    /// Of the Stokes equations.
    Flow(FlowTask),
    /// Of the elliptic equation of a domain of paper 3.
    Forest(Domain, ForestTask),
}

/// What is computed of elliptic equations on forests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForestTask {
    /// Time of a product with the operator.
    Product,
    /// Iterations of conjugate gradients to 1e-9 and the error, with the time if that is asked for.
    Solve { smoother: SmootherConfig, timed: bool },
    /// Steps of Newton's method, with all their time if that is asked for.
    Newton { timed: bool },
    /// Time of a product or a solve for an unknown, or of what is done once.
    Speed(ForestPart),
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForestPart {
    Product,
    Solve,
    Newton,
    /// From the leaves of a mesh to the end of the first product.
    SetUp,
}

/// What is computed of the Stokes equations, of which the problem is paper 2's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowTask {
    /// Iterations of flexible GMRES to a relative residual, and errors.
    Iterations { local: LocalSolver, rtol: f64 },
    /// The same with its time.
    Solve { local: LocalSolver, rtol: f64 },
    /// The operator's throughput, and what limits it.
    Operator(StokesKernel),
    /// A step of the smoother, and its local solves alone.
    Step(LocalSolver, StokesKernel),
    /// As [`Task::Comparison`].
    Comparison(LocalSolver),
    /// Time of a part, or of a solve to 1e-6, for an unknown.
    Speed(FlowPart),
    /// Memory of a solve.
    Memory(Method),
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPart {
    Operator,
    Step,
    Solve,
}

/// Where a process that starts has its GPU kernels from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// From an earlier process, if the driver has kept them.
    Kept,
    /// Compiled by the driver.
    Compiled,
}

/// What says the problem of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The name of one that the program has.
    Name,
    /// Expressions of the same problem.
    Expressions,
    /// Expressions of a problem whose data are no sums of products of functions of one coordinate.
    Inseparable,
}

/// What does the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    CudaCores,
    /// In `f64`, or in `f16`.
    TensorCores,
}

/// What of an operator is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Its time, operations and memory traffic.
    Speed,
    /// The same; where it cannot be timed, operations alone.
    Work,
    /// The same with its traffic of shared memory, registers and resident blocks.
    Resources,
    /// Operations beside the traffic of shared memory.
    SharedMemory,
    /// Its error against that in `f64`.
    Accuracy,
}

/// Kernels of a color at level conflict-free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    Fused,
    /// Of the separate kernels the first one.
    Residual,
    /// The second one.
    Solver,
    /// Both.
    Separate,
}

/// What a residual is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The right-hand side.
    RightHandSide,
    /// The residual after the first pass of full multigrid.
    FirstPass,
}

impl Point {
    /// Of dimension, degree and refinement, with continuous elements, in double precision, without a value of the paper.
    pub fn new(series: impl Into<String>, size: [usize; 3], task: Task) -> Self {
        let (key, elements) = (Key::new(series, size), Family::Continuous);
        Self { key, elements, task, paper: Vec::new(), goals: Vec::new(), beside: Vec::new() }
    }

    /// With discontinuous elements.
    pub fn discontinuous(self) -> Self {
        Self { elements: Family::Discontinuous, ..self }
    }

    /// Unknowns; of a mesh by cycles, those before the first cycle.
    pub fn dofs(&self) -> usize {
        let Key { dim, degree, refine, .. } = self.key;
        if let Task::Forest(domain, _) = self.task {
            return domain.dofs([dim, degree, refine]);
        }
        if let Task::Flow(_) = self.task {
            // One normal component less than stored on each line, and the pressure.
            let row = (degree + 1) << refine;
            return dim * (row - 1) * row.pow(dim as u32 - 1) + row.pow(dim as u32);
        }
        let row = match self.elements {
            Family::Continuous => (degree << refine) - 1,
            Family::Discontinuous => (degree + 1) << refine,
        };
        row.pow(dim as u32)
    }

    /// In another precision.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.key.precision = precision.name().into();
        self
    }

    /// With a number of patches a block, which the task must have, too.
    pub fn patches(mut self, patches: usize) -> Self {
        self.key.patches = Some(patches);
        self
    }

    /// With nodes of a box in one direction, which the task must have, too.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.key.nodes = Some(nodes);
        self
    }

    /// On the mesh after so many cycles of refinement where the error seems large.
    pub fn cycle(mut self, cycle: usize) -> Self {
        self.key.cycle = Some(cycle);
        self
    }

    /// With what others have, if they do.
    pub fn beside(mut self, column: &'static str, value: Option<f64>) -> Self {
        self.beside.extend(value.map(|value| (column, value)));
        self
    }

    /// With what the paper has, if it does.
    pub fn paper(mut self, column: &'static str, value: Option<f64>) -> Self {
        self.paper.extend(value.map(|value| (column, value)));
        self
    }

    /// With what a column is to reach.
    pub fn goal(mut self, column: &'static str, goal: Option<Goal>) -> Self {
        self.goals.extend(goal.map(|goal| (column, goal)));
        self
    }
}
