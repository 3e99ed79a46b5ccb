//! Poisson's equation with coefficients, conditions on sides and graded cells, on boxes.

use super::box_args::{DIRECTIONS, MostDirectNodes};
use super::data::{DataArgs, GIVEN, check_dim, field};
use super::side::Condition as SideCondition;
use super::{Details, Offered, PoissonProblem};
use crate::args::{CaseArgs, Smoother};
use crate::expression::Expression;
use crate::failure::Failure;
use glam::DVec3;
use patchmg::function::Function;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::vtu;
use patchmg::problem::{Constant, CosineProduct, ErrorNorms, Field, SineProduct};
use patchmg::solve::Case;
use patchmg::space::Family;
use patchmg::system::Separable;
use patchmg::system::separable::{Condition, Equation, Problem, SIDES};
use std::f64::consts::PI;
use std::path::Path;

impl Offered for Problem {
    const PROBLEMS: &'static [(&'static str, &'static str)] = PoissonProblem::PROBLEMS;
    const WITH_SOLUTION: &'static str = PoissonProblem::WITH_SOLUTION;
    const DEFAULT: &'static str = PoissonProblem::DEFAULT;
    const ELEMENTS: &'static str = PoissonProblem::ELEMENTS;

    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let engine = args.products.engine.map(|engine| ("engine", engine.to_string()));
        if let Some((option, value)) = args.kernel_options().into_iter().chain(engine).next() {
            let reason = "is not there with sides, coefficients, graded cells or direct solutions, which general kernels compute";
            return Err(Failure::usage(option, value, reason));
        }
        if let (Some(smoother @ Smoother::PointGs), Family::Continuous) = (args.smoother, args.family()) {
            let reason = "must be patch, additive-patch, jacobi, chebyshev or chebyshev4 with sides, coefficients, graded cells or direct solutions";
            return Err(Failure::usage("smoother", smoother, reason));
        }
        let (name, mesh) = (args.problem_of::<Self>()?, args.mesh()?);
        args.check_box_sides(mesh.dim())?;
        args.check_box_data(mesh.dim())?;
        let equation = args.box_equation(mesh.dim())?;
        let mut system = Separable::of_family(args.family(), mesh, args.degree(), equation)?;
        if let Some(nodes) = args.boxes.direct_nodes {
            system = system.with_direct_nodes(nodes.0);
        }
        let config = args.config(system.suitable_smoother())?;
        let problem = match name {
            "one" => args.with_side_data(Self::of_field(&system, Constant(1.0))),
            "sine" | "cosine" => {
                args.check_sides_of_wave(name)?;
                wave(&system, name == "cosine")
            }
            _ => args.given_on_box(&system),
        };
        Ok(Case { system, problem, config })
    }

    fn smoother_in_words(case: &Case<Self>) -> String {
        match case.system.is_solved_directly() {
            true => String::from("none: the mesh is solved directly, by fast diagonalization"),
            false => format!("{}{}", case.config.smoother.name(), Self::kernels(case)),
        }
    }

    fn kernels(case: &Case<Self>) -> String {
        let is_by_patches = case.config.smoother == SmootherConfig::Patch;
        String::from(if is_by_patches { ": by matrices along axes" } else { "; by matrices along axes" })
    }

    fn knows_solution(case: &Case<Self>) -> bool {
        case.problem.exact.is_some()
    }

    fn fill(case: &Case<Self>, args: &mut CaseArgs) {
        args.boxes.direct_nodes = Some(MostDirectNodes(case.system.direct_nodes()));
    }

    fn details(_case: &Case<Self>, errors: Option<ErrorNorms>) -> Details {
        let (l2_error, h1_error) = errors.map(|errors| (errors.l2, errors.h1)).unzip();
        let [kernel, variant, local] = ["axes", "general", "fdm"].map(String::from);
        Details { kernel, variant, local, l2_error, h1_error, ..Details::default() }
    }

    fn most_vtu_bytes(case: &Case<Self>, config: &vtu::Config) -> Result<[u64; 2], Failure> {
        let space = case.system.space();
        Ok([vtu::most_bytes(space, case.problem.exact.is_some(), config), vtu::memory(space)])
    }

    fn is_finite(u: &Function) -> bool {
        u.values().iter().all(|value| value.is_finite())
    }

    fn write_vtu(&self, u: &Function, path: &Path, config: &vtu::Config) -> Result<(), Failure> {
        match self.exact_on(u.space())? {
            Some(exact) => u.write_vtu(path, Some(&|point| exact.value(point)), config)?,
            None => u.write_vtu(path, None, config)?,
        }
        Ok(())
    }

    fn write_npz(u: &Function, path: &Path) -> patchmg::Result<()> {
        u.write_npz(path)
    }

    fn read_npz(case: &Case<Self>, path: &Path) -> patchmg::Result<Vec<f64>> {
        case.system.vector_of(&Function::read_npz(case.system.space(), path)?)
    }
}

