//! What cells read, against the constraints of hanging nodes; coarser forests.

use super::*;
use crate::fe::Element;

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
