//! Tensors in shared memory: where a column lies, and its way into registers and back.
//!
//! A tensor of `X` entries a row and `Y` rows a plane is stored row-major, `x + X (y + Y z)`, without padding: `X` and
//! `Y` are odd for the nodes of a patch, so a warp that owns consecutive columns in y and z (rows, stride `X`) or in x
//! and y (stride `X Y`) touches every bank once.

/// Offset of the first entry and distance of the entries of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub start: usize,
    pub stride: usize,
}

impl Column {
    /// Offset of an entry.
    #[inline(always)]
    pub const fn at(self, index: usize) -> usize {
        self.start + index * self.stride
    }
}

/// A row-major tensor of `X` entries a row and `Y` rows a plane.
pub struct RowMajor<const X: usize, const Y: usize>;

impl<const X: usize, const Y: usize> RowMajor<X, Y> {
    /// The column along x at `(y, z)`.
    #[inline(always)]
    pub const fn along_x(y: usize, z: usize) -> Column {
        Column { start: X * (y + Y * z), stride: 1 }
    }

    /// The column along y at `(x, z)`.
    #[inline(always)]
    pub const fn along_y(x: usize, z: usize) -> Column {
        Column { start: x + X * Y * z, stride: X }
    }

    /// The column along z at `(x, y)`.
    #[inline(always)]
    pub const fn along_z(x: usize, y: usize) -> Column {
        Column { start: x + X * y, stride: X * Y }
    }
}

/// Where the entries of a tensor of `N` entries a direction lie, `x` fastest up to permutations within a row or a few.
pub trait Layout: Copy + 'static {
    /// Entries of a row in memory: `N`, and zeros.
    const PITCH: usize;
    /// Rows of a plane in memory.
    const ROWS: usize;

    /// Whether the offset of an entry is the exclusive or of those of its parts, any points with no bits in common that
    /// make it up.
    const LINEAR: bool = Self::PITCH.is_power_of_two() && Self::ROWS.is_power_of_two();

    /// Offset of entry `[x, y, z]`.
    fn index(point: [usize; 3]) -> usize;

    /// Entries in memory of so many planes.
    fn words(planes: usize) -> usize {
        Self::PITCH * Self::ROWS * planes
    }
}

/// `index`, or if it is not below `count`, at least 2, one of the last two of the same parity: where a fragment reads what
/// there is not, it reads what another lane does, or at least from another bank.
#[inline(always)]
pub const fn within(index: usize, count: usize) -> usize {
    if index < count { index } else { count - 1 - (count - 1 + index) % 2 }
}

/// [`RowMajor`] for tensors of `N` entries a row.
#[derive(Clone, Copy)]
pub struct Plain<const N: usize>;

impl<const N: usize> Layout for Plain<N> {
    const PITCH: usize = N;
    const ROWS: usize = N;

    #[inline(always)]
    fn index([x, y, z]: [usize; 3]) -> usize {
        RowMajor::<N, N>::along_x(y, z).start + x
    }
}

/// Rows and planes padded to whole fragments of matrix products, multiples of 8.
#[derive(Clone, Copy)]
pub struct Padded<const N: usize>;

impl<const N: usize> Layout for Padded<N> {
    const PITCH: usize = N.next_multiple_of(8);
    const ROWS: usize = N.next_multiple_of(8);

    #[inline(always)]
    fn index([x, y, z]: [usize; 3]) -> usize {
        x + Self::PITCH * (y + Self::ROWS * z)
    }
}

