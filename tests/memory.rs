//! What a solve allocates on its machine: as much as was said before, and nothing once it runs. What passes between host and
//! machine: the load vector and the solution, and in between scalars.

#[path = "common/cases.rs"]
mod common;

use common::{cpu, space};
use patchmg::backend::cpu::Cpu;
use patchmg::backend::{AxisMatrix, Backend, DeviceInfo, OuterProducts, Program, Scalar, Tensors, WeightedGrid};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::level::{Level, Patches, SharedLevel};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{SmootherConfig, hierarchy};
use patchmg::operator::LinearOperator;
use patchmg::problem::load_vector;
use patchmg::solve::{Config, Method, Precision, solve};
use patchmg::space::Space;
use patchmg::system::poisson::Problem;
use patchmg::system::{ModelProblem, Poisson, Runs, Stokes, System, stokes};
use patchmg::{Error, Result};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A backend that counts the bytes of its vectors and what passes between host and machine, and says how much memory there
/// is.
struct Counting<B> {
    inner: Arc<B>,
    bytes: AtomicU64,
    traffic: Traffic,
    memory_free: u64,
}

/// Calls that move vectors or tables between host and machine, and scalars that come back.
#[derive(Default)]
struct Traffic {
    uploads: AtomicUsize,
    downloads: AtomicUsize,
    levels: AtomicUsize,
    scalars: AtomicUsize,
    /// Calls and scalars while a solve is timed.
    during_solve: [AtomicUsize; 2],
}

impl Traffic {
    fn calls(&self) -> usize {
        [&self.uploads, &self.downloads, &self.levels].iter().map(|calls| calls.load(Ordering::Relaxed)).sum()
    }
}

impl<B: Backend> Counting<B> {
    fn new(inner: Arc<B>, memory_free: u64) -> Self {
        Self { inner, bytes: AtomicU64::new(0), traffic: Traffic::default(), memory_free }
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl<B: Backend> Backend for Counting<B> {
    type Vector<T: Scalar> = B::Vector<T>;
    type AxisMatrix<T: Scalar> = B::AxisMatrix<T>;
    type Recording = B::Recording;

    fn info(&self) -> DeviceInfo {
        DeviceInfo { memory_free: self.memory_free, ..self.inner.info() }
    }

    fn zeros<T: Scalar>(&self, len: usize) -> Result<B::Vector<T>> {
        self.bytes.fetch_add((len * size_of::<T>()) as u64, Ordering::Relaxed);
        self.inner.zeros(len)
    }

    fn len<T: Scalar>(&self, vector: &B::Vector<T>) -> usize {
        self.inner.len(vector)
    }

    fn upload<T: Scalar>(&self, host: &[T], vector: &mut B::Vector<T>) -> Result<()> {
        self.traffic.uploads.fetch_add(1, Ordering::Relaxed);
        self.inner.upload(host, vector)
    }

    fn download<T: Scalar>(&self, vector: &B::Vector<T>, host: &mut [T]) -> Result<()> {
        self.traffic.downloads.fetch_add(1, Ordering::Relaxed);
        self.inner.download(vector, host)
    }

    /// Times a solve.
    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let now = || [self.traffic.calls(), self.traffic.scalars.load(Ordering::Relaxed)];
        let before = now();
        let seconds = self.inner.time(work)?;
        for ((total, after), before) in self.traffic.during_solve.iter().zip(now()).zip(before) {
            total.fetch_add(after - before, Ordering::Relaxed);
        }
        Ok(seconds)
    }

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    fn set_zero<T: Scalar>(&self, x: &mut B::Vector<T>) -> Result<()> {
        self.inner.set_zero(x)
    }

    fn convert<S: Scalar, T: Scalar>(&self, alpha: f64, x: &B::Vector<S>, y: &mut B::Vector<T>) -> Result<()> {
        self.inner.convert(alpha, x, y)
    }

    fn divide<T: Scalar>(&self, x: &B::Vector<T>, d: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.inner.divide(x, d, y)
    }

    fn axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        x: &B::Vector<T>,
        beta: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        self.inner.axpby_first(entries, alpha, x, beta, y)
    }

