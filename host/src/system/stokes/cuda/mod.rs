//! Levels on a GPU, by kernels of their own.

#[cfg(test)]
mod tests;

use super::axis_by_axis::{self, AxisByAxis};
use super::forms::{LineForms, PatchForms};
use super::level::{self, Parts, StokesLevel};
use super::{LocalSolver, Stokes};
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::error::{Error, Result};
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::system::{Runs, System};
use patchmg_device::kernels::Module;
use patchmg_device::patch::Ends;
use patchmg_device::stokes::{self, Fields, LineTable, PatchTable, Residual, SchurStarts, Solve};
use std::sync::Arc;

impl Runs<Stokes> for Cuda {
    fn check<T: Scalar>(&self, system: &Stokes) -> Result<()> {
        match system.local_solver() {
            // There is no kernel of `Backend::divide`.
            LocalSolver::SchurCg { .. } => Err(Error::Unsupported {
                backend: "cuda",
                what: "local solver",
                asked: system.local_solver().to_string(),
                available: [LocalSolver::Exact, LocalSolver::Inverse].map(LocalSolver::name).join(", "),
            }),
            _ if has_kernels(system) => modules::require(module(system)),
            _ => Ok(()),
        }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Stokes) -> Result<SharedLevel<Self, T>> {
        let parts: Box<dyn Parts<Self, T>> = if has_kernels(system) {
            Box::new(Kernels::new(self, system)?)
        } else {
            Box::new(AxisByAxis::new(self, system)?)
        };
        Ok(Arc::new(StokesLevel::new(self, system, parts)?))
    }

    fn level_bytes<T: Scalar>(system: &Stokes) -> u64 {
        let parts = if has_kernels(system) { bytes::<T>(system) } else { axis_by_axis::bytes::<T>(system) };
        level::bytes::<T>(system) + parts
    }
}

/// Whether kernels serve a level: those with the exact local solver, but a coarsest one that is no vertex patch.
fn has_kernels(system: &Stokes) -> bool {
    system.local_solver_here() == LocalSolver::Exact && (system.mesh().coarser().is_some() || system.mesh().is_patch())
}

fn module(system: &Stokes) -> Module {
    Module::Stokes { dim: system.mesh().dim(), degree: system.degree() }
}

/// The kernels of a level and their tables.
struct Kernels<T: Scalar> {
    cuda: Arc<Cuda>,
    residual: TypedKernel<Residual<T>>,
    solve: TypedKernel<Solve<T>>,
    lines: Vector<T>,
    patches: Vector<T>,
    schur: Vector<T>,
    starts: SchurStarts,
    fields: Fields,
    dim: usize,
    /// Of a cell in a direction.
    nodes: usize,
    storage: usize,
}

impl<T: Scalar> Kernels<T> {
    fn new(cuda: &Arc<Cuda>, system: &Stokes) -> Result<Self> {
        let (gpu, module) = (&cuda.gpu, module(system));
        let Tables { lines, patches, schur, starts } = Tables::new(system)?;
        let upload = |table: Vec<f64>| Vector::uploaded(gpu, &table.into_iter().map(T::from_f64).collect::<Vec<_>>());
        Ok(Self {
            cuda: cuda.clone(),
            residual: TypedKernel::new(gpu, module)?,
            solve: TypedKernel::new(gpu, module)?,
            lines: upload(lines)?,
            patches: upload(patches)?,
            schur: upload(schur)?,
            starts,
            fields: fields(system),
            dim: system.mesh().dim(),
            nodes: system.degree() + 1,
            storage: system.layout().storage(),
        })
    }

    /// `y = b - A x`, or `A x` without `b`.
    fn multiply(&self, b: Option<&Vector<T>>, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let gpu = &self.cuda.gpu;
        x.check(gpu, "x", self.storage)?;
        y.check(gpu, "y", self.storage)?;
        b.map_or(Ok(()), |b| b.check(gpu, "b", self.storage))?;
        let arguments = Residual {
            table: self.lines.as_ptr(),
            b: b.map_or(std::ptr::null(), Vector::as_ptr),
            x: x.as_ptr(),
            y: y.as_mut_ptr(),
            fields: self.fields,
        };
        let blocks = stokes::residual::blocks(self.dim, self.nodes, self.fields.cells);
        // SAFETY: vectors of the level, checked above, `y` another one than `x`, and tables of its forms.
        unsafe { self.residual.launch(gpu, blocks, arguments) }
    }
}

