//! Kernels, run on the host, against the level of the CPU.

mod newton;

use self::newton::EmulatedNewton;
use super::super::assembled::Factor;
use super::super::cell_metric::ConstantMetric;
use super::super::level::CellOperator;
use super::super::mesh::Node;
use super::super::robin::{self, RobinRows};
use super::super::transfer::Transfer;
use super::super::{Coefficient, Diffusion, Equation, Flux, MinimalSurface, PLaplacian, Smoothing};
use super::newton::*;
use super::order::{Launch, Order, groups};
use super::tables::*;
use super::*;
use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::forest::{Adaptation, CoarseMesh, Forest};
use crate::testing::random;
use glam::{DMat3, DVec3};
use patchmg_device::blas1::THREADS;
use patchmg_device::elliptic::nodes::{AddRows, AddSame, Gather, Invert, MODULE, Solve, Start};
use patchmg_device::elliptic::{Metric, NONE, PowerLaw, Target, WHOLE, Writes, degrees};
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

/// The tables of a level, on the host.
struct Emulated<'a, T> {
    system: &'a Elliptic,
    robin: Arc<RobinRows<T>>,
    operator: OperatorTables<T>,
    transfer: Option<(TransferTables<T>, Vec<u32>)>,
    inverse: Option<InverseTables>,
}

impl<'a, T: Scalar> Emulated<'a, T> {
    fn new(system: &'a Elliptic) -> Self {
        let mesh = &system.mesh;
        let operator = CellOperator::<T>::new(system).unwrap();
        let transfer = system.next_coarser().unwrap().map(|coarser| {
            let transfer = Transfer::new(&coarser.mesh, mesh).unwrap();
            (TransferTables::new(&transfer, &operator.shape).unwrap(), transfer.same().to_vec())
        });
        let inverse = transfer.is_none().then(|| {
            let factor = Factor::new(mesh, &CellOperator::new(system).unwrap());
            InverseTables::new(&factor.unwrap())
        });
        let tables = OperatorTables::new(system, CellMetric::Of(&operator), &operator.shape).unwrap();
        Self { system, robin: operator.robin, operator: tables, transfer, inverse }
    }

    fn run<A: patchmg_device::typed::Arguments>(&self, module: Module, blocks: usize, arguments: A) {
        let kernel = Kernel::new(module, A::spec(module)).unwrap();
        if blocks > 0 {
            let arguments = Arguments { typed: Some(&arguments), ..Arguments::default() };
            // SAFETY: vectors and tables are those of the level, and the blocks those of its kernels.
            unsafe { kernel.run([blocks as u32, 1, 1], arguments) };
        }
    }

    fn gather(&self, sums: &Sums, kinds: &[u8], arguments: Gather<T>) {
        let (first, places) = (sums.first.as_ptr(), sums.places.as_ptr());
        let row_nodes = sums.row_nodes.as_ref().map_or(ptr::null(), |nodes| nodes.as_ptr());
        let (kinds, rows) = (kinds.as_ptr(), sums.first.len() - 1);
        let arguments = Gather { row_nodes, first, places, kinds, rows: rows as u32, ..arguments };
        self.run(MODULE, rows.div_ceil(THREADS), arguments);
    }

    fn addresses(&self) -> OperatorAddresses<T> {
        let tables = &self.operator;
        OperatorAddresses {
            groups: groups(&self.system.mesh),
            form: tables.form,
            matrices: tables.matrices.as_ptr(),
            nodes: tables.nodes.as_ptr(),
            lines: tables.lines.as_ptr(),
            metric: Metric {
                tensor: tables.metric.as_ptr(),
                reaction: tables.reaction.as_ref().map_or(ptr::null(), |reaction| reaction.as_ptr()),
                weights: if tables.form == Form::Cells { tables.weights.as_ptr() } else { ptr::null() },
            },
        }
    }

    fn multiply(&self, b: Option<&[T]>, x: &[T], least: Node) -> Vec<T> {
        let of_smoothed = least == Node::Smoothed;
        self.multiply_by(&self.operator.sums, of_smoothed, b, x, least, vec![T::from_f64(f64::NAN); x.len()])
    }

    /// `b - A x` for `x` that is zero where nothing is smoothed.
    fn residual_of_smoothed(&self, b: &[T], x: &[T]) -> Vec<T> {
        match &self.operator.sums_of_smoothed {
            Some(sums) => self.multiply_by(sums, true, Some(b), x, Node::Unknown, b.to_vec()),
            None => self.multiply(Some(b), x, Node::Unknown),
        }
    }

