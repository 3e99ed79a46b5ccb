"""Solutions as numpy arrays."""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike, NDArray

from ._native import Solved

Array = NDArray[numpy.float64]


class Result:
    """What the solver did.

    Attributes:
        converged: whether the residual reached the tolerance.
        outcome: why the iteration ended: "converged", "max-iters", "stagnated" or "diverged".
        message: the same in words.
        iterations: iterations done.
        residuals: `|b - A x| / |b|` at the start and after every iteration.
        setup_seconds: seconds for tables, vectors and the way of the load vector to the machine.
        solve_seconds: seconds to solve.
    """

    def __init__(self, solved: Solved) -> None:
        self._solved = solved
        self.converged: bool = solved.converged
        self.outcome: str = solved.outcome
        self.message: str = solved.message
        self.iterations: int = solved.iterations
        self.residuals: Array = numpy.array(solved.residuals)
        self.setup_seconds: float = solved.setup_seconds
        self.solve_seconds: float = solved.solve_seconds

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.message}, {self.iterations} iterations>"

    def _nodes(self, field: int) -> tuple[Array, ...]:
        return tuple(numpy.array(axis) for axis in self._solved.nodes(field))

    def _values(self, field: int, nodes: tuple[Array, ...]) -> Array:
        values = numpy.empty([len(axis) for axis in reversed(nodes)])
        self._solved.values(field, values)
        return values

    def _at(self, field: int, points: ArrayLike, dim: int) -> Array:
        points = numpy.ascontiguousarray(points, dtype=numpy.float64)
        if points.ndim == 0 or points.shape[-1] != dim:
            raise ValueError(f"points have the shape {points.shape}, but the last index must be that of {dim} coordinates")
        values = numpy.empty(points.shape[:-1])
        self._solved.evaluate(field, points.reshape(-1), values.reshape(-1))
        return values


class Solution(Result):
    """The solution of Poisson's equation, with what the solver did (`Result`).

    Attributes:
        u: values at all nodes, with the indices [z, y, x], or [y, x]. Nodes on faces between cells are there once for continuous
            elements, and once for each cell for discontinuous ones.
        nodes: coordinates of the nodes along x, y and z, or x and y.
    """

    def __init__(self, solved: Solved) -> None:
        super().__init__(solved)
        self.nodes: tuple[Array, ...] = self._nodes(0)
        self.u: Array = self._values(0, self.nodes)

    def at(self, points: ArrayLike) -> Array:
        """Values of the finite element function at points, whose last index is that of the coordinates."""
        return self._at(0, points, len(self.nodes))


class Flow(Result):
    """The solution of the Stokes equations, with what the solver did (`Result`).

    Attributes:
        velocity: each component at its nodes, with the indices [z, y, x], or [y, x].
        velocity_nodes: for each component the coordinates of these nodes along x, y and z, or x and y.
        pressure: the pressure with mean zero at its nodes.
        pressure_nodes: the coordinates of these.
        divergence: the divergence of the velocity at the nodes of the pressure.
    """

    def __init__(self, solved: Solved, dim: int) -> None:
        super().__init__(solved)
        self.velocity_nodes: tuple[tuple[Array, ...], ...] = tuple(self._nodes(field) for field in range(dim))
        self.velocity: tuple[Array, ...] = tuple(
            self._values(field, nodes) for field, nodes in enumerate(self.velocity_nodes)
        )
        self.pressure_nodes: tuple[Array, ...] = self._nodes(dim)
        self.pressure: Array = self._values(dim, self.pressure_nodes)
        self.divergence: Array = numpy.empty_like(self.pressure)
        solved.divergence(self.divergence)

    def velocity_at(self, points: ArrayLike) -> Array:
        """The velocity at points, whose last index is that of the coordinates; the last index of the result is the component."""
        dim = len(self.velocity)
        return numpy.stack([self._at(field, points, dim) for field in range(dim)], axis=-1)

    def pressure_at(self, points: ArrayLike) -> Array:
        """The pressure at points, whose last index is that of the coordinates."""
        return self._at(len(self.velocity), points, len(self.velocity))
