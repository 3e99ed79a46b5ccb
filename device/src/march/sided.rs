//! The same on boxes with any sides, whose vectors have all nodes of each direction.
//!
//! Along a period blocks begin with the piece before its first one. Behind an upper Neumann side there is one more piece, which owns the results
//! there and adds nothing to them. Loads on Neumann sides count twice, because `T` gives half of them to a piece beyond.

use super::place::{March, Range};
use super::{Matrices, Nodes, Strip, along_x, along_y, steps, sum_of_line, waiting};
use crate::layout::Shared;
use crate::operator::cells::Multiple;
use crate::patch::{Direction, Directions, bit, class_count, class_patch, touches_first};
use crate::scalar::Real;
use cuda_std::hint::{loads_together, made_here};
use cuda_std::shared::Word;
use cuda_std::thread;

/// Which part of a level a launch is for.
#[derive(Clone, Copy)]
pub struct SidedPart {
    /// Those of the level of `b` and `x`, which has two cells for each piece.
    pub fine: Directions,
    /// Class of pieces.
    pub class: u32,
    /// Pieces from block to block in the direction of the march.
    pub chunk: u32,
}

impl SidedPart {
    /// The same values, made anew.
    #[inline(always)]
    fn remade(self) -> Self {
        Self { fine: self.fine.remade(), class: made_here(self.class), chunk: made_here(self.chunk) }
    }
}

/// Blocks of a class, in chunks of so many pieces in the direction of the march; a 0 if it has none.
pub fn sided_blocks(strip: Strip, SidedPart { fine: Directions(fine), class, chunk }: SidedPart) -> [u32; 3] {
    // Where blocks share pieces: those with results, and the one before a period.
    let along = |direction: usize, distance: u32| {
        let of = fine[direction].coarser();
        (of.output_cells() + of.is_periodic - 1).div_ceil(distance).max(1)
    };
    let of_class = |direction: usize| class_count(fine[direction].cells, bit(class, direction - 1));
    if strip.along_x {
        return [along(0, chunk), of_class(1), of_class(2)];
    }
    let x = along(0, strip.distance());
    if strip.dim == 3 { [x, of_class(1), along(2, chunk)] } else { [x, along(1, chunk), 1] }
}

impl March {
    #[inline(always)]
    fn sided(strip: Strip, SidedPart { fine: Directions(fine), class, chunk }: SidedPart) -> Self {
        let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        let block = if strip.along_x { block.map(made_here) } else { block };
        let in_class = |direction: usize| class_patch(bit(class, direction - 1), block[direction] as usize) as u32;
        let range = |direction: usize, distance: u32| {
            let of = fine[direction].coarser();
            // It may be -1, wrapped.
            let first = (block[direction] * distance).wrapping_sub(of.is_periodic);
            let end = first.wrapping_add(distance + 1);
            let own = if block[direction] + of.is_periodic > 0 { first.wrapping_add(1) } else { 0 };
            Range { first, own, end: if end < of.output_cells() { end } else { of.output_cells() } }
        };
        let last = if strip.along_x {
            Range { first: in_class(2), own: in_class(2), end: in_class(2) + 1 }
        } else {
            range(strip.dim - 1, chunk)
        };
        let x = range(0, if strip.along_x { chunk } else { strip.distance() });
        Self { strip, x, y: if strip.dim == 3 { in_class(1) } else { 0 }, last }
    }
}

/// A thread's column of nodes.
#[derive(Clone, Copy)]
struct Column {
    /// Offset of its node in the first plane, in 2D row.
    first: u32,
    /// How often its loads are doubled.
    doubled: u32,
}

/// Whether a load counts twice at a node of a direction: at a Neumann side. Where the solution is given nobody uses it.
#[inline(always)]
fn is_doubled(of: Direction, degree: usize, node: u32) -> bool {
    of.is_periodic == 0 && (node == 0 || node + 1 == of.nodes(degree))
}

