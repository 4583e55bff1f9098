"""Earlier studies in Optuna."""

import copy
import pickle
import warnings
from dataclasses import replace

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
from bers.integrations.optuna import KEY, BersSampler, pays
from bers.integrations.optuna.handing import believed
from bers.integrations.optuna.space import as_earlier, fitting, row, rows_of
from bers.model.config import ModelConfig
from bers.schedules import Constant, Power  # noqa: F401  for what warnings say
from bers.trust.trust import Trust

SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
USUAL = ReuseConfig(schedule=Power(0.95), pick="predicted")
EQUAL = replace(USUAL, rule="equal", pick="best")  # no model, for what does not depend on it
ALWAYS = replace(USUAL, schedule=1.0)


def taken(study):
    """From which study each trial's point is; None where the base sampler made it."""
    return [trial.user_attrs.get(KEY, {}).get("source") for trial in study.trials]


@pytest.fixture(scope="module")
def past():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return {
        "wrong": study_of(near(0.5, 16, "a"), sampler=TPESampler(seed=98)),
        "right": study_of(near(1e-3, 96), sampler=TPESampler(seed=99)),
    }


def test_a_right_study_saves_trials_and_gets_the_weight(past):
    goal, counts = near(2e-3, 88), []
    for seed in range(3):
        plain = study_of(goal, 40, TPESampler(seed=seed))
        sampler = BersSampler(past, seed=seed, model=SMALL)
        ours = study_of(goal, 40, sampler)
        least = min(values(plain))
        below = np.flatnonzero(np.array(values(ours)) <= least)
        counts.append((below[0] + 1 if len(below) else 41, values(plain).index(least) + 1))
        assert sampler.weights["right"] > sampler.weights["wrong"]
        assert sampler.weights["right"] > 0.5
        assert taken(ours).count("right") > 2 * taken(ours).count("wrong")
        assert sum(sampler.weights.values()) == pytest.approx(1)
    ours, theirs = np.mean(counts, axis=0)
    assert ours <= 0.6 * theirs


def test_without_sources_or_chance_it_is_the_base_sampler_bit_for_bit(past):
    goal = near(1e-2, 64)
    for base in (None, RandomSampler, lambda seed: TPESampler(seed=seed, multivariate=False)):
        plain = study_of(goal, 25, (base or TPESampler)(seed=4))
        for sources, reuse in (((), EQUAL), (past, replace(EQUAL, schedule=0))):
            more = {} if base is None else {"base": base(seed=4)}
            ours = study_of(goal, 25, BersSampler(sources, seed=4, reuse=reuse, **more))
            assert params(ours) == params(plain)
            assert values(ours) == values(plain)
    assert BersSampler().weights == {"nobody": 1.0}


def test_same_seed_same_trials_other_seed_others(past):
    runs = [study_of(near(1e-2, 64), 15, BersSampler(past, seed=s, model=SMALL)) for s in (3, 3, 4)]
    assert params(runs[0]) == params(runs[1])
    assert params(runs[0]) != params(runs[2])
    assert taken(runs[0]) == taken(runs[1])


def test_first_trials_are_the_best_of_each_study_and_none_is_tried_twice(past):
    study = study_of(
        near(1e-2, 64), 40, BersSampler(past, seed=0, reuse=replace(EQUAL, schedule=1.0))
    )
    first = params(study)[:2]
    assert all(past[name].best_params in first for name in past)
    assert taken(study)[2] is None  # one trial of its own, to compare with
    points = [(one.user_attrs[KEY]["source"], one.user_attrs[KEY]["point"])
              for one in study.trials if one.user_attrs[KEY]["source"]]  # fmt: skip
    assert len(set(points)) == len(points) > 4
    for one in study.trials:
        assert list(one.user_attrs[KEY]["weights"]) == ["wrong", "right", "nobody"]


def test_points_that_only_do_harm_are_given_up(past):
    sampler = BersSampler(turned(past), seed=0, model=SMALL)
    study = study_of(near(2e-3, 88), 40, sampler)
    assert sum(source is not None for source in taken(study)) <= 4
    assert sampler.weights["nobody"] > 0.5


def test_a_study_pays_while_its_best_point_is_not_below_the_middle():
    def one(value, source, state=TrialState.COMPLETE):
        done = value if state == TrialState.COMPLETE else None
        return create_trial(value=done, state=state, user_attrs={KEY: {"source": source}})

    own = [one(1.0, None), one(2.0, None), one(9.0, None)]
    names = ["a", "b", "c", "d"]
    theirs = [one(2.0, "a"), one(50.0, "a"), one(3.0, "b"), one(0, "c", TrialState.PRUNED)]
    assert pays(names, [*own, *theirs]).tolist() == [True, False, False, True]
    assert pays(names, [*own, *theirs], maximised=True).tolist() == [True, True, False, True]
    assert not pays(names, theirs).any()
    pruned = [one(0, None, TrialState.PRUNED)] * 5  # they do not move the middle of the others
    assert pays(names, [*own, *pruned, *theirs]).tolist() == [True, False, False, True]


