"""Bounds and further constraints against two referees, and by a certificate of our own."""

import daqp
import numpy as np
import pytest
import quadprog

from bers.errors import ConfigError, DataError, SolverError
from bers.trust.qp.constrained import solve_constrained
from bers.trust.qp.simplex import FEASIBLE, solve

SETS = ("simplex", "at_most_one", "nonnegative")


def _problem(seed, N, d=5, spread=3.0):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((N, d)),
        spread * rng.standard_normal(d),
        10 ** rng.uniform(-3, 1, N),
    )


def _bounds(seed, N):
    """Some loose, some tight, none of the 0 that quadprog trips over; enough for a sum of 1."""
    rng = np.random.default_rng(seed)
    upper = rng.random(N) + 0.01
    return upper / upper.sum() * rng.uniform(1.05, 4)


def _quadprog(M, t, s, feasible, upper, A=None, low=None, high=None):
    """quadprog wants Cᵀa ≥ b, equalities first."""
    N = len(M)
    one = np.ones((1, N))
    equal = [(one, [1.0])] if feasible == "simplex" else []
    least = [(-one, [-1.0])] if feasible == "at_most_one" else []
    if feasible != "free":
        least.append((np.eye(N), np.zeros(N)))
    if upper is not None:
        least.append((-np.eye(N), -upper))
    if A is not None:
        same = low == high
        equal.append((A[same], low[same]))
        least += [(A[~same], low[~same]), (-A[~same], -high[~same])]
    C = np.concatenate([rows for rows, _ in equal + least])
    b = np.concatenate([values for _, values in equal + least])
    meq = sum(len(rows) for rows, _ in equal)
    return quadprog.solve_qp(M @ M.T + np.diag(s), M @ t, C.T, b, meq)[0]


def _daqp(M, t, s, feasible, upper):
    N = len(M)
    x, _, flag, _ = daqp.solve(
        M @ M.T + np.diag(s),
        -M @ t,
        np.ones((1, N)),
        np.append(upper, 1.0 if feasible != "nonnegative" else 1e30),
        np.append(np.zeros(N), 1.0 if feasible == "simplex" else -1e30),
        np.append(np.zeros(N), 5 if feasible == "simplex" else 0).astype(np.int32),
        primal_tol=1e-12,
    )
    assert flag == 1
    return x


def _gap(M, t, s, a, feasible, upper):
    """gᵀa less the least gᵀx over the set, which fills up the cheapest sources one by one."""
    g = s * a - M @ (t - M.T @ a)
    left, least = 1.0 if feasible != "nonnegative" else np.inf, 0.0
    for i in np.argsort(g):
        if left <= 0 or (feasible != "simplex" and g[i] >= 0):
            break
        some = min(left, upper[i])
        left, least = left - some, least + some * g[i]
    return g @ a - least


def _check(M, t, s, feasible, upper, solution):
    a = solution.a
    assert np.all(a >= 0)
    assert np.all(a <= upper * (1 + 1e-11))
    if feasible == "simplex":
        assert abs(a.sum() - 1) <= 1e-12
    if feasible == "at_most_one":
        assert a.sum() <= 1 + 1e-12
    rest = t - M.T @ a
    value = 0.5 * (rest @ rest + np.sum(s * a * a))
    scale = value + 0.5 * t @ t
    assert _gap(M, t, s, a, feasible, upper) <= 1e-10 * scale
    assert 0 <= solution.gap <= 1e-10 * scale
    np.testing.assert_allclose(solution.value, value, rtol=1e-10)
    assert solution.relative_gap <= 1e-10


# ---- upper bounds ------------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
def test_bounded_weights_and_their_referees(feasible, spread):
    tight = 0
    for seed in range(60):
        N = int(np.random.default_rng(seed).integers(3, 41))
        M, t, s = _problem(seed, N, spread=spread)
        upper = _bounds(seed, N)
        solution = solve_constrained(M, t, s, feasible=feasible, upper=upper)
        _check(M, t, s, feasible, upper, solution)
        for referee in (_quadprog, _daqp):
            expected = referee(M, t, s, feasible, upper)
            np.testing.assert_allclose(solution.a, expected, rtol=0, atol=1e-8)
        tight += np.any(solve(M, t, s, feasible=feasible).a > upper)
    assert tight > 10


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("d", [2, 21])
def test_twenty_thousand_bounded_sources(feasible, d):
    M, t, _ = _problem(1, 20_000, d)
    s, upper = np.full(20_000, 0.01), np.full(20_000, 0.01)
    solution = solve_constrained(M, t, s, feasible=feasible, upper=0.01)
    _check(M, t, s, feasible, upper, solution)
    if feasible != "nonnegative":
        assert np.sum(solution.a >= 0.01 * (1 - 1e-9)) > 10


