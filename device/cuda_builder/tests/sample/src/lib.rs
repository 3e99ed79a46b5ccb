//! One kernel for each thing that `cuda_std` offers, and kernels that the check must reject.

#![no_std]
#![feature(abi_ptx)]

use cuda_std::atomic::{AtomicF32, AtomicF64};
use cuda_std::ptr::ldg;
use cuda_std::shared::Dynamic;
use cuda_std::{kernel, thread, warp};

#[cfg(module = "good")]
fn index() -> u32 {
    thread::block_idx_x() * 64 + thread::thread_idx_x()
}

/// A column of seven words to shared memory, one across it back.
#[cfg(module = "good")]
#[kernel]
#[unsafe(export_name = concat!(env!("SAMPLE_PREFIX"), "_turn"))]
pub unsafe fn turn(x: *const f64, y: *mut f64) {
    let tile = Dynamic::<f64>::at(0);
    let (t, first) = (thread::thread_idx_x(), 7 * index() as usize);
    for i in 0..7 {
        unsafe { tile.set(7 * t + i as u32, ldg(x.add(first + i))) };
    }
    thread::sync_threads();
    for i in 0..7 {
        unsafe { *y.add(first + i) = tile.get(49 * (t / 7) + t % 7 + 7 * i as u32) };
    }
}

/// A barrier between two branches on one condition: jump threading would copy it into both arms of the first.
#[cfg(module = "good")]
#[kernel]
pub unsafe fn branch(x: *mut f32) {
    let value = unsafe { x.add(thread::thread_idx_x() as usize) };
    let first = thread::thread_idx_x() < 49;
    if first {
        unsafe { *value += 1.0 };
    }
    thread::sync_threads();
    if first {
        unsafe { *value *= 2.0 };
    }
    thread::sync_threads();
}

/// A sum over a warp, added to global memory.
#[cfg(module = "good")]
#[kernel]
pub unsafe fn sum(x: *const f64, single: *mut f32, double: *mut f64) {
    let mut sum = unsafe { *x.add(index() as usize) };
    let mut distance = warp::WARP_SIZE / 2;
    while distance > 0 {
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, distance, warp::WARP_SIZE) }.0;
        distance /= 2;
    }
    let (other, inside) = unsafe { warp::warp_shuffle_down(u32::MAX, sum as f32, 4, 16) };
    unsafe { warp::sync_warp(u32::MAX) };
    if warp::lane_id() == 0 && inside {
        unsafe { AtomicF32::from_ptr(single) }.fetch_add(other);
        unsafe { AtomicF64::from_ptr(double) }.fetch_add(sum);
    }
}

/// An array that is indexed at run time.
#[cfg(module = "bad")]
#[kernel]
pub unsafe fn local(x: *mut f64, index: u32) {
    let mut values = [0.0; 64];
    for i in 0..64 {
        values[i] = unsafe { *x.add(i) };
    }
    unsafe { *x = values[index as usize % 64] };
}
