import numpy as np
import pytest
from optimise_helpers import BLIND, BOUNDS, Counted, assert_same, sphere
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, rosen
from scipy.sparse import csr_array

import bers
from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, DataError
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.optimise.ask_tell import Optimizer
from bers.optimise.minimize import minimize
from bers.optimise.space import Space, space_of

LEARNERS = [CMAES(), CMAES(surrogate=False), DE(), DE(updating="deferred")]
IDS = ["cma-es", "no model", "in place", "generations"]
GOAL = np.array([3.2, -2.6, 0.37, 1.0])
WIDE = [(-6, 6)] * 4
WHOLE = [True, True, False, True]
SUM = LinearConstraint([[1, 1]], -np.inf, 1.9)  # of scipy's documentation
SCIPYS = 0.0011361  # what scipy finds there


class Many:
    """An optimiser of one's own."""

    def __init__(self):
        self.rng, self.best, self.told = np.random.default_rng(0), np.zeros(4), []

    def ask(self):
        return self.best + self.rng.normal(size=(8, 4))

    def tell(self, x, y):
        self.told.extend(y)
        self.best = x[np.argmin(y)]


def bowl(x):
    return float(np.sum((x - GOAL) ** 2))


# whole numbers


@pytest.mark.parametrize("learner", [*LEARNERS, Many()], ids=[*IDS, "own"])
def test_whole_variables_get_whole_numbers_and_each_point_once(learner):
    fun = Counted(bowl)
    result = minimize(fun, WIDE, integrality=WHOLE, rng=0, maxfun=400, learner=learner)
    whole = result.x_all[:, WHOLE]
    np.testing.assert_array_equal(whole, np.rint(whole))
    assert len(np.unique(result.x_all[:, 2])) > 100
    assert fun.calls == result.nfev == len(result.fun_all) <= 400
    assert set(fun.per_point.values()) == {1}
    assert fun(result.x) == result.fun == result.fun_all.min()
    np.testing.assert_array_equal(result.population[:, WHOLE], np.rint(result.population[:, WHOLE]))
    if isinstance(learner, CMAES):
        assert result.x[WHOLE].tolist() == [3, -3, 1]
    if isinstance(learner, DE):
        assert np.abs(result.x[WHOLE] - [3, -3, 1]).max() <= 1


def test_the_default_finds_whole_numbers_soon():
    found = [minimize(bowl, WIDE, integrality=WHOLE, rng=seed, maxfun=120).fun for seed in range(6)]
    assert np.median(found) == pytest.approx(0.2, abs=1e-6)  # .2**2 + .4**2


def test_a_wrong_whole_number_next_to_the_best_is_found():
    """The continuous part has settled: what is left is to try the neighbours."""

    def deceiving(x):
        return float(np.sum((x[5:] - 0.3) ** 2) + np.sum(np.abs(x[:5] - 3)))

    for seed in range(4):
        result = minimize(
            deceiving, [(-9, 9)] * 10, integrality=[True] * 5 + [False] * 5, rng=seed, maxfun=900
        )
        assert result.x[:5].tolist() == [3] * 5


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_a_search_ends_when_all_there_is_was_evaluated(learner):
    fun = Counted(lambda x: float(x @ [3, 1, -2]))
    if isinstance(learner, DE):
        learner = DE(updating=learner.updating, tol=-1.0)
    result = minimize(fun, [(0, 1)] * 3, integrality=True, rng=0, maxfun=50, learner=learner)
    assert (result.fun, result.x.tolist()) == (-2, [0, 0, 1])
    assert fun.calls == 8
    assert result.success


def test_bounds_of_whole_numbers_are_the_whole_ones_inside():
    low, high, limits = space_of(Space([(-0.5, 3.9), (0.2, 0.9)], integrality=[1, 0]))
    assert (low.tolist(), high.tolist()) == ([0, 0.2], [3, 0.9])
    assert not np.signbit(low[0])
    assert limits is not None
    one = minimize(sphere, [(0.5, 1.5), (-2, 2)], integrality=[True, False], rng=0, maxfun=60)
    assert (one.x_all[:, 0] == 1).all()


