//! How large the problems of a suite are.

/// What decides the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The paper's sizes, or such that a CPU ends in minutes.
    pub gpu: bool,
    /// Just to see that all works.
    pub quick: bool,
}

impl Sizes {
    /// The level whose throughput is measured. On a GPU the paper's: 26 to 85 million unknowns in 2D, 135 to 721 million
    /// in 3D.
    pub fn throughput(&self, dim: usize, degree: usize) -> usize {
        let nodes_per_direction = match (self.quick, self.gpu, dim) {
            (true, _, 2) => 64,
            (true, ..) => 16,
            (_, true, 2) => 9216,
            (_, true, _) => 896,
            (.., 2) => 768,
            _ => 64,
        };
        // At least two levels.
        ((nodes_per_direction / degree).max(4)).ilog2() as usize
    }

    /// The level on which a vector in `f64` is much larger than any cache: 0.4 to 3.2 GB on a GPU; and of 2 million
    /// unknowns for degree 4 in 3D on a CPU.
    pub fn larger_than_caches(&self, dim: usize, degree: usize) -> usize {
        let nodes_per_direction = match (self.quick, self.gpu, dim) {
            (true, ..) => return self.throughput(dim, degree),
            (_, true, 2) => 20_000,
            (_, true, _) => 736,
            (.., 2) => 1536,
            _ => 128,
        };
        (nodes_per_direction / degree).ilog2() as usize
    }

    /// The level whose solve is taken apart, a level below the former: shares hardly change, and the host integrates the
    /// right-hand side for every kernel anew.
    pub fn components(&self, dim: usize, degree: usize) -> usize {
        let finest = self.throughput(dim, degree);
        if self.gpu && !self.quick { finest - 1 } else { finest }
    }

    /// Levels of tables 1 and 2.
    pub fn iteration_levels(&self, dim: usize) -> std::ops::RangeInclusive<usize> {
        match (self.quick, self.gpu, dim) {
            (true, _, 2) => 3..=4,
            (true, ..) => 2..=2,
            (_, true, 2) => 4..=12,
            (_, true, _) => 4..=10,
            (.., 2) => 4..=7,
            _ => 3..=4,
        }
    }

    /// The level of table 3, on which iterations are constant.
    pub fn comparison_level(&self, degree: usize) -> usize {
        match (self.quick, self.gpu) {
            (true, _) => 2,
            (_, true) => 5,
            _ if degree <= 4 => 4,
            _ => 3,
        }
    }

    /// The level whose operator of discontinuous elements in 3D is timed, and the last that is solved on: the paper's of 134
    /// million unknowns on a GPU, for other degrees one of about as many.
    pub fn discontinuous(&self, degree: usize) -> usize {
        let nodes_per_direction: f64 = match (self.quick, self.gpu) {
            (true, _) => 16.0,
            (_, true) => 512.0,
            _ => 128.0,
        };
        // At least two levels.
        ((nodes_per_direction / (degree + 1) as f64).log2().round() as usize).max(2)
    }

    /// The paper's two levels of solves with discontinuous elements: 17 and 134 million unknowns on a GPU.
    pub fn solves(&self, degree: usize) -> std::ops::RangeInclusive<usize> {
        let finest = self.discontinuous(degree);
        (finest - 1).max(2)..=finest
    }

    /// Levels of degree 7 on which errors are followed under refinement.
    pub fn refinements(&self) -> std::ops::RangeInclusive<usize> {
        match (self.quick, self.gpu) {
            (true, _) => 2..=3,
            (_, true) => 2..=6,
            _ => 2..=4,
        }
    }

    /// Degrees of an experiment that the paper shows for a few, or for all.
    pub fn thin(&self, degrees: &[usize]) -> Vec<usize> {
        if self.quick { degrees[..degrees.len().min(2)].to_vec() } else { degrees.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::mesh::Mesh;
    use patchmg::space::Space;

    #[test]
    fn on_a_gpu_sizes_are_those_of_the_paper() {
        let sizes = Sizes { gpu: true, quick: false };
        let dofs = |dim, degree| {
            Space::new(Mesh::unit_cube(dim, sizes.throughput(dim, degree)).unwrap(), degree).unwrap().dofs() as f64
                / 1e6
        };
        for degree in 1..=10 {
            assert!((26.0..85.1).contains(&dofs(2, degree)), "{}", dofs(2, degree));
        }
        for degree in 1..=8 {
            assert!((133.0..721.0).contains(&dofs(3, degree)), "{}", dofs(3, degree));
        }
        // Table 7: 135, 454 and 721 million, boundary included.
        assert_eq!([1, 3, 7].map(|degree| sizes.throughput(3, degree)), [9, 8, 7]);
    }

    #[test]
    fn on_a_gpu_parts_are_timed_on_vectors_larger_than_its_cache() {
        let sizes = Sizes { gpu: true, quick: false };
        for (dim, degree) in (2..=10).map(|degree| (2, degree)).chain((2..=8).map(|degree| (3, degree))) {
            let space =
                Space::new(Mesh::unit_cube(dim, sizes.larger_than_caches(dim, degree)).unwrap(), degree).unwrap();
            assert!((0.4e9..3.2e9).contains(&(8.0 * space.dofs() as f64)), "{dim} {degree} {}", space.dofs());
        }
        assert_eq!(Sizes { gpu: false, quick: false }.larger_than_caches(3, 4), 5);
    }

    #[test]
    fn discontinuous_elements_have_the_papers_unknowns() {
        let sizes = Sizes { gpu: true, quick: false };
        let dofs = |degree: usize, refine: usize| ((degree + 1) << refine).pow(3);
        for degree in [3, 7] {
            assert_eq!(sizes.solves(degree).map(|refine| dofs(degree, refine)).collect::<Vec<_>>(), [1 << 24, 1 << 27]);
        }
        assert!((1..=8).all(|degree| (5e7..3e8).contains(&(dofs(degree, sizes.discontinuous(degree)) as f64))));
    }

    #[test]
    fn every_size_has_two_levels() {
        for gpu in [true, false] {
            for quick in [true, false] {
                for dim in [2, 3] {
                    let sizes = Sizes { gpu, quick };
                    assert!((1..=8).all(|degree| sizes.throughput(dim, degree) >= 2));
                    assert!((2..=8).all(|degree| sizes.larger_than_caches(dim, degree) >= 2));
                    assert!((1..=8).all(|degree| sizes.discontinuous(degree) >= 2));
                }
            }
        }
    }
}
