//! A launch on host threads, for tests on machines without a GPU: the very kernels, block after block, with a host
//! thread for every thread of a block and a real barrier.
//!
//! Shared memory begins every block as NaN, so that what nobody wrote shows in the result.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::vec::Vec;

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
}

std::thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    CONTEXT.with_borrow(|context| f(context.as_ref().expect("device code runs inside `emulate::launch`")))
}

impl Launch {
    /// Runs `kernel` once for every thread of every block.
    pub fn run(self, kernel: impl Fn() + Sync) {
        let shared: Arc<Vec<AtomicU32>> =
            Arc::new((0..self.shared_bytes.div_ceil(4)).map(|_| AtomicU32::new(0)).collect());
        let barrier = Arc::new(Barrier::new(self.threads as usize));
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let (kernel, shared, barrier) = (&kernel, shared.clone(), barrier.clone());
                scope.spawn(move || self.run_thread(thread, shared, barrier, kernel));
            }
        });
    }

    fn run_thread(self, thread: u32, shared: Arc<Vec<AtomicU32>>, barrier: Arc<Barrier>, kernel: &impl Fn()) {
        let [nx, ny, nz] = self.grid;
        for index in 0..nx * ny * nz {
            let block = [index % nx, index / nx % ny, index / nx / ny];
            for word in shared.iter().skip(thread as usize).step_by(self.threads as usize) {
                word.store(u32::MAX, Ordering::Relaxed);
            }
            barrier.wait();
            let context = Context { thread, block, launch: self, shared: shared.clone(), barrier: barrier.clone() };
            CONTEXT.set(Some(context));
            kernel();
            CONTEXT.set(None);
            barrier.wait();
        }
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
    let barrier = with(|context| context.barrier.clone());
    barrier.wait();
}

pub(crate) fn load(word: u32) -> u32 {
    with(|context| context.shared[word as usize].load(Ordering::Relaxed))
}

pub(crate) fn store(word: u32, value: u32) {
    with(|context| context.shared[word as usize].store(value, Ordering::Relaxed));
}