/// Rows padded to multiples of 8, and in each row the entries, in each pair or four of rows the rows, permuted by exclusive
/// or (paper 4, figure 4 and listing 4), so that warps read and write fragments of matrix products without bank conflicts.
///
/// A fragment has 8 (of 8-byte words 4 in half a warp) neighbours in one direction and 4 in another, or every second of 8.
/// Words are 4 or 8 bytes; the banks that hold 32 or 16 of them are numbered by 5 or 4 bits. `x` has the lowest three, and
/// the other bits of a bank's number are made from those of `y` and `z` so that whatever a fragment runs through is
/// independent:
///
/// ```text
/// 8 bytes:  y0 -> b3           y1 -> b2 + b0    y2 -> b3
///           z0 -> b3           z1 -> b2 + b0    z2 -> b3
/// 4 bytes:  y0 -> b3 (or b4)   y1 -> b4 (b3)    y2 -> b3 (b4) + b2 + b0
///           z0 -> b3 (b4)      z1 -> b4 (b3)    z2 -> b3 (b4)
/// ```
#[derive(Clone, Copy)]
pub struct XorSwizzle<const BYTES: usize, const N: usize>;

impl<const BYTES: usize, const N: usize> XorSwizzle<BYTES, N> {
    /// Rows that lie in different banks: the other bits permute them.
    const GROUP: usize = match (BYTES, Self::PITCH % 16 == 0) {
        (8, true) => 1,
        (8, false) | (4, true) => 2,
        (4, false) => 4,
        _ => panic!("words have 4 or 8 bytes"),
    };
}

impl<const BYTES: usize, const N: usize> Layout for XorSwizzle<BYTES, N> {
    const PITCH: usize = N.next_multiple_of(8);
    const ROWS: usize = N.next_multiple_of(Self::GROUP);

    #[inline(always)]
    fn index(point: [usize; 3]) -> usize {
        let [x, y, z] = point.map(|coordinate| coordinate as u32);
        let (bit_y, bit_z) = (|i: u32| y >> i & 1, |i: u32| z >> i & 1);
        let (even, odd) = (bit_y(2) ^ bit_z(0) ^ bit_z(2), bit_y(1) ^ bit_z(1));
        let (in_row, of_rows) = match (BYTES, Self::GROUP) {
            // Rows of 16 words are all banks, or half of them.
            (8, 1) => (8 * (even ^ bit_y(0)) + 5 * odd, 0),
            (8, _) => (5 * odd, even),
            (_, 2) => (8 * odd + 5 * bit_y(2), even),
            _ => (5 * bit_y(2), even + 2 * bit_z(1)),
        };
        let (pitch, rows) = (Self::PITCH as u32, Self::ROWS as u32);
        ((x ^ in_row) + pitch * ((y ^ of_rows) + rows * z)) as usize
    }
}

/// For halves, 2 bytes each, that `ldmatrix` reads eight at a time: rows are whole *chunks* of 8 entries, 16 bytes, and
/// shared memory serves 8 chunks at once, if their numbers differ modulo 8. Rows, and where a row has two chunks these, are
/// permuted by exclusive or so that chunks of 8 neighbouring rows of a plane, and of 8 neighbouring planes, do.
#[derive(Clone, Copy)]
pub struct ChunkSwizzle<const N: usize>;

impl<const N: usize> ChunkSwizzle<N> {
    /// Entries of a chunk.
    const CHUNK: usize = 8;
    /// Whether neighbouring rows begin two chunks apart, not an odd number of them.
    const IS_EVEN: bool = (Self::PITCH / Self::CHUNK).is_multiple_of(2);
}

impl<const N: usize> Layout for ChunkSwizzle<N> {
    const PITCH: usize = N.next_multiple_of(Self::CHUNK);
    const ROWS: usize = N.next_multiple_of(if Self::IS_EVEN { 4 } else { 8 });

    #[inline(always)]
    fn index(point: [usize; 3]) -> usize {
        const { assert!(Self::PITCH / Self::CHUNK <= 3) };
        let [x, y, z] = point.map(|coordinate| coordinate as u32);
        let (in_row, of_rows) = if Self::IS_EVEN { (((y ^ z) >> 2 & 1) << 3, z & 3) } else { (0, z & 7) };
        ((x ^ in_row) + Self::PITCH as u32 * ((y ^ of_rows) + Self::ROWS as u32 * z)) as usize
    }
}

