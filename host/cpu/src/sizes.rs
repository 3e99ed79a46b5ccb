//! Matrices by direction, one copy for each distinct cell size.

use bytemuck::{AnyBitPattern, pod_read_unaligned};

/// What belongs to a cell size, for each direction.
pub struct BySize<V> {
    values: Vec<V>,
    sizes: [usize; 3],
}

impl<V> BySize<V> {
    /// Direction `d` of `0..dim` takes value `sizes[d]`.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn new(values: Vec<V>, sizes: [usize; 3], dim: usize) -> Self {
        let sizes = core::array::from_fn(|direction| sizes[if direction < dim { direction } else { 0 }]);
        assert!(sizes.iter().all(|&size| size < values.len()), "sizes {sizes:?} of {}", values.len());
        Self { values, sizes }
    }

    /// That of a direction; in 2D the third direction has that of x.
    #[inline(always)]
    pub fn of(&self, direction: usize) -> &V {
        &self.values[self.sizes[direction]]
    }

    /// Those of all directions.
    #[inline(always)]
    pub fn by_direction(&self) -> [&V; 3] {
        [self.of(0), self.of(1), self.of(2)]
    }
}

impl<V: AnyBitPattern> BySize<V> {
    /// [`Self::new`] from the values' bytes.
    ///
    /// # Panics
    /// As [`Self::new`], and if there are not as many bytes as a value has.
    pub fn read(bytes: &[Box<[u8]>], sizes: [usize; 3], dim: usize) -> Self {
        Self::new(bytes.iter().map(|bytes| pod_read_unaligned(bytes)).collect(), sizes, dim)
    }
}
