//! Velocity and pressure.

use super::Stokes;
use super::boundary::NormalVelocity;
use crate::error::{Error, Result};
use crate::fe::Element;
use crate::function::Function;
use crate::memory;
use crate::output::nodal_values::{self, Nodes};
use crate::output::{compressed, vtu};
use crate::problem::{Constant, ErrorNorms, ExactSolution};
use crate::space::{Axis, Family, Space};
use crate::system::System;
use glam::{DMat3, DVec3};
use std::path::Path;
use std::sync::Arc;

/// A velocity, and the pressure with mean zero that belongs to it.
#[derive(Clone, Debug)]
pub struct Flow {
    velocity: Vec<Function>,
    pressure: Function,
}

/// How far a flow is from the exact one, and from being divergence-free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowErrors {
    /// Of the velocity, all components; none if the exact one is not known.
    pub velocity: Option<ErrorNorms>,
    /// Of the pressure, in L2.
    pub pressure_l2: Option<f64>,
    /// The largest `|∇·u|` at the nodes of the pressure.
    pub largest_divergence: f64,
}

impl Flow {
    /// Of values that are laid out as vectors of a system. Nothing flows through the boundary
    /// ([`Self::with_boundary_velocity`]).
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for another number of values.
    pub fn new(system: &Stokes, mut values: Vec<f64>) -> Result<Self> {
        let layout = system.layout();
        layout.check("values", values.len())?;
        let blocks = layout.blocks();
        let mut of_blocks = Vec::new();
        for block in blocks[1..].iter().rev() {
            of_blocks.push(memory::copy(&values[block.clone()])?);
            values.truncate(block.start);
            values.shrink_to_fit();
        }
        values.truncate(blocks[0].end);
        of_blocks.push(values);
        let functions = system.spaces.iter().zip(of_blocks.into_iter().rev());
        let mut functions =
            functions.map(|(space, values)| Function::new(space, values)).collect::<Result<Vec<_>>>()?;
        let mut pressure = functions.pop().expect("the last block is the pressure's").into_values();
        let mean = mean(system.pressure_space(), &pressure);
        pressure.iter_mut().for_each(|value| *value -= mean);
        Ok(Self { velocity: functions, pressure: Function::new(system.pressure_space(), pressure)? })
    }

    /// With the normal component of a velocity on the boundary, which is no unknown: on each face its projection in L2 onto traces of
    /// degree `k`, as [`Stokes::add_boundary_load`] takes it.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the point where `velocity` is not a finite number, [`Error::NetFlux`].
    pub fn with_boundary_velocity(self, velocity: &(impl Fn(DVec3) -> DVec3 + Sync + ?Sized)) -> Result<Self> {
        let normal = NormalVelocity::new(self.pressure.space(), velocity)?;
        let mut components = Vec::new();
        for (direction, component) in self.velocity.into_iter().enumerate() {
            components.push(normal.on_ends_of(component, direction)?);
        }
        Ok(Self { velocity: components, pressure: self.pressure })
    }

    /// Each component of the velocity.
    pub fn velocity(&self) -> &[Function] {
        &self.velocity
    }

    /// The pressure.
    pub fn pressure(&self) -> &Function {
        &self.pressure
    }

    /// The velocity at a point, with third component 0 in 2D.
    ///
    /// # Errors
    /// Those of [`Function::at`].
    pub fn velocity_at(&self, point: DVec3) -> Result<DVec3> {
        let mut velocity = DVec3::ZERO;
        for (d, component) in self.velocity.iter().enumerate() {
            velocity[d] = component.at(point)?;
        }
        Ok(velocity)
    }

    /// `∇u` at a point: column `j` is the derivative in direction `j`, so that `∇u u` is `(u·∇) u`; zero where 2D has no third.
    ///
    /// # Errors
    /// Those of [`Function::at`].
    pub fn velocity_gradient_at(&self, point: DVec3) -> Result<DMat3> {
        let mut rows = [DVec3::ZERO; 3];
        for (row, component) in rows.iter_mut().zip(&self.velocity) {
            *row = component.gradient_at(point)?;
        }
        Ok(DMat3::from_cols(rows[0], rows[1], rows[2]).transpose())
    }

    /// `½ ∫ |u|²`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value is not finite.
    pub fn kinetic_energy(&self) -> Result<f64> {
        let norms = self.velocity_error_to(&[&Constant(0.0) as &dyn ExactSolution; 3])?;
        Ok(0.5 * norms.l2 * norms.l2)
    }