    fn diagonal_axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        d: &B::Vector<T>,
        x: &B::Vector<T>,
        beta: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        self.inner.diagonal_axpby_first(entries, alpha, d, x, beta, y)
    }

    fn axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<B::AxisMatrix<T>> {
        self.inner.axis_matrix(matrix)
    }

    fn apply_along_axis<T: Scalar>(
        &self,
        matrix: &B::AxisMatrix<T>,
        tensors: Tensors,
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
        add: bool,
    ) -> Result<()> {
        self.inner.apply_along_axis(matrix, tensors, x, y, add)
    }

    fn outer_products<T: Scalar>(&self, tensor: &OuterProducts, y: &mut B::Vector<T>, add: bool) -> Result<()> {
        self.inner.outer_products(tensor, y, add)
    }

    fn evaluate<T: Scalar>(
        &self,
        f: &Program,
        grid: &WeightedGrid,
        derivative: Option<usize>,
        y: &mut B::Vector<T>,
        subtract: bool,
    ) -> Result<()> {
        self.inner.evaluate(f, grid, derivative, y, subtract)
    }

    fn dots<T: Scalar>(&self, xs: &[&B::Vector<T>], y: &B::Vector<T>) -> Result<Vec<f64>> {
        self.traffic.scalars.fetch_add(xs.len(), Ordering::Relaxed);
        self.inner.dots(xs, y)
    }

    fn combine<X: Scalar, T: Scalar>(
        &self,
        c: &[f64],
        xs: &[&B::Vector<X>],
        beta: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        self.inner.combine(c, xs, beta, y)
    }

    fn norm_rounded<T: Scalar>(&self, x: &B::Vector<T>, rounded: &mut B::Vector<f32>) -> Result<f64> {
        self.traffic.scalars.fetch_add(1, Ordering::Relaxed);
        self.inner.norm_rounded(x, rounded)
    }

    fn combine_dots<T: Scalar>(&self, c: &[f64], xs: &[&B::Vector<T>], y: &mut B::Vector<T>) -> Result<Vec<f64>> {
        self.traffic.scalars.fetch_add(xs.len() + 1, Ordering::Relaxed);
        self.inner.combine_dots(c, xs, y)
    }
}

impl<E: System, B: Runs<E>> Runs<E> for Counting<B> {
    fn check<T: Scalar>(&self, system: &E) -> Result<()> {
        self.inner.check::<T>(system)
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &E) -> Result<SharedLevel<Self, T>> {
        self.traffic.levels.fetch_add(1, Ordering::Relaxed);
        let inner = self.inner.level(system)?;
        Ok(Arc::new(CountingLevel { backend: self.clone(), inner }))
    }

    fn level_bytes<T: Scalar>(system: &E) -> u64 {
        B::level_bytes::<T>(system)
    }

    fn patches_bytes<T: Scalar>(system: &E) -> u64 {
        B::patches_bytes::<T>(system)
    }
}

/// A level of the inner backend.
struct CountingLevel<B: Backend, T: Scalar> {
    backend: Arc<Counting<B>>,
    inner: SharedLevel<B, T>,
}

impl<B: Backend, T: Scalar> CountingLevel<B, T> {
    /// Counts a vector that the inner level makes and fills.
    fn made(&self, vector: Result<B::Vector<T>>) -> Result<B::Vector<T>> {
        self.backend.bytes.fetch_add((self.storage() * size_of::<T>()) as u64, Ordering::Relaxed);
        self.backend.traffic.uploads.fetch_add(1, Ordering::Relaxed);
        vector
    }
}

impl<B: Backend, T: Scalar> LinearOperator<Counting<B>, T> for CountingLevel<B, T> {
    fn backend(&self) -> &Arc<Counting<B>> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.inner.storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.inner.apply(x, y)
    }

    fn apply_rounded(&self, x: &B::Vector<f32>, work: &mut B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.inner.apply_rounded(x, work, y)
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.inner.residual(b, x, r)
    }

    fn residual_norm(&self, b: &B::Vector<T>, x: &B::Vector<T>, work: &mut B::Vector<T>) -> Result<f64> {
        self.backend.traffic.scalars.fetch_add(1, Ordering::Relaxed);
        self.inner.residual_norm(b, x, work)
    }
}

impl<B: Backend, T: Scalar> Level<Counting<B>, T> for CountingLevel<B, T> {
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        self.inner.restrict_residual(b, x, coarse)
    }

    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.inner.prolongate_add(coarse, x)
    }

    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.inner.solve(b, x)
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<B::Vector<T>> {
        self.made(self.inner.vector_of(value))
    }

    fn inverse_diagonal(&self) -> Result<B::Vector<T>> {
        self.made(self.inner.inverse_diagonal())
    }

    fn patches(&self) -> Result<&dyn Patches<Counting<B>, T>> {
        Ok(self)
    }

    fn point_gauss_seidel(&self, b: &B::Vector<T>, x: &mut B::Vector<T>, reverse: bool) -> Result<()> {
        self.inner.point_gauss_seidel(b, x, reverse)
    }
}

