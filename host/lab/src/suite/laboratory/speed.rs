//! Whole solves: their time for an unknown, their memory, and a solve by a program from its start.

use super::{Laboratory, RTOL, Size, Values, values};
use crate::suite::experiment::{Data, Kernels};
use patchmg::krylov::{Info, Stopping};
use patchmg::measure::{Protocol, Timing};
use patchmg::operator::vector_bytes;
use patchmg::solve::{Config, Method, Precision, Solution, solve_repeatedly};
use patchmg::system::poisson::{PatchKernel, Poisson, Problem};
use patchmg::system::{ModelProblem, Runs, System};
use patchmg_cli::error::{Library, Result};
use std::ops::ControlFlow;

/// What a solve took.
#[derive(Clone, Debug)]
pub struct Solved {
    dofs: usize,
    info: Info,
    timing: Timing,
    /// Bytes of the machine's memory: those that were free before and are not while it runs, kernels and all; on a CPU,
    /// whose memory has other users, those asked for.
    bytes: u64,
    /// Those that [`Config::bytes`] says.
    asked: u64,
    /// Bytes of the Krylov basis ([`basis_bytes`]).
    basis: u64,
    /// Bytes that it may take: six vectors of `f64` of the entries of the finest level, and the Krylov basis.
    allowed: u64,
}

/// Bytes of the Krylov basis, vectors of the finest level: none for full multigrid, the `restart` vectors of GMRES in `f64`, and the
/// preconditioned ones that flexible GMRES keeps, too, in `f32` where the V-cycle is.
fn basis_bytes(method: Method, precision: Precision, restart: usize, storage: usize) -> u64 {
    let (wide, single) = match (method, precision) {
        (Method::Gmres | Method::Fgmres, Precision::Mixed) => (restart, restart),
        (Method::Fgmres, _) => (2 * restart, 0),
        (Method::Gmres, _) => (restart, 0),
        _ => (0, 0),
    };
    vector_bytes::<f64>(wide, storage) + vector_bytes::<f32>(single, storage)
}

impl Solved {
    /// Nanoseconds for an unknown, and iterations.
    pub(super) fn speed(&self) -> Values {
        let per_dof = |seconds: f64| 1e9 * seconds / self.dofs as f64;
        let mut row = values([
            ("min", per_dof(self.timing.min_s)),
            ("max", per_dof(self.timing.max_s)),
            ("time_ms", 1e3 * self.timing.median_s),
            ("iterations", self.info.iterations as f64),
        ]);
        // The time of a solve that did not end where it should says nothing.
        row.insert("measured".into(), self.info.converged.then(|| per_dof(self.timing.median_s)));
        row
    }

    /// Bytes for an unknown without the Krylov basis, measured and asked for.
    pub(super) fn memory_per_dof(&self) -> Values {
        let per_dof = |bytes: u64| bytes.saturating_sub(self.basis) as f64 / self.dofs as f64;
        values([
            ("measured", per_dof(self.bytes)),
            ("asked", per_dof(self.asked)),
            ("memory_gb", 1e-9 * self.bytes as f64),
        ])
    }
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// Nanoseconds for an unknown, and iterations.
    pub(super) fn speed(&mut self, size: Size, mixed: bool, method: Method) -> Result<Values> {
        Ok(self.solved(size, mixed, method)?.speed())
    }

    /// Bytes, measured, asked for and allowed.
    pub(super) fn memory(&mut self, size: Size, mixed: bool, method: Method) -> Result<Values> {
        let Solved { bytes, asked, allowed, .. } = self.solved(size, mixed, method)?;
        let gigabytes = |bytes: u64| 1e-9 * bytes as f64;
        Ok(values([("measured", gigabytes(bytes)), ("asked", gigabytes(asked)), ("floor", gigabytes(allowed))]))
    }

    /// `u = prod sin(pi x_i)`, from `x = 0`.
    fn solved(&mut self, size: Size, mixed: bool, method: Method) -> Result<Solved> {
        let key = (size, mixed, method);
        if let Some((_, known, basis)) = self.solves.iter().find(|(known, ..)| *known == key) {
            self.basis.extend(basis);
            return Ok(known.clone());
        }
        let (solved, basis) = self.with_basis(|laboratory| laboratory.solve_for_speed(size, mixed, method))?;
        self.solves.push((key, solved.clone(), basis));
        Ok(solved)
    }

