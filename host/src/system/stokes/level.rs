//! A level of the Stokes equations on any machine: every operator is a sum of products of 1D matrices, applied an axis after the
//! other.

use super::Stokes;
use super::forms::LineForms;
use super::patches::{ColorPatches, Tables, along, whole};
use crate::backend::{Backend, Scalar, Tensors};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::level::{Level, Patches};
use crate::memory;
use crate::operator::{LinearOperator, vector_bytes};
use crate::system::System;
use crate::system::axes::prolongation;
use patchmg_device::patch::{bit, color_count};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Matrices along axes of tensors, one after the other; those of other axes are the identity.
pub(super) struct Product<B: Backend, T: Scalar> {
    steps: Vec<Step<B, T>>,
}

struct Step<B: Backend, T: Scalar> {
    matrix: Arc<B::AxisMatrix<T>>,
    inner: usize,
    outer: usize,
}

impl<B: Backend, T: Scalar> Product<B, T> {
    /// Of square matrices on so many nodes a direction.
    pub fn new(nodes: [usize; 3], matrices: Vec<(usize, Arc<B::AxisMatrix<T>>)>) -> Self {
        Self::between(nodes, nodes, matrices)
    }

    /// From tensors of so many nodes a direction to others.
    pub fn between(from: [usize; 3], to: [usize; 3], matrices: Vec<(usize, Arc<B::AxisMatrix<T>>)>) -> Self {
        let mut nodes = from;
        let steps = matrices.into_iter().map(|(d, matrix)| {
            let (inner, outer) = (nodes[..d].iter().product(), nodes[d + 1..].iter().product());
            nodes[d] = to[d];
            Step { matrix, inner, outer }
        });
        Self { steps: steps.collect() }
    }

    /// `y = Q x`, or `y += Q x` if `add`, for the tensors that begin at these entries. `temporary` is none of the two.
    pub fn apply(
        &self,
        backend: &B,
        temporary: &mut [B::Vector<T>; 2],
        (x, from): (&B::Vector<T>, usize),
        (y, to): (&mut B::Vector<T>, usize),
        add: bool,
    ) -> Result<()> {
        let [one, other] = temporary;
        let (mut source, mut target) = (one, other);
        let last = self.steps.len() - 1;
        for (index, Step { matrix, inner, outer }) in self.steps.iter().enumerate() {
            let place = |from, to| Tensors { inner: *inner, outer: *outer, from, to };
            match (index == 0, index == last) {
                (true, true) => backend.apply_along_axis(matrix, place(from, to), x, y, add)?,
                (true, false) => backend.apply_along_axis(matrix, place(from, 0), x, target, false)?,
                (false, true) => backend.apply_along_axis(matrix, place(0, to), source, y, add)?,
                (false, false) => backend.apply_along_axis(matrix, place(0, 0), source, target, false)?,
            }
            (source, target) = (target, source);
        }
        Ok(())
    }
}

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

/// The Stokes equations on one mesh.
pub(super) struct StokesLevel<B: Backend, T: Scalar> {
    backend: Arc<B>,
    system: Stokes,
    layout: Layout,
    nodes: [usize; 3],
    /// Of each direction, along a component of the velocity and across.
    axes: Vec<[AxisForms<B, T>; 2]>,
    /// `-∫ q ∂_i u_i` and its transpose, of each component.
    divergence: Vec<Product<B, T>>,
    gradient: Vec<Product<B, T>>,
    transfer: Option<Transfer<B, T>>,
    colors: Vec<usize>,
    /// By color; on the coarsest level all cells are the one patch of the first.
    patches: Vec<Option<ColorPatches<B, T>>>,
    residual: Mutex<B::Vector<T>>,
    work: Mutex<Workspace<B, T>>,
}

/// To and from the next coarser level, of each block.
struct Transfer<B: Backend, T: Scalar> {
    prolongation: Vec<Product<B, T>>,
    restriction: Vec<Product<B, T>>,
    coarse: Layout,
}

