//! A level of the Stokes equations: transfers, an axis after the other, and what the method asks of the rest.

use super::Stokes;
use super::coarse::CoarseSolver;
use super::patches;
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::level::{Level, Patches};
use crate::memory;
use crate::operator::{LinearOperator, vector_bytes};
use crate::sync::lock;
use crate::system::System;
use crate::system::axes::AxisTransfer;
use patchmg_device::patch::bit;
use std::sync::{Arc, Mutex};

/// What a level computes with on a machine: the operator, and the solutions on patches.
pub(super) trait Parts<B: Backend, T: Scalar>: Send + Sync {
    /// `y = A x`.
    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()>;

    /// `r = b - A x`.
    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()>;

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over a color's patches; on a coarsest level that is one patch, it is that of color 0.
    fn add_solutions(&self, color: usize, r: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;
}

/// The Stokes equations on one mesh.
pub(super) struct StokesLevel<B: Backend, T: Scalar> {
    backend: Arc<B>,
    system: Stokes,
    layout: Layout,
    parts: Box<dyn Parts<B, T>>,
    transfer: Option<Transfer<B, T>>,
    colors: Vec<usize>,
    /// Of a coarsest mesh that is more than one patch.
    coarse_solver: Option<Mutex<CoarseSolver<B, T>>>,
    /// Of smoothers and restrictions: not before the first of these.
    residual: Mutex<Option<B::Vector<T>>>,
    /// Of a block on its way to or from the coarser level.
    temporary: Mutex<[B::Vector<T>; 2]>,
}

/// To and from the next coarser level.
struct Transfer<B: Backend, T: Scalar> {
    /// Of each block.
    blocks: Vec<AxisTransfer<B, T>>,
    coarse: Layout,
}

/// Bytes of the residual that patches take.
pub(super) fn patches_bytes<T: Scalar>(system: &Stokes) -> u64 {
    vector_bytes::<T>(1, system.layout().storage())
}

/// Bytes of a level but for its [`Parts`] and that residual; some matrices are a little smaller than said here.
pub(super) fn bytes<B: Backend, T: Scalar>(system: &Stokes) -> u64 {
    let coarse_solver = || CoarseSolver::<B, T>::bytes(system.layout().storage()) + patches_bytes::<T>(system);
    vector_bytes::<T>(2, AxisTransfer::<B, T>::temporary(system.pressure_space()))
        + system.spaces.iter().map(AxisTransfer::<B, T>::bytes).sum::<u64>()
        + if system.is_solved_by_iteration() { coarse_solver() } else { 0 }
}

/// Colors that have a patch.
fn colors(system: &Stokes) -> Vec<usize> {
    let mesh = system.mesh();
    if system.is_one_patch() {
        return if mesh.is_patch() { vec![0] } else { Vec::new() };
    }
    let has_patches =
        |color: &usize| (0..mesh.dim()).all(|d| patches::count(mesh.cells_along()[d], bit(*color as u32, d)) > 0);
    (0..1 << mesh.dim()).filter(has_patches).collect()
}

impl<B: Backend, T: Scalar> StokesLevel<B, T> {
    /// With what the machine computes with.
    pub fn new(backend: &Arc<B>, system: &Stokes, parts: Box<dyn Parts<B, T>>) -> Result<Self> {
        let layout = system.layout();
        let transfer = |coarser: Stokes| -> Result<Transfer<B, T>> {
            let blocks = system.spaces.iter().filter_map(|space| AxisTransfer::new(&**backend, space).transpose());
            Ok(Transfer { blocks: blocks.collect::<Result<_>>()?, coarse: coarser.layout() })
        };
        let temporary = || backend.zeros(AxisTransfer::<B, T>::temporary(system.pressure_space()));
        let mut level = Self {
            backend: backend.clone(),
            system: system.clone(),
            residual: Mutex::new(None),
            layout,
            parts,
            transfer: system.coarser().transpose()?.map(transfer).transpose()?,
            colors: colors(system),
            coarse_solver: None,
            temporary: Mutex::new([temporary()?, temporary()?]),
        };
        if system.is_solved_by_iteration() {
            level.with_residual(|_| Ok(()))?;
            level.coarse_solver = Some(Mutex::new(CoarseSolver::new(&level)?));
        }
        Ok(level)
    }

    /// What it computes with.
    #[cfg(test)]
    pub fn parts(&self) -> &dyn Parts<B, T> {
        &*self.parts
    }

    fn check_color(&self, color: usize) -> Result<()> {
        if self.colors.contains(&color) {
            return Ok(());
        }
        Err(Error::InvalidArgument {
            name: "color",
            value: color.to_string(),
            allowed: format!("one of {:?}", self.colors),
        })
    }

    /// Does something with a vector for a residual.
    fn with_residual(&self, work: impl FnOnce(&mut B::Vector<T>) -> Result<()>) -> Result<()> {
        let residual = &mut *lock(&self.residual);
        let vector = match residual.take() {
            Some(vector) => vector,
            None => self.vector()?,
        };
        work(residual.insert(vector))
    }

    fn transfer(&self) -> Result<&Transfer<B, T>> {
        self.transfer.as_ref().ok_or_else(|| Error::InvalidArgument {
            name: "level",
            value: "the coarsest".into(),
            allowed: "one with a coarser level".into(),
        })
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
        self.parts.apply(x, y)
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.parts.residual(b, x, r)
    }
}

impl<B: Backend, T: Scalar> Level<B, T> for StokesLevel<B, T> {
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        self.with_residual(|residual| {
            self.parts.residual(b, x, residual)?;
            self.restrict_load(residual, x, coarse)
        })
    }

    fn restrict_load(&self, b: &B::Vector<T>, _zero: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        let (Transfer { blocks, coarse: layout }, temporary) = (self.transfer()?, &mut *lock(&self.temporary));
        for (block, transfer) in blocks.iter().enumerate() {
            let (from, to) = (self.layout.blocks()[block].start, layout.blocks()[block].start);
            transfer.restrict(&*self.backend, temporary, (b, from), (coarse, to))?;
        }
        Ok(())
    }

    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let (Transfer { blocks, coarse: layout }, temporary) = (self.transfer()?, &mut *lock(&self.temporary));
        for (block, transfer) in blocks.iter().enumerate() {
            let (from, to) = (layout.blocks()[block].start, self.layout.blocks()[block].start);
            transfer.prolongate_add(&*self.backend, temporary, (coarse, from), (x, to))?;
        }
        Ok(())
    }

    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        if self.transfer.is_some() {
            return Err(Error::InvalidArgument {
                name: "level to solve on",
                value: "one with a coarser level".into(),
                allowed: "the coarsest".into(),
            });
        }
        if let Some(solver) = &self.coarse_solver {
            return lock(solver).solve(self, b, x);
        }
        self.backend.set_zero(x)?;
        self.parts.add_solutions(0, b, x)
    }

    fn inner_iterations(&self) -> Option<usize> {
        self.coarse_solver.as_ref().map(|solver| lock(solver).iterations)
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
        self.with_residual(|_| Ok(()))?;
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

impl<B: Backend, T: Scalar> Patches<B, T> for StokesLevel<B, T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.check_color(color)?;
        self.with_residual(|residual| {
            self.parts.residual(b, x, residual)?;
            self.parts.add_solutions(color, residual, x)
        })
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_color(0, b, x)
    }
}
