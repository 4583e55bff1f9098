import numpy as np
import pytest
from optimise_helpers import BLIND, BOUNDS, FEW, HIGH, LOW, SMALL, D, past, sphere
from scipy.optimize import OptimizeResult, differential_evolution
from scipy.optimize import minimize as scipys_minimize

import bers
from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.data.shards import Shards
from bers.data.transforms import (
    TRANSFORMS,
    Chain,
    LogGap,
    RankNormal,
    Sqrt,
    Standardise,
    transform_named,
)
from bers.errors import ConfigError, DataError, DataWarning, FileError
from bers.optimise.ask_tell import Optimizer
from bers.optimise.inputs import as_sources
from bers.optimise.minimize import minimize

X, Y = past(rows=12)
EMPTY = (np.zeros((0, D)), [])


def sources(given):
    return as_sources(given, LOW, HIGH)


def test_arrays_lists_and_tuples_are_the_same():
    given = [(X, Y), [X, Y], (X.tolist(), Y.tolist()), (X, Y[:, None]), (list(X), tuple(Y))]
    for run in sources(given):
        np.testing.assert_array_equal(run.x, X)
        np.testing.assert_array_equal(run.y, Y)
    assert [run.name for run in sources(given)] == [f"run {i}" for i in range(5)]


@pytest.mark.parametrize("kind", ["float32", "int64", "int8", "uint8", "bool", ">f8", "float16"])
def test_any_type_of_number_is_taken_and_left_as_it_was(kind):
    x, y = np.round(np.abs(X)).astype(kind), np.round(Y).astype(kind)
    x.flags.writeable = y.flags.writeable = False
    before = x.copy(), y.copy()
    (run,) = sources([(x, y)])
    np.testing.assert_array_equal(run.x, x.astype(float))
    np.testing.assert_array_equal(run.y, y.astype(float))
    result = minimize(sphere, BOUNDS, sources=[(x, y)], maxiter=3, **FEW, **BLIND)
    assert result.weights == {"run 0": 1.0}
    assert x.dtype == before[0].dtype
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_rows_need_not_lie_side_by_side_in_memory():
    wide = np.zeros((24, 2 * D), order="F")
    wide[::2, ::2] = X
    x, y = wide[::2, ::2], np.repeat(Y, 3)[::3][::-1][::-1]
    assert not x.flags.c_contiguous
    (run,) = sources([(x, y)])
    (solid,) = sources([(X, Y)])
    assert run.digest == solid.digest
    x[:] = 0  # the run has rows of its own
    np.testing.assert_array_equal(run.x, X)


def test_names_come_from_the_mapping_or_the_data():
    alice = Demonstrations(X, Y, "alice")
    assert [run.name for run in sources([alice, (X, Y), alice])] == ["alice", "run 1", "alice"]
    assert [run.name for run in sources({"bob": alice, 7: (X, Y)})] == ["bob", "run 7"]


def test_equal_names_are_kept_apart():
    alice, other = Demonstrations(X, Y, "alice"), Demonstrations(X, Y + 1, "alice")
    result = minimize(
        sphere, BOUNDS, sources=[alice, other, {"x": X[0], "fun": Y[0]}], rng=0, maxiter=2, **BLIND
    )
    assert result.weights == pytest.approx({"alice": 1 / 3, "alice (2)": 1 / 3, "run 2": 1 / 3})
    assert list(result.sources_used) == list(result.weights)


@pytest.mark.parametrize("name", ["", "<b>x</b>", "a" * 10_000, "ä\n\x1b[31m"])
def test_odd_names_are_keys_like_any_other(name):
    result = minimize(sphere, BOUNDS, sources={name: (X, Y)}, rng=0, maxiter=1, **BLIND)
    assert list(result.weights) == [name]
    with pytest.raises(DataError, match="has 3 inputs") as caught:
        sources({name: (np.zeros((2, 3)), [1, 2])})
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_run_may_be_named_x():
    assert [run.name for run in sources({"x": (X, Y), "y": (X, Y)})] == ["x", "y"]


