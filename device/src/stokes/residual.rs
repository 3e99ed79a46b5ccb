//! `b - A x` on tiles of cells: a block computes one field of a tile.
//!
//! Of component `i` of the velocity, with the mass matrices `M` of the continuous axis `i` and `D`, diagonal, of the others, the form
//! `K = ν L + s M` of the continuous axis, `S` of the others, and `G = ∫ q φ'` between the two in direction `i`,
//!
//! ```text
//! K_i ⊗ D_j ⊗ D_l u_i + M_i ⊗ (S_j ⊗ D_l + D_j ⊗ S_l) u_i - Gᵀ_i ⊗ D_j ⊗ D_l p,
//! ```
//!
//! and of the pressure `-Σ_i G_i ⊗ D_j ⊗ D_l u_i`. A block keeps in shared memory the nodes of its tile with the cells around it, then
//! `S_j ⊗ D_l + D_j ⊗ S_l` of them, then the result. A thread takes the nodes of a cell along one direction, so that entries of
//! matrices are the same for all threads.

use super::{Fields, pick};
use crate::layout::{Column, Shared};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::thread;

/// The 1D matrices of a direction, of cells with `C = k + 1` nodes, one part after the other; a matrix has columns beside each other,
/// `entry (i, j)` at `i + rows j`.
#[derive(Clone, Copy, Debug)]
pub struct LineTable {
    nodes: usize,
}

impl LineTable {
    pub const fn new(nodes: usize) -> Self {
        Self { nodes }
    }

    /// `S` of a cell (rows) and the cell before it: `C` rows, `C` columns.
    pub const fn lower(self) -> usize {
        0
    }

    /// The same of a cell and the one behind it.
    pub const fn upper(self) -> usize {
        self.lower() + self.nodes * self.nodes
    }

    /// The same of a cell with itself, which depends on the domain's ends that it touches, by the number of `Ends`.
    pub const fn cell(self, ends: usize) -> usize {
        self.upper() + (1 + ends) * self.nodes * self.nodes
    }

    /// The diagonal `D`, `C` numbers.
    pub const fn weights(self) -> usize {
        self.cell(4)
    }

    /// `M` of a cell of the continuous axis: `C + 1` rows and columns.
    pub const fn mass(self) -> usize {
        self.weights() + self.nodes
    }

    /// `K`, in the same way.
    pub const fn form(self) -> usize {
        self.mass() + (self.nodes + 1) * (self.nodes + 1)
    }

    /// `G`, with columns for the nodes of the discontinuous axis: `C + 1` rows, `C` columns, so `Gᵀ` as a matrix.
    pub const fn divergence(self) -> usize {
        self.form() + (self.nodes + 1) * (self.nodes + 1)
    }

    /// All of it.
    pub const fn words(self) -> usize {
        self.divergence() + (self.nodes + 1) * self.nodes
    }
}

/// Cells of a tile in a direction, of so many nodes a cell.
pub const fn tile_cells(dim: usize, nodes: usize) -> usize {
    match (dim, nodes) {
        (2, 2 | 3) => 8,
        (2, 4 | 5) => 4,
        (3, 2) => 4,
        _ => 2,
    }
}

/// Threads of a block.
const fn threads(dim: usize, nodes: usize) -> usize {
    if dim == 2 || nodes > 2 { 128 } else { 256 }
}

/// A box in shared memory, `x` fastest; rows are odd, so that lines along x meet every bank once.
#[derive(Clone, Copy)]
struct Region {
    sizes: [usize; 3],
}

impl Region {
    /// With so many nodes along a component and so many across it.
    const fn new(dim: usize, own: usize, [along, across]: [usize; 2]) -> Self {
        let mut sizes = [across; 3];
        if dim == 2 {
            sizes[2] = 1;
        }
        if own < dim {
            sizes[own] = along;
        }
        Self { sizes }
    }

    const fn strides(self) -> [usize; 3] {
        let row = self.sizes[0] | 1;
        [1, row, row * self.sizes[1]]
    }

    const fn words(self) -> usize {
        self.strides()[2] * self.sizes[2]
    }

    #[inline(always)]
    const fn at(self, [x, y, z]: [usize; 3]) -> usize {
        let [_, row, plane] = self.strides();
        x + row * y + plane * z
    }
}

