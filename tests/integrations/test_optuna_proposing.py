"""Points that a surrogate proposes, in Optuna."""

import copy
import importlib.util
import json
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler, TPESampler
from optuna.trial import TrialState, create_trial
from optuna_helpers import near, params, quiet, study_of, turned, values  # noqa: F401

from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.errors import ConfigError, DataError, DataWarning
from bers.integrations.optuna import KEY, BersSampler, helped
from bers.integrations.optuna.columns import Columns
from bers.integrations.optuna.proposing import _steps, left_to_base, own_rows, space_of
from bers.integrations.optuna.space import as_earlier


def drawn(objective, trials, **more):
    """A study of points at random."""
    return study_of(objective, trials, RandomSampler(seed=0), **more)


def by(study):
    return [trial.user_attrs[KEY]["by"] for trial in study.trials]


@pytest.fixture(scope="module")
def past():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    goals = [(1e-3, 96), (4e-3, 80), (2e-3, 64), (5e-4, 88)]
    return {f"s{i}": study_of(near(*g), 30, RandomSampler(seed=i)) for i, g in enumerate(goals)}


def test_it_starts_where_the_studies_agree_and_proposes_from_then_on(past):
    sampler = BersSampler(past, seed=0)
    study = study_of(near(2e-3, 88), 16, sampler)
    assert by(study)[:6] == ["agreed"] * 3 + ["model"] * 2 + ["base"]
    assert by(study)[6:] == ["model"] * 9 + ["base"]
    plain = drawn(near(2e-3, 88), 16)
    assert values(study)[0] < np.median(values(plain))
    assert min(values(study)) < 0.5 * min(values(plain))
    assert sum(sampler.weights.values()) == pytest.approx(1)
    assert list(sampler.weights) == ["s0", "s1", "s2", "s3", "nobody"]


def test_a_trial_keeps_little(past):
    study = study_of(near(2e-3, 88), 8, BersSampler(past, seed=0))
    for trial in study.trials:
        kept = trial.user_attrs[KEY]
        assert len(json.dumps(kept)) < 250
        assert set(kept) <= {"source", "point", "by", "weights"}
        assert len(kept["weights"]) <= 4
        if kept["source"] is not None:
            assert kept["by"] in ("agreed", "model")
            assert 0 <= kept["point"] < 30


def test_turned_studies_lose_their_say(past):
    sampler = BersSampler(turned(past), seed=0)
    study = study_of(near(2e-3, 88), 14, sampler)
    assert sampler.weights["nobody"] > 0.9
    assert min(values(study)) < 1


def test_same_seed_same_trials_copies_and_threads(past):
    sampler = BersSampler(past, seed=3)
    study = study_of(near(1e-2, 64), 8, sampler)
    again = study_of(near(1e-2, 64), 8, BersSampler(past, seed=3))
    assert params(again) == params(study)
    other = study_of(near(1e-2, 64), 8, BersSampler(past, seed=4))
    assert params(other) != params(study)
    for one in (pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)):
        copied = optuna.create_study(sampler=one)
        copied.add_trials(study.trials)
        copied.optimize(near(1e-2, 64), n_trials=3)
        assert by(copied)[-3:] == ["model"] * 3
        assert one.weights != sampler.weights
    study.optimize(near(1e-2, 64), n_trials=8, n_jobs=2)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 16
    assert len({tuple(sorted(map(str, p.items()))) for p in params(study)}) >= 15


_OTHER = """
import sys
import optuna
from bers.integrations.optuna import BersSampler
past = {n: optuna.load_study(study_name=n, storage=sys.argv[1]) for n in ("s0", "s1")}
sampler = BersSampler(past, seed=5)
study = optuna.load_study(study_name="new", storage=sys.argv[1], sampler=sampler)
study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.4) ** 2, n_trials=5)
"""


