//! Which kernels to look at.

use patchmg_device::kernels::{KernelSpec, Module, Operation};
use std::fmt;

/// Kernels of the list; what is not said is all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Parts of names, one of which is in the name; none for all.
    pub names: Vec<String>,
    /// 2 or 3; vector operations have none.
    pub dim: Option<usize>,
    /// Polynomial degree; vector operations have none.
    pub degree: Option<usize>,
    /// `f32` or `f64`.
    pub scalar: Option<&'static str>,
    /// Kernels that take so many patches a block, with that many.
    pub patches: Option<u32>,
}

impl Filter {
    /// The kernels that it lets pass, in the order of the list.
    pub fn kernels(&self) -> Vec<(Module, KernelSpec)> {
        let of_module = |module: Module| self.kernels_of(module).into_iter().map(move |spec| (module, spec));
        Module::all().into_iter().flat_map(of_module).collect()
    }

    /// Those of a module.
    pub fn kernels_of(&self, module: Module) -> Vec<KernelSpec> {
        let passing = module.kernels().into_iter().filter(|spec| self.passes(module, spec));
        match self.patches {
            Some(patches) => passing.filter_map(|spec| spec.with_patches(patches)).collect(),
            None => passing.collect(),
        }
    }

    /// Whether a name is one of those that are asked for.
    pub fn names_pass(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part))
    }

    fn passes(&self, module: Module, spec: &KernelSpec) -> bool {
        let (dim, degree) = module.space().unzip();
        self.names_pass(&spec.name)
            && (self.dim.is_none() || self.dim == dim)
            && (self.degree.is_none() || self.degree == degree)
            && self.scalar.is_none_or(|scalar| spec.scalar == scalar)
            && self.patches.is_none_or(|patches| spec.patches == patches || takes_patches(spec))
    }
}

/// Whether the patches of a block are those of the launch.
fn takes_patches(spec: &KernelSpec) -> bool {
    matches!(spec.operation, Operation::Variant(..))
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = (!self.names.is_empty()).then(|| self.names.join(" or "));
        let dim = self.dim.map(|dim| format!("{dim}D"));
        let degree = self.degree.map(|degree| format!("degree {degree}"));
        let patches = self.patches.map(|patches| format!("{patches} patches a block"));
        let parts: Vec<_> = [name, dim, degree, self.scalar.map(String::from), patches].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(filter: Filter) -> usize {
        filter.kernels().len()
    }

    #[test]
    fn filters_let_pass_what_they_say() {
        let all = Filter::default();
        let listed: usize = Module::all().iter().map(|module| module.kernels().len()).sum();
        assert_eq!(count(all.clone()), listed);
        let by_dim = [2, 3].map(|dim| count(Filter { dim: Some(dim), ..all.clone() }));
        let of_no_space: usize =
            Module::all().iter().filter(|module| module.space().is_none()).map(|module| module.kernels().len()).sum();
        assert_eq!(by_dim.iter().sum::<usize>(), listed - of_no_space);
        let by_scalar = ["f32", "f64"].map(|scalar| count(Filter { scalar: Some(scalar), ..all.clone() }));
        assert_eq!(by_scalar.iter().sum::<usize>(), listed);
        let one = Filter { names: vec!["poisson_cg_3d_q4_smooth".into()], scalar: Some("f32"), ..all };
        assert_eq!(one.kernels()[0].1.name, "poisson_cg_3d_q4_smooth_f32");
        assert_eq!(count(Filter { degree: Some(4), ..one.clone() }), 1);
        assert_eq!(count(Filter { degree: Some(5), ..one.clone() }), 0);
        // Its number of patches cannot be chosen; that of the kernels of paper 1 can.
        let own = one.kernels()[0].1.patches;
        for patches in 1..=2 * own {
            let kernels = usize::from(patches == own);
            assert_eq!(count(Filter { patches: Some(patches), ..one.clone() }), kernels);
        }
        let both = Filter { names: ["poisson_cg_3d_q4_smooth", "blas1_dots"].map(String::from).into(), ..one.clone() };
        assert_eq!((count(both.clone()), both.to_string()), (2, "poisson_cg_3d_q4_smooth or blas1_dots, f32".into()));
        let variant = Filter { names: vec!["3d_q4_fused_basic".into()], patches: Some(3), ..one };
        assert_eq!(variant.kernels()[0].1.patches, 3);
    }
}
