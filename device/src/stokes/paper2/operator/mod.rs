//! `y += α A x`, cell by cell on patches of two cells a direction (paper 2, section 4.1).
//!
//! A block has a patch, and of the cells around it those *before* it across a component. It computes the integrals over its
//! cells, over the faces between them and over the faces before them, so that every face is computed once, and adds them to all
//! unknowns that they touch. Others do so, too: patches of one parity in every direction, a *class*, share no unknown, and
//! classes follow each other. So no addition is atomic, and sums have a fixed order.
//!
//! A tensor of component `i` has two cells of `k + 2` nodes in direction `i`, which both have the node between them, and three
//! cells in the others, `j` and `l`, of which the first is the one before. With the scales left out,
//!
//! ```text
//! T = S_j ⊗ D_l x + D_j ⊗ S_l x + s W,    W = D_j ⊗ D_l x,
//! y_i = M T + ν L W - Gᵀ D_j ⊗ D_l p,    y_p -= G W.
//! ```
//!
//! All matrices are contracted as dense ones, as in the paper; here `D` happens to be diagonal.

mod contraction;
mod matrices;

use super::Fields;
use super::order::Outputs;
use super::tensor::Tensor;
use crate::layout::Shared;
use crate::patch::{bit, class_patch};
use crate::scalar::Real;
use crate::stokes::Paper2;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use contraction::Component;
use cuda_std::hint::made_here;
use cuda_std::thread;
use matrices::Forms;
pub use matrices::OperatorMatrices;
#[cfg(not(target_arch = "nvptx64"))]
use matrices::{across_nodes, are_shared};

/// Cells of a patch in a direction, and with the one before it.
const PATCH: usize = 2;
const WITH_BEFORE: usize = 3;
/// Tensors of a block.
#[cfg(not(target_arch = "nvptx64"))]
const TENSORS: usize = 4;

/// Threads from one row of outputs to the next at level `conflict-free`: with fewer, more reads lie in rows of several cells,
/// and meet in a bank; with more, more lanes have no row.
const fn row_threads(side: usize) -> usize {
    side.next_multiple_of(4)
}

impl<T: Real> Component<T> {
    /// Patches in a direction.
    #[inline(always)]
    const fn patches(&self, direction: usize) -> usize {
        self.fields.cells[direction] as usize / PATCH
    }

    /// In a direction, of a place in a tensor: the node among those of the domain, and whether it is one that is stored.
    #[inline(always)]
    const fn node(&self, direction: usize, place: usize) -> (usize, bool) {
        let (place, pitch) = (place as u32, self.pitch(direction) as u32);
        let (cell, node) = ((place / pitch) as usize, (place % pitch) as usize);
        let before = (direction != self.own) as usize;
        // Counted from the cell before the domain.
        let counted = (PATCH * self.patch[direction] + cell + 1 - before) * self.nodes + node;
        let end = (self.fields.cells[direction] as usize + 1) * self.nodes;
        let is_node = (direction == self.own || node < self.nodes) && counted >= self.nodes && counted < end;
        (counted.wrapping_sub(self.nodes), is_node)
    }

    /// The same in all directions, with the offset in a field. Cells before the patch in two directions are left out.
    #[inline(always)]
    fn offset(&self, point: [usize; 3]) -> (usize, bool) {
        let strides = self.fields.strides(self.nodes);
        let [x, y, z] = [self.node(0, point[0]), self.node(1, point[1]), self.node(2, point[2])];
        let before = |d: usize| (d != self.own && point[d] < self.pitch(d)) as usize;
        let is_node = x.1 && y.1 && z.1 && before(0) + before(1) + before(2) < 2;
        (
            x.0.wrapping_mul(strides[0])
                .wrapping_add(y.0.wrapping_mul(strides[1]))
                .wrapping_add(z.0.wrapping_mul(strides[2])),
            is_node,
        )
    }