    /// `(Σ ||u_i - u_h,i||²)^(1/2)` in L2 and in the seminorm of H1, cell by cell.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value is not finite.
    pub fn velocity_error_to(&self, exact: &[&dyn ExactSolution]) -> Result<ErrorNorms> {
        let (mut l2, mut h1) = (0.0, 0.0);
        for (component, exact) in self.velocity.iter().zip(exact) {
            let norms = component.error_to(*exact)?;
            l2 += norms.l2 * norms.l2;
            h1 += norms.h1 * norms.h1;
        }
        Ok(ErrorNorms { l2: l2.sqrt(), h1: h1.sqrt() })
    }

    /// `∇·u` at the nodes of the pressure, in the storage order of its space: the divergence of the velocity is a function of that
    /// space.
    pub fn divergence(&self) -> Vec<f64> {
        let space = self.pressure.space();
        let mut divergence = vec![0.0; space.storage()];
        for (d, component) in self.velocity.iter().enumerate() {
            let (axis, nodes) = (&component.space().axes()[d], space.axes()[d].element().nodes());
            let slopes: Vec<Vec<f64>> = nodes
                .iter()
                .map(|&x| axis.element().derivatives(x).into_iter().map(|slope| slope / axis.cell_size()).collect())
                .collect();
            for node in space.unknowns() {
                let (cell, local) = (node[d] / nodes.len(), node[d] % nodes.len());
                let mut along = node;
                let mut sum = 0.0;
                for (j, slope) in slopes[local].iter().enumerate() {
                    along[d] = cell * axis.stride() + j;
                    sum += slope * component.values()[component.space().offset(along)];
                }
                divergence[space.offset(node)] += sum;
            }
        }
        divergence
    }

    /// Writes it for ParaView: point data `velocity`, a vector, and `pressure`, with cells of degree `k + 1`.
    ///
    /// # Errors
    /// Those of [`vtu::write()`].
    pub fn write_vtu(&self, path: &Path, config: &vtu::Config) -> Result<()> {
        let components = self.velocity.iter().map(|component| (component.space(), component.values())).collect();
        let pressure = vec![(self.pressure.space(), self.pressure.values())];
        let fields =
            [vtu::Field { name: "velocity", components }, vtu::Field { name: "pressure", components: pressure }];
        vtu::write_fields(path, &points(self.pressure.space())?, &fields, config)
    }

    /// Writes it to a file that NumPy loads (`.npz`): each component of the velocity, `velocity_x` and so on, and `pressure`, at all of its
    /// nodes, with indices along `z`, `y` and `x`, or `y` and `x` in 2D; and `velocity_x_points` and so on, these nodes, with one
    /// index more for the coordinates. All are `f64`.
    ///
    /// # Errors
    /// Those of [`write_with`](crate::output::file::write_with).
    pub fn write_npz(&self, path: &Path) -> Result<()> {
        let functions = self.velocity.iter().chain([&self.pressure]).zip(Self::names(self.velocity.len()));
        let arrays = functions.map(|(function, name)| {
            let values = nodal_values::values_at_nodes(function.space(), function.values());
            (Nodes::of_space(function.space(), Some(name)), Box::new(values) as Box<dyn Iterator<Item = f64>>)
        });
        nodal_values::write(path, arrays.collect())
    }

    /// The flow of a system that [`Self::write_npz`] wrote. Nothing flows through the boundary ([`Self::with_boundary_velocity`]): what the
    /// file has there is no unknown, and left out.
    ///
    /// # Errors
    /// [`Error::SolutionFile`] for another file, or one with other nodes; [`Error::Io`], [`Error::OutOfMemory`].
    pub fn read_npz(system: &Stokes, path: &Path) -> Result<Self> {
        let nodes = system.spaces.iter().zip(Self::names(system.dim()));
        let nodes = nodes.map(|(space, name)| Nodes::of_space(space, Some(name))).collect();
        let mut functions = system
            .spaces
            .iter()
            .zip(nodal_values::read(path, nodes)?)
            .map(|(space, values)| Function::new(space, nodal_values::from_values_at_nodes(space, &values)?));
        let velocity = functions.by_ref().take(system.dim()).collect::<Result<Vec<_>>>()?;
        let pressure = functions.next().expect("the last space is the pressure's")?;
        Ok(Self { velocity, pressure })
    }