    /// From what is in `y`.
    fn multiply_by(
        &self,
        sums_at_nodes: &Sums,
        of_smoothed: bool,
        b: Option<&[T]>,
        x: &[T],
        least: Node,
        mut y: Vec<T>,
    ) -> Vec<T> {
        let (tables, groups, writes) = (&self.operator, groups(&self.system.mesh), self.system.writes);
        // What nobody computes must not be read.
        let entries = if writes == Writes::Gather { tables.order.groups() * groups.entries() } else { 0 };
        let mut sums = vec![T::from_f64(f64::NAN); entries];
        let (sign, b) = b.map_or((1.0, ptr::null()), |b| (-1.0, b.as_ptr()));
        let (sign, kinds, y_pointer) = (T::from_f64(sign), tables.kinds.as_ptr(), y.as_mut_ptr());
        let least_kind = least as u32;
        if writes != Writes::Gather {
            let start = Start { kinds, b, y: y_pointer, nodes: x.len() as u32, least: least_kind };
            self.run(MODULE, x.len().div_ceil(THREADS), start);
        }
        let (sums_pointer, writes_number, families) = (sums.as_mut_ptr(), writes as u32, 0);
        let target = Target {
            sums: sums_pointer,
            y: y_pointer,
            b,
            kinds,
            least: least_kind,
            writes: writes_number,
            families,
            sign,
        };
        let addresses = self.addresses();
        let parts = [&tables.order.plain, &tables.order.hanging];
        let module = module(self.system);
        let launch = |blocks: usize, arguments: OperatorArguments<T>| {
            match arguments {
                OperatorArguments::Cells(arguments) => self.run(module, blocks, arguments),
                OperatorArguments::CellsHanging(arguments) => self.run(module, blocks, arguments),
                OperatorArguments::Boxes(arguments) => self.run(module, blocks, arguments),
                OperatorArguments::BoxesHanging(arguments) => self.run(module, blocks, arguments),
            }
            Ok(())
        };
        addresses.apply(parts, of_smoothed, x.as_ptr(), target, launch).unwrap();
        if writes == Writes::Gather {
            let sum = Gather { values: sums.as_ptr(), b, y: y_pointer, least: least_kind, sign, ..Gather::zeros() };
            self.gather(sums_at_nodes, &tables.kinds, sum);
        }
        let RobinRows { nodes, first, columns, entries } = &*self.robin;
        let rows = AddRows {
            row_nodes: nodes.as_ptr(),
            first: first.as_ptr(),
            columns: columns.as_ptr(),
            entries: entries.as_ptr(),
            kinds,
            x: x.as_ptr(),
            y: y.as_mut_ptr(),
            rows: nodes.len() as u32,
            least: least_kind,
            sign,
        };
        self.run(MODULE, nodes.len().div_ceil(THREADS), rows);
        y
    }

    fn restrict(&self, r: &[T]) -> Option<Vec<T>> {
        let (tables, same) = self.transfer.as_ref()?;
        let mut sums = vec![T::from_f64(f64::NAN); tables.groups * groups(&self.system.mesh).entries()];
        let arguments = addresses(tables).restrict(r.as_ptr(), sums.as_mut_ptr());
        self.run(module(self.system), tables.groups, arguments);
        let mut coarse = vec![T::from_f64(f64::NAN); same.len()];
        let (b, same, y, values) = (r.as_ptr(), same.as_ptr(), coarse.as_mut_ptr(), sums.as_ptr());
        let (least, sign) = (Node::Unknown as u32, T::from_f64(1.0));
        self.gather(&tables.sums, &tables.kinds, Gather { values, b, same, y, least, sign, ..Gather::zeros() });
        Some(coarse)
    }

    fn prolongate_add(&self, coarse: &[T], x: &mut [T]) {
        let Some((tables, same)) = &self.transfer else { return };
        let (nodes, same, x) = (coarse.len() as u32, same.as_ptr(), x.as_mut_ptr());
        self.run(MODULE, coarse.len().div_ceil(THREADS), AddSame { same, coarse: coarse.as_ptr(), x, nodes });
        self.run(module(self.system), tables.groups, addresses(tables).prolongate(coarse.as_ptr(), x));
    }

