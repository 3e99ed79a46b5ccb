"""The package against matrices that scipy assembles and solves, known solutions, and what it must refuse.

Usage: python3 -m unittest discover host/python/tests, with the package, numpy and scipy
"""

import re
import signal
import threading
import unittest
from functools import reduce
from pathlib import Path

import numpy
from numpy import cos, exp, pi, sin
from scipy.sparse import csr_array, kron, lil_array
from scipy.sparse.linalg import cg, gmres, spsolve

import patchmg

# K and M of linear and quadratic elements on a cell of size 1.
STIFFNESS = {1: [[1, -1], [-1, 1]], 2: numpy.array([[7, -8, 1], [-8, 16, -8], [1, -8, 7]]) / 3}
MASS = {1: numpy.array([[2, 1], [1, 2]]) / 6, 2: numpy.array([[4, 2, -1], [2, 16, 2], [-1, 2, 4]]) / 30}

# cells, size, degree
BOXES = [
    ((8, 8), (1.0, 1.0), 1),
    ((8, 12), (2.0, 1.0), 2),
    ((4, 8, 6), (1.0, 1.5, 0.5), 1),
    ((4, 4, 8), (1.0, 1.0, 3.0), 2),
]


def source(x, y, z=0.25):
    return exp(x) * (1 + y * y) - 3 * z


def along_axis(cell_matrix, cells, degree):
    """The matrix of an axis without its ends."""
    matrix = lil_array((cells * degree + 1, cells * degree + 1))
    for cell in range(cells):
        for i in range(degree + 1):
            for j in range(degree + 1):
                matrix[cell * degree + i, cell * degree + j] += cell_matrix[i][j]
    return csr_array(matrix)[1:-1, 1:-1]


def assembled(cells, size, degree):
    """The matrix of -Δ: sums of Kronecker products, x fastest."""
    lines = []
    for count, length in zip(cells, size):
        h = length / count
        stiffness, mass = numpy.array(STIFFNESS[degree]) / h, numpy.array(MASS[degree]) * h
        lines.append([along_axis(matrix, count, degree) for matrix in (stiffness, mass)])
    term = lambda along: reduce(kron, [line[0 if d == along else 1] for d, line in reversed(list(enumerate(lines)))])
    return csr_array(sum(term(along) for along in range(len(cells))))


def assembled_load(cells, size, degree):
    """`∫ f φ_i` by Gauss's rule of k + 1 points, as the package integrates."""
    points, weights = numpy.polynomial.legendre.leggauss(degree + 1)
    points, weights = (points + 1) / 2, weights / 2
    nodes = numpy.linspace(0, 1, degree + 1)
    others = lambda j: [node for i, node in enumerate(nodes) if i != j]
    basis = [numpy.prod([(points - node) / (nodes[j] - node) for node in others(j)], axis=0) for j in range(degree + 1)]
    axes, tests = [], []
    for count, length in zip(cells, size):
        h = length / count
        axes.append(numpy.concatenate([(cell + points) * h for cell in range(count)]))
        test = lil_array((count * degree + 1, count * len(points)))
        for cell in range(count):
            for j in range(degree + 1):
                for q, weight in enumerate(weights):
                    test[cell * degree + j, cell * len(points) + q] = h * weight * basis[j][q]
        tests.append(csr_array(test)[1:-1])
    grid = numpy.meshgrid(*reversed(axes), indexing="ij")
    return csr_array(reduce(kron, reversed(tests))) @ source(*reversed(grid)).reshape(-1)


def inner(values):
    """The unknowns of values at nodes."""
    return values[(slice(1, -1),) * values.ndim].reshape(-1)


