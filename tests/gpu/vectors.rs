//! Vector operations against the same on the host.

use super::compare::{assert_close, assert_identical, downloaded, random, uploaded};
use crate::{Outcome, Suite};
use libtest_mimic::{Completion, Failed};
use patchmg::backend::cpu::Cpu;
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
    test("divide", divide::<T>);
    test("dots", dots::<T>);
    test("dots_of_many_vectors", dots_of_many_vectors::<T>);
    test("combine", combine::<T>);
    test("combine_of_f32", combine_of::<f32, T>);
    test("combine_of_f64", combine_of::<f64, T>);
    test("norm_rounded", norm_rounded::<T>);
    test("combine_dots", combine_dots::<T>);
    test("empty", empty::<T>);
}

/// More entries than 31 and than 32 bits count, and one block's remainder.
const LONG: [usize; 2] = [(1 << 31) + 77, (1 << 32) + 77];

/// All operations on vectors so long.
pub fn add_long(suite: &mut Suite) {
    for len in LONG {
        suite.test_if(format!("vectors::of_{len}_entries::f32"), move |gpu| {
            let bytes = (len * size_of::<f32>()) as u64;
            // Three vectors on the device and one of `f64`, one on the host, with room to spare.
            for (info, vectors) in [(gpu.info(), 5), (Cpu::new(None)?.info(), 1)] {
                let needed = vectors * bytes + (1 << 30);
                if info.memory_free < needed {
                    let (name, free) = (info.name, info.memory_free);
                    return Ok(Completion::ignored_with(format!("{name} has {free} bytes free, {needed} are needed")));
                }
            }
            long(gpu, len).map(|()| Completion::Completed)
        });
    }
}

/// Whole numbers, so that all results are exact: `x_i = i mod 251 - 125` and `y_i = i mod 127 - 63`.
fn long(gpu: &Cuda, len: usize) -> Outcome {
    let (at_x, at_y) = (|i: usize| (i % 251) as i64 - 125, |i: usize| (i % 127) as i64 - 63);
    let mut host = vec![0.0_f32; len];
    let mut upload = |at: &dyn Fn(usize) -> i64| {
        host.iter_mut().enumerate().for_each(|(i, value)| *value = at(i) as f32);
        uploaded(gpu, &host)
    };
    let (x, mut y) = (upload(&at_x)?, upload(&at_y)?);
    let mut z = gpu.zeros::<f32>(len)?;
    let mut check = |z: &<Cuda as Backend>::Vector<f32>, what: &str, expected: &dyn Fn(usize) -> i64| -> Outcome {
        gpu.download(z, &mut host)?;
        match (0..len).find(|&i| host[i] != expected(i) as f32) {
            None => Ok(()),
            Some(i) => Err(format!("{what}: entry {i} is {}, expected {}", host[i], expected(i)).into()),
        }
    };
    check(&z, "zeros", &|_| 0)?;
    let mut wide = gpu.zeros::<f64>(len)?;
    gpu.convert(2.0, &x, &mut wide)?;
    gpu.convert(-1.0, &wide, &mut z)?;
    drop(wide);
    check(&z, "convert to f64 and back", &|i| -2 * at_x(i))?;
    gpu.diagonal_axpby(2.0, &x, &y, 1.0, &mut z)?;
    check(&z, "diagonal_axpby", &|i| 2 * at_x(i) * at_y(i) - 2 * at_x(i))?;
    gpu.axpby(3.0, &x, 0.0, &mut z)?;
    check(&z, "axpby", &|i| 3 * at_x(i))?;
    gpu.combine(&[2.0, -1.0], &[&x, &z], 1.0, &mut y)?;
    check(&y, "combine", &|i| at_y(i) - at_x(i))?;
    // Products repeat after 251 times 127 entries; sums of whole numbers below 2^53 are exact in any order.
    let (period, product) = (251 * 127, |i: usize| at_x(i) * (at_y(i) - at_x(i)));
    let sum = |range: std::ops::Range<usize>| range.map(product).sum::<i64>();
    let expected = sum(0..period) * (len / period) as i64 + sum(0..len % period);
    let found = gpu.dot(&x, &y)?;
    if found != expected as f64 {
        return Err(Failed::from(format!("dot: {found}, expected {expected}")));
    }
    gpu.set_zero(&mut y)?;
    check(&y, "set_zero", &|_| 0)
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
    let (x, mut first) = (random::<T>(5, 1000), random::<T>(6, 1000));
    let mut y = uploaded(gpu, &first)?;
    gpu.axpby_first(700, 1.0, &uploaded(gpu, &x)?, 0.0, &mut y)?;
    first[..700].copy_from_slice(&x[..700]);
    assert_identical(&downloaded(gpu, &y, 1000)?, &first)?;
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
            let mut expected: Vec<T> = (0..len).map(entry).collect();
            assert_close(&downloaded(gpu, &result, len)?, &expected, 4.0 * epsilon::<T>())?;
            let part = len / 3;
            gpu.diagonal_axpby_first(part, 0.5, &uploaded(gpu, &d)?, &uploaded(gpu, &x)?, 0.0, &mut result)?;
            (0..part).for_each(|i| expected[i] = T::from_f64(0.5 * d[i].to_f64() * x[i].to_f64()));
            assert_close(&downloaded(gpu, &result, len)?, &expected, 4.0 * epsilon::<T>())?;
        }
    }
    Ok(())
}

