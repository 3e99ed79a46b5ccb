//! Which cells merge, and on which patches corrections smooth then.

use super::coarsening::{Rule, kept_breakpoints};
use super::line::{Ends, Line};
use super::tests::{OnCpu, check_colors, equation};
use super::*;
use crate::multigrid::{PatchSmoother, Smoother};
use crate::testing::random;

const N: Condition = Condition::Neumann;
const D: Condition = Condition::Dirichlet;
const P: Condition = Condition::Periodic;

fn cells_of_levels(mesh: Mesh, degree: usize, equation: Equation) -> Vec<[usize; 3]> {
    let finest = Separable::new(mesh, degree, equation).unwrap().with_direct_nodes(DirectNodes::All(0));
    crate::multigrid::hierarchy(&finest).unwrap().iter().rev().map(|system| system.mesh().cells_along()).collect()
}

#[test]
fn equal_cells_are_coarsened_as_in_poissons_equation() {
    let uniform = |cells: &[usize], lengths: &[f64], refine| {
        cells_of_levels(Mesh::of_box(cells, lengths, refine).unwrap(), 2, Equation::default())
    };
    assert_eq!(uniform(&[1, 1, 1], &[1.0; 3], 4), [[16; 3], [8; 3], [4; 3], [2; 3]]);
    assert_eq!(uniform(&[1, 1], &[1.0, 10.0], 3), [[8, 8, 1], [4, 8, 1], [2, 8, 1], [2, 4, 1], [2, 2, 1]]);
    // Odd numbers of cells go on.
    assert_eq!(uniform(&[5, 1], &[5.0, 1.0], 2), [[20, 4, 1], [10, 2, 1], [5, 2, 1], [3, 2, 1]]);
    // A coefficient is a length.
    let long = Equation { diffusion: [1.0, 1e-2, 1.0], ..Equation::default() };
    let by_coefficient = cells_of_levels(Mesh::unit_cube(2, 3).unwrap(), 2, long);
    assert_eq!(by_coefficient, uniform(&[1, 1], &[1.0, 10.0], 3));
    let mesh = Mesh::of_box(&[3, 2], &[1.5, 1.0], 3).unwrap();
    let meshes: Vec<_> = mesh.hierarchy().map(|mesh| mesh.cells_along()).collect();
    assert_eq!(uniform(&[3, 2], &[1.5, 1.0], 3)[..meshes.len()], meshes);
}

#[test]
fn periods_keep_even_numbers_of_cells() {
    let periodic = Equation { sides: [[P, P], [D, D], [D, D]], ..Equation::default() };
    for base in [1, 3, 5, 7, 9] {
        for grading in [Grading::Uniform, Grading::Geometric(100.0)] {
            let equation = Equation { grading: [grading, Grading::Uniform, Grading::Uniform], ..periodic.clone() };
            let mesh = Mesh::of_box(&[base, 1], &[base as f64, 1.0], 3).unwrap();
            let levels = cells_of_levels(mesh, 2, equation);
            assert!(levels.iter().all(|cells| cells[0] % 2 == 0 || cells[0] <= 3), "{levels:?}");
            assert!(levels[levels.len() - 1][..2].iter().all(|&cells| cells <= 3));
        }
    }
}

#[test]
fn neighbours_merge_where_both_are_narrow() {
    let axis = |points: Vec<f64>| {
        let element = Arc::new(crate::fe::Element::new(1).unwrap());
        Line::new(Axis::graded(Family::Continuous, &element, points.into()), Ends::Open([false; 2]))
    };
    // Widths 1, 1, 2, 4, 8 and 3, 3, 3, 3.
    let lines = [axis(vec![0.0, 1.0, 2.0, 4.0, 8.0, 16.0]), axis(vec![0.0, 3.0, 6.0, 9.0, 12.0])];
    let kept =
        |tau, c| kept_breakpoints(&lines, &[1.0, c], Rule { start: tau, bound: tau, ..Rule::uniform(2) }).unwrap();
    assert_eq!(kept(1.5, 1.0), [vec![0, 2, 4, 5], vec![0, 1, 2, 3, 4]]);
    // All widths of the second direction halved.
    assert_eq!(kept(1.5, 4.0), [vec![0, 2, 3, 4, 5], vec![0, 2, 4]]);
    // From the narrow end, whichever that is.
    let reversed = [axis(vec![0.0, 8.0, 12.0, 14.0, 15.0, 16.0]), lines[1].clone()];
    assert_eq!(kept_breakpoints(&reversed, &[1.0; 2], Rule::uniform(2)).unwrap()[0], [0, 1, 3, 5]);
    // Until something does.
    assert_eq!(kept(0.1, 1.0)[0], [0, 2, 3, 4, 5]);
    // Until a quarter of the cells is gone, or up to the bound.
    let grown = |bound| kept_breakpoints(&lines, &[1.0; 2], Rule { start: 0.5, bound, ..Rule::uniform(2) }).unwrap();
    assert_eq!(grown(1.0), [vec![0, 2, 3, 4, 5], vec![0, 1, 2, 3, 4]]);
    assert_eq!(grown(2.0), [vec![0, 2, 4, 5], vec![0, 1, 2, 3, 4]]);
}

