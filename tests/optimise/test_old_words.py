"""Each word of the version before warns with the new one, and gives the same bits."""

import inspect

import numpy as np
import pytest
from optimise_helpers import BLIND, BOUNDS, D, assert_same, eight, past, sphere

from bers.algorithm import ReuseConfig
from bers.deprecated import old_name, old_words, warn_old
from bers.errors import ConfigError
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.ask_tell import Optimizer
from bers.optimise.minimize import minimize
from bers.optimise.multitask import minimize_many

PAST = {"right": past(), "wrong": past(-np.ones(D), seed=1)}
TINY = ModelConfig(hidden=(8,), latent_dim=2, batches=300, learning_rate=1e-2)
SHORT = {"rng": 0, "maxiter": 3, "maxfun": 110}
START = np.linspace(-1, 1, 32 * D).reshape(32, D)

# an old word, its value, and the new form: of a record's field, or of an argument
LEARNER = [
    ("population_size", 8, DE(population=8), r"learner=bers.DE\(population=8\)"),
    ("mutation", 0.7, DE(mutation=0.7), r"learner=bers.DE\(mutation=0.7\)"),
    ("mutation", [0.5, 0.9], DE(mutation=(0.5, 0.9)), r"learner=bers.DE\(mutation=\[0.5, 0.9\]\)"),
    ("recombination", 0.2, DE(recombination=0.2), r"learner=bers.DE\(recombination=0.2\)"),
    ("updating", "deferred", DE(updating="deferred"), r"learner=bers.DE\(updating='deferred'\)"),
    ("init", "sobol", DE(init="sobol"), r"learner=bers.DE\(init='sobol'\)"),
    ("init", START, DE(init=START), r"learner=bers.DE\(init=\.\.\.\)"),
    ("tol", 3.0, DE(tol=3.0), r"learner=bers.DE\(tol=3.0\)"),
    ("atol", 3.0, DE(atol=3.0), r"learner=bers.DE\(atol=3.0\)"),
]
REUSE = [
    ("metric", "shape", {"rule": "shape"}, r"reuse=bers.ReuseConfig\(rule='shape'\)"),
    ("schedule", 0.9, {"schedule": 0.9}, r"reuse=bers.ReuseConfig\(schedule=0.9\)"),
    ("guard", "none", {"guard": "none"}, r"reuse=bers.ReuseConfig\(guard='none'\)"),
    ("elites", 2, {"elites": 2}, r"reuse=bers.ReuseConfig\(elites=2\)"),
    ("pick", "predicted", {"pick": "predicted"}, r"reuse=bers.ReuseConfig\(pick='predicted'\)"),
    ("transform", "rank", {"transform": "rank"}, r"reuse=bers.ReuseConfig\(transform='rank'\)"),
    ("transform", None, {"transform": None}, r"reuse=bers.ReuseConfig\(transform=None\)"),
]


def named(case):
    return f"{case[0]}={'...' if isinstance(case[1], np.ndarray) else case[1]}"


def far(x):
    return float(np.sum(np.abs(x + 1)))


@pytest.mark.parametrize("case", LEARNER, ids=named)
def test_words_of_the_learner(case):
    word, value, learner, said = case
    with pytest.warns(DeprecationWarning, match=rf"^{word}= is called {said} now") as caught:
        old = minimize(sphere, BOUNDS, **SHORT, **{word: value})
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where the old word was written
    assert_same(old, minimize(sphere, BOUNDS, **SHORT, learner=learner))
    assert not np.array_equal(old.fun_all, minimize(sphere, BOUNDS, **SHORT).fun_all)


@pytest.mark.parametrize("case", REUSE, ids=named)
def test_words_of_reuse(case):
    word, value, fields, said = case
    how = {"sources": PAST, "model": TINY, "learner": eight(), **SHORT}
    with pytest.warns(DeprecationWarning, match=rf"^{word}= is called {said} now") as caught:
        old = minimize(sphere, BOUNDS, **how, **{word: value})
    assert len(caught) == 1
    new = minimize(sphere, BOUNDS, **how, reuse=ReuseConfig(**fields))
    assert_same(old, new)
    np.testing.assert_array_equal(old.weight_history, new.weight_history)
    plain = minimize(sphere, BOUNDS, **how)
    assert not (
        np.array_equal(old.weight_history, plain.weight_history)
        and np.array_equal(old.fun_all, plain.fun_all)
    )


