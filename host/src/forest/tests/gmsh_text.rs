//! Files as Gmsh writes them, for tests.

use glam::DVec3;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Nodes and elements, and their numbers.
#[derive(Clone, Default)]
pub struct MeshText {
    pub nodes: Vec<(u64, DVec3)>,
    /// Number, type, physical group or 0, nodes.
    pub elements: Vec<(u64, u64, i64, Vec<u64>)>,
}

/// Vertices of the unit cell in the order of Gmsh's reference manual; the lower four are those of a quadrangle.
const VERTICES: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 1.0],
    [1.0, 1.0, 1.0],
    [0.0, 1.0, 1.0],
];

/// As the manual has them: "edge 1: nodes 1 2" and so on.
const QUADRANGLE_EDGES: [[usize; 2]; 4] = [[1, 2], [2, 3], [3, 4], [4, 1]];
const HEXAHEDRON_EDGES: [[usize; 2]; 12] =
    [[1, 2], [1, 4], [1, 5], [2, 3], [2, 6], [3, 4], [3, 7], [4, 8], [5, 6], [5, 8], [6, 7], [7, 8]];
const HEXAHEDRON_FACES: [[usize; 4]; 6] =
    [[1, 4, 3, 2], [1, 2, 6, 5], [1, 5, 8, 4], [2, 3, 7, 6], [3, 4, 8, 7], [5, 6, 7, 8]];

/// Types of cells.
pub const CELLS: [u64; 6] = [3, 16, 10, 5, 17, 12];

pub fn dim(code: u64) -> usize {
    match code {
        15 => 0,
        1 | 8 => 1,
        5 | 17 | 12 => 3,
        _ => 2,
    }
}

/// Where the nodes of the unit cell lie, in Gmsh's order.
pub fn unit_nodes(code: u64) -> Vec<DVec3> {
    let all = |vertices: usize| (1..=vertices).collect::<Vec<_>>();
    let vertices = |count: usize| all(count).into_iter().map(|vertex| vec![vertex]);
    let owned = |groups: &[[usize; 2]]| groups.iter().map(|group| group.to_vec()).collect::<Vec<_>>();
    let faces = || HEXAHEDRON_FACES.iter().map(|face| face.to_vec());
    let groups: Vec<Vec<usize>> = match code {
        3 => vertices(4).collect(),
        16 => vertices(4).chain(owned(&QUADRANGLE_EDGES)).collect(),
        10 => vertices(4).chain(owned(&QUADRANGLE_EDGES)).chain([all(4)]).collect(),
        5 => vertices(8).collect(),
        17 => vertices(8).chain(owned(&HEXAHEDRON_EDGES)).collect(),
        12 => vertices(8).chain(owned(&HEXAHEDRON_EDGES)).chain(faces()).chain([all(8)]).collect(),
        other => panic!("no cell of type {other}"),
    };
    let mean = |group: &Vec<usize>| {
        group.iter().map(|&vertex| DVec3::from(VERTICES[vertex - 1])).sum::<DVec3>() / group.len() as f64
    };
    groups.iter().map(mean).collect()
}

/// The same cell, its nodes listed from another vertex and in other directions: 8 ways in 2D, 48 in 3D, half of them mirrored.
pub fn listings(code: u64) -> Vec<Vec<usize>> {
    let unit = unit_nodes(code);
    let permutations = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]];
    let mut listings = Vec::new();
    for permutation in permutations.into_iter().filter(|p| dim(code) == 3 || p[2] == 2) {
        for reversed in 0..1_usize << dim(code) {
            let image = |x: &DVec3| {
                let y = DVec3::from([0, 1, 2].map(|d| x[permutation[d]]));
                DVec3::from([0, 1, 2].map(|d| if reversed >> d & 1 == 1 { 1.0 - y[d] } else { y[d] }))
            };
            let place = |x: &DVec3| unit.iter().position(|node| *node == image(x)).unwrap();
            listings.push(unit.iter().map(place).collect());
        }
    }
    listings
}

