//! Residual histories of an independent implementation of the method.

#![allow(dead_code)] // every test uses a part

use patchmg::krylov::Stopping;
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method};
use patchmg::system::{Stokes, stokes};

/// A line of `data/oracles.jsonl`: histories of the relative residual for `f = 1`.
#[derive(Debug, serde::Deserialize)]
pub struct Oracle {
    pub dim: usize,
    pub degree: usize,
    pub refine: usize,
    pub rtol: f64,
    pub fmg: Vec<f64>,
    pub vcycle: Vec<f64>,
    pub gmres: Vec<f64>,
}

/// A line of `data/oracles-dg.jsonl`: flexible GMRES for the product of sines, discontinuous elements.
#[derive(Debug, serde::Deserialize)]
pub struct DgOracle {
    pub dim: usize,
    pub degree: usize,
    pub refine: usize,
    pub rtol: f64,
    pub gmres: Vec<f64>,
    pub l2_error: f64,
}

/// A line of `data/oracles-fine.jsonl`: full multigrid for `f = 1` on fine levels and of high degree, by
/// `data/full_multigrid.py`, and the residual where its V-cycles end in rounding.
#[derive(Debug, serde::Deserialize)]
pub struct FineOracle {
    pub dim: usize,
    pub degree: usize,
    pub refine: usize,
    pub rtol: f64,
    pub fmg: Vec<f64>,
    pub rounding: f64,
}

impl FineOracle {
    /// How far a history is from this one, relatively, where it is above a hundred times rounding; at least the first
    /// entry is, in all lines.
    pub fn deviation(&self, found: &[f64]) -> f64 {
        let pairs = found.iter().zip(&self.fmg).filter(|(_, expected)| **expected > 100.0 * self.rounding);
        pairs.map(|(found, expected)| (found / expected - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// A line of `data/oracles-stokes.jsonl`: flexible GMRES for paper 2's problem, nodes of discontinuous axes at Gauss's points.
#[derive(Debug, serde::Deserialize)]
pub struct StokesOracle {
    pub dim: usize,
    pub k: usize,
    pub refine: usize,
    pub mu: f64,
    pub sigma: f64,
    pub history: Vec<f64>,
    pub l2_u: f64,
    pub l2_p: f64,
}

impl StokesOracle {
    /// The same solve in `f64`.
    pub fn case(&self) -> patchmg::Result<Case<stokes::Problem>> {
        Ok(Case {
            system: Stokes::new(Mesh::unit_cube(self.dim, self.refine)?, self.k)?,
            problem: stokes::Problem::Vortex(stokes::Vortex { mu: self.mu, sigma: self.sigma }),
            config: Config {
                method: Method::Fgmres,
                stopping: Stopping { rtol: 1e-8, ..Stopping::default() },
                restart: 30,
                ..Config::default()
            },
        })
    }
}

pub fn stokes_oracles() -> Vec<StokesOracle> {
    include_str!("../data/oracles-stokes.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn fine_oracles() -> Vec<FineOracle> {
    include_str!("../data/oracles-fine.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn dg_oracles() -> Vec<DgOracle> {
    include_str!("../data/oracles-dg.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn oracles() -> Vec<Oracle> {
    include_str!("../data/oracles.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Largest relative difference of entries that rounding does not touch.
pub fn deviation(found: &[f64], expected: &[f64]) -> f64 {
    let pairs = found.iter().zip(expected).filter(|(_, expected)| **expected > 1e-11);
    pairs.map(|(found, expected)| (found / expected - 1.0).abs()).fold(0.0, f64::max)
}
