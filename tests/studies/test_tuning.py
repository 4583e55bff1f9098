"""Tuning problems, and a small study of them."""

import json

import numpy as np
import pytest
from bers_studies.tuning import study as tuning
from bers_studies.tuning.problems import Number, Problem, family


def test_a_number_is_snapped_to_its_grid():
    of = Number(1, 27, 4, whole=True)
    assert [of.level(value) for value in (1, 2, 5, 6, 27)] == [0, 1, 1, 2, 3]
    assert [round(of.value(level), 9) for level in range(4)] == [1, 3, 9, 27]
    assert Number(0, 10, 3, log=False).value(1) == 5


def test_what_was_fitted_once_is_remembered():
    seen = []

    def error(params):
        seen.append(params)
        return params["x"]

    problem = Problem("a", {"x": Number(0, 10, 11, log=False), "k": ("u", "v")}, error)
    assert [problem.at({"x": x, "k": "u"}) for x in (2.9, 3.2, 7)] == [3, 3, 7]
    assert seen == [{"x": 3, "k": "u"}, {"x": 7, "k": "u"}]
    assert problem.at({"x": 3, "k": "v"}) == 3
    assert len(seen) == 3


def test_errors_are_those_of_real_models():
    digits = family("support vectors")[0]
    good = digits.at({"C": 10.0, "gamma": 0.01, "kernel": "rbf"})
    assert good < 0.1 < 0.8 < digits.at({"C": 1e-3, "gamma": 10.0, "kernel": "rbf"})
    wine = family("support vectors, other data")[1]
    assert wine.at({"C": 1.0, "gamma": 0.1, "kernel": "rbf"}) < 0.1
    old, diabetes = family("boosting")[2], family("boosting, other data")[0]
    for problem in (old, diabetes):
        some = problem.at({"learning_rate": 0.1, "trees": 40, "depth": 2, "leaf": 3})
        assert 0.6 < some < 0.95  # below the error of the mean, which is 1
    even = family("kernel ridge")[0]
    assert even.at({"alpha": 0.1, "gamma": 0.01, "kernel": "rbf", "components": 40}) < 0.8
    mean = even.at({"alpha": 100.0, "gamma": 10.0, "kernel": "rbf", "components": 40})
    assert mean == pytest.approx(1, abs=0.05)  # it says 0 everywhere


def test_one_trial_has_all_methods_and_kinds():
    pytest.importorskip("cmaes")
    config = tuning.TuningConfig(("kernel ridge",), problems=2, earlier=12, trials=4, more=5)
    records = list(tuning.trial(config, 0))
    expected = ["TPE", "BERS", "TPE, best enqueued", "WS-CMA-ES", "BERS, turned", "BERS, mirrored"]
    assert [r["method"] for r in records] == 2 * expected
    assert [r["target"] for r in records] == ["even"] * 6 + ["below five"] * 6
    for r in records:
        assert len(r["best"]) == len(r["at"]) == 5
        assert np.all(np.diff(r["best"]) <= 0)
        json.dumps(r, allow_nan=False)
        assert (r["used"][:1] == [1]) == r["method"].startswith("BERS")


def test_misleading_studies():
    problem = family("kernel ridge")[0]
    study = tuning.searched(problem, tuning._tpe(0), 8)
    turned = tuning.turned(study.trials, problem)
    assert [one.value for one in turned] == [-one.value for one in study.trials]
    for one, other in zip(study.trials, tuning.mirrored(study.trials, problem), strict=True):
        assert one.params["alpha"] * other.params["alpha"] == pytest.approx(1e-3)
        assert one.params["kernel"] != other.params["kernel"]
        assert 2 <= other.params["components"] <= 40
        assert other.value == one.value
