//! What leaves the program: text, tables and fields for visualization.
//!
//! Everything here turns values into bytes of a file or into text. Nothing here prints.

pub mod file;
pub mod table;
pub mod vtk_cell;
pub mod vtu;
pub(crate) mod vtu_file;
