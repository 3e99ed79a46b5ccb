//! The arguments of elliptic equations on forests.

use super::data::DataArgs;
use super::forest_mesh::{MeshChoice, MeshParser};
use super::side::{Side, side};
use crate::args::{CaseArgs, choice, number, whole};
use crate::failure::Failure;
use clap::Args;
use patchmg::forest::Marking;
use serde::Serialize;

/// Fractions of the cells that are refined and coarsened, unless told otherwise.
pub const REFINE_FRACTION: f64 = 0.3;
pub const COARSEN_FRACTION: f64 = 0.03;

/// Elliptic equations on forests: meshes that are refined where it matters.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Elliptic equations on forests")]
pub struct ForestArgs {
    /// Mesh [default: that of the problem]
    #[arg(long, value_parser = MeshParser)]
    pub mesh: Option<MeshChoice>,
    /// Cycles of refinement where the error is large, each with a solve, after a first solve on the mesh that --refine asks for.
    /// [default: 0, or as many as --until-estimate or --until-dofs takes]
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub adapt: Option<usize>,
    /// No more cycles once the estimate of the error is at most that.
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    pub until_estimate: Option<f64>,
    /// No more cycles once there are so many unknowns.
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub until_dofs: Option<usize>,
    /// What the solve of a cycle begins with [default: last for nonlinear problems, zero for linear ones]
    #[arg(long, value_enum)]
    pub initial_guess: Option<GuessName>,
    /// Which cells are refined [default: kelly]
    #[arg(long, value_enum)]
    pub marking: Option<MarkingName>,
    /// Fraction of cells that kelly refines, or of the estimate's square that dorfler does [default: 0.3]
    #[arg(long, value_name = "F", value_parser = number, allow_hyphen_values = true)]
    pub refine_fraction: Option<f64>,
    /// Fraction of cells that kelly coarsens [default: 0.03]
    #[arg(long, value_name = "F", value_parser = number, allow_hyphen_values = true)]
    pub coarsen_fraction: Option<f64>,
    /// Radius of the inner boundary of the shell, whose outer one has radius 1; near 1, cells are stretched [default: 0.5]
    #[arg(long, value_name = "R", value_parser = number, allow_hyphen_values = true)]
    pub inner_radius: Option<f64>,
    /// Degree of the mapping of cells [default: that of the elements]
    #[arg(long, value_name = "M", value_parser = whole, allow_hyphen_values = true)]
    pub mapping_degree: Option<usize>,
    /// Of minimal-surface: u = sin(F pi (x + y)) on the boundary [default: 1]
    #[arg(long, value_name = "F", value_parser = whole, allow_hyphen_values = true)]
    pub frequency: Option<usize>,
    /// Nodes of a level that are smoothed [default: local]
    #[arg(long, value_enum)]
    pub smoothing: Option<SmoothingName>,
    /// How a GPU sums up results of cells at nodes [default: gather]
    #[arg(long, value_enum)]
    pub writes: Option<WritesName>,
    #[command(flatten)]
    #[serde(flatten)]
    pub data: DataArgs,
    /// The condition on a side, for example "x-=neumann:sin(pi * y)" or 3=dirichlet:1
    ///
    /// Of poisson-cg and poisson-dg, on a side of the box, x-, x+, y-, y+, z- or z+: x-=dirichlet:VALUE, x-=neumann:FLUX with the flux c du/dn, or
    /// x-=periodic together with x+=periodic. Of elliptic with the problems given and variable, on the boundary of a number, which is
    /// that of a physical group in a file of Gmsh: 3=dirichlet:VALUE, 3=neumann:FLUX, or 3=robin:ALPHA:VALUE for kappa du/dn + ALPHA u =
    /// VALUE. VALUE, FLUX and ALPHA are expressions, 0 if they are left out. On other sides u is that of --boundary, 0 by default.
    #[arg(long, value_name = "PLACE=KIND", value_parser = side, help_heading = "Data")]
    pub side: Vec<Side>,
}

