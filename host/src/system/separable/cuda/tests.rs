//! Kernels, emulated, against matrices along axes.

use super::super::level::{Kernels, SeparableLevel};
use super::super::tests::patches;
use super::super::{Condition, DirectNodes, Equation, Separable};
use super::equal::{
    cell_matrices, load_restriction_matrices, matrices, prolongation_matrices, restriction_matrices, table_words,
};
use super::graded::{
    Tables, cell_matrices as graded_cell_matrices, kept_from, sizes as graded_sizes, sizes_bytes, tables_bytes,
};
use super::{Cells, constants, directions};
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Scalar};
use crate::level::{Level as _, Patches as _};
use crate::mesh::{Grading, Mesh};
use crate::operator::LinearOperator as _;
use crate::system::System;
use crate::testing::random;
use cuda_builder::ptx::Constants;
use patchmg_device::kernels::Module;
use patchmg_device::separable::graded;
use patchmg_device::separable::{self, Apply, ProlongateAdd, Residual, RestrictResidual, Smooth};
use patchmg_device::typed::{self, Arguments as _};
use patchmg_emulation::{Arguments, Kernel};
use std::ptr;
use std::sync::Arc;

const D: Condition = Condition::Dirichlet;
const N: Condition = Condition::Neumann;
const P: Condition = Condition::Periodic;

fn equation(sides: [[Condition; 2]; 3], grading: [Grading; 3], reaction: f64) -> Equation {
    Equation { sides, diffusion: [1.0, 0.5, 2.0], reaction, grading }
}

/// Every side and grading, with and without a reaction.
fn equations() -> [Equation; 7] {
    let uniform = || [Grading::Uniform, Grading::Uniform, Grading::Uniform];
    let graded = [Grading::Geometric(20.0), Grading::BothEnds(5.0), Grading::Geometric(0.3)];
    [
        Equation::default(),
        equation([[D, N], [N, D], [D, D]], graded.clone(), 0.0),
        equation([[P, P], [D, D], [N, N]], uniform(), 3.0),
        equation([[N, N], [P, P], [N, D]], graded, 40.0),
        equation([[N, N]; 3], uniform(), 0.0),
        equation([[D, N], [N, D], [P, P]], uniform(), 40.0),
        equation([[N, D], [P, P], [D, N]], uniform(), 0.0),
    ]
}

/// What is written into instructions is what every launch passes.
#[test]
fn matrices_are_those_of_the_instructions_whatever_the_equation() {
    for equation in equations() {
        for cells in [&[4, 6][..], &[6, 4, 8]] {
            let system = system(cells, &SIZES[..cells.len()], 3, equation.clone());
            let cells = Cells::of(&system).unwrap();
            let module = cells.module(&system);
            let restrictions: [Vec<f32>; 2] =
                [restriction_matrices(&system).unwrap(), load_restriction_matrices(&system).unwrap()];
            let (smoother, prolongation) = (matrices(&system).unwrap().0, prolongation_matrices(&system).unwrap());
            let mut known = constants(module).unwrap();
            let mut check = |entry: String, matrices: &[f32]| {
                let index = known.iter().position(|known| known.entry == entry).unwrap();
                let Constants { bytes, .. } = known.swap_remove(index);
                assert!(bytemuck::cast_slice(matrices).starts_with(&bytes), "{entry}");
                assert!(bytes.len() + 4 * (3 + 3 + 1) >= size_of_val(matrices), "{entry}");
            };
            if cells == Cells::Graded {
                let operator = graded_cell_matrices(&system).unwrap();
                check(graded::Apply::<f32>::spec(module).name, &operator);
                check(graded::Residual::<f32>::spec(module).name, &operator);
            } else {
                let operator = cell_matrices(&system).unwrap();
                check(Smooth::<f32>::spec(module).name, &smoother);
                check(Apply::<f32>::spec(module).name, &operator);
                check(Residual::<f32>::spec(module).name, &operator);
                check(RestrictResidual::<f32>::spec(module).name, &restrictions[0]);
                check(ProlongateAdd::<f32>::spec(module).name, &prolongation);
            }
            assert_eq!(known, []);
            let [residuals, loads] = restrictions;
            assert_eq!(residuals.len(), loads.len());
            assert_eq!(residuals[..residuals.len() - (3 + 1)], loads[..residuals.len() - (3 + 1)]);
        }
    }
}

