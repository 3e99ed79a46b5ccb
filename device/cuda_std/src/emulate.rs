//! A launch on the host, for tests and inspection on machines without a GPU: the very kernels, block after block, with a
//! coroutine for every thread of a block. Each runs until it comes to a barrier, then the next one does: in ascending order and
//! in descending order by turns, so that who reads too early or writes too soon finds that the others did not, or did.
//!
//! Shared memory begins every block as NaN, so that what nobody wrote shows in the result.

mod banks;
mod exchange;
mod trace;

pub use banks::{Request, Wavefronts};
pub use exchange::exchange;
pub use trace::{Hazard, Instruction, Trace};

use core::panic::Location;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use exchange::Warp;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
    warp: Arc<Warp>,
    /// Of the coroutine that this thread is; null in a trace, where threads wait for nobody.
    yielder: *const Yielder<(), Wait>,
    recorder: Option<Recorder>,
}

/// Bytes of a thread's stack.
const STACK: usize = 512 << 10;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Block,
    Warp,
}

std::thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

fn with<R>(f: impl FnOnce(&mut Context) -> R) -> R {
    CONTEXT.with_borrow_mut(|context| f(context.as_mut().expect("device code runs inside `emulate::Launch`")))
}

impl Launch {
    /// Runs `kernel` once for every thread of every block.
    ///
    /// # Panics
    /// If `kernel` panics, or threads come to different barriers: on a GPU these would wait for ever.
    pub fn run(self, kernel: impl Fn()) {
        let shared = self.shared_memory();
        let warps = Warp::all(self.threads as usize);
        let (kernel, shared, warps) = (&kernel, &shared, &warps);
        let mut threads: Vec<_> = (0..self.threads)
            .map(|thread| {
                let body =
                    move |yielder: &Yielder<(), Wait>, ()| self.run_thread(thread, shared, warps, yielder, kernel);
                let stack = DefaultStack::new(STACK).expect("memory for the stack of a thread");
                // SAFETY: what the coroutine borrows outlives it: it is dropped at the end of this function.
                let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
                Thread { coroutine, context: None, waits: None }
            })
            .collect();
        let mut descending = false;
        while threads.iter().any(|thread| !thread.coroutine.done()) {
            let warps = threads.chunks_mut(trace::WARP);
            let run = |warp: &mut [Thread]| run_to_barrier(warp, descending);
            if descending {
                warps.rev().for_each(run)
            } else {
                warps.for_each(run)
            }
            let waits = threads[0].waits;
            assert!(
                threads.iter().all(|thread| thread.waits == waits),
                "threads of a block come to different barriers"
            );
            descending = !descending;
        }
    }

    /// What the first block asks of shared memory, by a kernel whose accesses do not depend on what it reads: its threads
    /// run one after the other, and do not wait at barriers.
    pub fn trace(self, kernel: impl Fn()) -> Trace {
        let shared = self.shared_memory();
        let record = |thread| {
            let (shared, warp, yielder) = (shared.clone(), Warp::alone(), core::ptr::null());
            let recorder = Some(Recorder::default());
            CONTEXT.set(Some(Context { thread, block: [0; 3], launch: self, shared, warp, yielder, recorder }));
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
        shared: &Arc<Vec<AtomicU32>>,
        warps: &[Arc<Warp>],
        yielder: &Yielder<(), Wait>,
        kernel: &impl Fn(),
    ) {
        let [nx, ny, nz] = self.grid;
        for index in 0..nx * ny * nz {
            let block = [index % nx, index / nx % ny, index / nx / ny];
            for word in shared.iter().skip(thread as usize).step_by(self.threads as usize) {
                word.store(u32::MAX, Ordering::Relaxed);
            }
            yielder.suspend(Wait::Block);
            let (shared, warp) = (shared.clone(), warps[thread as usize / trace::WARP].clone());
            CONTEXT.set(Some(Context { thread, block, launch: self, shared, warp, yielder, recorder: None }));
            kernel();
            CONTEXT.set(None);
            yielder.suspend(Wait::Block);
        }
    }
}

/// A thread of a block, and what [`CONTEXT`] is while it runs.
struct Thread {
    coroutine: Coroutine<(), Wait, ()>,
    context: Option<Context>,
    waits: Option<Wait>,
}

/// Runs the threads of a warp until each waits for the block, or has ended.
fn run_to_barrier(warp: &mut [Thread], descending: bool) {
    loop {
        let run = |thread: &mut Thread| {
            if thread.coroutine.done() {
                return;
            }
            CONTEXT.set(thread.context.take());
            let result = thread.coroutine.resume(());
            thread.context = CONTEXT.take();
            thread.waits = match result {
                CoroutineResult::Yield(wait) => Some(wait),
                CoroutineResult::Return(()) => None,
            };
        };
        if descending {
            warp.iter_mut().rev().for_each(run)
        } else {
            warp.iter_mut().for_each(run)
        }
        let waits = warp[0].waits;
        assert!(warp.iter().all(|thread| thread.waits == waits), "threads of a warp come to different barriers");
        if waits != Some(Wait::Warp) {
            return;
        }
    }
}

/// Until the threads that `wait` names are here.
fn suspend(wait: Wait) {
    // Waiting must not hold the borrow.
    let yielder = with(|context| context.yielder);
    if !yielder.is_null() {
        // SAFETY: of the coroutine that runs, which set it.
        unsafe { (*yielder).suspend(wait) };
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
    with(|context| {
        if let Some(recorder) = &mut context.recorder {
            recorder.pass_barrier();
        }
    });
    suspend(Wait::Block);
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
