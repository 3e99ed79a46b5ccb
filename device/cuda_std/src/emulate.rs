//! A launch on host threads, for tests and inspection on machines without a GPU: the very kernels, block after block,
//! with a host thread for every thread of a block and a real barrier.
//!
//! Shared memory begins every block as NaN, so that what nobody wrote shows in the result.

mod banks;
mod trace;

pub use banks::{Request, Wavefronts};
pub use trace::{Instruction, Trace};

use core::panic::Location;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::vec::Vec;
use trace::Recorder;

/// What a kernel is launched with.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x.
    pub threads: u32,
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
}

struct Context {
    thread: u32,
    block: [u32; 3],
    launch: Launch,
    shared: Arc<Vec<AtomicU32>>,
    barrier: Arc<Barrier>,
    recorder: Option<Recorder>,
}

std::thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

fn with<R>(f: impl FnOnce(&mut Context) -> R) -> R {
    CONTEXT.with_borrow_mut(|context| f(context.as_mut().expect("device code runs inside `emulate::Launch`")))
}

impl Launch {
    /// Runs `kernel` once for every thread of every block.
    pub fn run(self, kernel: impl Fn() + Sync) {
        let [nx, ny, nz] = self.grid;
        self.run_blocks(nx * ny * nz, false, kernel);
    }

    /// Runs the first block alone and returns what it asked of shared memory.
    pub fn trace(self, kernel: impl Fn() + Sync) -> Trace {
        Trace::new(self.run_blocks(1, true, kernel))
    }

    /// The first `blocks` blocks, and each thread's record of the last of them.
    fn run_blocks(self, blocks: u32, record: bool, kernel: impl Fn() + Sync) -> Vec<Recorder> {
        let shared: Arc<Vec<AtomicU32>> =
            Arc::new((0..self.shared_bytes.div_ceil(4)).map(|_| AtomicU32::new(0)).collect());
        let barrier = Arc::new(Barrier::new(self.threads as usize));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (kernel, shared, barrier) = (&kernel, shared.clone(), barrier.clone());
                    scope.spawn(move || self.run_thread(thread, blocks, record, shared, barrier, kernel))
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("a kernel does not panic")).collect()
        })
    }

    fn run_thread(
        self,
        thread: u32,
        blocks: u32,
        record: bool,
        shared: Arc<Vec<AtomicU32>>,
        barrier: Arc<Barrier>,
        kernel: &impl Fn(),
    ) -> Option<Recorder> {
        let [nx, ny, _] = self.grid;
        let mut recorder = None;
        for index in 0..blocks {
            let block = [index % nx, index / nx % ny, index / nx / ny];
            for word in shared.iter().skip(thread as usize).step_by(self.threads as usize) {
                word.store(u32::MAX, Ordering::Relaxed);
            }
            barrier.wait();
            let (shared, barrier) = (shared.clone(), barrier.clone());
            recorder = record.then(Recorder::default);
            let context = Context { thread, block, launch: self, shared, barrier, recorder };
            CONTEXT.set(Some(context));
            kernel();
            let context = CONTEXT.take().expect("set above");
            context.barrier.wait();
            recorder = context.recorder;
        }
        recorder
    }
}

pub(crate) fn thread_index() -> u32 {
    with(|context| context.thread)
}

pub(crate) fn block_index(direction: usize) -> u32 {
    with(|context| context.block[direction])
}

pub(crate) fn threads() -> u32 {
    with(|context| context.launch.threads)
}

pub(crate) fn blocks(direction: usize) -> u32 {
    with(|context| context.launch.grid[direction])
}

pub(crate) fn wait() {
    // The barrier is taken out first: waiting must not hold the borrow.
    let barrier = with(|context| {
        if let Some(recorder) = &mut context.recorder {
            recorder.pass_barrier();
        }
        context.barrier.clone()
    });
    barrier.wait();
}

/// Words of shared memory from byte `address` on, asked for by the caller's caller.
#[track_caller]
pub(crate) fn load<const WORDS: usize>(address: u32) -> [u32; WORDS] {
    let location = Location::caller();
    with(|context| {
        context.record(location, address, WORDS, false);
        core::array::from_fn(|word| context.shared[address as usize / 4 + word].load(Ordering::Relaxed))
    })
}

/// Sets words of shared memory from byte `address` on.
#[track_caller]
pub(crate) fn store<const WORDS: usize>(address: u32, value: [u32; WORDS]) {
    let location = Location::caller();
    with(|context| {
        context.record(location, address, WORDS, true);
        for (word, value) in value.into_iter().enumerate() {
            context.shared[address as usize / 4 + word].store(value, Ordering::Relaxed);
        }
    });
}

impl Context {
    fn record(&mut self, location: &'static Location<'static>, address: u32, words: usize, store: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(location, address, 4 * words as u32, store);
        }
    }
}
