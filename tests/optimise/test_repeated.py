"""A point that is told twice: repeated measurements are rows, and none is lost."""

import numpy as np
import pytest
from optimise_helpers import BOUNDS, SMALL, D, assert_same, past, sphere

from bers.algorithm import ReuseConfig
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.optimise.ask_tell import Optimizer

BLIND = ReuseConfig(rule="equal")
PAST = {"right": past(), "wrong": past(np.array([-1.0, 1.0]), seed=1)}
LEARNERS = [
    CMAES(),
    CMAES(batch=6),
    DE(population=8),
    DE(population=8, updating="immediate"),
]
IDS = ["cma-es", "batches", "generations", "in place"]


def new(learner=LEARNERS[0], sources=(), **more):
    return Optimizer(BOUNDS, sources, rng=0, learner=learner, reuse=BLIND, **more)


def steps(optimizer, count):
    for _ in range(count):
        points = optimizer.ask()
        optimizer.tell(points, [sphere(point) for point in points])
    return points


def rows(optimizer):
    result = optimizer.result()
    assert result.nfev == len(result.fun_all) == len(result.x_all)
    assert optimizer.best == result.fun == result.fun_all.min()
    return sorted(zip(map(tuple, result.x_all.tolist()), result.fun_all.tolist(), strict=True))


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("more", [-3.0, 50.0, np.nan], ids=["better", "worse", "failed"])
def test_a_point_that_was_asked_for_counts_twice(learner, sources, before, more):
    optimizer = new(learner, sources)
    for _ in range(before):
        steps(optimizer, 1)
    points = optimizer.ask()
    optimizer.tell(points, [sphere(point) for point in points])
    first = rows(optimizer)
    optimizer.tell(points[0], more)
    told = (tuple(points[0].tolist()), np.inf if np.isnan(more) else more)
    assert rows(optimizer) == sorted([*first, told])
    steps(optimizer, 3)
    assert set(rows(optimizer)) > {*first, told}
    assert rows(optimizer).count(told) == 1
    assert optimizer.best == min(-3.0 if more == -3.0 else np.inf, *(f for _, f in first),
                                 *(f for _, f in rows(optimizer)))  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize("apart", [True, False], ids=["two calls", "one call"])
def test_so_does_a_point_that_nobody_asked_for(learner, apart):
    optimizer = new(learner)
    steps(optimizer, 2)
    own, before = np.array([0.25, 0.5]), rows(optimizer)
    if apart:
        optimizer.tell(own, 2.0)
        optimizer.tell(own, 1.0)
    else:
        optimizer.tell([own, own], [2.0, 1.0])
    both = [((0.25, 0.5), 1.0), ((0.25, 0.5), 2.0)]
    assert rows(optimizer) == sorted([*before, *both])
    steps(optimizer, 2)
    optimizer.tell(own, 3.0)  # after it has joined the search
    steps(optimizer, 2)
    assert [row for row in rows(optimizer) if row[0] == (0.25, 0.5)] == [*both, ((0.25, 0.5), 3.0)]


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_before_the_generation_is_whole_the_search_goes_by_the_first_value(learner):
    twice, once = new(learner), new(learner)
    for k in range(6):
        points = once.ask()
        np.testing.assert_array_equal(twice.ask(), points)
        told = [sphere(point) for point in points]
        once.tell(points, told)
        if k == 4:
            twice.tell(points[:1], told[:1])
            twice.tell(points[:1], [1e3])
            twice.tell(points[1:], told[1:]) if len(points) > 1 else None
            assert twice.result().nfev == once.result().nfev + 1
            return
        twice.tell(points, told)


def test_an_evaluation_that_failed_is_mended_by_a_second_one():
    optimizer, whole = new(DE(population=8)), new(DE(population=8))
    points = optimizer.ask()
    told = [sphere(point) for point in points]
    optimizer.tell(points[:3], [np.nan, *told[1:3]])
    optimizer.tell(points[0], told[0])
    optimizer.tell(points[3:], told[3:])
    whole.tell(points, told)
    np.testing.assert_array_equal(optimizer.state.f, whole.state.f)
    assert np.isinf(optimizer.result().fun_all).sum() == 1