    fn solve(&self, b: &[T]) -> Option<Vec<T>> {
        let inverse = self.inverse.as_ref()?;
        let mut x = vec![T::ZERO; b.len()];
        let (entries, unknowns) = (inverse.entries.as_ptr(), inverse.unknowns.as_ptr());
        let count = inverse.unknowns.len();
        let arguments = Solve { inverse: entries, unknowns, b: b.as_ptr(), x: x.as_mut_ptr(), count: count as u32 };
        self.run(MODULE, count, arguments);
        Some(x)
    }
}

fn addresses<T: Scalar>(tables: &TransferTables<T>) -> TransferAddresses<T> {
    TransferAddresses {
        matrices: tables.matrices.as_ptr(),
        nodes: tables.nodes.as_ptr(),
        lines: tables.lines.as_ptr(),
        targets: tables.targets.as_ptr(),
    }
}

/// Entry by entry, to rounding.
fn compare<T: Scalar>(what: &str, found: &[T], expected: &[T]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.to_f64().abs()));
    assert!(largest > 0.0, "{what} is zero");
    // Rows of matrices of derivatives are rounded to sum to zero, which changes their pivots by several units of the largest entry.
    let allowed = largest * 500.0 * 0.5_f64.powi(T::MANTISSA_DIGITS as i32);
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found.to_f64() - expected.to_f64()).abs();
        assert!(error <= allowed, "{what}, entry {index}: {found:?} instead of {expected:?}");
    }
}

/// All operations of a level.
fn check<T: Scalar>(name: &str, system: &Elliptic) {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let level = Runs::<Elliptic>::level::<T>(&cpu, system).unwrap();
    let emulated = Emulated::<T>::new(system);
    let name = format!("{name}, {}, degree {}", T::NAME, system.degree());
    let compare = |what: &str, found: &[T], expected: &[T]| compare(&format!("{name}, {what}"), found, expected);
    let vector = |seed: u64| {
        let values = random(system.nodes(), seed);
        level.vector_of(&mut |unknown| values[unknown]).unwrap()
    };
    let (b, x, mut expected, mut zero_elsewhere) = (vector(1), vector(2), vector(3), vector(4));
    let all = [Writes::Gather, Writes::Colors, Writes::Atomics];
    let writes = if system.degree() < 4 && T::MANTISSA_DIGITS == f64::MANTISSA_DIGITS { &all[..] } else { &all[..1] };
    for &writes in writes {
        let system = system.clone().with_writes(writes);
        let emulated = Emulated::<T>::new(&system);
        level.apply(&x, &mut expected).unwrap();
        compare(&format!("product by {writes}"), &emulated.multiply(None, &x, Node::Unknown), &expected);
        level.residual(&b, &x, &mut expected).unwrap();
        compare(&format!("residual by {writes}"), &emulated.multiply(Some(&b), &x, Node::Unknown), &expected);
        expected.fill(T::ZERO);
        level.smoothed_residual(&b, &x, &mut expected).unwrap();
        let found = emulated.multiply(Some(&b), &x, Node::Smoothed);
        compare(&format!("smoothed residual by {writes}"), &found, &expected);
        let mut smoothed = x.to_vec();
        let kinds = system.mesh.kinds().iter();
        smoothed.iter_mut().zip(kinds).filter(|(_, kind)| **kind != Node::Smoothed).for_each(|(x, _)| *x = T::ZERO);
        cpu.upload(&smoothed, &mut zero_elsewhere).unwrap();
        level.residual(&b, &zero_elsewhere, &mut expected).unwrap();
        let found = emulated.residual_of_smoothed(&b, &zero_elsewhere);
        compare(&format!("residual where it is zero elsewhere by {writes}"), &found, &expected);
    }
    let Some(coarser) = system.next_coarser().unwrap() else {
        level.solve(&b, &mut expected).unwrap();
        compare("solution", &emulated.solve(&b).unwrap(), &expected);
        return;
    };
    if coarser.mesh.unknowns() == 0 {
        return;
    }
    let coarse_level = Runs::<Elliptic>::level::<T>(&cpu, coarser).unwrap();
    let mut coarse = coarse_level.vector().unwrap();
    level.restrict_load(&b, &x, &mut coarse).unwrap();
    compare("restriction", &emulated.restrict(&b).unwrap(), &coarse);
    let mut found = x.to_vec();
    emulated.prolongate_add(&coarse, &mut found);
    expected.copy_from_slice(&x);
    level.prolongate_add(&coarse, &mut expected).unwrap();
    compare("prolongation", &found, &expected);
}

