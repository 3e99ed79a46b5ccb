//! The 1D matrices of a direction: of the continuous axis, which a velocity component has along itself, of the discontinuous axes
//! that it has across, and between the two.

#[cfg(feature = "cuda")]
mod tables;

use crate::backend::AxisMatrix;
use crate::error::Result;
use crate::fe::{Eigenpairs, Element, assemble, generalized_eigenpairs, symmetric_eigenpairs};
use crate::space::Axis;
use nalgebra::{DMatrix, DVector, RowDVector};
use patchmg_device::patch::Ends;

/// The form `∫ u' v' + Σ σ [u] [v] - {u'} [v] - [u] {v'}` of a direction, with `σ = 2 k (k + 1) / h` at all faces, those at the ends
/// of the domain included (paper 2, equation 3, with the penalty of paper 4 inside, too), and what couples velocity and pressure.
///
/// Matrices are those of cells of length 1, and are scaled where they are taken, so that patches of cells of any length have the
/// same eigenfunctions to the last bit, but for a factor.
#[derive(Clone, Debug)]
pub(super) struct LineForms {
    cells: usize,
    cell_size: f64,
    continuous: Continuous,
    discontinuous: Discontinuous,
    /// `∫ q_j φ_i'` on a cell, `k + 1` rows.
    divergence: DMatrix<f64>,
    /// Of a patch, one for each of [`Ends::ALL`].
    patches: Vec<PatchForms>,
}

/// Elements of degree `k + 1`, of which neighbouring cells share a node.
#[derive(Clone, Debug)]
struct Continuous {
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
}

/// Elements of degree `k`, with nodes at Gauss's points, so that the mass matrix is diagonal.
#[derive(Clone, Debug)]
struct Discontinuous {
    mass: DMatrix<f64>,
    /// `∫ l_i' l_j'`.
    stiffness: DMatrix<f64>,
    /// At the lower and at the upper end of a cell.
    ends: [Trace; 2],
    penalty: f64,
}

/// The basis on a face: values, and derivatives outward.
#[derive(Clone, Debug)]
struct Trace {
    values: DVector<f64>,
    slopes: DVector<f64>,
}

/// A patch in a direction, or the whole of it.
#[derive(Clone, Debug)]
pub(super) struct PatchForms {
    /// Whether eigenfunctions are even or odd, the even ones first.
    pub is_symmetric: bool,
    /// Of the continuous axis, without the nodes at the patch's ends.
    pub continuous: Eigenpairs,
    /// Of the discontinuous axis.
    pub discontinuous: Eigenpairs,
    /// `S_Dᵀ G S_C`: the derivative of eigenfunctions of the continuous axis, by those of the discontinuous one.
    pub divergence: DMatrix<f64>,
    /// `S_Dᵀ M 1`: the constant 1 by eigenfunctions of the discontinuous axis.
    pub constant: DVector<f64>,
}

impl LineForms {
    /// Of a continuous axis and a discontinuous one of a degree less, on the same cells.
    ///
    /// # Errors
    /// As [`generalized_eigenpairs`].
    pub fn new(continuous: &Axis, discontinuous: &Axis) -> Result<Self> {
        let (fine, coarse) = (continuous.element(), discontinuous.element());
        let weights = &coarse.rule().weights;
        let divergence = DMatrix::from_fn(coarse.nodes().len(), fine.nodes().len(), |j, i| {
            weights[j] * fine.derivatives(coarse.nodes()[j])[i]
        });
        let mut forms = Self {
            cells: discontinuous.cells(),
            cell_size: discontinuous.cell_size(),
            continuous: Continuous { mass: fine.mass(), stiffness: fine.stiffness() },
            discontinuous: Discontinuous::new(coarse),
            divergence,
            patches: Vec::new(),
        };
        forms.patches =
            Ends::ALL.iter().map(|&ends| forms.forms_of(forms.cells.min(2), ends)).collect::<Result<_>>()?;
        Ok(forms)
    }

    /// Of the patches with these ends: two cells, or the one that there is.
    pub fn patch(&self, ends: Ends) -> &PatchForms {
        &self.patches[ends as usize]
    }

    /// Of all cells as one patch.
    ///
    /// # Errors
    /// As [`generalized_eigenpairs`].
    pub fn whole(&self) -> Result<PatchForms> {
        self.forms_of(self.cells, Ends::Both)
    }

    /// From the first node of a cell to that of the next one, in both axes: `k + 1`.
    pub fn stride(&self) -> usize {
        self.divergence.nrows()
    }

    /// `M` of the continuous axis.
    pub fn continuous_mass(&self) -> AxisMatrix<f64> {
        self.rows(self.cell_size, |line| line.add_continuous(&self.continuous.mass))
    }

