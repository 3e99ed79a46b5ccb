//! Coarse meshes of forests: by name, or from a file of Gmsh.

use super::data::GIVEN;
use crate::args::{CaseArgs, choice, written};
use crate::failure::Failure;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use patchmg::Error;
use patchmg::forest::CoarseMesh;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

choice!(MeshName {
    /// The box of --cells and --size
    Box,
    /// The square (-1, 1)^2 without a quadrant
    #[default]
    Lshape,
    /// The same extruded to z from 0 to 1
    LshapeExtruded,
    /// The cube (-1, 1)^3 without an octant
    HyperL,
    /// The shell between radii 1/2, or --inner-radius, and 1; in 2D the ring
    Shell,
    /// The unit ball; in 2D the disk
    Disk,
    /// The cylinder of radius 1 and height 1
    Cylinder,
});

/// Of a shell, unless told otherwise.
pub const INNER_RADIUS: f64 = 0.5;

/// What --mesh takes.
#[derive(Clone, Debug)]
pub enum MeshChoice {
    Named(MeshName),
    File(MeshFile),
}

/// A file of Gmsh, which says what the dimension is.
#[derive(Clone, Debug)]
pub struct MeshFile {
    path: PathBuf,
    /// None if the file cannot be read.
    mesh: Option<Arc<CoarseMesh>>,
}

impl fmt::Display for MeshChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => name.fmt(f),
            Self::File(file) => file.path.display().fmt(f),
        }
    }
}

written!(MeshChoice);

impl MeshFile {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), mesh: CoarseMesh::from_gmsh_file(path).ok().map(Arc::new) }
    }

    /// The mesh; unless it keeps the numbers of the file, with one for all its boundary: problems number sides by place.
    fn coarse_mesh(&self, keeps_numbers: bool) -> Result<CoarseMesh, Failure> {
        let mut mesh = match &self.mesh {
            Some(mesh) => CoarseMesh::clone(mesh),
            // Says once more why it cannot be read.
            None => CoarseMesh::from_gmsh_file(&self.path).map_err(|error| match error {
                Error::MeshFile { .. } => Failure::usage("mesh", self.path.display(), error),
                Error::Io { source, .. } => Failure::usage("mesh", self.path.display(), source),
                other => other.into(),
            })?,
        };
        if !keeps_numbers {
            mesh.set_boundary_where(0, |_| true)?;
        }
        Ok(mesh)
    }
}

/// Takes the names of meshes, and files whose name ends in `.msh`.
#[derive(Clone, Debug)]
pub struct MeshParser;

impl TypedValueParser for MeshParser {
    type Value = MeshChoice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<MeshChoice, clap::Error> {
        let path = Path::new(value);
        if path.extension().is_some_and(|extension| extension == "msh") {
            return Ok(MeshChoice::File(MeshFile::new(path)));
        }
        let possible = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
        let named = possible.try_map(|name| MeshName::from_str(&name, false));
        named.parse_ref(command, argument, value).map(MeshChoice::Named)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let file = PossibleValue::new("FILE.msh").help("A text file of Gmsh, of version 2.2 or 4.1");
        let names = MeshName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        Some(Box::new(names.chain([file])))
    }
}

/// Lengths of the edges of all cells.
fn edges(mesh: &CoarseMesh) -> Vec<f64> {
    let lines = |corner: usize| (0..mesh.dim()).map(move |d| [corner, corner | 1 << d]);
    let lines: Vec<_> = (0..1 << mesh.dim()).flat_map(lines).filter(|[a, b]| a != b).collect();
    let of_cell = |cell| {
        let vertex = move |corner: usize| mesh.vertices()[mesh.cell(cell)[corner] as usize];
        lines.iter().map(move |&[a, b]| vertex(a).distance(vertex(b)))
    };
    (0..mesh.cells()).flat_map(of_cell).collect()
}

impl CaseArgs {
    /// The mesh that was given, or that of the problem.
    pub fn forest_mesh(&self) -> MeshChoice {
        let of_problem = || match self.problem.as_deref() {
            Some("shell") => MeshName::Shell,
            Some("hyper-l") => MeshName::HyperL,
            Some("minimal-surface") => MeshName::Disk,
            Some(problem) if problem.starts_with("variable") => MeshName::Box,
            _ if self.is_given() => MeshName::Box,
            _ => MeshName::Lshape,
        };
        self.forest.mesh.clone().unwrap_or_else(|| MeshChoice::Named(of_problem()))
    }

