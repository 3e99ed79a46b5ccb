//! The files that solutions of `patchmg solve` go to.

use crate::args::{Scalar, SolveArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::systems::Offered;
use patchmg::output::pvd::Series;
use patchmg::output::vtu::{Config, Float};
use patchmg::system::System;
use std::path::Path;

/// Files of the last solution, and of all if `--vtu` names a list of them.
pub struct SolutionFiles<'a> {
    vtu: Option<&'a Path>,
    npz: Option<&'a Path>,
    config: Config,
    /// If `--vtu` ends in .pvd.
    series: Option<Series>,
    /// Meshes so far, which are the times of the list.
    meshes: u32,
}

impl<'a> SolutionFiles<'a> {
    pub fn new(args: &'a SolveArgs) -> Self {
        let vtu = args.vtu.as_deref();
        let list = vtu.filter(|path| path.extension().is_some_and(|extension| extension == "pvd"));
        Self { vtu, npz: args.npz.as_deref(), config: args.vtu_config(), series: list.map(Series::new), meshes: 0 }
    }

    /// Writes the solution on a mesh, and the list with it, if there is one.
    pub fn write_to_list<P: Offered>(
        &mut self,
        problem: &P,
        solution: &<P::System as System>::Solution,
        console: Console,
    ) -> Result<(), Failure> {
        let (Some(path), Some(series)) = (self.vtu, &mut self.series) else { return Ok(()) };
        let time = f64::from(self.meshes);
        self.meshes += 1;
        if is_written::<P>(solution, path, console) {
            series.write(time, |file| problem.write_vtu(solution, file, &self.config))?;
        }
        Ok(())
    }

    /// Writes the solution that is the result, but not to a list, which has it.
    pub fn write_last<P: Offered>(
        &self,
        problem: &P,
        solution: &<P::System as System>::Solution,
        console: Console,
    ) -> Result<(), Failure> {
        if let Some(path) = self.vtu.filter(|path| self.series.is_none() && is_written::<P>(solution, path, console)) {
            problem.write_vtu(solution, path, &self.config)?;
        }
        if let Some(path) = self.npz.filter(|path| is_written::<P>(solution, path, console)) {
            P::write_npz(solution, path)?;
        }
        Ok(())
    }
}

impl SolveArgs {
    /// How VTU files are written.
    pub fn vtu_config(&self) -> Config {
        let float = match self.vtu_scalar {
            Scalar::F32 => Float::F32,
            Scalar::F64 => Float::F64,
        };
        Config { float }
    }
}

/// Whether a solution goes to a file: if not, it says why.
fn is_written<P: Offered>(solution: &<P::System as System>::Solution, path: &Path, console: Console) -> bool {
    let is_finite = P::is_finite(solution);
    if !is_finite {
        console.line(format_args!("{} is not written: the solution has values that are not finite", path.display()));
    }
    is_finite
}
