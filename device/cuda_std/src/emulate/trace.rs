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

/// What a thread accessed, in order, by instruction.
#[derive(Default)]
pub(super) struct Recorder {
    phase: u32,
    exchanges: u32,
    accesses: HashMap<Instruction, Vec<Access>>,
}

#[derive(Clone, Copy)]
struct Access {
    /// In bytes; none where the thread took no part.
    address: Option<u32>,
    /// Exchanges of its warp that the thread has taken part in.
    exchanges: u32,
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
        let exchanges = self.exchanges;
        self.accesses.entry(instruction).or_default().push(Access { address, exchanges });
    }

    pub(super) fn pass_barrier(&mut self) {
        self.phase += 1;
    }

    pub(super) fn pass_exchange(&mut self) {
        self.exchanges += 1;
    }
}

/// Two accesses of different threads to the same bytes that no barrier keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hazard {
    /// That writes.
    pub store: Instruction,
    /// That writes or reads.
    pub other: Instruction,
}

impl core::fmt::Display for Hazard {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        let Self { store, other } = self;
        let verb = if other.store { "write" } else { "read" };
        write!(f, "after barrier {}, written at {}, {verb} at {}", store.phase, store.location, other.location)
    }
}

#[derive(Clone, Copy)]
struct Writer {
    thread: usize,
    exchanges: u32,
    instruction: Instruction,
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
                    let address = |accesses: &Option<&Vec<Access>>| accesses.and_then(|a| a.get(turn)?.address);
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

    /// Where two threads access the same bytes between the same two barriers and one of them writes, so that what is read
    /// or left depends on who comes first. An exchange within a warp, as every `mma.sync` is one, keeps its loads before its
    /// later stores, because it takes what they load. Sorted, one for each pair of instructions.
    pub fn hazards(&self) -> Vec<Hazard> {
        let mut accesses: Vec<_> = self.accesses().collect();
        accesses.sort_unstable_by_key(|(_, instruction, ..)| (instruction.phase, !instruction.store));
        let grain = accesses.iter().map(|(_, instruction, ..)| instruction.bytes).min().unwrap_or(1);
        let end = accesses.iter().map(|(_, instruction, address, _)| address + instruction.bytes).max().unwrap_or(0);
        // Of two threads that write a word in a phase the first stores. A third is told as it comes.
        let mut words: Vec<(u32, [Option<Writer>; 2])> = Vec::new();
        words.resize((end / grain) as usize, (0, [None; 2]));
        let mut hazards = Vec::new();
        for (thread, instruction, address, exchanges) in accesses {
            for word in address / grain..(address + instruction.bytes) / grain {
                let (phase, writers) = &mut words[word as usize];
                if *phase != instruction.phase {
                    (*phase, *writers) = (instruction.phase, [None; 2]);
                }
                for writer in writers.iter().flatten().filter(|writer| writer.thread != thread) {
                    let is_later = writer.thread / WARP == thread / WARP && exchanges < writer.exchanges;
                    if instruction.store || !is_later {
                        hazards.push(Hazard { store: writer.instruction, other: instruction });
                    }
                }
                if instruction.store {
                    let own = |writer: &&mut Option<Writer>| writer.is_none_or(|writer| writer.thread == thread);
                    if let Some(place) = writers.iter_mut().find(own) {
                        let first = place.filter(|writer| writer.exchanges <= exchanges);
                        *place = Some(first.unwrap_or(Writer { thread, exchanges, instruction }));
                    }
                }
            }
        }
        hazards.sort_unstable();
        hazards.dedup();
        hazards
    }

    /// Thread, instruction, address and exchanges before.
    fn accesses(&self) -> impl Iterator<Item = (usize, Instruction, u32, u32)> {
        self.threads.iter().enumerate().flat_map(|(thread, recorder)| {
            recorder.accesses.iter().flat_map(move |(&instruction, accesses)| {
                let taken = move |access: &Access| Some((thread, instruction, access.address?, access.exchanges));
                accesses.iter().filter_map(taken)
            })
        })
    }

    /// Of all requests.
    pub fn wavefronts(&self) -> Wavefronts {
        self.requests().map(|(_, request)| request.wavefronts()).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::emulate::{Launch, Wavefronts, exchange};
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
    fn threads_that_share_a_word_need_a_barrier_between_them() {
        // A thread stores its own word and loads that of another.
        let load = |distance| {
            // SAFETY: within the launch's memory; to miss a barrier is the matter.
            let _ = unsafe { Dynamic::<f32>::at(0).get((own() + distance) % 48) };
        };
        let hazards = |distance, barrier: bool| {
            let trace = LAUNCH.trace(|| {
                // SAFETY: as above.
                unsafe { Dynamic::<f32>::at(0).set(own(), 1.0) };
                if barrier {
                    thread::sync_threads();
                }
                load(distance);
            });
            let hazards = trace.hazards();
            assert!(hazards.iter().all(|hazard| hazard.store.store && !hazard.other.store));
            hazards.len()
        };
        assert_eq!([hazards(0, false), hazards(1, false), hazards(1, true)], [0, 1, 0]);
    }

    #[test]
    fn an_exchange_keeps_loads_of_its_warp_before_later_stores_and_nothing_else() {
        let load = |distance| {
            // SAFETY: within the launch's memory; to miss a barrier is the matter.
            let _ = unsafe { Dynamic::<f32>::at(0).get((own() + distance) % 48) };
        };
        // SAFETY: as above.
        let store = || unsafe { Dynamic::<f32>::at(0).set(own(), 1.0) };
        let share = || {
            exchange([0]);
        };
        let hazards = |steps: &[&dyn Fn()]| LAUNCH.trace(|| steps.iter().for_each(|step| step())).hazards().len();
        // Pairs of lanes are of one warp; the neighbour of lane 31 is not.
        let within = || load(if own().is_multiple_of(2) { 1 } else { 47 });
        assert_eq!(hazards(&[&within, &share, &store]), 0);
        assert_eq!(hazards(&[&within, &store]), 1);
        assert_eq!(hazards(&[&store, &share, &within]), 1);
        assert_eq!(hazards(&[&|| load(1), &share, &store]), 1);
    }

    #[test]
    fn two_threads_that_write_the_same_bytes_are_a_hazard_and_those_that_write_neighbours_are_not() {
        let hazards = |word: fn(u32) -> u32| {
            // SAFETY: within the launch's memory; that threads write one word is the matter.
            let trace = LAUNCH.trace(|| unsafe { Dynamic::<u16>::at(0).set(word(own()), 1) });
            trace.hazards().len()
        };
        assert_eq!([hazards(|own| own), hazards(|own| own / 2), hazards(|_| 0)], [0, 1, 1]);
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