/// # Safety
/// The vectors and matrices are those of a level, and the blocks those of the kernel.
unsafe fn run<A: typed::Arguments>(module: Module, blocks: [u32; 3], arguments: &A) {
    let kernel = Kernel::new(module, A::spec(module)).unwrap();
    // SAFETY: the caller's promise.
    unsafe { kernel.run(blocks, Arguments { typed: Some(arguments), ..Arguments::default() }) }
}

/// A mesh of so many cells on a box of these sizes.
fn system(cells: &[usize], sizes: &[f64], degree: usize, equation: Equation) -> Separable {
    let halves: Vec<usize> = cells.iter().map(|cells| cells / 2).collect();
    Separable::new(Mesh::of_box(&halves, sizes, 1).unwrap(), degree, equation)
        .unwrap()
        .with_direct_nodes(DirectNodes::All(0))
}

/// Of a box whose patches have other widths in each direction.
const SIZES: [f64; 3] = [1.5, 1.0, 0.8];

/// A level by matrices along axes.
struct Axes<T: Scalar> {
    cpu: Arc<Cpu>,
    level: SeparableLevel<Cpu, T>,
    dofs: usize,
}

impl<T: Scalar> Axes<T> {
    fn new(system: &Separable) -> Self {
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let level = SeparableLevel::new(&cpu, system, Kernels::NONE).unwrap();
        Self { cpu, level, dofs: system.layout().dofs() }
    }

    /// Random numbers, by so much larger.
    fn vector(&self, seed: u64, shift: f64) -> <Cpu as Backend>::Vector<T> {
        let values = random(self.dofs, seed);
        self.level.vector_of(&mut |dof| values[dof] + shift).unwrap()
    }

    fn host(&self, vector: &<Cpu as Backend>::Vector<T>) -> Vec<T> {
        let mut host = vec![T::ZERO; self.level.storage()];
        self.cpu.download(vector, &mut host).unwrap();
        host
    }
}

/// So many rounding errors of a number.
fn roundings<T: Scalar>(count: f64, of: f64) -> f64 {
    of * count * 0.5_f64.powi(T::MANTISSA_DIGITS as i32)
}

fn largest<T: Scalar>(values: &[T]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.to_f64().abs()))
}

fn assert_close<T: Scalar>(found: &[T], expected: &[T], allowed: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found.to_f64() - expected.to_f64()).abs();
        assert!(error <= allowed, "{what}, entry {index}: {found:?} instead of {expected:?}");
    }
}

