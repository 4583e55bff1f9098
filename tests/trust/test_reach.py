"""Targets that no source reaches, equal sources, rows of any length: right, or refused."""

import time
from fractions import Fraction

import numpy as np
import pytest

from bers.errors import DataError, SolverError
from bers.trust.qp.constrained import solve_constrained
from bers.trust.qp.in_jax import weights_in_jax
from bers.trust.qp.reach import within_reach
from bers.trust.qp.simplex import FEASIBLE, solve

SETS = ("simplex", "at_most_one", "nonnegative")

# ---- every active set in turn --------------------------------------------------------------------


def _exact_products(M, t, origin):
    """(M − o)(M − o)ᵀ and (M − o)(t − o), without rounding until the end."""
    o = [Fraction(x) for x in origin]
    rows = [[Fraction(x) - y for x, y in zip(row, o, strict=True)] for row in (*M, t)]
    G = [[sum(x * y for x, y in zip(p, q, strict=True)) for q in rows] for p in rows[:-1]]
    G = np.array([[float(x) for x in row] for row in G])
    return G[:, :-1], G[:, -1]


def _enumerated(M, t, s, feasible):
    """Solve for every active set; the one whose conditions hold best is the answer."""
    if feasible == "at_most_one":
        a = _enumerated(M, t, s, "nonnegative")
        return a if a.sum() <= 1 else _enumerated(M, t, s, "simplex")
    N, sums = len(M), int(feasible == "simplex")
    G, h = _exact_products(M, t, M[0] if sums else np.zeros(len(t)))
    G = G + np.diag(s)
    active = (np.arange(2**N)[:, None] >> np.arange(N) & 1).astype(bool)
    active = active[1:] if sums else active
    if feasible == "free":
        return np.linalg.solve(G, h)
    K = np.zeros((len(active), N + sums, N + sums))
    both = active[:, :, None] & active[:, None, :]
    K[:, :N, :N] = np.where(both, G, 0.0) + np.eye(N) * ~active[:, :, None]
    right = np.where(active, h, 0.0)
    if sums:
        K[:, :N, N] = K[:, N, :N] = active
        right = np.column_stack([right, np.ones(len(active))])
    found = np.linalg.solve(K, right[..., None])[..., 0]
    a, price = found[:, :N], found[:, N:].sum(1, keepdims=True)
    slack = a @ G - h + price
    size = np.sqrt(np.diagonal(G))
    wrong = np.maximum(np.max(-a * size, axis=1), np.max(-slack / size, axis=1))
    return np.maximum(a[np.argmin(wrong)], 0.0)