    /// The component, or the pressure if `is_pressure`, to a tensor; zeros where there is none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn load(&self, x: *const T, is_pressure: bool, to: Tensor<T>) {
        let outputs = self.outputs(1);
        let (is_inside, first, end) = self.layers(&outputs, self.without_before([is_pressure; 3]));
        let x = x.wrapping_add(self.fields.first(if is_pressure { 3 } else { self.own }));
        if is_inside {
            for layer in first..end {
                let point = outputs.point(layer);
                let (offset, is_node) = self.offset(point);
                let is_node = is_node && !(is_pressure && point[self.own] % self.pitch(self.own) == self.nodes);
                // SAFETY: a node of the field.
                to.set(point, if is_node { unsafe { *x.add(offset) } } else { T::ZERO });
            }
        }
    }

    /// Adds a tensor to the component, that of the two cells of a patch together at the node that both have.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn add(&self, from: Tensor<T>, alpha: T, y: *mut T) {
        let (outputs, own, nodes) = (self.outputs(1), self.own, self.nodes);
        let (is_inside, first, end) = self.layers(&outputs, self.without_before([false; 3]));
        let y = y.wrapping_add(self.fields.first(own));
        if !is_inside {
            return;
        }
        for layer in first..end {
            let point = outputs.point(layer);
            let (offset, is_node) = self.offset(point);
            // The first cell leaves its last node to the other one; node 0 of the domain is no unknown.
            let is_unknown = point[own] != nodes && (point[own] > 0 || self.patch[own] > 0);
            let mut value = from.get(point);
            if point[own] == nodes + 1 {
                let mut other = point;
                other[own] = nodes;
                value = value + from.get(other);
            }
            if is_node && is_unknown {
                // SAFETY: an entry of the field, which no other thread of the class has.
                unsafe { *y.add(offset) = T::fma(alpha, value, *y.add(offset)) };
            }
        }
    }

    /// Subtracts a thread's sums, on the patch, from the pressure.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn subtract_divergence<const L: usize>(&self, outputs: &Outputs, alpha: T, sums: &[T; L], y: *mut T) {
        let (is_inside, first, end) = self.layers(outputs, self.without_before([true; 3]));
        let y = y.wrapping_add(self.fields.first(3));
        if is_inside {
            for layer in first..end {
                let point = outputs.point(layer);
                let (offset, is_node) = self.offset(point);
                if is_node && point[self.own] % self.pitch(self.own) < self.nodes {
                    // SAFETY: an entry of the field, which no other block has.
                    unsafe { *y.add(offset) = T::fma(-alpha, sums[layer], *y.add(offset)) };
                }
            }
        }
    }

    /// See the module.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn apply<const L: usize>(&self, scales: &Scales<T>, x: *const T, alpha: T, y: *mut T) {
        let (own, forms) = (self.own, Forms::new(self.level, self.nodes));
        let [j, l] = match own {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        };
        let only = |d: usize| [d == 0, d == 1, d == 2];
        let (all, patch) = (self.without_before([false; 3]), self.without_before([true; 3]));
        let (patch_in_j, patch_in_l) = (self.without_before(only(j)), self.without_before(only(l)));
        let zeros = [T::ZERO; L];
        let [first, second, third, fourth] = [self.tensor(0), self.tensor(1), self.tensor(2), self.tensor(3)];
        // SAFETY, throughout: the caller's promise. A tensor is read after a barrier, and written after another one.
        unsafe {
            self.load(x, false, first);
            thread::sync_threads();

            let outputs = self.outputs(j);
            let mut sums = zeros;
            self.contract(forms.form(), j, first, &outputs, patch_in_l, &mut sums);
            self.add_ends(j, first, &outputs, patch_in_l, &mut sums);
            self.store(second, &outputs, patch_in_l, scales.forms[j] * scales.masses[l], &sums);
            let mut sums = zeros;
            self.contract(forms.mass(), j, first, &outputs, patch_in_j, &mut sums);
            self.store(third, &outputs, patch_in_j, scales.masses[j], &sums);
            thread::sync_threads();

            let outputs = self.outputs(l);
            let mut masses = zeros;
            self.contract(forms.mass(), l, third, &outputs, patch, &mut masses);
            self.store(fourth, &outputs, patch, scales.masses[l], &masses);
            let mut sums = zeros;
            self.contract(forms.form(), l, third, &outputs, patch_in_j, &mut sums);
            self.add_ends(l, third, &outputs, patch_in_j, &mut sums);
            for layer in 0..L {
                sums[layer] = scales.forms[l] * sums[layer];
            }
            // `W` again: kept as well, it would not fit the registers.
            self.add_own(fourth, &outputs, patch, scales.reaction, &mut sums);
            self.contract(forms.mass(), l, second, &outputs, patch_in_l, &mut sums);
            self.store(first, &outputs, all, scales.masses[own], &sums);
            thread::sync_threads();

            self.load(x, true, second);
            thread::sync_threads();
            let outputs = self.outputs(j);
            let mut sums = zeros;
            self.contract(forms.mass(), j, second, &outputs, patch, &mut sums);
            self.store(third, &outputs, patch, -scales.masses[j], &sums);
            thread::sync_threads();
            let outputs = self.outputs(l);
            let mut sums = zeros;
            self.contract(forms.mass(), l, third, &outputs, patch, &mut sums);
            self.store(second, &outputs, patch, scales.masses[l], &sums);
            thread::sync_threads();

            let outputs = self.outputs(own);
            let mut divergence = zeros;
            self.contract(forms.divergence(), own, fourth, &outputs, patch, &mut divergence);
            self.subtract_divergence(&outputs, alpha, &divergence, y);
            let mut sums = zeros;
            self.contract(forms.stiffness(), own, fourth, &outputs, patch, &mut sums);
            for layer in 0..L {
                sums[layer] = scales.forms[own] * sums[layer];
            }
            self.contract(forms.gradient(), own, second, &outputs, patch, &mut sums);
            self.contract(forms.continuous_mass(), own, first, &outputs, all, &mut sums);
            self.store(third, &outputs, all, T::from_f64(1.0), &sums);
            thread::sync_threads();
            self.add(third, alpha, y);
        }
    }
}