/// Where a block keeps what: of the component along `own`, or of the pressure if it is `dim`.
#[derive(Clone, Copy)]
struct Regions {
    /// Nodes of the tile, a cell more before it in every direction, and behind it a node along the component, a cell across it.
    x: Region,
    /// The same, but across the component the tile alone.
    across: Region,
    result: Region,
}

impl Regions {
    const fn new(dim: usize, nodes: usize, own: usize) -> Self {
        let tile = tile_cells(dim, nodes) * nodes;
        let along = tile + nodes + 1;
        Self {
            x: Region::new(dim, own, [along, tile + 2 * nodes]),
            across: Region::new(dim, own, [along, tile]),
            result: Region::new(dim, own, [tile, tile]),
        }
    }

    const fn starts(self) -> [usize; 3] {
        [0, self.x.words(), self.x.words() + self.across.words()]
    }

    const fn words(self) -> usize {
        self.starts()[2] + self.result.words()
    }
}

/// Words of shared memory.
#[cfg(not(target_arch = "nvptx64"))]
fn words(dim: usize, nodes: usize) -> usize {
    (0..dim).map(|own| Regions::new(dim, nodes, own).words()).max().unwrap_or(0)
}

/// See [`Residual`](super::Residual).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, nodes: usize, scalar_bytes: usize) -> Block {
    Block {
        threads: threads(dim, nodes),
        min_blocks: 1,
        shared_bytes: words(dim, nodes) * scalar_bytes,
        barriers: dim + 1,
    }
}

/// Blocks for all fields.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, nodes: usize, cells: [u32; 3]) -> [u32; 3] {
    let tiles = |d: usize| if d < dim { cells[d].div_ceil(tile_cells(dim, nodes) as u32) } else { 1 };
    [tiles(0) * (dim as u32 + 1), tiles(1), tiles(2)]
}