/// Bytes of a level: vectors that it computes with, and matrices; some 1D matrices are a little smaller than said here.
pub(super) fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (mesh, space) = (system.mesh(), system.pressure_space());
    let (dim, block, cells, stride) = (mesh.dim(), space.storage(), mesh.cells_along(), system.degree() + 1);
    let (coarsened, is_coarsest) = (mesh.coarsened_directions().unwrap_or_default(), system.coarser().is_none());
    let line = |d: usize, width: usize| matrix_bytes::<T>(cells[d] * stride, width.min(cells[d] * stride));
    let lines = (0..dim).map(|d| {
        let forms = 2 * line(d, 2 * stride + 1) + line(d, 1) + line(d, 3 * stride);
        let divergence = line(d, stride + 1) + line(d, 2 * stride);
        // Of the component along the direction, and of the others and the pressure; down there are half as many rows.
        let half = |width: usize| matrix_bytes::<T>(cells[d] / 2 * stride, width);
        let transfer = line(d, stride + 1) + half(4 * stride) + dim as u64 * (line(d, stride) + half(2 * stride));
        forms + divergence + if coarsened[d] { transfer } else { 0 }
    });
    let of_color = |color: u32| -> u64 {
        let patches = |d: usize| if is_coarsest { 1 } else { color_count(cells[d] as u32, bit(color, d)) as usize };
        let width = |d: usize| if is_coarsest { cells[d] * stride } else { 2 * stride };
        // To eigenfunctions and back, the divergence and its transpose.
        let lines = (0..dim).map(|d| 3 * line(d, width(d)) + 3 * line(d, width(d) - 1)).sum::<u64>();
        let pressures = (0..dim).map(|d| patches(d) * width(d)).product();
        // Eigenvalues of each component; the order of pressures there and back.
        vector_bytes::<T>(dim, block) + matrix_bytes::<T>(pressures, 1) + matrix_bytes::<T>(block, 1) + lines
    };
    let has_patches = |color: &u32| (0..dim).all(|d| cells[d] > 2 || bit(*color, d) == 0);
    let colors = if is_coarsest { 1 } else { 1 << dim };
    vector_bytes::<T>(1, system.layout().storage())
        + vector_bytes::<T>(4 + dim, block)
        + lines.sum::<u64>()
        + (0..colors).filter(has_patches).map(of_color).sum::<u64>()
        + schur_bytes::<T>(system)
}

/// Bytes of a matrix along an axis with so many entries a row.
fn matrix_bytes<T: Scalar>(rows: usize, width: usize) -> u64 {
    vector_bytes::<T>(rows, width) + (rows * size_of::<u32>()) as u64
}

/// `S⁺` of all kinds of patches, by parities.
fn schur_bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (dim, cells) = (system.mesh().dim(), system.mesh().cells_along());
    let stride = system.degree() + 1;
    // In a direction, of each kind: modes of each parity.
    let split = |modes: usize| vec![modes.div_ceil(2), modes / 2];
    let kinds = |d: usize| match (system.coarser().is_none(), cells[d]) {
        (true, cells) => vec![split(cells * stride)],
        (false, 2) => vec![split(2 * stride)],
        (false, _) => vec![split(2 * stride), vec![2 * stride]],
    };
    // Products over directions of the sizes of groups, or of their squares, summed over kinds and groups.
    let sum = |d: usize, power: u32| kinds(d).iter().flatten().map(|modes| modes.pow(power)).sum::<usize>();
    let [rows, entries] = [1, 2].map(|power| (0..dim).map(|d| sum(d, power)).product());
    vector_bytes::<T>(1, entries) + (rows * size_of::<u32>()) as u64
}

