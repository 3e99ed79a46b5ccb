//! An equation on a box, with the machine that solves it.

use crate::boundary::Points;
use crate::error::exception;
use crate::machine::Machine;
use crate::map::Map;
use crate::numbering::Numbering;
use crate::solved::Solved;
use glam::DVec3;
use patchmg::krylov::Stopping;
use patchmg::mesh::Mesh;
use patchmg::problem::{load_points, load_vector_of_values};
use patchmg::solve::{Config, Precision, Solution, Solver};
use patchmg::space::{Axis, Family, Space};
use patchmg::system::stokes::Flow;
use patchmg::system::{Poisson, Runs, Stokes, System};
use patchmg::{Error, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone)]
enum Equation {
    Poisson(Poisson),
    Stokes(Stokes),
}

/// An equation on a box. Its fields are numbered: the solution of Poisson's equation; or the components of a velocity, then the pressure.
#[pyclass(frozen)]
pub struct Problem {
    equation: Equation,
    machine: Machine,
    numbering: Numbering,
    boundary: Points,
}

/// The value of an expression of a system and the backend that it runs on.
macro_rules! with_machine {
    ($problem:expr, |$system:ident, $backend:ident| $value:expr) => {
        match (&$problem.equation, &$problem.machine) {
            (Equation::Poisson($system), Machine::Cpu($backend)) => $value,
            (Equation::Stokes($system), Machine::Cpu($backend)) => $value,
            #[cfg(feature = "cuda")]
            (Equation::Poisson($system), Machine::Cuda($backend)) => $value,
            #[cfg(feature = "cuda")]
            (Equation::Stokes($system), Machine::Cuda($backend)) => $value,
        }
    };
}

/// Coordinates of all nodes of a space along each direction.
pub fn coordinates(space: &Space) -> Vec<Vec<f64>> {
    let at = |d: usize, node: usize| {
        let mut nodes = [0; 3];
        nodes[d] = node;
        space.point(nodes)[d]
    };
    let along = |(d, axis): (usize, &Axis)| (0..axis.all_nodes()).map(|node| at(d, node)).collect();
    space.axes().iter().enumerate().map(along).collect()
}

/// The box with so many cells in each direction.
fn mesh(cells: &[usize], size: &[f64]) -> Result<Mesh> {
    if let Some(odd) = cells.iter().find(|cells| !cells.is_multiple_of(2)) {
        let allowed = String::from("even in each direction");
        return Err(Error::InvalidArgument { name: "cells", value: odd.to_string(), allowed });
    }
    let halves: Vec<_> = cells.iter().map(|cells| cells / 2).collect();
    Mesh::of_box(&halves, size, 1)
}