    /// Of the components of the velocity, then of the pressure.
    fn names(dim: usize) -> impl Iterator<Item = &'static str> {
        ["velocity_x", "velocity_y", "velocity_z"].into_iter().take(dim).chain(["pressure"])
    }

    /// Bytes of a VTU file, and of the host's memory that writing it takes, both at most.
    pub(super) fn most_vtu_bytes(pressure: &Space, config: &vtu::Config) -> Result<[u64; 2]> {
        let (points, dim) = (points(pressure)?, pressure.dim() as u64);
        let [solution, values] = [pressure, &points].map(|space| (space.storage() * size_of::<f64>()) as u64);
        // The values of a field are there twice while they are computed.
        let memory = (dim + 1) * (solution + values) + values.max(compressed::memory());
        Ok([vtu::most_bytes_of_arrays(&points, &[3, 1], config), memory])
    }

    /// The largest `|∇·u|` there.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value is not finite.
    pub fn largest_divergence(&self) -> Result<f64> {
        let largest = self.divergence().into_iter().fold(0.0, |largest: f64, value| match value.is_finite() {
            true => largest.max(value.abs()),
            false => f64::NAN,
        });
        if largest.is_nan() {
            return Err(Error::NotFinite { what: "divergence", value: largest, place: "a cell".into() });
        }
        Ok(largest)
    }
}

/// The space whose points a file has: every cell its own, `k + 2` a direction.
fn points(pressure: &Space) -> Result<Space> {
    let element = Arc::new(Element::new(pressure.degree() + 1)?);
    let axis = |axis: &Axis| Axis::new(Family::Discontinuous, &element, axis.cells(), axis.cell_size());
    Space::of_axes(*pressure.mesh(), pressure.axes().iter().map(axis).collect())
}

/// `∫ p / |Ω|`, by Gauss's rule of the nodes.
fn mean(space: &Space, values: &[f64]) -> f64 {
    space.unknowns().map(|node| share(space, node) * values[space.offset(node)]).sum()
}

