//! Leaves after refinement and coarsening, against brute force over all points.

use super::{in_other_words, point_key, pseudo_random, refine_where};
use crate::forest::{Adaptation, Cell, CoarseMesh, Forest, max_level};
use std::collections::{HashMap, HashSet};

/// Points of a leaf on the grid of the finest level.
fn points(forest: &Forest, leaf: &Cell, finest: u8) -> Vec<[i64; 3]> {
    let n = 1_usize << (finest - leaf.level);
    let along_z = if forest.dim() == 3 { n } else { 0 };
    let mut keys = Vec::new();
    for (i, j, k) in (0..=n).flat_map(|i| (0..=n).flat_map(move |j| (0..=along_z).map(move |k| (i, j, k)))) {
        keys.push(point_key(forest.point(leaf, [i, j, k].map(|x| x as f64 / n as f64))));
    }
    keys
}

/// Leaves that touch another one which is two levels finer or more.
fn unbalanced(forest: &Forest, leaves: &[Cell]) -> Vec<bool> {
    let finest = leaves.iter().map(|leaf| leaf.level).max().unwrap();
    let mut finest_at: HashMap<[i64; 3], u8> = HashMap::new();
    for leaf in leaves {
        for key in points(forest, leaf, finest) {
            let level = finest_at.entry(key).or_default();
            *level = leaf.level.max(*level);
        }
    }
    let is_unbalanced = |leaf: &Cell| points(forest, leaf, finest).iter().any(|key| finest_at[key] > leaf.level + 1);
    leaves.iter().map(is_unbalanced).collect()
}

/// What [`Forest::adapt`] has to return, in any order.
fn adapted_naively(forest: &Forest, flags: &[Adaptation]) -> HashSet<Cell> {
    let children = |cell: &Cell| (0..1 << forest.dim()).map(|number| cell.child(number)).collect::<Vec<_>>();
    let flag: HashMap<Cell, Adaptation> = forest.leaves().iter().copied().zip(flags.iter().copied()).collect();
    let mut leaves: HashSet<Cell> = HashSet::new();
    for leaf in forest.leaves() {
        let family = leaf.parent().map(|parent| children(&parent)).unwrap_or_default();
        let all = !family.is_empty() && family.iter().all(|cell| flag.get(cell) == Some(&Adaptation::Coarsen));
        match flag[leaf] {
            Adaptation::Refine => leaves.extend(children(leaf)),
            _ if all => leaves.extend(leaf.parent()),
            _ => leaves.extend([*leaf]),
        }
    }
    loop {
        let list: Vec<Cell> = leaves.iter().copied().collect();
        let refine = unbalanced(forest, &list);
        if !refine.contains(&true) {
            return leaves;
        }
        for cell in list.iter().zip(refine).filter(|(_, refine)| *refine).map(|(cell, _)| cell) {
            leaves.remove(cell);
            leaves.extend(children(cell));
        }
    }
}

#[test]
fn adapted_forests_are_the_smallest_balanced_ones() {
    let meshes = [
        CoarseMesh::disk(1.0),
        CoarseMesh::annulus(0.5, 1.0, 3),
        CoarseMesh::l_shape(2),
        CoarseMesh::ball(1.0),
        CoarseMesh::l_shape(3),
        CoarseMesh::shell(0.5, 1.0),
    ];
    for (seed, mesh) in (1..).zip(meshes) {
        let mut random = pseudo_random(seed);
        let mesh = mesh.unwrap();
        let rotations = if mesh.dim() == 2 { 4 } else { 24 };
        let mesh = in_other_words(&mesh, |_| random(rotations) as usize, seed);
        let finest = if mesh.dim() == 2 { 6 } else { 4 };
        let mut forest = Forest::new(mesh).refine_uniformly(1).unwrap();
        let (mut coarsened, mut closures) = (0, 0);
        for _ in 0..10 {
            // Few leaves are refined; whole regions are coarsened, or a family would hardly ever agree.
            let count = forest.leaves().len();
            let from = random(count as u64) as usize;
            let flags: Vec<Adaptation> = (0..count)
                .map(|leaf| match random(12) {
                    0 if forest.leaves()[leaf].level < finest => Adaptation::Refine,
                    _ if (from..from + count / 3).contains(&leaf) => Adaptation::Coarsen,
                    _ => Adaptation::Keep,
                })
                .collect();
            let expected = adapted_naively(&forest, &flags);
            let found = forest.adapt(&flags).unwrap();
            assert_eq!(found.leaves().len(), expected.len());
            assert!(found.leaves().iter().all(|leaf| expected.contains(leaf)));
            assert!(found.leaves().is_sorted_by_key(|leaf| {
                let shift = max_level(found.dim()) - leaf.level;
                Cell { anchor: leaf.anchor.map(|x| x << shift), ..*leaf }.key(found.dim())
            }));
            let before: HashSet<&Cell> = forest.leaves().iter().collect();
            coarsened += found.leaves().iter().filter(|leaf| before.contains(&leaf.child(0))).count();
            let kept = forest.leaves().iter().zip(&flags).filter(|(_, flag)| **flag == Adaptation::Keep);
            closures += kept.filter(|(leaf, _)| expected.contains(&leaf.child(0))).count();
            forest = found;
        }
        assert!(coarsened > 0 && closures > 0 && forest.levels() > 3, "mesh {seed}: {coarsened} {closures}");
    }
}

