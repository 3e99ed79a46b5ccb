//! A launch on host threads, for tests and inspection on machines without a GPU: the very kernels, block after block,
//! with a host thread for every thread of a block and a real barrier.
//!
//! Shared memory begins every block as NaN, so that what nobody wrote shows in the result.

mod banks;
mod exchange;
mod trace;

pub use banks::{Request, Wavefronts};
pub use exchange::exchange;
pub use trace::{Hazard, Instruction, Trace};

use core::panic::Location;
use exchange::Warp;
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
    warp: Arc<Warp>,
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
        let (shared, barrier) = (self.shared_memory(), Arc::new(Barrier::new(self.threads as usize)));
        let warps = Warp::all(self.threads as usize);
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let warp = warps[thread as usize / trace::WARP].clone();
                let (kernel, shared, barrier) = (&kernel, shared.clone(), barrier.clone());
                scope.spawn(move || self.run_thread(thread, shared, barrier, warp, kernel));
            }
        });
    }

    /// What the first block asks of shared memory, by a kernel whose accesses do not depend on what it reads: its threads
    /// run one after the other, and do not wait at barriers.
    pub fn trace(self, kernel: impl Fn()) -> Trace {
        let (shared, barrier) = (self.shared_memory(), Arc::new(Barrier::new(1)));
        let record = |thread| {
            let (shared, barrier, recorder) = (shared.clone(), barrier.clone(), Some(Recorder::default()));
            let warp = Warp::alone();
            CONTEXT.set(Some(Context { thread, block: [0; 3], launch: self, shared, barrier, warp, recorder }));
            kernel();
            CONTEXT.take().and_then(|context| context.recorder).unwrap_or_default()
        };
        Trace::new((0..self.threads).map(record).collect())
    }

    fn shared_memory(self) -> Arc<Vec<AtomicU32>> {
        Arc::new((0..self.shared_bytes.div_ceil(4)).map(|_| AtomicU32::new(u32::MAX)).collect())
    }

    fn run_thread(
        self,
        thread: u32,
        shared: Arc<Vec<AtomicU32>>,
        barrier: Arc<Barrier>,
        warp: Arc<Warp>,
        kernel: &impl Fn(),
    ) {
        let [nx, ny, nz] = self.grid;
        for index in 0..nx * ny * nz {
            let block = [index % nx, index / nx % ny, index / nx / ny];
            for word in shared.iter().skip(thread as usize).step_by(self.threads as usize) {
                word.store(u32::MAX, Ordering::Relaxed);
            }
            barrier.wait();
            let (shared, warp, copy, recorder) = (shared.clone(), warp.clone(), barrier.clone(), None);
            CONTEXT.set(Some(Context { thread, block, launch: self, shared, barrier: copy, warp, recorder }));
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
        context.record(location, Some(address), 4 * WORDS, false);
        core::array::from_fn(|word| context.shared[address as usize / 4 + word].load(Ordering::Relaxed))
    })
}

/// Sets words of shared memory from byte `address` on.
#[track_caller]
pub(crate) fn store<const WORDS: usize>(address: u32, value: [u32; WORDS]) {
    let location = Location::caller();
    with(|context| {
        context.record(location, Some(address), 4 * WORDS, true);
        for (word, value) in value.into_iter().enumerate() {
            context.shared[address as usize / 4 + word].store(value, Ordering::Relaxed);
        }
    });
}

/// Half a word of shared memory, at byte `address`.
#[track_caller]
pub(crate) fn load_half(address: u32) -> u16 {
    let location = Location::caller();
    with(|context| {
        context.record(location, Some(address), 2, false);
        (context.shared[address as usize / 4].load(Ordering::Relaxed) >> (8 * (address % 4))) as u16
    })
}

/// Sets half a word of shared memory; another thread may set the other half.
#[track_caller]
pub(crate) fn store_half(address: u32, value: u16) {
    let location = Location::caller();
    with(|context| {
        context.record(location, Some(address), 2, true);
        let (word, shift) = (&context.shared[address as usize / 4], 8 * (address % 4));
        word.fetch_and(!(0xffff << shift), Ordering::Relaxed);
        word.fetch_or(u32::from(value) << shift, Ordering::Relaxed);
    });
}

/// In a trace, a load or store of so many bytes; without an address this thread takes no part in it, while others of its
/// warp may.
#[track_caller]
pub fn request(address: Option<u32>, bytes: usize, store: bool) {
    let location = Location::caller();
    with(|context| context.record(location, address, bytes, store));
}

/// Whether the calling thread runs for [`Launch::trace`], alone.
pub fn traces() -> bool {
    with(|context| context.recorder.is_some())
}

impl Context {
    fn record(&mut self, location: &'static Location<'static>, address: Option<u32>, bytes: usize, store: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(location, address, bytes as u32, store);
        }
    }
}
