//! A device in use: its context, the one stream that everything runs on, and what waits for it.
//!
//! One stream, so calls act in the order in which they are made, and a result is the same in every run.

use super::calls::{check, refused};
use super::device::Properties;
use super::library::Library;
use crate::backend::DeviceInfo;
use crate::error::{Error, Result};
use crate::sync::lock;
use cust::context::{Context, CurrentContext};
use cust::memory::mem_get_info;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUgraph, CUresult, CUstream, CUstreamCaptureMode};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the device may work before the host looks at a result. A kernel that hangs never finishes, and the driver
/// would wait for it for ever; a solver looks at a scalar every iteration, which takes seconds at the very most.
const LIMIT: Duration = Duration::from_secs(600);
/// After this the waiting thread lets others run between two looks: shorter waits are worth a busy core.
const BUSY: Duration = Duration::from_millis(1);

/// A device, ready for work. Vectors and levels hold it, so it outlives what lies in its memory.
pub(crate) struct Gpu {
    // Fields drop in this order: streams before their context.
    stream: Stream,
    /// On which a thread records; see [`Self::begin_recording`].
    recorder: Stream,
    /// Number of the thread that records, 0 if none does.
    recording_thread: AtomicU64,
    /// What it has launched so far: what [`Kernel::launch`](super::launch::Kernel::launch) would have set.
    recorded: Mutex<Vec<Arc<AtomicBool>>>,
    /// How often memory was freed.
    freed: AtomicU64,
    context: Context,
    properties: Properties,
    /// Its kernels.
    pub(super) library: Mutex<Library>,
    /// Number of the thread that announces work, 0 if none does.
    announcing_thread: AtomicU64,
    /// By the name of a kernel, whether it was launched since [`Self::take_launched`].
    launched: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
    hangs: AtomicBool,
}

impl Gpu {
    pub fn open(number: usize) -> Result<Self> {
        let properties = Properties::usable(number)?;
        let context = open_context(&properties)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(refused("cuStreamCreateWithPriority"))?;
        let recorder = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(refused("cuStreamCreateWithPriority"))?;
        let (recording_thread, recorded, freed) = Default::default();
        let (library, announcing_thread, launched, hangs) = Default::default();
        Ok(Self {
            stream,
            recorder,
            recording_thread,
            recorded,
            freed,
            context,
            properties,
            library,
            announcing_thread,
            launched,
            hangs,
        })
    }

    /// Makes this thread's calls go to this device. An error, if it hangs: then destructors must free nothing, because
    /// the driver would wait.
    pub fn enter(&self) -> Result<()> {
        if self.hangs.load(Ordering::Relaxed) {
            return Err(hang());
        }
        make_current(&self.context)
    }

    /// Where this thread's calls go: to the stream, or into its recording.
    pub fn stream(&self) -> CUstream {
        if self.records_here() { self.recorder.as_inner() } else { self.stream.as_inner() }
    }

    /// Whether this thread records.
    pub fn records_here(&self) -> bool {
        let thread = self.recording_thread.load(Ordering::Relaxed);
        thread != 0 && thread == this_thread()
    }

