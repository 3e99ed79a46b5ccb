use super::*;
use crate::backend::cpu::Cpu;
use crate::error::Error;
use crate::mesh::Mesh;
use crate::space::Space;
use crate::system::poisson::Poisson;
use glam::DVec3;
use std::f64::consts::PI;

fn space(dim: usize, refine: usize, degree: usize) -> Space {
    Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

fn discontinuous(dim: usize, refine: usize, degree: usize) -> Space {
    Space::discontinuous(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

/// Boxes of different numbers of cells and lengths in each direction, more cells than lanes in one of them.
fn boxes(dim: usize, degree: usize) -> [Space; 2] {
    let mesh = if dim == 2 {
        Mesh::of_box(&[5, 3], &[2.5, 0.6], 1).unwrap()
    } else {
        Mesh::of_box(&[5, 1, 2], &[2.5, 0.6, 1.7], 1).unwrap()
    };
    [Space::new(mesh, degree).unwrap(), Space::discontinuous(mesh, degree.min(8)).unwrap()]
}

fn sine(dim: usize, scale: f64) -> SineProduct {
    SineProduct { dim, scale, lengths: DVec3::ONE }
}

fn sine_on(space: &Space, scale: f64) -> SineProduct {
    SineProduct { dim: space.dim(), scale, lengths: DVec3::from_array(space.mesh().lengths()) }
}

fn add_boundary_load(space: &Space, g: &dyn Field, b: &mut [f64]) -> crate::error::Result<()> {
    Poisson::from(space).add_boundary_load(g, b)
}

fn interpolate(space: &Space, u: impl Fn(DVec3) -> f64) -> Vec<f64> {
    let dofs: Vec<f64> = space.unknowns().map(|node| u(space.point(node))).collect();
    space.from_dofs(&dofs).unwrap()
}

/// Without its factors: takes the general path.
struct General<'a>(&'a dyn ExactSolution);
impl Field for General<'_> {
    fn value(&self, point: DVec3) -> f64 {
        self.0.value(point)
    }
}
impl ExactSolution for General<'_> {
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.0.gradient(point)
    }
}

#[test]
fn load_vector_of_one_holds_integrals_of_basis_functions() {
    // ∫ φ_i is a product of 1D integrals, which Gauss-Lobatto weights give: for Q1 h^d, for Q2 (4/6 or 2/6) h a direction.
    for dim in [2, 3] {
        let linear = space(dim, 2, 1);
        let b = linear.to_dofs(&load_vector(&linear, &Constant(1.0)).unwrap()).unwrap();
        assert!(b.iter().all(|v| (v - 0.25_f64.powi(dim as i32)).abs() < 1e-16));
        let quadratic = space(dim, 2, 2);
        let b = load_vector(&quadratic, &|_: DVec3| 1.0).unwrap();
        for node in quadratic.unknowns() {
            let weight = |d: usize| if node[d] % 2 == 1 { 4.0 / 24.0 } else { 2.0 / 24.0 };
            let expected: f64 = (0..dim).map(weight).product();
            assert!((b[quadratic.offset(node)] - expected).abs() < 1e-16, "{node:?}");
        }
        let [on_box, cell_by_cell] = boxes(dim, 2);
        let b = load_vector(&on_box, &|_: DVec3| 1.0).unwrap();
        for node in on_box.unknowns() {
            let weight = |d: usize| if node[d] % 2 == 1 { 4.0 / 6.0 } else { 2.0 / 6.0 } * on_box.axes()[d].cell_size();
            let expected: f64 = (0..dim).map(weight).product();
            assert!((b[on_box.offset(node)] - expected).abs() < 1e-15, "{node:?}");
        }
        // Of discontinuous elements all sum to one: the volume of the box.
        for field in [&Constant(1.0) as &dyn Field, &|_: DVec3| 1.0] {
            let sum: f64 = load_vector(&cell_by_cell, field).unwrap().iter().sum();
            let volume: f64 = cell_by_cell.mesh().lengths().iter().product();
            assert!((sum / volume - 1.0).abs() < 1e-13, "{sum} != {volume}");
        }
    }
}

