"""The weights against a certificate of our own, exact answers, two referees, and themselves."""

import time
from fractions import Fraction
from itertools import combinations

import daqp
import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st

from bers.errors import BersError, ConfigError, DataError, SolverError
from bers.trust.qp.simplex import FEASIBLE, Solution, checked, solve

SETS = ("simplex", "at_most_one", "nonnegative")
SIZES = [(N, d) for N in (1, 2, 3, 10, 100, 1000) for d in (2, 21, 200)]
SIZES += [(20_000, 2), (20_000, 21)]
PENALTIES = (1e-8, 1e-5, 1e-2, 1.0, 1e3, "mixed")


def _problem(seed, N, d, s=0.1, where="outside"):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((N, d))
    t = 9 * rng.standard_normal(d) if where == "outside" else rng.dirichlet(np.ones(N)) @ M
    return M, t, 10 ** rng.uniform(-8, 3, N) if s == "mixed" else np.full(N, float(s))


def _gap(M, t, s, a, feasible):
    """What a could still lose, word for word; for the cone what is left of its conditions."""
    g = s * a - M @ (t - M.T @ a)
    if feasible == "simplex":
        return g @ a - g.min()
    if feasible == "at_most_one":
        return g @ a - min(0.0, g.min())
    return max(abs(g @ a), -g.min() * max(1.0, a.sum()))


def _scale(M, t, s, a):
    """f(a) + f(0); inside the hull of many rows t is almost 0, and the rows have to serve."""
    rest = t - M.T @ a
    both = 0.5 * (rest @ rest + np.sum(s * a * a) + t @ t)
    return max(both, 0.5 * np.mean(np.sum(M * M, 1)) if t @ t < 0.1 * M.shape[1] else 0.0)


def _check(M, t, s, feasible, solution=None):
    """Feasible, optimal, and honest about it. Returns the relative gap."""
    solution = solution or solve(M, t, s, feasible=feasible)
    a, scale = solution.a, _scale(M, t, s, solution.a)
    assert a.shape == s.shape
    assert np.all(a >= 0)
    if feasible == "simplex":
        assert abs(a.sum() - 1) <= 1e-12
    if feasible == "at_most_one":
        assert a.sum() <= 1 + 1e-12
    gap = _gap(M, t, s, a, feasible)
    assert gap <= 1e-10 * scale + 1e-300
    if feasible == "simplex":
        assert abs(solution.gap - max(gap, 0)) <= 1e-13 * scale + 1e-300
    else:  # a sharper bound than ours is welcome
        assert 0 <= solution.gap <= max(gap, 0) + 1e-13 * scale + 1e-300
    rest = t - M.T @ a
    value = 0.5 * (rest @ rest + np.sum(s * a * a))
    assert abs(solution.value - value) <= 1e-13 * scale + 1e-300
    # what the sources can change is never more than f(a) + f(0), or on the simplex than each
    # source's own f by its weight
    most = value + 0.5 * t @ t
    if feasible == "simplex":
        most = 0.5 * (a @ np.sum((M - t) ** 2, 1) + np.sum(s * a * a))
    share = solution.gap / max(most, 1e-300)
    assert share * (1 - 1e-9) <= solution.relative_gap <= 1e-9
    return gap / scale if scale else 0.0


# ---- the certificate ---------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize(("N", "d"), SIZES)
def test_the_certificate_holds(N, d, feasible):
    few = N * d > 50_000
    for s in ("mixed", 1e-8, 1.0) if few else PENALTIES:
        for where in ("outside", "inside"):
            for seed in range(1 if few else 3):
                _check(*_problem(seed, N, d, s, where), feasible)


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_hundred_thousand_sources(feasible, where):
    _check(*_problem(0, 100_000, 5, 0.1, where), feasible)


def test_a_million_sources():
    M, t, s = _problem(0, 1_000_000, 21, 0.1)
    before = time.perf_counter()
    solution = solve(M, t, s)
    assert time.perf_counter() - before < 3
    _check(M, t, s, "simplex", solution)