/// Pairs of a mesh and the next coarser one, on which patches are kept.
fn meshes_with_kept_patches() -> Vec<[Separable; 2]> {
    let pair = |cells: &[usize], degree, sides, [x, y, z]: [f64; 3]| {
        let grading = [Grading::Geometric(x), Grading::BothEnds(y), Grading::Geometric(z)];
        let mesh = Mesh::of_box(cells, &vec![1.0; cells.len()], 1).unwrap();
        let fine =
            Separable::new(mesh, degree, equation(sides, grading, 1.0)).unwrap().with_direct_nodes(DirectNodes::All(0));
        let coarse = fine.coarser().unwrap().unwrap();
        [fine, coarse]
    };
    vec![
        pair(&[8, 4], 2, [[D, N], [N, D], [D, D]], [1000.0, 3.0, 1.0]),
        pair(&[8, 8], 3, [[N, N], [D, D], [D, D]], [100.0, 30.0, 1.0]),
        pair(&[10, 6], 4, [[P, P], [P, P], [D, D]], [200.0, 30.0, 1.0]),
        pair(&[3, 3, 3], 2, [[N, D], [P, P], [N, D]], [100.0, 1.0, 100.0]),
    ]
}

/// Steps are one color after the other, after a prolongation, too, and upwards.
fn check_steps_of_corrections(system: &Separable) {
    let [own, coarser] = [system, &system.coarser().unwrap().unwrap()].map(OnCpu::<f64>::new);
    let vector = |on_cpu: &OnCpu<f64>, seed| on_cpu.vector(&random(on_cpu.system.layout().dofs(), seed));
    let (coarse, b, before) = (vector(&coarser, 1), vector(&own, 2), vector(&own, 3));
    let patches = own.level.patches_of_corrections().unwrap();
    let by_colors = |x: &mut _, colors: &mut dyn Iterator<Item = &usize>| {
        colors.for_each(|&color| patches.smooth_color(color, &b, x).unwrap());
    };
    let mut smoother = PatchSmoother::new(&own.level).unwrap().of_corrections().unwrap();
    let [mut expected, mut found] = [before.clone(), before.clone()];
    own.level.prolongate_add(&coarse, &mut expected).unwrap();
    by_colors(&mut expected, &mut patches.colors().iter());
    smoother.step_after_prolongation(&coarse, &b, &mut found).unwrap();
    assert_eq!(own.dofs(&found), own.dofs(&expected));
    by_colors(&mut expected, &mut patches.colors().iter().rev());
    smoother.step_adjoint(&b, &mut found).unwrap();
    assert_eq!(own.dofs(&found), own.dofs(&expected));
    let [mut of_corrections, mut of_all] = [before.clone(), before];
    smoother.step(&b, &mut of_corrections).unwrap();
    PatchSmoother::new(&own.level).unwrap().step(&b, &mut of_all).unwrap();
    assert_ne!(own.dofs(&of_corrections), own.dofs(&of_all));
}

#[test]
fn corrections_smooth_where_cells_were_merged() {
    for [fine, coarse] in meshes_with_kept_patches() {
        let kept = coarse.kept_patches().unwrap();
        for ((fine, coarse), kept) in fine.lines().iter().zip(coarse.lines()).zip(&kept) {
            let (cells, first) = (coarse.axis.cells(), coarse.patch_vertices().start);
            let is_cell = |cell: usize| {
                let [start, end] = [0.0, 1.0].map(|place| coarse.axis.at(cell, place));
                !(0..fine.axis.cells()).map(|index| fine.axis.at(index, 0.0)).any(|point| start < point && point < end)
            };
            for (vertex, &is_kept) in (first..).zip(kept) {
                let near = (vertex + cells - 2)..(vertex + cells + 2);
                let mut inside = near.filter(|&cell| coarse.joins_ends() || (cells..2 * cells).contains(&cell));
                assert_eq!(is_kept, inside.all(|cell| is_cell(cell % cells)), "around vertex {vertex}");
            }
        }
        let covered = check_colors::<f64>(&coarse, Some(&kept), 1e-11);
        assert!(!covered.is_empty() && covered.len() < coarse.layout().dofs());
        check_colors::<f32>(&coarse, Some(&kept), 2e-4);
        check_steps_of_corrections(&coarse);
        let on_cpu = OnCpu::<f64>::new(&fine);
        assert!(on_cpu.level.patches_of_corrections().is_none(), "the finest mesh has all patches");
    }
}
