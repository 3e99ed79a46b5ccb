"""Poisson's equation and the Stokes equations on boxes, by matrix-free multigrid with high-order finite elements.

`solve_poisson` and `solve_stokes` take a right-hand side and return a solution as numpy arrays. `Poisson` and `Stokes` are the
equations with their discretization: their matrix and their V-cycle are operators of `scipy.sparse.linalg`.

Arrays on a grid have the indices `[z, y, x]`, in 2D `[y, x]`. Functions take arrays `x, y, z`, in 2D `x, y`, of one shape, and return
an array of that shape, or a number.

Errors: `ValueError` for arguments, `MemoryError` before anything is allocated that does not fit, `RuntimeError` for a GPU that is not
there. That an iteration did not converge is no error: see `converged` and `outcome` of a solution.
"""

from ._problems import Poisson, Stokes, solve_poisson, solve_stokes
from ._solutions import Flow, Solution

__all__ = ["Flow", "Poisson", "Solution", "Stokes", "solve_poisson", "solve_stokes"]