/// A mesh with hanging nodes, one cell of `coarse` being refined twice.
fn refined(coarse: CoarseMesh, cell: usize) -> Forest {
    let forest = Forest::new(coarse).refine_uniformly(1).unwrap();
    (0..2).fold(forest, |forest, _| {
        let flag = |leaf| if leaf == cell { Adaptation::Refine } else { Adaptation::Keep };
        forest.adapt(&(0..forest.leaves().len()).map(flag).collect::<Vec<_>>()).unwrap()
    })
}

fn anisotropic(smoothing: Smoothing) -> Equation {
    let tensor = DMat3::from_cols_array(&[2.0, 0.5, 0.1, 0.5, 1.5, -0.2, 0.1, -0.2, 1.0]);
    let diffusion = Diffusion::tensor(move |point: DVec3| tensor * (1.5 + point.x));
    Equation { diffusion, reaction: 0.75, smoothing, ..Equation::default() }
}

/// With hanging edges and faces in all orientations.
fn meshes() -> [(&'static str, Forest); 3] {
    [
        ("box in 2D", refined(CoarseMesh::of_box(&[2, 1], &[2.0, 1.0]).unwrap(), 2)),
        ("disk", refined(CoarseMesh::disk(1.0).unwrap(), 5)),
        ("box in 3D", refined(CoarseMesh::of_box(&[2, 1, 1], &[1.5, 1.0, 1.0]).unwrap(), 6)),
    ]
}

/// On them, by degree; also with Robin's condition on the boundary.
fn systems() -> impl Iterator<Item = (&'static str, Elliptic)> {
    meshes().into_iter().flat_map(|(name, forest)| {
        degrees(forest.dim()).flat_map(move |degree| {
            let natural = BTreeSet::from([0]);
            let robin = || BTreeMap::from([(0, Coefficient::new(|point| 1.5 + point.x * point.y))]);
            let boxes = Equation { natural: natural.clone(), robin: robin(), ..Equation::default() };
            let natural = Equation { natural, robin: robin(), ..anisotropic(Smoothing::Local) };
            let plain = Equation { reaction: 0.0, ..anisotropic(Smoothing::Global) };
            let constant = Equation { reaction: 0.5, ..Equation::default() };
            let tensor = DMat3::from_cols_array(&[2.0, 0.5, 0.1, 0.5, 1.5, -0.2, 0.1, -0.2, 1.0]);
            let full = Equation { diffusion: Diffusion::tensor(move |_| tensor), ..constant.clone() };
            let no_reaction = Equation::default();
            let equations = match degree {
                1 | 2 => vec![natural, plain, constant, full, no_reaction, boxes],
                3 => vec![anisotropic(Smoothing::Local), constant, full],
                _ => vec![anisotropic(Smoothing::Local), constant],
            };
            let of = |equation| (name, Elliptic::new(&forest, degree, equation).unwrap());
            equations.into_iter().map(of).collect::<Vec<_>>()
        })
    })
}

/// A system and the same on all coarser meshes.
fn levels(system: &Elliptic) -> impl Iterator<Item = &Elliptic> {
    std::iter::successors(Some(system), |system| system.next_coarser().unwrap())
}

#[test]
fn kernels_compute_what_the_cpu_does() {
    for (name, system) in systems() {
        assert!(system.mesh.numbering().hanging_nodes() > 0);
        for level in levels(&system).filter(|level| level.mesh.unknowns() > 0) {
            check::<f64>(name, level);
            if system.degree() < 4 {
                check::<f32>(name, level);
            }
        }
    }
}

/// That of the first points makes the same tables as that of all points; it is there where it is constant.
#[test]
fn products_need_a_constant_metric_at_first_points_alone() {
    let mut are_constant = BTreeSet::new();
    for (name, system) in systems() {
        let (all, constant) = (CellOperator::<f64>::new(&system).unwrap(), ConstantMetric::of(&system).unwrap());
        are_constant.insert(constant.is_some());
        assert_eq!(constant.is_some(), all.is_constant, "{name}");
        let Some(constant) = constant else { continue };
        let metrics = [CellMetric::Of(&all), CellMetric::Constant(&constant)];
        let [expected, found] = metrics.map(|metric| OperatorTables::new(&system, metric, &all.shape).unwrap());
        assert_eq!(
            (found.form, &found.metric, &found.reaction),
            (expected.form, &expected.metric, &expected.reaction),
            "{name}"
        );
        assert_eq!((found.matrices, found.weights), (expected.matrices, expected.weights), "{name}");
    }
    assert_eq!(are_constant.len(), 2);
}

#[test]
fn cells_of_one_launch_have_no_node_in_common() {
    for (name, system) in systems() {
        let (order, sizes) = (Order::new(&system.mesh, Writes::Colors, false), groups(&system.mesh));
        let (nodes, ..) = order.nodes(&system.mesh).unwrap();
        let launches = |of_smoothed| [&order.plain, &order.hanging].map(|part| part.launches(of_smoothed));
        for Launch { groups, families } in launches(false).into_iter().chain(launches(true)).flatten() {
            // The cell or the family of each node.
            let mut owners = BTreeMap::new();
            let of_launch = groups.start * sizes.entries()..groups.end * sizes.entries();
            for (place, &node) in of_launch.clone().zip(&nodes[of_launch]) {
                let (group, cell) = (place / sizes.entries(), place % sizes.threads() / sizes.lines());
                let is_family = group < groups.start + families;
                let owner = (group, if is_family { cell >> system.dim() } else { cell });
                let known = *owners.entry(node & !WHOLE).or_insert(owner);
                assert!(node == NONE || known == owner, "{name}: {owner:?}, {known:?}");
            }
        }
        let all: usize = launches(false).into_iter().flatten().map(|launch| launch.groups.len()).sum();
        assert_eq!(all, order.groups(), "{name}");
    }
}

#[test]
fn memory_is_counted() {
    let films = meshes().map(|(name, forest)| {
        let equation = Equation { flux: Some(Arc::new(MinimalSurface)), ..Equation::default() };
        (name, Elliptic::new(&forest, 2, equation).unwrap())
    });
    for level in systems().chain(films).flat_map(|(_, system)| levels(&system).cloned().collect::<Vec<_>>()) {
        let emulated = Emulated::<f32>::new(&level);
        let newton = level.equation.flux.is_some().then(|| EmulatedNewton::new(&emulated));
        let Emulated { robin, operator, transfer, inverse, .. } = emulated;
        let words = |list: &[u32]| 4 * list.len();
        let sums = |sums: &Sums| {
            sums.row_nodes.as_ref().map_or(0, |nodes| words(nodes)) + words(&sums.first) + words(&sums.places)
        };
        let numbers = operator.metric.len() + operator.reaction.map_or(0, |reaction| reaction.len());
        let between = operator.nodes.len();
        let mut expected = words(&operator.nodes) + words(&operator.lines) + 4 * (numbers + between);
        expected += sums(&operator.sums) + operator.kinds.len();
        if let Some((tables, same)) = transfer {
            expected += words(&tables.nodes) + words(&tables.lines) + words(&tables.targets) + words(&same);
            expected += sums(&tables.sums) + tables.kinds.len() + 4 * operator.kinds.len();
        }
        expected += inverse.map_or(0, |inverse| 8 * inverse.entries.len() + words(&inverse.unknowns));
        // Whole sums have neither places nor rows, and a constant metric has few numbers.
        let whole = level.mesh.cells().all().len() - operator.sums.places.len();
        expected += 4 * whole + 2 * 4 * (operator.kinds.len() + 1 - operator.sums.first.len());
        expected += newton.map_or(0, |EmulatedNewton { cells, geometry, interpolation }| {
            let lists = interpolation.map_or(0, |tables| words(&tables.children) + words(&tables.targets));
            let of_cells = words(&cells.nodes) + words(&cells.lines) + sums(&cells.sums);
            4 * (geometry.tensor.len() + geometry.inverse_weights.len()) + lists + of_cells
        });
        // Where few nodes are smoothed their sums have tables of their own, with at most a row a place.
        let of_smoothed = operator.sums_of_smoothed.as_ref().map_or(0, sums);
        let at_most = operator.order.bytes_of_smoothed();
        assert!(of_smoothed <= at_most && (of_smoothed > 0) == (at_most > 0), "{level:?}");
        expected += at_most;
        let of_rows = 2 * robin.nodes.len() + robin.columns.len() + robin.entries.len();
        let at_most = robin::bytes::<f32>(&level);
        assert!(robin.nodes.is_empty() || (at_most / 4..=at_most).contains(&(4 * of_rows as u64)), "{level:?}");
        let counted = super::level::bytes::<f32>(&level) - at_most;
        if operator.form == Form::Points {
            assert_eq!(counted, expected as u64, "{level:?}");
        } else {
            assert!(counted > (expected + 4 * operator.weights.len()) as u64, "{level:?}");
        }
    }
}