def _drawn(i):
    """A problem, and how much of its target is out of reach: none in three of four."""
    rng = np.random.default_rng(i)
    feasible = FEASIBLE[i // 4 % 4]
    N, d = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    M = rng.standard_normal((N, d))
    t = rng.choice([0.3, 1.0, 4.0]) * rng.standard_normal(d)
    s = 10 ** rng.uniform(-4, 2, N)
    if i % 4:
        return M, t, s, feasible, 0.0
    size = 10 ** rng.uniform(0, 12)
    column = np.full(N, rng.standard_normal() if feasible == "simplex" else 0.0)
    M, t = np.column_stack([M, column]), np.append(t, size)
    if rng.random() < 0.5:  # in no coordinate of its own
        Q = np.linalg.qr(rng.standard_normal((d + 1, d + 1)))[0]
        M, t = M @ Q, t @ Q
    return M, t, s, feasible, size


def test_two_thousand_problems_by_every_active_set():
    refused, far = 0, 0
    for i in range(2000):
        M, t, s, feasible, size = _drawn(i)
        far += size > 0
        try:
            solution = solve(M, t, s, feasible=feasible)
        except SolverError:
            refused += 1
            continue
        exact = _enumerated(M, t, s, feasible)
        worst = np.abs(solution.a - exact).max() / max(1.0, np.abs(exact).max())
        assert worst <= 1e-6, (i, feasible, size, worst)
    assert far == 500
    assert refused < 20


# ---- out of reach --------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e12])
def test_what_no_source_can_change_does_not_matter(far):
    M, s = [[1.0, 0.0], [-1.0, 0.0]], [0.1, 0.1]
    for feasible in FEASIBLE:
        near = solve(M, [0.5, 0.0], s, feasible=feasible)
        solution = solve(M, [0.5, far], s, feasible=feasible)
        np.testing.assert_allclose(solution.a, near.a, rtol=0, atol=1e-9)
        assert solution.relative_gap <= 1e-9
        np.testing.assert_allclose(solution.value, 0.5 * far * far, rtol=1e-3)
        batch = solve(M, [[0.5, far], [0.5, 0.0]], s, feasible=feasible)
        np.testing.assert_allclose(batch.a, [near.a, near.a], rtol=0, atol=1e-9)
    some = solve(M, [0.5, far], s, feasible="at_most_one").a
    np.testing.assert_allclose(some, [0.5 / 1.1, 0.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("N", [50, 20_000])
def test_many_sources_and_a_feature_that_none_has(N, feasible):
    rng = np.random.default_rng(0)
    M, t = rng.standard_normal((N, 4)), rng.standard_normal(4)
    s = rng.uniform(0.5, 2.0, N)
    near = solve(M, t, s, feasible=feasible).a
    M, t = np.column_stack([M, np.zeros(N)]), np.append(t, 1e7)
    np.testing.assert_allclose(solve(M, t, s, feasible=feasible).a, near, rtol=0, atol=1e-9)


@pytest.mark.parametrize("feasible", FEASIBLE)
def test_bounds_and_constraints_with_a_target_out_of_reach(feasible):
    rng = np.random.default_rng(1)
    M, t, s = rng.standard_normal((6, 3)), rng.standard_normal(3), np.full(6, 0.1)
    far_M, far_t = np.column_stack([M, np.zeros(6)]), np.append(t, 1e8)
    for limits in ({"upper": 0.3}, {"constraints": (np.eye(6)[:2], 0.05, 0.1)}):
        near = solve_constrained(M, t, s, feasible=feasible, **limits)
        far = solve_constrained(far_M, far_t, s, feasible=feasible, **limits)
        np.testing.assert_allclose(far.a, near.a, rtol=0, atol=1e-7)
        assert far.relative_gap <= 1e-9


def test_out_of_reach_in_jax():
    a = weights_in_jax([[1.0, 0.0], [-1.0, 0.0]], [0.5, 1e6], [0.1, 0.1], "at_most_one")
    np.testing.assert_allclose(a, [0.5 / 1.1, 0.0], rtol=1e-6, atol=1e-9)


def test_the_part_within_reach():
    rng = np.random.default_rng(2)
    M, t = rng.standard_normal((3, 5)), rng.standard_normal(5)
    near = within_reach(M, t)
    np.testing.assert_allclose(M @ near, M @ t, rtol=1e-13)
    np.testing.assert_allclose(within_reach(M, near), near, rtol=1e-13)
    assert within_reach(np.zeros((2, 5)), t).tolist() == [0.0] * 5
    assert within_reach(rng.standard_normal((9, 5)), t) is t


# ---- equal sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("copies", [100, 2000])
def test_equal_sources_without_penalty_earn_equal_weights(copies, feasible):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        N, d = int(rng.integers(1, 40)), int(rng.choice([1, 2, 5, 20]))
        M, t = rng.standard_normal((N, d)), rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(d)
        if seed % 2:
            M *= 10 ** rng.uniform(-3, 3, (N, 1))
        who, order = rng.integers(0, N, copies), rng.permutation(copies)
        s = np.zeros(copies)
        a = solve(M[who], t, s, feasible=feasible).a
        largest = max(a.max(), 1e-300)
        assert max(np.ptp(a[who == i]) for i in set(who)) <= 1e-9 * largest
        moved = solve(M[who][order], t, s, feasible=feasible).a
        np.testing.assert_allclose(moved, a[order], rtol=0, atol=1e-6 * max(1.0, largest))


# ---- rows of any length --------------------------------------------------------------------------


@pytest.mark.parametrize("d", [5, 100])
@pytest.mark.parametrize("feasible", SETS)
def test_rows_of_very_different_length_are_solved_or_refused_soon(d, feasible):
    rng = np.random.default_rng(3)
    M = rng.standard_normal((50_000, d)) * 10 ** rng.uniform(-8, 8, (50_000, 1))
    t, s = rng.standard_normal(d), np.full(50_000, 0.1)
    before = time.perf_counter()
    try:
        gap = solve(M, t, s, feasible=feasible).relative_gap
    except SolverError as error:
        gap, told = 0.0, str(error)
    else:
        told = ""
    assert gap <= 1e-6
    # on the simplex this may be too hard; on the other sets every row may have its own unit
    assert not told or (feasible == "simplex" and "Bring the sources to one scale" in told)
    assert time.perf_counter() - before < 30


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("c", [1e-300, 1e-200, 1e200, 1e300])
def test_numbers_whose_squares_do_not_fit(c, feasible):
    rng = np.random.default_rng(4)
    M, t, s = rng.standard_normal((3, 4)), rng.standard_normal(4), np.zeros(3)
    a = solve(M, t, s, feasible=feasible).a
    np.testing.assert_allclose(
        solve(c * M, c * t, s, feasible=feasible).a, a, rtol=0, atol=1e-9 * max(1.0, a.max())
    )
    both = solve(np.stack([M, c * M]), np.stack([t, c * t]), s, feasible=feasible).a
    np.testing.assert_allclose(both, [a, a], rtol=0, atol=1e-9 * max(1.0, a.max()))


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize(("rows", "target"), [(1e300, 1.0), (1.0, 1e300)])
def test_rows_and_a_target_that_cannot_be_compared(rows, target, feasible):
    rng = np.random.default_rng(5)
    M, t = rows * rng.standard_normal((3, 2)), target * rng.standard_normal(2)
    with pytest.raises(SolverError, match="differ in size by more than 1e100"):
        solve(M, t, np.ones(3), feasible=feasible)


def test_a_target_of_zero():
    rng = np.random.default_rng(6)
    M, t = rng.standard_normal((3, 2)), np.zeros(2)
    inside = solve(M, t, np.zeros(3))
    assert inside.relative_gap <= 1e-9
    assert abs(inside.a.sum() - 1) <= 1e-12
    for feasible in FEASIBLE[1:]:
        assert solve(M, t, np.ones(3), feasible=feasible).a.tolist() == [0.0] * 3


@pytest.mark.parametrize("feasible", FEASIBLE)
def test_bounds_on_numbers_that_are_too_large(feasible):
    rng = np.random.default_rng(7)
    M, t, s = rng.standard_normal((4, 2)), rng.standard_normal(2), np.ones(4)
    for rows, target in ((1e300 * M, 1e300 * t), (1e300 * M, t), (M, 1e300 * t)):
        with pytest.raises(SolverError, match="could not be found|too large for bounds"):
            solve_constrained(rows, target, s, feasible=feasible, upper=0.26)


def test_an_empty_batch_has_no_weights():
    for feasible in FEASIBLE:
        for M, t, s in (((0, 3, 2), (2,), (3,)), ((3, 2), (0, 2), (3,)), ((0, 3, 2), (0, 2), (3,))):
            solution = solve(np.ones(M), np.ones(t), np.ones(s), feasible=feasible)
            assert solution.a.shape == (0, 3)
            assert solution.relative_gap.shape == (0,)
    with pytest.raises(DataError, match="N at least 1"):
        solve(np.ones((0, 0, 2)), np.ones(2), np.ones(0))
