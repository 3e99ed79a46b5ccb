//! SIMD lanes: the same dof of several patches side by side in one register, so that [`patchmg_device::contract`]
//! runs on all of them at once.

use super::batch::Offsets;
use core::marker::PhantomData;
use core::ops::{Add, Div, Sub};
use patchmg_device::scalar::{Real, Value};
use pulp::{Simd, WithSimd};

/// The most lanes that a register has: 16 `f32` in AVX-512.
pub const MAX_LANES: usize = 16;

/// Work on lines of up to so many nodes is a part of its kernel: a call would cost as much.
const INLINED: usize = 7;

/// Bytes that come from memory at a time.
pub const CACHE_LINE: usize = 64;

/// Asks for the cache line of an address, which need not be one.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction, and it takes any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The same, for the second cache: what comes there is more than the first holds.
#[inline(always)]
pub fn prefetch_far<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction, and it takes any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// A SIMD level of this machine that kernels are compiled for.
///
/// x86-64 has no scalar level: it would be half of the program's code, for CPUs from before 2013.
#[derive(Clone, Copy, Debug)]
pub enum SimdLevel {
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    /// Whatever the architecture has.
    #[cfg(not(target_arch = "x86_64"))]
    Native(pulp::Arch),
}

impl SimdLevel {
    /// The levels, as an error names them.
    pub const AVAILABLE: &str = "AVX2 with FMA, AVX-512";

    /// The widest level of this machine; `None` if it has none that kernels are compiled for.
    pub fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return pulp::x86::V4::try_new().map(Self::Avx512).or_else(|| pulp::x86::V3::try_new().map(Self::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        Some(Self::Native(pulp::Arch::new()))
    }

    /// Runs `work`, compiled for this level.
    #[inline(always)]
    pub fn dispatch<W: WithSimd>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => Simd::vectorize(simd, work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => Simd::vectorize(simd, work),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Native(arch) => arch.dispatch(work),
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Self::Native(_) => "NEON",
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            Self::Native(_) => "scalar",
        }
    }
}

/// Scalars that [`pulp`] has registers for.
pub trait Vectorized: Real {
    /// A register of them.
    type Register<S: Simd>: bytemuck::Pod + Send + Sync;
    /// `value` in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Register<S>;
    /// `a + b`.
    fn sum<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// `a - b`.
    fn difference<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// `a b`.
    fn product<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// `a / b`.
    fn quotient<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// `a b + c`, in one rounding where there is an instruction for it.
    fn mul_add<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>, c: Self::Register<S>)
    -> Self::Register<S>;
    /// The entries of a slice shorter than a register, then zeros.
    fn partial_load<S: Simd>(simd: S, values: &[Self]) -> Self::Register<S>;
    /// As many lanes as a slice shorter than a register has entries.
    fn partial_store<S: Simd>(simd: S, values: &mut [Self], register: Self::Register<S>);
}

