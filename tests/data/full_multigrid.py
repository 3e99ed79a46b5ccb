"""Residual histories of full multigrid for f = 1 by assembled matrices and dense inverses of patch matrices.

Prints the lines of oracles-fine.jsonl (needs numpy and scipy):

    python3 tests/data/full_multigrid.py > tests/data/oracles-fine.jsonl

or, with the argument `gauss-seidel`, iterations of V-cycles with point Gauss-Seidel in lexicographic order in 2D, level 4.

Shares no code with the library: Gauss-Lobatto nodes are roots of Legendre polynomials, the 1D matrices are assembled
sparse matrices, and a patch is solved by the dense inverse of its Kronecker sum. Its histories are those of oracles.jsonl to
3e-3 at every entry above 1e-11, mostly to 1e-4.
"""

import json
import sys

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular
from numpy.polynomial import legendre

# Dimension, degree, level. On finer levels of high degree, the first residual is less than a hundred times rounding.
CASES = (
    [(2, 6, 6), (2, 7, 6), (2, 1, 7), (2, 2, 7), (2, 3, 7), (2, 5, 7), (2, 6, 7)]
    + [(2, 1, 8), (2, 3, 8), (2, 1, 9), (2, 2, 9)]
    + [(3, 6, 3), (3, 7, 3), (3, 8, 3), (3, 1, 5), (3, 2, 5), (3, 1, 7)]
)
RTOL = 1e-9


def gauss_lobatto(k):
    series = np.zeros(k + 1)
    series[k] = 1
    first = legendre.legder(series)
    x = np.sort(np.real(legendre.legroots(first))) if k > 1 else np.array([])
    for _ in range(3):  # Newton's method
        x = x - legendre.legval(x, first) / legendre.legval(x, legendre.legder(first))
    return (np.concatenate([[-1.0], x, [1.0]]) + 1) / 2