@pytest.mark.parametrize("feasible", SETS)
def test_penalties_of_zero(feasible):
    """As many independent rows as dimensions: one answer, by the normal equations."""
    rng = np.random.default_rng(1)
    M = np.eye(4) + 0.1 * rng.random((4, 4))
    a = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        solve(M, a @ M, np.zeros(4), feasible=feasible).a, a, rtol=0, atol=1e-10
    )


def test_a_gap_that_is_there_is_told():
    """A penalty of 0 is answered as if it were tiny; that costs something, and is said."""
    told = 0
    for seed in range(20):
        M, t, s = _problem(seed, 8, 3, 0.0)
        t = t / 90
        solution = solve(M, t, s)
        gap = _gap(M, t, s, solution.a, "simplex")
        if gap > 1e-14:  # a hundred times the rounding of our own
            told += 1
            np.testing.assert_allclose(solution.gap, gap, rtol=0.02)
    assert told >= 10


def test_a_gap_that_is_too_large_is_refused():
    one = np.float64(1.0)
    with pytest.raises(SolverError, match=r"relative gap of 1\.0e-03 is left.*Rescale"):
        checked(Solution(np.ones(1), one, np.float64(1e-3), one, np.int64(3)))
    with pytest.raises(SolverError, match="relative gap of nan is left"):
        checked(Solution(np.ones(1), one, np.float64(np.nan), one, np.int64(3)))


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    N=st.integers(1, 8),
    d=st.integers(1, 4),
    size=st.integers(0, 4),
    feasible=st.sampled_from(SETS),
)
def test_the_certificate_holds_for_small_whole_numbers(seed, N, d, size, feasible):
    """Such rows are equal, opposite, collinear, zero, or on the edge of a set more than rarely."""
    rng = np.random.default_rng(seed)
    M = rng.integers(-size, size + 1, (N, d)).astype(float)
    t = rng.integers(-2 * size, 2 * size + 1, d).astype(float)
    s = 10.0 ** rng.integers(-8, 4, N if seed % 2 else 1) * np.ones(N)
    _check(M, t, s, feasible)


@pytest.mark.parametrize("c", [1e-3, 1e-6, 1e-10, 1e-16, 1e-100])
@pytest.mark.parametrize("feasible", ["at_most_one", "nonnegative"])
def test_a_target_far_shorter_than_the_rows(feasible, c):
    """The answer is as small as the target; it is as certain as any other."""
    for seed in range(20):
        M, t, s = _problem(seed, 8, 3)
        solution = solve(M, c * t / 100, s, feasible=feasible)
        assert solution.relative_gap <= 1e-12
        exact = _by_enumeration(M[:4], c * t / 100, s[:4], feasible)
        few = solve(M[:4], c * t / 100, s[:4], feasible=feasible).a
        np.testing.assert_allclose(few, exact, rtol=0, atol=1e-12 * c)


# ---- exact answers -----------------------------------------------------------------------------


def _by_enumeration(M, t, s, feasible):
    """Every support and either total: the candidate with the smallest gap is the answer."""
    N = len(M)
    G, h = M @ M.T + np.diag(s), M @ t
    best, least = np.zeros(N), np.inf if feasible == "simplex" else 0.0 - min(0.0, (-h).min())
    for size in range(1, N + 1):
        for some in map(list, combinations(range(N), size)):
            whole = np.block([[G[np.ix_(some, some)], np.ones((size, 1))], [np.ones(size), 0.0]])
            answers = []
            if feasible != "nonnegative":
                answers.append(np.linalg.solve(whole, np.append(h[some], 1.0))[:size])
            if feasible != "simplex":
                answers.append(np.linalg.solve(whole[:size, :size], h[some]))
            for own in answers:
                a = np.zeros(N)
                a[some] = own
                allowed = feasible != "at_most_one" or a.sum() <= 1 + 1e-13
                if allowed and a.min() >= 0 and _gap(M, t, s, a, feasible) < least:
                    best, least = a, _gap(M, t, s, a, feasible)
    return best


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("N", [1, 2, 3, 4])
def test_every_support_tried_in_turn(N, feasible):
    for seed in range(80):
        rng = np.random.default_rng(seed)
        M = rng.standard_normal((N, rng.integers(1, 6)))
        t = rng.choice([0.3, 3.0]) * rng.standard_normal(M.shape[1])
        s = 10 ** rng.uniform(-3, 2, N)
        exact = _by_enumeration(M, t, s, feasible)
        a = solve(M, t, s, feasible=feasible).a
        np.testing.assert_allclose(a, exact, rtol=0, atol=1e-9)