fn divide<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        let [mut d, x] = [5, 6].map(|seed| random::<T>(seed, len));
        // Not the first one, which is all that some have.
        d.iter_mut().skip(1).step_by(3).for_each(|d| *d = T::ZERO);
        let mut result = uploaded(gpu, &vec![T::from_f64(f64::NAN); len])?;
        gpu.divide(&uploaded(gpu, &x)?, &uploaded(gpu, &d)?, &mut result)?;
        let entry = |i: usize| if d[i] == T::ZERO { T::ZERO } else { x[i] / d[i] };
        let expected: Vec<T> = (0..len).map(entry).collect();
        assert_close(&downloaded(gpu, &result, len)?, &expected, 4.0 * epsilon::<T>())?;
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

fn combine<T: Scalar>(gpu: &Cuda) -> Outcome {
    for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
        for beta in [1.0, -0.3, 0.0] {
            let combination = Combination::<T>::random(len, count);
            // What is overwritten does not matter.
            let old = if beta == 0.0 { vec![T::from_f64(f64::NAN); len] } else { combination.y.clone() };
            let (vectors, mut y) = (combination.vectors(gpu)?, uploaded(gpu, &old)?);
            gpu.combine(&combination.coefficients, &vectors.iter().collect::<Vec<_>>(), beta, &mut y)?;
            combination.check(beta, &downloaded(gpu, &y, len)?)?;
        }
    }
    // Scaled alone.
    let x = random::<T>(8, 1000);
    let mut y = uploaded(gpu, &x)?;
    gpu.combine::<T, T>(&[], &[], 0.25, &mut y)?;
    let scaled: Vec<T> = x.iter().map(|x| T::from_f64(0.25 * x.to_f64())).collect();
    assert_identical(&downloaded(gpu, &y, 1000)?, &scaled)
}

/// Of vectors in a scalar for one in another.
fn combine_of<X: Scalar, T: Scalar>(gpu: &Cuda) -> Outcome {
    for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
        for beta in [1.0, -0.3, 0.0] {
            let Combination { coefficients, xs, .. } = Combination::<X>::random(len, count);
            let old = random::<T>(39, len);
            let vectors = xs.iter().map(|x| uploaded(gpu, x)).collect::<Result<Vec<_>, _>>()?;
            let mut y = uploaded(gpu, &if beta == 0.0 { vec![T::from_f64(f64::NAN); len] } else { old.clone() })?;
            gpu.combine(&coefficients, &vectors.iter().collect::<Vec<_>>(), beta, &mut y)?;
            let of_f64 = |values: &[X]| values.iter().map(|value| value.to_f64()).collect::<Vec<_>>();
            let y_f64 = old.iter().map(|value| value.to_f64()).collect();
            let wide = Combination { coefficients, xs: xs.iter().map(|x| of_f64(x)).collect(), y: y_f64 };
            wide.check(beta, &downloaded(gpu, &y, len)?)?;
        }
    }
    Ok(())
}

fn norm_rounded<T: Scalar>(gpu: &Cuda) -> Outcome {
    for len in LENGTHS {
        let host = random::<T>(11, len);
        let (x, mut rounded) = (uploaded(gpu, &host)?, uploaded(gpu, &vec![f32::NAN; len])?);
        let (found, expected) = (gpu.norm_rounded(&x, &mut rounded)?, gpu.norm(&x)?);
        // Another order of summation.
        if (found - expected).abs() > f64::EPSILON * (len as f64).sqrt().max(8.0) * expected {
            return Err(format!("{len} entries: {found}, expected {expected}").into());
        }
        assert_identical(&[gpu.norm_rounded(&x, &mut rounded)?], &[found])?;
        let expected: Vec<f32> = host.iter().map(|value| value.to_f64() as f32).collect();
        assert_identical(&downloaded(gpu, &rounded, len)?, &expected)?;
    }
    Ok(())
}

