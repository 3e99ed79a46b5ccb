//! What writing a solution takes of the host's memory: no more than was said before.

use patchmg::mesh::Mesh;
use patchmg::output::vtu;
use patchmg::space::Space;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes in use, and the most that were.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(used, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_vtu_file_takes_the_memory_that_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = || Mesh::unit_cube(3, 4).unwrap();
    for space in [Space::new(mesh(), 3).unwrap(), Space::discontinuous(mesh(), 2).unwrap()] {
        let before = USED.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let solution = vec![1.0; space.storage()];
        vtu::write(&folder.path().join("solution.vtu"), &space, &solution, Some(&|x| x.x), &vtu::Config::default())
            .unwrap();
        let (taken, said) = ((MOST.load(Ordering::Relaxed) - before) as u64, vtu::memory(&space));
        // Buffers, and tables of a direction, are not worth saying. Blocks that are compressed take less than they may.
        assert!(taken < said + (200 << 10) && taken > said / 2, "{taken} bytes, said were {said}");
    }
}