def test_past_runs_are_rounded_before_they_are_tried():
    x = np.random.default_rng(0).uniform(-6, 6, (60, 4))
    x[7] = 3.4, -2.3, 0.37, 1.4
    run = (x, np.array([bowl(row) for row in x]))
    for learner in (CMAES(), DE()):
        reuse = ReuseConfig(rule="equal", schedule=1.0, elites=1)
        result = minimize(bowl, WIDE, sources=[run], integrality=WHOLE, rng=0, maxfun=60,
                          learner=learner, reuse=reuse)  # fmt: skip
        there = np.isclose(result.x_all, [3, -2, 0.37, 1], rtol=0, atol=1e-6).all(axis=1)
        assert there.sum() == 1
        assert result.sources_used["run 0"] > 0


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_without_any_it_is_the_same_search_bit_for_bit(learner):
    plain = minimize(sphere, BOUNDS, rng=0, maxfun=80, learner=learner)
    for more in ({"integrality": False}, {"constraints": ()}, {"constraints": None}):
        assert_same(minimize(sphere, BOUNDS, rng=0, maxfun=80, learner=learner, **more), plain)
    assert "maxcv" not in plain


# constraints


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize(
    "constraints",
    [
        SUM,
        [LinearConstraint(csr_array([[1.0, 1.0]]), ub=1.9)],
        NonlinearConstraint(lambda x: x[0] + x[1], -np.inf, 1.9),
        [NonlinearConstraint(lambda x: [x[0] + x[1], x[0]], [-9, 0], [1.9, 3]), Bounds(0, 1.9)],
    ],
    ids=["linear", "sparse", "function", "several"],
)
def test_scipys_own_example(learner, constraints):
    fun = Counted(rosen)
    result = minimize(fun, [(0, 2)] * 2, constraints=constraints, rng=1, maxfun=800,
                      learner=learner)  # fmt: skip
    plain = isinstance(learner, DE)
    assert result.fun == pytest.approx(SCIPYS, abs=2e-2 if plain else 1e-4)
    assert np.sum(result.x_all, axis=1).max() <= 1.9  # fun is not called elsewhere
    assert fun.calls == result.nfev == len(result.fun_all)
    assert result.maxcv == result.constr_violation == 0
    several = constraints if isinstance(constraints, list) else [constraints]
    assert len(result.constr) == len(several)
    assert all((excess == 0).all() for excess in result.constr)


def test_a_small_feasible_set_far_from_the_middle():
    """G06: a crescent of 0.007% of the box."""
    crescent = NonlinearConstraint(
        lambda x: [(x[0] - 5) ** 2 + (x[1] - 5) ** 2, (x[0] - 6) ** 2 + (x[1] - 5) ** 2],
        [100, -np.inf], [np.inf, 82.81],
    )  # fmt: skip
    result = minimize(lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, [(13, 100), (0, 100)],
                      constraints=crescent, rng=0, maxfun=150)  # fmt: skip
    assert result.fun == pytest.approx(-6961.814, abs=1)
    assert result.maxcv == 0


def test_ten_variables_and_eight_curved_constraints():
    """G07, of which six constraints are active: scipy's DE does not find the feasible set."""

    def fun(x):
        a = x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1] + 4 * (x[3] - 5) ** 2
        b = (x[2] - 10) ** 2 + (x[4] - 3) ** 2 + 2 * (x[5] - 1) ** 2 + 5 * x[6] ** 2
        return a + b + 7 * (x[7] - 11) ** 2 + 2 * (x[8] - 10) ** 2 + (x[9] - 7) ** 2 + 45

    def barred(x):
        return [
            4 * x[0] + 5 * x[1] - 3 * x[6] + 9 * x[7] - 105,
            10 * x[0] - 8 * x[1] - 17 * x[6] + 2 * x[7],
            -8 * x[0] + 2 * x[1] + 5 * x[8] - 2 * x[9] - 12,
            3 * (x[0] - 2) ** 2 + 4 * (x[1] - 3) ** 2 + 2 * x[2] ** 2 - 7 * x[3] - 120,
            5 * x[0] ** 2 + 8 * x[1] + (x[2] - 6) ** 2 - 2 * x[3] - 40,
            x[0] ** 2 + 2 * (x[1] - 2) ** 2 - 2 * x[0] * x[1] + 14 * x[4] - 6 * x[5],
            0.5 * (x[0] - 8) ** 2 + 2 * (x[1] - 4) ** 2 + 3 * x[4] ** 2 - x[5] - 30,
            -3 * x[0] + 6 * x[1] + 12 * (x[8] - 8) ** 2 - 7 * x[9],
        ]

    result = minimize(fun, [(-10, 10)] * 10, rng=0, maxfun=300,
                      constraints=NonlinearConstraint(barred, -np.inf, 0))  # fmt: skip
    assert result.fun == pytest.approx(24.30621, abs=1e-3)
    assert result.maxcv == 0