class PoissonTest(unittest.TestCase):
    def test_matrix_load_and_solution_are_those_of_scipy(self):
        for cells, size, degree in BOXES:
            with self.subTest(cells=cells, degree=degree):
                matrix, load = assembled(cells, size, degree), assembled_load(cells, size, degree)
                problem = patchmg.Poisson(cells, degree, size=size, backend="cpu")
                self.assertEqual(problem.dofs, len(load))
                self.assertLess(abs(problem.load(source) - load).max(), 1e-14 * abs(load).max())
                self.assertTrue((problem.load(source(*problem.points)) == problem.load(source)).all())
                operator, x = problem.operator(), numpy.random.default_rng(1).standard_normal(len(load))
                self.assertLess(abs(operator @ x - matrix @ x).max(), 1e-13 * abs(matrix @ x).max())
                expected = spsolve(matrix.tocsc(), load)
                for method in ["fmg", "vcycle", "cg", "gmres", "fgmres"]:
                    solution = problem.solve(source, method=method, rtol=1e-11)
                    self.assertTrue(solution.converged and solution.outcome == "converged", solution)
                    self.assertLess(solution.iterations, 15)
                    self.assertLess(abs(inner(solution.u) - expected).max(), 1e-9 * abs(expected).max())
                    self.assertEqual(len(solution.residuals), solution.iterations + 1)
                    self.assertLessEqual(solution.residuals[-1], 1e-11)

    def test_vcycle_is_a_preconditioner_of_scipy(self):
        for cells, size, degree in BOXES:
            matrix, load = assembled(cells, size, degree), assembled_load(cells, size, degree)
            expected = spsolve(matrix.tocsc(), load)
            problem = patchmg.Poisson(cells, degree, size=size, backend="cpu")
            for solver, vcycle in [
                (cg, problem.vcycle()),
                (gmres, problem.vcycle()),
                (gmres, problem.vcycle(symmetric=False)),
                (cg, problem.vcycle(precision="mixed")),
            ]:
                with self.subTest(cells=cells, degree=degree, solver=solver):
                    iterations = []
                    told = {"callback_type": "pr_norm"} if solver is gmres else {}
                    solution, info = solver(
                        problem.operator(), load, M=vcycle, rtol=1e-10, callback=iterations.append, **told
                    )
                    self.assertEqual(info, 0)
                    self.assertLess(len(iterations), 15)
                    self.assertLess(abs(solution - expected).max(), 1e-8 * abs(expected).max())

    def test_vcycle_is_linear_and_symmetric(self):
        for family in ["continuous", "discontinuous"]:
            problem = patchmg.Poisson((8, 4), 3, size=(2, 1.5), family=family, backend="cpu")
            x, y = numpy.random.default_rng(2).standard_normal((2, problem.dofs))
            for vcycle in [problem.vcycle(), problem.operator()]:
                mx, my = vcycle @ x, vcycle @ y
                self.assertLess(numpy.linalg.norm(vcycle @ (2 * x - 3 * y) - 2 * mx + 3 * my), 1e-12 * numpy.linalg.norm(mx))
                self.assertLess(abs(x @ my - y @ mx), 1e-13 * numpy.linalg.norm(x) * numpy.linalg.norm(my))
                self.assertTrue((vcycle.T @ x == mx).all())
            ascending = problem.vcycle(symmetric=False)
            mx, my = ascending @ x, ascending @ y
            self.assertGreater(abs(x @ my - y @ mx), 1e-6 * numpy.linalg.norm(x) * numpy.linalg.norm(my))

    def test_boundary_values_of_a_polynomial(self):
        """Which the space has, so that it is the solution."""
        for size in [(2.0, 1.0), (2.0, 1.0, 0.5)]:
            u = lambda x, y, z=0.5: x * x * y - y * y + x * z
            rhs = lambda x, y, z=0: 2 - 2 * y
            cells = (4, 4, 2)[: len(size)]
            solution = patchmg.solve_poisson(
                rhs, cells=cells, degree=3, size=size, family="discontinuous", boundary=u, rtol=1e-12, backend="cpu"
            )
            self.assertTrue(solution.converged, solution)
            self.assertEqual(solution.u.shape, tuple(4 * count for count in reversed(cells)))
            x = numpy.meshgrid(*reversed(solution.nodes), indexing="ij")[::-1]
            self.assertLess(abs(solution.u - u(*x)).max(), 1e-10)
            points = numpy.random.default_rng(3).random((2, 5, len(size))) * size
            self.assertEqual(solution.at(points).shape, (2, 5))
            self.assertLess(abs(solution.at(points) - u(*numpy.moveaxis(points, -1, 0))).max(), 1e-10)

    def test_order(self):
        errors = []
        for cells in [8, 16]:
            solution = patchmg.solve_poisson(
                lambda x, y: 2 * pi**2 * sin(pi * x) * sin(pi * y), cells=(cells, cells), degree=3, precision="mixed"
            )
            self.assertTrue(solution.converged)
            x, y = numpy.random.default_rng(4).random((2, 200))
            errors.append(abs(solution.at(numpy.stack([x, y], axis=1)) - sin(pi * x) * sin(pi * y)).max())
        self.assertGreater(numpy.log2(errors[0] / errors[1]), 3.7)

    def test_iterations_that_end_early(self):
        for method in ["vcycle", "cg"]:
            solution = patchmg.solve_poisson(1.0, cells=(16, 16), degree=2, method=method, max_iters=1, backend="cpu")
            self.assertEqual((solution.converged, solution.outcome, solution.iterations), (False, "max-iters", 1))

    def test_threads_share_a_problem(self):
        problem = patchmg.Poisson((16, 16), 2, backend="cpu")
        vcycle, load = problem.vcycle(), problem.load(1.0)
        expected, found = vcycle @ load, []
        work = lambda: found.extend([vcycle @ load for _ in range(10)] + [problem.solve(1.0).u])
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(len(found), 44)
        self.assertTrue(all((y == expected).all() for y in found if y.ndim == 1))

    def test_signals_end_a_solve(self):
        def interrupt(number, frame):
            raise InterruptedError

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        problem = patchmg.Poisson((32, 32, 32), 4, backend="cpu")
        load = problem.load(1.0)
        with self.assertRaises(InterruptedError):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            problem._native.solve(load, None, "vcycle", "f64", 1e-15, 10000)


