//! Choices on the command line, under the names that the library has for them.

use crate::systems;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use patchmg::solve::{Cycle, Method, Precision};

/// One of `all`, by its name; `help` says what it is.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    help: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let possible = all.iter().map(|&value| PossibleValue::new(name(value)).help(help(value)));
    PossibleValuesParser::new(possible).try_map(move |given| {
        all.iter().copied().find(|&value| name(value) == given).ok_or("is not among the possible values")
    })
}

pub fn method() -> impl TypedValueParser<Value = Method> {
    one_of(&Method::ALL, Method::name, |method| match method {
        Method::Fmg => "Full multigrid: a first pass from the coarsest level up, then V-cycles",
        Method::VCycle => "V-cycle iteration",
        Method::Gmres => "Restarted GMRES, preconditioned from the right",
        Method::Fgmres => "Flexible GMRES",
        Method::Cg => "Conjugate gradients, with a V-cycle made symmetric",
    })
}

pub fn cycle() -> impl TypedValueParser<Value = Cycle> {
    one_of(&Cycle::ALL, Cycle::name, |cycle| match cycle {
        Cycle::V => "V-cycle: down and up the levels once",
        Cycle::W => "W-cycle: every coarse correction by two cycles",
    })
}

pub fn precision() -> impl TypedValueParser<Value = Precision> {
    one_of(&Precision::ALL, Precision::name, |precision| match precision {
        Precision::F64 => "Double precision",
        Precision::F32 => "Single precision throughout; residuals stagnate near 1e-6",
        Precision::Mixed => "V-cycle in single precision under double precision",
    })
}

/// A model problem of any system.
pub fn problem() -> PossibleValuesParser {
    PossibleValuesParser::new(systems::problems().map(|(name, help)| PossibleValue::new(name).help(help)))
}

/// Names of [`PatchKernel::names`](patchmg::system::poisson::PatchKernel::names), each with what it is.
fn named(names: &'static [(&'static str, &'static str)]) -> PossibleValuesParser {
    PossibleValuesParser::new(names.iter().map(|(name, help)| PossibleValue::new(name).help(help)))
}

pub fn structure() -> PossibleValuesParser {
    named(&[
        ("global", "Residual of all dofs by the operator, then local solves"),
        ("separate", "Residual of a color's patches, then their local solves"),
        ("fused", "Residual, local solve and update in one kernel"),
    ])
}

pub fn variant() -> PossibleValuesParser {
    named(&[
        ("basic", "Boundary threads masked"),
        ("linear", "Threads numbered through the interior dofs"),
        ("conflict-free", "No bank conflicts"),
        ("boundary", "No bank conflicts, and of the residual only what the exact local solver needs"),
        ("register", "Columns of a patch in registers"),
    ])
}

/// Of Poisson's equation, and of the Stokes equations the names of [`LocalSolver`](patchmg::system::stokes::LocalSolver).
pub fn local_solver() -> PossibleValuesParser {
    named(&[
        ("fdm", "Fast diagonalization; not of stokes"),
        ("inverse", "One stored inverse, with stokes one for each kind of patches"),
        ("exact", "Stokes: fast diagonalization, and the stored inverse of the Schur complement"),
        ("schur-cg", "Stokes: the same with --local-steps steps of conjugate gradients instead; take --solver fgmres"),
    ])
}

pub fn thread_structure() -> PossibleValuesParser {
    named(&[
        ("column", "A thread owns a column of dofs (in 2D, with the paper's kernels, a dof)"),
        ("dof", "A thread owns a dof"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::system::poisson::{Paper1, PatchKernel};
    use patchmg::system::stokes::LocalSolver;

    #[test]
    fn options_of_the_patch_smoother_have_the_names_of_its_kernels() {
        let kernels = || Paper1::ALL.into_iter().map(Paper1::by_default).chain([PatchKernel::Register]);
        for (place, parser) in [structure(), variant(), local_solver(), thread_structure()].iter().enumerate() {
            let values: Vec<_> = parser.possible_values().unwrap().map(|value| value.get_name().to_string()).collect();
            assert!(kernels().all(|kernel| values.iter().any(|value| value == kernel.names()[place])), "{values:?}");
            let is_of_stokes = |value: &str| LocalSolver::ALL.into_iter().any(|local| local.name() == value);
            let is_named =
                |value: &String| is_of_stokes(value) || kernels().any(|kernel| kernel.names()[place] == value);
            assert!(values.iter().all(is_named), "{values:?}");
        }
        let parser = local_solver();
        let named =
            |local: LocalSolver| parser.possible_values().unwrap().any(|value| value.get_name() == local.name());
        assert!(LocalSolver::ALL.into_iter().all(named));
    }
}