@pytest.mark.parametrize("kind", ["study", "trials"])
def test_maximised(kind):
    def hill(trial):
        return -((trial.suggest_float("x", 0, 10) - 7) ** 2)

    first = study_of(hill, 20, direction="maximize")
    source = first if kind == "study" else first.trials
    study = study_of(hill, 3, BersSampler([source], seed=1, reuse=EQUAL), direction="maximize")
    assert study.trials[0].params == first.best_params
    # a loss that was minimised helps a score that is maximised
    loss = study_of(lambda trial: -hill(trial), 20)
    study = study_of(hill, 3, BersSampler([loss], seed=1, reuse=EQUAL), direction="maximize")
    assert study.trials[0].params == loss.best_params


def test_demonstrations_and_names():
    rows = Demonstrations([[0.2, 3.4], [0.9, 5.0]], [2.0, 1.0], "lab", x_names=("x", "n"))
    named = optuna.create_study(study_name="january")
    named.enqueue_trial({"x": 0.5})
    named.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    sampler = BersSampler([rows, named, named.trials], seed=0, reuse=EQUAL)
    assert list(sampler.weights) == ["lab", "january", "study 2", "nobody"]
    found = study_of(
        lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 4),
        1, BersSampler([rows], seed=0, reuse=EQUAL),
    )  # fmt: skip
    assert params(found) == [{"x": 0.9, "n": 4}]  # moved into the range


def test_values_are_moved_to_what_the_new_study_takes():
    assert fitting(0.61, FloatDistribution(0, 1, step=0.25)) == 0.5
    assert fitting(5, FloatDistribution(0.1, 1)) == 1.0
    assert fitting(7.4, IntDistribution(1, 100, step=3)) == 7
    assert type(fitting(7.0, IntDistribution(1, 9))) is int
    assert fitting(None, CategoricalDistribution([None, "x"])) is None
    with pytest.raises(DataError, match=r"Give the parameter the same choices in all studies"):
        fitting("y", CategoricalDistribution([None, "x"]))
    for bad in ("x", float("nan"), None):
        with pytest.raises(DataError, match="is no number; give the parameter the same type"):
            fitting(bad, FloatDistribution(0, 1))


def test_rows_of_the_unit_cube():
    space = {
        "a": FloatDistribution(1e-4, 1, log=True),
        "b": IntDistribution(0, 10),
        "c": CategoricalDistribution(["x", None]),
        "d": FloatDistribution(3, 3),
    }
    assert row({"a": 1e-2, "b": 5, "c": None, "d": 3}, space).tolist() == [0.5, 0.5, 0, 1, 0.5]
    outside = row({"a": 1e-6, "b": 15, "c": "x", "d": 3}, space)
    np.testing.assert_allclose(outside, [-0.5, 1.5, 1, 0, 0.5])
    for lost in ({"a": -1.0}, {"c": "y"}, {"b": "5"}):
        assert row({"a": 1e-2, "b": 5, "c": "x", "d": 3} | lost, space) is None
    assert row({"a": 1e-2}, space) is None


