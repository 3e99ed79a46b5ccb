//! The compiled part of the Python package `patchmg`: problems, maps and solutions over buffers of `float64`. What users call is written
//! in Python around it, in `patchmg/__init__.py`.

mod boundary;
mod error;
mod machine;
mod map;
mod numbering;
mod problem;
mod solved;

/// The module `patchmg._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::map::Map;
    #[pymodule_export]
    use crate::problem::Problem;
    #[pymodule_export]
    use crate::solved::Solved;
}
