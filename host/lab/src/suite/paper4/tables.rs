//! Tables 2 and 3: where matrices come from, and operations.

use super::super::drawing::{By, Picture};
use super::super::experiment::{Aspect, Column, Experiment};
use super::published::{self, MatrixSource};
use super::{CC_F32, CC_F64, TC_F16, TC_F16_EC, TC_F64, WMMA_F64, operator, register};
use patchmg::solve::Precision;
use patchmg::system::poisson::{MatrixMemory, TensorKernel};

/// The paper's matrices.
const NODES: usize = 16;

pub const TABLE2: Experiment = Experiment {
    name: "table2",
    title: "Table 2: where 1D matrices come from, CUDA cores, N = 16, f32",
    remark: "The operator on patches of degree 7; beside the paper's three, global memory through the read-only path. Registers and spills as `ptxas` finds them, if it is there. L1 is \
             the share of the shared-memory bandwidth that the wavefronts of a trace take, 128 bytes each. Hit rates, pipes \
             and stalls need a profiler: not measured.",
    columns: &[
        Column::new("time_ms", "time of the operator [ms]").lower(),
        Column::new("registers", "registers of a thread"),
        Column::new("spill_store_bytes", "spills written [B]"),
        Column::new("spill_load_bytes", "spills read [B]"),
        Column::new("blocks_per_sm", "blocks of a multiprocessor"),
        Column::new("l1_percent", "L1 [%]"),
        Column::new("wavefronts", "wavefronts of a box"),
        Column::new("gdof_per_s", "throughput [GDoF/s]"),
    ],
    points: |sizes| {
        let memories = [MatrixMemory::Shared, MatrixMemory::Constant, MatrixMemory::Texture];
        let point = |matrices: MatrixMemory| {
            let kernel = TensorKernel { matrices, ..CC_F32 };
            operator(sizes, matrices.name(), NODES, Aspect::Resources, kernel)
        };
        let beside = |(matrices, paper): (MatrixMemory, MatrixSource)| {
            point(matrices)
                .paper("time_ms", Some(paper.time_ms))
                .paper("registers", Some(paper.registers))
                .paper("spill_store_bytes", Some(paper.spill_store_bytes))
                .paper("spill_load_bytes", Some(paper.spill_load_bytes))
                .paper("blocks_per_sm", Some(paper.blocks_per_sm))
                .paper("l1_percent", Some(paper.l1_percent))
        };
        memories.into_iter().zip(published::TABLE2).map(beside).chain([point(MatrixMemory::ReadOnly)]).collect()
    },
    picture: Picture::Grouped { column: "time_ms", by: By::SeriesOfSize },
};

pub const TABLE3: Experiment = Experiment {
    name: "table3",
    title: "Table 3: operations of the operator for an unknown, N = 16",
    remark: "CC: CUDA cores, TC: tensor cores, EC: error correction. Counted from what each kernel computes, padding included. \
             The paper's are those that a profiler counts; of its patch-wise evaluation only a fraction is kept (section 6), \
             ours works on each cell once. Ours, columns in registers, is counted as sum factorization on cells.",
    columns: &[
        Column::new("flops_per_dof", "operations for an unknown"),
        Column::new("tflops", "TFLOP/s"),
        Column::new("gdof_per_s", "throughput [GDoF/s]").higher(),
    ],
    points: |sizes| {
        let kernels = [
            ("CC f64", CC_F64),
            ("CC f32", CC_F32),
            ("WMMA f64", WMMA_F64),
            ("TC f64", TC_F64),
            ("TC f16", TC_F16),
            ("TC f16 EC", TC_F16_EC),
        ];
        let point = |((series, kernel), paper)| {
            operator(sizes, series, NODES, Aspect::Work, kernel).paper("flops_per_dof", Some(paper))
        };
        let mut ours = register(sizes, NODES, Aspect::Work, Precision::F64);
        ours.key.series = String::from("ours f64");
        kernels.into_iter().zip(published::TABLE3).map(point).chain([ours]).collect()
    },
    picture: Picture::Grouped { column: "flops_per_dof", by: By::SeriesOfSize },
};
