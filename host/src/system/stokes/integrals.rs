//! Load vectors of what depends on a flow: integrals over cells and over the faces between them, by Gauss's rules. With them, a step
//! in time takes terms of the Navier-Stokes equations from the last velocity.

use super::{Flow, Stokes};
use crate::backend::cpu::parallel::try_map;
use crate::error::{Error, Result};
use crate::problem::sum_factorization::{
    Bases, Basis, LANES, Lanes, Table, cell_nodes, contract, first_nodes, unravel,
};
use crate::space::{Axis, Space};
use crate::system::System;
use glam::{DMat3, DVec3};
use pulp::Arch;

/// A flow at a point of a cell; in 2D all third entries are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// Where.
    pub point: DVec3,
    /// `u`.
    pub velocity: DVec3,
    /// `∇u`: column `j` is the derivative in direction `j`, so that `gradient * velocity` is `(u·∇) u`.
    pub gradient: DMat3,
}

/// A flow at a point of a face, in each of the two cells that share it. The normal component of the velocity is the same in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaceSample {
    /// Of length 1, from the first cell to the second.
    pub normal: DVec3,
    /// In the first cell, that with the smaller coordinates, and in the second.
    pub sides: [FlowSample; 2],
}

impl FlowSample {
    const ZERO: Self = Self { point: DVec3::ZERO, velocity: DVec3::ZERO, gradient: DMat3::ZERO };
}

impl Stokes {
    /// Adds `Σ_K ∫_K f(x, u, ∇u) · v_i` over the cells `K` to a load vector, for the basis functions `v_i` of the velocity.
    ///
    /// Gauss's rule of `⌈(3k + 3) / 2⌉` points a direction is exact for `(u·∇) u`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a flow of another mesh or degree, [`Error::SizeMismatch`] for a load vector of another length,
    /// [`Error::NotFinite`] with the point where `f` is not a finite number; then the load vector is as it was.
    pub fn add_cell_integrals(
        &self,
        flow: &Flow,
        f: &(impl Fn(&FlowSample) -> DVec3 + Sync + ?Sized),
        load: &mut [f64],
    ) -> Result<()> {
        self.check_flow_and_load(flow, load)?;
        let cells = boxes(self.mesh().cells_along());
        let points = Points::new(self, flow, None)?;
        let integrals = try_map(cells.len().div_ceil(LANES), |group| {
            let cells = &cells[group * LANES..cells.len().min((group + 1) * LANES)];
            let samples = points.sample(cells);
            let values =
                samples.iter().map(|samples| try_lanes(cells.len(), |lane| finite(f(&samples[lane]), &samples[lane])));
            Ok(points.integrate(&values.collect::<Result<Vec<_>>>()?))
        })?;
        for (cells, integrals) in cells.chunks(LANES).zip(&integrals) {
            self.add_to(cells, integrals, load);
        }
        Ok(())
    }

