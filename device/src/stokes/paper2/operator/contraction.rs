//! Contractions of tensors in shared memory with 1D matrices.

use super::super::order::Outputs;
use super::super::tensor::Tensor;
use super::matrices::{Form, Forms, across_nodes, are_shared};
use super::{Fields, PATCH, WITH_BEFORE, row_threads};
use crate::layout::Shared;
use crate::scalar::Real;
use crate::stokes::Paper2;
use cuda_std::hint::opaque;
use cuda_std::ptr::load_parameter;

/// Cells of a tensor from one place on to another, in each direction.
#[derive(Clone, Copy)]
pub struct Cells {
    pub first: [usize; 3],
    pub end: [usize; 3],
}

/// What a block computes for a component. Level, nodes and component are constant in an entry point.
#[derive(Clone, Copy)]
pub struct Component<T> {
    pub level: Paper2,
    /// Of a cell across the component, without padding.
    pub nodes: usize,
    pub own: usize,
    /// Of [`OperatorMatrices`](super::OperatorMatrices) among the parameters, which are in constant memory.
    pub parameters: u64,
    pub ends: *const T,
    pub fields: Fields,
    /// Among all patches.
    pub patch: [usize; 3],
}

impl<T: Real> Component<T> {
    /// From a cell of a tensor to the next one.
    #[inline(always)]
    pub const fn pitch(&self, direction: usize) -> usize {
        if direction == self.own { self.nodes + 1 } else { across_nodes(self.level, self.nodes) }
    }

    /// Cells of a tensor.
    #[inline(always)]
    pub const fn cells(&self, direction: usize) -> usize {
        if direction == self.own { PATCH } else { WITH_BEFORE }
    }

    #[inline(always)]
    const fn sizes(&self) -> [usize; 3] {
        [self.pitch(0) * self.cells(0), self.pitch(1) * self.cells(1), self.pitch(2) * self.cells(2)]
    }

    /// All cells but, in given directions across, the one before.
    #[inline(always)]
    pub const fn without_before(&self, directions: [bool; 3]) -> Cells {
        let [x, y, z] = directions;
        let first = [(x && self.own != 0) as usize, (y && self.own != 1) as usize, (z && self.own != 2) as usize];
        Cells { first, end: [self.cells(0), self.cells(1), self.cells(2)] }
    }

    /// A tensor by its number.
    #[inline(always)]
    pub fn tensor(&self, number: usize) -> Tensor<T> {
        let table = if are_shared(self.level) { Forms::new(self.level, self.nodes).words() } else { 0 };
        let [x, y, z] = self.sizes();
        Tensor { memory: Shared::at(table + number * x * y * z), strides: [1, x, x * y] }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn entry(&self, index: usize) -> T {
        match are_shared(self.level) {
            true => Shared::at(0).get(index),
            // SAFETY: an entry of the matrices.
            false => unsafe { load_parameter(self.parameters + (index * size_of::<T>()) as u64) },
        }
    }

    #[inline(always)]
    pub fn outputs(&self, direction: usize) -> Outputs {
        Outputs::new(
            self.level,
            direction,
            self.sizes(),
            row_threads(WITH_BEFORE * across_nodes(self.level, self.nodes)),
        )
    }

    /// Whether a thread has outputs in some cells, and which layers they have.
    #[inline(always)]
    pub fn layers(&self, outputs: &Outputs, cells: Cells) -> (bool, usize, usize) {
        let (layers, point) = (outputs.layers(), outputs.point(0));
        // Directions one by one: an index that is known at run time would put arrays into memory.
        let is_in = |d: usize| {
            let (first, end) = (cells.first[d] * self.pitch(d), cells.end[d] * self.pitch(d));
            d == layers || (point[d] >= first && point[d] < end)
        };
        let is_inside = outputs.is_active && is_in(0) && is_in(1) && is_in(2);
        (is_inside, cells.first[layers] * self.pitch(layers), cells.end[layers] * self.pitch(layers))
    }

    /// `sums += Q x` of a matrix in a direction, for the outputs of a thread in these cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn contract<const L: usize>(
        &self,
        form: Form,
        direction: usize,
        x: Tensor<T>,
        outputs: &Outputs,
        cells: Cells,
        sums: &mut [T; L],
    ) {
        let (is_inside, first, end) = self.layers(outputs, cells);
        let (pitch, [by_column, by_row]) = (self.pitch(direction), form.strides);
        if !is_inside {
            return;
        }
        // Not unrolled: all contractions of three components would not fit the instruction cache.
        let columns = opaque(form.columns as u32) as usize;
        if outputs.layers() == direction {
            self.contract_layers(form, 0, x, outputs, cells, sums);
            self.contract_layers(form, 1, x, outputs, cells, sums);
            self.contract_layers(form, 2, x, outputs, cells, sums);
            return;
        }
        let at = outputs.point(0)[direction];
        let (cell, row) = ((at as u32 / pitch as u32) as usize, (at as u32 % pitch as u32) as usize);
        if row >= form.rows {
            return;
        }
        let (is_coupled, start) = (form.neighbours > 0, if form.neighbours > 0 { at } else { row } * by_row);
        for neighbour in 0..if is_coupled { opaque(3) as usize } else { 1 } {
            // Where there is no neighbour its matrix is zero.
            let neighbour_cell = (cell + neighbour).wrapping_sub(1);
            let exists = neighbour_cell >= cells.first[direction] && neighbour_cell < cells.end[direction];
            let from_cell = if is_coupled && exists { neighbour_cell } else { cell };
            let start = form.start + neighbour * form.neighbours + start;
            for column in 0..columns {
                let entry = self.entry(start + column * by_column);
                for layer in first..end {
                    let mut from = outputs.point(layer);
                    from[direction] = from_cell * pitch + column;
                    sums[layer] = T::fma(entry, x.get(from), sums[layer]);
                }
            }
        }
    }