@pytest.mark.parametrize(
    "written",
    [
        lambda points: points.astype(np.float32),
        lambda points: points.round(7),
        lambda points: np.concatenate([points, points.astype(np.float32)])[len(points) :],
    ],
    ids=["single", "digits", "joined"],
)
@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_copies_are_recognised_the_second_time_too(learner, written):
    optimizer = new(learner)
    for _ in range(4):
        points = optimizer.ask()
        copies = written(points)
        optimizer.tell(copies, [sphere(point) for point in points])
        optimizer.tell(copies[::-1], [sphere(point) + 1 for point in points[::-1]])
        found = set(rows(optimizer))  # a trial of the search may be one of its agents
        assert len(found) == 2 * len({x for x, _ in found})


def test_neighbours_on_a_grid_of_ones_own_are_not_taken_for_repeats():
    optimizer = new()
    grid = np.stack(np.meshgrid([0.1, 0.11, 0.12], [0.5, 0.501]), axis=-1).reshape(-1, D)
    for point in grid:
        optimizer.tell(point, 1.0)
    assert len(optimizer.known_points()) == len(grid) == optimizer.result().nfev


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_in_any_order_the_same_rows_count(learner):
    rng = np.random.default_rng(3)
    points = new(learner).ask()
    told = [(point, float(value)) for point in points for value in rng.normal(size=3)]
    found = []
    for _ in range(3):
        optimizer = new(learner)
        optimizer.ask()
        for point, value in [told[i] for i in rng.permutation(len(told))]:
            optimizer.tell(point, value)
        found.append(rows(optimizer))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(told)


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize("joined", [True, False])
def test_repeats_are_saved(tmp_path, learner, joined):
    optimizer = new(learner, PAST)
    points = steps(optimizer, 3)
    optimizer.tell(points[:1], [-1.0])
    if joined:
        steps(optimizer, 1)
    optimizer.save(tmp_path / "a.bers")
    loaded = Optimizer.load(tmp_path / "a.bers")
    assert rows(loaded) == rows(optimizer)
    assert loaded.best == -1
    for one in (optimizer, loaded):
        steps(one, 12)
    assert_same(loaded.result(), optimizer.result())
    assert loaded.weights == optimizer.weights


def test_past_runs_are_judged_by_every_measurement():
    optimizer = Optimizer(BOUNDS, PAST, rng=0, learner=DE(population=8), model=SMALL)
    points = optimizer.ask()
    optimizer.tell(points, [sphere(point) for point in points])
    optimizer.tell(points, [sphere(point) + 0.1 for point in points])
    steps(optimizer, 1)
    np.testing.assert_array_equal(optimizer.trust.x, optimizer.result().x_all)
    np.testing.assert_array_equal(optimizer.trust.y, optimizer.result().fun_all)
    assert len(optimizer.trust.y) == 24


def test_an_agent_that_is_measured_again_has_its_least_value():
    search = DE().on(lambda x: x[:, 0], np.zeros(1), np.ones(1))
    agents = search.opened(np.array([[0.2], [0.9]]), np.array([2.0, 9.0]))
    again = search.adopted(agents, np.array([[0.2], [0.2]]), np.array([1.0, 5.0]))
    assert again.f.tolist() == [1, 9]
    assert again.x.tolist() == [[0.2], [0.9]]


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_a_table_that_grows_may_be_told_as_a_whole(tmp_path, learner):
    parts, table = new(learner), new(learner)
    x, y = np.zeros((0, D)), np.zeros(0)
    for k in range(12):
        points = parts.ask()
        np.testing.assert_array_equal(table.ask(), points)
        values = np.array([sphere(point) for point in points])
        values[:1] = np.nan if k == 3 else values[:1]
        parts.tell(points, values)
        x, y = np.concatenate([x, points]), np.concatenate([y, values])
        table.tell(x, y)
        if k == 7:
            table.save(tmp_path / "a.bers")
            table = Optimizer.load(tmp_path / "a.bers")
    assert_same(table.result(), parts.result())