    /// Adds `Σ_F ∫_F g₁ · v_i|₁ + g₂ · v_i|₂` over the faces `F` between two cells to a load vector: `g` says what each side's basis
    /// functions are multiplied with. Faces on the boundary do not count.
    ///
    /// For the upwind flux of `(u·∇) u` on the right-hand side, which gives a cell where the flow enters it what the jump brings, `g` is
    /// `[max(-u·n, 0) (u₂ - u₁), max(u·n, 0) (u₁ - u₂)]` (B. Cockburn, G. Kanschat, D. Schötzau, *Journal of Scientific Computing* 31,
    /// 2007, pages 61 to 73).
    ///
    /// # Errors
    /// Those of [`Self::add_cell_integrals`].
    pub fn add_face_integrals(
        &self,
        flow: &Flow,
        g: &(impl Fn(&FaceSample) -> [DVec3; 2] + Sync + ?Sized),
        load: &mut [f64],
    ) -> Result<()> {
        self.check_flow_and_load(flow, load)?;
        for (direction, normal) in DVec3::AXES.into_iter().enumerate().take(self.mesh().dim()) {
            // A face is the upper end of one cell, the lower end of the other.
            let side = |end| Points::new(self, flow, Some((direction, end)));
            let sides = [side(1.0)?, side(0.0)?];
            let mut faces = self.mesh().cells_along();
            faces[direction] -= 1;
            let lower = boxes(faces);
            let upper: Vec<_> = lower.iter().map(|&cell| next(cell, direction)).collect();
            let cells = |group: usize| {
                let lanes = group * LANES..lower.len().min((group + 1) * LANES);
                [&lower[lanes.clone()], &upper[lanes]]
            };
            let groups = lower.len().div_ceil(LANES);
            let integrals = try_map(groups, |group| {
                let [lower, upper] = cells(group);
                let samples = [sides[0].sample(lower), sides[1].sample(upper)];
                let mut values = [Vec::new(), Vec::new()];
                for (first, second) in samples[0].iter().zip(&samples[1]) {
                    let mut lanes = [[DVec3::ZERO; LANES]; 2];
                    for lane in 0..lower.len() {
                        let sample = FaceSample { normal, sides: [first[lane], second[lane]] };
                        for (lanes, value) in lanes.iter_mut().zip(g(&sample)) {
                            lanes[lane] = finite(value, &first[lane])?;
                        }
                    }
                    values.iter_mut().zip(lanes).for_each(|(values, lanes)| values.push(lanes));
                }
                Ok::<_, Error>([sides[0].integrate(&values[0]), sides[1].integrate(&values[1])])
            })?;
            for (group, integrals) in integrals.iter().enumerate() {
                for (cells, integrals) in cells(group).into_iter().zip(integrals) {
                    self.add_to(cells, integrals, load);
                }
            }
        }
        Ok(())
    }

    fn check_flow_and_load(&self, flow: &Flow, load: &[f64]) -> Result<()> {
        self.check_flow(flow)?;
        self.layout().check("load vector", load.len())
    }

    /// Integrals of each component against the nodes of up to [`LANES`] cells.
    fn add_to(&self, cells: &[[usize; 3]], integrals: &[Vec<Lanes>], load: &mut [f64]) {
        let layout = self.layout();
        for ((space, integrals), block) in self.velocity_spaces().iter().zip(integrals).zip(layout.blocks()) {
            let (nodes, block) = (cell_nodes(space), &mut load[block.clone()]);
            for (index, integrals) in integrals.iter().enumerate() {
                let local = unravel(index, nodes);
                for (&cell, integral) in cells.iter().zip(integrals) {
                    let first = first_nodes(space, cell);
                    if let Some(offset) = space.offset_of_unknown([0, 1, 2].map(|d| first[d] + local[d])) {
                        block[offset] += integral;
                    }
                }
            }
        }
    }
}

/// A product of points in a cell or on a face of it, with the bases of each component of the velocity there.
struct Points<'a> {
    flow: &'a Flow,
    /// In each direction; in 2D one in the third.
    points: [usize; 3],
    bases: Vec<Bases>,
    /// [`Basis::test`] of each component and direction.
    tests: Vec<Vec<Table>>,
}

impl<'a> Points<'a> {
    /// Gauss's points, exact for `(u·∇) u · v`, whose degree is `3k + 2` at most; on faces in a direction, at an end of it.
    fn new(system: &Stokes, flow: &'a Flow, face: Option<(usize, f64)>) -> Result<Self> {
        let points = (3 * system.degree() + 3).div_ceil(2);
        let basis = |(d, axis): (usize, &Axis)| match face {
            Some((direction, end)) if direction == d => Ok(Basis::at_end(axis, end)),
            _ => Basis::new(axis, points),
        };
        let bases = |space: &Space| Ok(Bases(space.axes().iter().enumerate().map(basis).collect::<Result<_>>()?));
        let bases = system.velocity_spaces().iter().map(bases).collect::<Result<Vec<_>>>()?;
        let tests = bases.iter().map(|Bases(axes)| axes.iter().map(Basis::test).collect()).collect();
        Ok(Self { flow, points: bases[0].points(), bases, tests })
    }