fn check<T: Scalar>(cells: &[usize], degree: usize, equation: Equation) {
    let what = format!("{cells:?}, degree {degree}, {equation:?}");
    let system = system(cells, &SIZES[..cells.len()], degree, equation);
    let is_equal = system.equation().grading == [Grading::Uniform, Grading::Uniform, Grading::Uniform];
    assert_eq!(Cells::of(&system), Some(if is_equal { Cells::Equal } else { Cells::Graded }), "{what}");
    let axes = Axes::<T>::new(&system);
    let (Tables { tables, starts }, directions) = (Tables::<T>::new(&system).unwrap(), directions(&system));
    assert!(tables_bytes::<T>(&system) >= (size_of::<T>() * tables.len() + 4 * starts.len()) as u64, "{what}");
    let b = axes.vector(1, 3.0);
    let (matrices, table) = matrices::<T>(&system).unwrap();
    assert_eq!(table.len(), table_words(&system), "{what}");
    let (equal, graded) = (Cells::Equal.module(&system), Cells::Graded.module(&system));
    let [mut has_left_out, mut has_smoothed] = [is_equal; 2];
    for &color in axes.level.colors() {
        let mut expected = axes.vector(2, 3.0);
        let (mut found, b_host) = (axes.host(&expected), axes.host(&b));
        axes.level.smooth_color(color, &b, &mut expected).unwrap();
        let mut of_all = axes.host(&expected);
        let (dim, b, x, color) = (cells.len(), b_host.as_ptr(), found.as_mut_ptr(), color as u32);
        if is_equal {
            let (matrices, table) = (matrices.as_ptr(), table.as_ptr());
            let arguments = Smooth { matrices, table, b, x, directions, color };
            let blocks = separable::blocks::<T>(dim, degree, directions, color);
            // SAFETY: vectors, matrices and table are those of the level, and the blocks those of its kernel.
            unsafe { run(equal, blocks, &arguments) };
        } else {
            // Of both parities in every direction.
            let kept = (color.count_ones() % 2 == 1).then(|| kept_patches(&system));
            let counts = kept.as_ref().map(kept_from);
            let (tables, starts, before) = (tables.as_ptr(), starts.as_ptr(), found.clone());
            let of_kept = counts.as_ref().map_or(ptr::null(), Vec::as_ptr);
            let arguments = graded::Smooth { tables, starts, kept: of_kept, b, x, directions, color };
            let blocks = graded::blocks::<T>(dim, degree, directions, color);
            // SAFETY: as above, of as many patches as there are starts.
            unsafe { run(graded, blocks, &arguments) };
            let color = color as usize;
            let [all, smoothed] = [None, kept.as_ref()].map(|left_out| patches(&system, color, left_out));
            for &dof in all.difference(&smoothed).flatten() {
                let offset = system.space().offset(system.unknowns().nth(dof).unwrap());
                assert_eq!(found[offset], before[offset], "{what}, color {color}, without {kept:?}");
                of_all[offset] = before[offset];
            }
            has_left_out |= kept.is_some() && smoothed.len() < all.len();
            has_smoothed |= kept.is_some() && !smoothed.is_empty();
        }
        let allowed = roundings::<T>(1e4, largest(&of_all));
        assert_close(&found, &of_all, allowed, &format!("{what}, color {color}"));
    }
    assert!(has_left_out && has_smoothed, "{what}");
}

/// Runs of kept patches, of another length in each direction. Along x the second half is kept, so that blocks behind the first one are left out.
fn kept_patches(system: &Separable) -> [Vec<bool>; 3] {
    let mut kept = [const { Vec::new() }; 3];
    for (d, line) in system.lines().iter().enumerate() {
        let is_in_second_half = |patch: usize| d == 0 && patch >= line.axis.cells() / 2;
        kept[d] = line.patch_vertices().map(|patch| patch % (9 - d) >= 2 || is_in_second_half(patch)).collect();
    }
    kept
}

fn check_products<T: Scalar>(cells: &[usize], degree: usize, equation: Equation) {
    let what = format!("{cells:?}, degree {degree}, {equation:?}");
    let system = system(cells, &SIZES[..cells.len()], degree, equation);
    let axes = Axes::<T>::new(&system);
    let (b, x, mut product) = (axes.vector(1, 0.0), axes.vector(2, 0.0), axes.vector(3, 0.0));
    axes.level.apply(&x, &mut product).unwrap();
    let (b, x, product) = (axes.host(&b), axes.host(&x), axes.host(&product));
    let difference = |(&b, &product): (&T, &T)| T::from_f64(b.to_f64() - product.to_f64());
    let residual: Vec<T> = b.iter().zip(&product).map(difference).collect();
    let allowed = roundings::<T>(1e2, largest(&product));
    let (directions, cells_of) = (directions(&system), Cells::of(&system).unwrap());
    let (module, sizes) = (cells_of.module(&system), graded_sizes::<T>(&system));
    let matrices: Vec<T> = match cells_of {
        Cells::Equal => cell_matrices(&system).unwrap(),
        Cells::Graded => graded_cell_matrices(&system).unwrap(),
    };
    assert_eq!(sizes_bytes::<T>(&system), size_of_val(&sizes[..]) as u64, "{what}");
    for chunk in [1, 3, 32] {
        let blocks = separable::operator_blocks::<T>(cells.len(), degree, directions, chunk);
        let (matrices, sizes, b, x) = (matrices.as_ptr(), sizes.as_ptr(), b.as_ptr(), x.as_ptr());
        let [mut found, mut difference] = [vec![T::ZERO; product.len()], vec![T::ZERO; product.len()]];
        let (y, r) = (found.as_mut_ptr(), difference.as_mut_ptr());
        // SAFETY: vectors and matrices are those of the level, and the blocks those of its kernels.
        unsafe {
            match cells_of {
                Cells::Equal => {
                    run(module, blocks, &Apply { matrices, x, y, directions, chunk });
                    run(module, blocks, &Residual { matrices, b, x, r, directions, chunk });
                }
                Cells::Graded => {
                    run(module, blocks, &graded::Apply { matrices, sizes, x, y, directions, chunk });
                    run(module, blocks, &graded::Residual { matrices, sizes, b, x, r, directions, chunk });
                }
            }
        }
        assert_close(&found, &product, allowed, &format!("{what}, chunk {chunk}, product"));
        assert_close(&difference, &residual, allowed, &format!("{what}, chunk {chunk}, residual"));
    }
}

