//! Right-hand sides, and data on the sides.

use super::line::{Line, sum};
use super::{Condition, Equation, SIDES, Separable, host};
use crate::error::{Result, finite, invalid};
use crate::function::Function;
use crate::memory;
use crate::problem::sum_factorization::{Bases, Basis};
use crate::problem::{
    Constant, ErrorNorms, ExactSolution, Factors, Field, load_vector_by, load_vector_with, side_integrals,
};
use crate::space::{Axis, Family, Space};
use crate::system::elliptic::SharedField;
use crate::system::{ModelProblem, System};
use glam::DVec3;
use std::fmt;
use std::sync::Arc;

/// A right-hand side for [`Separable`], with data on sides.
///
/// ```
/// use patchmg::backend::cpu::Cpu;
/// use patchmg::krylov::unobserved;
/// use patchmg::mesh::Mesh;
/// use patchmg::solve::{Case, Config};
/// use patchmg::system::separable::{Condition, Equation, Problem};
/// use patchmg::system::Separable;
/// use std::sync::Arc;
///
/// # fn main() -> patchmg::Result<()> {
/// let mut equation = Equation::default();
/// equation.sides[0][1] = Condition::Neumann; // where x is largest
/// let system = Separable::new(Mesh::unit_cube(2, 4)?, 3, equation)?;
/// let problem = Problem::new(&system, |_| 1.0).with_side(0, 1, |point| point.y); // the flux there
/// let case = Case { system, problem, config: Config::default() };
/// let (report, u) = case.solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
/// assert!(report.info.converged && u.values().iter().all(|value| value.is_finite()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Problem {
    /// Of the system that it is for.
    equation: Arc<Equation>,
    /// `f`.
    pub right_hand_side: Arc<dyn Field + Send>,
    /// Of the lower side and the upper one of each direction: `u` on a Dirichlet side, the flux `c ∂u/∂n` on a Neumann side; 0 where
    /// nothing is given. A node of continuous elements on an edge of two Dirichlet sides has the value of that with the higher direction.
    pub sides: [[Option<SharedField>; 2]; 3],
    /// `u`, if it is known.
    pub exact: Option<Arc<dyn ExactSolution + Send + Sync>>,
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names = SIDES.iter().flatten().zip(self.sides.iter().flatten());
        let given: Vec<_> = names.filter(|(_, data)| data.is_some()).map(|(name, _)| name).collect();
        write!(f, "Problem {{ data on {given:?}, solution known: {} }}", self.exact.is_some())
    }
}

impl Problem {
    /// With zero on all sides, and an unknown solution.
    pub fn new(system: &Separable, right_hand_side: impl Fn(DVec3) -> f64 + Send + Sync + 'static) -> Self {
        Self::of_field(system, right_hand_side)
    }

    /// The same with a field, which may be a sum of [products](Field::products).
    pub fn of_field(system: &Separable, right_hand_side: impl Field + Send + 'static) -> Self {
        let equation = system.equation.clone();
        Self { equation, right_hand_side: Arc::new(right_hand_side), sides: Default::default(), exact: None }
    }

    /// With data on a side, the lower (0) or the upper one (1) of a direction.
    ///
    /// # Panics
    /// If there is no such side.
    pub fn with_side(
        mut self,
        direction: usize,
        side: usize,
        data: impl Fn(DVec3) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.sides[direction][side] = Some(Arc::new(data));
        self
    }

    /// With a known solution, and the data that follow from it on sides that have none yet.
    pub fn with_exact(mut self, exact: impl ExactSolution + Send + Sync + 'static) -> Self {
        let exact = Arc::new(exact);
        for (d, side) in sides(3) {
            let (u, c) = (exact.clone(), self.equation.diffusion[d]);
            let sign = if side == 0 { -c } else { c };
            if self.sides[d][side].is_some() {
                continue;
            }
            self.sides[d][side] = match self.equation.sides[d][side] {
                Condition::Dirichlet => Some(Arc::new(move |point| u.value(point))),
                Condition::Neumann => Some(Arc::new(move |point| sign * u.gradient(point)[d])),
                Condition::Periodic => None,
            };
        }
        self.exact = Some(exact);
        self
    }