    /// Until [`Self::end_recording`], calls of this thread are recorded and not done; `false` if a thread records already.
    pub fn begin_recording(&self) -> Result<bool> {
        self.enter()?;
        let begun = self.recording_thread.compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed);
        if begun.is_err() {
            return Ok(false);
        }
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives as long as `self`; nothing but this recording uses it.
        let code = unsafe { sys::cuStreamBeginCapture_v2(self.recorder.as_inner(), mode) };
        check("cuStreamBeginCapture", code).inspect_err(|_| self.recording_thread.store(0, Ordering::Relaxed))?;
        Ok(true)
    }

    /// The graph of what this thread recorded, and the marks of its kernels.
    pub fn end_recording(&self) -> Result<(CUgraph, Vec<Arc<AtomicBool>>)> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the driver writes a handle.
        let code = unsafe { sys::cuStreamEndCapture(self.recorder.as_inner(), &mut graph) };
        let launched = std::mem::take(&mut *lock(&self.recorded));
        self.recording_thread.store(0, Ordering::Relaxed);
        check("cuStreamEndCapture", code).map(|()| (graph, launched))
    }

    /// Notes that a kernel is launched, or recorded.
    pub fn mark(&self, launched: &Arc<AtomicBool>) {
        if self.records_here() {
            lock(&self.recorded).push(launched.clone());
        } else {
            launched.store(true, Ordering::Relaxed);
        }
    }

    /// Whether this thread announces work, which is not done.
    pub fn announces_here(&self) -> bool {
        let thread = self.announcing_thread.load(Ordering::Relaxed);
        thread != 0 && thread == this_thread()
    }

    /// Until what is returned is dropped, this thread announces work; none if a thread announces already.
    pub fn begin_announcing(&self) -> Option<Announcing<'_>> {
        let begun = self.announcing_thread.compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed);
        begun.ok().map(|_| Announcing(self))
    }

    /// How often memory was freed so far: what is recorded may use it.
    pub fn freed(&self) -> u64 {
        self.freed.load(Ordering::Relaxed)
    }

    /// Before memory is freed.
    pub fn count_free(&self) {
        self.freed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn multiprocessors(&self) -> u32 {
        self.properties.multiprocessors
    }

    /// Whether it has compute capability 9.0 or a newer one.
    pub fn is_hopper(&self) -> bool {
        self.properties.capability >= (9, 0)
    }

    /// Whether kernels are launched before the one before them has quite ended, for which they wait themselves
    /// ([`with_dependent_launches`](cuda_builder::ptx::with_dependent_launches)). Drivers record such launches from CUDA 12.3 on.
    pub fn overlaps_launches(&self) -> bool {
        self.is_hopper() && self.properties.has_api(12, 3)
    }

    /// Whether the driver compiles kernels of a module side by side.
    pub fn compiles_side_by_side(&self) -> bool {
        self.properties.has_api(13, 0)
    }

    pub fn name(&self) -> &str {
        &self.properties.name
    }

    /// What a kernel sets when it is launched; the same for all kernels of a name.
    pub fn launch_mark(&self, kernel: &str) -> Arc<AtomicBool> {
        let mut marks = lock(&self.launched);
        marks.entry(kernel.to_owned()).or_default().clone()
    }

    /// Names of the kernels that were launched since the last call.
    pub fn take_launched(&self) -> Vec<String> {
        let marks = lock(&self.launched);
        let launched = marks.iter().filter(|(_, mark)| mark.swap(false, Ordering::Relaxed));
        launched.map(|(name, _)| name.clone()).collect()
    }

    pub fn info(&self) -> DeviceInfo {
        self.properties.info(self.enter().and_then(|()| free_memory()).unwrap_or(0))
    }

    /// Until the stream is idle. Errors of kernels that ran show here.
    pub fn wait(&self) -> Result<()> {
        self.enter()?;
        let (stream, start) = (self.stream(), Instant::now());
        loop {
            // SAFETY: the stream lives as long as `self`.
            match unsafe { sys::cuStreamQuery(stream) } {
                CUresult::CUDA_ERROR_NOT_READY => {}
                code => return check("cuStreamQuery", code),
            }
            let waited = start.elapsed();
            if waited > LIMIT {
                self.give_up();
                return Err(hang());
            }
            if waited > BUSY {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// The device hangs: nothing is asked of it any more, and nothing of it is freed before the process ends.
    fn give_up(&self) {
        self.hangs.store(true, Ordering::Relaxed);
        // One reference more than is ever released, so that no destructor waits for the device.
        let _ = Context::new(self.properties.device).map(std::mem::forget);
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        let library = self.library.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: what launched kernels held this device, and is gone.
        unsafe { library.unload() };
    }
}

/// A thread announces work while this lives.
pub(crate) struct Announcing<'a>(&'a Gpu);

impl Drop for Announcing<'_> {
    fn drop(&mut self) {
        self.0.announcing_thread.store(0, Ordering::Relaxed);
    }
}

/// A number of the thread's own, from 1 on.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|&number| number)
}

fn hang() -> Error {
    Error::Timeout { what: "the GPU", seconds: LIMIT.as_secs() }
}

/// The device's primary context, made current.
pub(super) fn open_context(properties: &Properties) -> Result<Context> {
    let context = Context::new(properties.device).map_err(refused("cuDevicePrimaryCtxRetain"))?;
    make_current(&context)?;
    Ok(context)
}

fn make_current(context: &Context) -> Result<()> {
    CurrentContext::set_current(context).map_err(refused("cuCtxSetCurrent"))
}

/// Bytes free on the device of the current context.
pub(super) fn free_memory() -> Result<u64> {
    let (free, _total) = mem_get_info().map_err(refused("cuMemGetInfo"))?;
    Ok(free as u64)
}