def test_conditional_parameters_are_handed_over_and_shared_ones_compared():
    def objective(trial):
        if trial.suggest_categorical("model", ["tree", "line"]) == "tree":
            return (trial.suggest_int("depth", 1, 9) - 4) ** 2 + trial.suggest_float("x", 0, 1)
        return 30 + trial.suggest_float("slope", 0, 1) + trial.suggest_float("x", 0, 1)

    first = study_of(objective, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = BersSampler([first], seed=1, model=SMALL, reuse=ALWAYS)
        study = study_of(objective, 12, sampler)
    assert study.trials[0].params == first.best_params
    assert min(values(study)) <= min(values(first))
    assert 0 < sampler.weights["study 0"] <= 1


def test_other_parameters_and_choices():
    def other(trial):
        return trial.suggest_float("z", 0, 1) + trial.suggest_float("x", 0, 1)

    def both(trial):
        names = trial.suggest_categorical("kind", ["new", "b"]), trial.suggest_float("x", 0, 1)
        return names[1] + (names[0] == "b")

    part, none = study_of(other, 10), study_of(lambda trial: trial.suggest_float("q", 0, 1), 5)
    sampler = BersSampler({"part": part, "none": none}, seed=0, model=SMALL, reuse=ALWAYS)
    with pytest.warns(DataWarning, match="'part' does not have kind|'none' has none") as caught:
        study = study_of(both, 8, sampler)
    said = [str(one.message) for one in caught]
    assert len(said) == 2
    assert "'part' does not have kind; studies are compared by shared parameters" in said[0]
    assert "'none' has none of the new study's parameters. Leave it out" in said[1]
    assert part.best_params["x"] in [p["x"] for p in params(study)[:2]]
    assert sampler.weights["none"] == 0


def test_trials_without_a_number_are_no_rows():
    x = FloatDistribution(0, 1)

    def made(at, value=None, state=TrialState.COMPLETE):
        return create_trial(params={"x": at}, distributions={"x": x}, value=value, state=state)

    trials = [made(0.1, 5.0), made(0.2, np.inf), made(0.3, 1e200), made(0.4, 1.0)]
    trials += [made(0.5, state=TrialState.PRUNED), made(0.6, state=TrialState.FAIL)]
    with pytest.warns(DataWarning, match="'a': 2 of 4 values are not finite or beyond 1e150"):
        (one,) = as_earlier({"a": trials})
    assert (one.params, one.y.tolist()) == (({"x": 0.4}, {"x": 0.1}), [1.0, 5.0])


def test_one_trial_none_and_constant_values():
    def flat(trial):
        return 0.0 * trial.suggest_float("x", 0, 1)

    one, empty = study_of(flat, 1), optuna.create_study()
    sampler = BersSampler({"one": one, "empty": empty, "flat": study_of(flat, 9)}, model=SMALL)
    assert sampler.weights == {"one": 0.5, "empty": 0, "flat": 0.5, "nobody": 0}
    with pytest.warns(DataWarning, match="'empty' has no completed trials"):
        study_of(flat, 8, sampler)
    assert all(np.isfinite(list(sampler.weights.values())))
    assert sampler.weights["empty"] == 0
    with pytest.warns(DataWarning, match="no earlier study has a completed trial"):
        sampler = BersSampler([empty], seed=2)
    with pytest.warns(DataWarning, match="'study 0' has no completed trials"):
        ours = study_of(near(1e-2, 64), 5, sampler)
    assert params(ours) == params(study_of(near(1e-2, 64), 5, TPESampler(seed=2)))


def test_trials_that_fail_or_are_pruned_count_as_tried(past):
    def broken(trial):
        value = near(1e-2, 64)(trial)
        if trial.number % 3 == 0:
            raise optuna.TrialPruned
        return float("nan") if trial.number % 3 == 1 else value

    sampler = BersSampler(past, seed=0, model=SMALL, reuse=ALWAYS)
    study = study_of(broken, 20, sampler)
    points = [(t.user_attrs[KEY]["source"], t.user_attrs[KEY].get("point")) for t in study.trials]
    points = [point for point in points if point[0] is not None]
    assert len(set(points)) == len(points) >= 2
    assert all(np.isfinite(list(sampler.weights.values())))


def test_a_huge_study_is_thinned_out_and_keeps_its_best():
    space = {"x": FloatDistribution(0, 1)}
    x = np.random.default_rng(0).random(20_000)
    (one,) = as_earlier([Demonstrations(x[:, None], (x - 0.3) ** 2, "huge", x_names=("x",))])
    rows, places = rows_of(one, space)
    assert rows.n <= 1000
    assert rows.y[0] == np.min((x - 0.3) ** 2)
    assert rows.y.max() > 0.4
    np.testing.assert_array_equal(rows.y, one.y[places])
    np.testing.assert_array_equal(rows.x[:, 0], [one.params[j]["x"] for j in places])
    trust = Trust([rows], model=SMALL, batches=0, subset=256, progress=False)
    seen = np.linspace(0, 1, 30)[:, None]
    same = trust.observe(seen, 5 * (seen[:, 0] - 0.3) ** 2 + 2)
    assert believed(same.weights)[0] > 0.9
    assert believed(trust.observe(seen, -((seen[:, 0] - 0.3) ** 2)).weights)[0] < 0.15


def test_enqueued_trials_are_the_users(past):
    own = {"rate": 0.123, "width": 40, "kind": "c"}
    study = optuna.create_study(sampler=BersSampler(past, seed=0, reuse=EQUAL))
    study.enqueue_trial(own)
    study.optimize(near(1e-2, 64), n_trials=3)
    assert study.trials[0].params == own
    assert all(past[name].best_params in params(study)[1:] for name in past)


@pytest.mark.parametrize("rule", ["odds", "equal", "single:1", "shape+nobody"])
def test_copies_and_threads(past, rule):
    sampler = BersSampler(past, seed=0, model=SMALL, reuse=replace(USUAL, rule=rule))
    study = study_of(near(1e-2, 64), 6, sampler)
    copies = pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)
    assert sampler._way.trust.now.has_target
    state = pickle.dumps(study.trials)
    study.optimize(near(1e-2, 64), n_trials=4)
    for one in copies:
        again = optuna.create_study(sampler=one)
        again.add_trials(pickle.loads(state))
        again.optimize(near(1e-2, 64), n_trials=4)
        assert params(again) == params(study)
        assert taken(again) == taken(study)
        assert one.weights == sampler.weights
    study.optimize(near(1e-2, 64), n_trials=10, n_jobs=2)
    assert len(study.trials) == 20
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def test_errors_say_what_to_do(past):
    two = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(DataError, match="'study 0' has 2 objectives; one is needed. Make a list"):
        BersSampler([two])
    two.sampler = BersSampler(past, reuse=EQUAL)
    with pytest.raises(ConfigError, match="is for one objective; the study has 2. Use optuna"):
        two.optimize(lambda trial: (0.0, 0.0), n_trials=1)
    for wrong in (past["right"], "study.db", 3):
        with pytest.raises(DataError, match=r"must be a list of earlier studies; .* Put it in"):
            BersSampler(wrong)
    with pytest.raises(DataError, match="got one list of trials. Put it in"):
        BersSampler(past["right"].trials)
    with pytest.raises(DataError, match="'study 0' must be a study, a list of its trials"):
        BersSampler([3])
    with pytest.raises(ConfigError, match="there is no rule 'best'. Known"):
        BersSampler(reuse=ReuseConfig(rule="best"))
    with pytest.raises(ConfigError, match="pick must be one of best, predicted; got 'worst'"):
        BersSampler(reuse=ReuseConfig(pick="worst"))
    with pytest.raises(ConfigError, match="base must be a sampler of Optuna; got int"):
        BersSampler(base=3)
    with pytest.raises(ConfigError, match=r"'ucb' learns from what .* BersSampler cannot tell it"):
        BersSampler(past, reuse=ReuseConfig(rule="ucb"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'population_size'"):
        BersSampler(past, population_size=9)  # it never was one of its words


@pytest.mark.parametrize("rule", ["equal", "single:0"])
def test_a_rule_without_posteriors_has_a_model_where_points_are_predicted(past, rule):
    runs = {}
    for pick in ("predicted", "best"):
        reuse = replace(ALWAYS, rule=rule, pick=pick)
        sampler = BersSampler({"right": past["right"]}, seed=0, model=SMALL, reuse=reuse)
        runs[pick] = study_of(near(2e-3, 88), 12, sampler)
        assert sampler.weights == {"right": 1.0, "nobody": 0.0}
        at = sampler._way.trust.sources[0].x[:5]
        expected = sampler._way.trust.expected(at)
        if pick == "predicted":
            np.testing.assert_array_equal(expected, sampler._way.trust.now.relabel(at))
            assert np.ptp(expected) > 0
        else:
            assert expected is None
            assert sampler._way.trust.now.model is None
    chosen = [[t.user_attrs[KEY].get("point") for t in runs[pick].trials] for pick in runs]
    assert chosen[0] != chosen[1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"metric": "shape"}, {"rule": "shape"}, "metric= is called reuse=.*rule='shape'"),
        ({"schedule": 0.5}, {"schedule": 0.5}, r"schedule= is called reuse=.*Constant\(p=0.5\)"),
        ({"elites": 2}, {"elites": 2}, "elites= is called reuse=.*elites=2"),
        ({"pick": "best"}, {"pick": "best"}, r"pick= is called reuse=ReuseConfig\(schedule=Power"),
        ({"transform": "rank"}, {"transform": "rank"}, r"transform= is called reuse=.*'rank'"),
        ({"config": SMALL}, {}, "config= is called model= now"),
    ],
)
def test_old_words_warn_and_give_the_same_trials(past, old, new, told):
    with pytest.warns(DeprecationWarning, match=told) as caught:
        before = BersSampler(past, seed=3, **{"model": SMALL, **old})
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where the old word is written
    now = BersSampler(past, seed=3, model=SMALL, reuse=replace(USUAL, **new))
    assert (before.reuse, before.model) == (now.reuse, now.model)
    form = str(caught[0].message).partition("is called ")[2].partition(" now;")[0]
    if "config" not in old:  # what is said to be written instead does the same
        assert BersSampler(reuse=eval(form.removeprefix("reuse="))).reuse == now.reuse
    runs = [study_of(near(2e-3, 88), 12, one) for one in (before, now)]
    assert params(runs[0]) == params(runs[1])
    assert taken(runs[0]) == taken(runs[1])
    assert before.weights == now.weights


def test_old_defaults_and_both_words_at_once(past):
    same = BersSampler(past, schedule=None)  # it was the default, and is no word to warn of
    assert same.reuse is None
    assert BersSampler(past, model=SMALL).reuse == BersSampler(past, reuse=USUAL).reuse
    with pytest.raises(ConfigError, match="elites= is part of reuse= now. Set it there"):
        BersSampler(past, elites=4, reuse=USUAL)