    /// The exact solution, if it is known; less its mean, if solutions are determined but for a constant.
    ///
    /// # Errors
    /// [`NotFinite`](crate::Error::NotFinite) for values that are not finite numbers, [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn exact_on(&self, space: &Space) -> Result<Option<impl ExactSolution + use<>>> {
        let Some(exact) = &self.exact else { return Ok(None) };
        let by = if self.equation.has_null_space(space.dim()) {
            let integral: f64 = load_vector_with(space, &**exact, 2)?.iter().sum();
            -integral / space.mesh().lengths()[..space.dim()].iter().product::<f64>()
        } else {
            0.0
        };
        Ok(Some(Shifted { u: exact.clone(), by: Constant(by) }))
    }

    /// `∫ f φ_i` and, over Neumann sides, `∫ g φ_i`, of each node: with `more` points a direction than load vectors have.
    /// With `absolute`, of their absolute values.
    fn functional(&self, system: &Separable, more: usize, absolute: bool) -> Result<Vec<f64>> {
        let (space, f) = (system.space(), &*self.right_hand_side);
        let basis = |axis: &Axis| Basis::of_loads_with(axis, more);
        let mut load = match absolute {
            true => load_vector_by(space, &|point| f.value(point).abs(), basis)?,
            false => load_vector_by(space, f, basis)?,
        };
        let of = |value: f64| if absolute { value.abs() } else { value };
        let bases = Bases::new(space, basis)?;
        for (d, side) in sides(space.dim()) {
            let Some(flux) = &self.sides[d][side] else { continue };
            if self.equation.sides[d][side] == Condition::Neumann {
                side_integrals(space, &bases, [d, side], &|point| of(flux(point)), |mut node, integral| {
                    node[d] = if side == 0 { 0 } else { system.lines()[d].nodes() - 1 };
                    load[space.offset(node)] += integral;
                })?;
            }
        }
        Ok(load)
    }

    /// `∫ g (σ φ_i - ∂ₙφ_i)` over Dirichlet sides, for discontinuous elements (Nitsche's method).
    fn add_boundary_load(&self, system: &Separable, load: &mut [f64]) -> Result<()> {
        let space = system.space();
        let bases = Bases::new(space, Basis::of_loads)?;
        for (d, side) in sides(space.dim()) {
            let Some(value) = self.value_on(d, side) else { continue };
            let normal = system.lines()[d].boundary_load(side, system.diffusion()[d]);
            let end = side * (system.lines()[d].nodes() - 1);
            side_integrals(space, &bases, [d, side], &|point| value(point), |mut node, integral| {
                for (t, factor) in normal.iter().enumerate() {
                    node[d] = end.abs_diff(t);
                    load[space.offset(node)] += factor * integral;
                }
            })?;
        }
        Ok(())
    }

    /// `u` at the nodes of Dirichlet sides, 0 at all others. None if there are no such values, or if the load vector has them.
    fn given_values(&self, space: &Space) -> Result<Option<Vec<f64>>> {
        let has_values = sides(space.dim()).any(|(d, side)| self.value_on(d, side).is_some());
        if !has_values || space.is(Family::Discontinuous) {
            return Ok(None);
        }
        let mut given: Vec<f64> = memory::zeros(space.storage())?;
        for (d, side) in sides(space.dim()) {
            let Some(value) = self.value_on(d, side) else { continue };
            let mut nodes = [0, 1, 2].map(|d| space.axes().get(d).map_or(0..1, Axis::unknown_nodes));
            nodes[d] = if side == 0 { 0..1 } else { nodes[d].end - 1..nodes[d].end };
            let [along_x, along_y, along_z] = nodes;
            for (z, y) in along_z.flat_map(|z| along_y.clone().map(move |y| (z, y))) {
                for x in along_x.clone() {
                    let point = space.point([x, y, z]);
                    given[space.offset([x, y, z])] = finite("boundary value", value(point), point)?;
                }
            }
        }
        Ok(Some(given))
    }

    /// `u` on a Dirichlet side, if it is given.
    fn value_on(&self, direction: usize, side: usize) -> Option<&SharedField> {
        let is_dirichlet = self.equation.sides[direction][side] == Condition::Dirichlet;
        self.sides[direction][side].as_ref().filter(|_| is_dirichlet)
    }

    /// That `∫ f + ∫ g` is 0, but for the error of quadrature, where no solution exists otherwise.
    fn check_integral(&self, system: &Separable, load: &[f64]) -> Result<()> {
        let sum = |load: &[f64]| load.iter().sum::<f64>();
        let (rough, fine) = (sum(load), sum(&self.functional(system, 2, false)?));
        let size = sum(&self.functional(system, 2, true)?);
        if fine.abs() <= 10.0 * (fine - rough).abs() + 1e-10 * size {
            return Ok(());
        }
        let value = format_args!("{fine:.3e}, and {size:.3e} of absolute values");
        let allowed = "0 if no side is Dirichlet's and there is no reaction: otherwise there is no solution";
        Err(invalid("the integral of the right-hand side and of the fluxes", value, allowed))
    }
}

