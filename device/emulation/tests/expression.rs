//! A function in the points of a grid, run on the host (`patchmg_emulation`), against a plain loop.

#[path = "common/numbers.rs"]
mod numbers;

use numbers::{found, numbers};
use patchmg_device::expression::{self, Evaluate, Grid, MODULE};
use patchmg_device::scalar::Real;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};

fn check<T: Real>(sizes: [u32; 3], kind: u32, subtract: bool) {
    let [size_x, size_y, size_z] = sizes.map(|size| size as usize);
    let [points, weights] = [3, 11].map(|seed| numbers::<f64>(size_x + size_y + size_z, seed));
    let len = size_x * size_y * size_z;
    let start = found::<T>(len, 5, subtract);
    let expected: Vec<T> = (0..len)
        .map(|index| {
            let place = [index % size_x, size_x + index / size_x % size_y, size_x + size_y + index / (size_x * size_y)];
            let [x, y, z] = place.map(|i| points[i]);
            let f = match kind {
                0 => expression::value(x, y, z),
                1 => expression::derivative(x, y, z, 1.0, 0.0, 0.0),
                2 => expression::derivative(x, y, z, 0.0, 1.0, 0.0),
                _ => expression::derivative(x, y, z, 0.0, 0.0, 1.0),
            };
            let weight: f64 = place.map(|i| weights[i]).into_iter().product();
            T::from_f64(weight * f - if subtract { start[index].to_f64() } else { 0.0 })
        })
        .collect();

    let mut y = start;
    let grid = Grid { sizes, kind };
    let (points, weights) = (points.as_ptr(), weights.as_ptr());
    let arguments = Evaluate::<T> { points, weights, y: y.as_mut_ptr(), grid, subtract: subtract.into() };
    let kernel = Kernel::new(MODULE, Evaluate::<T>::spec(MODULE)).unwrap();
    // SAFETY: points, weights and `y` are as the grid says.
    unsafe { kernel.run(grid.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
    assert_eq!(y, expected, "{sizes:?}, {kind}");
}

/// Grids that fill blocks and that do not, and one without points.
#[test]
fn values_and_derivatives_in_all_points() {
    for sizes in [[1, 1, 1], [256, 1, 2], [17, 16, 5], [300, 2, 3], [3, 5, 300], [4, 0, 2]] {
        for (kind, subtract) in (0..4).flat_map(|kind| [(kind, false), (kind, true)]) {
            check::<f32>(sizes, kind, subtract);
            check::<f64>(sizes, kind, subtract);
        }
    }
}