#[test]
fn coarsening_undoes_refinement() {
    for mesh in [CoarseMesh::disk(1.0), CoarseMesh::ball(1.0)] {
        let forest = Forest::new(mesh.unwrap()).refine_uniformly(1).unwrap();
        let refined = refine_where(&forest, |point| point.x > 0.0);
        let finer = refine_where(&refined, |point| point.x > 0.5);
        assert!(refined.leaves().len() > forest.leaves().len() && finer.levels() == 4);
        // What lies beside the leaves of level 3 cannot be coarsened before they are.
        let coarsen = |forest: &Forest| forest.adapt(&vec![Adaptation::Coarsen; forest.leaves().len()]).unwrap();
        let once = coarsen(&finer);
        assert!(once.levels() == 3 && once.leaves().len() < finer.leaves().len());
        let roots = coarsen(&coarsen(&once));
        assert_eq!(roots.leaves(), Forest::new(roots.coarse().clone()).leaves());
        assert_eq!(coarsen(&roots).leaves(), roots.leaves());
        let all = vec![Adaptation::Refine; forest.leaves().len()];
        assert_eq!(forest.adapt(&all).unwrap().leaves(), forest.refine_uniformly(1).unwrap().leaves());
        assert_eq!(coarsen(&forest.adapt(&all).unwrap()).leaves(), forest.leaves());
        // One sibling that stays is enough.
        let mut flags = vec![Adaptation::Coarsen; forest.leaves().len()];
        (0..flags.len()).step_by(1 << forest.dim()).for_each(|first| flags[first + 1] = Adaptation::Keep);
        assert_eq!(forest.adapt(&flags).unwrap().leaves(), forest.leaves());
    }
}

#[test]
fn levels_are_covered_by_leaves_and_ancestors() {
    let forest = Forest::new(CoarseMesh::l_shape(2).unwrap()).refine_uniformly(2).unwrap();
    let forest = refine_where(&forest, |point| point.length() < 0.6);
    let forest = refine_where(&forest, |point| point.length() < 0.3);
    assert_eq!(forest.levels(), 5);
    assert_eq!([0, 1, 2].map(|level| forest.cells_of_level(level).count()), [3, 12, 48]);
    for level in 0..5 {
        let cells: Vec<Cell> = forest.cells_of_level(level).collect();
        let distinct: HashSet<Cell> = cells.iter().copied().collect();
        assert!(distinct.len() == cells.len() && cells.is_sorted_by_key(|cell| cell.key(2)));
        let of_level = |leaf: &&Cell| leaf.level == level;
        assert!(forest.leaves().iter().filter(of_level).all(|leaf| distinct.contains(leaf)));
        if let Some(finer) = (level < 4).then_some(level + 1) {
            let parents: HashSet<Cell> = forest.cells_of_level(finer).filter_map(|cell| cell.parent()).collect();
            let leaves = forest.leaves().iter().filter(of_level).count();
            assert_eq!(parents.len() + leaves, cells.len());
            assert!(parents.iter().all(|parent| distinct.contains(parent)));
        }
    }
    assert_eq!(forest.cells_of_level(5).count(), 0);
}

#[test]
fn levels_end_where_they_must() {
    for dim in [2, 3] {
        let mut forest = Forest::new(CoarseMesh::of_box(&vec![1; dim], &vec![1.0; dim]).unwrap());
        let message = forest.refine_uniformly(usize::from(max_level(dim)) + 1).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("level is {}, but must be at most {} in {dim}D", max_level(dim) + 1, max_level(dim))
        );
        let message = forest.refine_uniformly(32 / dim + 1).unwrap_err().to_string();
        assert!(message.starts_with("the number of cells is 1 times "), "{message}");
        for level in 0..max_level(dim) {
            assert_eq!(forest.levels(), usize::from(level) + 1);
            let mut flags = vec![Adaptation::Keep; forest.leaves().len()];
            flags[0] = Adaptation::Refine;
            forest = forest.adapt(&flags).unwrap();
        }
        let mut flags = vec![Adaptation::Keep; forest.leaves().len()];
        flags[0] = Adaptation::Refine;
        let message = forest.adapt(&flags).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("level is {}, but must be at most {} in {dim}D", max_level(dim) + 1, max_level(dim))
        );
        assert_eq!(
            forest.adapt(&flags[1..]).unwrap_err().to_string(),
            format!("flags has length {}, expected {}", flags.len() - 1, flags.len())
        );
    }
}