def test_a_feasible_set_is_part_of_the_rules_name():
    how = {"sources": PAST, "model": TINY, "learner": eight(), **SHORT}
    said = r"= is called reuse=bers.ReuseConfig\(rule='shape\+nobody'\) now"
    with pytest.warns(DeprecationWarning, match=said) as caught:
        old = minimize(sphere, BOUNDS, **how, metric="shape", feasible="at_most_one")
    assert sorted(str(one.message).split("=")[0] for one in caught) == ["feasible", "metric"]
    new = minimize(sphere, BOUNDS, **how, reuse=ReuseConfig(rule="shape+nobody"))
    np.testing.assert_array_equal(old.weight_history, new.weight_history)
    assert_same(old, new)
    with pytest.warns(DeprecationWarning, match=r"^feasible= is called .*rule='odds'") as caught:
        minimize(sphere, BOUNDS, **how, feasible=None)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"metric": "shape", "feasible": "all"}, "feasible must be .simplex. or .* got 'all'"),
        ({"feasible": "simplex"}, "feasible is for the metrics of the quadratic program"),
        ({"metric": "best"}, "no rule 'best'"),
        ({"elites": 0}, r"elites=...\) must be a whole number of at least 1; got 0"),
        ({"schedule": 1.5}, r"chance in \[0, 1\]; got 1.5"),
        ({"guard": "maybe"}, "guard must be one of trial, success, none; got 'maybe'"),
        ({"population_size": 3}, r"population=...\) must be a whole number of at least 4; got 3"),
        ({"mutation": 2.5}, "mutation=.*got 2.5"),
        ({"metric": "odds", **BLIND}, "metric= is part of reuse= now. Set it there"),
        ({"tol": 0.0, "learner": DE()}, "tol= is part of learner= now. Set it there"),
        ({"feasible": None, **BLIND}, "feasible= is part of reuse= now. Set it there"),
    ],
    ids=str,
)
def test_what_was_refused_is_refused(words, said):
    with pytest.raises(ConfigError, match=said):
        minimize(sphere, BOUNDS, sources=PAST, maxiter=1, **words)


def test_the_models_settings():
    how = {"sources": PAST, "learner": eight(), **SHORT}
    new = minimize(sphere, BOUNDS, **how, model=TINY)
    for more in ({}, {"model": None}):
        with pytest.warns(DeprecationWarning, match="^config= is called model= now"):
            old = minimize(sphere, BOUNDS, **how, config=TINY, **more)
        assert_same(old, new)
        np.testing.assert_array_equal(old.weight_history, new.weight_history)
    # a model that was given beside it counted
    model = new.ranking.model
    with pytest.warns(DeprecationWarning, match="^config= is called model= now"):
        both = minimize(sphere, BOUNDS, **how, config=ModelConfig(batches=7), model=model)
    assert both.ranking.model.batches == model.batches


def test_bars_and_lines(capsys):
    with pytest.warns(DeprecationWarning, match="^progress_bar= is called progress= now"):
        old = minimize(sphere, BOUNDS, **SHORT, progress_bar=True)
    assert "generations" in capsys.readouterr().err
    new = minimize(sphere, BOUNDS, **SHORT)
    assert_same(old, new)
    assert capsys.readouterr() == ("", "")
    with pytest.warns(DeprecationWarning, match='^disp= is called progress="lines" now'):
        assert_same(minimize(sphere, BOUNDS, **SHORT, disp=True), new)
    lines = capsys.readouterr().out
    minimize(sphere, BOUNDS, **SHORT, progress="lines")
    assert capsys.readouterr().out == lines
    assert lines.startswith("bers generation 1: f(x) = ")
    with pytest.warns(DeprecationWarning, match='^disp= is called progress="lines" now'):
        assert_same(minimize(sphere, BOUNDS, **SHORT, disp=False), new)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("runs", [PAST, list(PAST.values())], ids=["mapping", "list"])
def test_past_runs_in_the_third_place(runs):
    said = r"minimize\(fun, bounds, runs\) is called minimize\(fun, bounds, sources=runs\) now"
    with pytest.warns(DeprecationWarning, match=said) as caught:
        old = minimize(sphere, BOUNDS, runs, **SHORT, **BLIND)
    assert caught[0].filename == __file__
    assert_same(old, minimize(sphere, BOUNDS, sources=runs, **SHORT, **BLIND))
    assert sum(old.sources_used.values()) > 0


def test_the_third_place_is_that_of_further_arguments_as_in_scipy():
    def scaled(x, scale):
        return scale * sphere(x)

    new = minimize(scaled, BOUNDS, (4.0,), **SHORT)
    np.testing.assert_array_equal(new.x, minimize(sphere, BOUNDS, **SHORT).x)
    both = minimize(scaled, BOUNDS, [4.0], sources=PAST, **SHORT, **BLIND)
    assert sum(both.sources_used.values()) > 0
    assert both.fun == 4 * sphere(both.x)