def test_both_at_once():
    every = np.stack(np.meshgrid(np.arange(11), np.arange(11)), axis=-1).reshape(-1, 2)
    every = every[(every @ [6, 4] <= 24) & (every @ [1, 2] <= 6)]
    third = np.minimum(10, 24 - every @ [6, 4])
    best = float(np.min(-5 * every[:, 0] - 4 * every[:, 1] - 1.5 * third))
    for learner in (CMAES(), DE(tol=-1.0)):
        result = minimize(
            lambda x: -5 * x[0] - 4 * x[1] - 1.5 * x[2],
            [(0, 10)] * 3,
            integrality=[True, True, False],
            constraints=LinearConstraint([[6, 4, 1], [1, 2, 0]], ub=[24, 6]),  # pyright: ignore
            learner=learner, rng=0, maxfun=600,
        )  # fmt: skip
        assert result.fun == pytest.approx(best, abs=0.01)
        assert result.maxcv == 0


@pytest.mark.parametrize("learner", [CMAES(), DE(population=8, tol=-1.0)], ids=["cma-es", "de"])
def test_where_nothing_is_feasible_the_nearest_point_is_shown(learner):
    fun = Counted(sphere)
    result = minimize(fun, BOUNDS, constraints=LinearConstraint([[1, 1]], 5, 9), rng=0,
                      maxfun=50, learner=learner)  # fmt: skip
    assert fun.calls == result.nfev == 0
    assert (result.fun, result.success) == (np.inf, False)
    assert result.maxcv == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(result.x, 2, atol=0.05)
    assert "does not satisfy the constraints, MAXCV" in result.message


def test_past_runs_hand_over_points_that_are_feasible():
    x = np.random.default_rng(0).uniform(0, 2, (200, 2))
    run = (x, np.array([rosen(row) for row in x]))
    inside = x.sum(axis=1) <= 1.2
    best = x[inside][np.argmin(run[1][inside])]
    barred = LinearConstraint([[1, 1]], ub=1.2)
    for learner in (CMAES(), DE()):
        result = minimize(rosen, [(0, 2)] * 2, sources=[run], constraints=barred, rng=0,
                          maxfun=100, learner=learner, **BLIND)  # fmt: skip
        assert (result.x_all == best).all(axis=1).any()
        assert result.maxcv == 0


def test_constraints_see_many_points_where_the_function_does():
    shapes = []

    def sums(x):
        shapes.append(x.shape)
        return x[0] + x[1]

    result = minimize(rosen, [(0, 2)] * 2, constraints=NonlinearConstraint(sums, -np.inf, 1.9),
                      vectorized=True, rng=0, maxfun=400, learner=DE(16))  # fmt: skip
    assert result.maxcv == 0
    assert (2, 16) in shapes


