//! The operator and the patches of a level on any machine: every matrix is a sum of products of 1D matrices, applied an axis after the
//! other.

use super::Stokes;
use super::dense::Tables;
use super::forms::LineForms;
use super::level::Parts;
use super::patches::{self, ColorPatches, along, whole};
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::operator::vector_bytes;
use crate::sync::lock;
use crate::system::System;
use crate::system::axes::{Product, matrix_bytes};
use patchmg_device::patch::bit;
use std::sync::{Arc, Mutex};

/// Tensors of one block that a level computes with.
pub(super) struct Workspace<B: Backend, T: Scalar> {
    pub temporary: [B::Vector<T>; 2],
    pub between: B::Vector<T>,
    pub pressure: B::Vector<T>,
    pub velocity: Vec<B::Vector<T>>,
}

/// Mass and form of an axis.
struct AxisForms<B: Backend, T: Scalar> {
    mass: Arc<B::AxisMatrix<T>>,
    form: Arc<B::AxisMatrix<T>>,
}

/// See the module.
pub(super) struct AxisByAxis<B: Backend, T: Scalar> {
    backend: Arc<B>,
    layout: Layout,
    nodes: [usize; 3],
    /// Of each direction, along a component of the velocity and across.
    axes: Vec<[AxisForms<B, T>; 2]>,
    /// `-∫ q ∂_i u_i` and its transpose, of each component.
    divergence: Vec<Product<B, T>>,
    gradient: Vec<Product<B, T>>,
    /// By color; on a coarsest level that is one patch, it is the one of the first.
    patches: Vec<Option<ColorPatches<B, T>>>,
    work: Mutex<Workspace<B, T>>,
}

/// Bytes of the vectors that are computed with, and of matrices; some 1D matrices are a little smaller than said here.
pub(super) fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (mesh, space) = (system.mesh(), system.pressure_space());
    let (dim, block, cells, stride) = (mesh.dim(), space.storage(), mesh.cells_along(), system.degree() + 1);
    let line = |d: usize, width: usize| matrix_bytes::<T>(cells[d] * stride, width.min(cells[d] * stride));
    let lines = (0..dim).map(|d| {
        let forms = 2 * line(d, 2 * stride + 1) + line(d, 1) + line(d, 3 * stride);
        forms + line(d, stride + 1) + line(d, 2 * stride)
    });
    vector_bytes::<T>(4 + dim, block) + lines.sum::<u64>() + patches::bytes::<T>(system)
}

impl<B: Backend, T: Scalar> AxisByAxis<B, T> {
    /// Tables and vectors on a machine.
    pub fn new(backend: &Arc<B>, system: &Stokes) -> Result<Self> {
        let (dim, layout, nodes) = (system.mesh().dim(), system.layout(), system.pressure_space().stored_nodes());
        let forms = (0..dim).map(|d| system.line_forms(d)).collect::<Result<Vec<_>>>()?;
        let matrix = |matrix: &AxisMatrix<f64>| Ok::<_, Error>(Arc::new(backend.axis_matrix::<T>(matrix)?));
        let axes = forms.iter().enumerate().map(|(d, forms)| {
            // `s` times the masses of all directions comes with the last.
            let mass = if d + 1 == dim { system.mass } else { 0.0 };
            let of = |mass_matrix: AxisMatrix<f64>, stiffness| {
                let form = sum([(mass, &mass_matrix), (system.viscosity, &stiffness)]);
                Ok::<_, Error>(AxisForms { mass: matrix(&mass_matrix)?, form: matrix(&form)? })
            };
            Ok([of(forms.continuous_mass(), forms.continuous_stiffness())?, of(forms.mass(), forms.stiffness())?])
        });
        let axes = axes.collect::<Result<Vec<[AxisForms<B, T>; 2]>>>()?;
        let (mut divergence, mut gradient) = (Vec::new(), Vec::new());
        for (component, forms) in forms.iter().enumerate() {
            let negative = sum([(-1.0, &forms.divergence())]);
            let [along, transposed] = [matrix(&negative)?, matrix(&negative.transposed())?];
            let product = |along: &Arc<B::AxisMatrix<T>>| {
                let of = |d: usize| if d == component { along.clone() } else { axes[d][1].mass.clone() };
                Product::new(nodes, (0..dim).map(|d| (d, of(d))).collect())
            };
            divergence.push(product(&along));
            gradient.push(product(&transposed));
        }
        let (cells, mut tables) = (system.mesh().cells_along(), Tables::new());
        let mut patches = Vec::new();
        if !system.is_one_patch() {
            for color in 0..1 << dim {
                let along: Vec<_> = (0..dim).map(|d| along(&forms[d], cells[d], bit(color as u32, d))).collect();
                let has_patches = along.iter().all(|line| !line.is_empty());
                let of_color = || ColorPatches::new(&**backend, system, &along, &mut tables);
                patches.push(has_patches.then(of_color).transpose()?);
            }
        } else {
            let forms = forms.iter().map(LineForms::whole).collect::<Result<Vec<_>>>()?;
            let along: Vec<_> = forms.iter().map(whole).collect();
            patches.push(Some(ColorPatches::new(&**backend, system, &along, &mut tables)?));
        }
        let block = || backend.zeros(system.pressure_space().storage());
        let work = Workspace {
            temporary: [block()?, block()?],
            between: block()?,
            pressure: block()?,
            velocity: (0..dim).map(|_| block()).collect::<Result<_>>()?,
        };
        Ok(Self {
            backend: backend.clone(),
            layout,
            nodes,
            axes,
            divergence,
            gradient,
            patches,
            work: Mutex::new(work),
        })
    }