def test_demonstrations_are_used_in_their_own_units():
    own = Demonstrations(X, Y, "alice").transformed(Chain(Sqrt(), Standardise()))
    (run,) = sources([own])
    assert run.transforms == ()
    np.testing.assert_allclose(run.y, Y, rtol=1e-12)


def test_files_of_every_kind(tmp_path):
    record = Demonstrations(X, Y, "alice").transformed(Sqrt())
    paths = [tmp_path / f"run.{ending}" for ending in ("npz", "csv", "parquet")]
    for path in paths:
        bers.save(record, path)
    for run in sources([*paths, str(paths[0])]):
        assert run.name == "alice"
        np.testing.assert_array_equal(run.x, X)
        np.testing.assert_allclose(run.y, Y, rtol=1e-12)
    assert [run.name for run in sources({"bob": paths[2]})] == ["bob"]


def test_shards_on_disk(tmp_path):
    for i in range(2):
        rows = slice(6 * i, 6 * i + 6)
        bers.save(Demonstrations(X[rows], Y[rows], "alice"), tmp_path / f"{i}.parquet")
    shards = bers.load(tmp_path, stream=True)
    assert isinstance(shards, Shards)
    for run in sources([shards, tmp_path]):
        assert run.name == "alice"
        np.testing.assert_array_equal(run.x, X)
        np.testing.assert_array_equal(run.y, Y)


def test_shards_with_transforms_are_used_in_their_own_units(tmp_path):
    bers.save(Demonstrations(X, Y, "alice").transformed(Sqrt()), tmp_path / "a.parquet")
    (run,) = sources([bers.load(tmp_path / "a.parquet", stream=True)])
    np.testing.assert_allclose(run.y, Y, rtol=1e-12)


def test_bad_files_are_named(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileError, match="a.npz"):
        sources([tmp_path / "a.npz"])
    with pytest.raises(FileError, match="none.csv"):
        sources([tmp_path / "none.csv"])


def test_an_earlier_result_is_every_point_it_saw():
    first = minimize(sphere, BOUNDS, maxiter=4, **FEW)
    (run,) = sources([first])
    assert run.n == 40
    assert len(np.unique(run.x, axis=0)) == first.nfev  # trials that were known cost nothing
    np.testing.assert_array_equal(run.y, [sphere(x) for x in run.x])


def test_results_of_scipy_are_past_runs():
    whole = differential_evolution(sphere, BOUNDS, rng=0, popsize=4, maxiter=3, polish=False)
    point = scipys_minimize(sphere, np.zeros(D))
    runs = sources({"whole": whole, "point": point})
    np.testing.assert_array_equal(runs[0].x, whole.population)
    np.testing.assert_array_equal(runs[0].y, whole.population_energies)
    np.testing.assert_array_equal(runs[1].x, [point.x])
    np.testing.assert_array_equal(runs[1].y, [point.fun])


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (5, "must be .X, y., demonstrations, a file or an earlier result; got int"),
        (X, "must be .X, y., .* got ndarray"),
        ((X, Y, Y), "must be .X, y., .* got tuple"),
        ({"x": X}, "a mapping without x and fun"),
        (OptimizeResult(fun=3.0), "a mapping without x and fun"),
        ((X, Y[:5]), "has 12 points but 5 values; give one each"),
        ((X, np.ones((12, 2))), "has 12 points but 24 values"),
        ((X[:, :1], Y), "'it' has 1 inputs, bounds have 2. Give the same variables"),
        ((np.zeros((12, 5)), Y), "'it' has 5 inputs, bounds have 2"),
        ((np.where(X > 1, np.nan, X), Y), "not finite"),
        ((np.zeros((12, 2, 2)), Y), "shape"),
    ],
)
def test_what_is_no_past_run_is_refused_by_name(one, said):
    with pytest.raises(DataError, match=said):
        sources({"it": one})