    fn solve_for_speed(&mut self, size: Size, mixed: bool, method: Method) -> Result<Solved> {
        let precision = if mixed { Precision::Mixed } else { Precision::F64 };
        let stopping = Stopping { rtol: RTOL, ..Stopping::default() };
        let config = Config { method, precision, stopping, ..Config::default() };
        let system = size.system(PatchKernel::default())?;
        config.check(&*self.backend, &system)?;
        let load = self.load(size)?;
        self.solve_of(&system, size, load, &config)
    }

    /// Solves by the laboratory's protocol, and watches the memory.
    pub(super) fn solve_of<E: System>(
        &mut self,
        system: &E,
        size: Size,
        load: Vec<f64>,
        config: &Config,
    ) -> Result<Solved>
    where
        B: Runs<E>,
    {
        // Makes room.
        self.level = None;
        let (layout, backend) = (system.layout(), &*self.backend);
        let before = backend.info();
        // Before the first iteration all is allocated; to ask again would take time from the solve.
        let mut during = None;
        let mut observer = |_, _| {
            during.get_or_insert_with(|| backend.info().memory_free);
            ControlFlow::Continue(())
        };
        let Solution { info, timing, .. } =
            solve_repeatedly(&self.backend, system, load, config, self.protocol, &mut observer)?;
        let asked = config.bytes::<_, B>(system)?;
        let bytes = match during {
            Some(during) if before.backend.is_gpu() => before.memory_free.saturating_sub(during),
            _ => asked,
        };
        let Config { method, precision, restart, .. } = *config;
        let (basis, allowed) =
            (basis_bytes(method, precision, restart, layout.storage()), vector_bytes::<f64>(6, layout.storage()));
        self.basis.measured(format!("solve, L = {}", size.refine), self.protocol.warmup, timing);
        Ok(Solved { dofs: layout.dofs(), info, timing, bytes, asked, basis, allowed: allowed + basis })
    }

    /// The load vector, for which the host takes longer than for anything else: once for neighbouring points.
    pub(super) fn load(&mut self, size: Size) -> Result<Vec<f64>> {
        match &self.load {
            Some((known, load)) if *known == size.double() => Ok(load.clone()),
            _ => {
                self.load = None;
                let load = Problem::Sine.load(&size.poisson()?)?;
                self.load = Some((size.double(), load.clone()));
                Ok(load)
            }
        }
    }

    /// Seconds from the start of a process to its end.
    pub(super) fn start(&mut self, size: Size, kernels: Kernels, data: Data) -> Result<Values> {
        // Makes room.
        self.level = None;
        let program = self.program.as_ref().ok_or_else(|| Library::InvalidArgument {
            name: "program",
            value: "none".into(),
            allowed: "a program that solves".into(),
        })?;
        let protocol = self.protocol;
        for _ in 0..protocol.warmup {
            program.solve([size.dim, size.degree, size.refine], kernels, data)?;
        }
        let (mut seconds, mut last) = (Vec::new(), None);
        for _ in 0..protocol.repetitions {
            let (second, report) = program.solve([size.dim, size.degree, size.refine], kernels, data)?;
            seconds.push(second);
            last = Some(report);
        }
        let timing = Timing::of(seconds)?;
        self.basis.measured("process", protocol.warmup, timing);
        // The kernels of that process are those of the same solve here.
        if self.backend.info().backend.is_gpu() {
            let config = Config { method: Method::Fmg, precision: Precision::Mixed, ..Config::default() };
            self.report(size, PatchKernel::default(), Problem::Sine, config, Protocol::ONCE)?;
        }
        let Timing { median_s, min_s, max_s, .. } = timing;
        let mut row = values([("measured", median_s), ("min", min_s), ("max", max_s)]);
        if let Some(report) = last {
            row.extend(values([("setup_s", report.setup_s), ("solve_s", report.solve_s)]));
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_krylov_basis() {
        // In vectors of `f64`: of ten in `f32` five.
        let vectors = |method, precision| basis_bytes(method, precision, 10, 1000) / 8000;
        assert_eq!(vectors(Method::Fmg, Precision::Mixed), 0);
        assert_eq!(vectors(Method::Gmres, Precision::F64), 10);
        assert_eq!(vectors(Method::Gmres, Precision::Mixed), 15);
        assert_eq!(vectors(Method::Fgmres, Precision::F64), 20);
    }
}