choice!(MarkingName {
    /// A fraction of the cells with the largest indicators of Kelly, another is coarsened
    #[default]
    Kelly,
    /// The fewest cells with a fraction of the estimate's square, Kelly's
    Dorfler,
    /// Cells with a vertex at the re-entrant corner, or on the edge, where x = y = 0
    Corner,
    /// Cells with their center near (0.3, 0.3, 0.3): than 0.4 / 2^c in cycle c, from 0 on
    Ball,
});

choice!(GuessName {
    /// Zero, and Newton's method the solution of Laplace's equation: residuals fall as on a mesh of its own
    #[default]
    Zero,
    /// The solution of the last cycle, interpolated; residuals of linear problems remain relative to that of zero
    Last,
});

choice!(SmoothingName {
    /// Those whose cells are all of the finest size
    #[default]
    Local,
    /// All
    Global,
});

choice!(WritesName {
    /// Cells leave them in memory, a second kernel sums them up: the same bits each time
    #[default]
    Gather,
    /// Cells of one color after the other add to nodes: the same bits each time
    Colors,
    /// Cells add to nodes by atomic operations: last digits differ from time to time
    Atomics,
});

impl CaseArgs {
    /// Options of forests alone that were given, with their values.
    pub fn forest_options(&self) -> Vec<(&'static str, String)> {
        let ForestArgs {
            mesh,
            inner_radius,
            adapt,
            until_estimate,
            until_dofs,
            initial_guess,
            marking,
            refine_fraction,
            coarsen_fraction,
            mapping_degree,
            frequency,
            smoothing,
            writes,
            data: _,
            side: _,
        } = &self.forest;
        let options = [
            ("mesh", mesh.as_ref().map(MeshChoice::to_string)),
            ("inner-radius", inner_radius.map(|radius| radius.to_string())),
            ("adapt", adapt.map(|cycles| cycles.to_string())),
            ("until-estimate", until_estimate.map(|estimate| estimate.to_string())),
            ("until-dofs", until_dofs.map(|dofs| dofs.to_string())),
            ("initial-guess", initial_guess.map(|guess| guess.to_string())),
            ("marking", marking.map(|marking| marking.to_string())),
            ("refine-fraction", refine_fraction.map(|fraction| fraction.to_string())),
            ("coarsen-fraction", coarsen_fraction.map(|fraction| fraction.to_string())),
            ("mapping-degree", mapping_degree.map(|degree| degree.to_string())),
            ("frequency", frequency.map(|frequency| frequency.to_string())),
            ("smoothing", smoothing.map(|smoothing| smoothing.to_string())),
            ("writes", writes.map(|writes| writes.to_string())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }

    /// Whether there may be cycles of refinement.
    pub fn refines_where_it_matters(&self) -> bool {
        let ForestArgs { adapt, until_estimate, until_dofs, .. } = self.forest;
        adapt.is_some_and(|cycles| cycles > 0) || until_estimate.is_some() || until_dofs.is_some()
    }

    /// The rule that marks by indicators; none if it marks by place.
    pub(super) fn marking(&self) -> Result<Option<Marking>, Failure> {
        let ForestArgs { marking, refine_fraction, coarsen_fraction, .. } = self.forest;
        let marking = marking.unwrap_or_default();
        let unused = |option, value: Option<f64>| match value {
            Some(value) => Err(Failure::usage(option, value, format_args!("is not there with --marking {marking}"))),
            None => Ok(()),
        };
        let refine = refine_fraction.unwrap_or(REFINE_FRACTION);
        match marking {
            MarkingName::Kelly => {
                Ok(Some(Marking::FixedNumber { refine, coarsen: coarsen_fraction.unwrap_or(COARSEN_FRACTION) }))
            }
            MarkingName::Dorfler => {
                unused("coarsen-fraction", coarsen_fraction)?;
                Ok(Some(Marking::Dorfler { fraction: refine }))
            }
            MarkingName::Corner | MarkingName::Ball => {
                unused("refine-fraction", refine_fraction)?;
                unused("coarsen-fraction", coarsen_fraction)?;
                Ok(None)
            }
        }
    }
}
