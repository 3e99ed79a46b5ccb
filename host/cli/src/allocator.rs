//! The end of memory, where the program cannot go on.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, but a small allocation that it refuses ends the program with the exit code of too little
/// memory, where Rust would abort. Larger ones are vectors, whose refusal is an error of the library.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Bytes of what is not small.
const LARGE: usize = 1 << 20;

unsafe extern "C" {
    fn write(file: i32, bytes: *const u8, count: usize) -> isize;
    fn _exit(code: i32) -> !;
}

fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && size < LARGE {
        const STANDARD_ERROR: i32 = 2;
        let message = "error: the host has no memory left\n";
        // SAFETY: the signatures are those of write(2) and _exit(2); neither allocates.
        unsafe {
            write(STANDARD_ERROR, message.as_ptr(), message.len());
            _exit(i32::from(crate::failure::DEVICE));
        }
    }
    pointer
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}
