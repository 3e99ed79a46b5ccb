//! Levels on the CPU, by kernels of their own.

#[cfg(test)]
mod tests;

use super::axis_by_axis::{self, AxisByAxis};
use super::forms::{LineForms, PatchForms};
use super::level::{self, Parts, StokesLevel};
use super::{Stokes, StokesKernel, patches, unsupported_kernel};
use crate::backend::cpu::{Cpu, Vector};
use crate::backend::{AxisMatrix, Scalar};
use crate::error::{Error, Result, check_length};
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::system::scalar::in_scalar;
use crate::system::{Runs, System};
use patchmg_cpu::{Coupled, PatchAxis, PatchFunctions, Prepared, RaviartThomas, StokesAxis, StokesKernels};
use patchmg_device::patch::{DgGrid, Ends};
use std::ops::Range;
use std::sync::Arc;

impl Runs<Stokes> for Cpu {
    fn check<T: Scalar>(&self, system: &Stokes) -> Result<()> {
        match system.kernel() {
            StokesKernel::Register => Ok(()),
            kernel => Err(unsupported_kernel("cpu", kernel, StokesKernel::default().to_string())),
        }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Stokes) -> Result<SharedLevel<Self, T>> {
        Runs::<Stokes>::check::<T>(&**self, system)?;
        if system.has_kernels() {
            return in_scalar(|| with_kernels::<f32>(self, system), || with_kernels::<f64>(self, system));
        }
        let parts = Box::new(AxisByAxis::<Self, T>::new(self, system)?);
        Ok(Arc::new(StokesLevel::new(self, system, parts)?))
    }

    fn level_bytes<T: Scalar>(system: &Stokes) -> u64 {
        let parts = if system.has_kernels() { bytes::<T>(system) } else { axis_by_axis::bytes::<T>(system) };
        level::bytes::<Self, T>(system) + parts
    }

    fn patches_bytes<T: Scalar>(system: &Stokes) -> u64 {
        level::patches_bytes::<T>(system)
    }
}

fn with_kernels<T: Scalar + Prepared>(cpu: &Arc<Cpu>, system: &Stokes) -> Result<SharedLevel<Cpu, T>> {
    let parts = Box::new(Kernels::<T>::new(cpu, system)?);
    Ok(Arc::new(StokesLevel::new(cpu, system, parts)?))
}

/// The kernels of a level.
struct Kernels<T> {
    cpu: Arc<Cpu>,
    kernels: Box<dyn StokesKernels<T>>,
    storage: usize,
}

impl<T: Scalar + Prepared> Kernels<T> {
    fn new(cpu: &Arc<Cpu>, system: &Stokes) -> Result<Self> {
        let unsupported = || Error::Unsupported {
            backend: "cpu",
            what: "degree",
            asked: system.degree().to_string(),
            available: "1 to 8 in 2D, 1 to 5 in 3D".into(),
        };
        let kernels = T::stokes(tables(system)?).ok_or_else(unsupported)?;
        Ok(Self { cpu: cpu.clone(), kernels, storage: system.layout().storage() })
    }
}

impl<T: Scalar + Prepared> Parts<Cpu, T> for Kernels<T> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        check_length("x", self.storage, x.len())?;
        check_length("y", self.storage, y.len())?;
        self.kernels.apply(self.cpu.sweep(), x, y);
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        check_length("b", self.storage, b.len())?;
        check_length("x", self.storage, x.len())?;
        check_length("r", self.storage, r.len())?;
        self.kernels.residual(self.cpu.sweep(), b, x, r);
        Ok(())
    }

    fn add_solutions(&self, color: usize, r: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        check_length("r", self.storage, r.len())?;
        check_length("x", self.storage, x.len())?;
        self.kernels.add_solutions(self.cpu.sweep(), color as u32, r, x);
        Ok(())
    }
}