@pytest.mark.parametrize("one", [(np.full((1, D), "a"), [1.0]), (X[:1], ["a"]), ([[1], [1, 2]], Y)])
def test_what_is_no_number_is_refused_by_name(one):
    try:
        sources({"it": one})
    except DataError as error:
        assert "'it'" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "given", [Demonstrations(X, Y, "alice"), "run.npz", 5, X, iter([(X, Y)]), {(1, 2)}]
)
def test_sources_must_be_a_list(given):
    with pytest.raises(DataError, match="sources must be a list of past runs; got"):
        minimize(sphere, BOUNDS, sources=given)


def test_one_run_without_a_list_is_refused():
    with pytest.raises(DataError, match=r"got one result. Put it in \[ \]"):
        sources(OptimizeResult(x=X[0], fun=Y[0]))
    with pytest.raises(DataError, match="'run 0' must be .X, y."):
        sources((X, Y))


def test_values_that_are_not_finite_are_left_out_with_a_count():
    y = Y.copy()
    y[[1, 5, 7]] = np.nan, np.inf, -np.inf
    with pytest.warns(DataWarning, match="'it': 3 of 12 values are not finite.*; these rows are"):
        (run,) = sources({"it": (X, y)})
    np.testing.assert_array_equal(run.y, Y[np.isfinite(y)])
    np.testing.assert_array_equal(run.x, X[np.isfinite(y)])


def test_points_outside_teach_the_model_and_are_clipped_when_handed_over():
    x = X * 1.5
    outside = np.any(np.abs(x) > 2, axis=1).sum()
    with pytest.warns(DataWarning, match=f"'it': {outside} of 12 points lie outside") as caught:
        optimizer = Optimizer(BOUNDS, {"it": (x, Y)}, rng=0, reuse=ReuseConfig(rule="equal"))
    assert len(caught) == 1

    np.testing.assert_array_equal(optimizer.runs[0].x, x)
    order = np.argsort(Y)
    np.testing.assert_array_equal(optimizer.reuse.offer.points[0], np.clip(x[order], LOW, HIGH))


def test_a_source_without_rows_gets_no_weight():
    result = minimize(
        sphere, BOUNDS, sources={"empty": EMPTY, "run": past()}, rng=0, maxiter=3, model=SMALL
    )
    assert result.weights["empty"] == result.sources_used["empty"] == 0
    assert result.sources_used["run"] > 0


@pytest.mark.parametrize("given", [{"a": EMPTY}, {"a": EMPTY, "b": EMPTY}])
def test_without_any_rows_it_is_plain_with_one_warning(given):
    with pytest.warns(DataWarning, match="no past run has any points") as caught:
        result = minimize(sphere, BOUNDS, sources=given, rng=0, maxiter=5)
    assert len(caught) == 1
    plain = minimize(sphere, BOUNDS, rng=0, maxiter=5)
    np.testing.assert_array_equal(result.population, plain.population)
    assert result.weights == dict.fromkeys(given, 0.0)
    assert result.weight_history.shape == (0, len(given))
    assert result.ranking is None
    assert "weights" in repr(result)


def test_empty_lists_are_an_empty_run():
    assert sources([([], [])])[0].n == 0


def test_one_variable_needs_no_second_axis():
    (run,) = as_sources([(X[:, 0], Y)], LOW[:1], HIGH[:1])
    np.testing.assert_array_equal(run.x, X[:, :1])


def test_a_source_without_rows_can_hand_over_nothing_that_is_predicted():
    given = {"run": past(), "empty": EMPTY}
    how = {"rng": 0, "maxiter": 3, "model": SMALL, "reuse": ReuseConfig(pick="predicted")}
    result = minimize(sphere, BOUNDS, sources=given, **how)
    assert result.sources_used["empty"] == 0


def test_transforms_by_name():
    assert transform_named("auto") == LogGap()
    assert isinstance(transform_named("rank"), RankNormal)
    assert transform_named("none") is None
    assert transform_named(None) is None
    own = Standardise()
    assert transform_named(own) is own
    with pytest.raises(ConfigError, match="no transform 'automatic'. Known: auto, rank, log"):
        transform_named("automatic")
    paper = TRANSFORMS["paper"].fit(np.array([0.0, 9.0]))
    np.testing.assert_allclose(paper.forward(np.array([9.0])), np.log(4))