impl<B: Backend, T: Scalar> StokesLevel<B, T> {
    /// Tables and vectors on a machine.
    pub fn new(backend: &Arc<B>, system: &Stokes) -> Result<Self> {
        let (dim, layout, nodes) = (system.mesh().dim(), system.layout(), system.pressure_space().stored_nodes());
        let forms = (0..dim)
            .map(|d| LineForms::new(&system.spaces[d].axes()[d], &system.pressure_space().axes()[d]))
            .collect::<Result<Vec<_>>>()?;
        let matrix =
            |matrix: &crate::backend::AxisMatrix<f64>| Ok::<_, Error>(Arc::new(backend.axis_matrix::<T>(matrix)?));
        let axes = forms.iter().enumerate().map(|(d, forms)| {
            // `s` times the masses of all directions comes with the last.
            let mass = if d + 1 == dim { system.mass } else { 0.0 };
            let of = |mass_matrix: crate::backend::AxisMatrix<f64>, stiffness| {
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
        let transfer =
            system.coarser().transpose()?.map(|coarser| Transfer::new(&**backend, system, &coarser)).transpose()?;
        let (cells, mut tables) = (system.mesh().cells_along(), Tables::new());
        let (mut colors, mut patches) = (Vec::new(), Vec::new());
        if transfer.is_some() {
            for color in 0..1 << dim {
                let along: Vec<_> = (0..dim).map(|d| along(&forms[d], cells[d], bit(color as u32, d))).collect();
                let has_patches = along.iter().all(|line| !line.is_empty());
                let of_color = || ColorPatches::new(&**backend, system, &along, &mut tables);
                patches.push(has_patches.then(of_color).transpose()?);
                colors.extend(has_patches.then_some(color));
            }
        } else {
            let forms = forms.iter().map(LineForms::whole).collect::<Result<Vec<_>>>()?;
            let along: Vec<_> = forms.iter().map(whole).collect();
            patches.push(Some(ColorPatches::new(&**backend, system, &along, &mut tables)?));
            colors.extend(system.mesh().is_patch().then_some(0));
        }
        let block = || backend.zeros(system.pressure_space().storage());
        let work = Workspace {
            temporary: [block()?, block()?],
            between: block()?,
            pressure: block()?,
            velocity: (0..dim).map(|_| block()).collect::<Result<_>>()?,
        };
        Ok(Self {
            patches,
            backend: backend.clone(),
            system: system.clone(),
            residual: Mutex::new(backend.zeros(layout.storage())?),
            layout,
            nodes,
            axes,
            divergence,
            gradient,
            transfer,
            colors,
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

    /// `r = b - A x`, in the same way.
    fn residual_with(
        &self,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        r: &mut B::Vector<T>,
        work: &mut Workspace<B, T>,
    ) -> Result<()> {
        self.apply_with(x, r, work)?;
        self.backend.axpby(1.0, b, -1.0, r)
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

    fn patches_of(&self, color: usize) -> Result<&ColorPatches<B, T>> {
        let of_color = self.patches.get(color).filter(|_| self.colors.contains(&color));
        of_color.and_then(Option::as_ref).ok_or_else(|| Error::InvalidArgument {
            name: "color",
            value: color.to_string(),
            allowed: format!("one of {:?}", self.colors),
        })
    }

    fn transfer(&self) -> Result<&Transfer<B, T>> {
        self.transfer.as_ref().ok_or_else(|| Error::InvalidArgument {
            name: "level",
            value: "the coarsest".into(),
            allowed: "one with a coarser level".into(),
        })
    }
}

/// `Σ c_i Q_i` of matrices of one shape.
fn sum<const N: usize>(terms: [(f64, &crate::backend::AxisMatrix<f64>); N]) -> crate::backend::AxisMatrix<f64> {
    let (rows, columns) = (terms[0].1.rows, terms[0].1.columns);
    let row = |i: usize| {
        let entries = |(factor, matrix): (f64, &crate::backend::AxisMatrix<f64>)| {
            let entry = |t: usize| (matrix.first[i] as usize + t, factor * matrix.entries[t * rows + i]);
            (0..matrix.width).map(entry).collect::<Vec<_>>()
        };
        terms.into_iter().flat_map(entries).filter(|&(_, value)| value != 0.0).collect()
    };
    crate::backend::AxisMatrix::from_rows(columns, &(0..rows).map(row).collect::<Vec<_>>())
}

impl<B: Backend, T: Scalar> Transfer<B, T> {
    fn new(backend: &B, system: &Stokes, coarser: &Stokes) -> Result<Self> {
        let (nodes, coarse) = (system.pressure_space().stored_nodes(), coarser.pressure_space().stored_nodes());
        let coarsened: Vec<_> = (0..system.mesh().dim()).filter(|&d| coarse[d] < nodes[d]).collect();
        let (mut prolongations, mut restrictions) = (Vec::new(), Vec::new());
        for space in &system.spaces {
            let matrices = coarsened.iter().map(|&d| (d, prolongation(&space.axes()[d])));
            let (mut down, mut up) = (Vec::new(), Vec::new());
            for (d, matrix) in matrices {
                up.push((d, Arc::new(backend.axis_matrix(&matrix)?)));
                down.push((d, Arc::new(backend.axis_matrix(&matrix.transposed())?)));
            }
            // Down, tensors become shorter; up, the last direction first, they become longer as late as they can.
            up.reverse();
            prolongations.push(Product::between(coarse, nodes, up));
            restrictions.push(Product::between(nodes, coarse, down));
        }
        Ok(Self { prolongation: prolongations, restriction: restrictions, coarse: coarser.layout() })
    }
}

impl<B: Backend, T: Scalar> LinearOperator<B, T> for StokesLevel<B, T> {
    fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.layout.storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.apply_with(x, y, &mut lock(&self.work))
    }
}

impl<B: Backend, T: Scalar> Level<B, T> for StokesLevel<B, T> {
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        let Transfer { restriction, coarse: layout, .. } = self.transfer()?;
        let (residual, work) = (&mut *lock(&self.residual), &mut *lock(&self.work));
        self.residual_with(b, x, residual, work)?;
        for (block, product) in restriction.iter().enumerate() {
            let (from, to) = (self.layout.blocks()[block].start, layout.blocks()[block].start);
            product.apply(&*self.backend, &mut work.temporary, (residual, from), (coarse, to), false)?;
        }
        Ok(())
    }

    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let (Transfer { prolongation, coarse: layout, .. }, work) = (self.transfer()?, &mut *lock(&self.work));
        for (block, product) in prolongation.iter().enumerate() {
            let (from, to) = (layout.blocks()[block].start, self.layout.blocks()[block].start);
            product.apply(&*self.backend, &mut work.temporary, (coarse, from), (x, to), true)?;
        }
        Ok(())
    }

    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let (None, Some(Some(whole))) = (&self.transfer, self.patches.first()) else {
            return Err(Error::InvalidArgument {
                name: "level to solve on",
                value: "one with a coarser level".into(),
                allowed: "the coarsest".into(),
            });
        };
        self.backend.set_zero(x)?;
        whole.add_solutions(&*self.backend, b, x, &mut lock(&self.work))
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<B::Vector<T>> {
        let mut host: Vec<T> = memory::zeros(self.storage())?;
        let mut dof = 0;
        for (space, block) in self.system.spaces.iter().zip(self.layout.blocks()) {
            for node in space.unknowns() {
                host[block.start + space.offset(node)] = T::from_f64(value(dof));
                dof += 1;
            }
        }
        let mut vector = self.vector()?;
        self.backend.upload(&host, &mut vector)?;
        Ok(vector)
    }

    fn inverse_diagonal(&self) -> Result<B::Vector<T>> {
        Err(only_patches("the inverse of its diagonal, which has zeros"))
    }

    fn patches(&self) -> Result<&dyn Patches<B, T>> {
        Ok(self)
    }

    fn point_gauss_seidel(&self, _b: &B::Vector<T>, _x: &mut B::Vector<T>, _reverse: bool) -> Result<()> {
        Err(only_patches("point Gauss-Seidel, whose diagonal has zeros"))
    }
}

fn only_patches(asked: &str) -> Error {
    let available = String::from("vertex patches");
    Error::Unsupported { backend: "stokes", what: "smoother", asked: asked.into(), available }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Backend, T: Scalar> Patches<B, T> for StokesLevel<B, T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let patches = self.patches_of(color)?;
        let (residual, work) = (&mut *lock(&self.residual), &mut *lock(&self.work));
        self.residual_with(b, x, residual, work)?;
        patches.add_solutions(&*self.backend, residual, x, work)
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_color(0, b, x)
    }
}
