//! Atomic addition of floating point numbers; integers have `core::sync::atomic`.

use core::arch::asm;
use core::cell::UnsafeCell;

macro_rules! atomic_float {
    ($name:ident, $type:ident, $register:ident, $add:literal) => {
        #[doc = concat!("An `", stringify!($type), "` in global or shared memory that several threads add to.")]
        #[repr(transparent)]
        pub struct $name(UnsafeCell<$type>);

        // SAFETY: every access through a shared reference is one atomic instruction.
        unsafe impl Sync for $name {}

        impl $name {
            /// The number at `pointer`.
            ///
            /// # Safety
            /// `pointer` is aligned and valid for `'a`, during which all access is atomic.
            #[inline(always)]
            pub unsafe fn from_ptr<'a>(pointer: *mut $type) -> &'a Self {
                // SAFETY: the caller's promise; `repr(transparent)` over `UnsafeCell`, which has the number's layout.
                unsafe { &*pointer.cast() }
            }

            /// Adds `value`, in no order with other memory accesses, and returns what was there before.
            #[inline(always)]
            pub fn fetch_add(&self, value: $type) -> $type {
                let before;
                // SAFETY: the reference says that the address holds a number.
                unsafe {
                    asm!($add, out($register) before, in(reg64) self.0.get(), in($register) value, options(nostack, preserves_flags))
                };
                before
            }
        }
    };
}
atomic_float!(AtomicF32, f32, reg32, "atom.relaxed.gpu.add.f32 {}, [{}], {};");
atomic_float!(AtomicF64, f64, reg64, "atom.relaxed.gpu.add.f64 {}, [{}], {};");
