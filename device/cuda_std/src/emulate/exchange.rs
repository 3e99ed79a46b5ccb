//! What the threads of a warp give each other.

use super::trace::WARP;
use super::{Wait, suspend, with};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::vec::Vec;

/// Words that a thread gives at most.
const WORDS: usize = 24;

/// The meeting place of a warp.
pub(super) struct Warp {
    /// Two sets of slots: who is late still reads the one while others write the other.
    slots: [Vec<[AtomicU32; WORDS]>; 2],
    /// Exchanges that a thread has taken part in.
    turns: Vec<AtomicUsize>,
}

impl Warp {
    /// Those of a block.
    pub fn all(threads: usize) -> Vec<Arc<Self>> {
        (0..threads).step_by(WARP).map(|_| Arc::new(Self::new())).collect()
    }

    /// One that waits for nobody: nobody else writes its slots.
    pub fn alone() -> Arc<Self> {
        Arc::new(Self::new())
    }

    fn new() -> Self {
        let slots = || (0..WARP).map(|_| core::array::from_fn(|_| AtomicU32::new(0))).collect();
        let turns = (0..WARP).map(|_| AtomicUsize::new(0)).collect();
        Self { slots: [slots(), slots()], turns }
    }
}

/// What every lane of the warp gives; all of them come here together. In a trace, where threads run one after the other,
/// the others give zeros.
pub fn exchange<const N: usize>(given: [u32; N]) -> [[u32; N]; WARP] {
    const { assert!(N <= WORDS) }
    let (lane, warp) = with(|context| {
        if let Some(recorder) = &mut context.recorder {
            recorder.pass_exchange();
        }
        (context.thread as usize % WARP, context.warp.clone())
    });
    let slots = &warp.slots[warp.turns[lane].fetch_add(1, Ordering::Relaxed) % 2];
    for (slot, word) in slots[lane].iter().zip(given) {
        slot.store(word, Ordering::Relaxed);
    }
    suspend(Wait::Warp);
    core::array::from_fn(|other| core::array::from_fn(|word| slots[other][word].load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::Launch;
    use crate::thread;

    #[test]
    fn lanes_of_a_warp_see_what_each_gave_in_the_same_turn() {
        Launch { grid: [2, 1, 1], threads: 80, shared_bytes: 0 }.run(|| {
            let (thread, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / 32);
            for turn in 0..50 {
                let all = exchange([thread, turn]);
                for (lane, given) in all.iter().take(if warp == 2 { 16 } else { 32 }).enumerate() {
                    assert_eq!(*given, [32 * warp + lane as u32, turn]);
                }
            }
        });
    }
}