pub use device::*;

mod device {
    use super::Column;
    use crate::scalar::Value;
    use cuda_std::shared::{Dynamic, Word};

    /// A patch's part of the block's dynamic shared memory.
    #[derive(Clone, Copy)]
    pub struct Shared<T>(Dynamic<T>);

    impl<T: Word> Shared<T> {
        /// From a word offset.
        #[inline(always)]
        pub fn at(offset: usize) -> Self {
            Self(Dynamic::at(offset as u32))
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn get(self, index: usize) -> T {
            // SAFETY: kernels are launched with the shared memory that their `Shape` says, and index within it.
            unsafe { self.0.get(index as u32) }
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn set(self, index: usize, value: T) {
            // SAFETY: as above.
            unsafe { self.0.set(index as u32, value) }
        }

        /// Sets it if the thread is active; others of its warp may be so while it is not.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn set_if(self, active: bool, index: usize, value: T) {
            // SAFETY: as above.
            unsafe { self.0.set_if(active, index as u32, value) }
        }

        /// Starts to copy if the thread is active; others of its warp may be so while it is not.
        ///
        /// # Safety
        /// As for [`Self::copy`], where it is active.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn copy_if(self, active: bool, index: usize, source: *const T) {
            // SAFETY: as above, and the caller's promise.
            unsafe { self.0.copy_async_if(active, index as u32, source) }
        }

        /// Starts to copy [`CHUNK`](cuda_std::shared::CHUNK) bytes from global memory to an entry and those behind it.
        ///
        /// # Safety
        /// As for [`Self::copy`], for all of them; both addresses are aligned to as many.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn copy_chunk(self, index: usize, source: *const T) {
            // SAFETY: as above, and the caller's promise.
            unsafe { self.0.copy_chunk_async(index as u32, source) }
        }

        /// Byte address in the shared window of an entry.
        #[inline(always)]
        pub fn address(self, index: usize) -> u32 {
            self.0.address(index as u32)
        }

