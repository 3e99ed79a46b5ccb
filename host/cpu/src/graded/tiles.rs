//! 1D products of tiles, which are two cells a direction, with the matrices of a cell of size 1, and factors of each cell in registers.

use super::Factors;
use crate::batch::Offsets;
use crate::lanes::{Lanes, MAX_LANES, Vectorized};
use crate::lines::Lines;
use crate::rows::{self, Rows};
use crate::workspace::workspace;
use patchmg_device::contract::Centrosymmetric;
use patchmg_device::matrices::OperatorMatrices;
use patchmg_device::patch::class_patch;
use patchmg_device::scalar::Value;
use pulp::{Simd, WithSimd};

/// Factors of both cells of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Tile<X> {
    mass: [X; 2],
    stiffness: [X; 2],
}

impl<T: Vectorized> Tile<T> {
    /// Of two cells; where there is none factors are zero.
    pub fn new(cells: [Option<&Factors<T>>; 2]) -> Self {
        let of = |factor: fn(&Factors<T>) -> T| cells.map(|cell| cell.map_or(T::ZERO, factor));
        Self { mass: of(|cell| cell.mass), stiffness: of(|cell| cell.stiffness) }
    }
}

impl<S: Simd, T: Vectorized> Tile<Lanes<S, T>> {
    /// Those of each lane, by their numbers among tiles of a parity.
    #[inline(always)]
    pub fn of_lanes(tiles: &[Tile<T>], parity: u32, places: &[usize; MAX_LANES]) -> Self {
        let gathered = |factor: fn(&Tile<T>) -> T| {
            let mut register = Lanes::<S, T>::ZERO;
            let lanes: &mut [T] = bytemuck::cast_slice_mut(core::slice::from_mut(&mut register));
            for (lane, &place) in lanes.iter_mut().zip(places) {
                *lane = factor(&tiles[class_patch(parity, place)]);
            }
            register
        };
        Self {
            mass: [gathered(|tile| tile.mass[0]), gathered(|tile| tile.mass[1])],
            stiffness: [gathered(|tile| tile.stiffness[0]), gathered(|tile| tile.stiffness[1])],
        }
    }
}

/// A matrix of a cell of size 1, and its factors for both cells of the tiles.
pub struct OnTile<'a, S: Simd, T: Vectorized, const C: usize, const H: usize>(
    &'a Centrosymmetric<T, C, H>,
    &'a [Lanes<S, T>; 2],
);

/// `y = Σ A x` over the `P` matrices of tiles, line by line.
///
/// # Panics
/// If a slice does not hold its lines, or there are not as many of them in `y` as in each `x`.
#[inline(always)]
pub fn multiply<S: Simd, T: Vectorized, const P: usize, const C: usize, const H: usize, const N: usize>(
    matrices: [OnTile<'_, S, T, C, H>; P],
    x: [&[Lanes<S, T>]; P],
    from: Lines<N>,
    y: &mut [Lanes<S, T>],
    to: Lines<N>,
) {
    assert!(from.count == to.count && x.iter().all(|x| from.end() <= x.len()) && to.end() <= y.len());
    // By the nodes of a cell: up to degree 6 strides that are known save more than a function of its own.
    Lanes::<S, T>::vectorize::<C, _>(&mut Product { matrices, x, from, y, to });
}

struct Product<'a, S: Simd, T: Vectorized, const P: usize, const C: usize, const H: usize, const N: usize> {
    matrices: [OnTile<'a, S, T, C, H>; P],
    x: [&'a [Lanes<S, T>]; P],
    from: Lines<N>,
    y: &'a mut [Lanes<S, T>],
    to: Lines<N>,
}

impl<S: Simd, T: Vectorized, const P: usize, const C: usize, const H: usize, const N: usize> WithSimd
    for &mut Product<'_, S, T, P, C, H, N>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        const { assert!(N + 1 == 2 * C) }
        let Product { matrices, x, from, y, to } = self;
        let (from, to) = (*from, *to);
        for line in 0..from.count {
            let mut sums = [Lanes::ZERO; N];
            for (OnTile(matrix, factors), x) in matrices.iter().zip(*x) {
                for cell in 0..2 {
                    let mut nodes = [Lanes::ZERO; C];
                    for i in 0..C {
                        // SAFETY: slices hold their lines: `multiply` asserts it.
                        let place = from.first + line * from.apart + (cell * (C - 1) + i) * from.step;
                        nodes[i] = unsafe { *x.get_unchecked(place) };
                    }
                    let product: [_; C] = matrix.apply(&nodes);
                    for i in 0..C {
                        sums[cell * (C - 1) + i] = factors[cell].times_add(product[i], sums[cell * (C - 1) + i]);
                    }
                }
            }
            for i in 0..N {
                // SAFETY: as above.
                unsafe { *y.get_unchecked_mut(to.first + line * to.apart + i * to.step) = sums[i] };
            }
        }
    }
}

