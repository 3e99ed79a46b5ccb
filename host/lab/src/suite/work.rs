//! Floating-point operations of the method, by formula: the same for every kernel that computes it.

use patchmg::measure::Part;
use patchmg_device::kernels::patch_nodes;

/// Operations, a multiply-add being two, that a part takes for each of its pieces: a patch of the smoother, a cell of the
/// operator, a coarse cell of a transfer.
///
/// Contractions are counted dense and where their results are needed, with `N = 2k + 1` nodes of a patch in a direction,
/// `M = 2k - 1` of them interior and `c = k + 1` of a cell; in 3D
/// - operator on a cell: the innermost products are shared (paper 1, section 3.1.1), 7 contractions of `c⁴`;
/// - residual of a patch, `Ā_j` being `M³ × N³`: `2 M N³ + 3 M² N² + 2 M³ N`; fast diagonalization, equation 2.14: `6 M⁴`
///   and one scaling;
/// - prolongation: `N c³ + N² c² + N³ c`; restriction of a residual: the same and the operator on eight cells.
///
/// In 2D there are 4 contractions of `c³`; `2 M N² + 2 M² N` and `4 M³`; `N c² + N² c`.
pub fn flops_per_piece(part: Part, dim: usize, degree: usize) -> f64 {
    let (m, n) = patch_nodes(degree);
    let [m, n, c] = [m, n, degree + 1].map(|nodes| nodes as f64);
    let multiply_adds = match (part, dim) {
        (Part::Copy, _) => 0.0,
        (Part::Operator | Part::Residual, 2) => 4.0 * c.powi(3),
        (Part::Operator | Part::Residual, _) => 7.0 * c.powi(4),
        (Part::Step, 2) => 2.0 * m * n.powi(2) + 2.0 * m.powi(2) * n + 4.0 * m.powi(3) + 0.5 * m.powi(2),
        (Part::Step, _) => {
            2.0 * m * n.powi(3) + 3.0 * (m * n).powi(2) + 2.0 * m.powi(3) * n + 6.0 * m.powi(4) + 0.5 * m.powi(3)
        }
        // For a patch a quarter or an eighth of a coarse cell.
        (Part::CorrectedStep, _) => {
            let [prolongation, step] = [Part::Prolongate, Part::Step].map(|part| flops_per_piece(part, dim, degree));
            return step + prolongation / f64::from(1 << dim);
        }
        (Part::Prolongate, 2) => n * c.powi(2) + n.powi(2) * c,
        (Part::Prolongate, _) => n * c.powi(3) + (n * c).powi(2) + n.powi(3) * c,
        (Part::Restrict, _) => {
            let cells = f64::from(1 << dim);
            let [operator, transfer] =
                [Part::Operator, Part::Prolongate].map(|part| flops_per_piece(part, dim, degree));
            return cells * operator + transfer;
        }
    };
    2.0 * multiply_adds
}

/// Operations of the Stokes operator in 3D for a cell of `RT_k x Q_k`, a multiply-add being two.
///
/// Contractions are counted dense, as in paper 2, and without padding, on patches of two cells a direction as in its kernels:
/// with `c = k + 1` nodes of a cell across a component and `e = k + 2` along it, for a component of a patch and the neighbours
/// that it shares faces with, `7 c²` for a form of three cells with its couplings, `2 c²` or `3 c²` for masses:
/// - across: `2 · 7 c² · 2c · 2e` and `(3 + 3 + 2) · c · 4c² · 2e`; the masses of the pressure `2 · 8c⁴`;
/// - along: `M` on 8 pairs of cells, `2 e² · 8c²`; `ν L`, `2 e² · 4c²`; `G` and its transpose, `2 · 2 c e · 4c²`.
pub fn stokes_operator_flops(degree: usize) -> f64 {
    let (c, e) = ((degree + 1) as f64, (degree + 2) as f64);
    let component = 104.0 * c.powi(3) * e + 16.0 * c.powi(4) + 24.0 * (c * e).powi(2);
    // Of 8 cells.
    2.0 * 3.0 * component / 8.0
}

/// How many pieces a mesh of `2^refine` cells a direction has.
pub fn pieces(part: Part, dim: usize, refine: usize) -> f64 {
    let cells = f64::from(1u32 << refine);
    let per_direction = match part {
        Part::Copy | Part::Operator | Part::Residual => cells,
        Part::Step | Part::CorrectedStep => cells - 1.0,
        Part::Restrict | Part::Prolongate => cells / 2.0,
    };
    per_direction.powi(dim as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations of a contraction chain, counted by doing it.
    fn contract(shape: &mut [f64], mode: usize, rows: f64) -> f64 {
        let count = rows * shape.iter().product::<f64>();
        shape[mode] = rows;
        count
    }

    #[test]
    fn the_residual_of_a_patch_is_a_tree_of_contractions() {
        for degree in [1, 3, 8] {
            let (m, n) = (2.0 * degree as f64 - 1.0, 2.0 * degree as f64 + 1.0);
            // Mass and stiffness in x; then MM, and AM and MA, in y; then A(MM) and M(AM + MA) in z.
            let mut shape = vec![n; 3];
            let mut count = 2.0 * contract(&mut shape, 0, m);
            count += 3.0 * contract(&mut shape, 1, m);
            count += 2.0 * contract(&mut shape, 2, m);
            count += 6.0 * contract(&mut shape, 0, m);
            let expected = 2.0 * count + m.powi(3);
            assert!((flops_per_piece(Part::Step, 3, degree) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn prolongation_widens_one_mode_after_the_other() {
        let (c, n) = (4.0, 7.0);
        for dim in [2, 3] {
            let mut shape = vec![c; dim];
            let count: f64 = (0..dim).map(|mode| contract(&mut shape, mode, n)).sum();
            assert_eq!(flops_per_piece(Part::Prolongate, dim, 3), 2.0 * count);
        }
    }

    #[test]
    fn pieces_are_patches_cells_and_coarse_cells() {
        let count = |part| pieces(part, 3, 2);
        assert_eq!([Part::Operator, Part::Step, Part::Restrict].map(count), [64.0, 27.0, 8.0]);
    }

    /// Outputs of the chain of paper 2's kernels times the entries of each row, cell by cell.
    #[test]
    fn the_stokes_operator_is_a_chain_of_contractions() {
        for degree in 1..=4 {
            let (c, e) = (degree + 1, degree + 2);
            // Cells before, first and second across; the cell before couples with the first one alone.
            let neighbours = [2, 3, 2];
            let form: usize = neighbours.iter().map(|cells| c * cells * c).sum();
            let mass = |cells: usize| cells * c * c;
            let along = 2 * e;
            // `S_j` in two cells of `l`, then `D_l` in the three of `j`; `D_j` in three cells of `l`, then `S_l`; `D_l` of both.
            let first = form * 2 * c * along + mass(2) * 3 * c * along;
            let second = mass(2) * 3 * c * along + form * 2 * c * along;
            let both = mass(2) * 2 * c * along;
            let pressure = 2 * mass(2) * 2 * c * 2 * c;
            let (patch, with_before) = (4 * c * c, 8 * c * c);
            let last = 2 * (c * e) * patch * 2 + 2 * e * e * patch + 2 * e * e * with_before;
            let cells = 8.0;
            let expected = 2.0 * 3.0 * (first + second + both + pressure + last) as f64 / cells;
            assert_eq!(stokes_operator_flops(degree), expected, "degree {degree}");
        }
    }
}