/// `∫ q / |Ω|` of a node's basis function.
pub(super) fn share(space: &Space, node: [usize; 3]) -> f64 {
    let share = |(axis, node): (&Axis, usize)| {
        let weights = &axis.element().rule().weights;
        weights[node % weights.len()] / axis.cells() as f64
    };
    space.axes().iter().zip(node).map(share).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use crate::testing::VtuFile;

    /// In `RT_1 x Q_1`, with normal components that are zero on the boundary; the pressure's mean is not zero.
    fn velocity(point: DVec3, lengths: DVec3, dim: usize) -> DVec3 {
        let bubble = point * (lengths - point);
        match dim {
            2 => DVec3::new(bubble.x * (1.0 + 2.0 * point.y), bubble.y * (1.0 - 3.0 * point.x), 0.0),
            _ => DVec3::new(
                bubble.x * (1.0 + 2.0 * point.y * point.z),
                bubble.y * (point.z - 3.0 * point.x),
                bubble.z * (2.0 - point.x * point.y),
            ),
        }
    }

    fn pressure(point: DVec3) -> f64 {
        1.0 + point.x - 2.0 * point.y + point.x * point.y * (1.0 + point.z)
    }

    /// With a constant velocity besides, which flows through the boundary.
    fn flow(system: &Stokes, constant: DVec3) -> Flow {
        let (layout, dim) = (system.layout(), system.mesh().dim());
        let lengths = DVec3::from_array(system.mesh().lengths());
        let mut values = vec![0.0; layout.storage()];
        for (block, (space, range)) in system.spaces.iter().zip(layout.blocks()).enumerate() {
            for node in space.unknowns() {
                let point = space.point(node);
                let value =
                    if block < dim { (velocity(point, lengths, dim) + constant)[block] } else { pressure(point) };
                values[range.start + space.offset(node)] = value;
            }
        }
        let given = |point| velocity(point, lengths, dim) + constant;
        Flow::new(system, values).unwrap().with_boundary_velocity(&given).unwrap()
    }

    /// In 2D without third component.
    const CONSTANTS: [DVec3; 2] = [DVec3::ZERO, DVec3::new(1.0, -2.0, 0.5)];

    const BOXES: [(&[usize], &[f64], usize); 4] = [
        (&[1, 1], &[1.0, 1.0], 1),
        (&[2, 1], &[1.5, 0.5], 2),
        (&[1, 1, 1], &[1.0, 1.0, 1.0], 1),
        (&[1, 2, 1], &[0.7, 2.0, 1.0], 1),
    ];

    /// Mean of the pressure, by hand.
    fn mean_pressure(lengths: DVec3, dim: usize) -> f64 {
        let [x, y, z] = (0.5 * lengths).to_array();
        1.0 + x - 2.0 * y + x * y * if dim == 3 { 1.0 + z } else { 1.0 }
    }

    #[test]
    fn a_polynomial_flow_comes_back_from_its_file_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let cases = BOXES.into_iter().zip([1, 2, 1, 3]).flat_map(|case| CONSTANTS.map(|constant| (case, constant)));
        for (((cells, lengths, refine), degree), constant) in cases {
            let mesh = Mesh::of_box(cells, lengths, refine).unwrap();
            let (system, dim) = (Stokes::new(mesh, degree).unwrap(), mesh.dim());
            let path = folder.path().join("flow.vtu");
            let constant = constant.with_z(if dim == 3 { constant.z } else { 0.0 });
            let config = vtu::Config::default();
            flow(&system, constant).write_vtu(&path, &config).unwrap();
            let ([said, _], found) = (system.most_vtu_bytes(&config).unwrap(), std::fs::metadata(&path).unwrap().len());
            assert!(found <= said, "{found} bytes, said were at most {said}");

            let file = VtuFile::of(&path);
            assert!(file.is_complete());
            let points = mesh.cells() * (degree + 2).pow(dim as u32);
            assert_eq!([file.count("NumberOfPoints"), file.count("NumberOfCells")], [points, mesh.cells()]);
            let names = ["Points", "velocity", "pressure"];
            let [places, velocities, pressures] = names.map(|name| file.floats(name));
            assert_eq!([places.len(), velocities.len(), pressures.len()], [3 * points, 3 * points, points]);
            assert_eq!(file.numbers("connectivity").len(), points);
            let lengths = DVec3::from_array(mesh.lengths());
            for ((point, u), p) in places.chunks_exact(3).zip(velocities.chunks_exact(3)).zip(pressures) {
                let (point, u) = (DVec3::from_slice(point), DVec3::from_slice(u));
                let expected = velocity(point, lengths, dim) + constant;
                assert!((u - expected).abs().max_element() < 1e-13, "{point}: {u}, not {expected}");
                assert!(dim == 3 || u.z == 0.0, "{point}: {u}");
                let expected = pressure(point) - mean_pressure(lengths, dim);
                assert!((p - expected).abs() < 1e-13, "{point}: {p}, not {expected}");
            }
        }
    }

    /// With what flows through the boundary in the file, and without it read back as a flow.
    #[test]
    fn a_flow_comes_back_from_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flow.npz");
        for (cells, lengths, refine) in BOXES {
            let system = Stokes::new(Mesh::of_box(cells, lengths, refine).unwrap(), 2).unwrap();
            for constant in CONSTANTS {
                let flow = flow(&system, constant);
                flow.write_npz(&path).unwrap();
                let read = Flow::read_npz(&system, &path).unwrap();
                assert_eq!(system.vector_of(&read).unwrap(), system.vector_of(&flow).unwrap());
            }
            let other = Stokes::new(Mesh::of_box(cells, lengths, refine + 1).unwrap(), 2).unwrap();
            let error = Flow::read_npz(&other, &path).unwrap_err();
            assert!(
                matches!(&error, Error::SolutionFile { what, .. } if what == "the shape of 'velocity_x'"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_divergence_is_that_of_the_polynomial() {
        for ((cells, lengths, refine), constant) in BOXES.into_iter().flat_map(|case| CONSTANTS.map(|c| (case, c))) {
            let mesh = Mesh::of_box(cells, lengths, refine).unwrap();
            let system = Stokes::new(mesh, 2).unwrap();
            let (flow, space, sides) =
                (flow(&system, constant), system.pressure_space(), DVec3::from_array(mesh.lengths()));
            let (found, mut largest) = (flow.divergence(), 0.0f64);
            for node in space.unknowns() {
                let point = space.point(node);
                let slopes = sides - 2.0 * point;
                let expected = match mesh.dim() {
                    2 => slopes.x * (1.0 + 2.0 * point.y) + slopes.y * (1.0 - 3.0 * point.x),
                    _ => {
                        slopes.x * (1.0 + 2.0 * point.y * point.z)
                            + slopes.y * (point.z - 3.0 * point.x)
                            + slopes.z * (2.0 - point.x * point.y)
                    }
                };
                largest = largest.max(expected.abs());
                let value = found[space.offset(node)];
                assert!((value - expected).abs() < 1e-12, "{point}: {value}, not {expected}");
            }
            assert!((flow.largest_divergence().unwrap() - largest).abs() < 1e-12);
        }
    }

    #[test]
    fn values_that_are_no_flow_are_refused() {
        let system = Stokes::new(Mesh::unit_cube(2, 1).unwrap(), 1).unwrap();
        assert!(matches!(Flow::new(&system, vec![0.0; 3]), Err(Error::SizeMismatch { found: 3, .. })));
        for bad in [f64::NAN, f64::INFINITY] {
            let values = vec![bad; system.layout().storage()];
            let error = Flow::new(&system, values).unwrap().largest_divergence().unwrap_err();
            assert!(matches!(error, Error::NotFinite { what: "divergence", .. }), "{error}");
        }
    }
}