#[test]
fn product_and_closure_give_one_load_vector() {
    for (dim, degree) in [(2, 1), (2, 4), (2, 10), (3, 1), (3, 2), (3, 5)] {
        let refines = [1, 2, 4 - dim / 3];
        let spaces = refines.map(|refine| space(dim, refine, degree));
        let others = refines.map(|refine| discontinuous(dim, refine, degree.min(8)));
        for space in spaces.into_iter().chain(others).chain(boxes(dim, degree)) {
            let sine = sine_on(&space, 3.0);
            let product = load_vector(&space, &sine).unwrap();
            let closure = load_vector(&space, &|p: DVec3| sine.value(p)).unwrap();
            let largest = product.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            for (a, b) in product.iter().zip(&closure) {
                assert!((a - b).abs() <= 1e-14 * largest, "{dim}D Q{degree}: {a} != {b}");
            }
            let unknowns: f64 = space.to_dofs(&closure).unwrap().iter().map(|v| v.abs()).sum();
            let stored: f64 = closure.iter().map(|v| v.abs()).sum();
            assert!((stored - unknowns).abs() <= 1e-14 * stored, "entries that are no unknowns must be zero");
        }
    }
}

#[test]
fn load_vector_tests_against_every_function_of_the_space() {
    // For v in the space, v · b = ∫ f v; f and v polynomials that the rule integrates exactly, neither one a product
    // that is the same in all directions.
    let space = space(3, 2, 3);
    let v = |p: DVec3| p.x * (1.0 - p.x) * p.y * p.y * (1.0 - p.y) * p.z * (1.0 - p.z);
    let b = load_vector(&space, &|p: DVec3| 1.0 + p.x * p.x * p.z + 2.0 * p.y).unwrap();
    let sum: f64 = interpolate(&space, v).iter().zip(&b).map(|(v, b)| v * b).sum();
    let exact = (1.0 / 6.0) * (1.0 / 12.0) * (1.0 / 6.0)
        + (1.0 / 20.0) * (1.0 / 12.0) * (1.0 / 12.0)
        + 2.0 * (1.0 / 6.0) * (1.0 / 20.0) * (1.0 / 6.0);
    assert!((sum - exact).abs() < 1e-15, "{sum} != {exact}");
}

/// With a `v` of the space, `v · b = ∫ f v` over a box, for `f` that the rule integrates exactly.
#[test]
fn integrals_of_polynomials_over_boxes_are_exact() {
    for dim in [2, 3] {
        for space in boxes(dim, 3) {
            let lengths = space.mesh().lengths();
            // ∫ x^p (l - x) from 0 to l.
            let moment = |p: i32, l: f64| l.powi(p + 2) * (1.0 / f64::from(p + 1) - 1.0 / f64::from(p + 2));
            // v = x (l - x) y² (l - y) [z (l - z)], zero on the boundary.
            let powers = [1, 2, 1];
            let v = |p: DVec3| (0..dim).map(|d| p[d].powi(powers[d]) * (lengths[d] - p[d])).product::<f64>();
            // The powers of f in each direction, and its coefficient.
            let terms = [([0, 0, 0], 1.0), ([2, 0, 1], -3.0), ([0, 1, 0], 2.0), ([1, 2, 2], 0.5)];
            let f = |p: DVec3| -> f64 {
                terms.iter().map(|(q, c)| c * (0..dim).map(|d| p[d].powi(q[d])).product::<f64>()).sum()
            };
            let integral = |q: [i32; 3]| (0..dim).map(|d| moment(powers[d] + q[d], lengths[d])).product::<f64>();
            let exact: f64 = terms.iter().map(|&(q, c)| c * integral(q)).sum();
            let b = load_vector(&space, &f).unwrap();
            let sum: f64 = interpolate(&space, v).iter().zip(&b).map(|(v, b)| v * b).sum();
            assert!((sum / exact - 1.0).abs() < 1e-13, "{sum} != {exact}");
        }
    }
}