def _solve_fractions(A, b):
    """Gauss and Jordan, without rounding. The leading blocks of A must be regular."""
    rows = [[*row, x] for row, x in zip(A, b, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _in_fractions(M, t, s):
    """The one support on the simplex whose conditions hold without rounding."""
    N = len(M)
    rows, target, s = ([[Fraction(x) for x in row] for row in part] for part in (M, [t], [s]))
    G = [[sum(x * y for x, y in zip(p, q, strict=True)) for q in rows] for p in rows]
    for i in range(N):
        G[i][i] += s[0][i]
    h = [sum(x * y for x, y in zip(row, target[0], strict=True)) for row in rows]
    for size in range(1, N + 1):
        for some in combinations(range(N), size):
            A = [*([*(G[i][j] for j in some), Fraction(1)] for i in some), [Fraction(1)] * size]
            A[-1] = [*A[-1], Fraction(0)]
            *own, price = _solve_fractions(A, [*(h[i] for i in some), Fraction(1)])
            a = dict(zip(some, own, strict=True))
            g = [sum(G[i][j] * a[j] for j in some) - h[i] for i in range(N)]
            if min(own) >= 0 and all(g[i] >= -price for i in range(N)):
                return np.array([float(a.get(i, 0)) for i in range(N)])
    raise AssertionError("no support fits")


@pytest.mark.parametrize("s", [1e-8, 1e-3, 1.0, "mixed"])
def test_without_rounding(s):
    for seed in range(12):
        M, t, penalty = _problem(seed, 4, 3, s)
        exact = _in_fractions(M, t / 5, penalty)
        np.testing.assert_allclose(solve(M, t / 5, penalty).a, exact, rtol=0, atol=1e-9)


# ---- referees ----------------------------------------------------------------------------------


def _quadprog(M, t, s, feasible):
    N = len(M)
    sign = 1.0 if feasible == "simplex" else -1.0
    C = np.column_stack([sign * np.ones(N), np.eye(N)])
    b = np.append(sign, np.zeros(N))
    return quadprog.solve_qp(M @ M.T + np.diag(s), M @ t, C, b, int(feasible == "simplex"))[0]


def _daqp(M, t, s, feasible):
    N = len(M)
    x, _, flag, _ = daqp.solve(
        M @ M.T + np.diag(s),
        -M @ t,
        np.ones((1, N)),
        np.append(np.full(N, 1e30), 1.0),
        np.append(np.zeros(N), 1.0 if feasible == "simplex" else -1e30),
        np.append(np.zeros(N), 5 if feasible == "simplex" else 0).astype(np.int32),
        primal_tol=1e-12,
    )
    assert flag == 1
    return x


@pytest.mark.parametrize("feasible", ["simplex", "at_most_one"])
@pytest.mark.parametrize("referee", [_quadprog, _daqp])
def test_referees_agree(referee, feasible):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        N, d = rng.integers(5, 51), rng.integers(2, 40)
        M, t = rng.standard_normal((N, d)), rng.choice([0.2, 1.0, 4.0]) * rng.standard_normal(d)
        s = 10 ** rng.uniform(-3, 1, N)
        a = solve(M, t, s, feasible=feasible).a
        np.testing.assert_allclose(a, referee(M, t, s, feasible), rtol=0, atol=1e-8)


# ---- order, equals, lines ----------------------------------------------------------------------


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("s", [1e-4, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize(("N", "d"), [(3, 2), (10, 21), (100, 5), (1000, 21), (20_000, 5)])
def test_the_order_of_the_sources_does_not_matter(N, d, s, feasible):
    for where in ("outside", "inside"):
        M, t, penalty = _problem(2, N, d, s, where)
        order = np.random.default_rng(3).permutation(N)
        a = solve(M, t, penalty, feasible=feasible).a
        moved = solve(M[order], t, penalty, feasible=feasible).a
        np.testing.assert_allclose(moved, a[order], rtol=0, atol=1e-10)


@pytest.mark.parametrize("copies", [2, 100])
@pytest.mark.parametrize("s", [1e-8, 1e-4, 1.0, 1e3])
@pytest.mark.parametrize(("N", "d"), [(2, 2), (30, 5), (3000, 21), (20_000, 5)])
def test_equal_sources_earn_equal_weights(N, d, s, copies):
    rng = np.random.default_rng(4)
    for where in ("outside", "inside"):
        M, t, _ = _problem(5, N, d, 1.0, where)
        some = rng.choice(N, 2, replace=False)
        some[0] = np.argmax(solve(M, t, np.full(N, s)).a)  # one that certainly gets weight
        who = np.concatenate([np.arange(N), *([i] * (copies - 1) for i in some)])
        rng.shuffle(who)
        penalty = np.full(len(who), s)
        for feasible in SETS:
            a = solve(M[who], t, penalty, feasible=feasible).a
            for i in some:
                assert np.ptp(a[who == i]) <= 1e-9
            if feasible == "simplex":
                assert a[who == some[0]].sum() > 0


@pytest.mark.parametrize("s", [1e-8, 1e-3, 1e3])
def test_equal_sources_of_which_a_start_knows_half(s):
    M, t, penalty = _problem(6, 5, 8, s)
    best = np.argmax(solve(M, t, penalty).a)
    M, penalty = np.concatenate([M, M[[best] * 9]]), np.full(14, s)
    a = solve(M, t, penalty).a
    equals = np.array([best, *range(5, 14)])
    start = a.copy()
    start[equals[:5]], start[equals[5:]] = 2 * start[equals[:5]], 0.0
    for again in (a, solve(M, t, penalty, start=start).a):
        assert np.ptp(again[equals]) <= 1e-9
        np.testing.assert_allclose(again, a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(start.sum(), 1, atol=1e-9)


@pytest.mark.parametrize("s", [1e-8, 1e-4, 1.0, 1e3])
def test_a_hundred_equal_sources_get_a_hundredth_each(s):
    M, t, penalty = _problem(7, 1, 6, s)
    a = solve(np.repeat(M, 100, 0), t, np.repeat(penalty, 100)).a
    np.testing.assert_allclose(a, 0.01, rtol=1e-12)


@pytest.mark.parametrize("s", [0.0, 1e-8, 1.0, 1e3, 1e200])
def test_one_source_gets_it_all(s):
    M, t, penalty = _problem(8, 1, 3, s)
    assert solve(M, t, penalty).a.tolist() == [1.0]
    assert solve(M, t, penalty, start=[0.3]).a.tolist() == [1.0]


def test_nobody_gets_what_no_source_earns():
    M, t, s = _problem(9, 1, 3)
    away = solve(M, -M[0], s, feasible="at_most_one")
    assert away.a.tolist() == [0.0]
    assert away.nobody == 1
    half = solve(M, M[0] / 2, np.zeros(1), feasible="at_most_one")
    np.testing.assert_allclose(half.nobody, 0.5, atol=1e-10)
    assert solve(M, t, s).nobody == 0


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("s", [1e-8, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("N", [3, 10, 1000])
def test_sources_on_one_line(N, s, feasible):
    """Only the penalty tells them apart: there is one answer all the same."""
    rng = np.random.default_rng(10)
    M = rng.integers(-8, 9, (N, 1)) / 4 * rng.standard_normal(4)
    t, penalty, order = rng.standard_normal(4), np.full(N, s), rng.permutation(N)
    solution = solve(M, t, penalty, feasible=feasible)
    assert solution.relative_gap <= 1e-12
    _check(M, t, penalty, feasible, solution)
    moved = solve(M[order], t, penalty, feasible=feasible).a
    # rounding in M is worth 1e-16 / s in the weights
    np.testing.assert_allclose(moved, solution.a[order], rtol=0, atol=1e-9 + 1e-15 / s)


# ---- scale and offset --------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("c", [1e-140, 1e-70, 1e-8, 1e8, 1e70, 1e140])
@pytest.mark.parametrize("N", [4, 300])
def test_the_unit_does_not_matter(N, c, feasible):
    M, t, s = _problem(11, N, 5, 0.1)
    a = solve(M, t, s, feasible=feasible).a
    other = solve(c * M, c * t, c * c * s, feasible=feasible)
    np.testing.assert_allclose(other.a, a, rtol=0, atol=1e-10)
    assert other.relative_gap <= 1e-10


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("c", [1e-310, 1e-300, 1e-200, 1e200, 1e300, 1e307])
@pytest.mark.parametrize("s", [1e-300, 1e-20, 1.0, 1e300])
def test_beyond_all_scales_there_is_an_error_or_an_answer(s, c, feasible):
    for N in (1, 5, 40):
        M, t, _ = _problem(12, N, 4)
        for rows, target in ((c * M, c * t / 9), (M, c * t / 9), (c * M, t)):
            try:
                a = solve(rows, target, np.full(N, s), feasible=feasible).a
            except BersError:
                continue
            assert np.isfinite(a).all()
            if feasible == "simplex":
                assert abs(a.sum() - 1) <= 1e-12


@pytest.mark.parametrize("s", [0.1, 1.0, "mixed"])
def test_an_offset_common_to_all_does_not_matter(s):
    M, t, penalty = _problem(13, 30, 6, s)
    penalty = np.maximum(penalty, 0.1)  # below, the rounding of M + 1e6 itself moves the weights
    offset = 1e6 * np.random.default_rng(0).standard_normal(6)
    a = solve(M, t, penalty).a
    np.testing.assert_allclose(solve(M + offset, t + offset, penalty).a, a, rtol=0, atol=1e-8)


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("N", [6, 20_000])
def test_a_source_without_data_gets_nothing(N, feasible):
    M, t, s = _problem(14, N, 4)
    known = np.arange(N) % 3 > 0
    penalty = np.where(known, s, np.inf)
    a = solve(M, t, penalty, feasible=feasible).a
    assert np.all(a[~known] == 0)
    others = solve(M[known], t, s[known], feasible=feasible).a
    np.testing.assert_allclose(a[known], others, rtol=0, atol=1e-12)


def test_no_source_has_data():
    M, t, _ = _problem(15, 4, 3)
    nothing = np.full(4, np.inf)
    with pytest.raises(DataError, match=r"no source has data.*feasible='at_most_one'"):
        solve(M, t, nothing)
    with pytest.raises(DataError, match="no source has data"):
        solve(M, t, np.stack([np.ones(4), nothing]))
    for feasible in FEASIBLE[1:]:
        assert solve(M, t, nothing, feasible=feasible).a.tolist() == [0.0] * 4


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("N", [5, 9000])
def test_means_and_targets_must_be_finite(N, bad, feasible):
    M, t, s = _problem(16, N, 3)
    broken = M.copy()
    broken[N // 2, 1] = bad
    target = np.array([0.0, bad, 1.0])
    for rows, at in ((broken, t), (M, target), (np.stack([M, broken]), t)):
        with pytest.raises(DataError, match="means and target of the weights must be finite"):
            solve(rows, at, s, feasible=feasible)


@pytest.mark.parametrize("bad", [-1.0, -1e-300, -np.inf, np.nan])
def test_penalties_must_not_be_negative(bad):
    M, t, s = _problem(17, 5, 3)
    s[3] = bad
    for feasible in SETS:
        with pytest.raises(DataError, match="penalties s must be 0 or above"):
            solve(M, t, s, feasible=feasible)
    with pytest.raises(DataError, match="needs penalties s above 0"):
        solve(M, t, s, feasible="free")


@pytest.mark.parametrize(
    ("M", "t", "s"),
    [
        ((4, 3), (2,), (4,)),
        ((4, 3), (3,), (3,)),
        ((4, 3), (3,), ()),
        ((0, 3), (3,), (0,)),
        ((3,), (3,), (3,)),
        ((2, 4, 3), (3, 3), (4,)),
        ((2, 4, 3), (2, 3), (3, 4)),
        ((2, 2, 4, 3), (3,), (4,)),
        ((4, 3), (1, 1, 3), (4,)),
    ],
)
def test_shapes_that_do_not_fit_are_named(M, t, s):
    with pytest.raises(DataError, match=r"needs M \(N, d\).*got \(.*\), \(.*\) and \(.*\)"):
        solve(np.ones(M), np.ones(t), np.ones(s))


def test_an_unknown_set_is_refused():
    with pytest.raises(ConfigError, match="simplex, at_most_one, nonnegative, free; got 'ball'"):
        solve(np.ones((2, 1)), np.ones(1), np.ones(2), feasible="ball")


# ---- batches and starts ------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize(("B", "N", "d"), [(1, 3, 2), (7, 5, 4), (1000, 10, 4), (3, 9000, 2)])
def test_a_batch_is_its_problems(B, N, d, feasible):
    rng = np.random.default_rng(18)
    M, t = rng.standard_normal((B, N, d)), 2 * rng.standard_normal((B, d))
    s = 10 ** rng.uniform(-2, 1, (B, N))
    batch = solve(M, t, s, feasible=feasible)
    assert batch.a.shape == (B, N)
    assert batch.gap.shape == batch.steps.shape == batch.nobody.shape == (B,)
    for i in range(0, B, max(1, B // 100)):
        one = solve(M[i], t[i], s[i], feasible=feasible)
        np.testing.assert_allclose(batch.a[i], one.a, rtol=0, atol=1e-13)
        np.testing.assert_allclose(batch.value[i], one.value, rtol=1e-12)


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("B", [3, 200])
def test_what_has_no_batch_axis_is_shared(B, feasible):
    rng = np.random.default_rng(19)
    M, t, s = rng.standard_normal((B, 6, 3)), rng.standard_normal((B, 3)), rng.random((B, 6)) + 0.1
    for i in range(1, 7):
        parts = [x if i >> j & 1 else x[0] for j, x in enumerate((M, t, s))]
        full = [x if i >> j & 1 else np.repeat(x[:1], B, 0) for j, x in enumerate((M, t, s))]
        a = solve(*parts, feasible=feasible).a
        np.testing.assert_allclose(a, solve(*full, feasible=feasible).a, rtol=0, atol=1e-13)


@pytest.mark.parametrize("feasible", FEASIBLE)
def test_a_batch_of_none(feasible):
    assert solve(np.ones((0, 4, 3)), np.ones(3), np.ones(4), feasible=feasible).a.shape == (0, 4)


def test_arrays_of_any_layout_and_type():
    M, t, s = _problem(20, 700, 8)
    a = solve(M, t, s).a
    every_other = np.repeat(M, 2, 0)[::2]
    for rows in (np.asfortranarray(M), every_other, M.tolist()):
        np.testing.assert_array_equal(solve(rows, t, s).a, a)
    whole = np.round(M).astype(np.int8)
    np.testing.assert_array_equal(solve(whole, t, s).a, solve(whole.astype(float), t, s).a)
    for part in (M, t, s):
        part.setflags(write=False)
    np.testing.assert_array_equal(solve(M, t, s).a, a)


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize(("N", "d"), [(2, 3), (10, 4), (100, 21), (20_000, 5)])
def test_its_own_answer_is_the_best_start(N, d, feasible):
    for where in ("outside", "inside"):
        M, t, s = _problem(21, N, d, 0.1, where)
        cold = solve(M, t, s, feasible=feasible)
        warm = solve(M, t, s, feasible=feasible, start=cold.a)
        assert warm.steps == 1 or not np.any(cold.a)  # an answer of nothing is no start
        np.testing.assert_allclose(warm.a, cold.a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("size", [0.05, 1.0])
def test_a_start_saves_steps_along_a_path(size, feasible):
    M, t, s = _problem(22, 60, 8, 0.01)
    t = size * t
    cold_steps = warm_steps = 0
    warm = solve(M, t, s, feasible=feasible)
    for step in range(30):
        target = t + 0.05 * size * step
        cold = solve(M, target, s, feasible=feasible)
        warm = solve(M, target, s, feasible=feasible, start=warm.a)
        np.testing.assert_allclose(warm.a, cold.a, rtol=0, atol=1e-10)
        cold_steps, warm_steps = cold_steps + cold.steps, warm_steps + warm.steps
    assert warm_steps <= cold_steps


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize(("N", "d"), [(4, 2), (50, 8), (500, 3)])
def test_a_useless_start_does_no_harm(N, d, feasible):
    M, t, s = _problem(23, N, d, 0.01)
    a = solve(M, t, s, feasible=feasible).a
    starts = {
        "nothing": np.zeros(N),
        "the wrong source": np.eye(N)[np.argmin(M @ t)],
        "everything": np.ones(N),
        "below zero": -np.ones(N),
        "not a number": np.full(N, np.nan),
        "huge": np.full(N, 1e300),
    }
    for start in starts.values():
        again = solve(M, t, s, feasible=feasible, start=start).a
        np.testing.assert_allclose(again, a, rtol=0, atol=1e-10)


def test_starts_of_a_batch():
    rng = np.random.default_rng(24)
    M, t, s = rng.standard_normal((20, 5)), rng.standard_normal((300, 5)), np.full(20, 0.1)
    cold = solve(M, t, s)
    before = cold.a.copy()
    warm = solve(M, t, s, start=cold.a)
    np.testing.assert_array_equal(before, cold.a)
    np.testing.assert_allclose(warm.a, cold.a, rtol=0, atol=1e-12)
    assert np.all(warm.steps == 1)


def test_a_start_of_another_shape_is_refused():
    M, t, s = _problem(25, 4, 3)
    with pytest.raises(DataError, match=r"shape \(4,\) of the weights; got \(3,\)"):
        solve(M, t, s, start=np.ones(3))
    with pytest.raises(DataError, match=r"shape \(2, 4\) of the weights; got \(4,\)"):
        solve(M, np.stack([t, t]), s, start=np.ones(4))


# ---- no constraint at all ----------------------------------------------------------------------


@pytest.mark.parametrize(("N", "d"), [(1, 1), (5, 20), (20, 5), (300, 21), (5, 5)])
@pytest.mark.parametrize("s", [1e-2, 1.0, 1e3])
def test_free_weights_are_a_ridge_regression(N, d, s):
    M, t, penalty = _problem(26, N, d, s)
    solution = solve(M, t, penalty, feasible="free")
    exact = np.linalg.solve(M @ M.T + np.diag(penalty), M @ t)
    np.testing.assert_allclose(solution.a, exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    rest = t - M.T @ exact
    value = 0.5 * (rest @ rest + np.sum(penalty * exact**2))
    np.testing.assert_allclose(solution.value, value, rtol=1e-9)
    assert 0 <= solution.relative_gap <= 1e-12


@pytest.mark.parametrize(("N", "d"), [(5, 20), (20, 5)])
def test_free_weights_of_very_small_penalties(N, d):
    M, t, s = _problem(27, N, d, 1e-8)
    a = solve(M, t, s, feasible="free").a
    least = np.linalg.lstsq(M.T, t, rcond=None)[0]
    np.testing.assert_allclose(a, least, rtol=0, atol=1e-6 * np.abs(least).max())
