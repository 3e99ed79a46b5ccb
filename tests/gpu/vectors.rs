//! Vector operations against the same on the host.

use super::compare::{assert_close, assert_identical, downloaded, random, uploaded};
use crate::{Outcome, Suite};
use patchmg::backend::cuda::Cuda;
use patchmg::backend::{Backend, Scalar};

/// One entry, a block's worth, more, and more than the largest grid has threads.
const LENGTHS: [usize; 5] = [1, 255, 257, 100_003, 2_000_003];
/// Numbers of vectors: one, as many as a launch takes, more.
const COUNTS: [usize; 4] = [1, 8, 9, 21];

pub fn add<T: Scalar>(suite: &mut Suite) {
    let mut test = |name: &str, test: fn(&Cuda) -> Outcome| {
        suite.test(format!("vectors::{name}::{}", T::NAME), move |gpu| test(gpu));
    };
    test("round_trip", round_trip::<T>);
    test("set_zero", set_zero::<T>);
    test("convert_to_f32", convert::<T, f32>);
    test("convert_to_f64", convert::<T, f64>);
    test("axpby", axpby::<T>);
    test("diagonal_axpby", diagonal_axpby::<T>);
    test("dots", dots::<T>);
    test("dots_of_many_vectors", dots_of_many_vectors::<T>);
    test("add_combination", add_combination::<T>);
    test("empty", empty::<T>);
}

fn round_trip<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        let host = random::<T>(1, len);
        assert_identical(&downloaded(gpu, &gpu.zeros::<T>(len)?, len)?, &vec![T::ZERO; len])?;
        assert_identical(&downloaded(gpu, &uploaded(gpu, &host)?, len)?, &host)?;
    }
    Ok(())
}

fn set_zero<T: Scalar>(gpu: &Cuda) -> Outcome {
    let mut x = uploaded(gpu, &random::<T>(2, 1000))?;
    gpu.set_zero(&mut x)?;
    assert_identical(&downloaded(gpu, &x, 1000)?, &[T::ZERO; 1000])
}

fn convert<S: Scalar, T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        let host = random::<S>(3, len);
        // Factors that scale without rounding.
        for alpha in [1.0, -0.25] {
            let mut y = uploaded(gpu, &random::<T>(4, len))?;
            gpu.convert(alpha, &uploaded(gpu, &host)?, &mut y)?;
            let expected: Vec<T> = host.iter().map(|x| T::from_f64(alpha * x.to_f64())).collect();
            assert_identical(&downloaded(gpu, &y, len)?, &expected)?;
        }
    }
    Ok(())
}

fn axpby<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        for (alpha, beta) in [(1.0, 1.0), (-0.75, 0.3), (2.5, 0.0), (0.0, -1.0)] {
            let (x, y) = (random::<T>(5, len), random::<T>(6, len));
            let mut result = uploaded(gpu, &y)?;
            gpu.axpby(alpha, &uploaded(gpu, &x)?, beta, &mut result)?;
            let sum = |(x, y): (&T, &T)| T::from_f64(alpha * x.to_f64() + beta * y.to_f64());
            let expected: Vec<T> = x.iter().zip(&y).map(sum).collect();
            assert_close(&downloaded(gpu, &result, len)?, &expected, 4.0 * epsilon::<T>())?;
        }
    }
    let nan = vec![T::from_f64(f64::NAN); 100];
    let (x, mut y) = (random::<T>(7, 100), uploaded(gpu, &nan)?);
    gpu.axpby(1.0, &uploaded(gpu, &x)?, 0.0, &mut y)?;
    assert_identical(&downloaded(gpu, &y, 100)?, &x)
}