def test_several_words_at_once():
    words = {"population_size": 8, "tol": 0.0, "updating": "deferred", "metric": "ucb", "elites": 3}
    with pytest.warns(DeprecationWarning, match="is called") as caught:
        old = minimize(sphere, BOUNDS, sources=PAST, **SHORT, **words)
    assert sorted(str(one.message).split("=")[0] for one in caught) == sorted(words)
    reuse = ReuseConfig(rule="ucb", elites=3)
    new = minimize(sphere, BOUNDS, sources=PAST, **SHORT, learner=eight("deferred"), reuse=reuse)
    assert_same(old, new)


def test_words_of_an_optimizer():
    words = {"population_size": 8, "metric": "equal", "guard": "success"}
    with pytest.warns(DeprecationWarning, match=r"= is called (learner|reuse)=") as caught:
        old = Optimizer(BOUNDS, PAST, rng=0, **words)
    assert {one.filename for one in caught} == {__file__}
    assert sorted(str(one.message).split("=")[0] for one in caught) == sorted(words)
    learner = DE(population=8, updating="deferred")  # as ever, unless it is said
    new = Optimizer(
        BOUNDS, PAST, rng=0, learner=learner, reuse=ReuseConfig(rule="equal", guard="success")
    )
    assert old.learner == learner
    for one in (old, new):
        while one.nit < 4:
            points = one.ask()
            one.tell(points, [sphere(point) for point in points])
    assert_same(old.result(), new.result())


def test_words_of_many():
    words = {"population_size": 8, "metric": "equal", "schedule": 0.9, "batches": 2}
    with pytest.warns(DeprecationWarning, match=r"= is called (learner|reuse)=") as caught:
        old = minimize_many([sphere, far], BOUNDS, **SHORT, **words)
    whole = "reuse=bers.ReuseConfig(rule='equal', schedule=0.9, batches=2) now"
    assert f"batches= is called {whole}" in str(caught[-1].message)
    assert sorted(str(one.message).split("=")[0] for one in caught) == sorted(words)
    new = minimize_many(
        [sphere, far], BOUNDS, **SHORT, learner=DE(population=8),
        reuse=ReuseConfig(rule="equal", schedule=0.9, batches=2, elites=4),
    )  # fmt: skip
    for one, other in zip(old, new, strict=True):
        assert_same(one, other)
        assert one.sources_used == other.sources_used


def test_words_that_never_were_are_refused():
    for call in (
        lambda: minimize(sphere, BOUNDS, metrik="odds"),
        lambda: Optimizer(BOUNDS, disp=True),
        lambda: minimize_many([sphere, far], BOUNDS, disp=True),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument '(metrik|disp)'"):
            call()


def test_new_words_warn_of_nothing_and_are_what_the_signature_says():
    names = list(inspect.signature(minimize).parameters)
    assert names[:4] == ["fun", "bounds", "args", "sources"]
    old = {"metric", "config", "progress_bar", "population_size", "mutation", "tol", "feasible"}
    assert old.isdisjoint(names)
    assert len(names) == 15
    assert minimize.__doc__.startswith("Find the minimum of a function over a box")
    minimize(sphere, BOUNDS, learner=DE(population=8), reuse=ReuseConfig(), model=None, maxiter=1)


# the means


def test_a_warning_says_what_to_write_instead():
    said = "^far is called extrapolation now; the old name goes with the next version.$"
    with pytest.warns(DeprecationWarning, match=said):
        warn_old("far", "extrapolation")


def test_a_field_with_another_name():
    class Record:
        weight = 3
        a = old_name("a", "weight")

    with pytest.warns(DeprecationWarning, match=r"^Record\.a is called weight now") as caught:
        assert Record().a == 3
    assert caught[0].filename == __file__
    assert Record.a.__doc__ == "The old name of `weight`."


def test_words_are_translated_before_the_call():
    def translate(words):
        new = {"b" if name == "a" else name: value for name, value in words.items()}
        return new, {"a": "b"} if "a" in words else {}

    @old_words(translate)
    def shown(first, *, b):
        """What it got."""
        return first, b

    assert shown(1, b=2) == (1, 2)
    with pytest.warns(DeprecationWarning, match="^a= is called b now") as caught:
        assert shown(1, a=2) == (1, 2)
    assert caught[0].filename == __file__
    assert (shown.__name__, shown.__doc__) == ("shown", "What it got.")
