//! Velocities that are given on the boundary: the normal component strongly, the others by Nitsche's method.

use super::Stokes;
use super::forms::LineForms;
use crate::backend::AxisMatrix;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::memory;
use crate::problem::sum_factorization::{Bases, Basis};
use crate::problem::{add_boundary_integrals, side_integrals};
use crate::space::{Axis, Space};
use crate::system::System;
use glam::DVec3;

/// Points of a face's rule a direction beyond `k + 1`: so many that data without net flux have none by quadrature, either.
const MORE_POINTS: usize = 7;

/// Net flux that is rounding, relative to all flux, and to the integral of the absolute values of all components.
const ROUNDING: [f64; 2] = [1e-10, 1e-14];

/// The normal component of a velocity on the boundary, projected in L2 onto the traces of the pressure's space on each face.
pub(super) struct NormalVelocity {
    /// In each direction at the lower and the upper end, component `u_d` and not `u·n`: values at the pressure's nodes along the face.
    values: Vec<[Vec<f64>; 2]>,
}

impl NormalVelocity {
    /// # Errors
    /// [`Error::NotFinite`] with the point where `velocity` is not a finite number, [`Error::NetFlux`].
    pub fn new(pressure: &Space, velocity: &(impl Fn(DVec3) -> DVec3 + Sync + ?Sized)) -> Result<Self> {
        let bases = Bases::new(pressure, |axis| Basis::new(axis, axis.degree() + 1 + MORE_POINTS))?;
        let (mut values, mut net, mut total) = (Vec::new(), 0.0, 0.0);
        for direction in 0..pressure.dim() {
            let mut of_side = |side: usize| {
                let plane = Plane::new(pressure, direction);
                let mut values: Vec<f64> = memory::zeros(plane.nodes())?;
                let component = |point: DVec3| velocity(point)[direction];
                side_integrals(pressure, &bases, [direction, side], &component, |node, integral| {
                    values[plane.index(node)] = integral / plane.mass(node);
                    net += if side == 0 { -integral } else { integral };
                    total += integral.abs();
                })?;
                Ok::<_, Error>(values)
            };
            values.push([of_side(0)?, of_side(1)?]);
        }
        let [of_flux, of_velocity] = ROUNDING;
        if net.abs() > of_flux * total && net.abs() > of_velocity * integral_of_size(pressure, &bases, velocity)? {
            return Err(Error::NetFlux { net, total });
        }
        Ok(Self { values })
    }

    fn is_zero(&self) -> bool {
        self.values.iter().flatten().flatten().all(|&value| value == 0.0)
    }

    /// A component of a velocity with these values at both ends of its direction; as it is if they are zero.
    pub fn on_ends_of(&self, component: Function, direction: usize) -> Result<Function> {
        let from = component.space();
        let axis = &from.axes()[direction];
        let had_ends = axis.all_nodes() == axis.stored_nodes();
        if self.is_zero() && !had_ends {
            return Ok(component);
        }
        let mut axes = from.axes().to_vec();
        axes[direction] = axis.with_ends();
        let (space, plane, last) =
            (Space::of_axes(*from.mesh(), axes)?, Plane::new(from, direction), axis.all_nodes() - 1);
        let mut values = memory::zeros(space.storage())?;
        for node in space.unknowns() {
            let end = [0, last].iter().position(|&end| node[direction] == end);
            values[space.offset(node)] = match end {
                Some(side) => self.values[direction][side][plane.index(node)],
                None => component.values()[from.offset(node)],
            };
        }
        Function::new(&space, values)
    }
}

/// `∫ Σ |u_i|` over the boundary.
fn integral_of_size(
    pressure: &Space,
    bases: &Bases,
    velocity: &(impl Fn(DVec3) -> DVec3 + Sync + ?Sized),
) -> Result<f64> {
    let (mut integral, dim) = (0.0, pressure.dim());
    let size = |point: DVec3| velocity(point).to_array()[..dim].iter().map(|value| value.abs()).sum();
    for side in (0..2 * dim).map(|index| [index / 2, index % 2]) {
        side_integrals(pressure, bases, side, &size, |_, part| integral += part)?;
    }
    Ok(integral)
}

