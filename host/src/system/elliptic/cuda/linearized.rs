//! A level on a GPU as the derivative of a nonlinear equation.

use super::super::Elliptic;
use super::super::assembled::Factor;
use super::super::interpolation::Interpolation;
use super::super::level::{CellOperator, is_coarsest, is_linear};
use super::super::metric::words;
use super::super::nonlinear::HostFlux;
use super::level::CudaLevel;
use super::order::Order;
use super::tables::InverseTables;
use crate::backend::Scalar;
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use crate::level::NonlinearLevel;
use crate::memory;
use crate::sync::lock;
use std::sync::Mutex;

/// What a level has beside, if its equation is nonlinear: the flux, which the host evaluates, and the tables of the host for it.
pub(super) struct Linearizing<T> {
    flux: HostFlux,
    order: Order,
    /// The operator cell by cell, whose metric is that of the last linearization.
    operator: Mutex<CellOperator<T>>,
    /// None on the coarsest mesh.
    interpolation: Option<Interpolation<T>>,
}

impl<T: Scalar> Linearizing<T> {
    /// With the operator of a system, if its equation is nonlinear.
    pub fn new(system: &Elliptic, operator: CellOperator<T>) -> Result<Option<Self>> {
        let Some(flux) = HostFlux::new(system)? else { return Ok(None) };
        let coarser = system.coarser.as_ref();
        Ok(Some(Self {
            interpolation: coarser.map(|coarser| Interpolation::new(&coarser.mesh, &system.mesh)).transpose()?,
            flux,
            order: Order::new(&system.mesh, system.writes, false),
            operator: Mutex::new(operator),
        }))
    }
}

impl<T: Scalar> CudaLevel<T> {
    fn linearizing(&self) -> Result<&Linearizing<T>> {
        self.linearizing.as_ref().ok_or_else(is_linear)
    }

    /// A vector of the level, on the host.
    fn read(&self, what: &'static str, vector: &Vector<T>) -> Result<Vec<T>> {
        self.check(what, vector)?;
        let mut values = memory::zeros(vector.len())?;
        vector.read(&mut values)?;
        Ok(values)
    }
}

impl<T: Scalar> NonlinearLevel<Cuda, T> for CudaLevel<T> {
    fn nonlinear_residual(&self, b: &Vector<T>, u: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check("r", r)?;
        let (b, u) = (self.read("b", b)?, self.read("u", u)?);
        let Linearizing { flux, operator, .. } = self.linearizing()?;
        let mesh = &self.system.mesh;
        let mut sums: Vec<T> = memory::zeros(mesh.cells().all().len())?;
        flux.apply(&u, &mut sums)?;
        let mut residual: Vec<T> = memory::zeros(b.len())?;
        let operator = &*lock(operator);
        let all = |node: usize, sum: T| b[node] - sum - operator.robin.times(node, &u);
        let unknown = |node: usize, sum: T| if mesh.kinds()[node].is_unknown() { all(node, sum) } else { T::ZERO };
        operator.gather.gather(&sums, &mut residual, unknown);
        r.write(&residual)
    }

    fn linearize(&self, u: &Vector<T>) -> Result<()> {
        let (u, mesh) = (self.read("u", u)?, &self.system.mesh);
        let Linearizing { flux, order, operator, .. } = self.linearizing()?;
        let mut operator = lock(operator);
        flux.linearize(&u, &mut operator.metric)?;
        let [metric, _] = order.metric(mesh, &operator.metric, words(mesh.dim()), false)?;
        lock(&self.operator.metric).write(&metric)?;
        if let Some(inverse) = &self.inverse {
            let mut operator = CellOperator::<f64>::new(&self.system)?;
            flux.linearize(&u, &mut operator.metric)?;
            lock(&inverse.entries).write(&InverseTables::new(&Factor::new(mesh, &operator)?).entries)?;
        }
        Ok(())
    }

    fn update_inverse_diagonal(&self, inverse: &mut Vector<T>) -> Result<()> {
        self.check("inverse diagonal", inverse)?;
        let values = lock(&self.linearizing()?.operator).inverse_diagonal()?;
        inverse.write(&values)
    }

    fn interpolate(&self, u: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let u = self.read("u", u)?;
        let Linearizing { operator, interpolation, .. } = self.linearizing()?;
        let interpolation = interpolation.as_ref().ok_or_else(is_coarsest)?;
        coarse.check(&self.cuda.gpu, "coarse", interpolation.coarse_storage())?;
        let mut values: Vec<T> = memory::zeros(coarse.len())?;
        interpolation.apply(&lock(operator).shape, &u, &mut values, &mut Vec::new());
        coarse.write(&values)
    }
}