#[test]
fn kernels_of_the_operator_are_its_matrices_along_axes() {
    for equation in equations() {
        for (cells, degree) in [
            (&[260, 6][..], 1),
            (&[4, 6], 2),
            (&[86, 4], 3),
            (&[64, 6], 4),
            (&[4, 4, 6], 1),
            (&[10, 4, 4], 2),
            (&[6, 4, 4], 3),
            (&[4, 6, 4], 4),
            (&[4, 4, 4], 7),
        ] {
            check_products::<f64>(cells, degree, equation.clone());
            check_products::<f32>(cells, degree, equation.clone());
        }
    }
    for degree in 5..=10 {
        check_products::<f64>(&[4, 6], degree, equations()[2].clone());
        check_products::<f32>(&[4, 52], degree, equations()[5].clone());
        check_products::<f64>(&[4, 6], degree, equations()[3].clone());
    }
    for degree in [5, 6, 8] {
        check_products::<f64>(&[4, 6, 4], degree, equations()[5].clone());
        check_products::<f64>(&[4, 6, 4], degree, equations()[3].clone());
    }
}

fn check_transfers<T: Scalar>(cells: &[usize], degree: usize, equation: Equation) {
    let what = format!("{cells:?}, degree {degree}, {equation:?}");
    // As wide as they are long, seen with their coefficients, so that all directions are halved.
    let size = |(&cells, diffusion): (&usize, &f64)| cells as f64 * diffusion.sqrt();
    let sizes: Vec<f64> = cells.iter().zip(&equation.diffusion).map(size).collect();
    let system = system(cells, &sizes, degree, equation);
    assert!(system.halves_all(), "{what}");
    let (fine, coarse) = (Axes::<T>::new(&system), Axes::<T>::new(&system.coarser().unwrap().unwrap()));
    let (mut of_fine, of_coarse, b) = (fine.vector(1, 0.0), coarse.vector(1, 0.0), fine.vector(3, 0.0));
    let [mut loads, mut residuals] = [2, 3].map(|seed| coarse.vector(seed, 0.0));
    let (x, coarse_x, load) = (fine.host(&of_fine), coarse.host(&of_coarse), fine.host(&b));
    fine.level.restrict_load(&b, &of_fine, &mut loads).unwrap();
    fine.level.restrict_residual(&b, &of_fine, &mut residuals).unwrap();
    fine.level.prolongate_add(&of_coarse, &mut of_fine).unwrap();
    let (expected, prolongated) = ([loads, residuals].map(|sums| coarse.host(&sums)), fine.host(&of_fine));

    let (directions, dim) = (directions(&system), cells.len());
    let down = [load_restriction_matrices::<T>(&system).unwrap(), restriction_matrices(&system).unwrap()];
    let up = prolongation_matrices::<T>(&system).unwrap();
    let (module, allowed) = (Cells::Equal.module(&system), roundings::<T>(1e2, 1.0));
    for chunk in [1, 2, 32] {
        for (matrices, expected) in down.iter().zip(&expected) {
            let mut sums = vec![T::ZERO; expected.len()];
            for class in 0..separable::restriction_classes(dim, degree) {
                let (matrices, b, x, coarse) = (matrices.as_ptr(), load.as_ptr(), x.as_ptr(), sums.as_mut_ptr());
                let arguments = RestrictResidual { matrices, b, x, coarse, directions, class, chunk };
                let blocks = separable::restriction_blocks(dim, degree, directions, class, chunk);
                // SAFETY: vectors and matrices are those of the levels, and the blocks those of the kernel.
                unsafe { run(module, blocks, &arguments) };
            }
            let allowed = allowed * largest(expected).max(1.0);
            assert_close(&sums, expected, allowed, &format!("{what}, chunk {chunk}, restriction"));
        }
    }
    let mut sums = x;
    let (matrices, coarse) = (up.as_ptr(), coarse_x.as_ptr());
    let arguments = ProlongateAdd { matrices, coarse, x: sums.as_mut_ptr(), directions };
    let blocks = separable::prolongation_blocks(dim, degree, directions);
    // SAFETY: as above.
    unsafe { run(module, blocks, &arguments) };
    assert_close(&sums, &prolongated, allowed, &format!("{what}, prolongation"));
}

