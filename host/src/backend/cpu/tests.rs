use super::*;
use crate::testing::{assert_close, random};

fn check_vector_operations<T: Scalar>(len: usize, tolerance: f64) {
    let cpu = Cpu::new(Some(2)).unwrap();
    let upload = |host: &[f64]| {
        let mut vector = cpu.zeros::<T>(len).unwrap();
        cpu.upload(&host.iter().map(|&v| T::from_f64(v)).collect::<Vec<_>>(), &mut vector).unwrap();
        vector
    };
    let download = |vector: &Vector<T>| {
        let mut host = vec![T::ZERO; len];
        cpu.download(vector, &mut host).unwrap();
        host.into_iter().map(T::to_f64).collect::<Vec<f64>>()
    };
    let (a, b, c) = (random(len, 7), random(len, 8), random(len, 9));
    let (x, z) = (upload(&a), upload(&c));
    let mut y = upload(&b);

    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let expected = [dot(&a, &b), dot(&c, &b), dot(&b, &b)];
    let found = cpu.dots(&[&x, &z, &y], &y).unwrap();
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-13 * len as f64, "{found} != {expected}");
    }
    assert_eq!(cpu.dot(&x, &y).unwrap(), found[0]);
    assert!((cpu.norm(&y).unwrap() - expected[2].sqrt()).abs() <= 1e-13 * len as f64);
    assert_eq!(cpu.dots::<T>(&[], &y).unwrap(), Vec::<f64>::new());

    let products = cpu.combine_dots(&[0.5, -2.0], &[&x, &z], &mut y).unwrap();
    let combined: Vec<f64> = (0..len).map(|i| b[i] + 0.5 * a[i] - 2.0 * c[i]).collect();
    assert_close("combine_dots", &download(&y), &combined, tolerance);
    // As it was stored.
    let stored = download(&y);
    let dots = [dot(&a, &stored), dot(&c, &stored), dot(&stored, &stored)];
    assert_eq!(products.len(), dots.len());
    for (found, expected) in products.iter().zip(dots) {
        assert!((found - expected).abs() <= 1e-12 * len as f64, "{found} != {expected}");
    }
    cpu.combine(&[0.25], &[&x], -0.5, &mut y).unwrap();
    let mut expected: Vec<f64> = (0..len).map(|i| 0.25 * a[i] - 0.5 * combined[i]).collect();
    assert_close("combine", &download(&y), &expected, tolerance);
    let mut overwritten = upload(&vec![f64::NAN; len]);
    cpu.combine(&[2.0], &[&x], 0.0, &mut overwritten).unwrap();
    assert_close("overwriting combine", &download(&overwritten), &a.iter().map(|a| 2.0 * a).collect::<Vec<_>>(), 0.0);
    let (of_f32, mut rounded): (Vec<f32>, _) = (a.iter().map(|&a| a as f32).collect(), cpu.zeros(len).unwrap());
    cpu.upload(&of_f32, &mut rounded).unwrap();
    cpu.combine(&[2.0], &[&rounded], 0.0, &mut overwritten).unwrap();
    let twice: Vec<f64> = of_f32.iter().map(|&a| 2.0 * f64::from(a)).collect();
    assert_close("combine of f32", &download(&overwritten), &twice, 0.0);
    let norm = cpu.norm_rounded(&y, &mut rounded).unwrap();
    assert_eq!(norm, cpu.norm(&y).unwrap());
    let of_y: Vec<f32> = download(&y).iter().map(|&y| y as f32).collect();
    assert_eq!(&rounded[..], of_y);
    cpu.combine(&[0.5, 1.0], &[&x, &z], 0.0, &mut rounded).unwrap();
    let in_f32: Vec<f64> = rounded.iter().map(|&value| value.into()).collect();
    let combined: Vec<f64> = a.iter().zip(&c).map(|(a, c)| 0.5 * a + c).collect();
    assert_close("combine in f32", &in_f32, &combined, 1e-6);
    // Terms in `f64` that cancel.
    let sum: Vec<f64> = a.iter().zip(&c).map(|(a, c)| a + 1e-7 * c).collect();
    let nearly = upload(&sum);
    cpu.combine(&[1e7, -1e7], &[&nearly, &x], 0.0, &mut rounded).unwrap();
    let in_f32: Vec<f64> = rounded.iter().map(|&value| value.into()).collect();
    if size_of::<T>() == size_of::<f64>() {
        assert_close("difference in f32", &in_f32, &c, 1e-6);
    }
    cpu.axpby(3.0, &x, -0.5, &mut y).unwrap();
    expected = (0..len).map(|i| 3.0 * a[i] - 0.5 * expected[i]).collect();
    assert_close("axpby", &download(&y), &expected, tolerance);
    let mut undefined = upload(&vec![f64::NAN; len]);
    cpu.axpby(2.0, &x, 0.0, &mut undefined).unwrap();
    assert_close("overwriting axpby", &download(&undefined), &a.iter().map(|a| 2.0 * a).collect::<Vec<_>>(), 0.0);
    let part = len / 3;
    cpu.axpby_first(part, 0.5, &x, -1.0, &mut undefined).unwrap();
    cpu.diagonal_axpby_first(part, 1.0, &x, &z, 2.0, &mut undefined).unwrap();
    let first = |i: usize| a[i] * c[i] + 2.0 * (0.5 * a[i] - 2.0 * a[i]);
    let expected: Vec<f64> = (0..len).map(|i| if i < part { first(i) } else { 2.0 * a[i] }).collect();
    assert_close("the first entries", &download(&undefined), &expected, 4.0 * tolerance);
    cpu.convert(1.0, &x, &mut y).unwrap();
    assert_eq!(download(&y), a);
    cpu.set_zero(&mut y).unwrap();
    assert_eq!(download(&y), vec![0.0; len]);
}

