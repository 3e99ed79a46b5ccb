//! Which leaves meet at a face, and where points of one lie in the other.

use super::cell::Cell;
use super::leaves::Forest;
use super::neighbors::LeafIndex;
use crate::error::Result;
use rayon::prelude::*;

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

/// How the face of one leaf lies on that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contact {
    /// The part of the other face along each of its directions.
    pub parts: [Part; 2],
    /// For each direction of the other face, that of the first face, and whether it is reversed.
    pub from: [(usize, bool); 2],
}

/// Part of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    Lower,
    Upper,
}

/// Leaves that a task takes.
const LEAVES_A_TASK: usize = 1 << 10;

impl Forest {
    /// The faces between leaves, in an order that is always the same: first those of equally fine leaves, then those of a finer one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn inner_faces(&self) -> Result<Vec<InnerFace>> {
        let index = LeafIndex::new(self)?;
        // In the order of their positions in a cell.
        let faces: &[usize] = if self.dim() == 2 { &[2, 0, 1, 3] } else { &[4, 2, 0, 1, 3, 5] };
        let pieces = self.leaves().par_chunks(LEAVES_A_TASK).enumerate();
        let of_pieces = pieces.map(|(piece, leaves)| {
            let (mut equal, mut finer) = (Vec::new(), Vec::new());
            for (leaf, cell) in (LEAVES_A_TASK * piece..).zip(leaves) {
                for &face in faces {
                    let Some((across, other_face)) = self.across_face(cell, face) else { continue };
                    let inner = |other: usize| {
                        let [face, other_face] = [face, other_face].map(|face| face as u8);
                        InnerFace { leaf: leaf as u32, face, other: other as u32, other_face }
                    };
                    match index.find(&across) {
                        Some(other) if other < leaf => equal.push(inner(other)),
                        Some(_) => {}
                        None => finer.extend(across.parent().and_then(|parent| index.find(&parent)).map(inner)),
                    }
                }
            }
            finer.sort_unstable_by_key(|inner: &InnerFace| (inner.leaf, inner.face));
            (equal, finer)
        });
        let (mut equal, finer): (Vec<_>, Vec<_>) = of_pieces.unzip();
        equal.extend(finer);
        Ok(equal.concat())
    }

    /// How a face lies on that of the other leaf.
    pub(crate) fn contact(&self, inner: &InnerFace) -> Contact {
        let tangents = |face: u8| (0..self.dim()).filter(move |&d| d != usize::from(face / 2));
        let mut corner = [0.0; 3];
        corner[usize::from(inner.face / 2)] = f64::from(inner.face % 2);
        // Coordinates are multiples of 1/2, without rounding.
        let origin = self.across(inner, corner);
        let ends = tangents(inner.face).map(|d| {
            let mut end = corner;
            end[d] = 1.0;
            self.across(inner, end)
        });
        let ends: Vec<[f64; 3]> = ends.collect();
        let mut contact = Contact { parts: [Part::All; 2], from: [(0, false); 2] };
        for (axis, d) in tangents(inner.other_face).enumerate() {
            let Some(own) = ends.iter().position(|end| end[d] != origin[d]) else { continue };
            let (least, most) = (origin[d].min(ends[own][d]), origin[d].max(ends[own][d]));
            contact.from[axis] = (own, ends[own][d] < origin[d]);
            contact.parts[axis] = match (least > 0.0, most < 1.0) {
                (false, true) => Part::Lower,
                (true, false) => Part::Upper,
                _ => Part::All,
            };
        }
        contact
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