/// What kernels are made from.
fn tables<T: Scalar>(system: &Stokes) -> Result<RaviartThomas<T>> {
    let (mesh, viscosity) = (system.mesh(), system.viscosity());
    let dim = mesh.dim();
    let forms = (0..dim).map(|d| system.line_forms(d)).collect::<Result<Vec<LineForms>>>()?;
    let mut cells = [1; 3];
    for (cells, &of_mesh) in cells.iter_mut().zip(&mesh.cells_along()[..dim]) {
        *cells = of_mesh as u32;
    }
    let (mut inverse_eigenvalues, mut schur) = (Vec::new(), Vec::new());
    for ends in patches::classes(system) {
        let (mut inverses, mut blocks) = (Vec::new(), Vec::new());
        if let Some(ends) = ends {
            let patch: Vec<_> = forms.iter().zip(&ends).map(|(forms, &ends)| forms.patch(ends)).collect();
            inverses.extend((0..dim).map(|own| rounded(&inverse(system, own, &patch))));
            let rounded_block =
                |(modes, matrix): &super::dense::Coupled| -> Coupled<T> { (modes.clone(), rounded(matrix.as_slice())) };
            blocks.extend(patches::schur(system, &forms, &ends)?.iter().map(rounded_block));
        }
        inverse_eigenvalues.push(inverses);
        schur.push(blocks);
    }
    Ok(RaviartThomas {
        grid: DgGrid { cells, degree: system.degree() as u32 },
        // All components have as many stored nodes, so that fields follow each other in equal steps.
        distance: system.layout().blocks()[1].start,
        reaction: system.mass(),
        axes: forms.iter().map(|forms| stokes_axis(forms, viscosity)).collect(),
        patches: forms.iter().map(patch_axis).collect(),
        inverse_eigenvalues,
        schur,
    })
}

fn rounded<T: Scalar>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|&number| T::from_f64(number)).collect()
}

fn stokes_axis(forms: &LineForms, viscosity: f64) -> StokesAxis {
    let scaled = |mut matrix: AxisMatrix<f64>| {
        matrix.entries.iter_mut().for_each(|entry| *entry *= viscosity);
        matrix
    };
    StokesAxis {
        weights: forms.mass(),
        form: scaled(forms.stiffness()),
        mass: forms.continuous_mass(),
        stiffness: scaled(forms.continuous_stiffness()),
        divergence: forms.divergence(),
    }
}

fn patch_axis(forms: &LineForms) -> PatchAxis {
    let functions = |ends: Ends| {
        let PatchForms { is_symmetric, discontinuous, divergence, .. } = forms.patch(ends);
        PatchFunctions {
            is_symmetric: *is_symmetric,
            values: discontinuous.vectors.as_slice().to_vec(),
            derivatives: divergence.as_slice().to_vec(),
        }
    };
    PatchAxis {
        continuous: forms.patch(Ends::Neither).continuous.vectors.as_slice().to_vec(),
        discontinuous: Ends::ALL.map(functions),
    }
}

/// `1 / (s + ν Σ λ)` of a component on a patch; 0 behind its last function along itself.
fn inverse(system: &Stokes, own: usize, patch: &[&PatchForms]) -> Vec<f64> {
    let modes = 2 * (system.degree() + 1);
    let value = |d: usize, mode: usize| {
        let pairs = if d == own { &patch[d].continuous } else { &patch[d].discontinuous };
        pairs.values.get(mode).copied()
    };
    let inverse = |mut index: usize| {
        let values = (0..patch.len()).map(|d| (value(d, index % modes), index /= modes).0);
        let sum = values.sum::<Option<f64>>();
        sum.map_or(0.0, |sum| 1.0 / (system.mass() + system.viscosity() * sum))
    };
    (0..modes.pow(patch.len() as u32)).map(inverse).collect()
}

/// Bytes of the tables.
fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (dim, nodes, stored) = (system.mesh().dim(), system.degree() + 1, system.pressure_space().stored_nodes());
    // Along x by diagonals, in whole registers; across by rows, each with its place.
    let diagonals = (12 * nodes + 2) * stored[0].next_multiple_of(patchmg_cpu::MAX_LANES);
    let rows: usize = stored[1..dim].iter().sum();
    let places = 6 * rows * size_of::<(usize, Range<usize>)>();
    // Functions of the continuous axis by parity; of the other one and derivatives, for patches with each of four ends.
    let functions = dim * (2 + 4 * 2 * 4) * nodes * nodes;
    let (classes, modes) = (patches::classes(system).into_iter().flatten().count(), (2 * nodes).pow(dim as u32));
    vector_bytes::<T>(1, diagonals + rows * 7 * (nodes + 1) + functions)
        + vector_bytes::<T>(1, classes * dim * modes + patches::schur_entries(system))
        + (places + classes * modes * size_of::<usize>()) as u64
}