/// The directions across one.
const fn across(own: usize) -> [usize; 2] {
    match own {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

/// What the parts of the kernel share.
#[derive(Clone, Copy)]
struct Tile<T> {
    table: *const T,
    b: *const T,
    x: *const T,
    y: *mut T,
    fields: Fields,
    /// First cell in each direction.
    origin: [usize; 3],
}

/// Lines along `direction` of cells in a box of `sizes` nodes: `item` of `cells` lines of cells behind each other.
#[inline(always)]
const fn line(item: usize, direction: usize, sizes: [usize; 3]) -> ([usize; 3], usize) {
    let [first, second] = across(direction);
    let mut node = [0; 3];
    node[first] = item % sizes[first];
    let rest = item / sizes[first];
    node[second] = rest % sizes[second];
    (node, rest / sizes[second])
}

impl<T: Real> Tile<T> {
    #[inline(always)]
    fn matrices<const C: usize>(&self, direction: usize) -> *const T {
        self.table.wrapping_add(direction * const { LineTable::new(C).words() })
    }

    #[inline(always)]
    fn cells(&self, direction: usize) -> usize {
        self.fields.cells[direction] as usize
    }

    /// Whether a node is one of the domain, and its offset in a field. Nodes are counted from the tile's first, or in the directions of
    /// `before` from that of the cell before it.
    #[inline(always)]
    fn place<const DIM: usize, const C: usize>(&self, node: [usize; 3], before: [bool; 3]) -> (bool, usize) {
        let strides = self.fields.strides(C);
        // Directions one by one: an index that is known at run time would put arrays into memory.
        let axis = |d: usize| {
            let shift = if before[d] { C } else { 0 };
            let place = self.origin[d] * C + node[d];
            let is_inside = place >= shift && place - shift < self.cells(d) * C;
            (is_inside, place.wrapping_sub(shift).wrapping_mul(strides[d]))
        };
        let [x, y] = [axis(0), axis(1)];
        let z = if DIM == 3 { axis(2) } else { (true, 0) };
        (x.0 && y.0 && z.0, x.1.wrapping_add(y.1).wrapping_add(z.1))
    }

    /// The product of weights across a direction.
    #[inline(always)]
    unsafe fn weight<const DIM: usize, const C: usize>(&self, own: usize, node: [usize; 3]) -> T {
        let start = const { LineTable::new(C).weights() };
        let [first, second] = across(own);
        // SAFETY: entries of the table.
        unsafe {
            let weight = *self.matrices::<C>(first).add(start + node[first] % C);
            if DIM == 2 { weight } else { weight * *self.matrices::<C>(second).add(start + node[second] % C) }
        }
    }

    /// Component `OWN` with what is around the tile to shared memory; zero outside of the domain.
    #[inline(always)]
    unsafe fn load<const DIM: usize, const C: usize, const OWN: usize>(&self) {
        let region = const { Regions::new(DIM, C, OWN).x };
        let shared = Shared::<T>::at(0);
        let tile = const { tile_cells(DIM, C) * C };
        let [sx, sy, sz] = region.sizes;
        let x = self.x.wrapping_add(self.fields.first(OWN));
        let mut item = thread::thread_idx_x() as usize;
        while item < sx * sy * sz {
            let node = [item % sx, item / sx % sy, item / (sx * sy)];
            let (is_inside, offset) = self.place::<DIM, C>(node, [true; 3]);
            let is_outside = |d: usize| d < DIM && d != OWN && (node[d] < C || node[d] >= tile + C);
            let outside_tile = is_outside(0) as usize + is_outside(1) as usize + is_outside(2) as usize;
            // Cells across an edge are nobody's neighbours.
            if outside_tile < 2 {
                // SAFETY: a node of the field.
                let value = if is_inside { unsafe { *x.wrapping_add(offset) } } else { T::ZERO };
                shared.set(region.at(node), value);
            }
            item += const { threads(DIM, C) };
        }
    }

    /// `D ⊗ S` of what was loaded, the form along `ALONG`, which is not `OWN`: set, or added if `ADD`.
    #[inline(always)]
    unsafe fn form_across<const DIM: usize, const C: usize, const OWN: usize, const ALONG: usize, const ADD: bool>(
        &self,
    ) {
        let regions = const { Regions::new(DIM, C, OWN) };
        let (cells, table) = const { (tile_cells(DIM, C), LineTable::new(C)) };
        let (x, result) = (Shared::<T>::at(0), Shared::<T>::at(const { Regions::new(DIM, C, OWN).starts()[1] }));
        let sizes = regions.across.sizes;
        let [first, second] = across(ALONG);
        let mut item = thread::thread_idx_x() as usize;
        while item < sizes[first] * sizes[second] * cells {
            let (mut node, cell) = line(item, ALONG, sizes);
            let global = self.origin[ALONG] + cell;
            if global < self.cells(ALONG) {
                let ends = (global == 0) as usize + 2 * (global + 1 == self.cells(ALONG)) as usize;
                let matrices = self.matrices::<C>(ALONG);
                let parts = [
                    matrices.wrapping_add(table.lower()),
                    matrices.wrapping_add(table.cell(0) + ends * (C * C)),
                    matrices.wrapping_add(table.upper()),
                ];
                let at = |d: usize| match d {
                    _ if d == ALONG => cell * C,
                    _ if d == OWN || d >= DIM => node[d],
                    _ => node[d] + C,
                };
                let source = [at(0), at(1), at(2)];
                let (start, stride) = (regions.x.at(source), regions.x.strides()[ALONG]);
                let mut sums = [T::ZERO; C];
                for part in 0..3 {
                    for t in 0..C {
                        let value = x.get(start + (part * C + t) * stride);
                        for r in 0..C {
                            // SAFETY: an entry of the table.
                            sums[r] = T::fma(unsafe { *parts[part].add(t * C + r) }, value, sums[r]);
                        }
                    }
                }
                // Of the direction that is neither.
                let third = 3 - OWN - ALONG;
                if DIM == 3 {
                    // SAFETY: an entry of the table.
                    let weight = unsafe { *self.matrices::<C>(third).add(table.weights() + node[third] % C) };
                    for r in 0..C {
                        sums[r] = sums[r] * weight;
                    }
                }
                node[ALONG] = cell * C;
                let place = Column { start: regions.across.at(node), stride: regions.across.strides()[ALONG] };
                if ADD {
                    let old = result.read::<C>(place);
                    for r in 0..C {
                        sums[r] = sums[r] + old[r];
                    }
                }
                result.write(place, &sums);
            }
            item += const { threads(DIM, C) };
        }
    }

    /// What is along the component: `K`, `M` of what is across, and the gradient of the pressure.
    #[inline(always)]
    unsafe fn form_along<const DIM: usize, const C: usize, const OWN: usize>(&self) {
        let regions = const { Regions::new(DIM, C, OWN) };
        let starts = const { Regions::new(DIM, C, OWN).starts() };
        let (cells, table) = const { (tile_cells(DIM, C), LineTable::new(C)) };
        let (x, across_region, result) = (Shared::<T>::at(0), Shared::<T>::at(starts[1]), Shared::<T>::at(starts[2]));
        let (sizes, strides) = (regions.result.sizes, self.fields.strides(C));
        let pressure = self.x.wrapping_add(self.fields.first(DIM));
        let [first, second] = across(OWN);
        let matrices = self.matrices::<C>(OWN);
        let (mass, form, divergence) = (
            matrices.wrapping_add(table.mass()),
            matrices.wrapping_add(table.form()),
            matrices.wrapping_add(table.divergence()),
        );
        let rows = C + 1;
        let mut item = thread::thread_idx_x() as usize;
        while item < sizes[first] * sizes[second] * cells {
            let (mut node, cell) = line(item, OWN, sizes);
            let global = self.origin[OWN] + cell;
            node[OWN] = cell * C;
            let (is_inside, offset) = self.place::<DIM, C>(node, [false; 3]);
            if is_inside {
                // From the first node of the cell before.
                let (across_start, across_stride) = (regions.across.at(node), regions.across.strides()[OWN]);
                let at = |d: usize| if d == OWN || d >= DIM { node[d] } else { node[d] + C };
                let source = [at(0), at(1), at(2)];
                let (x_start, x_stride) = (regions.x.at(source), regions.x.strides()[OWN]);
                let (mut weighted, mut sums) = ([T::ZERO; C], [T::ZERO; C]);
                // SAFETY: entries of the table, and nodes of the pressure.
                unsafe {
                    // The first node is that of the cell before, too; where there is none, everything there is zero.
                    if global > 0 {
                        for t in 0..C + 1 {
                            let (value, other) =
                                (x.get(x_start + t * x_stride), across_region.get(across_start + t * across_stride));
                            weighted[0] = T::fma(*form.add(t * rows + C), value, weighted[0]);
                            sums[0] = T::fma(*mass.add(t * rows + C), other, sums[0]);
                        }
                        for t in 0..C {
                            let value = *pressure.wrapping_add(offset).wrapping_sub((C - t) * strides[OWN]);
                            weighted[0] = T::fma(-*divergence.add(t * rows + C), value, weighted[0]);
                        }
                    }
                    for t in 0..C + 1 {
                        let (value, other) = (
                            x.get(x_start + (C + t) * x_stride),
                            across_region.get(across_start + (C + t) * across_stride),
                        );
                        for r in 0..C {
                            weighted[r] = T::fma(*form.add(t * rows + r), value, weighted[r]);
                            sums[r] = T::fma(*mass.add(t * rows + r), other, sums[r]);
                        }
                    }
                    for t in 0..C {
                        let value = *pressure.wrapping_add(offset + t * strides[OWN]);
                        for r in 0..C {
                            weighted[r] = T::fma(-*divergence.add(t * rows + r), value, weighted[r]);
                        }
                    }
                    let weight = self.weight::<DIM, C>(OWN, node);
                    for r in 0..C {
                        sums[r] = T::fma(weight, weighted[r], sums[r]);
                    }
                }
                if global == 0 {
                    sums[0] = T::ZERO;
                }
                result.write(Column { start: regions.result.at(node), stride: regions.result.strides()[OWN] }, &sums);
            }
            item += const { threads(DIM, C) };
        }
    }

    /// The divergence's part of direction `ALONG`: set in the first, else added.
    #[inline(always)]
    unsafe fn divergence<const DIM: usize, const C: usize, const ALONG: usize>(&self) {
        let region = const { Regions::new(DIM, C, DIM).result };
        let (cells, table) = const { (tile_cells(DIM, C), LineTable::new(C)) };
        let result = Shared::<T>::at(0);
        let strides = self.fields.strides(C);
        let x = self.x.wrapping_add(self.fields.first(ALONG));
        let [first, second] = across(ALONG);
        let matrix = self.matrices::<C>(ALONG).wrapping_add(table.divergence());
        let rows = C + 1;
        let mut item = thread::thread_idx_x() as usize;
        while item < region.sizes[first] * region.sizes[second] * cells {
            let (mut node, cell) = line(item, ALONG, region.sizes);
            let global = self.origin[ALONG] + cell;
            node[ALONG] = cell * C;
            let (is_inside, offset) = self.place::<DIM, C>(node, [false; 3]);
            if is_inside {
                let mut sums = [T::ZERO; C];
                // SAFETY: entries of the table, and nodes of the component.
                unsafe {
                    for t in 0..C + 1 {
                        // The last node of the last cell is no unknown.
                        let is_node = t < C || global + 1 < self.cells(ALONG);
                        let value = if is_node { *x.wrapping_add(offset + t * strides[ALONG]) } else { T::ZERO };
                        for r in 0..C {
                            sums[r] = T::fma(-*matrix.add(r * rows + t), value, sums[r]);
                        }
                    }
                    let weight = self.weight::<DIM, C>(ALONG, node);
                    for r in 0..C {
                        sums[r] = sums[r] * weight;
                    }
                }
                let place = Column { start: region.at(node), stride: region.strides()[ALONG] };
                if ALONG > 0 {
                    let old = result.read::<C>(place);
                    for r in 0..C {
                        sums[r] = sums[r] + old[r];
                    }
                }
                result.write(place, &sums);
            }
            item += const { threads(DIM, C) };
        }
    }

    /// The result, from a word on, to global memory.
    #[inline(always)]
    unsafe fn store<const DIM: usize, const C: usize>(&self, field: usize, start: usize) {
        let region = const { Regions::new(DIM, C, DIM).result };
        let result = Shared::<T>::at(start);
        let [sx, sy, sz] = region.sizes;
        let first = self.fields.first(field);
        let mut item = thread::thread_idx_x() as usize;
        while item < sx * sy * sz {
            let node = [item % sx, item / sx % sy, item / (sx * sy)];
            let (is_inside, offset) = self.place::<DIM, C>(node, [false; 3]);
            let offset = first + offset;
            if is_inside {
                let value = result.get(region.at(node));
                // SAFETY: an entry of the field, which no other thread writes.
                unsafe {
                    *self.y.add(offset) = if self.b.is_null() { value } else { *self.b.add(offset) - value };
                }
            }
            item += const { threads(DIM, C) };
        }
    }
}

/// Calls a function of a tile for the component that a block computes.
macro_rules! of_component {
    ($own:ident, $dim:ident, [$($value:literal)+], $OWN:ident => $call:expr) => {
        $(if $own == $value && $value < $dim {
            const $OWN: usize = $value;
            $call
        })+
    };
}

/// See [`Residual`](super::Residual).
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`] of the level; vectors are as `fields` says.
#[inline(always)]
pub unsafe fn residual<T: Real, const DIM: usize, const C: usize>(
    table: *const T,
    b: *const T,
    x: *const T,
    y: *mut T,
    fields: Fields,
) {
    let cells = const { tile_cells(DIM, C) };
    let block = thread::block_idx_x() as usize;
    let field = block % (DIM + 1);
    let tiles = [block / (DIM + 1), thread::block_idx_y() as usize, thread::block_idx_z() as usize];
    let tile = Tile { table, b, x, y, fields, origin: tiles.map(|tile| tile * cells) };
    // SAFETY, throughout: the caller's promise. Barriers are passed by all threads, whatever the block's field.
    unsafe {
        of_component!(field, DIM, [0 1 2], OWN => tile.load::<DIM, C, OWN>());
        if field == DIM {
            tile.divergence::<DIM, C, 0>();
        }
        thread::sync_threads();
        match field {
            0 => tile.form_across::<DIM, C, 0, 1, false>(),
            1 => tile.form_across::<DIM, C, 1, 0, false>(),
            2 if DIM == 3 => tile.form_across::<DIM, C, 2, 0, false>(),
            _ => tile.divergence::<DIM, C, 1>(),
        }
        thread::sync_threads();
        if DIM == 3 {
            match field {
                0 => tile.form_across::<DIM, C, 0, 2, true>(),
                1 => tile.form_across::<DIM, C, 1, 2, true>(),
                2 => tile.form_across::<DIM, C, 2, 1, true>(),
                _ => tile.divergence::<DIM, C, 2>(),
            }
            thread::sync_threads();
        }
        of_component!(field, DIM, [0 1 2], OWN => tile.form_along::<DIM, C, OWN>());
        thread::sync_threads();
        let starts = const {
            [
                Regions::new(DIM, C, 0).starts()[2],
                Regions::new(DIM, C, 1).starts()[2],
                Regions::new(DIM, C, 2).starts()[2],
            ]
        };
        tile.store::<DIM, C>(field, if field == DIM { 0 } else { pick(starts, field) });
    }
}
