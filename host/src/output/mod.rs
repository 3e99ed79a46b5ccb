//! Files of solutions, text and tables.
//!
//! Everything here turns values into bytes of a file or into text, or reads what it wrote. Nothing here prints.

pub(crate) mod compressed;
pub mod file;
pub(crate) mod nodal_values;
pub(crate) mod npz;
pub mod pvd;
pub mod table;
pub mod vtk_cell;
pub mod vtu;
pub(crate) mod vtu_file;
pub(crate) mod xml;
