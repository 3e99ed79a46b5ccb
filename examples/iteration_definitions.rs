//! What "iterations until the residual has fallen by 1e-9" may mean: for solvers, starts, norms that residuals are compared
//! with, smoothers and their orders, the iterations that each needs for degrees 1, 2, ..
//!
//!     cargo run --release --example iteration_definitions -- 3 4 8
//!
//! Arguments: dimension, refinements, largest degree; 2, 4 and 10 unless given.

use patchmg::Result;
use patchmg::backend::{Backend, cpu::Cpu};
use patchmg::krylov::{Gmres, IterativeSolver, Richardson, Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Fmg, Multigrid, NestedIteration, SmootherConfig, VCycle};
use patchmg::operator::LinearOperator;
use patchmg::problem::load_vector;
use patchmg::space::Space;
use patchmg::system::poisson::Problem;
use patchmg::system::{Poisson, Runs};
use std::sync::Arc;

/// By how much residuals are to fall.
const TOLERANCE: f64 = 1e-9;
/// Columns of a definition's name.
const WIDTH: usize = 96;
/// Iterations at most.
const MOST: usize = 60;

#[derive(Clone, Copy, Debug)]
enum Iteration {
    /// Paper 1, algorithm 2.2: a first pass, which is not counted, then V-cycles.
    Fmg,
    /// V-cycles from zero.
    VCycle,
    /// V-cycles from random numbers.
    VCycleFromRandom,
    /// GMRES from zero, preconditioned by a V-cycle.
    Gmres,
    /// GMRES from where the first pass of full multigrid ends.
    GmresAfterFmg,
}

#[derive(Clone, Copy, Debug)]
enum Load {
    One,
    Sine,
    Random,
}

#[derive(Clone, Copy, Debug)]
enum Reference {
    /// `|b|`, as in algorithm 2.2.
    RightHandSide,
    /// The residual that the iteration starts from.
    Start,
}

/// The smoother for a dimension.
type Choose = fn(usize) -> SmootherConfig;

#[derive(Clone, Copy)]
struct Definition {
    iteration: Iteration,
    load: Load,
    reference: Reference,
    smoother: Choose,
    cycle: VCycle,
}

impl Definition {
    /// The product's own: what `patchmg solve --solver fmg --problem one` reports.
    fn stated() -> Self {
        Self {
            iteration: Iteration::Fmg,
            load: Load::One,
            reference: Reference::RightHandSide,
            smoother: |_| SmootherConfig::default(),
            cycle: VCycle::default(),
        }
    }

    fn descending(self) -> Self {
        Self { cycle: VCycle::symmetric(), ..self }
    }

    /// Iterations until the residual is small enough, if rounding lets it.
    fn iterations(self, backend: &Arc<Cpu>, space: &Space) -> Result<Option<usize>> {
        let history = self.history(backend, space)?;
        let reference = if let Reference::Start = self.reference { history[0] } else { 1.0 };
        let found = history.iter().position(|&residual| residual <= TOLERANCE * reference);
        // Algorithm 2.2 does one V-cycle after the first pass in any case.
        Ok(found.map(|n| if let Iteration::Fmg = self.iteration { n.max(1) } else { n }))
    }

    /// Residuals relative to `|b|`, as far down as rounding lets them.
    fn history(self, backend: &Arc<Cpu>, space: &Space) -> Result<Vec<f64>> {
        let operator = backend.level::<f64>(&Poisson::from(space))?;
        let smoother = (self.smoother)(space.dim());
        let mut multigrid = Multigrid::<_, f64>::new(backend, &Poisson::from(space), &smoother, self.cycle)?;
        let (mut b, mut x) = (operator.vector()?, operator.vector()?);
        let load = match self.load {
            Load::One => load_vector(space, &*Problem::One.right_hand_side(space.mesh()))?,
            Load::Sine => load_vector(space, &*Problem::Sine.right_hand_side(space.mesh()))?,
            Load::Random => random(space, 1)?,
        };
        backend.upload(&load, &mut b)?;
        let stopping = Stopping { rtol: 1e-15, max_iters: MOST };
        let ignore = &mut unobserved;
        let info = match self.iteration {
            Iteration::Fmg => Fmg::new(&operator)?.solve(&operator, &mut multigrid, &b, &mut x, &stopping, ignore)?,
            Iteration::VCycle | Iteration::VCycleFromRandom => {
                if let Iteration::VCycleFromRandom = self.iteration {
                    backend.upload(&random(space, 2)?, &mut x)?;
                }
                Richardson::new(&operator)?.solve(&operator, &mut multigrid, &b, &mut x, &stopping, ignore)?
            }
            Iteration::Gmres | Iteration::GmresAfterFmg => {
                if let Iteration::GmresAfterFmg = self.iteration {
                    multigrid.initial_guess(&b, &mut x)?;
                    multigrid.cycle(&b, &mut x)?;
                }
                Gmres::new(&operator, MOST)?.solve(&operator, &mut multigrid, &b, &mut x, &stopping, ignore)?
            }
        };
        Ok(info.residual_history)
    }
}

