//! The arguments of equations on boxes: coefficients, and sizes of cells.

use crate::args::{number, written};
use clap::Args;
use patchmg::mesh::Grading;
use patchmg::system::Separable;
use patchmg::system::separable::DirectNodes;
use serde::{Serialize, Serializer};
use std::fmt;

/// Names of the directions.
pub const DIRECTIONS: [&str; 3] = ["x", "y", "z"];

/// Coefficients of -div(diag(a, b, c) grad u) + s u = f, and sizes of cells.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Boxes")]
pub struct BoxArgs {
    /// Of poisson-cg and poisson-dg: the diffusion coefficient of each direction, 1e-12 to 1e12 [default: 1 in each]
    #[arg(long, value_name = "A,B[,C]", value_delimiter = ',', value_parser = number, allow_hyphen_values = true)]
    pub diffusion: Vec<f64>,
    /// Of poisson-cg and poisson-dg: the factor S of a term S u, 0 to 1e12 [default: 0]
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub reaction: Option<f64>,
    /// Of poisson-cg and poisson-dg: sizes of the cells in some directions, such as x=100,y=50:both or x=0/0.1/1 [default: all equal]
    ///
    /// x=R is a geometric sequence whose last cell is R times as wide as the first, R from 1e-6 to 1e6: above 1 cells are finer where x is
    /// small, below 1 where it is large. x=R:both are two of them, from both sides to the middle, where cells are R times as wide.
    /// x=0/0.1/1 are breakpoints, from 0 to the size, between the base cells of --cells, each of which is then refined into equal
    /// cells. R is that of the refined cells, whatever --refine is.
    #[arg(long, value_name = "D=SIZES", value_delimiter = ',', value_parser = sizes, allow_hyphen_values = true)]
    pub grading: Vec<Sizes>,
    /// Of poisson-cg and poisson-dg: meshes of at most N nodes in every direction are the coarsest, and solved directly, N up to 2049
    /// [default: 257 in 2D and 513 in 3D on graded cells; coarse:129 and coarse:193 on equal cells with sides or coefficients]
    ///
    /// They are solved by fast diagonalization of the whole box: about 4 N operations an unknown for each direction. If the finest mesh is one of
    /// them, a V-cycle is a direct solver. With coarse:N the finest mesh is left out, and with 0 only meshes that are a single patch are solved so.
    /// Plain boxes are coarsened as far as they can be; with N above 0 they have the general kernels.
    #[arg(long, value_name = "[coarse:]N", value_parser = direct_nodes, allow_hyphen_values = true)]
    pub direct_nodes: Option<MostDirectNodes>,
}

/// Sizes of the cells of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    pub direction: usize,
    pub grading: Grading,
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}=", DIRECTIONS[self.direction])?;
        match &self.grading {
            Grading::Uniform => write!(f, "1"),
            Grading::Geometric(ratio) => write!(f, "{ratio}"),
            Grading::BothEnds(ratio) => write!(f, "{ratio}:both"),
            Grading::Breakpoints(points) => {
                f.write_str(&points.iter().map(f64::to_string).collect::<Vec<_>>().join("/"))
            }
        }
    }
}

written!(Sizes);

/// `N` or `coarse:N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MostDirectNodes(pub DirectNodes);

impl fmt::Display for MostDirectNodes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            DirectNodes::All(most) => write!(f, "{most}"),
            DirectNodes::Coarse(most) => write!(f, "{COARSE}{most}"),
        }
    }
}

impl Serialize for MostDirectNodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            DirectNodes::All(most) => most.serialize(serializer),
            DirectNodes::Coarse(_) => serializer.collect_str(self),
        }
    }
}

const COARSE: &str = "coarse:";

fn direct_nodes(text: &str) -> Result<MostDirectNodes, String> {
    let (of, most): (fn(usize) -> DirectNodes, _) = match text.strip_prefix(COARSE) {
        Some(most) => (DirectNodes::Coarse, most),
        None => (DirectNodes::All, text),
    };
    let most = most.parse().ok().filter(|&most| most <= Separable::MOST_DIRECT_NODES);
    let refused = || format!("must be 0 to {}, or coarse:0 to coarse:{0}", Separable::MOST_DIRECT_NODES);
    most.map(|most| MostDirectNodes(of(most))).ok_or_else(refused)
}

/// `D=R`, `D=R:both` or `D=0/A/../L`.
fn sizes(text: &str) -> Result<Sizes, String> {
    let refused = || {
        String::from("must be D=R, D=R:both or D=0/A/../L, with a direction x, y or z and numbers, for example x=100")
    };
    let (name, sizes) = text.split_once('=').ok_or_else(refused)?;
    let direction = DIRECTIONS.iter().position(|direction| *direction == name).ok_or_else(refused)?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| refused());
    let grading = if sizes.contains('/') {
        Grading::Breakpoints(sizes.split('/').map(number).collect::<Result<_, _>>()?)
    } else {
        match sizes.strip_suffix(":both") {
            Some(ratio) => Grading::BothEnds(number(ratio)?),
            None => Grading::Geometric(number(sizes)?),
        }
    };
    Ok(Sizes { direction, grading })
}

impl BoxArgs {
    /// Whether only the general kernels do what was given.
    pub fn need_general_kernels(&self) -> bool {
        let Self { diffusion, reaction, grading, direct_nodes } = self;
        let is_solved = direct_nodes.is_some_and(|nodes| nodes.0.most() > 0);
        is_solved || !diffusion.is_empty() || reaction.is_some() || !grading.is_empty()
    }

    /// Options that were given, with their values.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let options = [
            ("diffusion", (!self.diffusion.is_empty()).then(|| list(&self.diffusion))),
            ("reaction", self.reaction.map(|reaction| reaction.to_string())),
            ("grading", self.grading.first().map(Sizes::to_string)),
            ("direct-nodes", self.direct_nodes.map(|nodes| nodes.to_string())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for text in ["x=100", "z=0.25", "y=50:both", "x=0/0.1/1", "y=-1"] {
            assert_eq!(sizes(text).unwrap().to_string(), text);
        }
        assert_eq!(sizes("x=1e3").unwrap(), Sizes { direction: 0, grading: Grading::Geometric(1e3) });
        for text in ["x", "x=", "w=2", "x=a", "x=2:left", "x=0/b/1", "x=2:both:both", "=2"] {
            assert!(sizes(text).unwrap_err().contains("for example x=100"), "{text}");
        }
    }
}
