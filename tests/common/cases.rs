//! What the tests of the method share.

#![allow(dead_code)] // every test uses a part

use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::space::{Family, Space};
use patchmg::system::poisson::{Poisson, Problem};
use std::sync::Arc;

pub fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::new(None).unwrap())
}

pub fn space(dim: usize, degree: usize, refine: usize) -> Space {
    Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

/// A model problem on the CPU, with continuous elements.
pub fn solve(parameters: [usize; 3], problem: Problem, method: Method, precision: Precision, rtol: f64) -> Report {
    let config = config(method, precision, rtol);
    solve_system(Family::Continuous, parameters, problem, config)
}

/// With at most 30 iterations.
pub fn config(method: Method, precision: Precision, rtol: f64) -> Config {
    Config { method, precision, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() }
}

/// A model problem on the CPU.
pub fn solve_system(elements: Family, [dim, degree, refine]: [usize; 3], problem: Problem, config: Config) -> Report {
    let system = Poisson::new(elements, Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
    Case { system, problem, config }.solve(&cpu(), &mut unobserved).unwrap().0
}

/// Numbers in `-1..1` that are the same in every run.
pub fn pseudo_random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