/// The nodes of the discontinuous axes of a space along a face: those of all directions but one, the first one fastest.
struct Plane<'a> {
    /// With their directions.
    axes: Vec<(usize, &'a Axis)>,
}

impl<'a> Plane<'a> {
    fn new(space: &'a Space, normal: usize) -> Self {
        Self { axes: space.axes().iter().enumerate().filter(|&(d, _)| d != normal).collect() }
    }

    fn nodes(&self) -> usize {
        self.axes.iter().map(|(_, axis)| axis.stored_nodes()).product()
    }

    /// Where a node's value lies, whatever its index in the normal direction.
    fn index(&self, node: [usize; 3]) -> usize {
        self.axes.iter().rev().fold(0, |index, &(d, axis)| index * axis.stored_nodes() + node[d])
    }

    /// The node there, with 0 in the normal direction.
    fn node(&self, mut index: usize) -> [usize; 3] {
        let mut node = [0; 3];
        for &(d, axis) in &self.axes {
            node[d] = index % axis.stored_nodes();
            index /= axis.stored_nodes();
        }
        node
    }

    /// `∫ l_j` over the face: the mass matrix is diagonal.
    fn mass(&self, node: [usize; 3]) -> f64 {
        let mass = |&(d, axis): &(usize, &Axis)| {
            let weights = &axis.element().rule().weights;
            weights[node[d] % weights.len()] * axis.cell_size()
        };
        self.axes.iter().map(mass).product()
    }

    /// With a matrix of each axis applied along it.
    fn apply(&self, matrices: &[&AxisMatrix<f64>], x: &[f64]) -> Vec<f64> {
        let (mut x, mut inner) = (x.to_vec(), 1);
        for &&AxisMatrix { rows, width, ref first, ref entries, .. } in matrices {
            let entry = |index: usize| {
                let (line, row) = (index / (inner * rows), index / inner % rows);
                let begin = (line * rows + first[row] as usize) * inner + index % inner;
                (0..width).map(|t| entries[t * rows + row] * x[begin + t * inner]).sum()
            };
            x = (0..x.len()).map(entry).collect();
            inner *= rows;
        }
        x
    }
}

impl Stokes {
    /// Adds what a velocity that is given on the boundary contributes to a load vector.
    ///
    /// Tangential components by Nitsche's method: `ν (σ u·v_i - u·∂ₙv_i)`, integrated over the boundary. The normal component strongly:
    /// with `u_g`, which has its projection in L2 onto polynomials of degree `k` on each face of the boundary and is zero at all
    /// other nodes, `-a(u_g, v_i)` and `∫ q_i ∇·u_g`. [`Flow::with_boundary_velocity`](super::Flow::with_boundary_velocity) adds `u_g`
    /// to a solution.
    ///
    /// ```
    /// use glam::DVec3;
    /// use patchmg::backend::cpu::Cpu;
    /// use patchmg::mesh::Mesh;
    /// use patchmg::solve::{Config, Method, Solver};
    /// use patchmg::system::{Stokes, System};
    /// use std::sync::Arc;
    ///
    /// # fn main() -> patchmg::Result<()> {
    /// // Through a channel of length 2 and width 1, from left to right.
    /// let stokes = Stokes::new(Mesh::of_box(&[2, 1], &[2.0, 1.0], 2)?, 2)?;
    /// let profile = |at: DVec3| DVec3::X * at.y * (1.0 - at.y);
    /// let mut load = vec![0.0; stokes.layout().storage()];
    /// stokes.add_boundary_load(&profile, &mut load)?;
    /// let config = Config { method: Method::Fgmres, ..Config::default() };
    /// let solution = Solver::new(&Arc::new(Cpu::new(None)?), &stokes, &config)?.solve(&load)?;
    /// let flow = solution.u.with_boundary_velocity(&profile)?;
    /// let [begin, end] = [0.0, 2.0].map(|x| flow.pressure().at(DVec3::new(x, 0.5, 0.0)));
    /// assert!((flow.velocity_at(DVec3::new(2.0, 0.5, 0.0))? - 0.25 * DVec3::X).length() < 1e-6);
    /// assert!((begin? - end? - 4.0).abs() < 1e-6); // 2 ν a unit of length
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for a load vector of another length, [`Error::NotFinite`] with the point where `velocity` is not a finite
    /// number, [`Error::NetFlux`] unless as much flows in as out.
    pub fn add_boundary_load(
        &self,
        velocity: &(impl Fn(DVec3) -> DVec3 + Sync + ?Sized),
        load: &mut [f64],
    ) -> Result<()> {
        let (layout, dim) = (self.layout(), self.mesh().dim());
        layout.check("load vector", load.len())?;
        let normal = NormalVelocity::new(self.pressure_space(), velocity)?;
        let forms = (0..dim).map(|d| self.line_forms(d)).collect::<Result<Vec<_>>>()?;
        let tangential = |d: usize| forms[d].boundary_load().into_iter().map(|entry| self.viscosity * entry).collect();
        let tangential: Vec<Vec<f64>> = (0..dim).map(tangential).collect();
        for (component, space) in self.velocity_spaces().iter().enumerate() {
            let value = |point: DVec3| velocity(point)[component];
            let mut across = tangential.clone();
            across[component].clear();
            add_boundary_integrals(space, &across, &value, &mut load[layout.blocks()[component].clone()])?;
        }
        if !normal.is_zero() {
            self.subtract_normal(&normal, &forms, load);
        }
        Ok(())
    }

