//! Counts what is allocated, and the most that there was at a time.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

#[global_allocator]
static ALLOCATED: Allocated = Allocated;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// How much more than before there was during `run`, at most.
pub(crate) fn most(run: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    run();
    MOST.load(Relaxed).saturating_sub(before)
}

struct Allocated;

fn add(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now, Relaxed);
}

// SAFETY: all of it is left to the system's allocator; the rest are counters.
unsafe impl GlobalAlloc for Allocated {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // What grows may be in two places for a moment.
        add(size);
        // SAFETY: as above.
        let moved = unsafe { System.realloc(place, layout, size) };
        NOW.fetch_sub(layout.size(), Relaxed);
        moved
    }
}