class StokesTest(unittest.TestCase):
    VISCOSITY = 0.1

    @staticmethod
    def velocity(x, y):
        return sin(pi * x) * cos(pi * y), -cos(pi * x) * sin(pi * y)

    @classmethod
    def force(cls, x, y):
        u, v = cls.velocity(x, y)
        scale = 2 * pi**2 * cls.VISCOSITY
        return scale * u + y, scale * v + x

    def solve(self, cells, degree):
        flow = patchmg.solve_stokes(
            self.force, cells=(cells, cells), degree=degree, viscosity=self.VISCOSITY, boundary=self.velocity, backend="cpu"
        )
        self.assertTrue(flow.converged, flow)
        self.assertLess(flow.iterations, 15)
        self.assertLess(abs(flow.divergence).max(), 1e-10)
        points = numpy.random.default_rng(5).random((300, 2))
        x, y = points.T
        velocity = flow.velocity_at(points) - numpy.stack(self.velocity(x, y), axis=-1)
        return abs(velocity).max(), abs(flow.pressure_at(points) - (x * y - 0.25)).max()

    def test_orders(self):
        for degree in [1, 2]:
            coarse, fine = self.solve(8, degree), self.solve(16, degree)
            for error, finer in zip(coarse, fine):
                self.assertGreater(numpy.log2(error / finer), degree + 0.5)

    def test_values_are_those_at_nodes(self):
        flow = patchmg.solve_stokes(
            (1.0, 0.0), cells=(4, 8), degree=2, size=(1, 2), boundary=lambda x, y: (y * (2 - y), 0), backend="cpu"
        )
        for component, (values, nodes) in enumerate(zip(flow.velocity, flow.velocity_nodes)):
            # Along the other direction nodes lie within cells: no value is that of two.
            y, x = numpy.meshgrid(*reversed(nodes), indexing="ij")
            self.assertEqual(values.shape, y.shape)
            self.assertLess(abs(flow.velocity_at(numpy.stack([x, y], axis=-1))[..., component] - values).max(), 1e-12)
        # Poiseuille's flow, which the space has, with a force of half its friction: the pressure falls by 1.
        y = flow.velocity_nodes[0][1]
        self.assertLess(abs(flow.velocity[0] - (y * (2 - y))[:, None]).max(), 1e-7)
        self.assertLess(abs(flow.velocity[1]).max(), 1e-7)
        self.assertLess(abs(flow.pressure - (0.5 - flow.pressure_nodes[0])).max(), 1e-6)

    def test_vcycle_is_a_preconditioner_of_scipy(self):
        problem = patchmg.Stokes((8, 8), 2, backend="cpu")
        force = lambda x, y: (y * y, exp(x))
        load, operator = problem.load(force), problem.operator()
        x, y = numpy.random.default_rng(6).standard_normal((2, problem.dofs))
        self.assertLess(abs(x @ (operator @ y) - y @ (operator @ x)), 1e-11 * numpy.linalg.norm(x) * numpy.linalg.norm(y))
        iterations = []
        solution, info = gmres(
            operator, load, M=problem.vcycle(symmetric=False), rtol=1e-10, callback=iterations.append, callback_type="pr_norm"
        )
        self.assertEqual(info, 0)
        self.assertLess(len(iterations), 15)
        expected = problem.solve(force, rtol=1e-11)
        first = expected.velocity[0][:, 1:-1]
        self.assertLess(abs(solution[: first.size] - first.reshape(-1)).max(), 1e-7 * abs(first).max())

    def test_3d(self):
        flow = patchmg.solve_stokes((1.0, 0.0, 0.0), cells=(4, 4, 4), degree=1, mass=2.0, backend="cpu")
        self.assertTrue(flow.converged)
        self.assertEqual([values.shape for values in flow.velocity], [(8, 8, 9), (8, 9, 8), (9, 8, 8)])
        # A constant force is a gradient: nothing moves.
        self.assertLess(max(abs(values).max() for values in flow.velocity), 1e-8)