    /// `b - A u_g`, with `u_g` of the normal velocities.
    fn subtract_normal(&self, normal: &NormalVelocity, forms: &[LineForms], load: &mut [f64]) {
        let (layout, pressure) = (self.layout(), self.pressure_space());
        let (load, pressures) = load.split_at_mut(layout.blocks()[self.mesh().dim()].start);
        let across: Vec<_> = forms.iter().map(|forms| [forms.mass(), forms.stiffness()]).collect();
        for (d, (space, ends)) in self.velocity_spaces().iter().zip(&normal.values).enumerate() {
            let (plane, velocities) = (Plane::new(pressure, d), &mut load[layout.blocks()[d].clone()]);
            // Masses along the face, one of them replaced by the form, or none.
            let product = |form: Option<usize>, values: &[f64]| {
                let matrix = |&(t, _): &(usize, _)| &across[t][usize::from(form == Some(t))];
                plane.apply(&plane.axes.iter().map(matrix).collect::<Vec<_>>(), values)
            };
            for (side, values) in ends.iter().enumerate() {
                let [mass, stiffness, divergence] = forms[d].end_columns(side);
                let masses = product(None, values);
                let mut form = vec![0.0; values.len()];
                for &(t, _) in &plane.axes {
                    form.iter_mut().zip(product(Some(t), values)).for_each(|(sum, entry)| *sum += entry);
                }
                let first = if side == 0 { 0 } else { (pressure.axes()[d].cells() - 1) * pressure.axes()[d].stride() };
                for (index, (of_masses, of_form)) in masses.into_iter().zip(form).enumerate() {
                    let mut node = plane.node(index);
                    for (t, (mass, stiffness)) in mass.iter().zip(&stiffness).enumerate() {
                        node[d] = first + t;
                        if let Some(offset) = space.offset_of_unknown(node) {
                            let along = self.mass * mass + self.viscosity * stiffness;
                            velocities[offset] -= along * of_masses + self.viscosity * mass * of_form;
                        }
                    }
                    for (t, entry) in divergence.iter().enumerate() {
                        node[d] = first + t;
                        pressures[pressure.offset(node)] += entry * of_masses;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flow;
    use super::super::twin::Twin;
    use super::*;
    use crate::mesh::Mesh;

    fn systems() -> Vec<Stokes> {
        let of = |cells: &[usize], lengths: &[f64], refine, degree, mass, viscosity| {
            let mesh = Mesh::of_box(cells, lengths, refine).unwrap();
            Stokes::new(mesh, degree).unwrap().with_mass(mass).unwrap().with_viscosity(viscosity).unwrap()
        };
        vec![
            of(&[1, 1], &[1.0, 1.0], 1, 1, 0.0, 1.0),
            of(&[2, 1], &[3.0, 1.25], 1, 2, 5.0, 0.25),
            of(&[3, 1], &[1.5, 2.0], 1, 3, 100.0, 2.0),
            of(&[1, 1, 1], &[1.0, 1.25, 1.5], 1, 1, 3.0, 0.5),
            of(&[2, 1, 1], &[2.0, 1.0, 0.75], 1, 1, 0.0, 1.0),
        ]
    }

    /// Of degree 1 along each face, the normal component alone or with the others; as much flows out at the upper end as in at the lower.
    fn through(system: &Stokes, has_tangential: bool) -> impl Fn(DVec3) -> DVec3 + Sync + use<> {
        let (dim, lengths) = (system.mesh().dim(), DVec3::from_array(system.mesh().lengths()));
        move |point: DVec3| {
            let mut velocity = DVec3::ZERO;
            for d in 0..dim {
                let (t, is_upper) = (point[(d + 1) % dim] - 0.5 * lengths[(d + 1) % dim], point[d] == lengths[d]);
                if has_tangential || point[d] == 0.0 || is_upper {
                    let other = if dim == 3 { point[(d + 2) % dim] } else { 1.0 };
                    velocity[d] = 1.0 + d as f64 - t * (other - 3.0) + if is_upper { 7.0 * t } else { 0.0 };
                }
            }
            velocity
        }
    }

    /// The system with all nodes as unknowns.
    fn with_ends(system: &Stokes) -> Stokes {
        let mut closed = system.clone();
        for (d, space) in closed.spaces.iter_mut().take(system.mesh().dim()).enumerate() {
            let mut axes = space.axes().to_vec();
            axes[d] = axes[d].with_ends();
            *space = Space::of_axes(*system.mesh(), axes).unwrap();
        }
        closed
    }

    #[test]
    fn the_load_is_that_of_the_form_with_the_velocity_on_the_boundary() {
        for system in systems() {
            let (layout, dim, velocity) = (system.layout(), system.mesh().dim(), through(&system, false));
            let mut load = vec![1.0; layout.storage()];
            system.add_boundary_load(&velocity, &mut load).unwrap();
            let twin = Twin::new(with_ends(&system));
            // A node's own side: points of other faces may lie beside a corner by rounding only.
            let given = |(block, node): (usize, [usize; 3])| {
                let axis = (block < dim).then(|| &twin.system.spaces[block].axes()[block]);
                axis.is_some_and(|axis| node[block] == 0 || node[block] + 1 == axis.stored_nodes())
            };
            let value = |&(block, node): &(usize, [usize; 3])| {
                let point = twin.system.spaces[block].point(node);
                if given((block, node)) { velocity(point)[block] } else { 0.0 }
            };
            let expected = twin.apply(&twin.nodes.iter().map(value).collect::<Vec<_>>());
            let mut largest = 0.0f64;
            for (dof, &(block, node)) in twin.nodes.iter().enumerate() {
                if given((block, node)) {
                    continue;
                }
                let found = load[layout.blocks()[block].start + system.spaces[block].offset_of_unknown(node).unwrap()];
                let error = found - 1.0 + expected.values[dof];
                assert!(error.abs() < 1e-13 * expected.terms[dof].max(1.0), "{block} {node:?}: {found} {error}");
                largest = largest.max(expected.values[dof].abs());
            }
            assert!(largest > 0.1);
            let pressures: f64 = load[layout.blocks()[dim].clone()].iter().map(|entry| entry - 1.0).sum();
            assert!(pressures.abs() < 1e-12, "{pressures}");
        }
    }

    #[test]
    fn a_flow_has_the_normal_velocity_on_the_boundary() {
        for system in systems() {
            let (layout, lengths, velocity) =
                (system.layout(), DVec3::from_array(system.mesh().lengths()), through(&system, true));
            let mut values = vec![0.0; layout.storage()];
            let numbers = crate::testing::random(layout.storage(), 3);
            for (space, block) in system.spaces.iter().zip(layout.blocks()) {
                for offset in space.unknowns().map(|node| block.start + space.offset(node)) {
                    values[offset] = numbers[offset];
                }
            }
            let still = system.solution(values).unwrap();
            let flow = still.clone().with_boundary_velocity(&velocity).unwrap();
            for (d, part) in (0..system.mesh().dim()).flat_map(|d| [0.1, 0.45, 0.77].map(|part| (d, part))) {
                for end in [0.0, lengths[d]] {
                    let mut point = part * lengths;
                    point[d] = end;
                    let (found, expected) = (flow.velocity_at(point).unwrap()[d], velocity(point)[d]);
                    assert!((found - expected).abs() < 1e-13, "{point}: {found}, not {expected}");
                    assert_eq!(still.velocity_at(point).unwrap()[d], 0.0);
                }
            }
            assert_eq!(system.vector_of(&flow).unwrap(), system.vector_of(&still).unwrap());
            // Zero again, by values and without.
            let again = flow.with_boundary_velocity(&|_| DVec3::ZERO).unwrap();
            for (again, still) in again.velocity().iter().zip(still.velocity()) {
                for node in again.space().unknowns() {
                    let expected = still.space().offset_of_unknown(node).map_or(0.0, |offset| still.values()[offset]);
                    assert_eq!(again.values()[again.space().offset(node)], expected);
                }
            }
            let same = still.clone().with_boundary_velocity(&|_| DVec3::ZERO).unwrap();
            assert_eq!(same.velocity()[0].values(), still.velocity()[0].values());
        }
    }

    /// Integrals over spaces whose ends are stored, with odd and even numbers of cells.
    #[test]
    fn a_load_vector_of_all_nodes_adds_up_to_the_integral() {
        for system in systems() {
            let closed = with_ends(&system);
            for space in closed.velocity_spaces() {
                let f = |point: DVec3| 1.0 + point.x * point.y;
                let load = crate::problem::load_vector(space, &f).unwrap();
                let [x, y, z] = system.mesh().lengths();
                let volume = x * y * if space.dim() == 3 { z } else { 1.0 };
                let (found, expected) = (load.iter().sum::<f64>(), volume * (1.0 + 0.25 * x * y));
                assert!((found - expected).abs() < 1e-13 * expected, "{found}, not {expected}");
            }
        }
    }

    #[test]
    fn what_flows_in_must_flow_out() {
        for system in systems() {
            let (area, at_rest) = (system.mesh().lengths()[1], vec![0.0; system.layout().storage()]);
            let area = if system.mesh().dim() == 3 { area * system.mesh().lengths()[2] } else { area };
            let flow = system.solution(at_rest.clone()).unwrap();
            for scale in [1e-200, 1.0, 1e200] {
                let source = |point: DVec3| if point.x == 0.0 { DVec3::ZERO } else { scale * DVec3::X };
                let mut load = at_rest.clone();
                let errors = [
                    system.add_boundary_load(&source, &mut load).unwrap_err(),
                    flow.clone().with_boundary_velocity(&source).map(|_: Flow| ()).unwrap_err(),
                ];
                for error in errors {
                    let Error::NetFlux { net, total } = error else { panic!("{error}") };
                    assert!((net / (scale * area) - 1.0).abs() < 1e-13 && (net / total - 1.0).abs() < 1e-13, "{error}");
                }
                assert_eq!(load, at_rest);
                assert!(system.add_boundary_load(&|_| scale * DVec3::ONE, &mut load).is_ok());
            }
        }
        let system = &systems()[0];
        let mut load = vec![0.0; system.layout().storage()];
        let error = system.add_boundary_load(&|point| DVec3::X * (2.0 * point.x - 1.0), &mut load).unwrap_err();
        assert_eq!(error.to_string(), "the net flux through the boundary is 2e0 of 2e0 in all, but must be 0");
        // A sine that is zero on the boundary but for rounding.
        let sine = |point: DVec3| {
            let [x, y] = [point.x, point.y].map(|x| (std::f64::consts::PI * x).sin_cos());
            DVec3::new(x.0 * y.1, -x.1 * y.0, 0.0)
        };
        assert!(sine(DVec3::X).x != 0.0 && system.add_boundary_load(&sine, &mut load).is_ok());
        let error = system.add_boundary_load(&|_| DVec3::NAN, &mut load).unwrap_err();
        assert!(matches!(error, Error::NotFinite { what: "boundary value", .. }), "{error}");
    }
}
