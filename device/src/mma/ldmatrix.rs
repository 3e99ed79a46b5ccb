//! `ldmatrix`: matrices of 8 x 8 elements of 16 bits from shared memory into fragments.
//!
//! Lane `l` gives the address of row `l % 8` of matrix `l / 8`, aligned to its 16 bytes, and gets of each matrix the
//! elements `2 (l % 4)` and `2 (l % 4) + 1` of row `l / 4`; transposed, of the rows of these numbers element `l / 4`.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

macro_rules! ldmatrix {
    ($(#[$doc:meta])* $name:ident, $count:literal, $plain:literal, $transposed:literal, [$($i:literal)+]) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// All lanes of the warp come here together; the addresses, byte addresses of the shared window, are aligned to 16
        /// bytes and inside the block's shared memory, which nobody writes until the next barrier.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name<const TRANSPOSED: bool>(address: u32) -> [u32; $count] {
            #[cfg(target_arch = "nvptx64")]
            {
                let mut registers = [0_u32; $count];
                // SAFETY: the caller's promise. Not `pure`: the lanes of the warp depend on each other.
                unsafe {
                    if TRANSPOSED {
                        asm!($transposed, $(out(reg32) registers[$i],)+ in(reg32) address, options(readonly, nostack, preserves_flags))
                    } else {
                        asm!($plain, $(out(reg32) registers[$i],)+ in(reg32) address, options(readonly, nostack, preserves_flags))
                    }
                };
                registers
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller's promise.
            unsafe {
                emulated::<$count, TRANSPOSED>(address)
            }
        }
    };
}
ldmatrix!(
    /// One matrix; the addresses of lanes 8 and above are not used.
    ldmatrix_x1, 1,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{{0}}}, [{1}];",
    "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {{{0}}}, [{1}];",
    [0]
);
ldmatrix!(
    /// Two matrices; the addresses of lanes 16 and above are not used.
    ldmatrix_x2, 2,
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{{0}, {1}}}, [{2}];",
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {{{0}, {1}}}, [{2}];",
    [0 1]
);
ldmatrix!(
    /// Four matrices.
    ldmatrix_x4, 4,
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
    [0 1 2 3]
);

/// Each lane reads a word of a row, and hands it on; a trace, in which lanes do not see each other, is told of the rows.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
unsafe fn emulated<const COUNT: usize, const TRANSPOSED: bool>(address: u32) -> [u32; COUNT] {
    use cuda_std::emulate::exchange;
    use cuda_std::shared::{CHUNK, Word};
    let lane = cuda_std::thread::thread_idx_x() as usize % super::LANES;
    if cuda_std::emulate::traces() {
        cuda_std::emulate::request((lane < 8 * COUNT).then_some(address), CHUNK, false);
        return [0; COUNT];
    }
    let addresses = exchange([address]);
    let words: [u32; COUNT] = core::array::from_fn(|matrix| {
        let row = addresses[8 * matrix + lane / 4][0];
        // SAFETY: the caller's promise; any 32 bits are an `f32`.
        unsafe { f32::load(row + 4 * (lane % 4) as u32) }.to_bits()
    });
    if !TRANSPOSED {
        return words;
    }
    let all = exchange(words);
    core::array::from_fn(|matrix| {
        let element = |row: usize| all[4 * row + lane / 8][matrix] >> (16 * (lane / 4 % 2)) & 0xffff;
        element(2 * (lane % 4)) | element(2 * (lane % 4) + 1) << 16
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mma::LANES;
    use cuda_std::emulate::Launch;
    use cuda_std::shared::{Dynamic, Word};

    /// Element `(row, column)` of matrix `m`, 16 bits.
    fn entry(m: usize, row: usize, column: usize) -> u32 {
        (64 * m + 8 * row + column) as u32
    }

    fn check<const COUNT: usize>(load: impl Fn(u32, bool) -> [u32; COUNT] + Sync) {
        Launch { grid: [1, 1, 1], threads: 32, shared_bytes: 512 }.run(|| {
            let lane = cuda_std::thread::thread_idx_x() as usize;
            let start = Dynamic::<f32>::at(0);
            let (m, row) = (lane / 8, lane % 8);
            for word in 0..4 {
                let bits = entry(m, row, 2 * word) | entry(m, row, 2 * word + 1) << 16;
                // SAFETY: each lane writes its row.
                unsafe { f32::store(start.address((4 * lane + word) as u32), f32::from_bits(bits)) };
            }
            cuda_std::thread::sync_threads();
            let address = start.address(4 * lane as u32);
            let (plain, transposed) = (load(address, false), load(address, true));
            for m in 0..COUNT {
                let (row, column) = (lane / 4, 2 * (lane % 4));
                assert_eq!(plain[m], entry(m, row, column) | entry(m, row, column + 1) << 16);
                assert_eq!(transposed[m], entry(m, column, row) | entry(m, column + 1, row) << 16);
            }
        });
    }

    #[test]
    fn lanes_get_their_elements() {
        assert_eq!(LANES, 32);
        // SAFETY: all lanes come together, with addresses of rows.
        check(|address, transposed| unsafe {
            if transposed { ldmatrix_x1::<true>(address) } else { ldmatrix_x1::<false>(address) }
        });
        // SAFETY: as above.
        check(|address, transposed| unsafe {
            if transposed { ldmatrix_x2::<true>(address) } else { ldmatrix_x2::<false>(address) }
        });
        // SAFETY: as above.
        check(|address, transposed| unsafe {
            if transposed { ldmatrix_x4::<true>(address) } else { ldmatrix_x4::<false>(address) }
        });
    }
}