/// The product of sines, or of cosines, and the data that follow from it.
fn wave(system: &Separable, is_cosine: bool) -> Problem {
    let (mesh, equation) = (system.mesh(), system.equation());
    let (dim, lengths) = (mesh.dim(), mesh.lengths());
    let eigenvalue: f64 = (0..dim).map(|d| equation.diffusion[d] * (PI / lengths[d]).powi(2)).sum();
    let (scale, lengths) = (eigenvalue + equation.reaction, DVec3::from_array(lengths));
    if is_cosine {
        let f = CosineProduct { dim, scale, lengths };
        Problem::of_field(system, f).with_exact(CosineProduct { scale: 1.0, ..f })
    } else {
        let f = SineProduct { dim, scale, lengths };
        Problem::of_field(system, f).with_exact(SineProduct { scale: 1.0, ..f })
    }
}

/// Whether a function is zero on all sides of a box, but for rounding: at many points of each, which lie in no pattern.
fn vanishes_on_sides(function: &Expression, lengths: &[f64]) -> bool {
    const POINTS: u32 = 1000;
    // An additive recurrence of irrational numbers.
    const STEPS: [f64; 3] = [0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_970_3];
    let value = |point: u32, side: Option<(usize, f64)>| {
        let coordinate = |d: usize| match (lengths.get(d), side) {
            (None, _) => 0.0,
            (Some(length), Some((direction, end))) if direction == d => end * length,
            (Some(length), _) => (f64::from(point) * STEPS[d]).fract() * length,
        };
        function.value([0, 1, 2].map(coordinate)).abs()
    };
    let largest = (1..=POINTS).map(|point| value(point, None)).fold(0.0, f64::max);
    let sides = (0..lengths.len()).flat_map(|d| [(d, 0.0), (d, 1.0)]);
    sides
        .flat_map(|side| (1..=POINTS).map(move |point| (point, side)))
        .all(|(point, side)| value(point, Some(side)) <= 1e-12 * largest)
}

impl CaseArgs {
    /// Whether poisson-cg or poisson-dg needs the general kernels. The fast ones solve `-Δu = f` on equal cells; on the boundary continuous
    /// elements have `u = 0` there, discontinuous ones any given values.
    pub(super) fn needs_general_box(&self) -> bool {
        let DataArgs { boundary, exact, .. } = &self.forest.data;
        let is_zero = |values: &Expression| vanishes_on_sides(values, &self.lengths());
        let has_values = boundary.as_ref().or(exact.as_ref()).is_some_and(|values| self.is_given() && !is_zero(values));
        let is_cosine = self.problem.as_deref() == Some("cosine");
        let is_continuous = self.family() == Family::Continuous;
        let has_options = self.boxes.need_general_kernels() || !self.forest.side.is_empty();
        has_options || (is_continuous && (has_values || is_cosine))
    }

    /// The coefficients, sides and cells.
    fn box_equation(&self, dim: usize) -> Result<Equation, Failure> {
        let mut equation = Equation { reaction: self.boxes.reaction.unwrap_or(0.0), ..Equation::default() };
        if !self.boxes.diffusion.is_empty() {
            if self.boxes.diffusion.len() != dim {
                let list: Vec<_> = self.boxes.diffusion.iter().map(f64::to_string).collect();
                let reason = format_args!("must be {dim} numbers in {dim}D, with commas between them");
                return Err(Failure::usage("diffusion", list.join(","), reason));
            }
            equation.diffusion[..dim].copy_from_slice(&self.boxes.diffusion);
        }
        let mut graded = [false; 3];
        for sizes in &self.boxes.grading {
            if sizes.direction >= dim {
                return Err(Failure::usage("grading", sizes, format_args!("must be of x or y in {dim}D")));
            }
            if std::mem::replace(&mut graded[sizes.direction], true) {
                let reason = format_args!("{} is given twice", DIRECTIONS[sizes.direction]);
                return Err(Failure::usage("grading", sizes, reason));
            }
            // The library says which are allowed; here, in the words of the option.
            let (cells, length) = (self.mesh()?.cells_along()[sizes.direction], self.lengths()[sizes.direction]);
            sizes.grading.breakpoints(cells, length).map_err(|error| match error {
                patchmg::Error::InvalidArgument { allowed, .. } => {
                    Failure::usage("grading", sizes, format_args!("must be {allowed}"))
                }
                other => other.into(),
            })?;
            equation.grading[sizes.direction] = sizes.grading.clone();
        }
        for side in &self.forest.side {
            if let Some([direction, upper]) = side.of_box() {
                equation.sides[direction][upper] = match side.condition() {
                    SideCondition::Dirichlet { .. } => Condition::Dirichlet,
                    SideCondition::Neumann { .. } => Condition::Neumann,
                    _ => Condition::Periodic,
                };
            }
        }
        Ok(equation)
    }

