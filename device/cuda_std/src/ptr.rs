//! Loads that say more than a dereference.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A type that [`ldg`] loads.
pub trait ReadOnly: Copy + Default {
    /// As many as 16 bytes are.
    type Chunk: AsRef<[Self]>;
    /// See [`ldg_row`].
    ///
    /// # Safety
    /// That of [`ldg`], for all of a chunk, whose address is aligned to 16 bytes.
    unsafe fn load_chunk(pointer: *const Self) -> Self::Chunk;
    /// See [`ldg`].
    ///
    /// # Safety
    /// That of [`ldg`].
    unsafe fn load(pointer: *const Self) -> Self;
    /// See [`load_parameter`].
    ///
    /// # Safety
    /// That of [`load_parameter`].
    unsafe fn load_parameter(address: u64) -> Self;
}

macro_rules! read_only {
    ($type:ty, $register:ident, $load:literal, $parameter:literal, $chunk:literal, [$($part:ident)+]) => {
        impl ReadOnly for $type {
            type Chunk = [Self; 16 / size_of::<Self>()];

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            #[allow(clippy::pointers_in_nomem_asm_block)] // what is read never changes
            unsafe fn load_chunk(pointer: *const Self) -> Self::Chunk {
                $(let $part;)+
                // SAFETY: as for `load`.
                unsafe {
                    asm!(
                        $chunk,
                        $(out($register) $part,)+
                        in(reg64) pointer,
                        options(pure, nomem, nostack, preserves_flags)
                    )
                };
                [$($part),+]
            }

            #[cfg(not(target_arch = "nvptx64"))]
            unsafe fn load_chunk(pointer: *const Self) -> Self::Chunk {
                // SAFETY: the caller's promise; on the host addresses need not be aligned.
                unsafe { pointer.cast::<Self::Chunk>().read_unaligned() }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            #[allow(clippy::pointers_in_nomem_asm_block)] // what is read never changes
            unsafe fn load(pointer: *const Self) -> Self {
                let value;
                // SAFETY: the caller's promise; nothing writes there while the kernel runs, hence `nomem`.
                unsafe {
                    asm!($load, out($register) value, in(reg64) pointer, options(pure, nomem, nostack, preserves_flags))
                };
                value
            }

            #[cfg(not(target_arch = "nvptx64"))]
            unsafe fn load(pointer: *const Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { *pointer }
            }

            #[inline(always)]
            unsafe fn load_parameter(address: u64) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let value;
                    // SAFETY: the caller's promise; parameters never change, hence `nomem`.
                    unsafe {
                        asm!($parameter, out($register) value, in(reg64) address, options(pure, nomem, nostack, preserves_flags))
                    };
                    value
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller's promise.
                unsafe {
                    *(address as *const Self)
                }
            }
        }
    };
}
read_only!(
    u32, reg32, "ld.global.nc.u32 {}, [{}];", "ld.param.u32 {}, [{}];",
    "ld.global.nc.v4.u32 {{{}, {}, {}, {}}}, [{}];", [a b c d]
);
read_only!(
    f32, reg32, "ld.global.nc.f32 {}, [{}];", "ld.param.f32 {}, [{}];",
    "ld.global.nc.v4.f32 {{{}, {}, {}, {}}}, [{}];", [a b c d]
);
read_only!(
    f64, reg64, "ld.global.nc.f64 {}, [{}];", "ld.param.f64 {}, [{}];",
    "ld.global.nc.v2.f64 {{{}, {}}}, [{}];", [a b]
);

/// Loads from global memory through the read-only path (`ld.global.nc`, CUDA's `__ldg`).
///
/// # Safety
/// `pointer` is aligned, points to a value in global memory, and nobody writes it while the kernel runs.
#[inline(always)]
pub unsafe fn ldg<T: ReadOnly>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::load(pointer) }
}

/// Loads `L` numbers that lie beside each other as [`ldg`] does, 16 bytes at a time.
///
/// # Safety
/// That of [`ldg`], for as many whole chunks of 16 bytes as the numbers take; the address is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn ldg_row<T: ReadOnly, const L: usize>(pointer: *const T) -> [T; L] {
    let (mut row, width) = ([T::default(); L], const { 16 / size_of::<T>() });
    for start in (0..L).step_by(width) {
        // SAFETY: the caller's promise.
        let chunk = unsafe { T::load_chunk(pointer.add(start)) };
        for (entry, &loaded) in row[start..].iter_mut().zip(chunk.as_ref()) {
            *entry = loaded;
        }
    }
    row
}

/// Loads from an address in the window of kernel parameters, which are constant memory; on the host, from any address. (An
/// index at run time into a parameter that Rust sees would copy it to local memory.)
///
/// # Safety
/// `address` is aligned and inside a parameter of the running kernel, where there is a `T`.
#[inline(always)]
pub unsafe fn load_parameter<T: ReadOnly>(address: u64) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::load_parameter(address) }
}