impl MeshText {
    /// A cell that is the image of the unit cell.
    pub fn of_cell(code: u64, map: impl Fn(DVec3) -> DVec3) -> Self {
        let nodes: Vec<_> = (1..).zip(unit_nodes(code).into_iter().map(map)).collect();
        let element = (1, code, 0, nodes.iter().map(|node| node.0).collect());
        Self { nodes, elements: vec![element] }
    }

    /// Two cells that share a face; the second is listed in another way. Node numbers have gaps and are not sorted.
    pub fn of_two_cells(code: u64, listing: &[usize], map: impl Fn(DVec3) -> DVec3) -> Self {
        let mut text = Self::default();
        let number = |index: usize| 1000 - 7 * index as u64;
        let mut known: Vec<DVec3> = Vec::new();
        for (cell, shift) in (1..).zip([0.0, 1.0]) {
            let mut own = Vec::new();
            for x in unit_nodes(code) {
                let x = x + shift * DVec3::X;
                let index = known.iter().position(|node| *node == x).unwrap_or(known.len());
                if index == known.len() {
                    known.push(x);
                    text.nodes.push((number(index), map(x)));
                }
                own.push(number(index));
            }
            if cell == 2 {
                own = listing.iter().map(|&place| own[place]).collect();
            }
            text.elements.push((10 * cell, code, 1, own));
        }
        text
    }

    /// In version 2.2 or 4.1 of the format.
    pub fn write(&self, version: &str) -> String {
        let mut text = format!("$MeshFormat\n{version} 0 8\n$EndMeshFormat\n");
        if version == "2.2" {
            self.write_2(&mut text)
        } else {
            self.write_4(&mut text)
        }
        text
    }

    fn write_2(&self, text: &mut String) {
        writeln!(text, "$Nodes\n{}", self.nodes.len()).unwrap();
        for (number, x) in &self.nodes {
            writeln!(text, "{number} {} {} {}", x.x, x.y, x.z).unwrap();
        }
        writeln!(text, "$EndNodes\n$Elements\n{}", self.elements.len()).unwrap();
        for (number, code, group, nodes) in &self.elements {
            writeln!(text, "{number} {code} 2 {group} 1 {}", joined(nodes)).unwrap();
        }
        writeln!(text, "$EndElements").unwrap();
    }

    /// An entity for each dimension and group; a block for each element.
    fn write_4(&self, text: &mut String) {
        let mut entities: BTreeMap<(usize, i64), usize> = BTreeMap::new();
        entities.extend(self.elements.iter().map(|(_, code, group, _)| ((dim(*code), *group), 0)));
        (1..).zip(entities.values_mut()).for_each(|(number, entity)| *entity = number);
        let counts = [0, 1, 2, 3].map(|dim| entities.keys().filter(|(own, _)| *own == dim).count() as u64);
        writeln!(text, "$Entities\n{}", joined(&counts)).unwrap();
        for ((dim, group), number) in &entities {
            let place = if *dim == 0 { "0 0 0" } else { "0 0 0 1 1 1" };
            let groups = if *group == 0 { "0".into() } else { format!("1 {group}") };
            writeln!(text, "{number} {place} {groups} {}", if *dim == 0 { "" } else { "2 1 -2" }).unwrap();
        }
        let count = self.nodes.len();
        writeln!(text, "$EndEntities\n$Nodes\n1 {count} 1 {count}\n2 1 0 {count}").unwrap();
        self.nodes.iter().for_each(|(number, _)| writeln!(text, "{number}").unwrap());
        self.nodes.iter().for_each(|(_, x)| writeln!(text, "{} {} {}", x.x, x.y, x.z).unwrap());
        let count = self.elements.len();
        writeln!(text, "$EndNodes\n$Elements\n{count} {count} 1 {count}").unwrap();
        for (number, code, group, nodes) in &self.elements {
            let dim = dim(*code);
            writeln!(text, "{dim} {} {code} 1\n{number} {}", entities[&(dim, *group)], joined(nodes)).unwrap();
        }
        writeln!(text, "$EndElements").unwrap();
    }
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
