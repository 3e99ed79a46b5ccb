//! Robin's condition: `∫ α u v` over faces on the boundary.

use super::boundary::for_each_face_point;
use super::cell::CellShape;
use super::equation::Equation;
use super::mesh::Mesh;
use crate::backend::Scalar;
use crate::error::Result;

/// The faces with Robin's condition.
#[derive(Debug)]
pub(super) struct RobinFaces<T> {
    dim: usize,
    nodes: usize,
    /// Cell and face of the cell, in ascending order.
    faces: Vec<(u32, u8)>,
    /// `α` times weight and surface element at the `nodes^(dim - 1)` Gauss points of each face.
    weights: Vec<T>,
}

impl<T: Scalar> RobinFaces<T> {
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) where `α` is negative or not finite.
    pub fn new(mesh: &Mesh, equation: &Equation) -> Result<Self> {
        let mut own = Self { dim: mesh.dim(), nodes: mesh.degree() + 1, faces: Vec::new(), weights: Vec::new() };
        if equation.robin.is_empty() {
            return Ok(own);
        }
        for_each_face_point(mesh, mesh.mapping()?, |at| {
            if let Some(alpha) = equation.robin.get(&at.number) {
                if own.faces.last() != Some(&(at.cell as u32, at.face as u8)) {
                    own.faces.push((at.cell as u32, at.face as u8));
                }
                let alpha = alpha.at("the coefficient of Robin's condition", at.point)?;
                own.weights.push(T::from_f64(at.weight * alpha));
            }
            Ok(())
        })?;
        Ok(own)
    }

    /// Cells with such faces, in ascending order.
    pub fn cells(&self) -> impl Iterator<Item = usize> {
        self.faces.chunk_by(|a, b| a.0 == b.0).map(|faces| faces[0].0 as usize)
    }

    /// Whether a cell has such a face.
    pub fn has(&self, cell: usize) -> bool {
        self.faces.binary_search_by_key(&cell, |&(other, _)| other as usize).is_ok()
    }

    /// `∫ α u φ_i` over the faces of a cell; empty if it has none.
    pub fn apply(&self, cell: usize, shape: &CellShape<T>, u: &[T]) -> Vec<T> {
        let first = self.faces.partition_point(|&(other, _)| (other as usize) < cell);
        let faces = self.faces[first..].iter().take_while(|(other, _)| *other as usize == cell);
        let mut sum = Vec::new();
        for (number, &(_, face)) in faces.enumerate() {
            sum.resize(u.len(), T::ZERO);
            let points = self.nodes.pow(self.dim as u32 - 1);
            let weights = &self.weights[points * (first + number)..][..points];
            let on_face = self.nodes_on(face.into(), u.len());
            let mut values: Vec<T> = on_face.clone().map(|i| u[i]).collect();
            shape.apply_weights(weights, &mut values);
            on_face.zip(values).for_each(|(i, value)| sum[i] = sum[i] + value);
        }
        sum
    }

    /// Nodes of a face, in lexicographic order.
    fn nodes_on(&self, face: usize, nodes: usize) -> impl Iterator<Item = usize> + Clone + use<T> {
        let (n, stride) = (self.nodes, self.nodes.pow(face as u32 / 2));
        (0..nodes).filter(move |i| i / stride % n == (n - 1) * (face % 2))
    }
}