def test_processes_share_a_storage(tmp_path):
    def near(best):
        return lambda trial: (trial.suggest_float("x", 0, 1) - best) ** 2

    storage = f"sqlite:///{tmp_path}/studies.db"
    past = {}
    for name, best in (("s0", 0.35), ("s1", 0.45)):
        sampler = RandomSampler(seed=0)
        past[name] = optuna.create_study(storage=storage, study_name=name, sampler=sampler)
        past[name].optimize(near(best), n_trials=12)
    sampler = BersSampler(past, seed=6)
    study = optuna.create_study(storage=storage, study_name="new", sampler=sampler)
    command = [sys.executable, "-W", "error::UserWarning", "-c", _OTHER, storage]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as other:
        study.optimize(near(0.4), n_trials=5)
        _, said = other.communicate(timeout=300)
    assert other.returncode == 0, said
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 10
    assert 3 <= by(study).count("agreed") <= 6  # more than 3 where both began at once
    assert len({t.params["x"] for t in study.trials}) >= 9
    assert study.best_value < 1e-2


def test_points_under_way_are_not_proposed_twice(past):
    study = optuna.create_study(sampler=BersSampler(past, seed=0))
    asked = []
    for _ in range(5):  # five workers that have no value yet
        trial = study.ask()
        near(1e-3, 96)(trial)
        asked.append(tuple(map(str, trial.params.values())))
    assert len(set(asked)) == 5


@pytest.mark.parametrize("reuse", [None, ReuseConfig(schedule=1.0, pick="best")])
def test_trials_that_are_asked_before_any_parameter_get_points_of_their_own(past, reuse):
    study = optuna.create_study(sampler=BersSampler(past, seed=0, reuse=reuse))
    for _ in range(2):  # without any value, then with some
        asked = [study.ask() for _ in range(4)]
        told = [(trial, near(1e-3, 96)(trial)) for trial in asked]
        for trial, value in told:
            study.tell(trial, value)
    assert len({tuple(map(str, one.values())) for one in params(study)}) == 8