impl<B: Backend, T: Scalar> Patches<Counting<B>, T> for CountingLevel<B, T> {
    fn colors(&self) -> &[usize] {
        self.inner.patches().map_or(&[], Patches::colors)
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.inner.patches()?.smooth_color(color, b, x)
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.inner.patches()?.prolongate_and_smooth_first(coarse, b, x)
    }
}

fn smoothers(dim: usize) -> [SmootherConfig; 5] {
    [
        SmootherConfig::default(),
        SmootherConfig::additive_patch(dim),
        SmootherConfig::PointGaussSeidel,
        SmootherConfig::jacobi(),
        SmootherConfig::chebyshev(),
    ]
}

fn configs() -> impl Iterator<Item = Config> {
    let methods = [Method::Fmg, Method::VCycle, Method::Gmres, Method::Fgmres, Method::Cg];
    let precisions = [Precision::F64, Precision::F32, Precision::Mixed];
    // A tolerance that `f32` does not reach, and a short basis, so that there are restarts.
    let stopping = Stopping { rtol: 1e-11, max_iters: 9 };
    methods.into_iter().flat_map(move |method| {
        precisions.map(|precision| Config { method, precision, stopping, restart: 3, ..Config::default() })
    })
}

/// Bytes that a solve says it takes, and that it takes; they are the same at every iteration.
fn said_and_allocated(space: &Space, config: &Config) -> [u64; 2] {
    let load = load_vector(space, &*Problem::One.right_hand_side(space.mesh())).unwrap();
    said_and_allocated_for(&Poisson::from(space), load, config)
}

fn said_and_allocated_for<E: System>(system: &E, load: Vec<f64>, config: &Config) -> [u64; 2]
where
    Cpu: Runs<E>,
{
    let backend = Arc::new(Counting::new(cpu(), u64::MAX));
    let said = config.bytes::<_, Counting<Cpu>>(system).unwrap();
    let mut seen = Vec::new();
    let mut observer = |_, _| {
        seen.push(backend.bytes());
        ControlFlow::Continue(())
    };
    solve(&backend, system, load, config, &mut observer).unwrap();
    let allocated = backend.bytes();
    assert!(seen.iter().all(|&bytes| bytes == allocated), "{config:?}: {seen:?}, {allocated}");
    [said, allocated]
}

#[test]
fn a_solve_allocates_what_was_said_and_nothing_once_it_runs() {
    let cases = [[2, 3, 4], [3, 2, 3]].into_iter().flat_map(|case| smoothers(case[0]).map(|smoother| (case, smoother)));
    for ([dim, degree, refine], smoother) in cases {
        for config in configs().map(|config| Config { smoother, ..config }) {
            let [said, allocated] = said_and_allocated(&space(dim, degree, refine), &config);
            // The difference is the eigenvalues of a patch, once a level; in mixed precision also for the operator in `f64`,
            // which full multigrid has on each level.
            let word = match (config.method, config.precision) {
                (Method::Fmg, Precision::Mixed) => 4 + 8,
                (_, Precision::F64) => 8,
                _ => 4,
            };
            let patch = (2 * degree as u64 - 1).pow(dim as u32);
            let outer = if config.precision == Precision::Mixed && config.method != Method::Fmg { 8 } else { 0 };
            assert_eq!(said - allocated, patch * (word * refine as u64 + outer), "{config:?} {dim}D");
        }
    }
}