    /// The flow in each point of up to [`LANES`] cells.
    fn sample(&self, cells: &[[usize; 3]]) -> Vec<[FlowSample; LANES]> {
        let mut samples = vec![[FlowSample::ZERO; LANES]; self.points.iter().product()];
        for (index, samples) in samples.iter_mut().enumerate() {
            let q = unravel(index, self.points);
            for (sample, &cell) in samples.iter_mut().zip(cells) {
                sample.point = self.bases[0].point(cell, q);
            }
        }
        for i in 0..self.bases.len() {
            for (d, values) in self.evaluate(i, cells).into_iter().enumerate() {
                for (samples, lanes) in samples.iter_mut().zip(values) {
                    for (sample, value) in samples.iter_mut().zip(lanes) {
                        match d {
                            0 => sample.velocity[i] = value,
                            _ => sample.gradient.col_mut(d - 1)[i] = value,
                        }
                    }
                }
            }
        }
        samples
    }

    /// Values of a component in all points, then its derivatives in each direction.
    fn evaluate(&self, component: usize, cells: &[[usize; 3]]) -> Vec<Vec<Lanes>> {
        let (arch, function) = (Arch::new(), &self.flow.velocity()[component]);
        let space = function.space();
        let nodes = cell_nodes(space);
        let gather = |index: usize| {
            let local = unravel(index, nodes);
            let mut lanes = [0.0; LANES];
            for (lane, &cell) in lanes.iter_mut().zip(cells) {
                let first = first_nodes(space, cell);
                *lane = function.values()[space.offset([0, 1, 2].map(|d| first[d] + local[d]))];
            }
            lanes
        };
        let mut tensors: Vec<Vec<Lanes>> = vec![(0..nodes.iter().product()).map(gather).collect()];
        for (mode, basis) in self.bases[component].0.iter().enumerate() {
            let stride = self.points[..mode].iter().product();
            let apply = |table, input: &[Lanes]| {
                let mut output = Vec::new();
                contract(arch, table, stride, input, &mut output);
                output
            };
            let derivative = apply(&basis.derivatives, &tensors[0]);
            tensors.iter_mut().for_each(|tensor| *tensor = apply(&basis.values, tensor));
            tensors.push(derivative);
        }
        tensors
    }

    /// Of each component of values in the points, the integrals against the nodes of the cells.
    fn integrate(&self, values: &[[DVec3; LANES]]) -> Vec<Vec<Lanes>> {
        let arch = Arch::new();
        let integrals = self.tests.iter().enumerate().map(|(i, tests)| {
            let mut tensor: Vec<Lanes> = values.iter().map(|lanes| lanes.map(|value| value[i])).collect();
            let mut stride = 1;
            for test in tests {
                let mut output = Vec::new();
                contract(arch, test, stride, &tensor, &mut output);
                (tensor, stride) = (output, stride * test.rows());
            }
            tensor
        });
        integrals.collect()
    }
}

/// All cells of so many in each direction, `x` fastest.
fn boxes(along: [usize; 3]) -> Vec<[usize; 3]> {
    (0..along.iter().product()).map(|index| unravel(index, along)).collect()
}

/// The neighbour on the upper side.
fn next(mut cell: [usize; 3], direction: usize) -> [usize; 3] {
    cell[direction] += 1;
    cell
}

/// Values on so many lanes; zero on the others.
fn try_lanes(lanes: usize, value: impl Fn(usize) -> Result<DVec3>) -> Result<[DVec3; LANES]> {
    let mut values = [DVec3::ZERO; LANES];
    for (lane, entry) in values[..lanes].iter_mut().enumerate() {
        *entry = value(lane)?;
    }
    Ok(values)
}

