//! The PTX in the packages of kernels, against the kernel list: entries, barriers, launch bounds, and nothing in local memory.

#![cfg(feature = "cuda")]

use cuda_builder::ptx;
use patchmg_device::kernels::{Module, Operation};
use std::collections::HashSet;

fn text(module: &Module) -> String {
    let packed = [patchmg_kernels::MODULES, patchmg_paper_kernels::MODULES].concat();
    let (_, packed) = packed.iter().find(|(name, _)| *name == module.name()).unwrap_or_else(|| panic!("no {module:?}"));
    ptx::unpack(packed).unwrap_or_else(|| panic!("{module:?} is damaged"))
}

#[test]
fn every_module_is_in_one_package_and_those_of_the_papers_are_not_in_the_library() {
    let names = |modules: &[(&str, &[u8])]| modules.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    let (library, papers) = (names(patchmg_kernels::MODULES), names(patchmg_paper_kernels::MODULES));
    let of_papers = |name: &String| {
        ["patch_variants_", "stokes_paper2_", "tensor_core_"].iter().any(|start| name.starts_with(start))
    };
    assert!(!library.iter().any(of_papers) && papers.iter().all(of_papers), "{library:?}, {papers:?}");
    let mut all = [library, papers].concat();
    let mut listed: Vec<_> = Module::all().iter().map(Module::name).collect();
    all.sort();
    listed.sort();
    assert_eq!(all, listed);
}

#[test]
fn modules_are_for_compute_capability_8_0_or_what_they_need_and_name_nothing_of_the_machine_that_built_them() {
    for module in Module::all() {
        let text = text(&module);
        let target = if module.needs_hopper() { "\n.target sm_90\n" } else { "\n.target sm_80\n" };
        assert!(text.contains(target), "{} is for another architecture", module.name());
        assert!(!text.contains(".file"), "{} has line tables", module.name());
        assert!(!text.contains(env!("CARGO_MANIFEST_DIR")), "{} holds a path", module.name());
    }
}

#[test]
fn entries_barriers_and_launch_bounds_are_as_listed() {
    for module in Module::all() {
        let text = text(&module);
        let entries = ptx::entries(&text);
        let kernels = module.kernels();
        assert_eq!(entries.len(), kernels.len(), "entries of {}", module.name());
        for kernel in kernels {
            let entry = entries.iter().find(|entry| entry.name == kernel.name);
            let entry = entry.unwrap_or_else(|| panic!("{} is not in the PTX", kernel.name));
            assert_eq!(entry.barriers(), kernel.barriers, "barriers of {}", kernel.name);
            assert_eq!(entry.max_threads(), Some(kernel.most_threads), "threads of {}", kernel.name);
            let min_blocks = (kernel.min_blocks > 0).then_some(kernel.min_blocks);
            assert_eq!(entry.min_blocks(), min_blocks, "blocks of {}", kernel.name);
            assert!(kernel.most_threads <= 1024, "{} has {} threads", kernel.name, kernel.most_threads);
        }
    }
}

#[test]
fn no_kernel_uses_local_memory_or_calls_what_is_not_there() {
    for module in Module::all() {
        let text = text(&module);
        for entry in ptx::entries(&text) {
            assert!(!entry.has_local_memory(), "{} keeps an array in local memory", entry.name);
        }
        assert_eq!(ptx::undefined_functions(&text), Vec::<&str>::new(), "{}", module.name());
    }
}

/// Compute capability 8.0 gives a block at most 163 KiB.
#[test]
fn shared_memory_fits_a_block() {
    for kernel in Module::all().iter().flat_map(Module::kernels) {
        assert!(kernel.shared_bytes <= 163 * 1024, "{} wants {} bytes", kernel.name, kernel.shared_bytes);
    }
}

/// Of the matrices that kernels of continuous elements take in `f32` nothing is loaded any more but the factors of the mesh, one a
/// direction.
#[test]
fn coefficients_in_single_precision_are_operands_of_instructions() {
    let continuous = |module: &Module| matches!(module, Module::PoissonCg { .. });
    for module in Module::all().into_iter().filter(continuous) {
        let given = patchmg::system::module_ptx(module).unwrap();
        let takes_matrices = |operation| operation != Operation::PointGaussSeidel;
        for kernel in module.kernels().into_iter().filter(|kernel| takes_matrices(kernel.operation)) {
            let loads = |text: &str| -> HashSet<String> {
                let name = format!("[{}_param_0", kernel.name);
                text.lines().filter_map(|line| Some(line.split_once(&name)?.1.to_owned())).collect()
            };
            let (before, after) = (loads(&text(&module)), loads(&given));
            if kernel.scalar == "f32" {
                assert!(
                    before.len() > after.len() && after.len() <= 3,
                    "{} loads {after:?} of {before:?}",
                    kernel.name
                );
            } else {
                assert_eq!(before, after, "{}", kernel.name);
            }
        }
    }
}

/// Products of tiles in the smoother of graded cells in 3D, its loops unrolled as the compiler does it.
fn products_of_graded_cells(degree: usize) -> usize {
    let functions = 2 * degree - 1;
    let (tiles, steps) = (functions.div_ceil(8), functions.div_ceil(4));
    // Sums of which a lane has two of four columns of a tile, as left factors.
    let along_rows = tiles * tiles * (0..tiles).map(|tile| (functions - 8 * tile).min(2)).sum::<usize>();
    let plane = tiles * tiles * steps + along_rows;
    let solution = tiles * (2 * tiles * steps + 2 * tiles);
    // All nodes, the last column of ends, the ends of rows, those of columns.
    let face = plane + tiles * steps + (tiles + 1) * tiles + tiles * tiles;
    if degree == 4 {
        // Those normal to z without their edges, too.
        return 6 * face + 2 * along_rows + functions * (2 * plane + solution);
    }
    let rounds = functions.div_ceil(if degree < 7 { 2 } else { 4 });
    face + along_rows + rounds * plane + solution + plane
}

/// All lanes of a warp must come to a product together. If there are more of them than the source says, the compiler has repeated some behind a
/// condition that may differ between lanes.
#[test]
fn products_of_graded_cells_are_not_repeated() {
    for module in Module::all() {
        let text = text(&module);
        for entry in ptx::entries(&text).iter().filter(|entry| entry.name.starts_with("separable_graded_3d_")) {
            let found = entry.opcodes().filter(|opcode| opcode.starts_with("mma.sync")).count();
            let (_, degree) = module.space().unwrap();
            let has_products = match degree {
                4 | 7 | 8 => true,
                5 | 6 => entry.name.ends_with("f64"),
                _ => false,
            };
            let has_products = has_products && entry.name.contains("smooth");
            let expected = if has_products { products_of_graded_cells(degree) } else { 0 };
            assert_eq!(found, expected, "{}", entry.name);
        }
    }
}