    /// [`GIVEN`] if expressions give the problem, else the mesh's own.
    pub(super) fn forest_problem(&self) -> &'static str {
        if self.is_given() {
            return GIVEN;
        }
        match self.forest_mesh() {
            MeshChoice::Named(MeshName::Lshape | MeshName::LshapeExtruded) => "corner",
            MeshChoice::Named(MeshName::Shell) => "shell",
            MeshChoice::Named(MeshName::HyperL) => "hyper-l",
            MeshChoice::Named(MeshName::Box | MeshName::Disk | MeshName::Cylinder) | MeshChoice::File(_) => "variable",
        }
    }

    /// Whether --cells and --size describe the domain.
    pub fn is_on_box(&self) -> bool {
        !self.is_on_forest() || matches!(self.forest_mesh(), MeshChoice::Named(MeshName::Box))
    }

    /// The dimension that a mesh has by itself.
    pub fn forest_dim(&self) -> Option<usize> {
        match self.forest_mesh() {
            _ if !self.is_on_forest() => None,
            MeshChoice::File(file) => file.mesh.map(|mesh| mesh.dim()),
            MeshChoice::Named(MeshName::Lshape) => Some(2),
            MeshChoice::Named(MeshName::LshapeExtruded | MeshName::HyperL | MeshName::Cylinder) => Some(3),
            MeshChoice::Named(MeshName::Box | MeshName::Shell | MeshName::Disk) => None,
        }
    }

    /// The longest edge of the base cells, straight between its ends.
    pub fn base_width(&self) -> Result<f64, Failure> {
        let widths = if self.is_on_box() {
            self.lengths().iter().zip(self.base_cells()).map(|(length, cells)| length / cells as f64).collect()
        } else {
            edges(&self.coarse_mesh()?)
        };
        Ok(widths.into_iter().fold(0.0, f64::max))
    }

    pub(super) fn coarse_mesh(&self) -> Result<CoarseMesh, Failure> {
        let (mesh, dim) = (self.forest_mesh(), self.dim());
        if let Some(own) = self.forest_dim().filter(|&own| own != dim) {
            return Err(Failure::usage("dim", dim, format_args!("must be {own} with --mesh {mesh}")));
        }
        let boxed = [("cells", !self.cells.is_empty()), ("size", !self.size.is_empty())];
        if let (Some((option, _)), false) = (boxed.iter().find(|(_, given)| *given), self.is_on_box()) {
            let reason = format_args!("belongs to --mesh box, and --mesh is {mesh}");
            return Err(Failure::usage(option, "X,Y[,Z]", reason));
        }
        if let Some(radius) = self.forest.inner_radius {
            if !matches!(mesh, MeshChoice::Named(MeshName::Shell)) {
                let reason = format_args!("belongs to --mesh shell, and --mesh is {mesh}");
                return Err(Failure::usage("inner-radius", radius, reason));
            }
            if !(radius > 0.0 && radius < 1.0) {
                return Err(Failure::usage("inner-radius", radius, "must be above 0 and below 1"));
            }
        }
        match mesh {
            MeshChoice::Named(name) => self.named_mesh(name, dim),
            MeshChoice::File(file) => file.coarse_mesh(!self.forest.side.is_empty()),
        }
    }

    fn named_mesh(&self, name: MeshName, dim: usize) -> Result<CoarseMesh, Failure> {
        // As deal.II has them: 10 cells around.
        const RING: usize = 10;
        let inner = self.forest.inner_radius.unwrap_or(INNER_RADIUS);
        Ok(match (name, dim) {
            (MeshName::Box, _) => {
                self.check_box()?;
                CoarseMesh::of_box(&self.base_cells(), &self.lengths())?
            }
            (MeshName::Lshape, _) => CoarseMesh::l_shape(2)?,
            (MeshName::LshapeExtruded, _) => CoarseMesh::l_shape(2)?.extruded(1.0, 1)?,
            (MeshName::HyperL, _) => CoarseMesh::l_shape(3)?,
            (MeshName::Shell, 2) => CoarseMesh::annulus(inner, 1.0, RING)?,
            (MeshName::Shell, _) => CoarseMesh::shell(inner, 1.0)?,
            (MeshName::Disk, 2) => CoarseMesh::disk(1.0)?,
            (MeshName::Disk, _) => CoarseMesh::ball(1.0)?,
            (MeshName::Cylinder, _) => CoarseMesh::cylinder(1.0, 1.0, 1)?,
        })
    }
}