    /// `∫ u' v'` of the continuous axis.
    pub fn continuous_stiffness(&self) -> AxisMatrix<f64> {
        self.rows(1.0 / self.cell_size, |line| line.add_continuous(&self.continuous.stiffness))
    }

    /// `M` of the discontinuous axis.
    pub fn mass(&self) -> AxisMatrix<f64> {
        self.rows(self.cell_size, |line| {
            for first in (0..self.cells).map(|cell| cell * self.stride()) {
                line.add_matrix(first, first, &self.discontinuous.mass);
            }
        })
    }

    /// The form of the discontinuous axis.
    pub fn stiffness(&self) -> AxisMatrix<f64> {
        self.rows(1.0 / self.cell_size, |line| {
            // Cell by cell with what it has of the faces, then what couples neighbours.
            let (stride, coupling) = (self.stride(), self.discontinuous.coupling());
            for cell in 0..self.cells {
                let ends = [cell == 0, cell + 1 == self.cells];
                line.add_matrix(cell * stride, cell * stride, &self.discontinuous.cell(ends));
                if cell > 0 {
                    line.add_matrix((cell - 1) * stride, cell * stride, &coupling);
                    line.add_matrix(cell * stride, (cell - 1) * stride, &coupling.transpose());
                }
            }
        })
    }

    /// `G = ∫ q_j φ_i'`, from the continuous axis to the discontinuous one.
    pub fn divergence(&self) -> AxisMatrix<f64> {
        self.rows(1.0, |line| {
            for cell in 0..self.cells {
                line.add_matrix(cell * self.stride(), cell * self.stride(), &self.divergence);
            }
            line.drop_column(0);
        })
    }

    /// What a value 1 at an end adds to the load vector, `σ l_t - ∂ₙl_t`, nodes counted from the end on.
    pub fn boundary_load(&self) -> Vec<f64> {
        let ([Trace { values, slopes }, _], penalty) = (&self.discontinuous.ends, self.discontinuous.penalty);
        values.iter().zip(slopes).map(|(value, slope)| (penalty * value - slope) / self.cell_size).collect()
    }

    /// What the node at an end of the continuous axis, 0 or 1, is multiplied with: the end's column, on the nodes of the cell there, of
    /// `M`, of `∫ u' v'`, and of `G`.
    pub fn end_columns(&self, end: usize) -> [Vec<f64>; 3] {
        let (Continuous { mass, stiffness }, h) = (&self.continuous, self.cell_size);
        let column = |matrix: &DMatrix<f64>, scale: f64| {
            let node = end * (matrix.ncols() - 1);
            matrix.column(node).iter().map(|entry| scale * entry).collect()
        };
        [column(mass, h), column(stiffness, 1.0 / h), column(&self.divergence, 1.0)]
    }

    fn rows(&self, scale: f64, fill: impl FnOnce(&mut Rows)) -> AxisMatrix<f64> {
        let mut rows = Rows::new(self.cells * self.stride());
        fill(&mut rows);
        rows.matrix(scale)
    }

    /// Of so many cells with these ends.
    fn forms_of(&self, cells: usize, ends: Ends) -> Result<PatchForms> {
        let stride = self.stride();
        let inner = cells * stride - 1;
        let interior = |cell: &DMatrix<f64>| assemble(cell, cells).view((1, 1), (inner, inner)).into_owned();
        let (mass, stiffness) = (interior(&self.continuous.mass), interior(&self.continuous.stiffness));
        let continuous = symmetric_eigenpairs(&stiffness, &mass)?;
        let (mass, is_symmetric) = (self.discontinuous.line_mass(cells), matches!(ends, Ends::Neither | Ends::Both));
        let discontinuous = if is_symmetric {
            symmetric_eigenpairs(&self.discontinuous.line(cells, ends), &mass)?
        } else {
            // The same numbers at either end, so that patches there share their tables.
            let mut pairs = generalized_eigenpairs(&self.discontinuous.line(cells, Ends::Lower), &mass)?;
            if ends == Ends::Upper {
                let lower = pairs.vectors;
                pairs.vectors = DMatrix::from_fn(inner + 1, inner + 1, |node, f| lower[(inner - node, f)]);
            }
            pairs
        };
        let mut divergence = DMatrix::zeros(cells * stride, cells * stride + 1);
        for cell in 0..cells {
            let mut block = divergence.view_mut((cell * stride, cell * stride), self.divergence.shape());
            block += &self.divergence;
        }
        let divergence = divergence.columns(1, inner).into_owned();
        let functions = discontinuous.vectors.transpose();
        let (h, scaled) = (self.cell_size, |pairs: Eigenpairs| Eigenpairs {
            values: pairs.values / (self.cell_size * self.cell_size),
            vectors: pairs.vectors / self.cell_size.sqrt(),
        });
        Ok(PatchForms {
            is_symmetric,
            divergence: &functions * divergence * &continuous.vectors / h,
            constant: functions * mass.diagonal() * h.sqrt(),
            continuous: scaled(continuous),
            discontinuous: scaled(discontinuous),
        })
    }
}