        /// Starts to copy a word from global memory; `cuda_std::shared::wait_for_copies` and a barrier end it.
        ///
        /// # Safety
        /// `source` may be read, and nobody writes it until then.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn copy(self, index: usize, source: *const T) {
            // SAFETY: as above, and the caller's promise.
            unsafe { self.0.copy_async(index as u32, source) }
        }
    }

    impl<T: Word + Value<T>> Shared<T> {
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn read<const N: usize>(self, column: Column) -> [T; N] {
            let mut values = [T::ZERO; N];
            for i in 0..N {
                values[i] = self.get(column.at(i));
            }
            values
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn write<const N: usize>(self, column: Column, values: &[T; N]) {
            for i in 0..N {
                self.set(column.at(i), values[i]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use cuda_std::emulate::Request;
    use std::vec;

    fn bijective<L: Layout>(name: &str, n: usize) {
        let mut seen = vec![false; L::words(n)];
        for z in 0..n {
            for y in 0..n {
                for x in 0..L::PITCH {
                    let index = L::index([x, y, z]);
                    assert!(!seen[index], "{name} of {n}: two entries at {index}");
                    seen[index] = true;
                    let parts = (0..3).flat_map(|d| (0..8).map(move |bit| (d, 1 << bit)));
                    let of_parts = parts.fold(0, |sum, (d, bit)| {
                        let mut part = [0; 3];
                        part[d] = [x, y, z][d] & bit;
                        sum ^ L::index(part)
                    });
                    assert!(!L::LINEAR || index == of_parts, "{name} of {n}: {index} is not of its parts");
                }
            }
        }
    }

    /// Fragments of matrix products: no request takes a pass more than it must. A fragment's lanes have 8 entries in the
    /// wide direction, and in the narrow one 4 neighbours or every second of 8, of which the last are the last there are.
    fn free_of_conflicts<const BYTES: usize, const N: usize>() {
        bijective::<XorSwizzle<BYTES, N>>("xor swizzle", N);
        let pitch = XorSwizzle::<BYTES, N>::PITCH;
        let check = |wide: usize, fixed: usize, narrow: &dyn Fn(usize) -> usize| {
            for direction in 0..3 {
                let address = |lane: usize| {
                    let (w, n) = (wide + lane / 4, narrow(lane % 4));
                    let point = match direction {
                        0 => [within(n, pitch), within(w, N), fixed],
                        1 => [w, within(n, N), fixed],
                        _ => [w, fixed, within(n, N)],
                    };
                    Some((BYTES * XorSwizzle::<BYTES, N>::index(point)) as u32)
                };
                let excess = Request::new(BYTES as u32, (0..32).map(address)).wavefronts().excess();
                assert_eq!(excess, 0, "{N} entries of {BYTES} bytes, direction {direction}, {wide}, {fixed}");
            }
        };
        for wide in (0..pitch).step_by(8) {
            for fixed in 0..N {
                for start in (0..pitch).step_by(8) {
                    check(wide, fixed, &|t| start + t);
                    check(wide, fixed, &|t| start + 4 + t);
                    check(wide, fixed, &|t| start + 2 * t);
                    check(wide, fixed, &|t| start + 2 * t + 1);
                }
            }
        }
    }

    /// As above, of halves: `ldmatrix` takes eight rows of eight neighbours in x, rows in another direction; sums are stored
    /// with eight neighbours in one direction, every second of 8 in another one.
    fn chunks_free_of_conflicts<const N: usize>() {
        bijective::<ChunkSwizzle<N>>("chunk swizzle", N);
        let pitch = ChunkSwizzle::<N>::PITCH;
        let excess = |bytes: u32, lanes: usize, point: &dyn Fn(usize) -> [usize; 3]| {
            let addresses = (0..lanes).map(|lane| Some(2 * ChunkSwizzle::<N>::index(point(lane)) as u32));
            Request::new(bytes, addresses).wavefronts().excess()
        };
        for start in (0..pitch).step_by(8) {
            for fixed in 0..N {
                for chunk in (0..pitch).step_by(8) {
                    let row = |lane: usize| within(start + lane, N);
                    assert_eq!(
                        excess(16, 8, &|lane| [chunk, row(lane), fixed]),
                        0,
                        "{N}: rows {start} of plane {fixed}"
                    );
                    assert_eq!(
                        excess(16, 8, &|lane| [chunk, fixed, row(lane)]),
                        0,
                        "{N}: row {fixed} of planes {start}"
                    );
                    for odd in [0, 1] {
                        let (wide, narrow) =
                            (|lane: usize| chunk + lane / 4, |lane: usize| start + 2 * (lane % 4) + odd);
                        let along_x = |lane: usize| [narrow(lane), within(wide(lane), N), fixed];
                        assert_eq!(excess(2, 32, &along_x), 0, "{N}: x, {start}, {fixed}, {chunk}");
                        assert_eq!(excess(2, 32, &|lane| [wide(lane), within(narrow(lane), N), fixed]), 0, "{N}: y");
                        assert_eq!(excess(2, 32, &|lane| [wide(lane), fixed, within(narrow(lane), N)]), 0, "{N}: z");
                    }
                }
            }
        }
    }

    macro_rules! of_sizes {
        ($($n:literal)+) => {$(
            chunks_free_of_conflicts::<$n>();
            free_of_conflicts::<8, $n>();
            free_of_conflicts::<4, $n>();
            bijective::<Plain<$n>>("plain", $n);
            bijective::<Padded<$n>>("padded", $n);
        )+};
    }

    #[test]
    fn swizzles_are_bijective_and_fragments_free_of_conflicts_in_all_sizes() {
        of_sizes!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18);
    }
}