/// On a machine with memory of its own, vectors and tables move before and after a solve alone; during it a few products
/// come back: with a basis of 3 vectors, an iteration of GMRES has 3 products at most, as many again and a square, and takes 3 norms.
#[test]
fn between_set_up_and_solution_only_scalars_pass() {
    let continuous = [[2, 3, 4], [3, 2, 3]].map(|[dim, degree, refine]| space(dim, degree, refine));
    let discontinuous = Space::discontinuous(Mesh::unit_cube(2, 3).unwrap(), 2).unwrap();
    for space in continuous.into_iter().chain([discontinuous]) {
        let smoothers =
            smoothers(space.dim()).into_iter().filter(|smoother| smoother.check_system(&Poisson::from(&space)).is_ok());
        for config in smoothers.flat_map(|smoother| configs().map(move |config| Config { smoother, ..config })) {
            let backend = Arc::new(Counting::new(cpu(), u64::MAX));
            let load = load_vector(&space, &*Problem::One.right_hand_side(space.mesh())).unwrap();
            let info = solve(&backend, &Poisson::from(&space), load, &config, &mut unobserved).unwrap().info;
            let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
            let Traffic { uploads, downloads, levels, during_solve: [calls, scalars], .. } = &backend.traffic;
            // The load vector, and what smoothers begin with; the solution.
            assert!(count(uploads) >= 1 && count(levels) >= space.mesh().hierarchy().count(), "{config:?}");
            assert_eq!((count(calls), count(downloads)), (0, 1), "{config:?}");
            // In mixed precision also a norm a V-cycle, of which a first pass has one a level.
            let most = 10 * (info.iterations + 1) + space.mesh().hierarchy().count();
            assert!((info.iterations..=most).contains(&count(scalars)), "{config:?}: {}", count(scalars));
        }
    }
}

/// The difference is what a level has of its own: eigenvalues of its patches, and the residual of a color.
#[test]
fn a_solve_with_discontinuous_elements_allocates_what_was_said() {
    for (dim, degree, refine) in [(2, 3, 3), (3, 1, 3)] {
        let space = Space::discontinuous(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
        for method in Method::ALL {
            let config = Config { method, ..Config::default() };
            let [said, allocated] = said_and_allocated(&space, &config);
            let own = |space: &Space| {
                let patch = (2 * (degree + 1)).pow(dim as u32) << dim;
                (8 * (patch + space.dofs())) as u64
            };
            // Of all levels; the finest is the operator, too.
            let levels: u64 = hierarchy(&Poisson::from(&space)).unwrap().iter().map(|system| own(system.space())).sum();
            assert_eq!(said - allocated, levels, "{config:?} {dim}D");
        }
    }
}

/// The difference is the vectors and tables of the levels, which a test of these compares with what they allocate.
#[test]
fn a_solve_of_stokes_allocates_what_was_said() {
    for (dim, degree, refine) in [(2, 2, 3), (3, 1, 2)] {
        let system = Stokes::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
        let load = || stokes::Problem::Vortex(stokes::Vortex::default()).load(&system).unwrap();
        for config in configs().filter(|config| config.method != Method::Cg) {
            let [said, allocated] = said_and_allocated_for(&system, load(), &config);
            let systems = hierarchy(&system).unwrap();
            let sum = |of_level: fn(&Stokes) -> u64, systems: &[Stokes]| systems.iter().map(of_level).sum::<u64>();
            let single = sum(<Cpu as Runs<Stokes>>::level_bytes::<f32>, &systems)
                + sum(<Cpu as Runs<Stokes>>::patches_bytes::<f32>, &systems[1..]);
            let double = <Cpu as Runs<Stokes>>::level_bytes::<f64>;
            let levels = match (config.method, config.precision) {
                (_, Precision::F64) => {
                    sum(double, &systems) + sum(<Cpu as Runs<Stokes>>::patches_bytes::<f64>, &systems[1..])
                }
                (_, Precision::F32) => single,
                // A first pass has an operator in `f64` on each level.
                (Method::Fmg, Precision::Mixed) => single + sum(double, &systems),
                (_, Precision::Mixed) => single + double(&system),
            };
            assert_eq!(said - allocated, levels, "{config:?} {dim}D");
        }
        let config = Config::default();
        let needed = config.bytes::<_, Counting<Cpu>>(&system).unwrap();
        let backend = Arc::new(Counting::new(cpu(), needed - 1));
        let error = solve(&backend, &system, load(), &config, &mut unobserved).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { needed: said, .. } if said == needed), "{error}");
        assert_eq!(backend.bytes(), 0);
    }
}

/// In bytes an unknown; without the Krylov basis, also with flexible GMRES.
#[test]
fn a_solve_of_stokes_takes_sixty_bytes_an_unknown_and_the_krylov_basis() {
    for (degree, refine) in [(2, 7), (4, 6)] {
        let system = Stokes::new(Mesh::unit_cube(3, refine).unwrap(), degree).unwrap();
        let spaces = system.velocity_spaces().iter().chain([system.pressure_space()]);
        let unknowns: usize = spaces.map(Space::dofs).sum();
        for (method, precision) in [Method::Fmg, Method::Fgmres]
            .into_iter()
            .flat_map(|method| Precision::ALL.map(|precision| (method, precision)))
        {
            let config = Config { method, precision, restart: 0, ..Config::default() };
            let bytes = config.bytes::<_, Counting<Cpu>>(&system).unwrap() as f64 / unknowns as f64;
            assert!((15.0..60.0).contains(&bytes), "RT{degree}, {method}, {precision}: {bytes}");
        }
    }
}

