//! Kernels of Newton's method, run on the host, against the level of the CPU.

use super::*;

/// The tables of a level of a nonlinear equation.
pub(super) struct EmulatedNewton<T> {
    pub(super) cells: CellTables<T>,
    pub(super) geometry: GeometryTables<T>,
    pub(super) interpolation: Option<InterpolationTables<T>>,
}

impl<T: Scalar> EmulatedNewton<T> {
    pub(super) fn new(emulated: &Emulated<T>) -> Self {
        let system = emulated.system;
        let (mesh, order) = (&*system.mesh, Order::new(&system.mesh, system.writes, false));
        let operator = CellOperator::<T>::new(system).unwrap();
        let of_coarser = |coarser: &Elliptic| {
            InterpolationTables::new(&coarser.mesh, mesh, &order, operator.shape.halves()).unwrap()
        };
        Self {
            cells: CellTables::new(mesh, &order, &operator.gather, &emulated.operator.matrices).unwrap(),
            geometry: GeometryTables::new(mesh, &order).unwrap(),
            interpolation: system.next_coarser().unwrap().map(of_coarser),
        }
    }
}

impl<T: Scalar> Emulated<'_, T> {
    /// Of which `metric` is written.
    fn newton_addresses(&self, newton: &EmulatedNewton<T>, metric: &mut [T], sums: &mut [T]) -> NewtonAddresses<T> {
        NewtonAddresses {
            groups: groups(&self.system.mesh),
            matrices: self.operator.matrices.as_ptr(),
            squares: newton.cells.squares.as_ptr(),
            nodes: newton.cells.nodes.as_ptr(),
            lines: newton.cells.lines.as_ptr(),
            geometry: newton.geometry.tensor.as_ptr(),
            inverse_weights: newton.geometry.inverse_weights.as_ptr(),
            metric: metric.as_mut_ptr(),
            reaction: self.operator.reaction.as_ref().map_or(ptr::null(), |reaction| reaction.as_ptr()),
            sums: sums.as_mut_ptr(),
        }
    }

    fn launch(&self, all: impl IntoIterator<Item = (usize, NewtonArguments<T>)>) {
        let module = module(self.system);
        for (blocks, arguments) in all {
            match arguments {
                NewtonArguments::Evaluate(arguments) => self.run(module, blocks, arguments),
                NewtonArguments::EvaluateHanging(arguments) => self.run(module, blocks, arguments),
                NewtonArguments::Diagonal(arguments) => self.run(module, blocks, arguments),
                NewtonArguments::DiagonalHanging(arguments) => self.run(module, blocks, arguments),
                NewtonArguments::Interpolate(arguments) => self.run(module, blocks, arguments),
                NewtonArguments::InterpolateHanging(arguments) => self.run(module, blocks, arguments),
            }
        }
    }

    /// Local results, summed up.
    fn summed(&self, newton: &EmulatedNewton<T>, b: Option<&[T]>, sums: &[T], least: Node) -> Vec<T> {
        let mut y = vec![T::from_f64(f64::NAN); self.operator.kinds.len()];
        let (sign, b) = b.map_or((1.0, ptr::null()), |b| (-1.0, b.as_ptr()));
        let (values, sign, least) = (sums.as_ptr(), T::from_f64(sign), least as u32);
        let sum = Gather { values, b, y: y.as_mut_ptr(), least, sign, ..Gather::zeros() };
        self.gather(&newton.cells.sums, &self.operator.kinds, sum);
        y
    }

    /// `b - A(u)`; the metric becomes that of the derivative.
    fn evaluate(&mut self, newton: &EmulatedNewton<T>, law: PowerLaw, b: &[T], u: &[T]) -> Vec<T> {
        let nan = T::from_f64(f64::NAN);
        let (mut sums, mut metric) = (vec![nan; newton.cells.nodes.len()], vec![nan; self.operator.metric.len()]);
        let addresses = self.newton_addresses(newton, &mut metric, &mut sums);
        self.launch(addresses.evaluate(&newton.cells.parts, law, u.as_ptr(), true));
        let found = self.summed(newton, Some(b), &sums, Node::Unknown);
        sums.fill(nan);
        let before = metric.clone();
        self.launch(addresses.evaluate(&newton.cells.parts, law, u.as_ptr(), false));
        assert_eq!(self.summed(newton, Some(b), &sums, Node::Unknown), found);
        assert_eq!(metric, before);
        self.operator.metric = metric;
        found
    }

    fn diagonal(&mut self, newton: &EmulatedNewton<T>) -> Vec<T> {
        let mut sums = vec![T::from_f64(f64::NAN); newton.cells.nodes.len()];
        let mut metric = self.operator.metric.clone();
        self.launch(self.newton_addresses(newton, &mut metric, &mut sums).diagonal(&newton.cells.parts));
        let mut y = self.summed(newton, None, &sums, Node::Smoothed);
        let nodes = y.len() as u32;
        self.run(MODULE, y.len().div_ceil(THREADS), Invert { y: y.as_mut_ptr(), nodes });
        y
    }

    fn interpolate(&self, newton: &EmulatedNewton<T>, u: &[T], coarse: &mut [T]) {
        let Some(tables) = &newton.interpolation else { return };
        let tables = InterpolationAddresses {
            matrices: tables.matrices.as_ptr(),
            children: tables.children.as_ptr(),
            targets: tables.targets.as_ptr(),
        };
        let addresses = self.newton_addresses(newton, &mut [], &mut []);
        self.launch(addresses.interpolate(&newton.cells.parts, tables, u.as_ptr(), coarse.as_mut_ptr()));
    }
}

