//! The Navier-Stokes equations by steps of Stokes problems: a short version of the example.

#[allow(dead_code)] // its `main`
#[path = "../examples/navier_stokes.rs"]
mod navier_stokes;

use navier_stokes::{BOTELLA_PEYRET, Cavity, compare, extrema, largest_difference, run};

const COARSE: Cavity = Cavity { degree: 2, refine: 3, reynolds: 100.0, dt: 0.02, steady: 1e-3, max_steps: 1000 };

#[test]
fn the_cavity_starts_from_rest_becomes_steady_and_has_the_velocities_of_ghia() {
    let (mut energies, mut differences) = (Vec::new(), Vec::new());
    let end = run(&COARSE, |step| {
        energies.push(step.flow.kinetic_energy()?);
        differences.push(compare(&step.flow)?.map(|table| largest_difference(&table)));
        assert!(step.flow.largest_divergence()? < 1e-9, "step {}", step.number);
        Ok(())
    })
    .unwrap();
    eprintln!("{} steps, energy {:?}, differences {:?}", end.number, energies.last(), differences.last());
    // The lid does work all the time: energy rises, at last to a balance.
    assert!(energies.iter().take(200).is_sorted(), "{energies:?}");
    assert!(end.change < COARSE.steady && end.number > 100 && end.number < COARSE.max_steps, "{} steps", end.number);
    let [first, last] = [differences[9], differences[differences.len() - 1]];
    assert!(first.iter().all(|&difference| difference > 0.1), "{first:?}");
    assert!(last.iter().all(|&difference| difference < 0.01), "{last:?}");
    // A spectral method's extrema are more accurate than these tables.
    let extrema = extrema(&end.flow).unwrap();
    eprintln!("{extrema:?}");
    for ([at, found], (name, [published_at, published])) in extrema.into_iter().zip(BOTELLA_PEYRET) {
        assert!((found - published).abs() < 0.005 && (at - published_at).abs() < 0.01, "{name}: {found} at {at}");
    }
}

#[test]
fn without_convection_the_flow_is_symmetric_and_differs_from_that_of_ghia() {
    // At so small a Reynolds number the flow is that of the Stokes equations, the same to the left and to the right of the middle.
    let cavity = Cavity { reynolds: 0.01, steady: 1e-6, dt: 1.0, ..COARSE };
    let end = run(&cavity, |_| Ok(())).unwrap();
    let at = |x: f64| end.flow.velocity_at(glam::DVec3::new(x, 0.6, 0.0)).unwrap();
    for x in [0.1, 0.3, 0.45] {
        let [left, right] = [at(x), at(1.0 - x)];
        assert!((left.x - right.x).abs() < 1e-4 && (left.y + right.y).abs() < 1e-4, "{left} {right}");
    }
    let differences = compare(&end.flow).unwrap().map(|table| largest_difference(&table));
    assert!(differences.iter().all(|&difference| difference > 0.02), "{differences:?}");
}
