//! The example of a nonlinear equation.

#[allow(dead_code)] // its `main`
#[path = "../examples/p_laplacian.rs"]
mod p_laplacian;

/// The solution is as smooth as `r^(3/2)`: the error's order is 2.5, whatever the degree.
#[test]
fn errors_of_the_example_have_the_order_of_the_solution() {
    let [coarse, fine] = [3, 4].map(|refinements| {
        let report = p_laplacian::solve(3.0, refinements).unwrap();
        assert!(report.info.converged && report.newton.len() > 3, "{:?}", report.info);
        report.errors.unwrap().l2
    });
    let order = (coarse / fine).log2();
    assert!((order - 2.5).abs() < 0.1, "{order}");
}

/// For `p = 2` it is Poisson's equation: every step gains the four digits of a linear solve.
#[test]
fn of_a_linear_equation_newtons_steps_are_full() {
    let report = p_laplacian::solve(2.0, 3).unwrap();
    assert!(
        report.newton.len() <= 3 && report.newton.iter().all(|step| step.step_length == 1.0),
        "{:?}",
        report.newton
    );
    let gains = report.info.residual_history.windows(2).map(|pair| pair[1] / pair[0]);
    assert!(gains.take(2).all(|gain| gain < 2e-4), "{:?}", report.info);
    let error = report.errors.unwrap().l2;
    assert!(error < 1e-4, "{error}");
}
