//! Model problems.

use super::Poisson;
use crate::backend::{Backend, OuterProducts};
use crate::choice::named_choice;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::mesh::Mesh;
use crate::problem::{
    Constant, CosineProduct, ErrorNorms, ExactSolution, Field, SampledLoad, SineProduct, load_products, load_vector,
};
use crate::solve::SolutionOnMachine;
use crate::system::{ErrorsOnMachine, ModelProblem};
use glam::DVec3;
use std::f64::consts::PI;

/// A model problem `-Δu = f` with given `u` on the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `f = 1`, `u = 0` on the boundary; the solution has no closed form.
    One,
    /// `u = prod_i sin(πx_i / l_i)` on the box of side lengths `l`, zero on the boundary, so `f = π² sum_i 1 / l_i² u`.
    Sine,
    /// `u = prod_i cos(πx_i / l_i)`, not zero on the boundary, so `f = π² sum_i 1 / l_i² u`.
    Cosine,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Sine, Self::Cosine];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Sine => "sine",
            Self::Cosine => "cosine",
        }
    }

    /// `f` on a mesh's box.
    pub fn right_hand_side(self, mesh: &Mesh) -> Box<dyn Field> {
        let lengths = &mesh.lengths()[..mesh.dim()];
        let scale = lengths.iter().map(|length| 1.0 / (length * length)).sum::<f64>() * PI * PI;
        match self {
            Self::One => Box::new(Constant(1.0)),
            Self::Sine => Box::new(sine(mesh, scale)),
            Self::Cosine => Box::new(cosine(mesh, scale)),
        }
    }

    /// `u` on the boundary of a mesh's box, where it is not zero.
    pub fn boundary_values(self, mesh: &Mesh) -> Option<Box<dyn Field>> {
        match self {
            Self::One | Self::Sine => None,
            Self::Cosine => Some(Box::new(cosine(mesh, 1.0))),
        }
    }

    /// `u` on a mesh's box, where it is known.
    pub fn solution(self, mesh: &Mesh) -> Option<Box<dyn ExactSolution>> {
        match self {
            Self::One => None,
            Self::Sine => Some(Box::new(sine(mesh, 1.0))),
            Self::Cosine => Some(Box::new(cosine(mesh, 1.0))),
        }
    }
}

named_choice!(Problem, "problem");

impl ModelProblem for Problem {
    type System = Poisson;
    type Errors = ErrorNorms;

    fn check(&self, system: &Poisson) -> Result<()> {
        if self.boundary_values(system.mesh()).is_none() || system.takes_boundary_values() {
            return Ok(());
        }
        Err(Error::InvalidArgument {
            name: "problem",
            value: self.to_string(),
            allowed: "zero on the boundary with continuous elements: one or sine".into(),
        })
    }

    fn load(&self, system: &Poisson) -> Result<Vec<f64>> {
        let mut load = load_vector(system.space(), &*self.right_hand_side(system.mesh()))?;
        if let Some(values) = self.boundary_values(system.mesh()) {
            system.add_boundary_load(&*values, &mut load)?;
        }
        Ok(load)
    }

    fn load_products(&self, system: &Poisson) -> Result<Option<OuterProducts>> {
        match self.boundary_values(system.mesh()) {
            Some(_) => Ok(None),
            None => load_products(system.space(), &*self.right_hand_side(system.mesh())),
        }
    }

    fn sampled_load(&self, system: &Poisson) -> Result<Option<SampledLoad>> {
        let boundary = self.boundary_values(system.mesh());
        system.sampled_load(&*self.right_hand_side(system.mesh()), boundary.as_deref())
    }

    fn errors(&self, u: &Function) -> Result<Option<ErrorNorms>> {
        self.solution(u.space().mesh()).map(|exact| u.error_to(&*exact)).transpose()
    }

    fn errors_on_machine<B: Backend>(
        &self,
        system: &Poisson,
        u: &SolutionOnMachine<B>,
    ) -> Result<ErrorsOnMachine<ErrorNorms>> {
        system.errors_on_machine(u, self.solution(system.mesh()).as_deref())
    }
}

fn sine(mesh: &Mesh, scale: f64) -> SineProduct {
    SineProduct { dim: mesh.dim(), scale, lengths: DVec3::from_array(mesh.lengths()) }
}

fn cosine(mesh: &Mesh, scale: f64) -> CosineProduct {
    CosineProduct { dim: mesh.dim(), scale, lengths: DVec3::from_array(mesh.lengths()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By central differences; and the sine vanishes on the boundary.
    #[test]
    fn problems_solve_the_equation_on_boxes() {
        for dim in [2, 3] {
            let mesh = &Mesh::of_box(&[1, 1, 1][..dim], &[2.5, 0.6, 1.7][..dim], 1).unwrap();
            let (point, step) = (DVec3::new(0.7, 0.25, 0.4), 1e-3);
            for problem in [Problem::Sine, Problem::Cosine] {
                let (f, u) = (problem.right_hand_side(mesh), problem.solution(mesh).unwrap());
                let second = |d: usize| {
                    let along = DVec3::AXES[d] * step;
                    (u.value(point + along) + u.value(point - along) - 2.0 * u.value(point)) / (step * step)
                };
                let laplace: f64 = (0..dim).map(second).sum();
                assert!((f.value(point) / -laplace - 1.0).abs() < 1e-4, "{problem}: {} {laplace}", f.value(point));
                for (d, side) in (0..dim).flat_map(|d| [(d, 0.0), (d, mesh.lengths()[d])]) {
                    let mut at = point;
                    at[d] = side;
                    match problem.boundary_values(mesh) {
                        None => assert!(u.value(at).abs() < 1e-15, "{problem} at {at}"),
                        Some(g) => assert_eq!(g.value(at), u.value(at)),
                    }
                }
            }
            assert!(Problem::One.solution(mesh).is_none() && Problem::One.boundary_values(mesh).is_none());
            assert_eq!(Problem::One.right_hand_side(mesh).value(point), 1.0);
        }
    }

    #[test]
    fn problems_have_names() {
        for problem in Problem::ALL {
            assert_eq!(problem.name().parse::<Problem>().unwrap(), problem);
        }
        let message = "tangent".parse::<Problem>().unwrap_err().to_string();
        assert_eq!(message, "problem is tangent, but must be one, sine, cosine");
    }
}
