"""Equations on boxes, and their solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._solutions import Flow, Solution

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

Array = NDArray[numpy.float64]
#: A function of arrays x, y, z (in 2D x, y), or its values, or a number.
Data = Union[Callable[..., ArrayLike], ArrayLike]
#: A function of arrays x, y, z that returns the components of a vector, or the components.
VectorData = Union[Callable[..., Sequence[ArrayLike]], Sequence[ArrayLike]]


def _box(cells: Sequence[int], size: Sequence[float] | None) -> tuple[list[int], list[float]]:
    cells = [int(count) for count in cells]
    if min(cells, default=1) < 1:
        raise ValueError(f"cells is {min(cells)}, but must be even and positive in each direction")
    return cells, [1.0] * len(cells) if size is None else [float(length) for length in size]


def _grid(axes: Sequence[Sequence[float]]) -> tuple[Array, ...]:
    """Coordinates x, y, z of all combinations, as arrays with the indices [z, y, x]."""
    return tuple(reversed(numpy.meshgrid(*reversed(axes), indexing="ij")))


def _values(what: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Values at points, of a number or of an array of the points' shape."""
    value = numpy.asarray(value, dtype=numpy.float64)
    if value.ndim != 0 and value.shape != shape:
        raise ValueError(f"{what} has the shape {value.shape}, but must be a number or have the shape {shape}")
    return numpy.ascontiguousarray(numpy.broadcast_to(value, shape))


class _Problem:
    """An equation with its discretization and the machine that computes.

    Attributes:
        dofs: unknowns, the length of vectors.
        backend: "cpu" or "cuda".
    """

    def __init__(self, native: _native.Problem, dim: int) -> None:
        self._native = native
        self._dim = dim
        self.dofs: int = native.dofs
        self.backend: str = native.backend

    def _map(self, native: _native.Map, is_symmetric: bool) -> LinearOperator:
        from scipy.sparse.linalg import LinearOperator

        def matvec(x: ArrayLike) -> Array:
            y = numpy.empty(self.dofs)
            native.apply(numpy.ascontiguousarray(x, dtype=numpy.float64).reshape(-1), y)
            return y

        rmatvec = matvec if is_symmetric else None
        return LinearOperator((self.dofs, self.dofs), matvec=matvec, rmatvec=rmatvec, dtype=numpy.float64)

    def operator(self) -> LinearOperator:
        """The matrix `A`, which is symmetric, as an operator of scipy. No matrix is stored."""
        return self._map(self._native.matrix(), is_symmetric=True)

    def vcycle(self, *, symmetric: bool = True, precision: str = "f64") -> LinearOperator:
        """One V-cycle, an approximate inverse of `A`, as an operator of scipy: a preconditioner `M`.

        Arguments:
            symmetric: steps after the coarse correction are the adjoint of those before it, as conjugate gradients need.
            precision: "f64", or "mixed" for a V-cycle in float32. The rounding of the latter makes it no exact linear map.
        """
        if precision not in ("f64", "mixed"):
            raise ValueError(f"precision is {precision}, but must be f64 or mixed")
        return self._map(self._native.vcycle(symmetric, precision), symmetric and precision == "f64")

    def _field_load(self, what: str, field: int, value: ArrayLike) -> Array:
        axes = self._native.load_points(field)
        values = _values(what, value, tuple(len(axis) for axis in reversed(axes)))
        load = numpy.empty(self.dofs)
        self._native.load(field, values.reshape(-1), load)
        return load

    def _boundary_load(self, values: Array) -> Array:
        load = numpy.empty(self.dofs)
        self._native.boundary_load(values, load)
        return load


class Poisson(_Problem):
    """`-Δu = f` on a box whose lower corner is the origin.

    Unknowns are values at nodes, lexicographic, x fastest. Continuous elements are zero on the boundary, where they have no unknowns.

    Arguments:
        cells: cells along x, y and z, or x and y: even numbers. Multiples of powers of two have coarser meshes.
        degree: polynomial degree: continuous elements 1 to 10 in 2D, 1 to 8 in 3D; discontinuous ones 1 to 8.
        size: side lengths of the box, 1 unless given.
        family: "continuous", or "discontinuous": symmetric interior penalty.
        backend: "cpu", "cuda", or "auto": the first CUDA device if there is one.
        threads: of the CPU; as many as there are cores unless given.
    """

    def __init__(
        self,
        cells: Sequence[int],
        degree: int,
        *,
        size: Sequence[float] | None = None,
        family: str = "continuous",
        backend: str = "auto",
        threads: int | None = None,
    ) -> None:
        cells, size = _box(cells, size)
        super().__init__(_native.Problem.poisson(family, cells, size, degree, backend, threads), len(cells))
        self._has_boundary_values = family == "discontinuous"

    @property
    def points(self) -> tuple[Array, ...]:
        """Coordinates x, y, z of the quadrature points of the right-hand side, as arrays with the indices [z, y, x]."""
        return _grid(self._native.load_points(0))

    def load(self, rhs: Data, boundary: Data | None = None) -> Array:
        """The load vector `b_i = ∫ f φ_i`, and what values on the boundary add to it.

        Arguments:
            rhs: `f`: a function, its values at `points`, or a number.
            boundary: `u` on the boundary, a function or a number, with discontinuous elements; zero unless given.
        """
        load = self._field_load("rhs", 0, rhs(*self.points) if callable(rhs) else rhs)
        if boundary is None:
            return load
        if not self._has_boundary_values:
            raise ValueError("family is continuous, but must be discontinuous with boundary values")
        points = [numpy.array(axis) for axis in self._native.boundary_points()]
        values = boundary(*points) if callable(boundary) else boundary
        return load + self._boundary_load(_values("boundary", values, points[0].shape))

    def solve(
        self,
        rhs: Data,
        *,
        boundary: Data | None = None,
        method: str = "fmg",
        precision: str = "f64",
        rtol: float = 1e-9,
        max_iters: int = 100,
    ) -> Solution:
        """Solves until `|b - A x| <= rtol |b|`; `rhs` and `boundary` are those of `load`.

        Arguments:
            method: "fmg", full multigrid; "vcycle", V-cycle iteration; or "cg", "gmres", "fgmres", preconditioned by a V-cycle.
            precision: "f64"; "mixed", a V-cycle in float32 under a solver in float64; or "f32".
            rtol: above 0 and below 1.
            max_iters: at least 1.
        """
        load = self.load(rhs, boundary)
        return Solution(self._native.solve(load, None, method, precision, rtol, max_iters))


