//! What the arguments say of mesh and solver, whatever the system.

use crate::args::{self, CaseArgs};
use crate::failure::Failure;
use patchmg::backend::DeviceInfo;
use patchmg::krylov::Stopping;
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::bytes;
use patchmg::solve::{Config, Cycle, Method};

impl CaseArgs {
    /// How to solve, by a smoother that suits the system if none is given.
    pub fn config(&self, suitable: SmootherConfig) -> Result<Config, Failure> {
        let stopping = Stopping { rtol: self.rtol(), max_iters: self.max_iters };
        let (method, precision, smoother) = (self.method(), self.precision, self.smoother_config(suitable)?);
        if let (Some(restart), false) = (self.restart, [Method::Gmres, Method::Fgmres].contains(&method)) {
            let reason = format_args!("belongs to --solver gmres or fgmres, and --solver is {method}");
            return Err(Failure::usage("restart", restart, reason));
        }
        let restart = self.restart.unwrap_or(Config::default().restart);
        Ok(Config { method, precision, smoother, cycle: self.cycle, stopping, restart })
    }

    /// That which was given, or that of the first list of numbers for each direction.
    pub fn dim(&self) -> usize {
        let given = [self.cells.len(), self.size.len()].into_iter().find(|&count| count > 0);
        self.dim.or(given).or(self.forest_dim()).unwrap_or(3)
    }

    /// The degree; the first of several.
    pub fn degree(&self) -> usize {
        self.degree.first()
    }

    /// Refinements of the base cells; the first of several.
    pub fn refine(&self) -> usize {
        self.refine.first()
    }

    /// Base cells in each direction.
    pub fn base_cells(&self) -> Vec<usize> {
        if self.cells.is_empty() { vec![1; self.dim()] } else { self.cells.clone() }
    }

    /// Side lengths of the domain.
    pub fn lengths(&self) -> Vec<f64> {
        if self.size.is_empty() { vec![1.0; self.dim()] } else { self.size.clone() }
    }

    /// The domain's, as a person reads it.
    pub fn domain(&self) -> String {
        if self.is_on_forest() {
            return format!("mesh {}", self.forest_mesh());
        }
        let lengths = self.lengths();
        match (self.dim(), lengths.iter().all(|&length| length == 1.0)) {
            (2, true) => String::from("the unit square"),
            (_, true) => String::from("the unit cube"),
            (2, false) => format!("the rectangle {}", product(&lengths)),
            (_, false) => format!("the box {}", product(&lengths)),
        }
    }

    /// Cells in each direction, as a person reads it.
    pub fn cells_in_words(&self) -> String {
        let is_one_cell = !self.is_on_forest() && self.cells.iter().all(|&cells| cells == 1);
        let times = match &*self.refine {
            [refine] if is_one_cell => return format!("2^{refine} cells a direction"),
            [1] => String::from("once"),
            _ => format!("{} times", self.refine),
        };
        if self.is_on_forest() || is_one_cell {
            return format!("refined {times}");
        }
        format!("{} cells refined {times}", product(&self.cells))
    }

    /// The mesh.
    pub fn mesh(&self) -> Result<Mesh, Failure> {
        self.check_box()?;
        Ok(Mesh::of_box(&self.base_cells(), &self.lengths(), self.refine())?)
    }

    /// That there is a number for each direction.
    pub fn check_box(&self) -> Result<(), Failure> {
        let (dim, base, lengths) = (self.dim(), self.base_cells(), self.lengths());
        let reason = || format!("must be {dim} numbers in {dim}D, with commas between them");
        if base.len() != dim {
            return Err(Failure::usage("cells", list(&base), reason()));
        }
        if lengths.len() != dim {
            return Err(Failure::usage("size", list(&lengths), reason()));
        }
        Ok(())
    }

    fn smoother_config(&self, suitable: SmootherConfig) -> Result<SmootherConfig, Failure> {
        let mut smoother = match self.smoother {
            None => suitable,
            Some(args::Smoother::Patch) => SmootherConfig::Patch,
            Some(args::Smoother::AdditivePatch) => SmootherConfig::additive_patch(self.dim()),
            Some(args::Smoother::PointGs) => SmootherConfig::PointGaussSeidel,
            Some(args::Smoother::Jacobi) => SmootherConfig::jacobi(),
            Some(args::Smoother::Chebyshev) => SmootherConfig::chebyshev(),
            Some(name @ args::Smoother::ChebyshevPatch) if !self.is_on_forest() => {
                return Err(Failure::usage("smoother", name, "belongs to --system elliptic"));
            }
            Some(args::Smoother::ChebyshevPatch) => SmootherConfig::chebyshev_patch(),
            Some(args::Smoother::Chebyshev4) => SmootherConfig::chebyshev_fourth_kind(),
        };
        let name = smoother.name();
        if let Some(given) = self.damping {
            match &mut smoother {
                SmootherConfig::AdditivePatch { damping } | SmootherConfig::Jacobi { damping } => *damping = given,
                _ => {
                    let reason = format_args!("--smoother {name} is not damped, additive-patch and jacobi are");
                    return Err(Failure::usage("damping", format_args!("{given:?}"), reason));
                }
            }
        }
        if let Some(given) = self.smoother_degree {
            match &mut smoother {
                SmootherConfig::Chebyshev { degree, .. }
                | SmootherConfig::ChebyshevPatch { degree, .. }
                | SmootherConfig::ChebyshevFourthKind { degree } => {
                    *degree = given;
                }
                _ => {
                    let reason = format_args!(
                        "belongs to --smoother chebyshev, chebyshev-patch and chebyshev4, and --smoother is {name}"
                    );
                    return Err(Failure::usage("smoother-degree", given, reason));
                }
            }
        }
        Ok(smoother)
    }
}

fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn product(numbers: &[impl ToString]) -> String {
    list(numbers).replace(',', " x ")
}

/// A number of iterations, as a person reads it.
pub fn iterations(count: usize) -> String {
    format!("{count} iteration{}", if count == 1 { "" } else { "s" })
}

/// What is about to run; `smoother` is its name with what the system says of its kernels.
pub fn parameters(args: &CaseArgs, smoother: &str, device: &DeviceInfo, memory: u64) -> String {
    format!(
        "\
{} on {}, degree {}, {}, problem {}
solver     {}, precision {}, relative tolerance {:e}, at most {}
smoother   {smoother}{}
backend    {}: {}, {} {}, {}
memory     {} needed, {} free
",
        args.system,
        args.domain(),
        args.degree,
        args.cells_in_words(),
        args.problem_name(),
        args.method(),
        args.precision,
        args.rtol(),
        iterations(args.max_iters),
        if args.cycle == Cycle::W { ", W-cycle" } else { "" },
        device.backend,
        device.name,
        device.units,
        if device.backend.is_gpu() { "multiprocessors" } else { "threads" },
        device.architecture,
        bytes(memory),
        bytes(device.memory_free),
    )
}