/// For a `v` that differs from cell to cell, `v · b = ∫ f v`.
#[test]
fn load_vectors_of_discontinuous_elements_test_cell_by_cell() {
    for dim in [2, 3] {
        let space = discontinuous(dim, 1, 2);
        let b = load_vector(&space, &|p: DVec3| 1.0 + p.x * p.x).unwrap();
        // v = 1 on the cell at the origin: ∫ 1 + x² over [0, 1/2], times the other directions.
        let is_first = |node: &[usize; 3]| node[..dim].iter().all(|&n| n < 3);
        let sum: f64 = space.unknowns().filter(is_first).map(|node| b[space.offset(node)]).sum();
        let exact = (0.5 + 1.0 / 24.0) * 0.5f64.powi(dim as i32 - 1);
        assert!((sum - exact).abs() < 1e-15, "{sum} != {exact}");

        // The same on the last cell of a box.
        let [_, space] = boxes(dim, 2);
        let b = load_vector(&space, &|p: DVec3| 1.0 + p.x * p.x).unwrap();
        let is_last = |node: &[usize; 3]| (0..dim).all(|d| node[d] / 3 == space.axes()[d].cells() - 1);
        let sum: f64 = space.unknowns().filter(is_last).map(|node| b[space.offset(node)]).sum();
        let across: f64 = (1..dim).map(|d| space.axes()[d].cell_size()).product();
        let exact = (0.25 + (2.5f64.powi(3) - 2.25f64.powi(3)) / 3.0) * across;
        assert!((sum - exact).abs() < 1e-14, "{sum} != {exact}");
    }
}

/// Against polynomials `v`, `∫ g (σ v - ∂ₙv)` over the boundary by hand.
#[test]
fn boundary_values_are_tested_with_the_penalty_and_the_normal_derivative() {
    for (dim, refine, degree) in [(2, 1, 1), (2, 4, 3), (3, 1, 2), (3, 2, 1)] {
        let space = discontinuous(dim, refine, degree);
        let sigma = (2 * degree * (degree + 1)) as f64 * 2f64.powi(refine as i32);
        let mut b = vec![0.0; space.storage()];
        add_boundary_load(&space, &|p: DVec3| 1.0 + 2.0 * p.x + 3.0 * p.y, &mut b).unwrap();
        let test =
            |v: &dyn Fn(DVec3) -> f64| -> f64 { interpolate(&space, v).iter().zip(&b).map(|(v, b)| v * b).sum() };
        // The mean of g over the faces x = 0 and x = 1, y = 0 and y = 1, and in 3D those of z.
        let (x, y, z) = ([2.5, 4.5], [2.0, 5.0], if dim == 2 { 0.0 } else { 7.0 });
        let all = x[0] + x[1] + y[0] + y[1] + z;
        assert!((test(&|_| 1.0) / (sigma * all) - 1.0).abs() < 1e-13);
        // v = x: ∫ g x over the faces, less ∫ g n_x.
        let moment = x[1]
            + (0.5 + 2.0 / 3.0)
            + (0.5 + 2.0 / 3.0 + 1.5)
            + if dim == 2 { 0.0 } else { 2.0 * (0.5 + 2.0 / 3.0 + 0.75) };
        let expected = sigma * moment - (x[1] - x[0]);
        assert!((test(&|p| p.x) / expected - 1.0).abs() < 1e-13, "{} != {expected}", test(&|p| p.x));
    }
}

/// On a box: `∫ g (σ v - ∂ₙv)` over its faces, with the penalty of each direction.
#[test]
fn boundary_values_on_boxes_are_tested_with_the_penalty_of_each_direction() {
    for dim in [2, 3] {
        for degree in [1, 3] {
            let [_, space] = boxes(dim, degree);
            let lengths = &space.mesh().lengths()[..dim];
            // g = 1 + Σ (d + 2) x_d and v = 1 + Σ (2 d + 1) x_d; one is linear, the other as well.
            let linear = |p: DVec3, slope: fn(usize) -> f64| 1.0 + (0..dim).map(|d| slope(d) * p[d]).sum::<f64>();
            let of_g: fn(usize) -> f64 = |d| d as f64 + 2.0;
            let of_v: fn(usize) -> f64 = |d| 2.0 * d as f64 + 1.0;
            let mut b = vec![0.0; space.storage()];
            add_boundary_load(&space, &|p: DVec3| linear(p, of_g), &mut b).unwrap();
            let found: f64 = interpolate(&space, |p| linear(p, of_v)).iter().zip(&b).map(|(v, b)| v * b).sum();
            let mut expected = 0.0;
            for direction in 0..dim {
                let sigma = (2 * degree * (degree + 1)) as f64 / space.axes()[direction].cell_size();
                for side in [0.0, 1.0] {
                    // By Simpson's rule along the face, which is exact for products of linear functions.
                    let tangents: Vec<_> = (0..dim).filter(|&d| d != direction).collect();
                    for index in 0..3usize.pow(dim as u32 - 1) {
                        let (mut point, mut weight) = (DVec3::ZERO, 1.0);
                        point[direction] = side * lengths[direction];
                        for (t, &tangent) in tangents.iter().enumerate() {
                            let at = index / 3usize.pow(t as u32) % 3;
                            point[tangent] = 0.5 * at as f64 * lengths[tangent];
                            weight *= lengths[tangent] * [1.0, 4.0, 1.0][at] / 6.0;
                        }
                        let slope = of_v(direction) * (2.0 * side - 1.0);
                        expected += weight * linear(point, of_g) * (sigma * linear(point, of_v) - slope);
                    }
                }
            }
            assert!((found / expected - 1.0).abs() < 1e-13, "{found} != {expected}");
        }
    }
}