macro_rules! vectorized {
    ($t:ident, $register:ident, $splat:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $mul_add:ident, $load:ident, $store:ident) => {
        impl Vectorized for $t {
            type Register<S: Simd> = S::$register;
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$register {
                simd.$splat(value)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn difference<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn product<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn quotient<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$div(a, b)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$register, b: S::$register, c: S::$register) -> S::$register {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn partial_load<S: Simd>(simd: S, values: &[Self]) -> S::$register {
                simd.$load(values)
            }
            #[inline(always)]
            fn partial_store<S: Simd>(simd: S, values: &mut [Self], register: S::$register) {
                simd.$store(values, register);
            }
        }
    };
}
vectorized!(
    f32,
    f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    div_f32s,
    mul_add_e_f32s,
    partial_load_f32s,
    partial_store_f32s
);
vectorized!(
    f64,
    f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    div_f64s,
    mul_add_e_f64s,
    partial_load_f64s,
    partial_store_f64s
);

/// Runs `work` in a function that is compiled for the SIMD level, the same one for all kernels.
#[inline(never)]
fn call<S: Simd, W: WithSimd>(simd: S, work: W) -> W::Output {
    simd.vectorize(work)
}

/// A register of the SIMD level `S`. Values of it are made inside `S::vectorize` only.
#[repr(transparent)]
pub struct Lanes<S: Simd, T: Vectorized> {
    register: T::Register<S>,
    level: PhantomData<S>,
}

impl<S: Simd, T: Vectorized> Clone for Lanes<S, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Simd, T: Vectorized> Copy for Lanes<S, T> {}

// SAFETY: `repr(transparent)` over a register that is `Pod`.
unsafe impl<S: Simd, T: Vectorized> bytemuck::Zeroable for Lanes<S, T> {}
// SAFETY: as above; a mark without size adds nothing.
unsafe impl<S: Simd, T: Vectorized> bytemuck::Pod for Lanes<S, T> {}

impl<S: Simd, T: Vectorized> Lanes<S, T> {
    /// Lanes of the register.
    pub const WIDTH: usize = size_of::<T::Register<S>>() / size_of::<T>();

    #[inline(always)]
    fn new(register: T::Register<S>) -> Self {
        Self { register, level: PhantomData }
    }

    /// The witness that the machine has the SIMD level.
    #[inline(always)]
    fn simd() -> S {
        const { assert!(size_of::<S>() == 0) }
        // SAFETY: a witness has no bytes. It is asked for by work on values of `Lanes<S, T>` alone, which runs inside
        // `S::vectorize`, and that needed a witness.
        unsafe { core::mem::zeroed() }
    }

    /// Runs `work` on values of this type and lines of `N` nodes, in a function of its own if they are long.
    #[inline(always)]
    pub fn vectorize<const N: usize, W: WithSimd>(work: W) -> W::Output {
        if const { N <= INLINED } { work.with_simd(Self::simd()) } else { Self::vectorize_apart(work) }
    }

    /// Runs `work` on values of this type in a function of its own.
    #[inline(always)]
    pub fn vectorize_apart<W: WithSimd>(work: W) -> W::Output {
        call(Self::simd(), work)
    }

    /// A number in all lanes.
    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Self::new(T::splat(Self::simd(), value))
    }

    /// Entries beside each other in memory.
    ///
    /// # Safety
    /// There must be as many as lanes.
    #[inline(always)]
    pub unsafe fn load(x: *const T) -> Self {
        // SAFETY: the caller's; any bits are a valid register.
        unsafe { x.cast::<Self>().read_unaligned() }
    }

    /// [`Self::load`] of so many entries, then zeros.
    ///
    /// # Safety
    /// There must be as many as `active` says.
    #[inline(always)]
    pub unsafe fn load_part(x: *const T, active: usize) -> Self {
        // SAFETY: the caller's.
        Self::new(T::partial_load(Self::simd(), unsafe { core::slice::from_raw_parts(x, active) }))
    }

    /// Its lanes to memory.
    ///
    /// # Safety
    /// There must be as many entries as lanes.
    #[inline(always)]
    pub unsafe fn store(self, x: *mut T) {
        // SAFETY: the caller's.
        unsafe { x.cast::<Self>().write_unaligned(self) };
    }

    /// Its first lanes to memory.
    ///
    /// # Safety
    /// There must be as many entries as `active` says, and nobody else may use them meanwhile.
    #[inline(always)]
    pub unsafe fn store_part(self, x: *mut T, active: usize) {
        // SAFETY: the caller's.
        T::partial_store(Self::simd(), unsafe { core::slice::from_raw_parts_mut(x, active) }, self.register);
    }

    /// `self x + sum`, lane by lane.
    #[inline(always)]
    pub fn times_add(self, x: Self, sum: Self) -> Self {
        Self::new(T::mul_add(Self::simd(), self.register, x.register, sum.register))
    }

    /// The nodes from `offset` on of every lane's patch, less `shift`: lane `l` reads
    /// `x[patches.now[l] + offset..][..N]`. Asks for the same nodes of the next batch: rows of a patch lie far apart,
    /// where no hardware foresees them.
    ///
    /// # Safety
    /// These entries must be readable.
    #[inline(always)]
    pub unsafe fn gather<const N: usize>(
        x: *const T,
        patches: &Offsets,
        offset: usize,
        shift: &Self,
        nodes: &mut [Self; N],
    ) {
        for node in (0..N).step_by(CACHE_LINE / size_of::<T>()) {
            for lane in 0..Self::WIDTH {
                prefetch(x.wrapping_add(patches.next[lane] + offset + node));
            }
        }
        let x = x.wrapping_add(offset);
        #[cfg(target_arch = "x86_64")]
        if Self::has_blocks::<N>() {
            // SAFETY: the caller's.
            return unsafe { Self::gather_blocks(x, &patches.now, shift, nodes) };
        }
        for (node, value) in nodes.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *value = unsafe { Self::gather_node(x.wrapping_add(node), &patches.now) } - *shift;
        }
    }

    /// `x[offsets[l]]` in lane `l`.
    ///
    /// # Safety
    /// These entries must be readable.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn gather_node(x: *const T, offsets: &[usize; MAX_LANES]) -> Self {
        let mut node = Self::ZERO;
        let lanes: &mut [T] = bytemuck::cast_slice_mut(core::slice::from_mut(&mut node));
        for (lane, offset) in lanes.iter_mut().zip(offsets) {
            // SAFETY: the caller's.
            *lane = unsafe { *x.add(*offset) };
        }
        node
    }

    /// The `N` nodes of every active lane to `x[patches.now[lane] + offset..][..N]`.
    ///
    /// # Safety
    /// These entries must be writable.
    #[inline(always)]
    pub unsafe fn scatter<const N: usize>(
        nodes: &[Self; N],
        x: *mut T,
        active: usize,
        patches: &Offsets,
        offset: usize,
    ) {
        #[cfg(target_arch = "x86_64")]
        if Self::has_blocks::<N>() && active == Self::WIDTH {
            // SAFETY: the caller's.
            return unsafe { Self::scatter_blocks(nodes, x.wrapping_add(offset), &patches.now) };
        }
        let rows = Self::transpose(nodes);
        for lane in 0..active {
            for node in 0..N {
                // SAFETY: the caller's.
                unsafe { *x.add(patches.now[lane] + offset + node) = rows[lane][node] };
            }
        }
    }

    /// The `N` nodes of every lane, one lane after the other: `rows[l][node]` for `l < WIDTH`.
    #[inline(always)]
    pub fn transpose<const N: usize>(nodes: &[Self; N]) -> [[T; N]; MAX_LANES] {
        let mut rows = [[<T as Value<T>>::ZERO; N]; MAX_LANES];
        #[cfg(target_arch = "x86_64")]
        if Self::has_blocks::<N>() {
            let offsets = core::array::from_fn(|lane| lane * N);
            // SAFETY: `rows` has `N` entries for each of at least `WIDTH` lanes.
            unsafe { Self::scatter_blocks(nodes, rows.as_mut_ptr().cast(), &offsets) };
            return rows;
        }
        for (node, values) in nodes.iter().enumerate() {
            let values: &[T] = bytemuck::cast_slice(core::slice::from_ref(values));
            for lane in 0..Self::WIDTH {
                rows[lane][node] = values[lane];
            }
        }
        rows
    }
}

