//! Types of elements.

use glam::DVec3;

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub dim: usize,
    /// Number of nodes.
    pub nodes: usize,
}

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// What is allowed, in a message.
pub(super) const ALLOWED: &str =
    "a point, a line of 2 or 3 nodes, a quadrangle of 4, 8 or 9, or a hexahedron of 8, 20 or 27";

impl Kind {
    /// By Gmsh's number.
    pub fn of(number: u64) -> Option<Self> {
        let [dim, nodes] = match number {
            15 => [0, 1],
            1 => [1, 2],
            8 => [1, 3],
            3 => [2, 4],
            16 => [2, 8],
            10 => [2, 9],
            5 => [3, 8],
            17 => [3, 20],
            12 => [3, 27],
            _ => return None,
        };
        Some(Self { dim, nodes })
    }

    /// Places of the nodes among `3^dim`, x fastest, in Gmsh's order.
    fn places(self) -> &'static [u8] {
        let all: &[u8] = match self.dim {
            0 => &[0],
            1 => &[0, 2, 1],
            2 => &[0, 2, 8, 6, 1, 5, 7, 3, 4],
            _ => &HEXAHEDRON,
        };
        &all[..self.nodes]
    }

    /// Nodes by place, of which some may be missing.
    pub fn by_place(self, nodes: &[u32]) -> [u32; 27] {
        let mut by_place = [NONE; 27];
        self.places().iter().zip(nodes).for_each(|(&place, &node)| by_place[usize::from(place)] = node);
        by_place
    }

    /// Coordinates of all `3^dim` nodes, where some of them are given.
    pub fn completed(self, given: [Option<DVec3>; 27]) -> [DVec3; 27] {
        let mut complete = given.map(Option::unwrap_or_default);
        // Multilinear cells have vertices only.
        let is_linear = self.nodes == 1 << self.dim;
        for place in (0..3_usize.pow(self.dim as u32)).filter(|&place| given[place].is_none()) {
            let digits = |place: usize| [place % 3, place / 3 % 3, place / 9];
            // In the closure of the edge, the face or the cell whose middle it is.
            let is_part = |part: &usize| {
                let pairs = digits(place).into_iter().zip(digits(*part));
                pairs.into_iter().all(|(own, part)| own == 1 || own == part)
            };
            let ones = |place: usize| digits(place)[..self.dim].iter().filter(|&&digit| digit == 1).count();
            let sum = |of_dimension: usize| -> DVec3 {
                let parts = (0..3_usize.pow(self.dim as u32)).filter(is_part);
                parts.filter(|&part| ones(part) == of_dimension).filter_map(|part| given[part]).sum()
            };
            let free = ones(place);
            complete[place] = match is_linear {
                true => sum(0) / f64::from(1 << free),
                false => sum(1) / f64::from(1 << (free - 1)) - 0.25 * sum(0),
            };
        }
        complete
    }
}

/// Vertices, edges 1-2, 1-4, 1-5, 2-3, 2-6, 3-4, 3-7, 4-8, 5-6, 5-8, 6-7, 7-8, faces 1-4-3-2, 1-2-6-5, 1-5-8-4, 2-3-7-6, 3-4-8-7,
/// 5-6-7-8, and the inside: "Node ordering" in Gmsh's reference manual.
const HEXAHEDRON: [u8; 27] =
    [0, 2, 8, 6, 18, 20, 26, 24, 1, 3, 9, 5, 11, 7, 17, 15, 19, 21, 23, 25, 4, 10, 12, 14, 16, 22, 13];

/// In words, with its number.
pub(super) fn name(number: u64) -> String {
    let name = match number {
        2 => "a triangle of 3 nodes",
        4 => "a tetrahedron of 4 nodes",
        6 => "a prism of 6 nodes",
        7 => "a pyramid of 5 nodes",
        9 => "a triangle of 6 nodes",
        11 => "a tetrahedron of 10 nodes",
        13 => "a prism of 18 nodes",
        14 => "a pyramid of 14 nodes",
        18 => "a prism of 15 nodes",
        19 => "a pyramid of 13 nodes",
        26 => "a line of 4 nodes",
        36 => "a quadrangle of 16 nodes",
        92 => "a hexahedron of 64 nodes",
        _ => return format!("of type {number}"),
    };
    format!("{name} (type {number})")
}
