//! Bank conflicts: how often shared memory must be read or written to serve a warp.
//!
//! Shared memory has 32 banks of 4-byte words, word `w` in bank `w mod 32`, and in one wavefront serves one word of each
//! bank, to any number of lanes. A request of 2 or 4 bytes a lane is served for the whole warp, one of 8 bytes for each
//! half of it, one of 16 for each quarter. The wavefronts of a part are therefore the largest number of different words in
//! a bank; without conflicts each part that has an active lane takes one.

use super::trace::WARP;
use core::iter::Sum;
use std::vec::Vec;

const BANKS: u32 = 32;
const WORD: u32 = 4;

/// What the lanes of a warp access with one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    bytes: u32,
    /// Byte addresses; none for a lane that is not active.
    addresses: [Option<u32>; WARP],
}

/// Passes through shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// All of them.
    pub total: u64,
    /// Those that there would be without bank conflicts.
    pub least: u64,
}

impl Wavefronts {
    /// Caused by bank conflicts.
    pub fn excess(self) -> u64 {
        self.total - self.least
    }
}

impl Sum for Wavefronts {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::default(), |sum, term| Self { total: sum.total + term.total, least: sum.least + term.least })
    }
}

impl Request {
    /// Of 2, 4, 8 or 16 bytes a lane, at the aligned byte addresses of up to 32 lanes.
    pub fn new(bytes: u32, lanes: impl IntoIterator<Item = Option<u32>>) -> Self {
        let mut addresses = [None; WARP];
        for (address, lane) in addresses.iter_mut().zip(lanes) {
            *address = lane;
        }
        Self { bytes, addresses }
    }

    /// Active lanes.
    pub fn lanes(&self) -> usize {
        self.addresses.iter().flatten().count()
    }

    /// That serve it.
    pub fn wavefronts(&self) -> Wavefronts {
        let parts = self.bytes.div_ceil(WORD) as usize;
        self.addresses.chunks(WARP / parts).map(|lanes| self.wavefronts_of(lanes)).sum()
    }

    fn wavefronts_of(&self, lanes: &[Option<u32>]) -> Wavefronts {
        let words = |address: u32| (address..address + self.bytes).step_by(WORD as usize).map(|byte| byte / WORD);
        let mut words: Vec<_> = lanes.iter().flatten().copied().flat_map(words).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0; BANKS as usize];
        for word in words {
            banks[(word % BANKS) as usize] += 1;
        }
        let total = banks.into_iter().max().unwrap_or(0);
        Wavefronts { total, least: total.min(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, address: impl Fn(u32) -> u32) -> (u64, u64) {
        let Wavefronts { total, least } = Request::new(bytes, (0..32).map(|lane| Some(address(lane)))).wavefronts();
        (total, least)
    }

    #[test]
    fn every_word_of_a_bank_takes_a_wavefront() {
        for (stride, conflicts) in
            [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (31, 1), (32, 32), (33, 1)]
        {
            assert_eq!(of(4, |lane| 4 * stride * lane), (conflicts, 1), "stride {stride}");
        }
    }

    #[test]
    fn doubles_are_served_to_half_a_warp_at_a_time() {
        for (stride, conflicts) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (15, 1), (16, 16), (17, 1)] {
            assert_eq!(of(8, |lane| 8 * stride * lane), (2 * conflicts, 2), "stride {stride}");
        }
        // Each half is free of conflicts, whatever the other does.
        assert_eq!(of(8, |lane| 8 * (lane % 16)), (2, 2));
    }

    #[test]
    fn rows_of_16_bytes_are_served_to_a_quarter_of_a_warp_at_a_time() {
        for (stride, conflicts) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (7, 1), (8, 8)] {
            assert_eq!(of(16, |lane| 16 * stride * lane), (4 * conflicts, 4), "stride {stride}");
        }
    }

    #[test]
    fn halves_of_a_word_are_served_at_once() {
        assert_eq!(of(2, |lane| 2 * lane), (1, 1));
        assert_eq!(of(2, |lane| 4 * lane + 2 * (lane % 2)), (1, 1));
        assert_eq!(of(2, |lane| 128 * lane), (32, 1));
    }

    #[test]
    fn lanes_that_share_a_word_do_not_conflict() {
        assert_eq!(of(4, |lane| 4 * (lane / 2)), (1, 1));
        assert_eq!(of(4, |lane| 4 * 32 * (lane / 16)), (2, 1));
    }

    #[test]
    fn inactive_lanes_need_nothing() {
        let even = |bytes: u32, first: u32, last: u32| {
            let lanes = (0..32).map(|lane| (first..last).contains(&lane).then_some(2 * bytes * lane));
            Request::new(bytes, lanes).wavefronts()
        };
        assert_eq!(even(4, 0, 0), Wavefronts { total: 0, least: 0 });
        assert_eq!(even(4, 0, 16), Wavefronts { total: 1, least: 1 });
        assert_eq!(even(8, 0, 8), Wavefronts { total: 1, least: 1 });
        assert_eq!(even(8, 20, 32), Wavefronts { total: 2, least: 1 });
        assert_eq!(even(8, 15, 32), Wavefronts { total: 3, least: 2 });
        assert_eq!(even(8, 20, 32).excess(), 1);
    }
}
