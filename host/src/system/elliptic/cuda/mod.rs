//! Levels on a GPU, by kernels of their own.

mod colors;
mod level;
mod linearized;
mod newton;
mod operator;
mod order;
mod tables;
#[cfg(test)]
mod tests;

use super::Elliptic;
use crate::backend::Scalar;
use crate::backend::cuda::{Cuda, modules};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::system::{Runs, System};
use level::CudaLevel;
use patchmg_device::elliptic;
use patchmg_device::kernels::Module;
use std::sync::Arc;

impl Runs<Elliptic> for Cuda {
    fn check<T: Scalar>(&self, system: &Elliptic) -> Result<()> {
        modules::require(module(system))
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Elliptic) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(CudaLevel::<T>::new(self, system, true)?))
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Elliptic) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(CudaLevel::<T>::new(self, system, false)?))
    }

    fn level_bytes<T: Scalar>(system: &Elliptic) -> u64 {
        level::bytes::<T>(system)
    }
}

fn module(system: &Elliptic) -> Module {
    elliptic::KIND.module(system.dim(), system.degree())
}