def test_a_space_is_what_the_two_words_are_short_for():
    space = Space(WIDE, integrality=WHOLE, constraints=LinearConstraint([[1, 1, 0, 0]], ub=0))
    words = {"integrality": space.integrality, "constraints": space.constraints}
    assert_same(
        minimize(bowl, space, rng=0, maxfun=60), minimize(bowl, WIDE, rng=0, maxfun=60, **words)
    )
    with pytest.raises(ConfigError, match="integrality= is given twice"):
        minimize(bowl, space, integrality=True)
    with pytest.raises(TypeError, match="bounds"):
        minimize(bowl, integrality=True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"integrality": [True]}, None),
        ({"integrality": [True] * 3}, "one truth value for each of the 4 variables"),
        ({"integrality": [2, 0, 0, 0]}, "integrality must be one truth value"),
        ({"integrality": "yes"}, "integrality must be one truth value"),
        ({"constraints": {"type": "ineq"}}, "scipy.optimize's LinearConstraint.*got dict"),
        ({"constraints": [3]}, "got int"),
        ({"constraints": LinearConstraint(np.eye(3))}, "has 3 columns, and there are 4 variables"),
        ({"constraints": Bounds(np.nan, 1)}, "ends that are not numbers. Use -inf"),
    ],
)
def test_what_cannot_be_meant_is_refused(more, said):
    if said is None:
        assert minimize(bowl, WIDE, rng=0, maxfun=5, **more).nfev == 5
        return
    with pytest.raises(ConfigError, match=said):
        minimize(bowl, WIDE, **more)
    with pytest.raises(ConfigError, match=said):
        Optimizer(WIDE, **more)


def test_a_variable_without_any_whole_number_is_refused():
    with pytest.raises(ConfigError, match="no whole number within the bounds of variable 1"):
        minimize(sphere, [(0, 1), (0.2, 0.8)], integrality=True)


# ask and tell


@pytest.mark.parametrize("learner", [CMAES(), CMAES(batch=4), DE(population=8)])
def test_only_points_that_may_be_are_asked_for(learner, tmp_path):
    barred = LinearConstraint([[1, 1, 0, 0]], ub=2)
    optimizer = Optimizer(WIDE, integrality=WHOLE, constraints=barred, rng=0, learner=learner)
    for k in range(12):
        points = optimizer.ask()
        assert len(points)
        np.testing.assert_array_equal(points[:, WHOLE], np.rint(points[:, WHOLE]))
        assert points[:, :2].sum(axis=1).max() <= 2
        optimizer.tell(points[::-1].round(5), [bowl(point) for point in points[::-1]])
        if k == 6:
            optimizer.save(tmp_path / "a.bers")
            loaded = Optimizer.load(tmp_path / "a.bers")
            np.testing.assert_array_equal(loaded.ask(), optimizer.ask())
            assert loaded.result().maxcv == 0
            optimizer = loaded
    result = optimizer.result()
    assert optimizer.best == result.fun == result.fun_all.min()
    assert result.nfev == len(optimizer.known_points())
    assert result.maxcv == 0


def test_points_of_ones_own_must_be_possible():
    barred = LinearConstraint([[1, 1, 0, 0]], ub=2)
    optimizer = Optimizer(WIDE, integrality=WHOLE, constraints=barred, rng=0)
    optimizer.tell([1.0, 1.0 + 1e-9, 0.3, 0.0], 5.0)
    assert list(optimizer.known_points().values()) == [5]
    assert optimizer.result().x.tolist() == [1, 1, 0.3, 0]
    with pytest.raises(DataError, match="has numbers that must be whole, and was not asked for"):
        optimizer.tell([0.5, 0.0, 0.0, 0.0], 1.0)
    with pytest.raises(DataError, match="breaks a constraint, and was not asked for. Leave it out"):
        optimizer.tell([2.0, 2.0, 0.0, 0.0], 1.0)
    assert optimizer.best == 5


def test_a_function_as_constraint_cannot_be_saved(tmp_path):
    optimizer = Optimizer(
        BOUNDS, constraints=NonlinearConstraint(lambda x: x[0], 0, 1), rng=0, learner=DE(8)
    )
    with pytest.raises(ConfigError, match="with a NonlinearConstraint cannot be saved"):
        optimizer.save(tmp_path / "a.bers")
    assert not (tmp_path / "a.bers").exists()


def test_several_functions_at_once_take_neither():
    with pytest.raises(ConfigError, match="minimize_many takes no bers.Space"):
        bers.minimize_many([sphere, bowl], Space(BOUNDS, integrality=True))
