//! `b - A x` on tiles of cells: a block computes one field of a tile.
//!
//! Of component `i` of the velocity, with the mass matrices `M` of the continuous axis `i` and `D`, diagonal, of the others, the forms
//! `ν L` of the continuous axis, `ν S` of the others, and `G = ∫ q φ'` between the two in direction `i`,
//!
//! ```text
//! ν L_i ⊗ D_j ⊗ D_l u_i + M_i ⊗ (ν S_j ⊗ D_l + ν D_j ⊗ S_l + s D_j ⊗ D_l) u_i - Gᵀ_i ⊗ D_j ⊗ D_l p,
//! ```
//!
//! and of the pressure `-Σ_i G_i ⊗ D_j ⊗ D_l u_i`. A block keeps in shared memory the nodes of its tile with the cells around it, then
//! `ν S_j ⊗ D_l + ν D_j ⊗ S_l` of them, then the result. A thread takes the nodes of a cell along one direction, so that entries of
//! matrices are the same for all threads.

use super::{Fields, pick};
use crate::layout::{Column, Shared};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::made_here;
use cuda_std::thread;

/// The 1D matrices of cells of size 1 with `C = k + 1` nodes across a component and `E = C + 1` along it; a column after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LineMatrices<T, const C: usize, const E: usize> {
    /// `S` of a cell, rows, and the cell before it. What couples it to the cell behind it is this mirrored.
    pub lower: [[T; C]; C],
    /// `S` of a cell with itself, away from the domain's ends.
    pub cell: [[T; C]; C],
    /// The diagonal `D`.
    pub weights: [T; C],
    /// `M`.
    pub mass: [[T; E]; E],
    /// `L`.
    pub stiffness: [[T; E]; E],
    /// `Gᵀ`.
    pub divergence: [[T; E]; C],
    /// What forms of each direction are multiplied by, for cells of other sizes: `ν / h`.
    pub form_scales: [T; 3],
    /// The same of masses and weights: `h`.
    pub mass_scales: [T; 3],
    /// `s`.
    pub reaction: T,
}

/// Cells of a tile in a direction, of so many nodes a cell.
pub const fn tile_cells(dim: usize, nodes: usize) -> usize {
    match (dim, nodes) {
        (2, 2 | 3) => 8,
        (2, 4 | 5) => 4,
        (3, 2 | 3) => 4,
        _ => 2,
    }
}

/// Threads of a block.
const fn threads(dim: usize, nodes: usize) -> usize {
    match (dim, nodes) {
        (2, _) | (_, 4) => 128,
        (_, 5) => 320,
        (_, 6) => 288,
        (_, 3) => 384,
        _ => 144,
    }
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
}

/// Words of shared memory.
#[cfg(not(target_arch = "nvptx64"))]
fn words(dim: usize, nodes: usize) -> usize {
    let words = |regions: Regions| regions.starts()[2] + regions.result.words();
    (0..dim).map(|own| words(Regions::new(dim, nodes, own))).max().unwrap_or(0)
}

/// Blocks that a multiprocessor should hold, without spills.
#[cfg(not(target_arch = "nvptx64"))]
fn min_blocks(dim: usize, nodes: usize, scalar_bytes: usize) -> usize {
    const BLOCKS_2D: [[usize; 8]; 2] = [[8, 8, 8, 8, 8, 8, 8, 6], [8, 6, 6, 6, 6, 6, 5, 4]];
    const BLOCKS_3D: [[usize; 5]; 2] = [[8, 3, 6, 3, 1], [6, 2, 5, 3, 1]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][nodes - 2] } else { BLOCKS_3D[scalar_bytes / 8][nodes - 2] }
}

/// See [`Residual`](super::Residual).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, nodes: usize, scalar_bytes: usize) -> Block {
    Block {
        threads: threads(dim, nodes),
        min_blocks: min_blocks(dim, nodes, scalar_bytes),
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
struct Tile<'a, T, const C: usize, const E: usize> {
    matrices: &'a LineMatrices<T, C, E>,
    ends: *const T,
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
    // In 32 bits, in which numbers are divided fast.
    let (item, of_first, of_second) = (item as u32, sizes[first] as u32, sizes[second] as u32);
    let mut node = [0; 3];
    node[first] = (item % of_first) as usize;
    let rest = item / of_first;
    node[second] = (rest % of_second) as usize;
    (node, (rest / of_second) as usize)
}

