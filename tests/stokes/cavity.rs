//! The driven cavity.

use crate::{cube, fgmres, flux, largest_slope, middles, solve_on};
use glam::DVec3;
use patchmg::fe::Quadrature;
use patchmg::krylov::Outcome;
use patchmg::solve::Precision;
use patchmg::system::stokes::{FlowErrors, Problem};

#[test]
fn the_cavity_is_symmetric_and_nothing_flows_through_a_line() {
    let system = cube(2, 5, 4);
    let (report, flow) = solve_on(&system, Problem::Cavity, fgmres(Precision::F64, 1e-12));
    let FlowErrors { velocity, pressure_l2, largest_divergence } = report.errors.unwrap();
    assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= 5, "{report:?}");
    assert!(velocity.is_none() && pressure_l2.is_none() && largest_divergence < 1e-10 * largest_slope(&flow));
    // As much flows to the right as to the left, up as down.
    for place in [0.1, 0.3, 0.5, 0.77] {
        let [across, down] = [flux(&flow, 0, [place, 0.0], 1, 32), flux(&flow, 1, [0.0, place], 0, 32)];
        assert!(across.abs() < 1e-13 && down.abs() < 1e-13, "{place}: {across} {down}");
    }
    // The mirror image of a Stokes flow, run backwards, is one.
    let largest_pressure = flow.pressure().values().iter().fold(0.0, |largest: f64, p| largest.max(p.abs()));
    for point in middles(system.mesh()).0 {
        let mirrored = DVec3::new(1.0 - point.x, point.y, 0.0);
        let [here, there] = [point, mirrored].map(|point| flow.velocity_at(point).unwrap());
        assert!((here.x - there.x).abs() < 1e-12 && (here.y + there.y).abs() < 1e-12, "{point}: {here}, {there}");
        let [p, q] = [point, mirrored].map(|point| flow.pressure().at(point).unwrap());
        assert!((p + q).abs() < 1e-12 * largest_pressure, "{point}: {p}, {q}");
    }
    // Boundary values hold weakly: well where the flow is smooth, least in the corners under the lid.
    for (along, error) in [(0.5, 1e-7), (0.3, 1e-7), (0.1, 1e-5), (0.9, 1e-5), (0.03, 0.05)] {
        let at = |x, y| flow.velocity_at(DVec3::new(x, y, 0.0)).unwrap();
        assert!((at(along, 1.0).x - 1.0).abs() < error && at(along, 1.0).y == 0.0, "{along}: {}", at(along, 1.0));
        assert!(at(along, 0.0).x.abs() < 1e-7 && at(along, 0.0).y == 0.0, "{along}: {}", at(along, 0.0));
        for wall in [at(0.0, 1.0 - along), at(1.0, 1.0 - along)] {
            assert!(wall.x == 0.0 && wall.y.abs() < error, "{along}: {wall}");
        }
    }
}

/// Meleshko's superposition, *Proceedings of the Royal Society A* 452, 1996: `ψ` as series of biharmonic functions, `cosh α y cos α x`,
/// `y sinh α y cos α x` and those with x and y exchanged, whose coefficients solve a linear system. Computed with 160 and 240 functions
/// of each kind, which differ by less than 3e-8.
#[test]
fn the_cavity_is_that_of_a_series() {
    let (_, flow) = solve_on(&cube(2, 5, 4), Problem::Cavity, fgmres(Precision::F64, 1e-10));
    let series = [
        ([0.5, 0.25], -0.122_595_56),
        ([0.5, 0.5], -0.205_191_72),
        // The least on the middle line.
        ([0.5, 0.535_924], -0.207_755_92),
        ([0.5, 0.75], -0.032_443_68),
        ([0.25, 0.75], -0.101_123_97),
    ];
    for ([x, y], expected) in series {
        let found = flow.velocity_at(DVec3::new(x, y, 0.0)).unwrap().x;
        assert!((found - expected).abs() < 2e-7, "{x} {y}: {found}, not {expected}");
    }
    // ψ, from the floor up.
    let found = flux(&flow, 0, [0.5, 0.0], 1, 24);
    assert!((found + 0.099_828_06).abs() < 2e-7, "{found}");
}

/// In 3D lid and flow have one plane of symmetry more.
#[test]
fn the_cavity_in_3d_is_symmetric_and_nothing_flows_through_a_plane() {
    let system = cube(3, 3, 2);
    let (report, flow) = solve_on(&system, Problem::Cavity, fgmres(Precision::F64, 1e-12));
    assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= 7, "{report:?}");
    assert!(report.errors.unwrap().largest_divergence < 1e-10 * largest_slope(&flow));
    let largest_pressure = flow.pressure().values().iter().fold(0.0, |largest: f64, p| largest.max(p.abs()));
    for point in middles(system.mesh()).0 {
        let at = |point| (flow.velocity_at(point).unwrap(), flow.pressure().at(point).unwrap());
        let (u, p) = at(point);
        for (place, mirrored, pressure) in [
            (DVec3::new(1.0 - point.x, point.y, point.z), DVec3::new(u.x, -u.y, -u.z), -p),
            (DVec3::new(point.x, 1.0 - point.y, point.z), DVec3::new(u.x, -u.y, u.z), p),
        ] {
            let (found, q) = at(place);
            assert!((found - mirrored).length() < 1e-11, "{place}: {found}, not {mirrored}");
            assert!((q - pressure).abs() < 1e-11 * largest_pressure, "{place}: {q}, not {pressure}");
        }
    }
    // Under the lid the flow goes with it, below against it; as much in one direction as in the other.
    let rule = Quadrature::gauss(3).unwrap();
    let points = || (0..8).flat_map(|cell| rule.points.iter().map(move |x| (f64::from(cell) + x) / 8.0));
    let weights = || (0..8).flat_map(|_| rule.weights.iter().map(|weight| weight / 8.0));
    let mut flux = 0.0;
    for (y, of_y) in points().zip(weights()) {
        for (z, of_z) in points().zip(weights()) {
            flux += of_y * of_z * flow.velocity_at(DVec3::new(0.4, y, z)).unwrap().x;
        }
    }
    assert!(flux.abs() < 1e-13, "{flux}");
    let [top, middle] = [1.0, 0.5].map(|z| flow.velocity_at(DVec3::new(0.5, 0.5, z)).unwrap().x);
    assert!((top - 1.0).abs() < 1e-2 && middle < -0.1, "{top} {middle}");
}
