//! Dynamic shared memory.
//!
//! A pointer would be generic, and so would its loads and stores (`LD`, `ST`, a quarter slower). A [`Dynamic`] keeps the
//! 32-bit address of the shared window instead: `LDS` and `STS`, with constant indices as immediate offsets.

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulate;
#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, global_asm};
use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
global_asm!(".extern .shared .align 16 .b8 smem[];");

/// Bytes that one instruction copies at most.
pub const CHUNK: usize = 16;

/// A type that shared memory is accessed with.
pub trait Word: Copy {
    /// Loads from an address of the shared window.
    ///
    /// # Safety
    /// `address` is aligned, inside the block's shared memory and holds a value of this type.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn load(address: u32) -> Self;
    /// Stores to an address of the shared window.
    ///
    /// # Safety
    /// `address` is aligned and inside the block's shared memory.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn store(address: u32, value: Self);
    /// Starts to copy from global memory to an address of the shared window; [`wait_for_copies`] ends it. Past the
    /// registers on a device that has an instruction for so many bytes, else at once.
    ///
    /// # Safety
    /// `address` is aligned and inside the block's shared memory, and `source` may be read; until the copy has ended and
    /// a barrier has been passed nobody reads or writes `address`, nor writes `source`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn copy_async(address: u32, source: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { Self::store(address, *source) };
    }
}

/// Waits until the calling thread's copies have ended. Other threads see them after the next barrier.
#[inline(always)]
pub fn wait_for_copies() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: waits; what was copied is read by later loads, which stay behind it.
    unsafe {
        asm!("cp.async.wait_all;", options(nostack, preserves_flags))
    };
}

#[cfg(target_arch = "nvptx64")]
macro_rules! word {
    ($type:ty, $register:ident, $load:literal, $store:literal $(, $copy:literal)?) => {
        impl Word for $type {
            #[inline(always)]
            unsafe fn load(address: u32) -> Self {
                let value;
                // SAFETY: the caller's promise. `readonly` keeps the load behind stores and barriers before it.
                unsafe {
                    asm!($load, out($register) value, in(reg32) address, options(pure, readonly, nostack, preserves_flags))
                };
                value
            }

            #[inline(always)]
            unsafe fn store(address: u32, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { asm!($store, in(reg32) address, in($register) value, options(nostack, preserves_flags)) };
            }

            $(#[inline(always)]
            unsafe fn copy_async(address: u32, source: *const Self) {
                // SAFETY: the caller's promise. A generic address of global memory is its global address.
                unsafe { asm!($copy, in(reg32) address, in(reg64) source, options(nostack, preserves_flags)) };
            })?
        }
    };
}
#[cfg(target_arch = "nvptx64")]
word!(u16, reg16, "ld.shared.b16 {}, [{}];", "st.shared.b16 [{}], {};");
#[cfg(target_arch = "nvptx64")]
word!(f32, reg32, "ld.shared.f32 {}, [{}];", "st.shared.f32 [{}], {};", "cp.async.ca.shared.global [{}], [{}], 4;");
#[cfg(target_arch = "nvptx64")]
word!(f64, reg64, "ld.shared.f64 {}, [{}];", "st.shared.f64 [{}], {};", "cp.async.ca.shared.global [{}], [{}], 8;");

#[cfg(not(target_arch = "nvptx64"))]
impl Word for u16 {
    #[track_caller]
    unsafe fn load(address: u32) -> Self {
        emulate::load_half(address)
    }