    /// That sides are those of the box, each given once, periodic ones in pairs.
    fn check_box_sides(&self, dim: usize) -> Result<(), Failure> {
        let mut given: Vec<[usize; 2]> = Vec::new();
        for side in &self.forest.side {
            let names = SIDES[..dim].concat().join(", ");
            let Some(place) = side.of_box().filter(|[direction, _]| *direction < dim) else {
                return Err(Failure::usage("side", side, format_args!("must be of {names} in {dim}D")));
            };
            if given.contains(&place) {
                return Err(Failure::usage("side", side, format_args!("{} is given twice", SIDES[place[0]][place[1]])));
            }
            given.push(place);
            side.check(dim)?;
            if let SideCondition::Robin { .. } = side.condition() {
                let reason = "must be dirichlet:VALUE, neumann:FLUX or periodic; robin belongs to --system elliptic";
                return Err(Failure::usage("side", side, reason));
            }
            let is_other = |other: &&super::side::Side| other.of_box() == Some([place[0], 1 - place[1]]);
            let other = self.forest.side.iter().find(is_other).map(super::side::Side::condition);
            if *side.condition() == SideCondition::Periodic && other != Some(&SideCondition::Periodic) {
                let reason = format_args!("needs --side {}=periodic, too", SIDES[place[0]][1 - place[1]]);
                return Err(Failure::usage("side", side, reason));
            }
        }
        Ok(())
    }

    /// That data belong to the problem and to the dimension, and that a side is left for --boundary.
    pub(super) fn check_box_data(&self, dim: usize) -> Result<(), Failure> {
        for (option, expression) in self.forest.data.expressions() {
            if !self.is_given() {
                let reason = format_args!("belongs to --problem {GIVEN}, and --problem is {}", self.problem_name());
                return Err(Failure::usage(option, expression, reason));
            }
            check_dim(option, expression, expression, dim)?;
        }
        match &self.forest.data.boundary {
            Some(values) if self.forest.side.len() == 2 * dim => {
                Err(Failure::usage("boundary", values, "each side has a --side, there must be one without"))
            }
            _ => Ok(()),
        }
    }

    /// The sides of a known solution have no data of their own, and no period.
    fn check_sides_of_wave(&self, name: &str) -> Result<(), Failure> {
        let is_zero = |values: &Expression| values.constant() == Some(0.0);
        for side in &self.forest.side {
            let is_allowed = match side.condition() {
                SideCondition::Dirichlet { value } => is_zero(value),
                SideCondition::Neumann { flux } => is_zero(flux),
                _ => false,
            };
            if !is_allowed {
                let reason = format_args!(
                    "must be dirichlet or neumann with --problem {name}, whose data follow from its solution; \
                     other data belong to --problem {GIVEN}"
                );
                return Err(Failure::usage("side", side, reason));
            }
        }
        Ok(())
    }

    /// With what --side says of each side.
    fn with_side_data(&self, mut problem: Problem) -> Problem {
        for side in &self.forest.side {
            let Some([direction, upper]) = side.of_box() else { continue };
            problem.sides[direction][upper] = match side.condition() {
                SideCondition::Dirichlet { value } => Some(field(value)),
                SideCondition::Neumann { flux } => Some(field(flux)),
                _ => None,
            };
        }
        problem
    }

    /// What expressions give.
    fn given_on_box(&self, system: &Separable) -> Problem {
        let DataArgs { rhs, boundary, exact, .. } = self.forest.data.clone();
        let values = boundary.or(exact.clone());
        let problem = match rhs {
            Some(rhs) => Problem::of_field(system, rhs),
            None => Problem::of_field(system, Constant(0.0)),
        };
        let mut problem = self.with_side_data(problem);
        for (direction, upper) in (0..system.mesh().dim()).flat_map(|d| [(d, 0), (d, 1)]) {
            let has_side = self.forest.side.iter().any(|side| side.of_box() == Some([direction, upper]));
            if !has_side {
                problem.sides[direction][upper] = values.as_ref().map(field);
            }
        }
        problem.exact = exact.map(|exact| std::sync::Arc::new(exact) as _);
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_zero_on_all_sides_are_found() {
        let vanishes = |text: &str, lengths: &[f64]| vanishes_on_sides(&text.parse().unwrap(), lengths);
        for text in ["0", "x*(1-x)*y*(2-y)", "sin(pi*x)*sin(pi*y/2)", "1e9*sin(2*pi*x)*sin(pi*y)"] {
            assert!(vanishes(text, &[1.0, 2.0]), "{text}");
        }
        for text in ["1", "x", "x*(1-x)*y*(1-y)", "sin(pi*x)", "sin(pi*y/2)", "1/x", "x*(1-x)*y", "1e-9"] {
            assert!(!vanishes(text, &[1.0, 2.0]), "{text}");
        }
        assert!(vanishes("sin(pi*x)*sin(pi*y)*sin(pi*z)", &[1.0; 3]));
        for text in ["sin(pi*x)*sin(pi*y)", "sin(pi*y)*sin(pi*z)", "sin(pi*x)*sin(pi*z)", "sin(pi*x)*sin(pi*y)*z"] {
            assert!(!vanishes(text, &[1.0; 3]), "{text}");
        }
    }
}
