//! `cargo bench`: operator, patch smoother's kernels, transfers, V-cycle and solve on the CPU, by the wall clock, and on
//! the GPU if there is one, by events on its stream. Throughput is in unknowns a second.

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BenchmarkId, Criterion, Throughput};
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{IterativeSolver, Stopping, unobserved};
use patchmg::measure::{LevelBench, Part};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Fmg, Multigrid, SmootherConfig};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::problem::load_vector;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Paper1, PatchKernel, Poisson, Problem};
use patchmg::{Error, Result};
use std::sync::Arc;
use std::time::Instant;

/// Dimension and degree.
const SPACES: [(usize, usize); 6] = [(2, 3), (2, 7), (3, 1), (3, 3), (3, 4), (3, 7)];

fn main() -> Result<()> {
    all(Arc::new(Cpu::new(None)?), 300_000)?;
    gpu()
}

#[cfg(feature = "cuda")]
fn gpu() -> Result<()> {
    patchmg::backend::cuda::add_modules(patchmg_paper_kernels::MODULES);
    match patchmg::backend::cuda::Cuda::new(0) {
        Ok(gpu) => all(Arc::new(gpu), 60_000_000),
        Err(Error::NoDevice { reason }) => {
            println!("GPU benchmarks are skipped: {reason}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[cfg(not(feature = "cuda"))]
fn gpu() -> Result<()> {
    println!("GPU benchmarks are skipped: built without the feature `cuda`");
    Ok(())
}

/// A machine whose clock Criterion can read.
trait Timed: Runs<Poisson> {
    type Start;
    fn start(&self) -> Result<Self::Start>;
    /// Nanoseconds since then, when all that was asked is done.
    fn nanoseconds_since(&self, start: Self::Start) -> Result<f64>;
}

impl Timed for Cpu {
    type Start = Instant;

    fn start(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn nanoseconds_since(&self, start: Instant) -> Result<f64> {
        Ok(start.elapsed().as_secs_f64() * 1e9)
    }
}

#[cfg(feature = "cuda")]
impl Timed for patchmg::backend::cuda::Cuda {
    type Start = patchmg::backend::cuda::Event;

    fn start(&self) -> Result<Self::Start> {
        patchmg::backend::Backend::synchronize(self)?;
        Self::Start::record(self)
    }

    fn nanoseconds_since(&self, start: Self::Start) -> Result<f64> {
        Ok(1e6 * Self::Start::record(self)?.milliseconds_since(&start)?)
    }
}

/// The clock of a machine.
struct Clock<B>(Arc<B>);

impl<B: Timed> Measurement for Clock<B> {
    type Intermediate = B::Start;
    type Value = f64;

    fn start(&self) -> B::Start {
        self.0.start().expect("the clock starts")
    }

    fn end(&self, start: B::Start) -> f64 {
        self.0.nanoseconds_since(start).expect("the work was done")
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, nanoseconds: &f64) -> f64 {
        *nanoseconds
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Format
    }
}

/// Nanoseconds, and unknowns a second.
struct Format;

impl Format {
    fn scale(values: &mut [f64], typical: f64, units: &[(f64, &'static str)]) -> &'static str {
        let (size, unit) = units.iter().find(|(size, _)| typical >= *size).unwrap_or(&units[units.len() - 1]);
        values.iter_mut().for_each(|value| *value /= size);
        unit
    }
}

impl ValueFormatter for Format {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        Self::scale(values, typical, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (Throughput::Elements(dofs) | Throughput::Bytes(dofs)) = *throughput else { return "DoF/s" };
        let rate = |nanoseconds: f64| dofs as f64 / nanoseconds * 1e9;
        values.iter_mut().for_each(|value| *value = rate(*value));
        Self::scale(values, rate(typical), &[(1e9, "GDoF/s"), (1e6, "MDoF/s"), (1.0, "DoF/s")])
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

/// Problems of at most `dofs` unknowns.
fn all<B: Timed>(backend: Arc<B>, dofs: usize) -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1))
        .with_measurement(Clock(backend.clone()))
        .configure_from_args();
    for (dim, degree) in SPACES {
        let space = largest(dim, degree, dofs)?;
        parts::<B, f64>(&mut criterion, &backend, &space)?;
        parts::<B, f32>(&mut criterion, &backend, &space)?;
        smoothers::<B, f64>(&mut criterion, &backend, &space)?;
        smoothers::<B, f32>(&mut criterion, &backend, &space)?;
        solver(&mut criterion, &backend, &space)?;
    }
    criterion.final_summary();
    Ok(())
}

fn largest(dim: usize, degree: usize, dofs: usize) -> Result<Space> {
    let fits = |refine: &u32| (degree * 2usize.pow(*refine)).pow(dim as u32) <= dofs;
    let refine = (2..).take_while(fits).last().unwrap_or(2);
    Space::new(Mesh::unit_cube(dim, refine as usize)?, degree)
}

fn id<T: Scalar>(what: &str, space: &Space) -> BenchmarkId {
    let (dim, degree, refine) = (space.dim(), space.degree(), space.mesh().hierarchy().count());
    BenchmarkId::new(what, format!("{dim}D, Q{degree}, L = {refine}, {}", T::NAME))
}

/// Times `work` under the name of the machine.
fn bench<B: Timed>(
    criterion: &mut Criterion<Clock<B>>,
    backend: &B,
    space: &Space,
    id: BenchmarkId,
    mut work: impl FnMut() -> Result<()>,
) {
    let mut group = criterion.benchmark_group(backend.info().backend.name());
    group.throughput(Throughput::Elements(space.dofs() as u64));
    group.bench_function(id, |bencher| bencher.iter(|| work().expect("it did before")));
}

fn parts<B: Timed, T: Scalar>(criterion: &mut Criterion<Clock<B>>, backend: &Arc<B>, space: &Space) -> Result<()> {
    let mut level = LevelBench::<B, T>::new(backend, &Poisson::from(space))?;
    for part in [Part::Operator, Part::Residual, Part::Restrict, Part::Prolongate, Part::CorrectedStep] {
        bench(criterion, &**backend, space, id::<T>(part.name(), space), || level.run(part));
    }
    Ok(())
}

/// A step of the patch smoother by every kernel that the machine has.
fn smoothers<B: Timed, T: Scalar>(criterion: &mut Criterion<Clock<B>>, backend: &Arc<B>, space: &Space) -> Result<()> {
    let mut level = LevelBench::<B, T>::new(backend, &Poisson::from(space))?;
    for kernel in Paper1::ALL.map(Paper1::by_default).into_iter().chain([PatchKernel::Register]) {
        match level.set_system(&Poisson::from(space).with_kernel(kernel)) {
            Err(Error::Unsupported { .. }) => continue,
            other => other?,
        }
        let name = format!("smoother step, {kernel}");
        bench(criterion, &**backend, space, id::<T>(&name, space), || level.run(Part::Step));
    }
    Ok(())
}

/// A V-cycle, and full multigrid to 1e-8, in `f64`: on fine levels rounding leaves a residual above 1e-9.
fn solver<B: Timed>(criterion: &mut Criterion<Clock<B>>, backend: &Arc<B>, space: &Space) -> Result<()> {
    let operator = backend.level::<f64>(&Poisson::from(space))?;
    let mut multigrid =
        Multigrid::<B, f64>::new(backend, &Poisson::from(space), &SmootherConfig::default(), Default::default())?;
    let mut fmg = Fmg::new(&operator)?;
    let (mut b, mut x) = (operator.vector()?, operator.vector()?);
    backend.upload(&load_vector(space, &*Problem::Sine.right_hand_side(space.mesh()))?, &mut b)?;
    bench(criterion, &**backend, space, id::<f64>("V-cycle", space), || multigrid.apply(&b, &mut x));
    let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
    bench(criterion, &**backend, space, id::<f64>("full multigrid", space), || {
        let info = fmg.solve(&operator, &mut multigrid, &b, &mut x, &stopping, &mut unobserved)?;
        assert!(info.converged);
        Ok(())
    });
    Ok(())
}