/// The node of so many in a box.
#[inline(always)]
const fn node_of(item: usize, [x, y, _]: [usize; 3]) -> [usize; 3] {
    let (item, x, y) = (item as u32, x as u32, y as u32);
    [(item % x) as usize, (item / x % y) as usize, (item / (x * y)) as usize]
}

impl<T: Real, const C: usize, const E: usize> Tile<'_, T, C, E> {
    #[inline(always)]
    fn cells(&self, direction: usize) -> usize {
        self.fields.cells[direction] as usize
    }

    /// Whether a coordinate, counted from the cell before the tile, is one of the domain.
    #[inline(always)]
    fn is_inside(&self, direction: usize, from_before: usize) -> bool {
        let place = self.origin[direction] * C + from_before;
        place >= C && place - C < self.cells(direction) * C
    }

    /// Whether a node of the tile is one of the domain, and its offset in a field.
    #[inline(always)]
    fn place<const DIM: usize>(&self, node: [usize; 3]) -> (bool, usize) {
        let strides = self.fields.strides(C);
        // Directions one by one: an index that is known at run time would put arrays into memory.
        let axis = |d: usize| {
            let place = self.origin[d] * C + node[d];
            (place < self.cells(d) * C, place * strides[d])
        };
        let [x, y] = [axis(0), axis(1)];
        let z = if DIM == 3 { axis(2) } else { (true, 0) };
        (x.0 && y.0 && z.0, x.1 + y.1 + z.1)
    }

    /// The weight of a node in a direction.
    #[inline(always)]
    fn weight(&self, direction: usize, node: usize) -> T {
        let local = node as u32 % C as u32;
        let mut weight = T::ZERO;
        for t in 0..C {
            if local == t as u32 {
                weight = self.matrices.weights[t];
            }
        }
        weight * self.matrices.mass_scales[direction]
    }

    /// The product of weights across a direction.
    #[inline(always)]
    fn weight_across<const DIM: usize>(&self, own: usize, node: [usize; 3]) -> T {
        let [first, second] = across(own);
        let weight = self.weight(first, node[first]);
        if DIM == 2 { weight } else { weight * self.weight(second, node[second]) }
    }

    /// Component `OWN` with what is around the tile to shared memory; zero outside of the domain. A thread has a column along the
    /// last direction.
    #[inline(always)]
    unsafe fn load<const DIM: usize, const OWN: usize>(&self) {
        let region = const { Regions::new(DIM, C, OWN).x };
        let (shared, strides) = (Shared::<T>::at(0), self.fields.strides(C));
        let tile = const { tile_cells(DIM, C) * C };
        let [sx, sy, sz] = region.sizes;
        let x = self.x.wrapping_add(self.fields.first(OWN));
        let is_outside = |d: usize, node: usize| d != OWN && (node < C || node >= tile + C);
        let mut column = thread::thread_idx_x() as usize;
        while column < sx * sy {
            let [at_x, at_y, _] = node_of(column, region.sizes);
            let (outside_x, outside_y) = (is_outside(0, at_x), is_outside(1, at_y));
            let is_inside = self.is_inside(0, at_x) && self.is_inside(1, at_y);
            let origin = |d: usize| (self.origin[d] * C).wrapping_sub(C).wrapping_mul(strides[d]);
            let start = origin(0).wrapping_add(origin(1)).wrapping_add(at_x + at_y * strides[1]);
            // Cells across an edge are nobody's neighbours.
            if !(outside_x && outside_y) {
                if DIM == 2 {
                    // SAFETY: a node of the field.
                    let value = if is_inside { unsafe { *x.wrapping_add(start) } } else { T::ZERO };
                    shared.set(region.at([at_x, at_y, 0]), value);
                } else {
                    let mut node = x.wrapping_add(start.wrapping_add(origin(2)));
                    let place = made_here(region.at([at_x, at_y, 0]) as u32) as usize;
                    for z in 0..sz {
                        if !(is_outside(2, z) && (outside_x || outside_y)) {
                            let is_node = is_inside && self.is_inside(2, z);
                            // SAFETY: as above.
                            let value = if is_node { unsafe { *node } } else { T::ZERO };
                            shared.set(place + region.strides()[2] * z, value);
                        }
                        node = node.wrapping_add(made_here(strides[2] as u32) as usize);
                    }
                }
            }
            column += const { threads(DIM, C) };
        }
    }

    /// `D ⊗ ν S` of what was loaded, the form along `ALONG`, which is not `OWN`: set, or added if `ADD`.
    #[inline(always)]
    unsafe fn form_across<const DIM: usize, const OWN: usize, const ALONG: usize, const ADD: bool>(&self) {
        let regions = const { Regions::new(DIM, C, OWN) };
        let (cells, third) = const { (tile_cells(DIM, C), 3 - OWN - ALONG) };
        let (x, result) = (Shared::<T>::at(0), Shared::<T>::at(const { Regions::new(DIM, C, OWN).starts()[1] }));
        let sizes = regions.across.sizes;
        let [first, second] = across(ALONG);
        let LineMatrices { lower, cell: matrix, .. } = self.matrices;
        let mut item = thread::thread_idx_x() as usize;
        while item < sizes[first] * sizes[second] * cells {
            let (mut node, cell) = line(item, ALONG, sizes);
            let global = self.origin[ALONG] + cell;
            if global < self.cells(ALONG) {
                // From the first node of the cell before.
                let at = |d: usize| match d {
                    _ if d == ALONG => cell * C,
                    _ if d == OWN || d >= DIM => node[d],
                    _ => node[d] + C,
                };
                let (start, stride) = (regions.x.at([at(0), at(1), at(2)]), regions.x.strides()[ALONG]);
                let mut sums = [T::ZERO; C];
                for t in 0..C {
                    let value = x.get(start + t * stride);
                    for r in 0..C {
                        sums[r] = T::fma(lower[t][r], value, sums[r]);
                    }
                }
                let own = x.read::<C>(Column { start: start + C * stride, stride });
                for t in 0..C {
                    for r in 0..C {
                        sums[r] = T::fma(matrix[t][r], own[t], sums[r]);
                    }
                }
                for t in 0..C {
                    let value = x.get(start + (2 * C + t) * stride);
                    for r in 0..C {
                        sums[r] = T::fma(lower[C - 1 - t][C - 1 - r], value, sums[r]);
                    }
                }
                // SAFETY: the two matrices.
                unsafe {
                    if global == 0 {
                        add_product(self.ends, &own, &mut sums);
                    }
                    if global + 1 == self.cells(ALONG) {
                        add_product(self.ends.add(C * C), &own, &mut sums);
                    }
                }
                let form = self.matrices.form_scales[ALONG];
                let scale = if DIM == 3 { form * self.weight(third, node[third]) } else { form };
                node[ALONG] = cell * C;
                let place = Column { start: regions.across.at(node), stride: regions.across.strides()[ALONG] };
                for r in 0..C {
                    let at = place.start + r * place.stride;
                    let sum = if ADD { T::fma(scale, sums[r], result.get(at)) } else { scale * sums[r] };
                    result.set(at, sum);
                }
            }
            item += const { threads(DIM, C) };
        }
    }

    /// What is along the component: `ν L`, `M` of what is across, and the gradient of the pressure.
    #[inline(always)]
    unsafe fn form_along<const DIM: usize, const OWN: usize>(&self) {
        let regions = const { Regions::new(DIM, C, OWN) };
        let starts = const { Regions::new(DIM, C, OWN).starts() };
        let cells = const { tile_cells(DIM, C) };
        let (x, across_part, result) = (Shared::<T>::at(0), Shared::<T>::at(starts[1]), Shared::<T>::at(starts[2]));
        let (sizes, stride) = (regions.result.sizes, self.fields.strides(C)[OWN]);
        let pressure = self.x.wrapping_add(self.fields.first(DIM));
        let [first, second] = across(OWN);
        let LineMatrices { mass, stiffness, divergence, .. } = self.matrices;
        let mut item = thread::thread_idx_x() as usize;
        while item < sizes[first] * sizes[second] * cells {
            let (mut node, cell) = line(item, OWN, sizes);
            node[OWN] = cell * C;
            let global = self.origin[OWN] + cell;
            let (is_inside, offset) = self.place::<DIM>(node);
            if is_inside {
                // From the first node of the cell before.
                let (across_start, across_stride) = (regions.across.at(node), regions.across.strides()[OWN]);
                let at = |d: usize| if d == OWN || d >= DIM { node[d] } else { node[d] + C };
                let (x_start, x_stride) = (regions.x.at([at(0), at(1), at(2)]), regions.x.strides()[OWN]);
                let weight = self.weight_across::<DIM>(OWN, node);
                let reaction = self.matrices.reaction * weight;
                // Value and what `M` is applied to.
                let entries = |t: usize| {
                    let value = x.get(x_start + t * x_stride);
                    (value, T::fma(reaction, value, across_part.get(across_start + t * across_stride)))
                };
                let (mut forms, mut masses, mut gradients) = ([T::ZERO; C], [T::ZERO; C], [T::ZERO; C]);
                // SAFETY: nodes of the pressure.
                unsafe {
                    // The first node is that of the cell before, too; where there is none, everything there is zero.
                    if global > 0 {
                        for t in 0..E {
                            let (value, other) = entries(t);
                            forms[0] = T::fma(stiffness[t][C], value, forms[0]);
                            masses[0] = T::fma(mass[t][C], other, masses[0]);
                        }
                        for t in 0..C {
                            let value = *pressure.wrapping_add(offset).wrapping_sub((C - t) * stride);
                            gradients[0] = T::fma(divergence[t][C], value, gradients[0]);
                        }
                    }
                    for t in 0..E {
                        let (value, other) = entries(C + t);
                        for r in 0..C {
                            forms[r] = T::fma(stiffness[t][r], value, forms[r]);
                            masses[r] = T::fma(mass[t][r], other, masses[r]);
                        }
                    }
                    for t in 0..C {
                        let value = *pressure.wrapping_add(offset + t * stride);
                        for r in 0..C {
                            gradients[r] = T::fma(divergence[t][r], value, gradients[r]);
                        }
                    }
                }
                let (form, of_mass) = (weight * self.matrices.form_scales[OWN], self.matrices.mass_scales[OWN]);
                for r in 0..C {
                    let sum = T::fma(form, forms[r], T::fma(of_mass, masses[r], -(weight * gradients[r])));
                    let is_unknown = r > 0 || global > 0;
                    let place = regions.result.at(node) + r * regions.result.strides()[OWN];
                    result.set(place, if is_unknown { sum } else { T::ZERO });
                }
            }
            item += const { threads(DIM, C) };
        }
    }

    /// The divergence's part of direction `ALONG`: set in the first, else added.
    #[inline(always)]
    unsafe fn divergence<const DIM: usize, const ALONG: usize>(&self) {
        let region = const { Regions::new(DIM, C, DIM).result };
        let cells = const { tile_cells(DIM, C) };
        let (result, stride) = (Shared::<T>::at(0), self.fields.strides(C)[ALONG]);
        let x = self.x.wrapping_add(self.fields.first(ALONG));
        let [first, second] = across(ALONG);
        let matrix = &self.matrices.divergence;
        let mut item = thread::thread_idx_x() as usize;
        while item < region.sizes[first] * region.sizes[second] * cells {
            let (mut node, cell) = line(item, ALONG, region.sizes);
            node[ALONG] = cell * C;
            let global = self.origin[ALONG] + cell;
            let (is_inside, offset) = self.place::<DIM>(node);
            if is_inside {
                let mut sums = [T::ZERO; C];
                for t in 0..E {
                    // The last node of the last cell is no unknown.
                    let is_node = t < C || global + 1 < self.cells(ALONG);
                    // SAFETY: a node of the component.
                    let value = if is_node { unsafe { *x.wrapping_add(offset + t * stride) } } else { T::ZERO };
                    for r in 0..C {
                        sums[r] = T::fma(matrix[r][t], value, sums[r]);
                    }
                }
                let weight = -self.weight_across::<DIM>(ALONG, node);
                for r in 0..C {
                    let place = region.at(node) + r * region.strides()[ALONG];
                    let sum = if ALONG == 0 { weight * sums[r] } else { T::fma(weight, sums[r], result.get(place)) };
                    result.set(place, sum);
                }
            }
            item += const { threads(DIM, C) };
        }
    }

    /// The result, from a word on, to global memory.
    #[inline(always)]
    unsafe fn store<const DIM: usize>(&self, field: usize, start: usize) {
        let region = const { Regions::new(DIM, C, DIM).result };
        let (result, first) = (Shared::<T>::at(start), self.fields.first(field));
        let [sx, sy, sz] = region.sizes;
        let mut item = thread::thread_idx_x() as usize;
        while item < sx * sy * sz {
            let node = node_of(item, region.sizes);
            let (is_inside, offset) = self.place::<DIM>(node);
            if is_inside {
                let (value, offset) = (result.get(region.at(node)), first + offset);
                // SAFETY: an entry of the field, which no other thread writes.
                unsafe {
                    *self.y.add(offset) = if self.b.is_null() { value } else { *self.b.add(offset) - value };
                }
            }
            item += const { threads(DIM, C) };
        }
    }
}