/// In `f64` vectors of the finest level: six, and the Krylov basis, in mixed precision with the directions, which are in `f32`.
#[test]
fn a_solve_takes_six_vectors_and_the_krylov_basis_at_most() {
    let space = space(3, 3, 6);
    let vector = (space.storage() * size_of::<f64>()) as u64;
    for (method, precision, basis) in [
        (Method::Fmg, Precision::F64, 0),
        (Method::Fmg, Precision::Mixed, 0),
        (Method::Gmres, Precision::F64, 10),
        (Method::Gmres, Precision::Mixed, 15),
    ] {
        let config = Config { method, precision, restart: 10, ..Config::default() };
        let bytes = config.bytes::<_, Counting<Cpu>>(&Poisson::from(&space)).unwrap();
        assert!(bytes <= (6 + basis) * vector, "{method:?} {precision:?}: {bytes} bytes, vectors of {vector}");
        assert!(bytes > (3 + basis) * vector, "{method:?} {precision:?}: {bytes} bytes, vectors of {vector}");
    }
}

/// On the finest level right-hand side, solution, residual and correction in `f64`, residual and correction in `f32`; on each
/// coarser one a correction in `f64` takes the place of the residual.
#[test]
fn full_multigrid_in_mixed_precision_has_one_hierarchy_in_f32() {
    let space = space(3, 2, 4);
    let config = Config { precision: Precision::Mixed, ..Config::default() };
    let entries: Vec<_> =
        hierarchy(&Poisson::from(&space)).unwrap().iter().map(|system| system.space().storage() as u64).collect();
    let (finest, coarser) = entries.split_last().unwrap();
    let vectors = |f64s: u64, f32s: u64| 8 * f64s + 4 * f32s;
    let expected = vectors(4, 2) * finest + vectors(3, 2) * coarser.iter().sum::<u64>();
    assert_eq!(said_and_allocated(&space, &config)[1], expected);
}

#[test]
fn too_little_memory_is_said_before_anything_is_allocated() {
    for config in configs() {
        let space = space(2, 3, 4);
        let needed = config.bytes::<_, Counting<Cpu>>(&Poisson::from(&space)).unwrap();
        let backend = Arc::new(Counting::new(cpu(), needed - 1));
        let error =
            solve(&backend, &Poisson::from(&space), vec![0.0; space.storage()], &config, &mut unobserved).unwrap_err();
        match error {
            Error::OutOfMemory { needed: said, available, .. } => assert_eq!((said, available), (needed, needed - 1)),
            other => panic!("{other}"),
        }
        assert_eq!(backend.bytes(), 0);
        let enough = Arc::new(Counting::new(cpu(), needed));
        solve(&enough, &Poisson::from(&space), vec![0.0; space.storage()], &config, &mut unobserved).unwrap();
    }
}

#[test]
fn bad_input_is_an_error() {
    let (backend, space) = (cpu(), space(2, 2, 2));
    let run = |load: Vec<f64>, config: Config| {
        solve(&backend, &Poisson::from(&space), load, &config, &mut unobserved).unwrap_err()
    };
    let load = || vec![1.0; space.storage()];
    let stop = |rtol, max_iters| Config { stopping: Stopping { rtol, max_iters }, ..Config::default() };
    for rtol in [-1e-9, 0.0, 1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(run(load(), stop(rtol, 10)), Error::InvalidArgument { name: "rtol", .. }));
    }
    assert!(matches!(run(load(), stop(1e-9, 0)), Error::InvalidArgument { name: "max-iters", .. }));
    let restart = Config { restart: 0, ..Config::default() };
    assert!(matches!(run(load(), restart), Error::InvalidArgument { name: "restart", .. }));
    assert!(matches!(run(vec![1.0; 3], Config::default()), Error::SizeMismatch { found: 3, .. }));
    for method in [Method::Fmg, Method::VCycle, Method::Gmres, Method::Fgmres, Method::Cg] {
        let nan = space.from_dofs(&vec![f64::NAN; space.dofs()]).unwrap();
        let error = run(nan, Config { method, ..Config::default() });
        assert!(matches!(error, Error::NotFinite { .. }), "{method:?}: {error}");
    }
}