/// The vector is that of `combine`, and products are those of it as it was stored, by `dots`.
fn combine_dots<T: Scalar>(gpu: &Cuda) -> Outcome {
    for (len, count) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|count| (len, count))) {
        let combination = Combination::<T>::random(len, count);
        let (vectors, mut y) = (combination.vectors(gpu)?, uploaded(gpu, &combination.y)?);
        let xs = vectors.iter().collect::<Vec<_>>();
        let found = gpu.combine_dots(&combination.coefficients, &xs, &mut y)?;
        combination.check(1.0, &downloaded(gpu, &y, len)?)?;
        let mut expected = gpu.dots(&xs, &y)?;
        expected.push(gpu.dot(&y, &y)?);
        let norm = expected[count].sqrt();
        let scales = xs.iter().map(|x| Ok(gpu.norm(x)? * norm)).collect::<Result<Vec<_>, patchmg::Error>>()?;
        assert_eq!(found.len(), expected.len());
        for ((found, expected), scale) in found.iter().zip(&expected).zip(scales.into_iter().chain([norm * norm])) {
            // Another order of summation.
            if (found - expected).abs() > f64::EPSILON * (len as f64).sqrt().max(8.0) * scale {
                return Err(format!("{count} vectors of {len}: {found}, expected {expected}").into());
            }
        }
        let mut again = uploaded(gpu, &combination.y)?;
        assert_identical(&gpu.combine_dots(&combination.coefficients, &xs, &mut again)?, &found)?;
    }
    Ok(())
}

/// A random linear combination.
struct Combination<T> {
    coefficients: Vec<f64>,
    xs: Vec<Vec<T>>,
    y: Vec<T>,
}

impl<T: Scalar> Combination<T> {
    fn random(len: usize, count: usize) -> Self {
        let xs = (0..count).map(|j| random(40 + j as u64, len)).collect();
        Self { coefficients: random::<f64>(38, count), xs, y: random::<T>(39, len) }
    }

    fn vectors(&self, gpu: &Cuda) -> Result<Vec<<Cuda as Backend>::Vector<T>>, patchmg::Error> {
        self.xs.iter().map(|x| uploaded(gpu, x)).collect()
    }

    /// That `found` is `beta y + sum_j c_j x_j`, but for one rounding to `T` a launch and the host's own order of summation, which are
    /// relative to the terms.
    fn check<Y: Scalar>(&self, beta: f64, found: &[Y]) -> Outcome {
        assert_eq!(found.len(), self.y.len());
        for (i, found) in found.iter().enumerate() {
            let products = self.coefficients.iter().zip(&self.xs).map(|(c, x)| c * x[i].to_f64());
            let terms: Vec<f64> = std::iter::once(beta * self.y[i].to_f64()).chain(products).collect();
            let (expected, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|term| term.abs()).sum());
            let error = (found.to_f64() - expected).abs();
            if error.is_nan() || error > 16.0 * epsilon::<Y>() * size {
                return Err(format!("entry {i} is {found:?}, expected {expected:e}, of terms {size:e}").into());
            }
        }
        Ok(())
    }
}

fn empty<T: Scalar>(gpu: &Cuda) -> Outcome {
    let (x, mut y) = (gpu.zeros::<T>(0)?, gpu.zeros::<T>(0)?);
    gpu.set_zero(&mut y)?;
    gpu.axpby(1.0, &x, 1.0, &mut y)?;
    gpu.convert(1.0, &x, &mut y)?;
    gpu.combine(&[1.0], &[&x], 0.5, &mut y)?;
    gpu.combine::<T, T>(&[], &[], 0.5, &mut y)?;
    assert_identical(&gpu.combine_dots(&[1.0], &[&x], &mut y)?, &[0.0; 2])?;
    assert_identical(&gpu.combine_dots(&[], &[], &mut y)?, &[0.0])?;
    assert_identical(&[gpu.norm_rounded(&x, &mut gpu.zeros(0)?)?], &[0.0])?;
    assert_identical(&downloaded(gpu, &y, 0)?, &[])?;
    assert_identical(&gpu.dots(&[&x], &y)?, &[0.0])?;
    assert_identical(&gpu.dots::<T>(&[], &y)?, &[])
}

fn epsilon<T: Scalar>() -> f64 {
    if size_of::<T>() == 8 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}
