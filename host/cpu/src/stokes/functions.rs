//! The eigenfunctions of a patch in a direction.

use patchmg_device::contract::{Dense, Parity};
use patchmg_device::scalar::{Real, Value};
use patchmg_device::stokes::Derivative;

/// Functions of the discontinuous axis by nodes, as `f64`, and what couples them to those of the continuous axis.
#[derive(Clone, Debug)]
pub struct PatchFunctions {
    /// Whether functions of both axes are even or odd, the even ones first.
    pub is_symmetric: bool,
    /// Function `f` at node `n`: entry `n + N f`.
    pub values: Vec<f64>,
    /// The derivative of function `m` of the continuous axis by `j`: entry `j + N m`.
    pub derivatives: Vec<f64>,
}

/// The functions of a patch in a direction.
#[derive(Clone, Debug)]
pub struct PatchAxis {
    /// Functions of the continuous axis by inner nodes, even ones first: function `f` at node `n` is entry `n + M f`.
    pub continuous: Vec<f64>,
    /// Of the discontinuous axis, for each of [`Ends::ALL`](patchmg_device::patch::Ends::ALL).
    pub discontinuous: [PatchFunctions; 4],
}

/// Functions of the discontinuous axis of a direction, and derivatives by them of those of the continuous axis.
pub trait Across<T, const N: usize, const M: usize> {
    /// `Sᵀ x`.
    fn analyze<V: Value<T>>(&self, x: &[V; N]) -> [V; N];
    /// `S x`.
    fn synthesize<V: Value<T>>(&self, x: &[V; N]) -> [V; N];
    /// The derivative of continuous functions.
    fn derivative<V: Value<T>>(&self, x: &[V; M]) -> [V; N];
    /// Its transpose.
    fn gradient<V: Value<T>>(&self, x: &[V; N]) -> [V; M];
}

/// Of a patch that touches no end of the domain, or both.
pub struct Symmetric<T, const C: usize> {
    functions: Parity<T, C>,
    derivative: Derivative<T, C>,
}

/// Of a patch that touches one end.
pub struct General<T, const N: usize> {
    functions: Dense<T, N>,
    /// With a zero column behind the last one.
    derivative: Dense<T, N>,
}

impl<T: Real, const C: usize> Symmetric<T, C> {
    fn new<const N: usize, const M: usize>(functions: &PatchFunctions) -> Self {
        let derivative = |j: usize, m: usize| T::from_f64(functions.derivatives[j + N * m]);
        let of_odd = |j: usize, m: usize| if C + m < M { derivative(j, C + m) } else { T::ZERO };
        Self {
            functions: Parity::new::<N>(|f, node| functions.values[node + N * f]),
            derivative: Derivative {
                of_even: core::array::from_fn(|j| core::array::from_fn(|m| derivative(C + j, m))),
                of_odd: core::array::from_fn(|j| core::array::from_fn(|m| of_odd(j, m))),
            },
        }
    }
}

impl<T: Real, const N: usize> General<T, N> {
    fn new<const M: usize>(functions: &PatchFunctions) -> Self {
        let derivative = |j: usize, m: usize| if m < M { functions.derivatives[j + N * m] } else { 0.0 };
        Self { functions: Dense::new(|f, node| functions.values[node + N * f]), derivative: Dense::new(derivative) }
    }
}

impl<T: Real, const C: usize, const N: usize, const M: usize> Across<T, N, M> for Symmetric<T, C> {
    #[inline(always)]
    fn analyze<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        self.functions.analyze(x)
    }

    #[inline(always)]
    fn synthesize<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        self.functions.synthesize(x)
    }

    #[inline(always)]
    fn derivative<V: Value<T>>(&self, x: &[V; M]) -> [V; N] {
        self.derivative.apply(x)
    }

    #[inline(always)]
    fn gradient<V: Value<T>>(&self, x: &[V; N]) -> [V; M] {
        self.derivative.transposed(x)
    }
}

impl<T: Real, const N: usize, const M: usize> Across<T, N, M> for General<T, N> {
    #[inline(always)]
    fn analyze<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        self.functions.times(x)
    }

    #[inline(always)]
    fn synthesize<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        self.functions.transposed(x)
    }

    #[inline(always)]
    fn derivative<V: Value<T>>(&self, x: &[V; M]) -> [V; N] {
        let mut padded = [V::ZERO; N];
        padded[..M].copy_from_slice(x);
        self.derivative.times(&padded)
    }

    #[inline(always)]
    fn gradient<V: Value<T>>(&self, x: &[V; N]) -> [V; M] {
        let padded = self.derivative.transposed(x);
        core::array::from_fn(|m| padded[m])
    }
}

/// The functions of a patch with some ends.
pub enum AcrossOf<T, const C: usize, const N: usize> {
    Symmetric(Symmetric<T, C>),
    General(General<T, N>),
}

/// The functions of the patches of a level in a direction, by unknowns: `C` nodes a cell, `N = 2 C`, `M = N - 1`.
pub struct AxisFunctions<T, const C: usize, const N: usize, const M: usize> {
    pub continuous: Parity<T, C>,
    /// For each of [`Ends::ALL`](patchmg_device::patch::Ends::ALL).
    pub across: [AcrossOf<T, C, N>; 4],
}

impl<T: Real, const C: usize, const N: usize, const M: usize> AxisFunctions<T, C, N, M> {
    /// Rounded.
    ///
    /// # Panics
    /// If there are not as many values as the degree has.
    pub fn new(axis: &PatchAxis) -> Self {
        assert_eq!(axis.continuous.len(), M * M);
        let across = |functions: &PatchFunctions| {
            assert_eq!((functions.values.len(), functions.derivatives.len()), (N * N, N * M));
            if functions.is_symmetric {
                AcrossOf::Symmetric(Symmetric::new::<N, M>(functions))
            } else {
                AcrossOf::General(General::new::<M>(functions))
            }
        };
        Self {
            continuous: Parity::new::<M>(|f, node| axis.continuous[node + M * f]),
            across: axis.discontinuous.each_ref().map(across),
        }
    }
}
