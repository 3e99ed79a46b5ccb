//! The smoother that suits a system on a box.

use crate::mesh::COARSENED_BELOW;
use crate::multigrid::SmootherConfig;
use crate::space::{Axis, Family, Space};

/// Patches, or Chebyshev iteration for stretched cells whose patches hold a single unknown. With Neumann or periodic sides that would hardly reduce
/// errors which are constant in the short directions.
pub(super) fn suitable_smoother(space: &Space, diffusion: &[f64], are_dirichlet: bool) -> SmootherConfig {
    let axes = space.axes();
    let patches_hold_one = axes.len() == 3 && space.degree() == 1 && axes[0].family() == Family::Continuous;
    if patches_hold_one && are_dirichlet && are_stretched(axes, diffusion) {
        SmootherConfig::ChebyshevFourthKind { degree: 3 }
    } else {
        SmootherConfig::Patch
    }
}

/// Whether a cell has an edge longer than that of another direction by so much that it is not coarsened with it. With coefficients `c` edges are
/// `h / √c`.
fn are_stretched(axes: &[Axis], diffusion: &[f64]) -> bool {
    let of_axis = |(axis, c): (&Axis, &f64)| {
        let edges = (0..axis.cells()).map(|cell| axis.width(cell) / c.sqrt());
        edges.fold([f64::INFINITY, 0.0], |[shortest, longest], edge| [edge.min(shortest), edge.max(longest)])
    };
    let edges: Vec<[f64; 2]> = axes.iter().zip(diffusion).map(of_axis).collect();
    let directions = 0..edges.len();
    directions.clone().any(|a| directions.clone().any(|b| a != b && edges[a][1] > COARSENED_BELOW * edges[b][0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Grading, Mesh};
    use crate::system::separable::{Condition, Equation};
    use crate::system::{Poisson, Separable};

    const CHEBYSHEV: SmootherConfig = SmootherConfig::ChebyshevFourthKind { degree: 3 };

    fn on_box(lengths: &[f64]) -> Mesh {
        Mesh::of_box(&vec![1; lengths.len()], lengths, 3).unwrap()
    }

    #[test]
    fn stretched_cells_whose_patches_hold_one_unknown_have_chebyshev_iteration() {
        let continuous = |lengths: &[f64], degree| {
            let poisson = Poisson::continuous(on_box(lengths), degree).unwrap();
            let separable = Separable::new(on_box(lengths), degree, Equation::default()).unwrap();
            assert_eq!(poisson.suitable_smoother(), separable.suitable_smoother());
            poisson.suitable_smoother()
        };
        for lengths in [[1.0, 1.0, 1.6], [1.0, 10.0, 10.0], [1.6, 1.0, 1.6]] {
            assert_eq!(continuous(&lengths, 1), CHEBYSHEV, "{lengths:?}");
            assert_eq!(continuous(&lengths, 2), SmootherConfig::Patch, "{lengths:?}");
            let poisson = Poisson::discontinuous(on_box(&lengths), 1).unwrap();
            assert_eq!(poisson.suitable_smoother(), SmootherConfig::Patch, "{lengths:?}");
        }
        for lengths in [&[1.0, 1.0, 1.5][..], &[1.0, 1.3, 1.4], &[1.0, 10.0]] {
            assert_eq!(continuous(lengths, 1), SmootherConfig::Patch, "{lengths:?}");
        }
    }

    #[test]
    fn coefficients_and_the_widths_of_graded_cells_count() {
        let smoother = |lengths: [f64; 3], equation: Equation| {
            Separable::new(on_box(&lengths), 1, equation).unwrap().suitable_smoother()
        };
        let along_x = |grading| [grading, Grading::Uniform, Grading::Uniform];
        // Cells of 1/8 along y and z.
        let breakpoints = |least: f64| {
            let points = [0.0, least, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];
            Equation { grading: along_x(Grading::Breakpoints(points.to_vec())), ..Equation::default() }
        };
        let graded = |ratio| Equation { grading: along_x(Grading::Geometric(ratio)), ..Equation::default() };
        let with = |diffusion| Equation { diffusion, ..Equation::default() };
        let of_side = |side| {
            let mut equation = Equation::default();
            equation.sides[0] = [side, side];
            equation
        };
        let (cube, long) = ([1.0; 3], [1.0, 10.0, 10.0]);
        for (lengths, equation) in [
            (cube, graded(3.0)),
            (cube, breakpoints(0.08)),
            (cube, with([1.0, 1.0, 0.25])),
            (long, Equation::default()),
        ] {
            assert_eq!(smoother(lengths, equation.clone()), CHEBYSHEV, "{lengths:?} {equation:?}");
        }
        for (lengths, equation) in [
            (cube, graded(1.0)),
            // Edges along x are 0.69 to 1.38 times as long as those along y and z.
            (cube, graded(2.0)),
            (cube, breakpoints(0.09)),
            (cube, with([4.0; 3])),
            ([1.0, 2.0, 1.0], with([1.0, 4.0, 1.0])),
            (long, of_side(Condition::Neumann)),
            (long, of_side(Condition::Periodic)),
        ] {
            assert_eq!(smoother(lengths, equation.clone()), SmootherConfig::Patch, "{lengths:?} {equation:?}");
        }
    }
}
