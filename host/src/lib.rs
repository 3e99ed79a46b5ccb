//! Solves Poisson's equation `-Δu = f` and the Stokes equations on rectangles and boxes with high-order tensor-product finite elements,
//! by matrix-free geometric multigrid with vertex-patch smoothers. The same program runs on CPUs and on NVIDIA
//! GPUs.
//!
//! It is for people who need fast solves, and for people who study fast solvers. A solve needs five values: a
//! [`backend`], a [`mesh`], a [`system`] on it, a load vector from [`problem`] and a [`solve::Config`]. A [`solve::Solver`]
//! returns the solution, a [`function`] of the system's [`space`], with its residual history:
//!
//! ```
//! use glam::DVec3;
//! use patchmg::backend::cpu::Cpu;
//! use patchmg::mesh::Mesh;
//! use patchmg::problem::load_vector;
//! use patchmg::solve::{Config, Solver};
//! use patchmg::system::Poisson;
//! use std::sync::Arc;
//!
//! # fn main() -> patchmg::Result<()> {
//! let backend = Arc::new(Cpu::new(None)?); // all cores
//! let poisson = Poisson::continuous(Mesh::unit_cube(2, 4)?, 3)?; // 2D, 16 cells a direction, degree 3
//! let mut solver = Solver::new(&backend, &poisson, &Config::default())?;
//! let load = load_vector(poisson.space(), &|x: DVec3| x.x * (8.0 * x.y).sin())?;
//! let solution = solver.solve(&load)?;
//! assert!(solution.info.converged);
//! println!("u = {} in the middle", solution.u.at(DVec3::new(0.5, 0.5, 0.0))?);
//! # Ok(())
//! # }
//! ```
//!
//! One level deeper, [`operator`], [`multigrid`] and [`krylov`] are separate parts, generic over
//! [`backend::Backend`]. Vectors and solvers allocate when they are made, not while they solve.

pub mod backend;
mod choice;
pub mod error;
pub mod fe;
pub mod forest;
pub mod function;
pub mod krylov;
pub mod layout;
pub mod level;
pub mod measure;
pub mod memory;
pub mod mesh;
pub mod multigrid;
pub mod operator;
pub mod output;
pub mod problem;
pub mod solve;
pub mod space;
mod sync;
pub mod system;
#[cfg(test)]
mod testing;
mod units;

pub use error::{Error, Result};

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The programs in the guide compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/09-rust.md")]
struct Guide;
