//! What a module is compiled for.

use crate::error::CudaBuilderError;
use std::str::FromStr;

/// A virtual architecture: code for it runs on this compute capability and newer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NvvmArch {
    /// Volta.
    Compute70,
    /// Turing.
    Compute75,
    /// Ampere (A100): asynchronous copies, `mma` in `f64`.
    #[default]
    Compute80,
    /// Ampere (RTX 30).
    Compute86,
    /// Ada.
    Compute89,
    /// Hopper (H100, H200): larger `mma` in `f64`, clusters.
    Compute90,
    /// Blackwell (B200).
    Compute100,
    /// Blackwell (RTX 50).
    Compute120,
}

impl NvvmArch {
    /// All, the oldest first.
    pub const ALL: [Self; 8] = [
        Self::Compute70,
        Self::Compute75,
        Self::Compute80,
        Self::Compute86,
        Self::Compute89,
        Self::Compute90,
        Self::Compute100,
        Self::Compute120,
    ];

    /// Its name for the compiler, for example `sm_80`.
    pub const fn target_cpu(self) -> &'static str {
        match self {
            NvvmArch::Compute70 => "sm_70",
            NvvmArch::Compute75 => "sm_75",
            NvvmArch::Compute80 => "sm_80",
            NvvmArch::Compute86 => "sm_86",
            NvvmArch::Compute89 => "sm_89",
            NvvmArch::Compute90 => "sm_90",
            NvvmArch::Compute100 => "sm_100",
            NvvmArch::Compute120 => "sm_120",
        }
    }
}

/// From `sm_80` or `compute_80`, which mean the same: PTX has one kind of target.
impl FromStr for NvvmArch {
    type Err = CudaBuilderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.strip_prefix("sm_").or(text.strip_prefix("compute_")).map(str::to_owned);
        let wanted = number(text);
        let found = Self::ALL.into_iter().find(|arch| wanted.is_some() && number(arch.target_cpu()) == wanted);
        found.ok_or_else(|| CudaBuilderError::UnknownArch { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_has_two_names() {
        for (index, arch) in NvvmArch::ALL.into_iter().enumerate() {
            let name = arch.target_cpu();
            assert_eq!(name.parse::<NvvmArch>().unwrap(), arch);
            assert_eq!(name.replace("sm_", "compute_").parse::<NvvmArch>().unwrap(), arch);
            assert!(NvvmArch::ALL[..index].iter().all(|older| *older < arch));
        }
        for text in ["", "80", "sm_", "sm_81", "sm_080", "compute_", "SM_80", "sm_80a"] {
            let error = text.parse::<NvvmArch>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")) && error.contains("sm_90"), "{error}");
        }
    }
}
