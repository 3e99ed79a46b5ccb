//! Kernels that are named once: [`kernels!`](crate::kernels!) makes of a row the entry points, the entries of the kernel list,
//! the emulation and the arguments of a launch.

/// Kernels of a [`Module`](crate::kernels::Module), one row each, for `f32` and `f64`; it stands beside their functions.
///
/// ```text
/// kernels! {
///     by any_size;
///
///     /// `y = (I ⊗ Q ⊗ I) x`.
///     Apply = apply(
///         /// Entries of `Q`.
///         entries: *const T,
///         x: *const T,
///         y: *mut T,
///         shape: AxisShape,
///     ), Block::of(THREADS);
/// }
/// ```
///
/// is the function `apply<T: Real>` as a kernel of the modules of the [`Kind`](crate::typed::Kind) `axis`, for the scalar `T`, in such
/// a [`Block`](crate::typed::Block).
/// On the device the row is the entry points `axis_apply_f32` and `axis_apply_f64`. On the host it is the struct `Apply<T>` of
/// the parameters, which the host launches the kernel with and [`Arguments::run`](crate::typed::Arguments::run) calls the
/// function with; `ROWS` is the kernels of a module, for its [`Kind`](crate::typed::Kind).
///
/// A parameter is a pointer, a number, or a `repr(C)` struct of numbers by value.
///
/// Where kernels have a dimension and a degree, a row names the constants that its function has beside the scalar,
/// `Solve = solve::<DIM, C>(...)`, which its block may use, too. On the device they stand beside it. On the host `sizes!`, named in
/// the place of [`any_size`](crate::any_size!), makes them of a module: `sizes!(module => expression)` is a `match` whose arms
/// define them and are the expression.
///
/// In brackets before the parameters, a row may have matrices that are passed by value, whose size depends on these constants, for
/// example `[matrices: Matrices<T, C>]`. The function takes a reference to them. In the struct of the arguments they are the
/// address of a first number on the host.
#[macro_export]
macro_rules! kernels {
    (by $sizes:ident; $(
        $(#[$doc:meta])*
        $Arguments:ident = $function:ident$(::<$($constant:ident),+>)?$(
            [$(#[$matrices_doc:meta])* $matrices:ident: $Matrices:ty]
        )?($($(#[$parameter_doc:meta])* $parameter:ident: $type:ty),+ $(,)?), $block:expr;
    )+) => {
        $(
            $(#[$doc])*
            #[cfg(not(target_arch = "nvptx64"))]
            #[derive(Clone, Copy, Debug)]
            pub struct $Arguments<T> {
                $($(#[$matrices_doc])* pub $matrices: *const T,)?
                $($(#[$parameter_doc])* pub $parameter: $type,)+
            }

            // SAFETY: parameters are fields, in the order of the row, of which the entry point is made, too.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl<T: $crate::scalar::Real> $crate::typed::Arguments for $Arguments<T> {
                type Scalar = T;
                const NAME: &'static str = stringify!($function);

                fn block(module: $crate::kernels::Module) -> $crate::typed::Block {
                    $sizes!(module => $block)
                }

                fn zeros() -> Self {
                    Self { $($matrices: core::ptr::null(),)? $($parameter: bytemuck::Zeroable::zeroed(),)+ }
                }

                fn parameters(&self) -> impl AsMut<[*mut core::ffi::c_void]> {
                    [$(self.$matrices.cast_mut().cast(),)? $((&raw const self.$parameter).cast_mut().cast(),)+]
                }

                unsafe fn run(self, module: $crate::kernels::Module) {
                    // SAFETY: the caller's promise.
                    $sizes!(module => unsafe {
                        $function::<T $($(, $constant)+)?>($(&*self.$matrices.cast::<$Matrices>(),)? $(self.$parameter),+)
                    })
                }
            }

            $crate::kernels! { @entry f32, $function, [$($($constant)+)?], [$($matrices: $Matrices)?], $($parameter: $type),+ }
            $crate::kernels! { @entry f64, $function, [$($($constant)+)?], [$($matrices: $Matrices)?], $($parameter: $type),+ }
        )+

        /// [`Kind::rows`](crate::typed::Kind::rows).
        #[cfg(not(target_arch = "nvptx64"))]
        pub(crate) const ROWS: [fn($crate::kernels::Module) -> std::vec::Vec<$crate::typed::Row>; 2] = [
            |module| std::vec![$($crate::typed::Row::of::<$Arguments<f32>>(module)),+],
            |module| std::vec![$($crate::typed::Row::of::<$Arguments<f64>>(module)),+],
        ];
    };
    (
        @entry $scalar:ident, $function:ident, [$($constant:ident)*], [$($matrices:ident: $Matrices:ty)?],
        $($parameter:ident: $type:ty),+
    ) => {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            type T = $scalar;

            #[cuda_std::kernel]
            #[unsafe(export_name = concat!(
                env!("PATCHMG_MODULE"), "_", stringify!($function), "_", stringify!($scalar),
            ))]
            pub unsafe fn entry($($matrices: $Matrices,)? $($parameter: $type),+) {
                // SAFETY: the launch's promise.
                unsafe { $function::<T $(, $constant)*>($(&$matrices,)? $($parameter),+) }
            }
        };
    };
}

/// For [`kernels!`](crate::kernels!) without a degree.
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! any_size {
    ($module:expr => $value:expr) => {{
        let _ = $module;
        $value
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use crate::kernels::{KernelSpec, Module, Operation};
    use crate::scalar::Real;
    use core::any::Any;
    use core::ffi::c_void;
    use core::fmt;
    use core::hash::{Hash, Hasher};
    use std::boxed::Box;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    /// A kind of modules whose kernels are rows of [`kernels!`](crate::kernels!): a module for each dimension and degree, or one.
    pub struct Kind {
        /// The value of the `cfg` `module`.
        pub name: &'static str,
        /// Whether its kernels are those of a paper, to compare with.
        pub is_of_paper: bool,
        /// Whether its modules need compute capability 9.0 instead of 8.0.
        pub needs_hopper: bool,
        /// Dimension and degree of each module; none of a module that serves all.
        pub spaces: fn() -> Vec<(usize, usize)>,
        /// The name of a module, of its dimension and degree.
        pub module_name: fn(usize, usize) -> String,
        /// Kernels of a module, in `f32` and in `f64`.
        pub rows: [fn(Module) -> Vec<Row>; 2],
        /// Cells of a level on which the first block has all its work, and words of what it uses there.
        pub traced: fn(Module) -> ([u32; 3], usize),
        /// Arguments of a kernel to trace it with, by its name, in `f32` and in `f64`.
        pub samples: [fn(&str) -> Sample; 2],
    }

    /// Arguments of a kernel on a level of so many cells, all addresses being one; none where [zeros](Arguments::zeros) will do.
    pub type Sample = fn([u32; 3], *mut u8) -> Option<Box<dyn Any>>;

    impl Kind {
        /// Its module of a dimension and a degree, both 0 if one serves all.
        pub const fn module(&'static self, dim: usize, degree: usize) -> Module {
            Module::Typed { kind: self, dim, degree }
        }

        /// Its modules.
        pub fn modules(&'static self) -> Vec<Module> {
            let spaces = (self.spaces)();
            if spaces.is_empty() {
                return std::vec![self.module(0, 0)];
            }
            spaces.into_iter().map(|(dim, degree)| self.module(dim, degree)).collect()
        }
    }

    impl PartialEq for Kind {
        fn eq(&self, other: &Self) -> bool {
            self.name == other.name
        }
    }

    impl Eq for Kind {}

    impl Hash for Kind {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.name.hash(state);
        }
    }

    impl fmt::Debug for Kind {
        fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str(self.name)
        }
    }

    /// What a kernel is launched with beside its arguments; see the fields of the same names of [`KernelSpec`].
    #[derive(Clone, Copy, Debug)]
    pub struct Block {
        pub threads: usize,
        pub min_blocks: usize,
        pub shared_bytes: usize,
        pub barriers: usize,
    }

    impl Block {
        /// Of threads that share nothing.
        pub const fn of(threads: usize) -> Self {
            Self { threads, min_blocks: 1, shared_bytes: 0, barriers: 0 }
        }
    }

    /// Arguments of a kernel of [`kernels!`](crate::kernels!).
    ///
    /// # Safety
    /// [`parameters`](Self::parameters) point to the values that the entry point takes.
    pub unsafe trait Arguments: Copy + 'static {
        /// The kernel's.
        type Scalar: Real;
        /// The kernel's, between those of the module and the scalar.
        const NAME: &'static str;

        /// Of the kernel in one of its modules.
        fn block(module: Module) -> Block;

        /// Null pointers and zeros.
        fn zeros() -> Self;

        /// Addresses of the parameters, in their order, as a launch takes them.
        fn parameters(&self) -> impl AsMut<[*mut c_void]>;

        /// What a thread of the kernel does.
        ///
        /// # Safety
        /// That of the kernel's function; called in a [launch](cuda_std::emulate::Launch) of [`block`](Self::block).
        unsafe fn run(self, module: Module);

        /// The kernel of a module, as it is listed.
        fn spec(module: Module) -> KernelSpec {
            let Block { threads, min_blocks, shared_bytes, barriers } = Self::block(module);
            let scalar = Self::Scalar::NAME;
            KernelSpec {
                name: format!("{}_{}_{scalar}", module.name(), Self::NAME),
                operation: Operation::Typed(Self::NAME),
                scalar,
                threads: threads as u32,
                most_threads: threads as u32,
                min_blocks: min_blocks as u32,
                patches: 0,
                shared_bytes: shared_bytes as u32,
                common_bytes: 0,
                barriers: barriers as u32,
            }
        }
    }

    /// A row of [`kernels!`](crate::kernels!) in one scalar, where the type of its arguments is not known.
    #[derive(Clone, Debug)]
    pub struct Row {
        pub spec: KernelSpec,
        module: Module,
        run: unsafe fn(Module, Option<&dyn Any>),
    }

    impl Row {
        pub fn of<A: Arguments>(module: Module) -> Self {
            Self { spec: A::spec(module), module, run: run::<A> }
        }

        /// [`Arguments::run`]; without arguments of [zeros](Arguments::zeros).
        ///
        /// # Safety
        /// As there.
        ///
        /// # Panics
        /// If the arguments are those of another kernel.
        pub unsafe fn run(&self, arguments: Option<&dyn Any>) {
            // SAFETY: the caller's promise.
            unsafe { (self.run)(self.module, arguments) }
        }
    }

    unsafe fn run<A: Arguments>(module: Module, arguments: Option<&dyn Any>) {
        let own = |arguments: &dyn Any| *arguments.downcast_ref::<A>().expect("arguments of this kernel");
        // SAFETY: the caller's promise.
        unsafe { arguments.map_or_else(A::zeros, own).run(module) }
    }
}
