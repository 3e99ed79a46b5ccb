//! Vertices, edges, faces and cells of a coarse mesh, with a frame of their own, and points in it.
//!
//! The *position* of an entity in a tree has a digit for each direction, 0 at the lower end, 1 in between, 2 at the upper end:
//! `position = sum_d digit_d 3^d`. Directions of digit 1 are free; there are as many as the entity has dimensions.
//!
//! The own frame of an edge begins at the vertex of smaller number. That of a face begins at the vertex of the smallest
//! number, and its first axis goes to the smaller of the two neighbours of that vertex. Cells keep the frame of their tree.

use std::collections::HashMap;

/// How axes of an entity's own frame lie in a tree: the bits of value 1 and 2 reverse the first and second free direction, then
/// that of value 4 swaps them.
pub(super) type Frame = u8;

pub(super) const SWAP: Frame = 4;

/// Digits of all positions, for inner loops.
pub(super) const DIGITS: [[u8; 3]; 27] = {
    let (mut digits, mut position) = ([[0; 3]; 27], 0);
    while position < 27 {
        digits[position] = [(position % 3) as u8, (position / 3 % 3) as u8, (position / 9) as u8];
        position += 1;
    }
    digits
};

/// Digit of a position in direction `d`.
pub(super) fn digit(position: usize, d: usize) -> usize {
    DIGITS[position][d].into()
}

/// The position with these digits.
pub(super) fn position(digits: [usize; 3]) -> usize {
    digits[0] + 3 * digits[1] + 9 * digits[2]
}

/// Directions along which the entity at a position extends. None is beyond the dimension, where digits are 0.
pub(super) fn free_directions(position: usize) -> impl Iterator<Item = usize> + Clone {
    (0..3).filter(move |&d| digit(position, d) == 1)
}

/// Dimension of the entity at a position.
pub(super) fn dimension(position: usize) -> usize {
    DIGITS[position].iter().filter(|&&digit| digit == 1).count()
}

/// Numbers of a cell's vertices at a position, the first free direction fastest.
pub(super) fn corners(position: usize) -> impl Iterator<Item = usize> + Clone {
    let first: usize = (0..3).map(|d| (digit(position, d) / 2) << d).sum();
    (0..1 << dimension(position)).map(move |corner: usize| {
        first + free_directions(position).enumerate().map(|(axis, d)| (corner >> axis & 1) << d).sum::<usize>()
    })
}

/// Where a point of a tree lies, the same from all trees that have the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Number of the entity in whose interior it lies.
    pub entity: u32,
    /// Coordinates in the entity's own frame, 0 beyond its dimension.
    pub coordinates: [u32; 3],
    /// Position of the entity in the tree, which differs between trees.
    pub position: usize,
    /// How the entity's own frame lies in the tree.
    pub frame: Frame,
}

/// A tree that has an entity, and where.
#[derive(Clone, Copy, Debug, Default)]
struct Incidence {
    tree: u32,
    position: u8,
}

/// All entities of a coarse mesh. Vertices come first, then edges, in 3D faces, and cells.
#[derive(Clone, Debug)]
pub(super) struct Entities {
    dim: usize,
    /// `3^dim` a tree, by position.
    numbers: Vec<u32>,
    frames: Vec<Frame>,
    /// Trees of entity `e` are those from `offsets[e]` to `offsets[e + 1]`.
    offsets: Vec<u32>,
    incidences: Vec<Incidence>,
}

impl Entities {
    /// Of cells with `2^dim` vertex numbers each, all below `vertices`.
    pub(super) fn new(dim: usize, vertices: usize, cells: &[u32]) -> Self {
        let positions = 3_usize.pow(dim as u32);
        let trees = cells.len() >> dim;
        let mut numbers = vec![0; positions * trees];
        let mut frames = vec![0; positions * trees];
        let mut count = vertices as u32;
        for entity_dimension in 0..=dim {
            let mut known = HashMap::new();
            for (tree, cell) in cells.chunks_exact(1 << dim).enumerate() {
                for position in (0..positions).filter(|&position| dimension(position) == entity_dimension) {
                    let mut of_entity = [u32::MAX; 8];
                    let n = 1 << entity_dimension;
                    of_entity.iter_mut().zip(corners(position)).for_each(|(vertex, corner)| *vertex = cell[corner]);
                    let at = positions * tree + position;
                    frames[at] = if entity_dimension == dim { 0 } else { frame_of(&of_entity[..n]) };
                    of_entity.sort_unstable();
                    numbers[at] = match entity_dimension {
                        0 => of_entity[0],
                        _ => *known.entry(of_entity).or_insert_with(|| {
                            count += 1;
                            count - 1
                        }),
                    };
                }
            }
        }
        let mut offsets = vec![0; count as usize + 1];
        numbers.iter().for_each(|&entity| offsets[entity as usize + 1] += 1);
        (0..count as usize).for_each(|entity| offsets[entity + 1] += offsets[entity]);
        let (mut next, mut incidences) = (offsets.clone(), vec![Incidence::default(); numbers.len()]);
        for (at, &entity) in numbers.iter().enumerate() {
            let position = (at % positions) as u8;
            incidences[next[entity as usize] as usize] = Incidence { tree: (at / positions) as u32, position };
            next[entity as usize] += 1;
        }
        Self { dim, numbers, frames, offsets, incidences }
    }

    /// Positions in a tree.
    pub(super) fn positions(&self) -> usize {
        3_usize.pow(self.dim as u32)
    }

    /// Number of the entity at a position of a tree.
    pub(super) fn number(&self, tree: usize, position: usize) -> u32 {
        self.numbers[self.positions() * tree + position]
    }