#[pymethods]
impl Problem {
    /// Poisson's equation, by `continuous` or `discontinuous` elements.
    #[staticmethod]
    fn poisson(
        py: Python<'_>,
        family: &str,
        cells: Vec<usize>,
        size: Vec<f64>,
        degree: usize,
        backend: &str,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let mesh = mesh(&cells, &size)?;
            let family = match family {
                "continuous" => Family::Continuous,
                "discontinuous" => Family::Discontinuous,
                _ => {
                    let allowed = String::from("continuous or discontinuous");
                    return Err(Error::InvalidArgument { name: "family", value: family.into(), allowed });
                }
            };
            let poisson = Poisson::new(family, mesh, degree)?;
            let spaces = vec![poisson.space().clone()];
            Self::new(Equation::Poisson(poisson), spaces, Machine::choose(backend, threads)?)
        })
        .map_err(exception)
    }

    /// The Stokes equations.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "those of Python's function, which names them")]
    fn stokes(
        py: Python<'_>,
        cells: Vec<usize>,
        size: Vec<f64>,
        degree: usize,
        viscosity: f64,
        mass: f64,
        backend: &str,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let stokes = Stokes::new(mesh(&cells, &size)?, degree)?.with_viscosity(viscosity)?.with_mass(mass)?;
            let spaces = stokes.velocity_spaces().iter().chain([stokes.pressure_space()]).cloned().collect();
            Self::new(Equation::Stokes(stokes), spaces, Machine::choose(backend, threads)?)
        })
        .map_err(exception)
    }

    #[getter]
    fn backend(&self) -> &'static str {
        self.machine.name()
    }

    #[getter]
    fn dofs(&self) -> usize {
        self.numbering.dofs()
    }

    /// Coordinates of the points where the right-hand side of a field is evaluated, along each direction.
    fn load_points(&self, field: usize) -> PyResult<Vec<Vec<f64>>> {
        load_points(&self.numbering.spaces()[field]).map_err(exception)
    }

    /// Writes the load vector of a field's right-hand side to `load`, by its values at these points, `x` fastest.
    fn load(&self, py: Python<'_>, field: usize, values: PyBuffer<f64>, load: PyBuffer<f64>) -> PyResult<()> {
        let values = values.to_vec(py)?;
        let dofs = py.detach(|| {
            let of_field = load_vector_of_values(&self.numbering.spaces()[field], &values)?;
            self.numbering.to_dofs(&self.numbering.of_field(field, &of_field)?)
        });
        load.copy_from_slice(py, &dofs.map_err(exception)?)
    }

    /// Coordinates of the points on the boundary where a given solution is evaluated: a list for each direction.
    fn boundary_points(&self) -> Vec<Vec<f64>> {
        let dim = self.numbering.spaces()[0].dim();
        (0..dim).map(|d| self.boundary.points().iter().map(|point| point[d]).collect()).collect()
    }

    /// Writes what values at these points add to a load vector to `load`: for Poisson's equation a value for each point, for the
    /// Stokes equations the components of a velocity, one point after the other.
    fn boundary_load(&self, py: Python<'_>, values: PyBuffer<f64>, load: PyBuffer<f64>) -> PyResult<()> {
        let values = values.to_vec(py)?;
        let dofs = py.detach(|| {
            self.check_boundary(&values)?;
            let mut stored = self.numbering.zeros()?;
            match &self.equation {
                Equation::Poisson(poisson) => {
                    poisson.add_boundary_load(&|point: DVec3| self.value(&values, point)[0], &mut stored)?;
                }
                Equation::Stokes(stokes) => {
                    stokes.add_boundary_load(&|point: DVec3| self.value(&values, point), &mut stored)?;
                }
            }
            self.numbering.to_dofs(&stored)
        });
        load.copy_from_slice(py, &dofs.map_err(exception)?)
    }

    /// Solves for a load vector; `boundary` are values as for [`Self::boundary_load`], which the solution of the Stokes equations has there.
    #[expect(clippy::too_many_arguments, reason = "those of Python's function, which names them")]
    fn solve(
        &self,
        py: Python<'_>,
        load: PyBuffer<f64>,
        boundary: Option<PyBuffer<f64>>,
        method: &str,
        precision: &str,
        rtol: f64,
        max_iters: usize,
    ) -> PyResult<Solved> {
        let stopping = Stopping { rtol, max_iters };
        let config = |method: &str, precision: &str| -> Result<_> {
            let (method, precision) = (method.parse()?, precision.parse()?);
            Ok(Config { method, precision, stopping, ..Config::default() })
        };
        let config = config(method, precision).map_err(exception)?;
        let (load, boundary) = (load.to_vec(py)?, boundary.map(|values| values.to_vec(py)).transpose()?);
        py.detach(|| {
            let load = self.numbering.to_storage(&load).map_err(exception)?;
            boundary.as_deref().map_or(Ok(()), |values| self.check_boundary(values)).map_err(exception)?;
            let boundary = boundary.as_deref();
            match (&self.equation, &self.machine) {
                (Equation::Poisson(poisson), Machine::Cpu(cpu)) => Ok(solve(cpu, poisson, &load, &config)?.into()),
                (Equation::Stokes(stokes), Machine::Cpu(cpu)) => {
                    self.with_boundary(solve(cpu, stokes, &load, &config)?, boundary)
                }
                #[cfg(feature = "cuda")]
                (Equation::Poisson(poisson), Machine::Cuda(cuda)) => Ok(solve(cuda, poisson, &load, &config)?.into()),
                #[cfg(feature = "cuda")]
                (Equation::Stokes(stokes), Machine::Cuda(cuda)) => {
                    self.with_boundary(solve(cuda, stokes, &load, &config)?, boundary)
                }
            }
        })
    }

    /// The matrix of the equation.
    fn matrix(&self, py: Python<'_>) -> PyResult<Map> {
        let numbering = self.numbering.clone();
        py.detach(|| with_machine!(self, |system, backend| Map::matrix(backend, system, numbering))).map_err(exception)
    }

    /// A V-cycle.
    fn vcycle(&self, py: Python<'_>, symmetric: bool, precision: &str) -> PyResult<Map> {
        let precision: Precision = precision.parse().map_err(exception)?;
        let numbering = self.numbering.clone();
        py.detach(|| {
            with_machine!(self, |system, backend| Map::vcycle(backend, system, numbering, symmetric, precision))
        })
        .map_err(exception)
    }
}

