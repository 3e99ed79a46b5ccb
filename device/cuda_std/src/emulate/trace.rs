//! What a block asks of shared memory: which lanes of a warp access which addresses with one instruction.
//!
//! An instruction is a call in the source, between two barriers; in a loop it is issued once a turn. The threads of a
//! warp run together, so the `n`-th access of every lane by one instruction is one request. The assembler may join
//! neighbours of one thread to a wider access, which is not modelled.

use super::banks::{Request, Wavefronts};
use core::panic::Location;
use std::collections::HashMap;
use std::vec::Vec;

/// Threads of a warp.
pub(super) const WARP: usize = 32;

/// An access to shared memory in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instruction {
    /// Barriers that the thread has passed.
    pub phase: u32,
    /// Where the kernel reads or writes.
    pub location: &'static Location<'static>,
    /// Bytes of a lane's access: 2, 4, 8 or 16.
    pub bytes: u32,
    /// Store or load.
    pub store: bool,
}

/// Byte addresses that a thread accessed, in order, by instruction; none where it took no part.
#[derive(Default)]
pub(super) struct Recorder {
    phase: u32,
    accesses: HashMap<Instruction, Vec<Option<u32>>>,
}

impl Recorder {
    pub(super) fn record(
        &mut self,
        location: &'static Location<'static>,
        address: Option<u32>,
        bytes: u32,
        store: bool,
    ) {
        let instruction = Instruction { phase: self.phase, location, bytes, store };
        self.accesses.entry(instruction).or_default().push(address);
    }

    pub(super) fn pass_barrier(&mut self) {
        self.phase += 1;
    }
}

/// All accesses of a block to shared memory.
pub struct Trace {
    threads: Vec<Recorder>,
}

impl Trace {
    pub(super) fn new(threads: Vec<Recorder>) -> Self {
        Self { threads }
    }

    /// Requests by warp, then in the order of barriers and of the source.
    pub fn requests(&self) -> impl Iterator<Item = (Instruction, Request)> {
        self.threads.chunks(WARP).flat_map(|warp| {
            let mut instructions: Vec<_> = warp.iter().flat_map(|lane| lane.accesses.keys().copied()).collect();
            instructions.sort_unstable();
            instructions.dedup();
            instructions.into_iter().flat_map(move |instruction| {
                let lanes: Vec<_> = warp.iter().map(|lane| lane.accesses.get(&instruction)).collect();
                let turns = lanes.iter().flatten().map(|addresses| addresses.len()).max().unwrap_or(0);
                (0..turns).map(move |turn| {
                    let address = |addresses: &Option<&Vec<_>>| addresses.and_then(|a| a.get(turn).copied().flatten());
                    (instruction, Request::new(instruction.bytes, lanes.iter().map(address)))
                })
            })
        })
    }

    /// Barriers that all threads pass; none if some pass others: on a GPU they would wait for ever.
    pub fn barriers(&self) -> Option<u32> {
        let first = self.threads.first()?.phase;
        self.threads.iter().all(|thread| thread.phase == first).then_some(first)
    }

    /// Of all requests.
    pub fn wavefronts(&self) -> Wavefronts {
        self.requests().map(|(_, request)| request.wavefronts()).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::emulate::{Launch, Wavefronts};
    use crate::shared::Dynamic;
    use crate::thread;
    use std::vec::Vec;

    /// A block of 48 threads: a warp and a half.
    const LAUNCH: Launch = Launch { grid: [3, 1, 1], threads: 48, shared_bytes: 64 * 48 };

    fn own() -> u32 {
        thread::thread_idx_x()
    }

    #[test]
    fn a_call_is_a_request_of_each_warp_and_a_loop_one_a_turn() {
        let trace = LAUNCH.trace(|| {
            let memory = Dynamic::<f32>::at(0);
            // SAFETY: within the launch's memory; a thread touches its own entries.
            unsafe {
                memory.set(own(), 1.0);
                for turn in 0..3 {
                    memory.set(own() + 48 * turn, memory.get(own()));
                }
            }
        });
        let stores = trace.requests().filter(|(instruction, _)| instruction.store).count();
        let loads = trace.requests().filter(|(instruction, _)| !instruction.store).count();
        assert_eq!((stores, loads), (2 * 4, 2 * 3));
        assert_eq!(trace.wavefronts(), Wavefronts { total: 14, least: 14 });
    }

    #[test]
    fn lanes_that_leave_a_loop_early_are_absent_from_its_later_turns() {
        let trace = LAUNCH.trace(|| {
            for turn in 0..own() % 2 + 1 {
                // SAFETY: as above.
                unsafe { Dynamic::<f32>::at(0).set(own() + 48 * turn, 0.0) };
            }
        });
        let lanes: Vec<_> = trace.requests().map(|(_, request)| request.lanes()).collect();
        assert_eq!(lanes, [32, 16, 16, 8]);
    }

    #[test]
    fn a_barrier_that_some_threads_miss_is_seen() {
        let trace = LAUNCH.trace(|| {
            if own() > 0 {
                thread::sync_threads();
            }
        });
        assert_eq!(trace.barriers(), None);
    }

    #[test]
    fn barriers_and_places_in_the_source_keep_requests_apart() {
        let trace = LAUNCH.trace(|| {
            let read = || {
                // SAFETY: nobody writes.
                let _ = unsafe { Dynamic::<f64>::at(0).get(own()) };
            };
            read();
            thread::sync_threads();
            if own() < 16 {
                read();
            } else {
                // SAFETY: as above.
                let _ = unsafe { Dynamic::<f64>::at(0).get(own()) };
            }
        });
        assert_eq!(trace.barriers(), Some(1));
        let of_first_warp: Vec<_> = trace.requests().map(|(i, request)| (i.phase, request.lanes())).collect();
        assert_eq!(of_first_warp, [(0, 32), (1, 16), (1, 16), (0, 16), (1, 16)]);
    }
}