    /// Number of trees that have an entity.
    pub(super) fn trees(&self, entity: u32) -> usize {
        self.incident(entity).len()
    }

    /// The trees that have an entity.
    pub(super) fn trees_of(&self, entity: u32) -> impl Iterator<Item = usize> {
        self.incident(entity).iter().map(|incidence| incidence.tree as usize)
    }

    /// The trees that have an entity, with its position there.
    pub(super) fn places(&self, entity: u32) -> impl Iterator<Item = (usize, usize)> {
        self.incident(entity).iter().map(|incidence| (incidence.tree as usize, incidence.position.into()))
    }

    /// Vertices of an entity, for the vertex numbers of the cells that entities were made of.
    pub(super) fn vertices(&self, entity: u32, cells: &[u32]) -> Vec<u32> {
        let Some((tree, position)) = self.first_incidence(entity) else { return Vec::new() };
        corners(position).map(|corner| cells[(tree << self.dim) + corner]).collect()
    }

    /// Whether the normal of a face that points out of a tree, and the own axes of the face, are as right-handed as the tree.
    pub(super) fn is_outward(&self, (tree, position): (usize, usize)) -> bool {
        let fixed = (0..self.dim).find(|&d| digit(position, d) != 1).unwrap_or(0);
        let turns = fixed + usize::from(digit(position, fixed) == 0);
        // Each bit reverses or swaps axes.
        (turns + self.frames[self.positions() * tree + position].count_ones() as usize).is_multiple_of(2)
    }

    /// A tree that has the entity, with its position there.
    pub(super) fn first_incidence(&self, entity: u32) -> Option<(usize, usize)> {
        self.incident(entity).first().map(|first| (first.tree as usize, first.position.into()))
    }

    /// Number of entities.
    pub(super) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Entities of a dimension.
    pub(super) fn of_dimension(&self, wanted: usize) -> impl Iterator<Item = u32> {
        let has_dimension = move |(_, position): (usize, usize)| dimension(position) == wanted;
        (0..self.count() as u32).filter(move |&entity| self.first_incidence(entity).is_some_and(has_dimension))
    }

    fn incident(&self, entity: u32) -> &[Incidence] {
        let [begin, end] = [entity as usize, entity as usize + 1].map(|e| self.offsets[e] as usize);
        &self.incidences[begin..end]
    }

    /// A point of a tree whose edges have length `n`.
    pub(super) fn locate(&self, tree: u32, x: [u32; 3], n: u32) -> Located {
        let digits = [0, 1, 2].map(|d| match x[d] {
            0 => 0,
            _ if x[d] == n => 2,
            _ => 1,
        });
        let position = position(digits);
        let at = self.positions() * tree as usize + position;
        let frame = self.frames[at];
        let mut coordinates = [0; 3];
        for (axis, d) in free_directions(position).enumerate() {
            coordinates[axis] = if frame >> axis & 1 == 1 { n - x[d] } else { x[d] };
        }
        if frame & SWAP != 0 {
            coordinates.swap(0, 1);
        }
        Located { entity: self.numbers[at], coordinates, position, frame }
    }

    /// Where a point on a face of a tree lies in another tree that has the face; coordinates are from 0 to 1.
    pub(super) fn image(&self, trees: [u32; 2], faces: [usize; 2], x: [f64; 3]) -> [f64; 3] {
        let place = |tree: u32, face: usize| {
            let mut digits = [0, 1, 2].map(|d| usize::from(d < self.dim));
            digits[face / 2] = 2 * (face % 2);
            let position = position(digits);
            (position, self.frames[self.positions() * tree as usize + position])
        };
        let (from, from_frame) = place(trees[0], faces[0]);
        let (to, to_frame) = place(trees[1], faces[1]);
        let turned = |frame: Frame, axis: usize, x: f64| if frame >> axis & 1 == 1 { 1.0 - x } else { x };
        let mut own = [0.0; 2];
        free_directions(from).enumerate().for_each(|(axis, d)| own[axis] = turned(from_frame, axis, x[d]));
        if (from_frame ^ to_frame) & SWAP != 0 {
            own.swap(0, 1);
        }
        let mut image = [0.0; 3];
        image[faces[1] / 2] = (faces[1] % 2) as f64;
        free_directions(to).enumerate().for_each(|(axis, d)| image[d] = turned(to_frame, axis, own[axis]));
        image
    }

    /// Calls `visit` with every tree that has a point, and its coordinates there; edges of trees have length `n`.
    pub(super) fn for_each_image(&self, tree: u32, x: [u32; 3], n: u32, mut visit: impl FnMut(u32, [u32; 3])) {
        let located = self.locate(tree, x, n);
        for &Incidence { tree, position } in self.incident(located.entity) {
            let position = usize::from(position);
            let frame = self.frames[self.positions() * tree as usize + position];
            let mut own = located.coordinates;
            if frame & SWAP != 0 {
                own.swap(0, 1);
            }
            let mut x = [0, 1, 2].map(|d| if digit(position, d) == 2 { n } else { 0 });
            for (axis, d) in free_directions(position).enumerate() {
                x[d] = if frame >> axis & 1 == 1 { n - own[axis] } else { own[axis] };
            }
            visit(tree, x);
        }
    }
}

/// From the vertices of an edge or a face, the first free direction fastest; a vertex has no axes.
fn frame_of(vertices: &[u32]) -> Frame {
    let origin = (0..vertices.len()).min_by_key(|&corner| vertices[corner]).unwrap_or(0);
    let swapped = vertices.len() == 4 && vertices[origin ^ 2] < vertices[origin ^ 1];
    origin as Frame | if swapped { SWAP } else { 0 }
}