    /// The same in the direction of layers, for those of one cell.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn contract_layers<const L: usize>(
        &self,
        form: Form,
        cell: usize,
        x: Tensor<T>,
        outputs: &Outputs,
        cells: Cells,
        sums: &mut [T; L],
    ) {
        let direction = outputs.layers();
        let (pitch, [by_column, by_row]) = (self.pitch(direction), form.strides);
        let (first, end) = (cells.first[direction], cells.end[direction]);
        if cell < first || cell >= end {
            return;
        }
        let columns = opaque(form.columns as u32) as usize;
        let is_coupled = form.neighbours > 0;
        // No closure, in which a trace would not tell one contraction from another.
        for neighbour in 0..WITH_BEFORE {
            let exists = cell + neighbour > first && cell + neighbour <= end;
            if !exists || neighbour != 1 && !is_coupled {
                continue;
            }
            let of_cell = if is_coupled { cell * pitch * by_row } else { 0 };
            let start = form.start + neighbour * form.neighbours + of_cell;
            for column in 0..columns {
                let mut from = outputs.point(0);
                from[direction] = (cell + neighbour - 1) * pitch + column;
                let value = x.get(from);
                for row in 0..form.rows {
                    let entry = self.entry(start + column * by_column + row * by_row);
                    sums[cell * pitch + row] = T::fma(entry, value, sums[cell * pitch + row]);
                }
            }
        }
    }

    /// What `S` in a direction has more where the patch touches the ends of the domain.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn add_ends<const L: usize>(
        &self,
        direction: usize,
        x: Tensor<T>,
        outputs: &Outputs,
        cells: Cells,
        sums: &mut [T; L],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.patch[direction] == 0 {
                self.add_end(direction, 0, x, outputs, cells, sums);
            }
            if self.patch[direction] + 1 == self.patches(direction) {
                self.add_end(direction, 1, x, outputs, cells, sums);
            }
        }
    }

    /// Of the lower end, 0, or of the upper one, 1.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn add_end<const L: usize>(
        &self,
        direction: usize,
        at_end: usize,
        x: Tensor<T>,
        outputs: &Outputs,
        cells: Cells,
        sums: &mut [T; L],
    ) {
        let (is_inside, first, end) = self.layers(outputs, cells);
        // The first and the last cell of the patch.
        let (pitch, cell) = (self.pitch(direction), 1 + at_end);
        let is_layer = outputs.layers() == direction;
        let at = outputs.point(0)[direction];
        if !is_inside || !is_layer && at as u32 / pitch as u32 != cell as u32 {
            return;
        }
        let matrix = self.ends.wrapping_add(at_end * pitch * pitch);
        for column in 0..opaque(pitch as u32) as usize {
            // SAFETY: the caller's promise: entries of one of two matrices.
            let entry = |row: usize| unsafe { *matrix.wrapping_add(column * pitch + row) };
            if is_layer {
                let mut from = outputs.point(0);
                from[direction] = cell * pitch + column;
                let value = x.get(from);
                for row in 0..pitch {
                    sums[cell * pitch + row] = T::fma(entry(row), value, sums[cell * pitch + row]);
                }
            } else {
                let entry = entry(at - cell * pitch);
                for layer in first..end {
                    let mut from = outputs.point(layer);
                    from[direction] = cell * pitch + column;
                    sums[layer] = T::fma(entry, x.get(from), sums[layer]);
                }
            }
        }
    }

    /// `sums += factor x` of what a thread has stored in these cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn add_own<const L: usize>(&self, x: Tensor<T>, outputs: &Outputs, cells: Cells, factor: T, sums: &mut [T; L]) {
        let (is_inside, first, end) = self.layers(outputs, cells);
        if is_inside {
            for layer in first..end {
                sums[layer] = T::fma(factor, x.get(outputs.point(layer)), sums[layer]);
            }
        }
    }

    /// A thread's sums times a factor, in these cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn store<const L: usize>(&self, y: Tensor<T>, outputs: &Outputs, cells: Cells, factor: T, sums: &[T; L]) {
        let (is_inside, first, end) = self.layers(outputs, cells);
        if is_inside {
            for layer in first..end {
                y.set(outputs.point(layer), factor * sums[layer]);
            }
        }
    }
}
