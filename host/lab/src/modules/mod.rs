//! Modules of GPU kernels as PTX in a folder: compiled in other ways than those in the program, and compared.

mod compile;
mod difference;
mod record;
mod source;
mod times;

pub use compile::{Options, compile};
pub use difference::{Difference, Properties, differences};
pub use record::{CompiledModule, Record};
pub use source::Source;
pub use times::{PartTimes, Times, time};
