//! Solutions that stay on the machine until the host asks for them.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::memory;
use std::sync::Arc;

/// A vector on a machine, in whichever scalar it was computed.
pub(super) trait VectorOnMachine<B: Backend> {
    /// The machine.
    fn backend(&self) -> &Arc<B>;

    /// Entries.
    fn len(&self) -> usize;

    /// On the host.
    fn values(&self) -> Result<Vec<f64>>;

    /// A copy in `f64`.
    fn copy(&self) -> Result<B::Vector<f64>>;
}

/// The solution of a solve.
pub(super) struct SolutionVector<B: Backend, T: Scalar> {
    pub backend: Arc<B>,
    pub x: B::Vector<T>,
    pub len: usize,
}

impl<B: Backend, T: Scalar> VectorOnMachine<B> for SolutionVector<B, T> {
    fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    fn len(&self) -> usize {
        self.len
    }

    fn values(&self) -> Result<Vec<f64>> {
        download(&*self.backend, &self.x, self.len)
    }

    fn copy(&self) -> Result<B::Vector<f64>> {
        let mut copy = self.backend.zeros(self.len)?;
        self.backend.convert(1.0, &self.x, &mut copy)?;
        Ok(copy)
    }
}

/// A vector of the machine in `f64`.
pub(super) fn download<B: Backend, T: Scalar>(backend: &B, vector: &B::Vector<T>, len: usize) -> Result<Vec<f64>> {
    let mut values: Vec<T> = memory::zeros(len)?;
    backend.download(vector, &mut values)?;
    memory::convert(values)
}

/// A solution in the memory of a machine, in the order of the system's vectors.
pub struct SolutionOnMachine<'a, B: Backend>(pub(super) &'a dyn VectorOnMachine<B>);

impl<B: Backend> SolutionOnMachine<'_, B> {
    /// The machine.
    pub fn backend(&self) -> &Arc<B> {
        self.0.backend()
    }

    /// Whether the machine has memory for so many vectors like this one in `f64`.
    pub fn has_room_for(&self, vectors: usize) -> bool {
        self.backend().info().memory_free >= (vectors * self.0.len() * size_of::<f64>()) as u64
    }

    /// A copy in `f64`, on the machine.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn copy(&self) -> Result<B::Vector<f64>> {
        self.0.copy()
    }
}
