//! The patch smoother's kernels of paper 1, run on the host, against the CPU's smoother: every one of the list, on
//! random vectors, with as many patches a block as it has by default and with more.

use patchmg::backend::cpu::Cpu;
use patchmg::backend::{Backend, Scalar};
use patchmg::mesh::Mesh;
use patchmg::operator::LinearOperator;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::forms::ContinuousForms;
use patchmg::system::poisson::{Paper1, Poisson};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, Module, Operation};
use patchmg_device::patch::{bit, color_count};
use patchmg_emulation::{Arguments, Kernel};
use std::sync::Arc;

fn random<T: Scalar>(space: &Space, seed: u64) -> Vec<T> {
    let mut state = seed;
    let dofs: Vec<T> = space
        .unknowns()
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            T::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
        })
        .collect();
    space.from_dofs(&dofs).unwrap()
}

/// One color of a choice of kernels, emulated. Without more patches than there are, blocks are as in the list.
fn smooth<T: Scalar>(space: &Space, choice: Paper1, color: u32, b: &[T], x: &[T], more: u32) -> Vec<T> {
    let forms = ContinuousForms::new(space).unwrap();
    let (dim, degree, cells) = (space.dim(), space.degree(), forms.grid().cells);
    let module = Module::PatchVariants { dim, degree };
    let mut table = forms.variant_table::<T>();
    let mut inverse = if choice == Paper1::FusedInverse { forms.patch_inverse::<T>() } else { Vec::new() };
    let (mut b, mut x) = (b.to_vec(), x.to_vec());
    let mut r = vec![T::from_f64(f64::NAN); x.len()];
    if matches!(choice, Paper1::Global(_)) {
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let [b, old] = [&b, &x].map(|host| {
            let mut vector = cpu.zeros(host.len()).unwrap();
            cpu.upload(host, &mut vector).unwrap();
            vector
        });
        let mut residual = cpu.zeros(r.len()).unwrap();
        let level = cpu.level::<T>(&Poisson::from(space)).unwrap();
        level.residual(&b, &old, &mut residual).unwrap();
        cpu.download(&residual, &mut r).unwrap();
    }
    for &(part, variant) in choice.steps(dim, degree).unwrap() {
        let spec = module.kernel::<T>(Operation::Variant(part, variant));
        let patches = (spec.patches + more).min(spec.most_threads / (spec.threads / spec.patches));
        let spec = spec.with_patches(patches).unwrap();
        let count = |direction: usize| color_count(cells[direction], bit(color, direction));
        let grid = [count(0).div_ceil(patches), count(1), if dim == 3 { count(2) } else { 1 }];
        let vectors = [&mut table, &mut inverse, &mut b, &mut r, &mut x].map(|vector| vector.as_mut_ptr().cast());
        let arguments = Arguments { vectors: &vectors, cells, color, ..Arguments::default() };
        // SAFETY: vectors of the space; tables as long as the kernel reads them.
        unsafe { Kernel::new(module, spec).unwrap().run(grid, arguments) };
    }
    x
}

fn check<T: Scalar>(mesh: Mesh, degree: usize, tolerance: f64) {
    let (dim, space) = (mesh.dim(), Space::new(mesh, degree).unwrap());
    let (b, x) = (random::<T>(&space, 1), random::<T>(&space, 2));
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let level = cpu.level::<T>(&Poisson::from(&space)).unwrap();
    // A residual is as large as the operator: `b` must be seen beside it.
    let b: Vec<T> = b.into_iter().map(|value| T::from_f64(10.0) * value).collect();
    // The last color that there are patches of: its patches begin elsewhere than the first color's.
    let color = (1..dim).filter(|&direction| mesh.cells_along()[direction] > 2).map(|direction| 1 << direction).sum();
    let expected = {
        let [mut on_b, mut on_x] = [1, 2].map(|_| cpu.zeros::<T>(b.len()).unwrap());
        cpu.upload(&b, &mut on_b).unwrap();
        cpu.upload(&x, &mut on_x).unwrap();
        level.patches().unwrap().smooth_color(color as usize, &on_b, &mut on_x).unwrap();
        let mut host = vec![T::ZERO; b.len()];
        cpu.download(&on_x, &mut host).unwrap();
        host
    };
    let scale = expected.iter().map(|value| value.to_f64().abs()).fold(0.0, f64::max);
    let choices: Vec<_> = Paper1::all(dim, degree).collect();
    assert!(choices.len() >= 12, "{} choices", choices.len());
    for choice in choices {
        // A large patch has a block for itself.
        for more in if dim == 3 && degree > 3 { 0..1 } else { 0..2 } {
            let found = smooth(&space, choice, color, &b, &x, more);
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found.to_f64() - expected.to_f64()).abs() / scale;
                assert!(error < tolerance, "{choice:?}, {dim}D Q{degree}, {more} more: {error:e} at {index}");
            }
        }
    }
}

/// `2^refine` cells a direction on the unit square or cube.
fn cube(dim: usize, refine: usize) -> Mesh {
    Mesh::unit_cube(dim, refine).unwrap()
}

#[test]
fn in_2d() {
    for degree in DEGREES_2D {
        check::<f64>(cube(2, if degree <= 4 { 3 } else { 2 }), degree, 1e-11);
    }
    check::<f32>(cube(2, 3), 3, 1e-4);
}

#[test]
fn in_3d() {
    for degree in DEGREES_3D {
        check::<f64>(cube(3, if degree <= 3 { 2 } else { 1 }), degree, 1e-11);
    }
    check::<f32>(cube(3, 2), 2, 1e-4);
}

/// Edges of a cell are equal: kernels of paper 1 have one matrix for all directions.
#[test]
fn on_boxes_of_cubes() {
    check::<f64>(Mesh::of_box(&[3, 2], &[0.9, 0.6], 1).unwrap(), 3, 1e-11);
    check::<f32>(Mesh::of_box(&[1, 4], &[0.3, 1.2], 1).unwrap(), 2, 1e-4);
    check::<f64>(Mesh::of_box(&[1, 3, 2], &[0.3, 0.9, 0.6], 1).unwrap(), 2, 1e-11);
    check::<f64>(Mesh::of_box(&[3, 2, 1], &[0.9, 0.6, 0.3], 1).unwrap(), 1, 1e-11);
}
