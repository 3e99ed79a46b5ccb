//! Linear maps on vectors of unknowns: the matrix of a problem, and a V-cycle.

use crate::error::exception;
use crate::numbering::Numbering;
use patchmg::Result;
use patchmg::backend::Backend;
use patchmg::level::SharedLevel;
use patchmg::memory;
use patchmg::multigrid::{LowPrecision, Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::solve::{Config, Method, Precision};
use patchmg::system::{Runs, System};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A map on a machine's vectors: `y = M x`.
type Apply<B> = Box<dyn FnMut(&<B as Backend>::Vector<f64>, &mut <B as Backend>::Vector<f64>) -> Result<()>>;

/// A vector, and where its image goes.
type Job = (Vec<f64>, Sender<Result<Vec<f64>>>);

/// `y = M x`. The map lives in a thread of its own, because multigrid must not change threads, and Python's callers may.
#[pyclass(frozen)]
pub struct Map {
    jobs: Sender<Job>,
}

#[pymethods]
impl Map {
    /// Writes `M x` to `y`; both have an entry for each unknown.
    fn apply(&self, py: Python<'_>, x: PyBuffer<f64>, y: PyBuffer<f64>) -> PyResult<()> {
        let x = x.to_vec(py)?;
        let image = py.detach(|| {
            let (reply, image) = channel();
            self.jobs.send((x, reply)).ok()?;
            image.recv().ok()
        });
        let image = image.ok_or_else(|| PyRuntimeError::new_err("the thread of this map has ended"))?;
        y.copy_from_slice(py, &image.map_err(exception)?)
    }
}

impl Map {
    /// The matrix.
    pub fn matrix<E: System, B: Runs<E>>(backend: &Arc<B>, system: &E, numbering: Numbering) -> Result<Self> {
        let (backend, system) = (backend.clone(), system.clone());
        Self::start(numbering, move || {
            backend.check::<f64>(&system)?;
            let level: SharedLevel<B, f64> = backend.level_for_products(&system)?;
            let storage = level.storage();
            let apply: Apply<B> = Box::new(move |x, y| level.apply(x, y));
            Ok((backend, storage, apply))
        })
    }

    /// One V-cycle from zero, whose smoothing steps after the coarse correction are the adjoint ones if it is to be symmetric.
    pub fn vcycle<E: System, B: Runs<E>>(
        backend: &Arc<B>,
        system: &E,
        numbering: Numbering,
        is_symmetric: bool,
        precision: Precision,
    ) -> Result<Self> {
        let (backend, system) = (backend.clone(), system.clone());
        Self::start(numbering, move || {
            let smoother = SmootherConfig::default();
            Config { method: Method::VCycle, precision, smoother, ..Config::default() }.check(&*backend, &system)?;
            let cycle = if is_symmetric { VCycle::symmetric() } else { VCycle::default() };
            let storage = system.layout().storage();
            let apply: Apply<B> = if precision == Precision::F64 {
                let mut multigrid = Multigrid::<B, f64>::new(&backend, &system, &smoother, cycle)?;
                Box::new(move |r, z| multigrid.apply(r, z))
            } else {
                let multigrid = Multigrid::<B, f32>::new(&backend, &system, &smoother, cycle)?;
                let mut rounded = LowPrecision::new(&backend, multigrid, storage)?;
                Box::new(move |r, z| rounded.apply(r, z))
            };
            Ok((backend, storage, apply))
        })
    }

    /// A thread for what `make` makes there: a backend, the length of its vectors, and a map.
    fn start<B: Backend>(
        numbering: Numbering,
        make: impl FnOnce() -> Result<(Arc<B>, usize, Apply<B>)> + Send + 'static,
    ) -> Result<Self> {
        let (jobs, received) = channel();
        let (ready, made) = channel();
        thread::spawn(move || match make().and_then(|made| Served::new(numbering, made)) {
            Ok(served) => {
                // Whoever waits for it has gone if this fails, and then there are no jobs either.
                let _ = ready.send(Ok(()));
                served.serve(received);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        });
        made.recv().expect("the thread sends before it ends")?;
        Ok(Self { jobs })
    }
}

/// A map with its vectors.
struct Served<B: Backend> {
    numbering: Numbering,
    backend: Arc<B>,
    storage: usize,
    apply: Apply<B>,
    x: B::Vector<f64>,
    y: B::Vector<f64>,
}

impl<B: Backend> Served<B> {
    fn new(numbering: Numbering, (backend, storage, apply): (Arc<B>, usize, Apply<B>)) -> Result<Self> {
        let (x, y) = (backend.zeros(storage)?, backend.zeros(storage)?);
        Ok(Self { numbering, backend, storage, apply, x, y })
    }

    /// Until the other end is gone.
    fn serve(mut self, jobs: Receiver<Job>) {
        for (x, reply) in jobs {
            let _ = reply.send(self.image(&x));
        }
    }

    fn image(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        self.backend.upload(&self.numbering.to_storage(x)?, &mut self.x)?;
        (self.apply)(&self.x, &mut self.y)?;
        let mut y = memory::zeros(self.storage)?;
        self.backend.download(&self.y, &mut y)?;
        self.numbering.to_dofs(&y)
    }
}