def test_points_that_are_asked_for_together_are_those_that_most_studies_agree_on(past):
    wrong = {"wrong": turned(past)["s0"]}
    study = optuna.create_study(sampler=BersSampler(past | wrong, seed=0))
    asked = [study.ask() for _ in range(4)]
    together = [near(2e-3, 88)(trial) for trial in asked]
    assert max(together) < np.median(values(drawn(near(2e-3, 88), 40)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_by_one = study_of(near(2e-3, 88), 3, BersSampler(past | wrong, seed=0))
    assert max(values(one_by_one)) > 2 * max(together)  # the odd one is heard, for one trial
    assert by(study) == ["agreed"] * 4


def test_points_that_were_enqueued_and_are_under_way_are_not_proposed(past):
    alone = optuna.create_study(sampler=BersSampler(past, seed=0))
    near(1e-3, 96)(alone.ask())
    study = optuna.create_study(sampler=BersSampler(past, seed=0))
    study.enqueue_trial(alone.trials[0].params)
    both = [study.ask() for _ in range(2)]
    for trial in both:
        near(1e-3, 96)(trial)
    assert params(study)[0] == params(alone)[0]
    assert params(study)[1] != params(alone)[0]


def test_conditional_parameters_are_proposed_together():
    def objective(trial):
        if trial.suggest_categorical("model", ["tree", "line"]) == "tree":
            return (trial.suggest_int("depth", 1, 9) - 4) ** 2 + trial.suggest_float("x", 0, 1)
        return 30 + trial.suggest_float("slope", 0, 1) + trial.suggest_float("x", 0, 1)

    first = drawn(objective, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = BersSampler([first], seed=1)
        study = study_of(objective, 12, sampler)
    assert min(values(study)) <= min(values(first)) + 0.1
    for trial in study.trials:
        assert ("depth" in trial.params) == (trial.params["model"] == "tree")
    assert sum(t.params["model"] == "tree" for t in study.trials) > 8


def test_rows_of_a_space_with_inactive_parameters():
    columns = Columns(
        {
            "a": FloatDistribution(1e-4, 1, log=True),
            "b": IntDistribution(0, 10),
            "c": CategoricalDistribution(["x", None]),
            "d": FloatDistribution(0, 1, step=0.25),
            "e": IntDistribution(1, 100, log=True),
        }
    )
    x, active = columns.rows([{"a": 1e-2, "b": 5, "c": None, "d": 0.5}, {"c": "y", "e": 10}])
    np.testing.assert_allclose(x, [[0.5, 0.5, 0, 1, 0.5, 0.5], [0.5, 0.5, 0, 0, 0.5, 0.5]])
    assert active.tolist() == [[True] * 4 + [False], [False] * 4 + [True]]
    assert columns.params(x[0], active[0]) == {
        "a": pytest.approx(0.01),
        "b": 5,
        "c": None,
        "d": 0.5,
    }
    drawn = np.random.default_rng(0).random((50, 6))
    snapped = columns.snapped(drawn)
    for before, after in zip(drawn, snapped, strict=True):
        told = columns.params(after, np.ones(5, bool))
        again, _ = columns.rows([told])
        number = [0, 1, 4, 5]
        np.testing.assert_allclose(again[0][number], after[number], atol=1e-9)
        assert abs(after[4] - before[4]) <= 0.125
        assert abs(after[1] - before[1]) <= 0.05


def test_a_parameter_that_no_study_has_and_one_that_is_gone(past):
    def objective(trial):
        off = np.log10(trial.suggest_float("rate", 1e-4, 1e-1, log=True) / 2e-3)
        return off**2 + trial.suggest_float("new", -1, 1) ** 2

    sampler = BersSampler(past, seed=0)
    with pytest.warns(DataWarning, match="does not have new"):
        study = study_of(objective, 14, sampler)
    assert all(set(p) == {"rate", "new"} for p in params(study))
    assert min(values(study)) < 0.1
    space = space_of(as_earlier(past), study.trials)
    assert list(space) == ["new", "rate"]
    assert (space["rate"].low, space["rate"].high) == (1e-4, 1e-1)


def test_spaces_of_two_studies_are_joined_before_the_first_trial():
    x, wide = FloatDistribution(0, 1), FloatDistribution(-2, 0.5)
    first = [create_trial(params={"x": 0.5}, distributions={"x": x}, value=1.0)]
    second = [create_trial(params={"x": -1.0}, distributions={"x": wide}, value=1.0)]
    space = space_of(as_earlier([first, second]), [])
    assert (space["x"].low, space["x"].high) == (-2, 1)


def made(value=None, state=TrialState.COMPLETE, at=0.5, **more):
    kinds = {"x": FloatDistribution(0, 1)}
    return create_trial(params={"x": at}, distributions=kinds, value=value, state=state, **more)


def test_what_was_pruned_failed_or_broke_a_constraint_is_a_row():
    columns = Columns({"x": FloatDistribution(0, 1)})
    trials = [
        made(1.0),
        made(2.0),
        made(9.0),
        made(state=TrialState.PRUNED, intermediate_values={0: 50.0, 1: 4.0}),
        made(state=TrialState.PRUNED, intermediate_values={0: 0.1}),
        made(state=TrialState.FAIL),
        made(0.5, system_attrs={"constraints": [1.0]}),
        made(float("inf")),
        made(state=TrialState.PRUNED),
    ]
    for number, trial in enumerate(trials):
        trial.number = number
    own = own_rows(columns, trials, False, 99)
    assert own.y.tolist() == [1.0, 2.0, 9.0, 4.0, 1.5, 9.0, 9.0, 9.0, 9.0]
    (one,) = as_earlier({"a": trials[:7]})
    assert one.y.tolist() == [1.0, 1.5, 2.0, 4.0, 9.0, 9.0]
    # turned: what was pruned is no better than the middle of all, -1.5
    assert one.towards(True).y.tolist() == [-9.0, -2.0, -1.5, -1.0, -0.5, -0.1]


@pytest.mark.parametrize("kind", ["study", "trials"])
def test_maximised(kind):
    def hill(trial):
        return -((trial.suggest_float("x", 0, 10) - 7) ** 2)

    first = drawn(hill, 20, direction="maximize")
    source = first if kind == "study" else first.trials
    study = study_of(hill, 8, BersSampler([source], seed=1), direction="maximize")
    assert max(values(study)) > -0.3
    loss = drawn(lambda trial: -hill(trial), 20)
    study = study_of(hill, 8, BersSampler([loss], seed=1), direction="maximize")
    assert max(values(study)) > -0.3


def test_demonstrations_enqueued_trials_and_small_spaces():
    rows = Demonstrations([[0.2, 3.4], [0.9, 5.0]], [2.0, 1.0], "lab", x_names=("x", "n"))
    study = optuna.create_study(sampler=BersSampler([rows], seed=0))
    study.enqueue_trial({"x": 0.123, "n": 2})

    def objective(trial):
        return trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 4)

    study.optimize(objective, n_trials=7)
    assert study.trials[0].params == {"x": 0.123, "n": 2}
    assert KEY not in study.trials[0].user_attrs
    first = drawn(lambda trial: trial.suggest_int("n", 0, 2), 6)
    small = study_of(lambda trial: trial.suggest_int("n", 0, 2), 9, BersSampler([first], seed=0))
    assert {p["n"] for p in params(small)} == {0, 1, 2}
    assert by(small)[-1] == "base"  # all was tried


def test_without_sources_it_is_the_base_sampler():
    plain = study_of(near(1e-2, 64), 12, TPESampler(seed=4))
    assert params(study_of(near(1e-2, 64), 12, BersSampler(seed=4))) == params(plain)
    assert params(study_of(near(1e-2, 64), 12, BersSampler(None, seed=4))) == params(plain)
    with pytest.raises(ConfigError, match="odds must be above 0; got 0. Give 1"):
        BersSampler(odds=0)


def test_studies_without_a_parameter_of_the_new_one_have_no_say(past):
    sampler = BersSampler(past, seed=0)
    with pytest.warns(DataWarning, match="has none of the new study's parameters") as said:
        study = study_of(lambda trial: trial.suggest_float("alpha", 0, 1) ** 2, 3, sampler)
    assert len(said) == len(past)
    assert sampler.weights == dict.fromkeys(past, 0.0) | {"nobody": 1.0}
    assert by(study)[1:] == ["base", "base"]
    assert study.trials[2].user_attrs[KEY]["weights"] == {"nobody": 1.0}


@pytest.mark.parametrize("reuse", [None, ReuseConfig()])
def test_a_parameter_of_another_type_is_told_and_has_no_say(past, reuse):
    sampler = BersSampler(past, seed=0, reuse=reuse)
    with pytest.warns(DataWarning, match="has no value of rate that the new study could") as said:
        study_of(lambda trial: float(trial.suggest_categorical("rate", "ab") == "a"), 3, sampler)
    assert str(said[0].message).startswith("'s0' ")
    assert len(said) == len(past)
    assert sampler.weights == dict.fromkeys(past, 0.0) | {"nobody": 1.0}


def test_few_rows_and_equal_values():
    one = drawn(near(1e-2, 64), 1)
    flat = drawn(lambda trial: 0.0 * trial.suggest_float("rate", 1e-5, 1, log=True), 9)
    sampler = BersSampler({"one": one, "flat": flat}, seed=0)
    with pytest.warns(DataWarning, match="'flat' does not have"):
        study = study_of(near(1e-2, 64), 12, sampler)
    assert all(np.isfinite(list(sampler.weights.values())))
    assert len(study.trials) == 12


def test_a_report_says_who_helped(past, tmp_path):
    from typer.testing import CliRunner

    from bers.cli import app

    storage = f"sqlite:///{tmp_path}/studies.db"
    study = optuna.create_study(
        storage=storage, study_name="new", sampler=BersSampler(past, seed=0)
    )
    study.optimize(near(2e-3, 88), n_trials=7)
    rows = {row[0]: row for row in helped(study)}
    assert sum(int(row[1]) for row in rows.values() if row[1]) == 7
    best = min(float(row[2]) for row in rows.values() if row[2])
    assert best == pytest.approx(study.best_value, rel=1e-3)
    assert rows["the base sampler"][1] == "1"
    said = CliRunner().invoke(app, ["tune-report", storage])
    assert said.exit_code == 0
    assert "points tried" in said.output
    with pytest.raises(DataError, match="the storage has: new. Name one"):
        CliRunner().invoke(app, ["tune-report", storage, "old"], catch_exceptions=False)
    with pytest.raises(DataError, match="no trial says whom it was guided by. Give a study"):
        helped(past["s0"])


def test_a_study_that_misleads_does_not_keep_it_in_one_branch():
    def trap(trial):  # the best is 0, in a branch whose usual point is the worst of all
        kind = trial.suggest_categorical("kind", ["steep", "flat", "even"])
        if kind == "steep":
            rate = trial.suggest_float("rate", 1e-4, 1, log=True)
            return (math.log10(rate) + 2) ** 2 + (trial.suggest_int("depth", 2, 12) - 7) ** 2 / 16
        if kind == "flat":
            return (math.log10(trial.suggest_float("C", 1e-3, 1e3, log=True)) - 1) ** 2 + 1.5
        return 0.3 * math.log2(trial.suggest_int("width", 8, 256, log=True) / 64) ** 2 + 1.4

    wrong = study_of(lambda trial: -trap(trial), 40, TPESampler(seed=10))
    for seed in range(2):
        study = study_of(trap, 25, BersSampler({"wrong": wrong}, seed=seed))
        assert study.best_value < 1, seed  # no point of the other branches


def test_the_file_for_the_registry_is_what_it_asks_for():
    folder = Path(__file__).parents[2] / "examples/optunahub/package/samplers/bers"
    assert {path.name for path in folder.iterdir()} >= {
        "__init__.py",
        "README.md",
        "LICENSE",
        "example.py",
    }
    spec = importlib.util.spec_from_file_location("hub_bers", folder / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.BersSampler is BersSampler
    _, head, text = (folder / "README.md").read_text().split("---\n", 2)
    asked = ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert [line.split(":")[0] for line in head.splitlines()] == asked
    for part in ("## Abstract", "## APIs", "## Installation", "## Example"):
        assert part in text


def test_a_base_sampler_that_repeats_itself_has_no_more_turns():
    kinds = {"x": CategoricalDistribution(range(40)), "k": CategoricalDistribution("ab")}
    columns = Columns(kinds)

    def tried(x, value, by):
        attrs = {KEY: {"source": None, "by": by}}
        given = {"x": x, "k": "a"}
        return create_trial(params=given, distributions=kinds, value=value, user_attrs=attrs)

    trials = [tried(1, 1.0, "model"), tried(2, 3.0, "base"), tried(1, 1.0, "model")]
    own = own_rows(columns, trials, False, 99)
    assert own.of_base.tolist() == [False, True, False]
    assert own.first_time.tolist() == [0, 1]
    assert not own.base_repeats
    trials += [tried(2, 3.0, "base")] * 3
    again = own_rows(columns, trials, False, 99)
    assert again.base_repeats
    assert again.y[again.first_time].tolist() == [1.0, 3.0]  # no stairs: it is the same point


def test_stairs_are_found_and_shared_with_the_base_sampler():
    columns = Columns({"x": FloatDistribution(0, 1)})
    trials = [made(value, at=at) for at, value in [(0.1, 1.0), (0.15, 1.0), (0.4, 2.0), (0.9, 2.0)]]
    own = own_rows(columns, trials, False, 99)
    np.testing.assert_allclose(_steps(own, 5), [0.1, 0.1, 0, 0, 0])  # 0.4 and 0.9 are far apart
    assert left_to_base(8, np.array([1.0, 1, 1, 2, 3, 4]))
    assert not left_to_base(8, np.array([1.0, 2, 3, 4, 5, 5, 5, 5]))  # as pruned ones are
    assert not left_to_base(4, np.ones(4))