impl Column {
    /// Of a step that begins at a piece; none beyond a side.
    #[inline(always)]
    fn of(strip: Strip, Directions([of_x, of_y, _]): Directions, thread: u32, piece: [u32; 3]) -> Option<Self> {
        let k = strip.degree;
        // Threads without a column read the last one.
        let column = thread.min(strip.columns() as u32 - 1);
        let [x, y, _] = piece.map(|piece| (strip.nodes as u32).wrapping_mul(piece));
        let x = of_x.wrapped(k, x.wrapping_add(column % strip.width() as u32))?;
        let doubled = u32::from(is_doubled(of_x, k, x));
        if strip.dim == 2 {
            return Some(Self { first: x, doubled });
        }
        let y = of_y.wrapped(k, y + column / strip.width() as u32)?;
        Some(Self { first: x + of_x.row(k) * y, doubled: doubled + u32::from(is_doubled(of_y, k, y)) })
    }
}

/// The first and the last node of a piece along the last direction, which in a period may lie before the first; none beyond a side.
#[inline(always)]
fn ends(strip: Strip, Directions(fine): Directions, piece: u32) -> Option<[u32; 2]> {
    let along = fine[strip.dim - 1];
    let first = along.wrapped(strip.degree, (strip.nodes as u32).wrapping_mul(piece))?;
    Some([first, along.wrapped(strip.degree, first + strip.nodes as u32)?])
}

impl<T: Real, const N: usize> Nodes<T, N> {
    /// Reads a column from its `first` node on: what follows another begins with its last node.
    ///
    /// # Safety
    /// The column is of the vector, whose nodes are so far from each other.
    #[inline(always)]
    unsafe fn read_sided(&mut self, place: Option<(Column, [u32; 2])>, stride: u32, first: usize) {
        let Some((column, ends)) = place else {
            self.values = [T::ZERO; N];
            return;
        };
        self.values[0] = self.values[N - 1];
        let (column, stride) = (self.vector.wrapping_add(column.first as usize), made_here(stride));
        let [lower, upper] = ends.map(|node| column.wrapping_add(stride as usize * node as usize));
        for i in first..N {
            let node = if i + 1 < N { lower.wrapping_add((i as u32 * stride) as usize) } else { upper };
            // SAFETY: the caller's promise.
            self.values[i] = unsafe { *node };
        }
    }
}

/// `b` as it counts.
#[inline(always)]
fn load<T: Real, const N: usize>(
    strip: Strip,
    Directions(fine): Directions,
    (column, ends): (Column, [u32; 2]),
    values: &[T; N],
) -> [T; N] {
    let (mut values, along) = (*values, fine[strip.dim - 1]);
    for times in 0..strip.dim as u32 - 1 {
        if column.doubled > times {
            for i in 0..N {
                values[i] = values[i] + values[i];
            }
        }
    }
    if is_doubled(along, strip.degree, ends[0]) {
        values[0] = values[0] + values[0];
    }
    if is_doubled(along, strip.degree, ends[1]) {
        values[N - 1] = values[N - 1] + values[N - 1];
    }
    values
}

