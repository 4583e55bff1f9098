"""Off-the-shelf solvers on the weights' quadratic program, each called as directly as it allows.

Enters: N, d, and then M, t, s as `bers.trust.qp.simplex.solve` takes them. Leaves: weights on the
simplex. All that does not depend on M, t and s is made in advance: constraints, settings, the
pattern of a sparse matrix. Forming P = MMᵀ + diag(s) and q = −Mt belongs to the call, since ours
has to read M too.

Two forms. `dense`: N unknowns and P. `long`: the mixture z = Mᵀa as d further unknowns, so that
sparse solvers keep the structure of P and need not fill N² numbers.
"""

from collections.abc import Callable

import clarabel
import cvxopt
import daqp
import numpy as np
import piqp
import quadprog
import scipy.sparse as sp

Peer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From M, t, s to weights."""


def best_of(N: int, d: int) -> dict[str, Peer]:
    """The contenders for the fastest solver of N sources and d features."""
    dense = {"quadprog": quadprog_dense, "DAQP": daqp_dense, "PIQP": piqp_dense}
    long = {"PIQP, long form": piqp_long, "Clarabel, long form": clarabel_long}
    makers = {**dense, "Clarabel": clarabel_dense, **long}
    return {name: make(N, d) for name, make in makers.items()}


def quadprog_dense(N: int, d: int) -> Peer:
    """Goldfarb and Idnani's active sets, in C."""
    C = np.concatenate([np.ones((N, 1)), np.eye(N)], axis=1)
    b = np.zeros(N + 1)
    b[0] = 1.0

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        P, q = _dense(M, t, s)
        return quadprog.solve_qp(P, -q, C, b, 1)[0]

    return solve


def daqp_dense(N: int, d: int) -> Peer:
    """Dual active sets, in C. Bounds need no rows."""
    A = np.ones((1, N))
    upper, lower = np.full(N + 1, 1e30), np.zeros(N + 1)
    upper[-1] = lower[-1] = 1.0
    sense = np.zeros(N + 1, np.int32)
    sense[-1] = 5  # an equality

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        P, q = _dense(M, t, s)
        return daqp.solve(P, q, A, upper, lower, sense)[0]

    return solve


def piqp_dense(N: int, d: int) -> Peer:
    """An interior point method, in C++. Bounds need no rows."""
    A, one, zero = np.ones((1, N), order="F"), np.ones(1), np.zeros(N)

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        P, q = _dense(M, t, s)
        solver = piqp.DenseSolver()
        solver.setup(P.T, q, A, one, None, None, None, zero, None)
        solver.solve()
        return solver.result.x

    return solve


def piqp_long(N: int, d: int) -> Peer:
    """The same method on sparse matrices."""
    form = _Long(N, d)
    A, diagonal = form.equalities(), form.diagonal()
    target = np.zeros(d + 1)
    target[-1] = 1.0
    lower = np.concatenate([np.zeros(N), np.full(d, -np.inf)])

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        form.fill(A, M)
        diagonal.data[:N] = s
        solver = piqp.SparseSolver()
        solver.setup(diagonal, form.cost(t), A, target, None, None, None, lower, None)
        solver.solve()
        return solver.result.x[:N]

    return solve


def clarabel_dense(N: int, d: int) -> Peer:
    """An interior point method, in Rust, which takes sparse matrices only."""
    rows = sp.csc_matrix(np.concatenate([np.ones((1, N)), -np.eye(N)]))
    limits = np.zeros(N + 1)
    limits[0] = 1.0
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(N)]
    settings = _quiet()
    P_sparse = sp.csc_matrix(np.triu(np.ones((N, N))))
    upper = N * P_sparse.indices.astype(np.int64) + np.repeat(np.arange(N), np.arange(1, N + 1))

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        P, q = _dense(M, t, s)
        P_sparse.data = P.ravel()[upper]
        solver = clarabel.DefaultSolver(P_sparse, q, rows, limits, cones, settings)
        return np.array(solver.solve().x)

    return solve


def clarabel_long(N: int, d: int) -> Peer:
    """The same method with the mixture as unknowns."""
    form = _Long(N, d)
    A, diagonal = form.equalities(bounds=True), form.diagonal()
    limits = np.zeros(d + 1 + N)
    limits[d] = 1.0
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(N)]
    settings = _quiet()

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        form.fill(A, M)
        diagonal.data[:N] = s
        solver = clarabel.DefaultSolver(diagonal, form.cost(t), A, limits, cones, settings)
        return np.array(solver.solve().x)[:N]

    return solve


def cvxopt_as_in_the_paper(N: int, d: int) -> Peer:
    """From scratch: every matrix is made for the call."""
    cvxopt.solvers.options["show_progress"] = False

    def solve(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        P, q = _dense(M, t, s)
        made = map(cvxopt.matrix, (P, q, -np.eye(N), np.zeros(N), np.ones((1, N)), np.ones(1)))
        return np.array(cvxopt.solvers.qp(*made)["x"]).ravel()

    return solve


def _dense(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    P = M @ M.T
    P.flat[:: len(s) + 1] += s
    return P, -(M @ t)


def _quiet() -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return settings


class _Long:
    """min ½‖z‖² + ½ Σ sᵢaᵢ² − tᵀz over (a, z) with Mᵀa − z = 0 and Σa = 1."""

    def __init__(self, N: int, d: int) -> None:
        self.N, self.d = N, d

    def diagonal(self) -> sp.csc_matrix:
        return sp.csc_matrix(sp.eye(self.N + self.d))

    def cost(self, t: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(self.N), -t])

    def equalities(self, *, bounds: bool = False) -> sp.csc_matrix:
        blocks = [[np.ones((self.d, self.N)), -np.eye(self.d)], [np.ones((1, self.N)), None]]
        if bounds:
            blocks.append([-sp.eye(self.N), None])
        return sp.csc_matrix(sp.block_array(blocks))

    def fill(self, A: sp.csc_matrix, M: np.ndarray) -> None:
        """Write M into the columns of a: d numbers each, then the one, then the bound if any."""
        each = A.indptr[1]
        A.data[: self.N * each].reshape(self.N, each)[:, : self.d] = M