class Stokes(_Problem):
    """`s u - ν Δu + ∇p = f`, `∇·u = 0` on a box whose lower corner is the origin, `u` given on its boundary.

    By Raviart-Thomas elements `RT_k x Q_k`: velocities are divergence-free in every point. Unknowns are those of each component of the
    velocity, then those of the pressure. `A` is singular: pressures are determined but for a constant.

    Arguments:
        cells, size, backend, threads: as of `Poisson`.
        degree: `k`: 1 to 8 in 2D, 1 to 5 in 3D.
        viscosity: `ν`, above 0.
        mass: `s`, at least 0.
    """

    def __init__(
        self,
        cells: Sequence[int],
        degree: int,
        *,
        size: Sequence[float] | None = None,
        viscosity: float = 1.0,
        mass: float = 0.0,
        backend: str = "auto",
        threads: int | None = None,
    ) -> None:
        cells, size = _box(cells, size)
        native = _native.Problem.stokes(cells, size, degree, viscosity, mass, backend, threads)
        super().__init__(native, len(cells))

    def points(self, component: int) -> tuple[Array, ...]:
        """Coordinates x, y, z of the quadrature points of a component of the force, as arrays with the indices [z, y, x]."""
        if not 0 <= component < self._dim:
            raise ValueError(f"component is {component}, but must be 0 to {self._dim - 1}")
        return _grid(self._native.load_points(component))

    def _components(self, what: str, components: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
        if len(components) != self._dim:
            raise ValueError(f"{what} has {len(components)} components, but must have {self._dim}")
        return components

    def _boundary_values(self, boundary: VectorData) -> Array:
        points = [numpy.array(axis) for axis in self._native.boundary_points()]
        components = self._components("boundary", boundary(*points) if callable(boundary) else boundary)
        return numpy.stack([_values("boundary", value, points[0].shape) for value in components], axis=-1).reshape(-1)

    def _load(self, force: VectorData, boundary: Array | None) -> Array:
        load = numpy.zeros(self.dofs)
        for d in range(self._dim):
            components = force(*self.points(d)) if callable(force) else force
            load += self._field_load("force", d, self._components("force", components)[d])
        return load if boundary is None else load + self._boundary_load(boundary)

    def load(self, force: VectorData, boundary: VectorData | None = None) -> Array:
        """The load vector of a force, and what velocities on the boundary add to it.

        Arguments:
            force: `f`: a function that returns its components, or the components: numbers, or values at their `points`.
            boundary: `u` on the boundary: a function that returns its components, or numbers; zero unless given. As much must flow out
                of the box as into it.
        """
        return self._load(force, None if boundary is None else self._boundary_values(boundary))

    def solve(
        self,
        force: VectorData,
        *,
        boundary: VectorData | None = None,
        method: str = "fgmres",
        precision: str = "f64",
        rtol: float = 1e-9,
        max_iters: int = 100,
    ) -> Flow:
        """Solves as `Poisson.solve` does, but not by "cg"; `force` and `boundary` are those of `load`."""
        values = None if boundary is None else self._boundary_values(boundary)
        load = self._load(force, values)
        return Flow(self._native.solve(load, values, method, precision, rtol, max_iters), self._dim)


def solve_poisson(
    rhs: Data,
    *,
    cells: Sequence[int],
    degree: int,
    size: Sequence[float] | None = None,
    boundary: Data | None = None,
    family: str = "continuous",
    method: str = "fmg",
    precision: str = "f64",
    rtol: float = 1e-9,
    max_iters: int = 100,
    backend: str = "auto",
    threads: int | None = None,
) -> Solution:
    """Solves `-Δu = f` on a box: `Poisson(...).solve(...)`, which describe the arguments."""
    problem = Poisson(cells, degree, size=size, family=family, backend=backend, threads=threads)
    return problem.solve(
        rhs, boundary=boundary, method=method, precision=precision, rtol=rtol, max_iters=max_iters
    )


def solve_stokes(
    force: VectorData,
    *,
    cells: Sequence[int],
    degree: int,
    size: Sequence[float] | None = None,
    viscosity: float = 1.0,
    mass: float = 0.0,
    boundary: VectorData | None = None,
    method: str = "fgmres",
    precision: str = "f64",
    rtol: float = 1e-9,
    max_iters: int = 100,
    backend: str = "auto",
    threads: int | None = None,
) -> Flow:
    """Solves `s u - ν Δu + ∇p = f`, `∇·u = 0` on a box: `Stokes(...).solve(...)`, which describe the arguments."""
    problem = Stokes(cells, degree, size=size, viscosity=viscosity, mass=mass, backend=backend, threads=threads)
    return problem.solve(
        force, boundary=boundary, method=method, precision=precision, rtol=rtol, max_iters=max_iters
    )
