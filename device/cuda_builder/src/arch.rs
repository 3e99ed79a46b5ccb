//! What a module is compiled for.

/// A virtual architecture: code for it runs on this compute capability and newer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