#[test]
fn boundary_values_that_make_no_sense_are_refused() {
    let g = |p: DVec3| if p.x == 1.0 && p.y > 0.75 { f64::NAN } else { 1.0 };
    let (space, continuous) = (discontinuous(2, 2, 1), space(2, 2, 1));
    let mut b = vec![0.0; space.storage()];
    let Err(Error::NotFinite { what, place, .. }) = add_boundary_load(&space, &g, &mut b) else { panic!("accepted") };
    assert!(what == "boundary value" && place.starts_with("[1, 0.7"), "{what} at {place}");
    assert!(matches!(add_boundary_load(&space, &g, &mut b[1..]), Err(Error::SizeMismatch { .. })));
    assert!(matches!(add_boundary_load(&continuous, &g, &mut []), Err(Error::InvalidArgument { .. })));
    // Beyond the unit square there is boundary, too.
    let [_, wide] = boxes(2, 1);
    let g = |p: DVec3| if p.x == 2.5 { f64::INFINITY } else { 1.0 };
    let error = add_boundary_load(&wide, &g, &mut vec![0.0; wide.storage()]).unwrap_err().to_string();
    assert!(error.contains("[2.5, "), "{error}");
}

#[test]
fn right_hand_sides_that_are_not_finite_are_refused_with_the_point() {
    let space = space(2, 2, 1);
    let error = load_vector(&space, &|p: DVec3| if p.x > 0.5 && p.y > 0.75 { f64::NAN } else { 1.0 }).unwrap_err();
    let Error::NotFinite { what, value, place } = error else { panic!("{error}") };
    assert!(what == "right-hand side" && value.is_nan(), "{what} {value}");
    assert!(place.starts_with("[0.55283"), "the first such point in x: {place}");
    let error = load_vector(&space, &Constant(f64::INFINITY)).unwrap_err();
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
}

#[test]
fn a_vector_beyond_memory_is_refused() {
    let error = load_vector(&space(3, 16, 8), &Constant(1.0)).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { needed, available, .. } if needed > available), "{error}");
}

#[test]
fn error_norms_of_zero_are_the_norms_of_the_solution() {
    for dim in [2, 3] {
        // |u|² and |∇u|² of the product of sines: 2^-d and d π² 2^-d.
        let space = space(dim, 2, 5);
        let u = sine(dim, 1.0);
        let norms = error_norms(&space, &vec![0.0; space.storage()], &u).unwrap();
        let l2 = 0.5_f64.powi(dim as i32).sqrt();
        assert!((norms.l2 - l2).abs() < 1e-12, "{} != {l2}", norms.l2);
        let h1 = (dim as f64).sqrt() * PI * l2;
        assert!((norms.h1 - h1).abs() < 1e-11, "{} != {h1}", norms.h1);
        // On a box |u|² is 2^-d times the volume, |∇u|² that times π² Σ 1 / l².
        for space in boxes(dim, 7) {
            let norms = error_norms(&space, &vec![0.0; space.storage()], &sine_on(&space, 1.0)).unwrap();
            let lengths = &space.mesh().lengths()[..dim];
            let l2 = lengths.iter().map(|length| length / 2.0).product::<f64>().sqrt();
            let h1 = PI * lengths.iter().map(|length| 1.0 / (length * length)).sum::<f64>().sqrt() * l2;
            assert!((norms.l2 / l2 - 1.0).abs() < 1e-12, "{} != {l2}", norms.l2);
            assert!((norms.h1 / h1 - 1.0).abs() < 1e-12, "{} != {h1}", norms.h1);
        }
    }
}