/// Numbers in -1..1 at the unknowns, in storage order.
fn random(space: &Space, seed: u64) -> Result<Vec<f64>> {
    let mut state = seed;
    let number = |_| {
        // Knuth's linear congruential generator; the upper bits are good enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    space.from_dofs(&(0..space.dofs()).map(number).collect::<Vec<f64>>())
}

fn definitions() -> Vec<(String, Definition)> {
    use {Iteration::*, Load::*, Reference::*};
    let stated = Definition::stated();
    let mut all = Vec::new();
    for (name, iteration, reference) in [
        ("full multigrid, to |b|", Fmg, RightHandSide),
        ("full multigrid, to the residual after the first pass", Fmg, Start),
        ("V-cycles from zero", VCycle, RightHandSide),
        ("V-cycles from random numbers, to the first residual", VCycleFromRandom, Start),
        ("GMRES from zero", Gmres, RightHandSide),
        ("GMRES after full multigrid, to its first residual", GmresAfterFmg, Start),
    ] {
        all.push((name.to_string(), Definition { iteration, reference, ..stated }));
        let descending = format!("{name}; colors descend after the coarse correction");
        all.push((descending, Definition { iteration, reference, ..stated }.descending()));
        for (load_name, load) in [("f of the sine", Sine), ("b random", Random)] {
            if let RightHandSide = reference {
                all.push((format!("{name}; {load_name}"), Definition { iteration, reference, load, ..stated }));
            }
        }
        let smoothers: [(&str, Choose); 4] = [
            ("additive patches", SmootherConfig::additive_patch),
            ("point Gauss-Seidel", |_| SmootherConfig::PointGaussSeidel),
            ("Jacobi", |_| SmootherConfig::jacobi()),
            ("Chebyshev", |_| SmootherConfig::chebyshev()),
        ];
        for (smoother_name, smoother) in smoothers {
            let definition = Definition { iteration, reference, smoother, ..stated };
            all.push((format!("{smoother_name}: {name}"), definition));
        }
    }
    all.sort_by_key(|(name, _)| name.contains(": "));
    all
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a whole number"));
    let mut argument = |default: usize| arguments.next().unwrap_or(default);
    let (dim, refine, most_degree) = (argument(2), argument(4), argument(10));
    let backend = Arc::new(Cpu::new(None)?);
    let spaces = (1..=most_degree)
        .map(|degree| Space::new(Mesh::unit_cube(dim, refine)?, degree))
        .collect::<Result<Vec<_>>>()?;
    println!("{dim}D, 2^{refine} cells a direction, residuals fall by {TOLERANCE:e}");
    let line = |name: &str, cells: &[String]| println!("{name:WIDTH$}{}", cells.concat());
    line("definition", &(1..=most_degree).map(|degree| format!("{:>5}", format!("Q{degree}"))).collect::<Vec<_>>());
    for (name, definition) in definitions() {
        let counts = spaces.iter().map(|space| definition.iterations(&backend, space));
        let cell = |count: Option<usize>| format!("{:>5}", count.map_or("-".into(), |n| n.to_string()));
        line(&name, &counts.map(|count| count.map(cell)).collect::<Result<Vec<_>>>()?);
    }
    Ok(())
}