impl Problem {
    fn new(equation: Equation, spaces: Vec<Space>, machine: Machine) -> Result<Self> {
        let numbering = Numbering::new(spaces);
        let boundary = match &equation {
            Equation::Poisson(poisson) if !poisson.takes_boundary_values() => Points::default(),
            Equation::Poisson(poisson) => {
                let mut load = numbering.zeros()?;
                Points::asked_by(|ask| {
                    poisson.add_boundary_load(
                        &|point: DVec3| {
                            ask(point);
                            0.0
                        },
                        &mut load,
                    )
                })?
            }
            Equation::Stokes(stokes) => {
                let mut load = numbering.zeros()?;
                Points::asked_by(|ask| {
                    stokes.add_boundary_load(
                        &|point: DVec3| {
                            ask(point);
                            DVec3::ZERO
                        },
                        &mut load,
                    )
                })?
            }
        };
        Ok(Self { equation, machine, numbering, boundary })
    }

    /// Values that a function on the boundary has.
    fn components(&self) -> usize {
        match &self.equation {
            Equation::Poisson(_) => 1,
            Equation::Stokes(stokes) => stokes.dim(),
        }
    }

    fn check_boundary(&self, values: &[f64]) -> Result<()> {
        let (expected, found) = (self.components() * self.boundary.points().len(), values.len());
        if expected == found { Ok(()) } else { Err(Error::SizeMismatch { what: "boundary values", expected, found }) }
    }

    /// The value at a point of the boundary; not a number where the library did not ask before.
    fn value(&self, values: &[f64], point: DVec3) -> DVec3 {
        let Some(number) = self.boundary.number(point) else { return DVec3::NAN };
        let (components, mut value) = (self.components(), [0.0; 3]);
        value[..components].copy_from_slice(&values[number * components..][..components]);
        value.into()
    }

    fn with_boundary(&self, solution: Solution<Flow>, boundary: Option<&[f64]>) -> PyResult<Solved> {
        let Some(values) = boundary else { return Ok(solution.into()) };
        let u = solution.u.with_boundary_velocity(&|point: DVec3| self.value(values, point)).map_err(exception)?;
        Ok(Solution { u, ..solution }.into())
    }
}

/// Ends early, with its exception, if a signal has come that Python raises one for, as `KeyboardInterrupt`.
fn solve<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: &[f64],
    config: &Config,
) -> PyResult<Solution<E::Solution>> {
    let mut raised = None;
    let mut watch = |_, _| match Python::attach(|py| py.check_signals()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(exception) => {
            raised = Some(exception);
            ControlFlow::Break(())
        }
    };
    let start = Instant::now();
    let solution = Solver::new(backend, system, config).and_then(|mut solver| {
        let setup_s = start.elapsed().as_secs_f64();
        let solution = solver.solve_from(load, None, &mut watch)?;
        // What a solve says of itself is the way of the load vector alone.
        Ok(Solution { setup_s: setup_s + solution.setup_s, ..solution })
    });
    match raised {
        Some(exception) => Err(exception),
        None => solution.map_err(exception),
    }
}