@pytest.mark.parametrize("feasible", FEASIBLE)
def test_bounds_that_do_not_bind_change_nothing(feasible):
    M, t, s = _problem(2, 12)
    a = solve(M, t, s, feasible=feasible).a
    for upper in (None, np.inf, 1e9, np.full(12, 50.0)):
        again = solve_constrained(M, t, s, feasible=feasible, upper=upper).a
        np.testing.assert_array_equal(again, a)


def test_some_bounds_are_infinite():
    for seed in range(20):
        M, t, s = _problem(seed, 10)
        upper = np.where(np.arange(10) % 2, np.inf, 0.05)
        for feasible in SETS:
            a = solve_constrained(M, t, s, feasible=feasible, upper=upper).a
            expected = _quadprog(M, t, s, feasible, np.minimum(upper, 1e3))
            np.testing.assert_allclose(a, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("N", [1, 2, 3, 6, 7, 10, 30, 49])
def test_bounds_that_leave_one_point(N):
    """N times 1/N is often a little less than 1 in floating point."""
    M, t, s = _problem(3, N)
    solution = solve_constrained(M, t, s, upper=1 / N)
    np.testing.assert_allclose(solution.a, 1 / N, rtol=1e-12)
    assert solution.relative_gap <= 1e-11


def test_a_bound_of_zero_leaves_a_source_out():
    M, t, s = _problem(4, 8)
    best = np.argmax(solve(M, t, s).a)
    upper = np.where(np.arange(8) == best, 0.0, 1.0)
    others = np.arange(8) != best
    a = solve_constrained(M, t, s, upper=upper).a
    assert a[best] == 0
    np.testing.assert_allclose(a[others], solve(M[others], t, s[others]).a, rtol=0, atol=1e-12)
    assert not np.any(solve_constrained(M, t, s, feasible="at_most_one", upper=0).a)


@pytest.mark.parametrize("feasible", SETS)
def test_bounds_and_a_source_without_data(feasible):
    for seed in range(20):
        M, t, s = _problem(seed, 9)
        upper = np.full(9, 0.2)
        s[4] = np.inf
        a = solve_constrained(M, t, s, feasible=feasible, upper=upper).a
        assert a[4] == 0
        known = np.arange(9) != 4
        expected = _quadprog(M[known], t, s[known], feasible, upper[known])
        np.testing.assert_allclose(a[known], expected, rtol=0, atol=1e-8)


def test_free_weights_with_bounds():
    for seed in range(20):
        M, t, s = _problem(seed, 8)
        a = solve_constrained(M, t, s, feasible="free", upper=0.1).a
        expected = _quadprog(M, t, s, "free", np.full(8, 0.1))
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-8)