impl<S: Simd, T: Vectorized> Lanes<S, T> {
    /// Takes over the lanes of `other` that are bits of `lanes`.
    #[inline(always)]
    pub fn replace(&mut self, other: Self, lanes: u32) {
        let own: &mut [T] = bytemuck::cast_slice_mut(core::slice::from_mut(self));
        let other: &[T] = bytemuck::cast_slice(core::slice::from_ref(&other));
        for lane in 0..Self::WIDTH {
            if (lanes >> lane) & 1 == 1 {
                own[lane] = other[lane];
            }
        }
    }
}

impl<S: Simd, T: Vectorized> Add for Lanes<S, T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(T::sum(Self::simd(), self.register, other.register))
    }
}

impl<S: Simd, T: Vectorized> Sub for Lanes<S, T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(T::difference(Self::simd(), self.register, other.register))
    }
}

impl<S: Simd, T: Vectorized> Div for Lanes<S, T> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self::new(T::quotient(Self::simd(), self.register, other.register))
    }
}

impl<S: Simd, T: Vectorized> Value<T> for Lanes<S, T> {
    // SAFETY: zero bits are a valid register, its lanes zero.
    const ZERO: Self = unsafe { core::mem::zeroed() };
    #[inline(always)]
    fn scale(coefficient: T, x: Self) -> Self {
        Self::new(T::product(Self::simd(), T::splat(Self::simd(), coefficient), x.register))
    }
    #[inline(always)]
    fn fma(coefficient: T, x: Self, sum: Self) -> Self {
        Self::new(T::mul_add(Self::simd(), T::splat(Self::simd(), coefficient), x.register, sum.register))
    }
}
