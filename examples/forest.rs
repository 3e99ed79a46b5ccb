//! A mesh of one's own, by vertices and cells, refined around a point, with a coefficient as a closure; the solution goes to a file
//! for ParaView.
//!
//! Run it with `cargo run --release --example forest -- solution.vtu`; without a path the file goes to the folder for temporary files.
//!
//! ```text
//! 5---6-----7
//! |    \     \      three quadrilaterals around a corner at vertex 3;
//! | 1   \  2  \     vertices of a cell: x fastest, so that the last two are not those of a turn around the cell
//! 2------3-----4
//! | 0    |
//! 0------1
//! ```

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{Adaptation, CoarseMesh, Forest};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::multigrid::SmootherConfig;
use patchmg::output::vtu;
use patchmg::solve::{Case, Config, Method};
use patchmg::system::Elliptic;
use patchmg::system::elliptic::{Diffusion, EllipticProblem, Equation};
use std::path::PathBuf;
use std::sync::Arc;

const VERTICES: [[f64; 2]; 8] =
    [[0.0, 0.0], [1.4, 0.0], [0.0, 1.0], [1.4, 1.0], [2.6, 1.0], [0.0, 2.0], [0.8, 2.0], [2.0, 2.2]];
const CELLS: [[u32; 4]; 3] = [[0, 1, 2, 3], [2, 3, 5, 6], [3, 4, 6, 7]];
/// Vertex 3.
const CORNER: DVec3 = DVec3::new(1.4, 1.0, 0.0);

/// A polynomial of degree 2.
fn exact(point: DVec3) -> f64 {
    point.x * point.x + point.x * point.y - point.y
}

fn main() -> patchmg::Result<()> {
    let vertices = VERTICES.map(|[x, y]| DVec3::new(x, y, 0.0));
    let coarse = CoarseMesh::new(2, vertices.to_vec(), CELLS.concat())?;
    let mut forest = Forest::new(coarse).refine_uniformly(2)?;
    for radius in [0.8, 0.4, 0.2, 0.1] {
        let flag = |leaf| match forest.point(leaf, [0.5, 0.5, 0.0]).distance(CORNER) < radius {
            true => Adaptation::Refine,
            false => Adaptation::Keep,
        };
        let flags: Vec<_> = forest.leaves().iter().map(flag).collect();
        // Neighbours are refined, too, where cells that touch would differ by more than one level.
        forest = forest.adapt(&flags)?;
    }

    let equation = Equation { diffusion: Diffusion::scalar(|point| 1.0 + point.x), ..Equation::default() };
    // `-div(κ ∇u) = -κ Δu - ∇κ · ∇u` with `Δu = 2` and `∇κ = (1, 0)`.
    let mut problem = EllipticProblem::new(|point| -2.0 * (1.0 + point.x) - (2.0 * point.x + point.y));
    problem.values.insert(0, Arc::new(exact));
    let stopping = Stopping { rtol: 1e-12, ..Stopping::default() };
    let case = Case {
        system: Elliptic::new(&forest, 2, equation)?,
        problem,
        config: Config { method: Method::Cg, smoother: SmootherConfig::chebyshev(), stopping, ..Config::default() },
    };
    let (report, u) = case.solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
    assert!(report.info.converged);
    let error = u.integral(|point, value, _gradient| (value - exact(point)).powi(2))?.sqrt();
    let (cells, levels) = (report.cells, forest.levels());
    println!("{cells} cells on {levels} levels, {} iterations, error {error:.1e}", report.info.iterations);
    // Elements of degree 2 on cells with straight edges contain `u`, also where nodes hang: what is left is the solver's tolerance.
    assert!(error < 1e-10);

    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("forest.vtu"), PathBuf::from);
    let size: Vec<f64> = forest.leaves().iter().map(|leaf| 0.5_f64.powi(leaf.level.into())).collect();
    u.write_vtu(&path, &[("size", &size)], &vtu::Config::default())?;
    println!("written: {}", path.display());
    Ok(())
}