/// `y += A x`, a column of `A` after the other.
///
/// # Safety
/// The matrix has `C²` entries.
#[inline(always)]
unsafe fn add_product<T: Real, const C: usize>(matrix: *const T, x: &[T; C], y: &mut [T; C]) {
    for t in 0..C {
        for r in 0..C {
            // SAFETY: the caller's promise.
            y[r] = T::fma(unsafe { *matrix.add(t * C + r) }, x[t], y[r]);
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
pub unsafe fn residual<T: Real, const DIM: usize, const C: usize, const E: usize>(
    matrices: &LineMatrices<T, C, E>,
    ends: *const T,
    b: *const T,
    x: *const T,
    y: *mut T,
    fields: Fields,
) {
    let cells = const { tile_cells(DIM, C) };
    let block = thread::block_idx_x() as usize;
    let field = block % (DIM + 1);
    let tiles = [block / (DIM + 1), thread::block_idx_y() as usize, thread::block_idx_z() as usize];
    let tile = Tile { matrices, ends, b, x, y, fields, origin: tiles.map(|tile| tile * cells) };
    // SAFETY, throughout: the caller's promise. Barriers are passed by all threads, whatever the block's field.
    unsafe {
        of_component!(field, DIM, [0 1 2], OWN => tile.load::<DIM, OWN>());
        if field == DIM {
            tile.divergence::<DIM, 0>();
        }
        thread::sync_threads();
        match field {
            0 => tile.form_across::<DIM, 0, 1, false>(),
            1 => tile.form_across::<DIM, 1, 0, false>(),
            2 if DIM == 3 => tile.form_across::<DIM, 2, 0, false>(),
            _ => tile.divergence::<DIM, 1>(),
        }
        thread::sync_threads();
        if DIM == 3 {
            match field {
                0 => tile.form_across::<DIM, 0, 2, true>(),
                1 => tile.form_across::<DIM, 1, 2, true>(),
                2 => tile.form_across::<DIM, 2, 1, true>(),
                _ => tile.divergence::<DIM, 2>(),
            }
            thread::sync_threads();
        }
        of_component!(field, DIM, [0 1 2], OWN => tile.form_along::<DIM, OWN>());
        thread::sync_threads();
        let starts = const {
            [
                Regions::new(DIM, C, 0).starts()[2],
                Regions::new(DIM, C, 1).starts()[2],
                Regions::new(DIM, C, 2).starts()[2],
            ]
        };
        tile.store::<DIM>(field, if field == DIM { 0 } else { pick(starts, field) });
    }
}
