//! A level on the CPU as the derivative of a nonlinear equation.

use super::Elliptic;
use super::interpolation::Interpolation;
use super::level::{CellOperator, EllipticLevel, is_coarsest, is_for_products};
use super::nonlinear::HostFlux;
use crate::backend::Scalar;
use crate::backend::cpu::{Cpu, Vector};
use crate::error::{Result, check_length};
use crate::level::NonlinearLevel;
use crate::sync::lock;
use patchmg_cpu::Prepared;
use std::sync::Mutex;

/// What a level has beside, if its equation is nonlinear.
pub(super) struct Linearizing<T> {
    system: Elliptic,
    flux: HostFlux,
    /// The operator cell by cell, whose metric is that of the last linearization.
    operator: Mutex<CellOperator<T>>,
    /// None on the coarsest mesh.
    interpolation: Option<Interpolation<T>>,
    /// Local results of all cells.
    sums: Mutex<Vec<T>>,
}

impl<T: Scalar> Linearizing<T> {
    /// With the operator of a system, if its equation is nonlinear.
    pub fn new(system: &Elliptic, operator: CellOperator<T>) -> Result<Option<Self>> {
        let Some(flux) = HostFlux::new(system)? else { return Ok(None) };
        let coarser = system.next_coarser()?;
        Ok(Some(Self {
            interpolation: coarser.map(|coarser| Interpolation::new(&coarser.mesh, &system.mesh)).transpose()?,
            system: system.clone(),
            flux,
            operator: Mutex::new(operator),
            sums: Mutex::default(),
        }))
    }
}

impl<T: Scalar + Prepared> EllipticLevel<T> {
    fn linearizing(&self) -> Result<&Linearizing<T>> {
        self.linearizing.as_ref().ok_or_else(super::level::is_linear)
    }
}

impl<T: Scalar + Prepared> NonlinearLevel<Cpu, T> for EllipticLevel<T> {
    fn nonlinear_residual(&self, b: &Vector<T>, u: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        for (what, vector) in [("b", b), ("u", u), ("r", &*r)] {
            self.check(what, vector)?;
        }
        let Linearizing { flux, operator, sums, .. } = self.linearizing()?;
        let sums = &mut *lock(sums);
        sums.resize(self.mesh.cells().all().len(), T::ZERO);
        self.cpu.install(|| flux.residual(&lock(operator), b, u, sums, r))
    }

    fn linearize(&self, u: &Vector<T>) -> Result<()> {
        self.check("u", u)?;
        let Linearizing { system, flux, operator, .. } = self.linearizing()?;
        let operator = &mut *lock(operator);
        self.cpu.install(|| {
            flux.linearize(u, &mut operator.metric)?;
            if let Some(inverse) = &self.inverse_diagonal {
                *lock(inverse) = operator.inverse_diagonal()?;
            }
            self.operator.set_metric(&operator.metric);
            if let Some(factor) = &mut *lock(&self.factor) {
                *factor = flux.factor(system, u)?;
            }
            Ok(())
        })
    }

    fn update_inverse_diagonal(&self, inverse: &mut Vector<T>) -> Result<()> {
        self.check("inverse diagonal", inverse)?;
        inverse.copy_from_slice(&lock(self.inverse_diagonal.as_ref().ok_or_else(is_for_products)?));
        Ok(())
    }

    fn interpolate(&self, u: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("u", u)?;
        let interpolation = self.linearizing()?.interpolation.as_ref().ok_or_else(is_coarsest)?;
        check_length("coarse", interpolation.coarse_storage(), coarse.len())?;
        let values = &mut *lock(&self.values);
        self.cpu.install(|| interpolation.apply(self.operator.shape(), u, coarse, values));
        Ok(())
    }
}