    #[track_caller]
    unsafe fn store(address: u32, value: Self) {
        emulate::store_half(address, value);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Word for f32 {
    #[track_caller]
    unsafe fn load(address: u32) -> Self {
        Self::from_bits(emulate::load::<1>(address)[0])
    }

    #[track_caller]
    unsafe fn store(address: u32, value: Self) {
        emulate::store(address, [value.to_bits()]);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Word for f64 {
    #[track_caller]
    unsafe fn load(address: u32) -> Self {
        let [low, high] = emulate::load(address);
        Self::from_bits(u64::from(low) | u64::from(high) << 32)
    }

    #[track_caller]
    unsafe fn store(address: u32, value: Self) {
        emulate::store(address, [value.to_bits() as u32, (value.to_bits() >> 32) as u32]);
    }
}

/// An array of `T` in the block's dynamic shared memory, whose size the launch gives.
#[derive(Clone, Copy)]
pub struct Dynamic<T> {
    address: u32,
    word: PhantomData<*mut T>,
}

impl<T: Word> Dynamic<T> {
    /// The array that begins `words` words of `T` behind the start of dynamic shared memory.
    #[inline(always)]
    pub fn at(words: u32) -> Self {
        #[cfg(not(target_arch = "nvptx64"))]
        let start = 0;
        #[cfg(target_arch = "nvptx64")]
        let start: u32;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: names a symbol that this file declares.
        unsafe {
            asm!("mov.u32 {}, smem;", out(reg32) start, options(pure, nomem, nostack, preserves_flags))
        };
        Self { address: start, word: PhantomData }.offset(words)
    }

    /// The array that begins at entry `words` of this one.
    #[inline(always)]
    pub fn offset(self, words: u32) -> Self {
        Self { address: self.address + words * size_of::<T>() as u32, word: PhantomData }
    }

    /// Entry `index`.
    ///
    /// # Safety
    /// The entry lies in the memory that the launch gave, was written as `T`, and no thread writes it until the next
    /// barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn get(self, index: u32) -> T {
        // SAFETY: the caller's promise; an offset of whole words is aligned.
        unsafe { T::load(self.offset(index).address) }
    }

    /// Sets entry `index`.
    ///
    /// # Safety
    /// The entry lies in the memory that the launch gave, and no other thread reads or writes it until the next
    /// barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn set(self, index: u32, value: T) {
        // SAFETY: the caller's promise; an offset of whole words is aligned.
        unsafe { T::store(self.offset(index).address, value) }
    }

    /// Sets entry `index` if the thread is `active`; the other threads of its warp may be so while it is not.
    ///
    /// # Safety
    /// That of [`Self::set`], where it is active.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn set_if(self, active: bool, index: u32, value: T) {
        if active {
            // SAFETY: the caller's promise.
            unsafe { self.set(index, value) };
        } else {
            #[cfg(not(target_arch = "nvptx64"))]
            emulate::request(None, size_of::<T>(), true);
        }
    }

    /// [`Self::copy_async`] if the thread is `active`; the other threads of its warp may be so while it is not.
    ///
    /// # Safety
    /// That of [`Self::copy_async`], where it is active.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn copy_async_if(self, active: bool, index: u32, source: *const T) {
        if active {
            // SAFETY: the caller's promise.
            unsafe { self.copy_async(index, source) };
        } else {
            #[cfg(not(target_arch = "nvptx64"))]
            emulate::request(None, size_of::<T>(), true);
        }
    }

    /// Starts to copy [`CHUNK`] bytes from global memory to entry `index` and those behind it, past the registers and past
    /// the first level of cache.
    ///
    /// # Safety
    /// As for [`Self::copy_async`], for all of them; both addresses are aligned to [`CHUNK`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn copy_chunk_async(self, index: u32, source: *const T) {
        let address = self.address(index);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's promise. A generic address of global memory is its global address.
        unsafe {
            asm!(
                "cp.async.cg.shared.global [{}], [{}], 16;",
                in(reg32) address,
                in(reg64) source,
                options(nostack, preserves_flags)
            )
        };
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the caller's promise; a chunk is four words of any bits.
        emulate::store(address, unsafe { *source.cast::<[u32; CHUNK / 4]>() });
    }

    /// Byte address of entry `index` in the shared window.
    #[inline(always)]
    pub fn address(self, index: u32) -> u32 {
        self.offset(index).address
    }

    /// Starts to copy a word from global memory to entry `index` ([`Word::copy_async`]).
    ///
    /// # Safety
    /// The entry lies in the memory that the launch gave, `source` may be read, and until [`wait_for_copies`] and a
    /// barrier no thread reads or writes the entry, nor writes `source`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn copy_async(self, index: u32, source: *const T) {
        // SAFETY: the caller's promise; an offset of whole words is aligned.
        unsafe { T::copy_async(self.offset(index).address, source) }
    }
}
