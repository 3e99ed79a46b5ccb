//! Units of compilation.

use crate::NvvmArch;
use crate::ptx::{Kernel, Violation};
use std::path::PathBuf;

/// A part of the device crate that is compiled by itself: the crate under a choice of `cfg` values and variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub(crate) name: String,
    pub(crate) cfg: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) arch: Option<NvvmArch>,
    pub(crate) kernels: Option<Vec<Kernel>>,
}

impl Module {
    /// The whole crate; the name becomes that of the PTX file.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), cfg: Vec::new(), environment: Vec::new(), arch: None, kernels: None }
    }

    /// `--cfg` values, for example `dim="3"`, that the device crate (and none of its dependencies) is compiled with.
    pub fn cfg(mut self, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.cfg.extend(values.into_iter().map(Into::into));
        self
    }

    /// Variables that `env!` sees.
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Another architecture than the builder's.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = Some(arch);
        self
    }

    /// The kernels that it must have, and no other: they get their launch bounds and are [checked](crate::ptx::check).
    pub fn kernels(mut self, kernels: impl IntoIterator<Item = Kernel>) -> Self {
        self.kernels = Some(kernels.into_iter().collect());
        self
    }

    /// Another number of blocks that a multiprocessor should hold than that of each of its kernels.
    pub fn min_blocks(mut self, blocks: u32) -> Self {
        for kernel in self.kernels.iter_mut().flatten() {
            kernel.min_blocks = blocks;
        }
        self
    }

    /// Its name, that of the PTX file.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn cfg_flags(&self) -> impl Iterator<Item = &str> {
        self.cfg.iter().flat_map(|value| ["--cfg", value])
    }
}

/// A module as PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledModule {
    /// Name of the module.
    pub name: String,
    /// File that holds its PTX.
    pub ptx: PathBuf,
    /// Source files in the tree that it was compiled from.
    pub sources: Vec<PathBuf>,
    /// Whether it was compiled now, not found in the cache.
    pub rebuilt: bool,
    /// Flags of the compiler that decide what code it makes.
    pub flags: Vec<String>,
    /// In what the PTX differs from its kernel list.
    pub violations: Vec<Violation>,
}
