//! Matrices for an axis, from their rows.

use super::axis::AxisMatrix;
use patchmg_device::scalar::Real;

impl<T> AxisMatrix<T> {
    /// Rows, and entries of a row, from which on a dense matrix is multiplied faster as a whole than row by row.
    pub const LARGE: usize = 64;

    /// Whether it has so many rows, with so many entries, that it is worth while to multiply it as a dense one.
    pub fn is_large(&self) -> bool {
        self.rows >= Self::LARGE && self.width >= Self::LARGE && 2 * self.width >= self.columns
    }
}

impl AxisMatrix<f64> {
    /// From the entries of each row, `(column, value)`; those that are not there are zero.
    ///
    /// # Panics
    /// If an entry is in none of `columns` columns.
    pub fn from_rows(columns: usize, rows: &[Vec<(usize, f64)>]) -> Self {
        let place = |row: &[(usize, f64)]| {
            let columns = || row.iter().map(|&(column, _)| column);
            let first = columns().min().unwrap_or(0);
            (first, columns().max().map_or(0, |last| last + 1 - first))
        };
        let width = rows.iter().map(|row| place(row).1).max().unwrap_or(0);
        let mut entries = vec![0.0; width * rows.len()];
        let [mut first, mut count] = [(); 2].map(|()| Vec::with_capacity(rows.len()));
        for (i, row) in rows.iter().enumerate() {
            // The last rows begin earlier, so that all columns are there.
            let (own, len) = place(row);
            let begin = own.min(columns - width);
            first.push(begin as u32);
            count.push((own + len - begin) as u32);
            for &(column, value) in row {
                entries[(column - begin) * rows.len() + i] += value;
            }
        }
        Self { rows: rows.len(), columns, width, first, count, entries }
    }

    /// With all entries.
    pub fn dense(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let entry = &entry;
        let entries = (0..columns).flat_map(|j| (0..rows).map(move |i| entry(i, j))).collect();
        Self { rows, columns, width: columns, first: vec![0; rows], count: vec![columns as u32; rows], entries }
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> Self {
        let mut rows = vec![Vec::new(); self.columns];
        for i in 0..self.rows {
            for t in 0..self.width {
                let value = self.entries[t * self.rows + i];
                if value != 0.0 {
                    rows[self.first[i] as usize + t].push((i, value));
                }
            }
        }
        Self::from_rows(self.rows, &rows)
    }

    /// Its entries as numbers of `T`.
    pub fn rounded<T: Real>(&self) -> AxisMatrix<T> {
        let Self { rows, columns, width, ref first, ref count, ref entries } = *self;
        let entries = entries.iter().map(|&entry| T::from_f64(entry)).collect();
        AxisMatrix { rows, columns, width, first: first.clone(), count: count.clone(), entries }
    }
}
