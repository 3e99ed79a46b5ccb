//! Scratch memory of the kernels: structs of nested arrays of registers, whose bounds the compiler knows.

/// A struct made of arrays of one type `V`, for which any bits that are valid for `V` are valid.
macro_rules! workspace {
    ($(#[$meta:meta])* pub struct $name:ident<V $(, const $size:ident: usize)+> {
        $($(#[$field_meta:meta])* $visibility:vis $field:ident: $type:ty,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name<V $(, const $size: usize)+> {
            $($(#[$field_meta])* $visibility $field: $type,)+
        }

        // SAFETY: all fields are made of `V` alone.
        unsafe impl<V: bytemuck::Zeroable $(, const $size: usize)+> bytemuck::Zeroable for $name<V $(, $size)+> {}
        // SAFETY: as above; any bits are valid for a `V` that is `Pod`, and `repr(C)` over `V` alone has no padding.
        unsafe impl<V: bytemuck::Pod $(, const $size: usize)+> bytemuck::Pod for $name<V $(, $size)+> {}
    };
}
pub(super) use workspace;