impl Discontinuous {
    fn new(element: &Element) -> Self {
        let k = element.degree();
        let trace = |x: f64, outward: f64| Trace {
            values: DVector::from_vec(element.values(x)),
            slopes: DVector::from_vec(element.derivatives(x)) * outward,
        };
        Self {
            mass: DMatrix::from_diagonal(&DVector::from_column_slice(&element.rule().weights)),
            stiffness: element.stiffness(),
            ends: [trace(0.0, -1.0), trace(1.0, 1.0)],
            penalty: (2 * k * (k + 1)) as f64,
        }
    }

    fn line_mass(&self, cells: usize) -> DMatrix<f64> {
        let nodes = self.mass.nrows();
        DMatrix::from_fn(
            cells * nodes,
            cells * nodes,
            |i, j| if i == j { self.mass[(i % nodes, i % nodes)] } else { 0.0 },
        )
    }

    /// Of a cell with its part of the faces at its ends; whether these are the domain's.
    fn cell(&self, at_ends: [bool; 2]) -> DMatrix<f64> {
        &self.stiffness + self.face(0, at_ends[0]) + self.face(1, at_ends[1])
    }

    /// What a cell has of the face at an end of it, lower or upper; whether that is the domain's.
    fn face(&self, end: usize, is_at_end: bool) -> DMatrix<f64> {
        let Trace { values, slopes } = &self.ends[end];
        // The mean of the derivatives is that of the one cell there is.
        let mean = if is_at_end { 1.0 } else { 0.5 };
        (values * values.transpose()) * self.penalty
            - (values * slopes.transpose() + slopes * values.transpose()) * mean
    }

    /// Between a cell, the rows, and the next one.
    fn coupling(&self) -> DMatrix<f64> {
        let ([next, own], row) = (&self.ends, |vector: &DVector<f64>| -> RowDVector<f64> { vector.transpose() });
        // Outward derivatives of the two have opposite directions.
        &own.values * row(&next.values) * -self.penalty
            + (&own.values * row(&next.slopes) + &own.slopes * row(&next.values)) * 0.5
    }

    /// Of so many cells, cut out of the form of the direction.
    fn line(&self, cells: usize, ends: Ends) -> DMatrix<f64> {
        let nodes = self.mass.nrows();
        let mut matrix = DMatrix::zeros(cells * nodes, cells * nodes);
        let (lower, upper) = (matches!(ends, Ends::Lower | Ends::Both), matches!(ends, Ends::Upper | Ends::Both));
        let mut place = |row: usize, column: usize, block: &DMatrix<f64>| {
            matrix.view_mut((row * nodes, column * nodes), (nodes, nodes)).copy_from(block);
        };
        for cell in 0..cells {
            place(cell, cell, &self.cell([lower && cell == 0, upper && cell + 1 == cells]));
            if cell > 0 {
                place(cell - 1, cell, &self.coupling());
                place(cell, cell - 1, &self.coupling().transpose());
            }
        }
        matrix
    }
}

/// The rows of a matrix between stored nodes of a direction, to add to.
struct Rows(Vec<Vec<(usize, f64)>>);

impl Rows {
    fn new(nodes: usize) -> Self {
        Self(vec![Vec::new(); nodes])
    }

    /// Adds a block; entries beyond the last row or column belong to a node that is not stored.
    fn add_matrix(&mut self, first_row: usize, first_column: usize, block: &DMatrix<f64>) {
        let nodes = self.0.len();
        for (i, j) in (0..block.nrows()).flat_map(|i| (0..block.ncols()).map(move |j| (i, j))) {
            let (row, column) = (first_row + i, first_column + j);
            if row < nodes && column < nodes && block[(i, j)] != 0.0 {
                self.0[row].push((column, block[(i, j)]));
            }
        }
    }

    /// The same block for every cell, of an axis whose first and last node are no unknowns.
    fn add_continuous(&mut self, block: &DMatrix<f64>) {
        let stride = block.nrows() - 1;
        for cell in 0..self.0.len() / stride {
            self.add_matrix(cell * stride, cell * stride, block);
        }
        self.0[0].clear();
        self.drop_column(0);
    }

    fn drop_column(&mut self, dropped: usize) {
        self.0.iter_mut().for_each(|row| row.retain(|&(column, _)| column != dropped));
    }

    fn matrix(mut self, scale: f64) -> AxisMatrix<f64> {
        self.0.iter_mut().flatten().for_each(|(_, value)| *value *= scale);
        AxisMatrix::from_rows(self.0.len(), &self.0)
    }
}