fn diagonal_axpby<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        for (alpha, beta) in [(1.0, 1.0), (-0.75, 0.3), (2.5, 0.0), (0.0, -1.0)] {
            let [d, x, y] = [5, 6, 7].map(|seed| random::<T>(seed, len));
            // What is overwritten does not matter.
            let old = if beta == 0.0 { vec![T::from_f64(f64::NAN); len] } else { y.clone() };
            let mut result = uploaded(gpu, &old)?;
            gpu.diagonal_axpby(alpha, &uploaded(gpu, &d)?, &uploaded(gpu, &x)?, beta, &mut result)?;
            let entry = |i: usize| T::from_f64(alpha * d[i].to_f64() * x[i].to_f64() + beta * y[i].to_f64());
            let expected: Vec<T> = (0..len).map(entry).collect();
            assert_close(&downloaded(gpu, &result, len)?, &expected, 4.0 * epsilon::<T>())?;
        }
    }
    Ok(())
}

fn dots<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        for count in COUNTS {
            check_dots::<T>(gpu, len, count)?;
        }
    }
    Ok(())
}

fn dots_of_many_vectors<T: Scalar>(gpu: &Cuda) -> Outcome {
    check_dots::<T>(gpu, 1000, 300)
}

/// Against sums on the host, in `f64` as on the device; and a second run gives the same bits.
fn check_dots<T: Scalar>(gpu: &Cuda, len: usize, count: usize) -> Outcome {
    let hosts: Vec<Vec<T>> = (0..count).map(|j| random(10 + j as u64, len)).collect();
    let y = random::<T>(9, len);
    let vectors = hosts.iter().map(|x| uploaded(gpu, x)).collect::<Result<Vec<_>, _>>()?;
    let (xs, on_gpu) = (vectors.iter().collect::<Vec<_>>(), uploaded(gpu, &y)?);
    let found = gpu.dots(&xs, &on_gpu)?;
    assert_identical(&found, &gpu.dots(&xs, &on_gpu)?)?;
    for (x, found) in hosts.iter().zip(found) {
        let products = || x.iter().zip(&y).map(|(x, y)| x.to_f64() * y.to_f64());
        let (expected, scale) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
        // Rounding of a sum one by one on the host; the device's tree of sums has less.
        if (found - expected).abs() > f64::EPSILON * (len + 4) as f64 * scale {
            return Err(format!("{count} vectors of {len}: {found}, expected {expected}").into());
        }
    }
    Ok(())
}

fn add_combination<T: Scalar>(gpu: &Cuda) -> Outcome {
    for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
        let hosts: Vec<Vec<T>> = (0..count).map(|j| random(40 + j as u64, len)).collect();
        let (y, coefficients) = (random::<T>(39, len), random::<f64>(38, count));
        let vectors = hosts.iter().map(|x| uploaded(gpu, x)).collect::<Result<Vec<_>, _>>()?;
        let mut result = uploaded(gpu, &y)?;
        gpu.add_combination(&coefficients, &vectors.iter().collect::<Vec<_>>(), &mut result)?;
        let sum = |i: usize| coefficients.iter().zip(&hosts).fold(y[i].to_f64(), |sum, (c, x)| sum + c * x[i].to_f64());
        let expected: Vec<T> = (0..len).map(|i| T::from_f64(sum(i))).collect();
        // One rounding to `T` a launch, and the host's own order of summation.
        assert_close(&downloaded(gpu, &result, len)?, &expected, 16.0 * epsilon::<T>())?;
    }
    Ok(())
}

fn empty<T: Scalar>(gpu: &Cuda) -> Outcome {
    let (x, mut y) = (gpu.zeros::<T>(0)?, gpu.zeros::<T>(0)?);
    gpu.set_zero(&mut y)?;
    gpu.axpby(1.0, &x, 1.0, &mut y)?;
    gpu.convert(1.0, &x, &mut y)?;
    gpu.add_combination(&[1.0], &[&x], &mut y)?;
    gpu.add_combination(&[], &[], &mut y)?;
    assert_identical(&downloaded(gpu, &y, 0)?, &[])?;
    assert_identical(&gpu.dots(&[&x], &y)?, &[0.0])?;
    assert_identical(&gpu.dots::<T>(&[], &y)?, &[])
}

fn epsilon<T: Scalar>() -> f64 {
    if size_of::<T>() == 8 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}
