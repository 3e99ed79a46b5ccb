//! Forests: numbers of cells, nodes and hanging nodes against deal.II.

use glam::DVec3;
use patchmg::forest::{Adaptation, Cell, CoarseMesh, Forest, Numbering};

/// A line of `data/oracles-forest.jsonl`: numbers of deal.II 9.4.1 for a mesh after uniform refinements and cycles of a rule.
#[derive(Debug, serde::Deserialize)]
struct Oracle {
    mesh: String,
    degree: usize,
    refinements: usize,
    rule: String,
    cycles: i32,
    cells: usize,
    nodes: usize,
    hanging: usize,
}

impl Oracle {
    fn coarse(&self) -> CoarseMesh {
        match self.mesh.as_str() {
            "cube" => CoarseMesh::of_box(&[1; 3], &[1.0; 3]),
            "lshape2d" => CoarseMesh::l_shape(2),
            "lshape3d" => CoarseMesh::l_shape(2).unwrap().extruded(1.0, 1),
            "hyper_l" => CoarseMesh::l_shape(3),
            "annulus" => CoarseMesh::annulus(0.5, 1.0, 10),
            "shell" => CoarseMesh::shell(0.5, 1.0),
            "disk" => CoarseMesh::disk(1.0),
            "ball" => CoarseMesh::ball(1.0),
            other => panic!("no mesh {other}"),
        }
        .unwrap()
    }

    /// Leaves that a cycle refines: those with a vertex where `x = y = 0`, or those with their center near a point.
    fn is_refined(&self, forest: &Forest, leaf: &Cell, cycle: i32) -> bool {
        let corner = |corner: u32| forest.point(leaf, [0, 1, 2].map(|d| f64::from(corner >> d & 1)));
        match self.rule.as_str() {
            "corner" => (0..1 << forest.dim()).any(|number| corner(number).truncate().length() < 1e-12),
            "ball" => forest.point(leaf, [0.5; 3]).distance(DVec3::splat(0.3)) < 0.4 / 2.0_f64.powi(cycle),
            other => panic!("no rule {other}"),
        }
    }

    fn forest(&self) -> Forest {
        let mut forest = Forest::new(self.coarse()).refine_uniformly(self.refinements).unwrap();
        for cycle in 0..self.cycles {
            let flag = |leaf| if self.is_refined(&forest, leaf, cycle) { Adaptation::Refine } else { Adaptation::Keep };
            let flags: Vec<Adaptation> = forest.leaves().iter().map(flag).collect();
            forest = forest.adapt(&flags).unwrap();
        }
        forest
    }
}

#[test]
fn cells_and_nodes_are_as_many_as_in_deal_ii() {
    let lines = include_str!("data/oracles-forest.jsonl").lines();
    let oracles: Vec<Oracle> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(oracles.len() > 60 && oracles.iter().filter(|oracle| oracle.hanging > 0).count() > 20);
    for oracle in oracles {
        let forest = oracle.forest();
        let numbering = Numbering::new(&forest, oracle.degree).unwrap();
        let found = (forest.leaves().len(), numbering.nodes(), numbering.hanging_nodes());
        assert_eq!(found, (oracle.cells, oracle.nodes, oracle.hanging), "{oracle:?}");
    }
}