#[test]
fn error_norms_vanish_for_functions_of_the_space() {
    struct Bubble;
    impl Field for Bubble {
        fn value(&self, p: DVec3) -> f64 {
            let f = p * (DVec3::ONE - p);
            f.x * f.y * f.z * (1.0 + p.x + 2.0 * p.y * p.z)
        }
    }
    impl ExactSolution for Bubble {
        fn gradient(&self, p: DVec3) -> DVec3 {
            let (f, g) = (p * (DVec3::ONE - p), DVec3::ONE - 2.0 * p);
            let h = 1.0 + p.x + 2.0 * p.y * p.z;
            DVec3::new(g.x * f.y * f.z, f.x * g.y * f.z, f.x * f.y * g.z) * h
                + f.x * f.y * f.z * DVec3::new(1.0, 2.0 * p.z, 2.0 * p.y)
        }
    }
    for refine in 1..=4 {
        let space = space(3, refine, 3);
        let norms = error_norms(&space, &interpolate(&space, |p| Bubble.value(p)), &Bubble).unwrap();
        assert!(norms.l2 < 1e-16 && norms.h1 < 1e-14, "{norms:?}");
    }
}

#[test]
fn error_norms_vanish_for_functions_of_spaces_on_boxes() {
    /// `x (l - x) y² (l - y) [z (l - z)]`.
    struct Bubble(usize, [f64; 3]);
    impl Bubble {
        fn factor(&self, d: usize, x: f64) -> [f64; 2] {
            let l = self.1[d];
            match d {
                1 => [x * x * (l - x), x * (2.0 * l - 3.0 * x)],
                _ if d < self.0 => [x * (l - x), l - 2.0 * x],
                _ => [1.0, 0.0],
            }
        }
    }
    impl Field for Bubble {
        fn value(&self, p: DVec3) -> f64 {
            (0..3).map(|d| self.factor(d, p[d])[0]).product()
        }
    }
    impl ExactSolution for Bubble {
        fn gradient(&self, p: DVec3) -> DVec3 {
            let along = |d: usize| (0..3).map(|e| self.factor(e, p[e])[usize::from(d == e)]).product();
            DVec3::new(along(0), along(1), along(2))
        }
    }
    for dim in [2, 3] {
        for space in boxes(dim, 3) {
            let u = Bubble(dim, space.mesh().lengths());
            let norms = error_norms(&space, &interpolate(&space, |p| u.value(p)), &u).unwrap();
            let scale = error_norms(&space, &vec![0.0; space.storage()], &u).unwrap();
            assert!(norms.l2 < 1e-15 * scale.l2 && norms.h1 < 1e-14 * scale.h1, "{norms:?} of {scale:?}");
        }
    }
}

