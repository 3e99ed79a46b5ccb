//! Which leaves meet at a face, and where points of one lie in the other.

use super::cell::Cell;
use super::cell_entities::{Key, for_each_entity};
use super::entities::{digit, dimension};
use super::leaves::Forest;
use std::collections::HashMap;

/// A face in the interior of the domain: of two leaves, or of a leaf and a part of a face of a coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerFace {
    /// The finer leaf, or one of two equally fine.
    pub leaf: u32,
    /// Its face.
    pub face: u8,
    /// The other leaf.
    pub other: u32,
    /// The face of that.
    pub other_face: u8,
}

/// Number of the face at a position, if there is a face.
fn face_at(dim: usize, position: usize) -> Option<usize> {
    let fixed = (0..dim).find(|&d| digit(position, d) != 1)?;
    (dimension(position) + 1 == dim).then(|| 2 * fixed + digit(position, fixed) / 2)
}

impl Forest {
    /// Calls `visit` with each face of the keys of a cell.
    fn for_each_face_key(&self, cell: &Cell, mut visit: impl FnMut(usize, Key)) {
        for_each_entity(self, cell, |position, key, _| {
            if let Some(face) = face_at(self.dim(), position) {
                visit(face, key);
            }
        });
    }

    /// The faces between leaves, in an order that is always the same.
    pub fn inner_faces(&self) -> Vec<InnerFace> {
        let mut faces = Vec::new();
        let mut single: HashMap<Key, (u32, u8)> = HashMap::new();
        for (leaf, cell) in self.leaves().iter().enumerate() {
            self.for_each_face_key(cell, |face, key| {
                let (leaf, face) = (leaf as u32, face as u8);
                match single.remove(&key) {
                    Some((other, other_face)) => faces.push(InnerFace { leaf, face, other, other_face }),
                    None => {
                        single.insert(key, (leaf, face));
                    }
                }
            });
        }
        // What is left lies at the boundary, or is larger on the other side.
        let mut left: Vec<(u32, u8)> = single.values().copied().collect();
        left.sort_unstable();
        for (leaf, face) in left {
            let cell = self.leaves()[leaf as usize];
            let upper = (cell.child_number() >> (face / 2) & 1) as u8;
            let Some(parent) = cell.parent().filter(|_| upper == face % 2) else { continue };
            self.for_each_face_key(&parent, |at, key| {
                if let (true, Some(&(other, other_face))) = (at == usize::from(face), single.get(&key)) {
                    faces.push(InnerFace { leaf, face, other, other_face });
                }
            });
        }
        faces
    }

    /// Where a point of a face, in coordinates of the first leaf, lies in the other one.
    pub fn across(&self, inner: &InnerFace, x: [f64; 3]) -> [f64; 3] {
        let [cell, other] = [inner.leaf, inner.other].map(|leaf| self.leaves()[leaf as usize]);
        let mut in_tree = cell.in_tree(x);
        // Two leaves of a tree may meet at its boundary, too, if the domain is closed.
        let ends = |cell: &Cell, face: u8| {
            let end = (u32::from(face) % 2) * ((1 << cell.level) - 1);
            cell.anchor[usize::from(face / 2)] == end
        };
        if ends(&cell, inner.face) && ends(&other, inner.other_face) {
            let faces = [inner.face, inner.other_face].map(usize::from);
            in_tree = self.coarse().entities().image([cell.tree, other.tree], faces, in_tree);
        }
        let edge = 0.5_f64.powi(other.level.into());
        [0, 1, 2].map(|d| in_tree[d] / edge - f64::from(other.anchor[d]))
    }
}
