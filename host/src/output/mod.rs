//! What leaves the program: reports as JSON and as text, fields for visualization, charts.
//!
//! Everything here turns values into bytes of a file or into text. Nothing here prints.

pub mod chart;
pub mod file;
pub mod panels;
pub mod report;
pub mod table;
pub mod vtk_cell;
pub mod vtu;