/// What Newton's method asks of a level.
fn check_newton<T: Scalar>(name: &str, system: &Elliptic, law: PowerLaw) {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let level = Runs::<Elliptic>::level::<T>(&cpu, system).unwrap();
    let nonlinear = level.nonlinear().unwrap();
    let mut emulated = Emulated::<T>::new(system);
    let newton = EmulatedNewton::new(&emulated);
    let name = format!("{name}, {}, degree {}", T::NAME, system.degree());
    let compare = |what: &str, found: &[T], expected: &[T]| compare(&format!("{name}, {what}"), found, expected);
    let [b, mut u, mut expected] = [1, 2, 3].map(|seed| {
        let values = random(system.nodes(), seed);
        level.vector_of(&mut |unknown| values[unknown]).unwrap()
    });
    // Also where they are given.
    for (node, _) in system.mesh.kinds().iter().enumerate().filter(|(_, kind)| **kind == Node::Given) {
        u[node] = T::from_f64(0.25 + (node % 7) as f64 * 0.1);
    }
    nonlinear.nonlinear_residual(&b, &u, &mut expected).unwrap();
    compare("residual", &emulated.evaluate(&newton, law, &b, &u), &expected);
    nonlinear.linearize(&u).unwrap();
    level.apply(&b, &mut expected).unwrap();
    compare("derivative", &emulated.multiply(None, &b, Node::Unknown), &expected);
    nonlinear.update_inverse_diagonal(&mut expected).unwrap();
    if expected.iter().any(|&entry| entry != T::ZERO) {
        compare("diagonal", &emulated.diagonal(&newton), &expected);
    }
    if let Some(coarser) = system.next_coarser().unwrap() {
        let (mut found, mut expected) = (vec![T::ZERO; coarser.nodes()], cpu.zeros(coarser.nodes()).unwrap());
        nonlinear.interpolate(&u, &mut expected).unwrap();
        emulated.interpolate(&newton, &u, &mut found);
        compare("interpolation", &found, &expected);
    }
}

#[test]
fn kernels_of_newtons_method_compute_what_the_cpu_does() {
    for (name, forest) in meshes() {
        for degree in degrees(forest.dim()).filter(|degree| *degree < if forest.dim() == 2 { 6 } else { 4 }) {
            for flux in [PLaplacian { p: 1.0, epsilon: 1.0 }, PLaplacian { p: 3.5, epsilon: 0.5 }] {
                let law = flux.power_law().unwrap();
                let equation = Equation { flux: Some(Arc::new(flux)), ..anisotropic(Smoothing::Local) };
                let system = Elliptic::new(&forest, degree, equation).unwrap();
                for level in levels(&system).filter(|level| level.mesh.unknowns() > 0) {
                    check_newton::<f64>(name, level, law);
                    if degree < 3 {
                        check_newton::<f32>(name, level, law);
                    }
                }
            }
        }
    }
}