#[test]
fn both_paths_of_the_error_norms_agree() {
    for (dim, degree) in [(2, 1), (2, 7), (3, 1), (3, 3)] {
        let spaces = (1..=4 - dim / 3).map(|refine| space(dim, refine, degree));
        let others = (1..=4 - dim / 3).map(|refine| discontinuous(dim, refine, degree));
        for space in spaces.chain(others).chain(boxes(dim, degree)) {
            let u = sine_on(&space, 1.0);
            let u_h = interpolate(&space, |p| u.value(p) + p.x * (1.0 - p.x) * p.y);
            let fast = error_norms(&space, &u_h, &u).unwrap();
            let slow = error_norms(&space, &u_h, &General(&u)).unwrap();
            assert!((fast.l2 / slow.l2 - 1.0).abs() < 1e-12 && (fast.h1 / slow.h1 - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn bad_solutions_are_refused() {
    let space = space(2, 2, 2);
    let u = sine(2, 1.0);
    assert!(matches!(error_norms(&space, &[0.0], &u), Err(Error::SizeMismatch { .. })));
    let mut u_h = vec![0.0; space.storage()];
    u_h[space.offset([3, 5, 0])] = f64::NAN;
    assert!(matches!(error_norms(&space, &u_h, &u), Err(Error::NotFinite { .. })));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for space in [space(3, 3, 3)].into_iter().chain(boxes(2, 3)).chain(boxes(3, 2)) {
        let compute = |threads: usize| {
            Cpu::new(Some(threads)).unwrap().install(|| {
                let b = load_vector(&space, &|p: DVec3| (p.x + 2.0 * p.y * p.z).exp()).unwrap();
                let norms = error_norms(&space, &b, &sine(3, 1.0)).unwrap();
                (b, norms)
            })
        };
        assert!(compute(1) == compute(3));
    }
}

#[test]
fn gradients_of_the_products_are_their_derivatives() {
    for dim in [2, 3] {
        for lengths in [DVec3::ONE, DVec3::new(1.5, 0.7, 4.0)] {
            let (sine, cosine) = (SineProduct { dim, scale: 2.0, lengths }, CosineProduct { dim, scale: 2.0, lengths });
            let (point, step) = (DVec3::new(0.3, 0.6, 0.8), 1e-5);
            let scaled = (point / lengths).to_array();
            let product = |f: fn(f64) -> f64| 2.0 * scaled[..dim].iter().map(|x| f(PI * x)).product::<f64>();
            assert!((sine.value(point) - product(f64::sin)).abs() < 1e-15);
            assert!((cosine.value(point) - product(f64::cos)).abs() < 1e-15);
            for (u, d) in [&sine as &dyn ExactSolution, &cosine].into_iter().flat_map(|u| (0..3).map(move |d| (u, d))) {
                let gradient = u.gradient(point);
                let along = DVec3::AXES[d] * step;
                let slope = (u.value(point + along) - u.value(point - along)) / (2.0 * step);
                assert!((gradient[d] - slope).abs() < 1e-8, "{dim}D, direction {d}: {} != {slope}", gradient[d]);
            }
        }
    }
}

/// Bit for bit, also where cells differ in number by direction.
#[test]
fn load_vectors_of_values_are_those_of_the_function() {
    let f = |p: DVec3| (p.x + 2.0 * p.y).exp() - p.z * p.z;
    for (dim, degree) in [(2, 1), (2, 4), (3, 1), (3, 3)] {
        for space in [space(dim, 1, degree), discontinuous(dim, 2, degree)].into_iter().chain(boxes(dim, degree)) {
            let points = load_points(&space).unwrap();
            let along_z = points.get(2).cloned().unwrap_or_else(|| vec![0.0]);
            let mut values = Vec::new();
            for &z in &along_z {
                for &y in &points[1] {
                    values.extend(points[0].iter().map(|&x| f(DVec3::new(x, y, z))));
                }
            }
            assert_eq!(load_vector_of_values(&space, &values).unwrap(), load_vector(&space, &f).unwrap());
            let refused = load_vector_of_values(&space, &values[1..]).unwrap_err();
            assert!(matches!(refused, Error::SizeMismatch { expected, .. } if expected == values.len()));
            values[1] = f64::NAN;
            let place = DVec3::new(points[0][1], points[1][0], along_z[0]).to_string();
            let refused = load_vector_of_values(&space, &values).unwrap_err().to_string();
            assert!(refused.ends_with(&place), "{refused}");
        }
    }
}

/// In points of a box, which they need not vanish on.
#[test]
fn fields_have_their_programs() {
    let lengths = DVec3::new(2.5, 0.6, 1.7);
    for dim in [2, 3] {
        let (sine, cosine) = (SineProduct { dim, scale: 1.3, lengths }, CosineProduct { dim, scale: -0.7, lengths });
        let fields: [&dyn ExactSolution; 3] = [&Constant(0.4), &sine, &cosine];
        for (field, point) in fields.iter().flat_map(|field| [0.1, 0.9].map(|x| (field, x * lengths + 0.05))) {
            let program = field.program().unwrap();
            assert!((program.value(point) - field.value(point)).abs() < 1e-15);
            assert!((program.gradient(point) - field.gradient(point)).abs().max_element() < 1e-13);
        }
    }
}
