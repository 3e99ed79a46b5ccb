//! What the tests of forests share.

mod balance;
mod cells;
mod geometry;
mod gmsh;
mod gmsh_files;
mod gmsh_refused;
mod gmsh_text;
mod meshes;
mod nodes;

use super::cell::bit;
use super::{Adaptation, Cell, CoarseMesh, Forest, Numbering};
use glam::DVec3;

/// Numbers below `below` that are the same in every run.
fn pseudo_random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) % below
    }
}

/// All ways to turn a cell: where its vertices stand in the list of the turned cell. 4 in 2D, 24 in 3D.
pub(crate) fn rotations(dim: usize) -> Vec<Vec<usize>> {
    let permutations = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]];
    let mut rotations = Vec::new();
    for (number, permutation) in permutations.iter().enumerate().filter(|(_, p)| dim == 3 || p[2] == 2) {
        for reversed in 0..1_usize << dim {
            // An odd permutation mirrors, and so does each reversed direction.
            if (usize::from(number >= 3) + reversed.count_ones() as usize).is_multiple_of(2) {
                let turned = |corner: usize| {
                    (0..dim).map(|d| (bit(corner ^ reversed, permutation[d]) as usize) << d).sum::<usize>()
                };
                rotations.push((0..1 << dim).map(turned).collect());
            }
        }
    }
    rotations
}

/// The same mesh in other words: each cell in a frame of its own, vertices in another order.
pub(crate) fn in_other_words(mesh: &CoarseMesh, mut rotation: impl FnMut(usize) -> usize, seed: u64) -> CoarseMesh {
    let (dim, rotations, mut random) = (mesh.dim(), rotations(mesh.dim()), pseudo_random(seed));
    let mut order: Vec<usize> = (0..mesh.vertices().len()).collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, random(i as u64 + 1) as usize));
    let mut vertices = vec![DVec3::ZERO; order.len()];
    mesh.vertices().iter().zip(&order).for_each(|(vertex, &number)| vertices[number] = *vertex);
    let mut cells = vec![0; mesh.cells() << dim];
    for cell in 0..mesh.cells() {
        let places = &rotations[rotation(cell)];
        for (&place, &vertex) in places.iter().zip(mesh.cell(cell)) {
            cells[(cell << dim) + place] = order[vertex as usize] as u32;
        }
    }
    CoarseMesh::new(dim, vertices, cells).unwrap()
}

/// Refines leaves by their centers.
pub(crate) fn refine_where(forest: &Forest, wanted: impl Fn(DVec3) -> bool) -> Forest {
    let center = [0.5; 3];
    let flag = |leaf| if wanted(forest.point(leaf, center)) { Adaptation::Refine } else { Adaptation::Keep };
    forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap()
}

/// The same for all images of a point, and, in these tests, for no others.
fn point_key(point: DVec3) -> [i64; 3] {
    point.to_array().map(|x| (x * (1 << 26) as f64 + 0.5).floor() as i64)
}

#[test]
fn rotations_are_all_different() {
    for (dim, count) in [(2, 4), (3, 24)] {
        let mut all = rotations(dim);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