/// The numbers behind the matrices.
struct Scales<T> {
    forms: [T; 3],
    masses: [T; 3],
    reaction: T,
}

/// One class of patches.
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`] of the class; vectors are as `fields` says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn apply<T: Real, const L: usize>(
    (level, nodes): (Paper2, usize),
    parameters: u64,
    scales: &Scales<T>,
    ends: *const T,
    (x, y): (*const T, *mut T),
    alpha: T,
    fields: Fields,
) {
    // For each component anew: places that they share would take registers from one to the next.
    let class = |d: usize, block: u32| class_patch(bit(fields.color, d), made_here(block) as usize);
    let component = |own: usize| {
        let patch = [class(0, thread::block_idx_x()), class(1, thread::block_idx_y()), class(2, thread::block_idx_z())];
        Component { level, nodes, own, parameters, ends, fields, patch }
    };
    // SAFETY: the caller's promise.
    unsafe {
        component(0).apply::<L>(scales, x, alpha, y);
        component(1).apply::<L>(scales, x, alpha, y);
        component(2).apply::<L>(scales, x, alpha, y);
    }
}

/// The operator's functions at the levels with matrices in constant memory.
macro_rules! in_constant_memory {
    ($($name:ident = $level:ident, $P:ident;)+) => {$(
        /// See [`super`].
        ///
        /// # Safety
        /// The entry point's function, launched with the [`block`] and the [`blocks`] of the class; vectors are as `fields`
        /// says.
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        pub unsafe fn $name<T: Real, const C: usize, const E: usize, const L: usize>(
            matrices: &OperatorMatrices<T, $P, E>,
            ends: *const T,
            x: *const T,
            y: *mut T,
            alpha: T,
            fields: Fields,
        ) {
            #[cfg(not(target_arch = "nvptx64"))]
            let parameters = (&raw const *matrices) as u64;
            // A copy of the parameter would be in local memory: entries are picked at run time.
            #[cfg(target_arch = "nvptx64")]
            let parameters = {
                let address: u64;
                macro_rules! first {
                    ($scalar:literal) => {
                        // SAFETY: the name that the compiler gives the first parameter.
                        unsafe {
                            core::arch::asm!(
                                concat!("mov.b64 {}, ", env!("PATCHMG_MODULE"), "_", stringify!($name), $scalar, "_param_0;"),
                                out(reg64) address,
                                options(pure, nomem, nostack, preserves_flags)
                            )
                        }
                    };
                }
                if size_of::<T>() == 4 { first!("_f32") } else { first!("_f64") }
                address
            };
            let OperatorMatrices { form_scales: forms, mass_scales: masses, reaction, .. } = *matrices;
            let scales = Scales { forms, masses, reaction };
            // SAFETY: the caller's promise.
            unsafe { apply::<T, L>((Paper2::$level, C), parameters, &scales, ends, (x, y), alpha, fields) }
        }
    )+};
}

in_constant_memory! {
    padding = Padding, E;
    basic = Basic, C;
}

/// Those with matrices in shared memory.
macro_rules! in_shared_memory {
    ($($name:ident = $level:ident;)+) => {$(
        /// See [`super`].
        ///
        /// # Safety
        /// Launched with the [`block`] and the [`blocks`] of the class; vectors are as `fields` says.
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        pub unsafe fn $name<T: Real, const C: usize, const E: usize, const L: usize>(
            matrices: *const T,
            ends: *const T,
            x: *const T,
            y: *mut T,
            alpha: T,
            fields: Fields,
        ) {
            let words = Forms::new(Paper2::$level, C).words();
            let mut index = thread::thread_idx_x() as usize;
            while index < words {
                // SAFETY: an entry of the matrices.
                Shared::at(0).set(index, unsafe { *matrices.add(index) });
                index += thread::block_dim_x() as usize;
            }
            // SAFETY: the numbers behind them.
            let number = |index: usize| unsafe { *matrices.add(words + index) };
            let three = |first: usize| [number(first), number(first + 1), number(first + 2)];
            let scales = Scales { forms: three(0), masses: three(3), reaction: number(6) };
            // SAFETY: the caller's promise.
            unsafe { apply::<T, L>((Paper2::$level, C), 0, &scales, ends, (x, y), alpha, fields) }
        }
    )+};
}

in_shared_memory! {
    shared = Shared;
    conflict_free = ConflictFree;
}

/// See [`Padding`](super::Padding).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(level: Paper2, nodes: usize, scalar_bytes: usize) -> Block {
    let side = WITH_BEFORE * across_nodes(level, nodes);
    let row = if level == Paper2::ConflictFree { row_threads(side) } else { side };
    let table = if are_shared(level) { Forms::new(level, nodes).words() } else { 0 };
    let words = table + TENSORS * PATCH * (nodes + 1) * side * side;
    Block { threads: side * row, min_blocks: 1, shared_bytes: words * scalar_bytes, barriers: 3 * 7 }
}

/// Blocks of a class; none if it has no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(cells: [u32; 3], class: u32) -> [u32; 3] {
    core::array::from_fn(|d| crate::patch::class_count(cells[d], bit(class, d)))
}