/// [`march`](super::march()) on a box with any sides, whose pieces along each period are even in number. `put` gets nodes of the results, in 2D with y
/// as the last one, whether other classes have not touched them yet, and the sums.
///
/// # Safety
/// Launched as [`Strip::shape`] and [`sided_blocks`] say; the vectors are of the level, and `put` may be called for unknowns of that of the results.
#[inline(always)]
pub unsafe fn march_sided<T: Real + Word, R: Multiple<T>, const N: usize, const C: usize, const H: usize>(
    strip: Strip,
    early: bool,
    matrices: &Matrices<T, R, N, H>,
    [b, x]: [*const T; 2],
    part: SidedPart,
    put: impl Fn([u32; 3], bool, T),
) {
    let own = thread::thread_idx_x();
    // Where blocks march along x nothing is kept from step to step: it would spill.
    let anew = |part: SidedPart| if strip.along_x { part.remade() } else { part };
    let march = || March::sided(strip, anew(part));
    let steps = made_here(march().steps());
    let column = |step: u32, fine: Directions, thread: u32| Column::of(strip, fine, thread, march().place(step));
    let kept = if strip.along_x { None } else { column(0, part.fine, own) };
    let place = |step: u32, fine: Directions| {
        let column = if strip.along_x { column(step, fine, made_here(own)) } else { kept };
        Some((column?, ends(strip, fine, march().place(step)[2])?))
    };
    let stride = |Directions([of_x, of_y, _]): Directions| {
        let row = of_x.row(strip.degree);
        if strip.dim == 3 { row * of_y.nodes(strip.degree) } else { row }
    };
    let read = |nodes: &mut [Nodes<T, N>], step: u32| {
        let fine = anew(part).fine;
        let (place, first) = (place(step, fine), if strip.along_x { 0 } else { 1 });
        for nodes in nodes {
            // SAFETY: a column of the level.
            unsafe { nodes.read_sided(place, stride(fine), first) };
        }
    };
    let load = |step: u32, values: &[T; N]| {
        let fine = anew(part).fine;
        place(step, fine).map_or(*values, |place| load(strip, fine, place, values))
    };
    let mut nodes = [x, b].map(|vector| Nodes { vector, values: [T::ZERO; N] });
    if !strip.along_x && own < strip.columns() as u32 {
        // The first node is where the last one of a piece before it would be.
        let place = place(0, part.fine).map(|(column, [first, _])| (column, [first; 2]));
        for nodes in &mut nodes {
            // SAFETY: as above.
            unsafe { nodes.read_sided(place, stride(part.fine), N - 1) };
        }
    }
    // Nothing waits for the first step.
    if strip.along_x && own < strip.result_lines() as u32 {
        waiting::<T>(strip, 1).set(own as usize, T::ZERO);
    }
    let adds = |step: u32, piece: u32| {
        let of = part.fine.0[0];
        of.is_periodic == 1 || 2 * march().place(step)[0].wrapping_add(piece) < of.cells
    };
    steps!(strip, early, matrices, nodes, steps, read, load, adds, |step, thread| {
        store(march(), anew(part), matrices.factors[0], step, thread, &put)
    });
}

/// As [`store`](super::store), on these nodes.
#[inline(always)]
fn store<T: Real + Word>(
    march: March,
    part: SidedPart,
    factor: T,
    step: u32,
    thread: u32,
    put: &impl Fn([u32; 3], bool, T),
) {
    let strip = march.strip;
    let (k, width) = (strip.degree as u32, strip.result_width() as u32);
    let (rows, lines) = (strip.result_rows() as u32, strip.result_lines() as u32);
    let lines_at_once = strip.threads() as u32 / width;
    let (i, first) = if lines_at_once == 1 { (thread, 0) } else { (thread % width, thread / width) };
    let has_line = if lines_at_once == 1 { i < width } else { first < lines_at_once };
    let origin = march.place(step).map(|piece| k.wrapping_mul(piece));
    let directions = part.fine.0.map(Direction::coarser);
    let owns = |direction: usize, Range { own, end, .. }: Range, node: u32| {
        node >= k * own && node < k * end && directions[direction].is_unknown(strip.degree, node)
    };
    // The node of a result in another direction, and whether this class touches it first: at an end there is nobody else.
    let touched = |direction: usize, local: u32| {
        let of = directions[direction];
        let node = of.wrapped(strip.degree, origin[direction] + local)?;
        let is_end = of.is_periodic == 0 && node + 1 == of.nodes(strip.degree);
        let is_first = is_end || touches_first(bit(part.class, direction - 1), local == 0 || local == k);
        of.is_unknown(strip.degree, node).then_some((node, is_first))
    };
    let x = origin[0].wrapping_add(i);
    let is_owned = owns(0, march.x, x) && i < k * strip.pieces as u32;
    for round in 0..lines.div_ceil(lines_at_once) {
        let line = first + round * lines_at_once;
        if has_line && line < lines {
            let mut sum: T = sum_of_line!(strip, factor, step, line, i);
            let (y, z) = (line % rows, line / rows);
            let last = origin[2].wrapping_add(z);
            let along_y = if strip.dim == 3 { touched(1, y) } else { Some((0, true)) };
            let along_last = match strip.along_x {
                true => touched(2, z),
                false => owns(strip.dim - 1, march.last, last).then_some((last, true)),
            };
            if is_owned && let (Some((y, is_first_y)), Some((z, is_first_z))) = (along_y, along_last) {
                if strip.along_x && i == 0 {
                    sum = sum + waiting::<T>(strip, step + 1).get(line as usize);
                }
                put([x, y, z], is_first_y && is_first_z, sum);
            }
        }
    }
}
