//! Bank conflicts of the kernels, from the addresses that the threads of a full block access.

use cuda_std::emulate::Wavefronts;
use patchmg_device::elliptic;
use patchmg_device::kernels::{KernelSpec, Module, Operation, Variant};
use patchmg_device::stokes::paper2;
use patchmg_emulation::Kernel;

fn wavefronts(module: Module, spec: KernelSpec) -> Wavefronts {
    let name = spec.name.clone();
    let trace = Kernel::new(module, spec).unwrap_or_else(|| panic!("{name} is not emulated")).trace();
    trace.wavefronts()
}

/// Kernels at an optimization level of paper 1, each with every number of patches that a block of it may have.
fn variants(wanted: Variant) -> Vec<(Module, KernelSpec)> {
    let with_patches = |(module, spec): (Module, KernelSpec)| {
        (1..=spec.most_threads).map_while(move |patches| Some((module, spec.clone().with_patches(patches)?)))
    };
    let all = Module::all().into_iter().flat_map(|module| module.kernels().into_iter().map(move |spec| (module, spec)));
    let of_level = all.filter(|(_, spec)| matches!(spec.operation, Operation::Variant(_, level) if level == wanted));
    of_level.flat_map(with_patches).collect()
}

#[test]
fn kernels_without_conflicts_have_none_in_any_degree_scalar_and_number_of_patches() {
    for level in [Variant::ConflictFree, Variant::Boundary] {
        let kernels = variants(level);
        let at_least = 2 * (10 + 8) * 3;
        assert!(kernels.len() >= at_least, "{} kernels at level {}", kernels.len(), level.name());
        let conflicts: Vec<_> = kernels
            .into_iter()
            .map(|(module, spec)| (format!("{}, {} patches", spec.name, spec.patches), wavefronts(module, spec)))
            .filter(|(_, wavefronts)| wavefronts.excess() > 0)
            .collect();
        assert!(conflicts.is_empty(), "{} kernels have conflicts: {conflicts:?}", conflicts.len());
    }
}

/// Kernels of paper 2 by their name, in each degree, in `f64` and then in `f32`.
fn of_paper2(name: &'static str) -> Vec<[Wavefronts; 2]> {
    let count = |degree| {
        let module = paper2::KIND.module(3, degree);
        let kernels: Vec<_> =
            module.kernels().into_iter().filter(|spec| spec.operation == Operation::Typed(name)).collect();
        ["f64", "f32"].map(|scalar| {
            let spec = kernels.iter().find(|spec| spec.scalar == scalar).unwrap();
            wavefronts(module, spec.clone())
        })
    };
    paper2::DEGREES.map(count).collect()
}

/// Paper 2, section 4.1. At the last level a few reads are left that lie in rows of two cells.
#[test]
fn the_stokes_operator_has_next_to_no_conflicts_at_the_last_level() {
    let [padding, basic, shared, last] = ["padding", "basic", "shared", "conflict_free"].map(of_paper2);
    for (degree, [double, single]) in paper2::DEGREES.zip(&last) {
        assert!(double.excess() == 0 || degree == 1, "degree {degree}: {double:?}");
        assert!([double, single].iter().all(|count| 40 * count.excess() < count.total), "degree {degree}: {single:?}");
    }
    for others in [&padding, &basic, &shared] {
        for (other, last) in others.iter().flatten().zip(last.iter().flatten()) {
            assert!(other.excess() > 2 * last.excess(), "{other:?}, {last:?}");
        }
    }
    // The first two read matrices from elsewhere.
    for (shared, last) in shared.iter().flatten().zip(last.iter().flatten()) {
        assert!(shared.total > last.total, "{shared:?}, {last:?}");
    }
}

/// Paper 2, section 4.2: degree 3 has most conflicts.
#[test]
fn conjugate_gradients_without_conflicts_have_none() {
    let (plain, free) = (of_paper2("schur"), of_paper2("schur_conflict_free"));
    assert!(free.iter().flatten().all(|count| count.excess() == 0), "{free:?}");
    let share = |count: &Wavefronts| count.excess() as f64 / count.total as f64;
    let shares: Vec<_> = plain.iter().map(|[double, _]| share(double)).collect();
    assert!(shares.iter().all(|&share| share <= shares[2]) && shares[2] > 0.4, "{shares:?}");
}

/// Paper 1, section 4.1.2: the contraction of listing 1 conflicts.
#[test]
fn kernels_of_the_levels_before_have_conflicts() {
    for level in [Variant::Basic, Variant::Linear] {
        for degree in [3, 7] {
            let module = Module::PatchVariants { dim: 3, degree };
            let fused =
                module.kernels().into_iter().find(|spec| spec.name.contains(&format!("fused_{}", level.name())));
            assert!(wavefronts(module, fused.unwrap()).excess() > 0, "{}, degree {degree}", level.name());
        }
    }
}

/// A block sums 256 numbers eight times: it stores them, 16 half warps; threads `0..half` load one and store one, for
/// `half` from 128 to 1, `8 + 4 + 2 + 1 + 1 + 1 + 1 + 1` half warps.
#[test]
fn a_dot_product_has_the_wavefronts_counted_by_hand() {
    let sum: u64 = 16 + 2 * 19;
    let counted = |sums: u64| Wavefronts { total: sums * sum, least: sums * sum };
    assert_eq!(wavefronts(Module::Blas1, Module::Blas1.kernel::<f32>(Operation::Dots)), counted(8));
    assert_eq!(wavefronts(Module::Blas1, Module::Blas1.kernel::<f64>(Operation::SumPartials)), counted(1));
}

/// All wavefronts of a kernel in 3D in `f64`, and the least, by degree.
fn by_degree(operation: Operation) -> [(u64, u64); 8] {
    [1, 2, 3, 4, 5, 6, 7, 8].map(|degree| {
        let module = Module::PoissonCg { dim: 3, degree };
        let Wavefronts { total, least } = wavefronts(module, module.kernel::<f64>(operation));
        (total, least)
    })
}

/// What the operator costs, for a block and a cell along z, and how much of it are conflicts: word by word, although in even
/// degrees the assembler loads and stores words side by side at once, for which these pitches are.
#[test]
fn wavefronts_of_the_operator_by_planes() {
    let expected =
        [(361, 361), (1609, 1201), (2205, 2157), (3146, 2381), (4309, 4309), (9752, 7127), (5593, 5553), (11503, 8191)];
    assert_eq!(by_degree(Operation::Apply), expected);
}

/// What the smoother costs, for a block: a change of its layout shows here.
#[test]
fn wavefronts_of_the_register_smoother() {
    let expected =
        [(461, 333), (1243, 956), (1835, 1544), (2200, 1827), (2106, 1794), (1974, 1574), (2927, 2337), (4310, 3582)];
    assert_eq!(by_degree(Operation::Smooth), expected);
}

/// What the operator on forests costs in 3D in `f64`, for a block, and how much of it are conflicts, by degree.
#[test]
fn wavefronts_of_the_operator_on_forests() {
    let counts = elliptic::degrees(3).map(|degree| {
        let module = elliptic::KIND.module(3, degree);
        let kernels = module.kernels();
        let spec = kernels.iter().find(|spec| spec.name.ends_with("_apply_f64"));
        let Wavefronts { total, least } = wavefronts(module, spec.unwrap().clone());
        (total, least)
    });
    let expected = [(500, 416), (1082, 660), (926, 753), (2304, 1520), (4131, 2489), (2870, 1540)];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
}