#[test]
fn kernels_of_the_transfer_are_its_matrices_along_axes() {
    for equation in equations().into_iter().filter(|equation| equation.grading[0] == Grading::Uniform) {
        for (cells, degree) in [
            (&[12, 4][..], 1),
            (&[516, 4], 2),
            (&[172, 8], 3),
            (&[8, 12], 4),
            (&[68, 16, 4], 1),
            (&[36, 8, 4], 2),
            (&[20, 8, 4], 3),
            (&[8, 8, 12], 4),
        ] {
            check_transfers::<f64>(cells, degree, equation.clone());
            check_transfers::<f32>(cells, degree, equation.clone());
        }
    }
    for equation in [equations()[2].clone(), equations()[5].clone()] {
        (5..=10).for_each(|degree| check_transfers::<f64>(&[8, 4], degree, equation.clone()));
        (5..=8).for_each(|degree| check_transfers::<f64>(&[8, 4, 4], degree, equation.clone()));
    }
}

#[test]
fn kernels_solve_on_patches_as_matrices_along_axes_do() {
    for equation in equations() {
        for (cells, degree) in [
            (&[6, 4][..], 1),
            (&[4, 6], 2),
            (&[36, 4], 3),
            (&[8, 4], 4),
            (&[4, 4, 6], 1),
            (&[10, 4, 4], 2),
            (&[6, 4, 4], 3),
            (&[4, 4, 4], 4),
        ] {
            check::<f64>(cells, degree, equation.clone());
            check::<f32>(cells, degree, equation.clone());
        }
    }
}

/// Up to blocks that are one patch.
#[test]
fn kernels_of_equal_cells_have_all_degrees() {
    for equation in [equations()[2].clone(), equations()[5].clone()] {
        (5..=10).for_each(|degree| check::<f64>(&[4, 6], degree, equation.clone()));
        (5..=8).for_each(|degree| check::<f64>(&[4, 6, 4], degree, equation.clone()));
        check::<f32>(&[6, 4], 9, equation.clone());
        check::<f32>(&[6, 4, 4], 7, equation);
    }
}

#[test]
fn kernels_of_graded_cells_have_all_degrees() {
    for equation in [equations()[1].clone(), equations()[3].clone()] {
        (5..=10).for_each(|degree| check::<f64>(&[4, 6], degree, equation.clone()));
        (5..=8).for_each(|degree| check::<f64>(&[4, 6, 4], degree, equation.clone()));
        check::<f32>(&[6, 4], 9, equation.clone());
        check::<f32>(&[6, 4, 4], 7, equation);
    }
}

#[test]
fn kernels_of_graded_cells_leave_out_blocks() {
    let [open, periodic] = [equations()[1].clone(), equations()[3].clone()];
    check::<f32>(&[130, 4], 3, open.clone());
    check::<f64>(&[90, 4], 4, open.clone());
    for equation in [open, periodic] {
        check::<f64>(&[20, 4, 4], 3, equation.clone());
        check::<f64>(&[20, 4, 4], 4, equation.clone());
        check::<f32>(&[20, 4, 4], 4, equation);
    }
}
