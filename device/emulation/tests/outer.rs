//! Sums of outer products of vectors along axes, run on the host (`patchmg_emulation`), against a plain loop.

#[path = "common/numbers.rs"]
mod numbers;

use numbers::{found, numbers};
use patchmg_device::axis::{MODULE, OuterProducts, OuterShape};
use patchmg_device::scalar::Real;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};

fn check<T: Real>(sizes: [u32; 3], terms: u32, add: bool) {
    let [size_x, size_y, size_z] = sizes.map(|size| size as usize);
    let length = size_x + size_y + size_z;
    let factors = numbers::<f64>(length * terms as usize, 3);
    // Two entries behind the tensor must stay as they are.
    let entries = size_x * size_y * size_z;
    let mut old = found::<T>(entries, 8, add);
    old.extend_from_slice(&numbers(entries + 2, 8)[entries..]);

    let mut expected = old.clone();
    for (index, y) in expected[..entries].iter_mut().enumerate() {
        let (i, j, k) = (index % size_x, index / size_x % size_y, index / (size_x * size_y));
        let mut sum = if add { y.to_f64() } else { 0.0 };
        for term in factors.chunks_exact(length) {
            sum += term[i] * term[size_x + j] * term[size_x + size_y + k];
        }
        *y = T::from_f64(sum);
    }

    let mut y = old;
    let shape = OuterShape { sizes, terms };
    let arguments = OuterProducts { factors: factors.as_ptr(), y: y.as_mut_ptr(), shape, add: u32::from(add) };
    let kernel = Kernel::new(MODULE, OuterProducts::<T>::spec(MODULE)).unwrap();
    // SAFETY: the factors and the tensor are as the shape says.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
    assert_eq!(y, expected, "{sizes:?}, {terms} terms");
}

/// Sizes that fill blocks and groups of planes, and sizes that do not; rectangles have one plane.
#[test]
fn sums_of_outer_products() {
    for sizes in [[1, 1, 1], [5, 3, 1], [16, 16, 4], [17, 31, 9], [300, 2, 5], [2, 300, 1], [1, 1, 70], [700, 1, 3]] {
        for terms in [0, 1, 3, 9] {
            for add in [false, true] {
                check::<f32>(sizes, terms, add);
                check::<f64>(sizes, terms, add);
            }
        }
    }
}

#[test]
fn a_tensor_without_entries() {
    for sizes in [[0, 4, 2], [4, 0, 2], [4, 2, 0]] {
        assert!(OuterShape { sizes, terms: 1 }.blocks().contains(&0));
    }
}

/// More groups of planes than a grid has blocks along y.
#[test]
fn many_planes() {
    check::<f64>([1, 1, 131_073], 2, false);
}