/// The sides of a rectangle or a box: direction, and 0 for the lower one.
fn sides(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(|d| [(d, 0), (d, 1)])
}

/// A known solution, and a constant that is added.
struct Shifted {
    u: Arc<dyn ExactSolution + Send + Sync>,
    by: Constant,
}

impl Field for Shifted {
    fn value(&self, point: DVec3) -> f64 {
        self.u.value(point) + self.by.0
    }

    fn products(&self) -> Option<Vec<&dyn Factors>> {
        let mut products = self.u.products()?;
        products.extend((self.by.0 != 0.0).then_some(&self.by as &dyn Factors));
        Some(products)
    }
}

impl ExactSolution for Shifted {
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.u.gradient(point)
    }
}

/// `A g` for values at all nodes.
fn product(system: &Separable, g: &[f64]) -> Result<Vec<f64>> {
    let last = system.dim() - 1;
    let matrices = |(d, (line, &coefficient)): (usize, (&Line, &f64))| {
        let line = line.with_open_ends();
        let (mass, stiffness) = (line.mass(), line.stiffness(coefficient, f64::MANTISSA_DIGITS));
        let reaction = if d == last { system.equation().reaction } else { 0.0 };
        let stiffness = sum([(1.0, &stiffness), (reaction, &mass)]);
        (mass, stiffness)
    };
    let matrices: Vec<_> = system.lines().iter().zip(system.diffusion()).enumerate().map(matrices).collect();
    host::product(&matrices, system.space().stored_nodes(), g)
}

impl ModelProblem for Problem {
    type System = Separable;
    type Errors = ErrorNorms;

    fn check(&self, system: &Separable) -> Result<()> {
        if *self.equation != *system.equation {
            return Err(invalid("system", "one of another equation", "of the equation that the problem was made for"));
        }
        for (d, side) in sides(system.dim()) {
            if self.sides[d][side].is_some() && self.equation.sides[d][side] == Condition::Periodic {
                return Err(invalid(
                    "side",
                    format_args!("{} with data", SIDES[d][side]),
                    "without data if it is periodic",
                ));
            }
        }
        Ok(())
    }

    fn load(&self, system: &Separable) -> Result<Vec<f64>> {
        let mut load = self.functional(system, 0, false)?;
        if system.has_null_space() {
            self.check_integral(system, &load)?;
        }
        host::fold_periods(system, &mut load);
        if system.family() == Family::Discontinuous {
            self.add_boundary_load(system, &mut load)?;
        }
        if let Some(given) = self.given_values(system.space())? {
            let product = product(system, &given)?;
            load.iter_mut().zip(product).for_each(|(load, product)| *load -= product);
        }
        host::keep_unknowns(system, &mut load);
        Ok(load)
    }

    fn with_boundary_values(&self, solution: Function) -> Result<Function> {
        let space = solution.space().clone();
        let Some(given) = self.given_values(&space)? else { return Ok(solution) };
        let mut values = solution.into_values();
        // Unknowns are zero in the one, given values in the other.
        values.iter_mut().zip(given).for_each(|(value, given)| *value += given);
        Function::new(&space, values)
    }

    /// If solutions are determined but for a constant, those with mean 0 are compared.
    fn errors(&self, u: &Function) -> Result<Option<ErrorNorms>> {
        self.exact_on(u.space())?.map(|exact| u.error_to(&exact)).transpose()
    }
}