workspace! {
    /// A plane of nodes, then of results, and after the contraction along `x` with `M` and with `S + s M`, `[y][x]`.
    pub struct Planes<V, const N: usize> {
        pub nodes: [[V; N]; N],
        pub mass: [[V; N]; N],
        pub stiffness: [[V; N]; N],
    }
}

/// The matrices of a cell of size 1, and `s` of a reaction `s u`.
#[derive(Clone, Copy)]
pub struct Form<T, const C: usize, const H: usize> {
    pub cell: OperatorMatrices<T, C, H>,
    pub reaction: T,
}

impl<T: Vectorized, const C: usize, const H: usize> Form<T, C, H> {
    #[inline(always)]
    pub fn mass<'a, S: Simd>(&'a self, tile: &'a Tile<Lanes<S, T>>) -> OnTile<'a, S, T, C, H> {
        OnTile(&self.cell.mass, &tile.mass)
    }

    #[inline(always)]
    pub fn stiffness<'a, S: Simd>(&'a self, tile: &'a Tile<Lanes<S, T>>) -> OnTile<'a, S, T, C, H> {
        OnTile(&self.cell.stiffness, &tile.stiffness)
    }

    /// `M` and `S + s M` times rows of `x` less `shift`.
    ///
    /// # Safety
    /// As for [`rows::load`].
    #[inline(always)]
    pub unsafe fn along_x<S: Simd, const N: usize>(
        &self,
        tile: &Tile<Lanes<S, T>>,
        (x, tiles, rows): (*const T, &Offsets, Rows),
        shift: &Lanes<S, T>,
        planes: &mut Planes<Lanes<S, T>, N>,
    ) {
        let (Planes { nodes, mass, stiffness }, lines) = (planes, Lines::<N>::rows(N));
        // SAFETY: the caller's.
        unsafe { rows::load(x, tiles, rows, shift, nodes) };
        multiply([self.mass(tile)], [nodes.as_flattened()], lines, mass.as_flattened_mut(), lines);
        multiply([self.stiffness(tile)], [nodes.as_flattened()], lines, stiffness.as_flattened_mut(), lines);
        if self.reaction != T::ZERO {
            for (sum, mass) in stiffness.as_flattened_mut().iter_mut().zip(mass.as_flattened()) {
                *sum = Lanes::fma(self.reaction, *mass, *sum);
            }
        }
    }

    /// What the reaction makes of the constant `shift`, which is the outer product of a vector for each direction; none without a reaction.
    #[inline(always)]
    pub fn of_constant<S: Simd, const N: usize, const D: usize>(
        &self,
        tiles: &[Tile<Lanes<S, T>>; D],
        shift: &Lanes<S, T>,
    ) -> Option<[[Lanes<S, T>; N]; D]> {
        if self.reaction == T::ZERO {
            return None;
        }
        let (lines, mut vectors) = (Lines::<N>::rows(1), [[Lanes::ZERO; N]; D]);
        let mut constant = [Lanes::scale(self.reaction, *shift); N];
        for d in 0..D {
            multiply([self.mass(&tiles[d])], [&constant], lines, &mut vectors[d], lines);
            constant = [Lanes::splat(T::from_f64(1.0)); N];
        }
        Some(vectors)
    }
}

/// Adds the row at nodes `[y, z]` of an outer product of vectors.
#[inline(always)]
pub fn add_row<S: Simd, T: Vectorized, const N: usize>(
    vectors: &[[Lanes<S, T>; N]],
    across: [usize; 2],
    row: &mut [Lanes<S, T>; N],
) {
    let mut factor = Lanes::splat(T::from_f64(1.0));
    for (vector, node) in vectors[1..].iter().zip(across) {
        factor = vector[node].times_add(factor, Lanes::ZERO);
    }
    for i in 0..N {
        row[i] = vectors[0][i].times_add(factor, row[i]);
    }
}