fn finite(value: DVec3, at: &FlowSample) -> Result<DVec3> {
    match value.to_array().into_iter().find(|entry| !entry.is_finite()) {
        None => Ok(value),
        Some(value) => Err(Error::NotFinite { what: "right-hand side", value, place: at.point.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::mesh::Mesh;
    use crate::problem::load_vector;
    use crate::solve::{Config, Method, Solver};
    use crate::testing::random;
    use std::sync::Arc;

    /// In 2D, in 3D, with unequal cells, and with more cells than lanes in a row.
    fn systems() -> Vec<Stokes> {
        let meshes = [
            (Mesh::of_box(&[1, 1], &[1.5, 0.5], 3), 2),
            (Mesh::of_box(&[8, 1], &[2.0, 1.0], 1), 1),
            (Mesh::of_box(&[1, 1, 1], &[1.0, 0.5, 2.0], 1), 2),
            (Mesh::of_box(&[1, 1, 1], &[1.0, 1.0, 1.0], 2), 1),
        ];
        meshes.into_iter().map(|(mesh, degree)| Stokes::new(mesh.unwrap(), degree).unwrap()).collect()
    }

    /// A flow whose normal components are continuous, and its vector.
    fn any_flow(system: &Stokes) -> (Flow, Vec<f64>) {
        let (layout, mut numbers) = (system.layout(), random(system.layout().dofs(), 7).into_iter());
        let mut vector = vec![0.0; layout.storage()];
        for (space, block) in system.spaces.iter().zip(layout.blocks()) {
            for node in space.unknowns() {
                vector[block.start + space.offset(node)] = numbers.next().unwrap();
            }
        }
        (system.solution(vector.clone()).unwrap(), vector)
    }

    /// A flow that is divergence-free: of a Stokes problem.
    fn divergence_free(system: &Stokes) -> (Flow, Vec<f64>) {
        let mut load = vec![0.0; system.layout().storage()];
        let force = |at: &FlowSample| {
            let DVec3 { x, y, z } = at.point;
            DVec3::new((3.0 * y + z).sin(), x * x - 2.0 * z, (x * y).cos() * 5.0)
        };
        let rest = system.solution(load.clone()).unwrap();
        system.add_cell_integrals(&rest, &force, &mut load).unwrap();
        let config = Config { method: Method::Fgmres, ..Config::default() };
        let solution = Solver::new(&Arc::new(Cpu::new(None).unwrap()), system, &config).unwrap().solve(&load).unwrap();
        assert!(solution.u.largest_divergence().unwrap() < 1e-10);
        let vector = system.vector_of(&solution.u).unwrap();
        (solution.u, vector)
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_function_of_the_point_has_its_load_vector() {
        for system in systems() {
            let (layout, flow) = (system.layout(), any_flow(&system).0);
            let functions: [fn(DVec3) -> f64; 3] = [|p| 1.0 + p.x * p.y, |p| p.y - p.x * p.z, |p| p.x + 2.0 * p.z];
            let mut load = vec![0.0; layout.storage()];
            let f = |at: &FlowSample| DVec3::from_array(functions.map(|f| f(at.point)));
            system.add_cell_integrals(&flow, &f, &mut load).unwrap();
            for ((space, block), function) in system.velocity_spaces().iter().zip(layout.blocks()).zip(functions) {
                let expected = load_vector(space, &function).unwrap();
                for (found, expected) in load[block.clone()].iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-14, "{found} {expected}");
                }
            }
            let pressure = layout.blocks().last().unwrap().clone();
            assert!(load[pressure].iter().all(|&entry| entry == 0.0));
        }
    }

    #[test]
    fn samples_are_the_flow() {
        for system in systems() {
            let flow = any_flow(&system).0;
            let mut load = vec![0.0; system.layout().storage()];
            let difference = |at: &FlowSample| {
                let gradient = flow.velocity_gradient_at(at.point).unwrap() - at.gradient;
                let velocity = flow.velocity_at(at.point).unwrap() - at.velocity;
                assert!(velocity.length() < 1e-12, "{at:?}: {velocity}");
                assert!((0..3).all(|d| gradient.col(d).length() < 1e-11), "{at:?}: {gradient}");
                at.velocity
            };
            system.add_cell_integrals(&flow, &difference, &mut load).unwrap();
            let through = flow.clone().with_boundary_velocity(&|_| DVec3::new(1.0, -2.0, 0.5)).unwrap();
            let changed = |at: &FlowSample| {
                let velocity = through.velocity_at(at.point).unwrap() - at.velocity;
                assert!(velocity.length() < 1e-12, "{at:?}: {velocity}");
                DVec3::ZERO
            };
            system.add_cell_integrals(&through, &changed, &mut load).unwrap();
            let (energy, twice) = (flow.kinetic_energy().unwrap(), dot(&load, &system.vector_of(&flow).unwrap()));
            assert!((twice / (2.0 * energy) - 1.0).abs() < 1e-13, "{twice} {energy}");
            let sides = |at: &FaceSample| {
                let (step, [first, second]) = (1e-9 * at.normal, at.sides);
                assert!((first.point - second.point).length() < 1e-15);
                assert!((first.velocity - second.velocity).dot(at.normal).abs() < 1e-13, "{at:?}");
                for (side, step) in [(first, -step), (second, step)] {
                    let difference = flow.velocity_at(side.point + step).unwrap() - side.velocity;
                    assert!(difference.length() < 1e-6, "{at:?}: {difference}");
                }
                [DVec3::ZERO; 2]
            };
            system.add_face_integrals(&flow, &sides, &mut load).unwrap();
        }
    }

    /// Integration by parts ties cells to faces: it holds only if both sample the same flow, at the same places, with the right normals.
    #[test]
    fn convection_with_the_upwind_flux_takes_energy_from_jumps_alone() {
        for system in systems() {
            let (flow, u) = divergence_free(&system);
            let (mut convection, mut jumps) = (vec![0.0; u.len()], vec![0.0; u.len()]);
            system.add_cell_integrals(&flow, &|at| -(at.gradient * at.velocity), &mut convection).unwrap();
            let cells = dot(&convection, &u);
            let upwind = |at: &FaceSample| {
                let [first, second] = at.sides.map(|side| side.velocity);
                let flux = first.dot(at.normal);
                [(-flux).max(0.0) * (second - first), flux.max(0.0) * (first - second)]
            };
            system.add_face_integrals(&flow, &upwind, &mut convection).unwrap();
            let dissipation = |at: &FaceSample| {
                let [first, second] = at.sides.map(|side| side.velocity);
                let half = 0.5 * first.dot(at.normal).abs() * (first - second);
                [-half, half]
            };
            system.add_face_integrals(&flow, &dissipation, &mut jumps).unwrap();
            let (found, expected) = (dot(&convection, &u), dot(&jumps, &u));
            let size = flow.kinetic_energy().unwrap().powf(1.5);
            assert!(expected < 0.0 && (cells - expected).abs() > 1e-3 * expected.abs());
            assert!((found - expected).abs() < 1e-12 * size, "{found:e} {expected:e} {size:e}");
        }
    }

    #[test]
    fn flows_of_other_spaces_and_numbers_that_are_none_are_refused() {
        let systems = systems();
        let flow = any_flow(&systems[0]).0;
        let mut load = vec![1.0; systems[0].layout().storage()];
        let zero = |_: &FlowSample| DVec3::ZERO;
        let message = systems[1].add_cell_integrals(&flow, &zero, &mut load).unwrap_err().to_string();
        assert_eq!(
            message,
            "flow is of degree 2 on 8 x 8 cells, but must be of degree 1 on 16 x 2 cells, on the same box"
        );
        assert!(systems[1].vector_of(&flow).is_err());
        assert!(matches!(systems[0].add_cell_integrals(&flow, &zero, &mut load[1..]), Err(Error::SizeMismatch { .. })));
        let nan = |at: &FlowSample| DVec3::X / if at.point.x > 1.0 { 0.0 } else { 1.0 };
        assert!(matches!(systems[0].add_cell_integrals(&flow, &nan, &mut load), Err(Error::NotFinite { .. })));
        let nan = |_: &FaceSample| [DVec3::ZERO, DVec3::NAN];
        assert!(matches!(systems[0].add_face_integrals(&flow, &nan, &mut load), Err(Error::NotFinite { .. })));
        assert!(load.iter().all(|&entry| entry == 1.0));
    }

    #[test]
    fn a_vector_is_that_of_its_flow() {
        for system in systems() {
            let (flow, vector) = any_flow(&system);
            let found = system.vector_of(&flow).unwrap();
            let pressure = system.layout().blocks().last().unwrap().clone();
            assert_eq!(found[..pressure.start], vector[..pressure.start]);
            let shift = found[pressure.start] - vector[pressure.start];
            assert!(pressure.clone().all(|i| (found[i] - vector[i] - shift).abs() < 1e-14));
            assert_eq!(
                system.vector_of(&system.solution(found.clone()).unwrap()).unwrap()[..pressure.start],
                found[..pressure.start]
            );
        }
    }
}
