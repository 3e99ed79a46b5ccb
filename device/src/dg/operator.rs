//! The operator, layer by layer: a block owns a tile of cells in x and y and marches along the last direction, a cell a
//! step.
//!
//! With the 1D matrices `M` and `L` of one cell size and factors `c` it is
//!
//! ```text
//! A = c_x L ⊗ M ⊗ M + c_y M ⊗ L ⊗ M + c_z M ⊗ M ⊗ L,    in 2D A = c_x L ⊗ M + c_y M ⊗ L
//! ```
//!
//! with the matrix in x first, by one contraction in each direction, the last direction first:
//!
//! ```text
//! 3D: m = M_z u,  s = L_z u;    s = L_y m + (c_z/c_y M_y) s,  m = M_y m;    A u = c_x (L_x m + (c_y/c_x M_x) s)
//! 2D: m = (c_x M_y) u,  s = L_y u;                                          A u = L_x m + (c_y M_x) s
//! ```
//!
//! where in 2D and in degree 8 matrices in brackets have entries of their own, and else the quotients multiply `s`
//! ([`DgOperatorMatrices`](crate::matrices::DgOperatorMatrices)).
//!
//! A thread keeps columns of the current cell's nodes in registers, so that `M u` and `L u` along the last direction, with
//! what lies behind both faces, go to shared memory without a read. Lines along the other directions follow there, in place.
//! Of the cells beside the tile only the traces on its faces are kept, half a normal derivative and a value
//! ([`DgCellMatrices`](crate::matrices::DgCellMatrices)): traces in one direction commute with `M` in the others. No two
//! blocks write one node.

mod block;
mod direction;
mod faces;
mod layer;
mod line;
mod march;
mod tile;

use crate::kernels::Shape;
pub use march::apply;
pub use tile::Tile;

/// Columns of a thread.
pub const fn columns(dim: usize, degree: usize) -> usize {
    Tile::of(dim, degree).columns
}

/// Blocks that a multiprocessor should hold: as many as have registers without spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const BLOCKS: [[[u32; 8]; 2]; 2] = [
        [[16, 16, 16, 16, 16, 12, 10, 10], [12, 16, 9, 10, 9, 8, 5, 6]],
        [[10, 4, 10, 5, 5, 2, 5, 1], [7, 3, 7, 3, 3, 2, 2, 1]],
    ];
    BLOCKS[dim - 2][scalar_bytes / 8][degree - 1]
}

/// Its shape on a block: `M u` and `L u` of a layer, its faces in the middle direction, and those in x of two layers.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let tile = Tile::of(dim, degree);
    let words = 2 * tile.layer() + tile.middle_faces() + 2 * tile.x_faces();
    Shape { columns: tile.threads(), patches: 1, words, barriers: dim }
}
