//! Levels on a GPU, by kernels of their own.

mod paper2;
#[cfg(test)]
mod tests;

use super::axis_by_axis::{self, AxisByAxis};
use super::forms::LineForms;
use super::level::{self, Parts, StokesLevel};
use super::{Stokes, StokesKernel, patches};
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::error::{Error, Result};
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::system::{Runs, System};
use patchmg_device::kernels::Module;
use patchmg_device::stokes::{self, Fields, PatchTable, Residual, SchurStarts, Solve};
use std::sync::Arc;

impl Runs<Stokes> for Cuda {
    fn check<T: Scalar>(&self, system: &Stokes) -> Result<()> {
        if let StokesKernel::Paper2(_) = system.kernel() {
            paper2::check(system)?;
        }
        if system.has_kernels() { modules::require(module(system)) } else { Ok(()) }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Stokes) -> Result<SharedLevel<Self, T>> {
        let parts: Box<dyn Parts<Self, T>> = match system.kernel() {
            StokesKernel::Paper2(level) if system.has_patches() => {
                paper2::check(system)?;
                Box::new(paper2::Kernels::new(self, system, level)?)
            }
            _ => parts(self, system)?,
        };
        Ok(Arc::new(StokesLevel::new(self, system, parts)?))
    }

    fn level_bytes<T: Scalar>(system: &Stokes) -> u64 {
        let parts = match system.kernel() {
            StokesKernel::Paper2(level) if system.has_patches() => paper2::bytes::<T>(system, level),
            _ => parts_bytes::<T>(system),
        };
        level::bytes::<Self, T>(system) + parts
    }

    fn patches_bytes<T: Scalar>(system: &Stokes) -> u64 {
        level::patches_bytes::<T>(system)
    }
}

/// By default kernels.
fn parts<T: Scalar>(cuda: &Arc<Cuda>, system: &Stokes) -> Result<Box<dyn Parts<Cuda, T>>> {
    Ok(if system.has_kernels() {
        Box::new(Kernels::new(cuda, system)?)
    } else {
        Box::new(AxisByAxis::new(cuda, system)?)
    })
}

/// Bytes of these.
fn parts_bytes<T: Scalar>(system: &Stokes) -> u64 {
    if system.has_kernels() { bytes::<T>(system) } else { axis_by_axis::bytes::<T>(system) }
}

fn module(system: &Stokes) -> Module {
    stokes::KIND.module(system.mesh().dim(), system.degree())
}

/// The kernels of a level and their tables.
struct Kernels<T: Scalar> {
    cuda: Arc<Cuda>,
    residual: TypedKernel<Residual<T>>,
    solve: TypedKernel<Solve<T>>,
    lines: Vec<T>,
    ends: Vector<T>,
    patches: Vec<T>,
    table: Vector<T>,
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
        let Tables { lines, ends, patches, table, schur, starts } = Tables::<T>::new(system)?;
        Ok(Self {
            cuda: cuda.clone(),
            residual: TypedKernel::new(gpu, module)?,
            solve: TypedKernel::new(gpu, module)?,
            lines,
            ends: Vector::uploaded(gpu, &ends)?,
            patches,
            table: Vector::uploaded(gpu, &table)?,
            schur: Vector::uploaded(gpu, &schur)?,
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
            matrices: self.lines.as_ptr(),
            ends: self.ends.as_ptr(),
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
            matrices: self.patches.as_ptr(),
            table: self.table.as_ptr(),
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
    let mut cells = [1; 3];
    for (cells, &of_mesh) in cells.iter_mut().zip(&system.mesh().cells_along()[..system.mesh().dim()]) {
        *cells = of_mesh as u32;
    }
    // All components have as many stored nodes, so that fields follow each other in equal steps.
    let distance = system.layout().blocks()[1].start as u64;
    Fields { cells, color: 0, distance }
}

/// What kernels take.
struct Tables<T> {
    /// Of the operator, as they lie in memory.
    lines: Vec<T>,
    ends: Vec<T>,
    /// Of patches, in the same way.
    patches: Vec<T>,
    table: Vec<T>,
    /// `S⁺` of each class of patches.
    schur: Vec<T>,
    starts: SchurStarts,
}

impl<T: Scalar> Tables<T> {
    fn new(system: &Stokes) -> Result<Self> {
        let dim = system.mesh().dim();
        let forms = (0..dim).map(|d| system.line_forms(d)).collect::<Result<Vec<LineForms>>>()?;
        let rounded = |table: Vec<f64>| table.into_iter().map(T::from_f64).collect::<Vec<_>>();
        // In 2D nothing is multiplied by the third.
        let of_directions = |value: &dyn Fn(f64) -> f64| {
            [0, 1, 2].map(|d| system.mesh().cell_sizes()[..dim].get(d).map_or(0.0, |&h| value(h)))
        };
        let mut lines = forms[0].line_matrices();
        lines.extend(of_directions(&|h| system.viscosity / h));
        lines.extend(of_directions(&|h| h));
        lines.push(system.mass);
        let volume: f64 = system.mesh().cell_sizes()[..dim].iter().product();
        let mut patches = forms[0].patch_matrices();
        patches.push(1.0 / volume.sqrt());
        let mut table: Vec<f64> =
            forms.iter().flat_map(|forms| forms.eigenvalues(system.mass, system.viscosity)).collect();
        table.resize(PatchTable::new(system.degree() + 1).discontinuous(1), 0.0);
        table.extend(forms[0].functions_at_ends());
        let (mut schur, mut starts) = (Vec::new(), SchurStarts([0; 8]));
        for (class, ends) in patches::classes(system).into_iter().enumerate() {
            let Some(ends) = ends else { continue };
            starts.0[class] = u32::try_from(schur.len()).map_err(|_| Error::InvalidArgument {
                name: "entries of Schur complements",
                value: schur.len().to_string(),
                allowed: format!("at most {}", u32::MAX),
            })?;
            for (_, inverse) in patches::schur(system, &forms, &ends)?.iter() {
                schur.extend_from_slice(inverse.as_slice());
            }
        }
        Ok(Self {
            lines: rounded(lines),
            ends: rounded(forms[0].at_ends()),
            patches: rounded(patches),
            table: rounded(table),
            schur: rounded(schur),
            starts,
        })
    }
}

/// Bytes of the tables.
fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let nodes = system.degree() + 1;
    vector_bytes::<T>(2, nodes * nodes)
        + vector_bytes::<T>(1, PatchTable::new(nodes).words())
        + vector_bytes::<T>(1, patches::schur_entries(system))
}