# ---- further constraints -----------------------------------------------------------------------


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("bounded", [False, True])
def test_rows_of_constraints(feasible, bounded):
    """One equality, one two-sided, one one-sided, around a point that is known to be allowed."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        N = int(rng.integers(5, 31))
        M, t, s = _problem(seed, N)
        inside = rng.dirichlet(np.ones(N)) * (1.0 if feasible == "simplex" else 0.9)
        A = rng.standard_normal((3, N))
        middle = A @ inside
        low, high = middle - np.array([0, 0.05, 0.01]), middle + np.array([0, 0.05, 1e3])
        upper = np.maximum(2.0 / N, 1.01 * inside) if bounded else None
        a = solve_constrained(M, t, s, feasible=feasible, upper=upper, constraints=(A, low, high)).a
        expected = _quadprog(M, t, s, feasible, upper, A, low, high)
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-8)
        assert abs(A[0] @ a - low[0]) <= 1e-10
        assert np.all(A @ a >= low - 1e-10)
        assert np.all(A @ a <= high + 1e-10)
        if feasible == "simplex":
            assert abs(a.sum() - 1) <= 1e-12


def test_the_unit_does_not_matter():
    M, t, s = _problem(5, 10)
    rows = (np.eye(10)[:2], 0.05, 0.1)
    a = solve_constrained(M, t, s, upper=0.3, constraints=rows).a
    for c in (1e-70, 1e-8, 1e8, 1e70):
        again = solve_constrained(c * M, c * t, c * c * s, upper=0.3, constraints=rows)
        np.testing.assert_allclose(again.a, a, rtol=0, atol=1e-9)


def test_constraints_on_a_source_without_data():
    M, t, s = _problem(6, 4)
    s[1] = np.inf
    a = solve_constrained(M, t, s, constraints=([1.0, 1.0, 0.0, 0.0], 0.3, 0.3)).a
    np.testing.assert_allclose(a[:2], [0.3, 0.0], rtol=0, atol=1e-12)


# ---- what is refused ---------------------------------------------------------------------------


def test_bounds_below_one_in_all():
    M, t, s = _problem(7, 10)
    with pytest.raises(ConfigError, match=r"allows a sum of 0\.5.*Raise.*feasible='at_most_one'"):
        solve_constrained(M, t, s, upper=0.05)
    s[:5] = np.inf
    with pytest.raises(ConfigError, match=r"allows a sum of 0\.75"):
        solve_constrained(M, t, s, upper=0.15)
    assert solve_constrained(M, t, s, feasible="at_most_one", upper=0.15).a.sum() <= 0.75 + 1e-12


@pytest.mark.parametrize("upper", [-0.1, np.nan, [0.5, 0.5], np.full((10, 1), 0.5)])
def test_bounds_must_be_numbers_of_zero_or_above(upper):
    M, t, s = _problem(8, 10)
    with pytest.raises(ConfigError, match="must be one number of 0 or above, or 10 of them"):
        solve_constrained(M, t, s, upper=upper)


def test_constraints_that_contradict_each_other():
    M, t, s = _problem(9, 6)
    for rows in ((np.ones((1, 6)), 0.2, 0.3), (np.eye(6)[:2], 0.6, 0.7), (np.eye(6)[0], -2, -1)):
        with pytest.raises(SolverError, match="no weights satisfy the bounds and constraints"):
            solve_constrained(M, t, s, constraints=rows)
    with pytest.raises(SolverError, match="no weights satisfy the bounds and constraints"):
        solve_constrained(M, t, s, upper=0.2, constraints=(np.eye(6)[0], 0.3, 1.0))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ((np.ones((1, 5)), 0, 1), "finite rows of 6 numbers"),
        ((np.full((1, 6), np.nan), 0, 1), "finite rows of 6 numbers"),
        ((np.ones((1, 1, 6)), 0, 1), "finite rows of 6 numbers"),
        ((np.ones((2, 6)), 1, [2, 0]), "low <= high in every row"),
        ((np.ones((1, 6)), np.nan, 1), "low <= high in every row"),
        ((np.ones((2, 6)), [0, 0, 0], 1), r"one number or 2 in low.*got \(3,\) and \(\)"),
    ],
)
def test_constraints_that_do_not_fit_are_named(constraints, message):
    M, t, s = _problem(10, 6)
    with pytest.raises(ConfigError, match=message):
        solve_constrained(M, t, s, constraints=constraints)


def test_too_many_sources_for_further_constraints():
    M, t, s = _problem(11, 5000, 2)
    with pytest.raises(ConfigError, match="up to 4,000 sources; got 5,000"):
        solve_constrained(M, t, s, constraints=(np.ones((1, 5000)), 0, 1))


def test_one_problem_at_a_time():
    M, t, s = _problem(12, 4)
    for problem in ((M[None], t, s), (M, t[None], s), (M, t, s[None])):
        with pytest.raises(DataError, match="takes one problem at a time.*got"):
            solve_constrained(*problem, upper=0.5)


def test_the_problem_itself_is_checked():
    M, t, s = _problem(13, 4)
    with pytest.raises(DataError, match="needs M"):
        solve_constrained(M, t, s[:3], upper=0.5)
    with pytest.raises(DataError, match="must be finite"):
        solve_constrained(M * np.nan, t, s, upper=0.5)
    with pytest.raises(ConfigError, match="got 'ball'"):
        solve_constrained(M, t, s, feasible="ball", upper=0.5)