impl<T: Scalar> Parts<Cuda, T> for Kernels<T> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.multiply(None, x, y)
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.multiply(Some(b), x, r)
    }

    fn add_solutions(&self, color: usize, r: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let gpu = &self.cuda.gpu;
        r.check(gpu, "r", self.storage)?;
        x.check(gpu, "x", self.storage)?;
        let fields = Fields { color: color as u32, ..self.fields };
        let arguments = Solve {
            table: self.patches.as_ptr(),
            schur: self.schur.as_ptr(),
            starts: self.starts,
            r: r.as_ptr(),
            x: x.as_mut_ptr(),
            fields,
        };
        let blocks = stokes::solve::blocks(self.dim, self.nodes, fields.cells, fields.color);
        // SAFETY: vectors of the level, checked above, `x` another one than `r`, and tables of its patches.
        unsafe { self.solve.launch(gpu, blocks, arguments) }
    }
}

/// Where the fields of a level's vectors lie.
fn fields(system: &Stokes) -> Fields {
    let mut first = [0; 4];
    for (first, block) in first.iter_mut().zip(system.layout().blocks()) {
        *first = block.start as u64;
    }
    let mut cells = [1; 3];
    for (cells, &of_mesh) in cells.iter_mut().zip(&system.mesh().cells_along()[..system.mesh().dim()]) {
        *cells = of_mesh as u32;
    }
    Fields { cells, color: 0, first }
}

/// The 1D matrices of each direction, and `S⁺` of each class of patches.
struct Tables {
    lines: Vec<f64>,
    patches: Vec<f64>,
    schur: Vec<f64>,
    starts: SchurStarts,
}

impl Tables {
    fn new(system: &Stokes) -> Result<Self> {
        let dim = system.mesh().dim();
        let forms = (0..dim).map(|d| system.line_forms(d)).collect::<Result<Vec<LineForms>>>()?;
        let (mut lines, mut patches) = (Vec::new(), Vec::new());
        for (d, forms) in forms.iter().enumerate() {
            // Of a component `s` belongs to the axis along itself; of its patches, too.
            lines.extend(forms.line_table(system.mass, system.viscosity));
            patches.extend(forms.patch_table(system.mass, system.viscosity));
            debug_assert_eq!(lines.len(), (d + 1) * LineTable::new(system.degree() + 1).words());
            debug_assert_eq!(patches.len(), (d + 1) * PatchTable::new(system.degree() + 1).words());
        }
        let (mut schur, mut starts) = (Vec::new(), SchurStarts([0; 8]));
        for class in 0..1 << dim {
            let ends: Vec<_> = (0..dim).map(|d| ends(system, d, class >> d & 1 == 1)).collect();
            let Some(ends) = ends.into_iter().collect::<Option<Vec<_>>>() else { continue };
            let of_patch: Vec<&PatchForms> = forms.iter().zip(&ends).map(|(forms, &ends)| forms.patch(ends)).collect();
            let kind: Vec<usize> = ends.iter().map(|&ends| ends as usize).collect();
            starts.0[class] = u32::try_from(schur.len()).map_err(|_| Error::InvalidArgument {
                name: "entries of Schur complements",
                value: schur.len().to_string(),
                allowed: format!("at most {}", u32::MAX),
            })?;
            for (_, inverse) in system.schur.of(system, &kind, &of_patch)?.iter() {
                schur.extend_from_slice(inverse.as_slice());
            }
        }
        Ok(Self { lines, patches, schur, starts })
    }
}

/// The ends of patches that touch one in a direction, or that touch none; none if there are no such patches.
fn ends(system: &Stokes, d: usize, touches: bool) -> Option<Ends> {
    match (system.mesh().cells_along()[d], touches) {
        (2, true) => Some(Ends::Both),
        (2, false) => None,
        // Patches at the upper end have the Schur complement of those at the lower one.
        (_, true) => Some(Ends::Lower),
        (_, false) => Some(Ends::Neither),
    }
}

/// Bytes of the tables.
fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (dim, nodes) = (system.mesh().dim(), system.degree() + 1);
    let classes = (0..1_usize << dim).filter_map(|class| {
        // Entries of a group, squared, times groups.
        let groups = (0..dim).map(|d| match ends(system, d, class >> d & 1 == 1)? {
            Ends::Lower | Ends::Upper => Some((2 * nodes).pow(2)),
            Ends::Neither | Ends::Both => Some(2 * nodes * nodes),
        });
        groups.product::<Option<usize>>()
    });
    vector_bytes::<T>(dim, LineTable::new(nodes).words() + PatchTable::new(nodes).words())
        + vector_bytes::<T>(1, classes.sum())
}