def lagrange(nodes, x):
    """Values and derivatives, a row for each point."""
    n = len(nodes)
    values, derivatives = np.zeros((len(x), n)), np.zeros((len(x), n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        scale = np.prod([nodes[i] - nodes[j] for j in others])
        for q, t in enumerate(x):
            values[q, i] = np.prod([t - nodes[j] for j in others]) / scale
            derivatives[q, i] = sum(np.prod([t - nodes[j] for j in others if j != m]) for m in others) / scale
    return values, derivatives


class Level:
    def __init__(self, dim, k, level):
        n, nodes = 2**level, gauss_lobatto(k)
        points, weights = legendre.leggauss(k + 2)
        points, weights = (points + 1) / 2, weights / 2
        values, derivatives = lagrange(nodes, points)
        mass = values.T @ np.diag(weights) @ values / n
        stiffness = derivatives.T @ np.diag(weights) @ derivatives * n
        dofs = np.array([np.arange(k + 1) + c * k for c in range(n)])
        place = (np.repeat(dofs, k + 1, axis=1).ravel(), np.tile(dofs, (1, k + 1)).ravel())
        size = (n * k + 1, n * k + 1)
        assemble = lambda cell: sp.csr_matrix((np.tile(cell.ravel(), n), place), shape=size)[1:-1, 1:-1].tocsr()
        self.dim, self.k, self.n = dim, k, n
        self.mass, self.stiffness = assemble(mass), assemble(stiffness)
        load = np.zeros(n * k + 1)
        np.add.at(load, dofs.ravel(), np.tile(values.T @ weights / n, n))
        self.load = load[1:-1]
        if level > 1:
            left, right = lagrange(nodes, nodes / 2)[0], lagrange(nodes, (1 + nodes) / 2)[0]
            p = sp.lil_matrix((n * k + 1, n // 2 * k + 1))
            for c in range(n // 2):
                p[2 * c * k : 2 * (c + 1) * k + 1, c * k : (c + 1) * k + 1] = np.vstack([left, right[1:]])
            self.prolongation = p.tocsr()[1:-1, 1:-1].tocsr()
        self.width = 2 * k - 1  # unknowns of a patch in a direction
        m, a = (matrix[: self.width, : self.width].toarray() for matrix in (self.mass, self.stiffness))
        patch = np.kron(m, a) + np.kron(a, m)
        if dim == 3:
            patch = np.kron(m, patch) + np.kron(a, np.kron(m, m))
        self.patch_inverse = np.linalg.inv(patch)

    def along_axes(self, matrices, x):
        for axis, matrix in enumerate(matrices):
            y = np.moveaxis(x, axis, 0)
            y = (matrix @ y.reshape(y.shape[0], -1)).reshape((matrix.shape[0],) + y.shape[1:])
            x = np.moveaxis(y, 0, axis)
        return np.ascontiguousarray(x)

    def apply(self, x):
        terms = ([self.stiffness if axis == d else self.mass for axis in range(self.dim)] for d in range(self.dim))
        return sum(self.along_axes(term, x) for term in terms)

    def right_hand_side(self):
        b = self.load
        for _ in range(self.dim - 1):
            b = np.multiply.outer(b, self.load)
        return b

    def smooth(self, b, x):
        """Patches of all inner vertices, color by color; the last axis is the first direction."""
        for color in range(2**self.dim):
            starts = [np.arange(color >> d & 1, self.n - 1, 2) * self.k for d in reversed(range(self.dim))]
            if not all(len(start) for start in starts):
                continue
            place = []
            for axis, start in enumerate(starts):
                shape = [1] * (2 * self.dim)
                shape[axis], shape[self.dim + axis] = len(start), self.width
                place.append((start[:, None] + np.arange(self.width)).reshape(shape))
            local = (b - self.apply(x))[tuple(place)]
            x[tuple(place)] += (local.reshape(-1, self.width**self.dim) @ self.patch_inverse).reshape(local.shape)
        return x


def v_cycle(levels, l, b, x):
    level = levels[l]
    if l == 1:
        return (level.patch_inverse @ b.ravel()).reshape(b.shape)
    x = level.smooth(b, x)
    coarse_b = level.along_axes([level.prolongation.T.tocsr()] * level.dim, b - level.apply(x))
    coarse = v_cycle(levels, l - 1, coarse_b, np.zeros_like(coarse_b))
    return level.smooth(b, x + level.along_axes([level.prolongation] * level.dim, coarse))


def full_multigrid(dim, k, finest):
    """Residuals until the tolerance, and the one where ten V-cycles more end."""
    levels = {l: Level(dim, k, l) for l in range(1, finest + 1)}
    loads = {finest: levels[finest].right_hand_side()}
    for l in range(finest, 1, -1):
        loads[l - 1] = levels[l].along_axes([levels[l].prolongation.T.tocsr()] * dim, loads[l])
    x = v_cycle(levels, 1, loads[1], None)
    for l in range(2, finest + 1):
        x = v_cycle(levels, l, loads[l], levels[l].along_axes([levels[l].prolongation] * dim, x))
    b = loads[finest]
    residual = lambda: np.linalg.norm(b - levels[finest].apply(x)) / np.linalg.norm(b)
    history = [residual()]
    while history[-1] > RTOL or len(history) == 1:
        x = v_cycle(levels, finest, b, x)
        history.append(residual())
    for _ in range(10):
        x = v_cycle(levels, finest, b, x)
    return history, residual()


class GaussSeidel(Level):
    def smooth(self, b, x):
        """Dof after dof, in 2D: `x + (D + L)^-1 (b - A x)`."""
        if not hasattr(self, "lower"):
            matrix = sp.kron(self.mass, self.stiffness) + sp.kron(self.stiffness, self.mass)
            self.lower = sp.tril(matrix).tocsr()
        return x + spsolve_triangular(self.lower, (b - self.apply(x)).ravel()).reshape(x.shape)


def gauss_seidel_counts(rtol, finest=4):
    counts = []
    for k in range(1, 6):
        levels = {l: GaussSeidel(2, k, l) for l in range(1, finest + 1)}
        b = levels[finest].right_hand_side()
        x, count = np.zeros_like(b), 0
        while np.linalg.norm(b - levels[finest].apply(x)) > rtol * np.linalg.norm(b):
            x, count = v_cycle(levels, finest, b, x), count + 1
        counts.append(count)
    return counts


if "gauss-seidel" in sys.argv:
    for rtol in (1e-8, 1e-9):
        print(rtol, gauss_seidel_counts(rtol))
    sys.exit()

for dim, k, level in CASES:
    history, rounding = full_multigrid(dim, k, level)
    line = {"dim": dim, "degree": k, "refine": level, "rtol": RTOL}
    line |= {"fmg": [float(f"{r:.5g}") for r in history], "rounding": float(f"{rounding:.2g}")}
    print(json.dumps(line))
    sys.stdout.flush()