class RefusedTest(unittest.TestCase):
    def refused(self, message, call, *arguments, kind=ValueError, **options):
        with self.assertRaisesRegex(kind, re.escape(message)):
            call(*arguments, **options)

    def test_arguments(self):
        box = {"cells": (4, 4), "degree": 2, "backend": "cpu"}
        poisson = lambda rhs=1.0, **other: patchmg.solve_poisson(rhs, **{**box, **other})
        stokes = lambda force=(1.0, 0.0), **other: patchmg.solve_stokes(force, **{**box, **other})
        self.refused("cells is 3, but must be even in each direction", poisson, cells=(4, 3))
        self.refused("cells is -2, but must be even and positive", poisson, cells=(-2, 4))
        self.refused("two or three numbers", poisson, cells=(4,))
        self.refused("two or three numbers", poisson, cells=())
        self.refused("size is 1, but must be 2 numbers, as cells", poisson, size=(1,))
        self.refused("size is -1, but must be 1e-6 to 1e6", poisson, size=(1, -1))
        self.refused("degree is 11, but must be 1 to 10 in 2D", poisson, degree=11)
        self.refused("family is spectral, but must be continuous or discontinuous", poisson, family="spectral")
        self.refused("backend is tpu, but must be auto, cpu or cuda", poisson, backend="tpu")
        self.refused("method is magic, but must be fmg, vcycle, gmres, fgmres, cg", poisson, method="magic")
        self.refused("precision is f16, but must be f64, f32, mixed", poisson, precision="f16")
        self.refused("rtol is 0.0, but must be above 0 and below 1", poisson, rtol=0)
        self.refused("max-iters is 0, but must be at least 1", poisson, max_iters=0)
        self.refused("threads is 0", poisson, threads=0)
        self.refused("rhs has the shape (3,), but must be a number or have the shape (12, 12)", poisson, [1, 2, 3])
        self.refused("right-hand side is not finite: NaN at", poisson, float("nan"))
        self.refused("family is continuous, but must be discontinuous with boundary values", poisson, boundary=1.0)
        self.refused("boundary value is not finite", poisson, family="discontinuous", boundary=float("inf"))
        self.refused("boundary has the shape (2,)", poisson, family="discontinuous", boundary=[1, 2])
        self.refused("force has 1 components, but must have 2", stokes, [1.0])
        self.refused("boundary has 3 components, but must have 2", stokes, boundary=(0, 0, 0))
        self.refused("the net flux through the boundary is", stokes, boundary=lambda x, y: (x, 0))
        self.refused("nu is -1, but must be above 0", stokes, viscosity=-1)
        self.refused("mass is -1, but must be at least 0", stokes, mass=-1)
        self.refused("solver is cg", stokes, method="cg")

    def test_functions_of_the_caller(self):
        def broken(x, y):
            raise KeyError("of the caller")

        self.refused("of the caller", patchmg.solve_poisson, broken, cells=(4, 4), degree=1, kind=KeyError)

    def test_memory(self):
        problem = patchmg.Poisson((2**19, 2**19), 2, backend="cpu")
        self.refused("of free memory, the problem needs", problem.vcycle, kind=MemoryError)

    def test_maps(self):
        problem = patchmg.Poisson((4, 4), 2, backend="cpu")
        self.refused("precision is f32, but must be f64 or mixed", problem.vcycle, precision="f32")
        self.refused("dimension mismatch", problem.operator().matvec, numpy.ones(3))
        apply, dofs = problem._native.matrix().apply, problem.dofs
        self.refused("vector has length 3, expected 49", apply, numpy.ones(3), numpy.ones(dofs))
        self.refused("", apply, numpy.ones(dofs), numpy.ones(3), kind=BufferError)
        points = numpy.ones((2, 3))
        self.refused("points have the shape (2, 3)", problem.solve(1.0).at, points)
        self.refused("point is [1, 2", problem.solve(1.0).at, [1.0, 2.0])

    def test_devices(self):
        if patchmg.Poisson((4, 4), 2).backend == "cuda":
            self.skipTest("there is a CUDA device")
        self.refused("no CUDA device", patchmg.Poisson, (4, 4), 2, backend="cuda", kind=RuntimeError)


class DocumentationTest(unittest.TestCase):
    def test_programs_run(self):
        page = Path(__file__).resolve().parents[3] / "docs" / "python.md"
        programs = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(programs), 3)
        for program in programs:
            exec(compile(program, str(page), "exec"), {})


if __name__ == "__main__":
    unittest.main()