#[test]
fn vector_operations_are_those_of_the_books() {
    for len in [1, 17, 2048, 70_001] {
        check_vector_operations::<f64>(len, 1e-15);
        check_vector_operations::<f32>(len, 1e-6);
    }
}

#[test]
fn convert_rounds_to_the_nearest() {
    let cpu = Cpu::new(None).unwrap();
    let mut x = cpu.zeros::<f64>(2).unwrap();
    let mut y = cpu.zeros::<f32>(2).unwrap();
    cpu.upload(&[0.1, 1.0 + 1e-9], &mut x).unwrap();
    cpu.convert(1.0, &x, &mut y).unwrap();
    let mut host = [0.0; 2];
    cpu.download(&y, &mut host).unwrap();
    assert_eq!(host, [0.1, 1.0]);
}

#[test]
fn arguments_are_checked() {
    assert!(matches!(Cpu::new(Some(0)), Err(Error::InvalidArgument { name: "threads", .. })));
    let cpu = Cpu::new(Some(1)).unwrap();
    let (mut y, short) = (cpu.zeros(10).unwrap(), cpu.zeros(9).unwrap());
    assert!(matches!(cpu.upload(&[0.0], &mut y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(cpu.dots(&[&short], &y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(cpu.combine::<f64, _>(&[1.0], &[], 1.0, &mut y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(cpu.combine_dots(&[1.0], &[&short], &mut y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(cpu.norm_rounded(&y, &mut cpu.zeros(9).unwrap()), Err(Error::SizeMismatch { .. })));
    let x = cpu.zeros::<f64>(10).unwrap();
    assert!(matches!(cpu.axpby_first(11, 1.0, &x, 1.0, &mut y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(cpu.diagonal_axpby_first(11, 1.0, &x, &x, 1.0, &mut y), Err(Error::SizeMismatch { .. })));
}

#[test]
fn info_describes_the_machine() {
    let info = Cpu::new(Some(3)).unwrap().info();
    assert_eq!((info.backend, info.units, info.driver), (BackendName::Cpu, 3, None));
    assert!(!info.name.is_empty() && info.memory >= info.memory_free && info.memory_free > 0);
}
