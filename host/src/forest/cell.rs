//! Cells of a tree, and Morton codes.

/// The finest level that leaves may have: 30 in 2D and 20 in 3D, such that Morton codes fit 60 bits.
pub const fn max_level(dim: usize) -> u8 {
    if dim == 2 { 30 } else { 20 }
}

/// A cell of a forest: a leaf, or a cell that was refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Cell of the coarse mesh.
    pub tree: u32,
    /// 0 for the tree's root.
    pub level: u8,
    /// Corner that is nearest to the tree's first vertex, in units of the cell's edges: `0 .. 2^level` in each direction; 0 in
    /// the third direction in 2D.
    pub anchor: [u32; 3],
}

impl Cell {
    /// The cell of which this is a child, unless it is a root.
    pub fn parent(&self) -> Option<Self> {
        let level = self.level.checked_sub(1)?;
        Some(Self { level, anchor: self.anchor.map(|x| x / 2), ..*self })
    }

    /// Which child of its parent it is: bit `d` is set if it is the upper one in direction `d`.
    pub fn child_number(&self) -> usize {
        self.anchor.iter().enumerate().map(|(d, x)| ((x & 1) as usize) << d).sum()
    }

    /// Child of that number.
    pub(super) fn child(&self, number: usize) -> Self {
        let anchor = [0, 1, 2].map(|d| 2 * self.anchor[d] + bit(number, d));
        Self { level: self.level + 1, anchor, ..*self }
    }

    /// A point of the cell in its tree's coordinates, `[0, 1]` in each direction; `x` is in `[0, 1]`, too.
    pub fn in_tree(&self, x: [f64; 3]) -> [f64; 3] {
        let edge = 0.5_f64.powi(self.level.into());
        [0, 1, 2].map(|d| edge * (f64::from(self.anchor[d]) + x[d]))
    }

    /// Tree and Morton code, the order of cells of one level.
    pub(super) fn key(&self, dim: usize) -> (u32, u64) {
        (self.tree, morton_code(dim, self.anchor))
    }

    /// Morton code of its lower corner at the finest level, the order of leaves of a tree.
    pub(super) fn corner_code(&self, dim: usize) -> u64 {
        morton_code(dim, self.anchor.map(|x| x << (max_level(dim) - self.level)))
    }
}

/// Bit `d` of a number.
pub(super) fn bit(number: usize, d: usize) -> u32 {
    (number >> d & 1) as u32
}

/// Bit `b` of direction `d` becomes bit `dim b + d`.
pub(super) fn morton_code(dim: usize, anchor: [u32; 3]) -> u64 {
    let spread = if dim == 2 { spread_by_2 } else { spread_by_3 };
    (0..dim).map(|d| spread(anchor[d]) << d).fold(0, |code, bits| code | bits)
}

/// The inverse of [`morton_code`].
pub(super) fn morton_anchor(dim: usize, code: u64) -> [u32; 3] {
    let gather = if dim == 2 { gather_by_2 } else { gather_by_3 };
    [0, 1, 2].map(|d| if d < dim { gather(code >> d) } else { 0 })
}

/// Shifts and masks that move the bits apart, as in Warren, *Hacker's Delight*, section 7-2.
const BY_2: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];
const BY_3: [(u32, u64); 5] = [
    (32, 0x001f_0000_0000_ffff),
    (16, 0x001f_0000_ff00_00ff),
    (8, 0x100f_00f0_0f00_f00f),
    (4, 0x10c3_0c30_c30c_30c3),
    (2, 0x1249_2492_4924_9249),
];

fn spread_by_2(x: u32) -> u64 {
    BY_2.iter().fold(u64::from(x), |x, (shift, mask)| (x | x << shift) & mask)
}

fn spread_by_3(x: u32) -> u64 {
    BY_3.iter().fold(u64::from(x) & 0x001f_ffff, |x, (shift, mask)| (x | x << shift) & mask)
}

fn gather_by_2(code: u64) -> u32 {
    let masks =
        [0x3333_3333_3333_3333, 0x0f0f_0f0f_0f0f_0f0f, 0x00ff_00ff_00ff_00ff, 0x0000_ffff_0000_ffff, u64::MAX >> 32];
    gather(code & BY_2[4].1, [1, 2, 4, 8, 16], masks)
}

fn gather_by_3(code: u64) -> u32 {
    let masks =
        [0x10c3_0c30_c30c_30c3, 0x100f_00f0_0f00_f00f, 0x001f_0000_ff00_00ff, 0x001f_0000_0000_ffff, 0x001f_ffff];
    gather(code & BY_3[4].1, [2, 4, 8, 16, 32], masks)
}

fn gather(bits: u64, shifts: [u32; 5], masks: [u64; 5]) -> u32 {
    shifts.into_iter().zip(masks).fold(bits, |x, (shift, mask)| (x | x >> shift) & mask) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn morton_codes_interleave_the_bits() {
        assert_eq!(morton_code(2, [0b011, 0b101, 0]), 0b10_01_11);
        assert_eq!(morton_code(3, [0b01, 0b10, 0b11]), 0b110_101);
        for dim in [2, 3] {
            let most = u32::MAX >> (32 - max_level(dim));
            let naive = |anchor: [u32; 3]| {
                let bits = (0..31).flat_map(|b| (0..dim).map(move |d| (b, d)));
                bits.map(|(b, d)| u64::from(anchor[d] >> b & 1) << ((dim * b + d) % 64)).fold(0, |code, bit| code | bit)
            };
            for i in 0..=32 - max_level(dim) as u32 + 18 {
                let anchor =
                    [most >> i, (0x5bd1_e995 >> i) & most, if dim == 3 { (0x1b87_3593 << i) & most } else { 0 }];
                assert_eq!(morton_code(dim, anchor), naive(anchor));
                assert_eq!(morton_anchor(dim, morton_code(dim, anchor)), anchor);
            }
        }
    }

    #[test]
    fn children_know_their_parent() {
        let cell = Cell { tree: 4, level: 3, anchor: [7, 0, 5] };
        for number in 0..8 {
            let child = cell.child(number);
            assert_eq!((child.parent(), child.child_number(), child.level), (Some(cell), number, 4));
        }
        assert_eq!(Cell { tree: 0, level: 0, anchor: [0; 3] }.parent(), None);
        assert_eq!(cell.in_tree([0.5, 1.0, 0.0]), [7.5 / 8.0, 1.0 / 8.0, 5.0 / 8.0]);
    }
}
