//! Work recorded as a CUDA graph: one call of the driver in place of one a kernel.

use super::calls::check;
use super::gpu::Gpu;
use crate::error::Result;
use cust::sys::{self, CUgraph, CUgraphExec};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Launches with the addresses of what they read and write. Valid until any memory of the GPU is freed, which may be theirs.
pub struct Recording {
    gpu: Arc<Gpu>,
    executable: CUgraphExec,
    launched: Vec<Arc<AtomicBool>>,
    freed: u64,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Recording {}

impl Recording {
    /// Of `work`, which is not done; none if this or another thread records already, or if `work` frees memory.
    pub(super) fn of(gpu: &Arc<Gpu>, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self>> {
        let freed = gpu.freed();
        if !gpu.begin_recording()? {
            return Ok(None);
        }
        let open = Open { gpu };
        let outcome = work();
        let recorded = open.end();
        // The reason why a recording failed is in the work.
        outcome?;
        let (graph, launched) = recorded?;
        if gpu.freed() != freed {
            return Ok(None);
        }
        let mut executable = std::ptr::null_mut();
        // SAFETY: the driver reads a graph and writes a handle.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph.0, 0) };
        check("cuGraphInstantiateWithFlags", code)?;
        Ok(Some(Self { gpu: gpu.clone(), executable, launched, freed }))
    }

    /// Whether all memory that it uses is still there.
    pub(super) fn is_valid(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(gpu, &self.gpu) && gpu.freed() == self.freed
    }

    /// Does what was recorded.
    ///
    /// # Safety
    /// It [is valid](Self::is_valid).
    pub(super) unsafe fn launch(&self) -> Result<()> {
        self.gpu.enter()?;
        self.launched.iter().for_each(|mark| mark.store(true, Ordering::Relaxed));
        // SAFETY: each launch was sound when it was recorded, and its memory is still there: the caller's promise.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.executable, self.gpu.stream()) })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.gpu.enter().is_ok() {
            // SAFETY: made by `of`, destroyed once; the driver waits for launches that run.
            unsafe { sys::cuGraphExecDestroy(self.executable) };
        }
    }
}

/// A recording that has begun; it ends even if the work panics.
struct Open<'a> {
    gpu: &'a Gpu,
}

impl Open<'_> {
    fn end(self) -> Result<(Graph, Vec<Arc<AtomicBool>>)> {
        let gpu = self.gpu;
        std::mem::forget(self);
        gpu.end_recording().map(|(graph, launched)| (Graph(graph), launched))
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let _ = self.gpu.end_recording().map(|(graph, _)| Graph(graph));
    }
}

/// Destroyed when dropped.
struct Graph(CUgraph);

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the driver made it, and it is destroyed once.
        unsafe { sys::cuGraphDestroy(self.0) };
    }
}
