//! What cells read, against the constraints of hanging nodes; coarser forests.

use super::*;
use crate::fe::Element;
use std::collections::HashMap;

/// Refined once, and three times more towards a point.
fn refined_somewhere(coarse: CoarseMesh) -> Forest {
    let forest = Forest::new(coarse).refine_uniformly(1).unwrap();
    (0..3).fold(forest, |forest, cycle| {
        refine_where(&forest, |center| center.distance(DVec3::new(0.2, 0.1, 0.0)) < 0.6 / f64::from(1 << cycle))
    })
}

/// Random values at nodes that do not hang: cell by cell, and by constraints.
#[test]
fn cells_read_what_constraints_say() {
    for (coarse, degree) in
        [(CoarseMesh::disk(1.0), 1), (CoarseMesh::disk(1.0), 3), (CoarseMesh::ball(1.0), 1), (CoarseMesh::ball(1.0), 2)]
    {
        let forest = refined_somewhere(coarse.unwrap());
        let numbering = Numbering::new(&forest, degree).unwrap();
        let cells = numbering.cell_nodes().unwrap();
        let mut values = crate::testing::random(numbering.nodes(), 7);
        numbering.for_each_constraint(|constraint| {
            let terms = constraint.nodes.iter().zip(constraint.weights);
            values[constraint.node as usize] = terms.map(|(&node, weight)| weight * values[node as usize]).sum();
        });
        assert!(numbering.hanging_nodes() > 0 && !cells.hanging().is_empty());
        assert!(cells.all().iter().all(|&node| !numbering.hangs(node as usize)));
        let prolongation = Element::new(degree).unwrap().prolongation();
        let n = degree + 1;
        for leaf in 0..forest.leaves().len() {
            let mut found: Vec<f64> = cells.of(leaf).iter().map(|&node| values[node as usize]).collect();
            for (d, lines) in (0..forest.dim()).filter_map(|d| cells.hanging_of(leaf).map(|lines| (d, lines))) {
                let before = found.clone();
                for (i, value) in found.iter_mut().enumerate() {
                    let index = [i % n, i / n % n, i / n / n];
                    let others: Vec<usize> = (0..3).filter(|&e| e != d).map(|e| index[e]).collect();
                    if lines.has(d, [others[0], others[1]], degree) {
                        let row = usize::from(lines.child >> d & 1) * degree + index[d];
                        let stride = n.pow(d as u32);
                        *value =
                            (0..n).map(|j| prolongation[(row, j)] * before[i - index[d] * stride + j * stride]).sum();
                    }
                }
            }
            for (node, value) in numbering.leaf_nodes(leaf).zip(found) {
                assert!((values[node as usize] - value).abs() < 1e-13, "leaf {leaf}");
            }
        }
    }
}

#[test]
fn coarser_forests_have_the_parents_of_the_finest_leaves() {
    let forest = refined_somewhere(CoarseMesh::disk(1.0).unwrap());
    let mut hierarchy = vec![forest.clone()];
    while let Some(coarser) = hierarchy[hierarchy.len() - 1].coarser() {
        hierarchy.push(coarser);
    }
    assert_eq!(hierarchy.len(), forest.levels());
    for pair in hierarchy.windows(2) {
        let [fine, coarse] = pair else { unreachable!() };
        let finest = fine.levels() as u8 - 1;
        let refine = |leaf: &Cell| {
            let child = Cell { level: leaf.level + 1, anchor: leaf.anchor.map(|x| 2 * x), ..*leaf };
            leaf.level + 1 == finest && fine.leaves().contains(&child)
        };
        let flags: Vec<_> = coarse
            .leaves()
            .iter()
            .map(|leaf| if refine(leaf) { Adaptation::Refine } else { Adaptation::Keep })
            .collect();
        assert_eq!(coarse.adapt(&flags).unwrap().leaves(), fine.leaves());
    }
    assert_eq!(hierarchy[hierarchy.len() - 1].leaves().len(), 5);
}

#[test]
fn leaves_know_the_boundary() {
    let mut coarse = CoarseMesh::of_box(&[2, 1], &[2.0, 1.0]).unwrap();
    coarse.set_boundary(&[2, 5], 7).unwrap();
    let forest = Forest::new(coarse).refine_uniformly(2).unwrap();
    let count = |number| {
        let faces = forest.leaves().iter().flat_map(|leaf| (0..4).map(move |face| (leaf, face)));
        faces.filter(|(leaf, face)| forest.boundary(leaf, *face) == Some(number)).count()
    };
    assert_eq!((count(7), count(0)), (4, 20));
}

/// Every face of a leaf is at the boundary, or met by one equally fine leaf or all those that are finer.
#[test]
fn inner_faces_are_met_from_both_sides() {
    for (coarse, seed) in [(CoarseMesh::disk(1.0).unwrap(), 3), (CoarseMesh::ball(1.0).unwrap(), 5)] {
        let mut random = pseudo_random(seed);
        let rotations = rotations(coarse.dim()).len() as u64;
        let turned = in_other_words(&coarse, |_| random(rotations) as usize, seed);
        let forest = refined_somewhere(turned);
        let mut met: HashMap<(u32, u8), f64> = HashMap::new();
        for inner in forest.inner_faces().unwrap() {
            let [leaf, other] = [inner.leaf, inner.other].map(|leaf| forest.leaves()[leaf as usize]);
            assert!(leaf.level == other.level || leaf.level == other.level + 1);
            let part = 0.5_f64.powi((forest.dim() as i32 - 1) * i32::from(leaf.level - other.level));
            *met.entry((inner.leaf, inner.face)).or_default() += 1.0;
            *met.entry((inner.other, inner.other_face)).or_default() += part;
            let mut x = if forest.dim() == 2 { [0.3, 0.6, 0.0] } else { [0.3, 0.6, 0.2] };
            x[usize::from(inner.face / 2)] = f64::from(inner.face % 2);
            let there = forest.across(&inner, x);
            assert!(forest.point(&leaf, x).distance(forest.point(&other, there)) < 1e-14);
            assert_eq!(there[usize::from(inner.other_face / 2)], f64::from(inner.other_face % 2));
        }
        for (number, leaf) in forest.leaves().iter().enumerate() {
            for face in 0..2 * forest.dim() {
                let parts = met.get(&(number as u32, face as u8)).copied().unwrap_or(0.0);
                assert_eq!(parts == 1.0, forest.boundary(leaf, face).is_none(), "leaf {number}, face {face}: {parts}");
            }
        }
    }
}