    /// `y = A x`, by the vectors of one block in `work`.
    fn apply_with(&self, x: &B::Vector<T>, y: &mut B::Vector<T>, work: &mut Workspace<B, T>) -> Result<()> {
        let (backend, dim) = (&*self.backend, self.axes.len());
        let start = |block: usize| self.layout.blocks()[block].start;
        for component in 0..dim {
            self.apply_form(component, x, y, work)?;
            let pressure = (x, start(dim));
            self.gradient[component].apply(backend, &mut work.temporary, pressure, (y, start(component)), true)?;
        }
        for component in 0..dim {
            let velocity = (x, start(component));
            let add = component > 0;
            self.divergence[component].apply(backend, &mut work.temporary, velocity, (y, start(dim)), add)?;
        }
        Ok(())
    }

    /// `s u - ν Δu` of a component: in each direction, beside the product of masses so far, the sum of the products with one form.
    fn apply_form(
        &self,
        component: usize,
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
        work: &mut Workspace<B, T>,
    ) -> Result<()> {
        let (backend, dim, start) = (&*self.backend, self.axes.len(), self.layout.blocks()[component].start);
        let forms = |d: usize| &self.axes[d][usize::from(d != component)];
        let tensors = |d: usize, from, to| Tensors {
            inner: self.nodes[..d].iter().product(),
            outer: self.nodes[d + 1..].iter().product(),
            from,
            to,
        };
        let Workspace { temporary: [masses, sum], between, pressure, .. } = work;
        let AxisForms { mass, form } = forms(0);
        backend.apply_along_axis(mass, tensors(0, start, 0), x, masses, false)?;
        backend.apply_along_axis(form, tensors(0, start, 0), x, sum, false)?;
        if dim == 3 {
            let AxisForms { mass, form } = forms(1);
            backend.apply_along_axis(mass, tensors(1, 0, 0), sum, between, false)?;
            backend.apply_along_axis(form, tensors(1, 0, 0), masses, between, true)?;
            backend.apply_along_axis(mass, tensors(1, 0, 0), masses, pressure, false)?;
        }
        let (masses, sum) = if dim == 3 { (pressure, between) } else { (masses, sum) };
        let AxisForms { mass, form } = forms(dim - 1);
        backend.apply_along_axis(mass, tensors(dim - 1, 0, start), sum, y, false)?;
        backend.apply_along_axis(form, tensors(dim - 1, 0, start), masses, y, true)
    }
}

/// `Σ c_i Q_i` of matrices of one shape.
fn sum<const N: usize>(terms: [(f64, &AxisMatrix<f64>); N]) -> AxisMatrix<f64> {
    let (rows, columns) = (terms[0].1.rows, terms[0].1.columns);
    let row = |i: usize| {
        let entries = |(factor, matrix): (f64, &AxisMatrix<f64>)| {
            let entry = |t: usize| (matrix.first[i] as usize + t, factor * matrix.entries[t * rows + i]);
            (0..matrix.width).map(entry).collect::<Vec<_>>()
        };
        terms.into_iter().flat_map(entries).filter(|&(_, value)| value != 0.0).collect()
    };
    AxisMatrix::from_rows(columns, &(0..rows).map(row).collect::<Vec<_>>())
}

impl<B: Backend, T: Scalar> Parts<B, T> for AxisByAxis<B, T> {
    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.apply_with(x, y, &mut lock(&self.work))
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.apply(x, r)?;
        self.backend.axpby(1.0, b, -1.0, r)
    }

    fn add_solutions(&self, color: usize, r: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        match self.patches.get(color) {
            Some(Some(patches)) => patches.add_solutions(&*self.backend, r, x, &mut lock(&self.work)),
            _ => Ok(()),
        }
    }
}
