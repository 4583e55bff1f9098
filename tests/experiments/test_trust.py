import json

import numpy as np
import pytest

from bers.experiments.trust import RIGHT, TrustConfig, study

RULES = ("odds", "weights", "equal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trials")


@pytest.fixture(scope="module")
def records(folder):
    """A seed that took no part in choosing, and few generations."""
    return study(TrustConfig(seeds=(77,), generations=6, rules=RULES), folder, progress=False)


def test_every_target_and_rule_is_there(records):
    assert {(r["target"], r["rule"]) for r in records} == {
        (target, rule) for target in RIGHT for rule in (*RULES, "ucb")
    }
    for r in records:
        a = np.array(r["weights"])
        assert a.shape == (6, 3)
        assert np.all(a >= 0)
        assert np.all(a.sum(axis=1) < 1 + 2e-3)  # written with three digits


def test_the_default_finds_sphere_for_rastrigin(records):
    found = {r["rule"]: r["weights"][-1][2] for r in records if r["target"] == "Rastrigin"}
    assert found["odds"] > 0.9
    assert found["weights"] < 0.5  # the paper's metric does not


def test_ucb_tries_everyone_first(records):
    for r in records:
        if r["rule"] == "ucb":
            np.testing.assert_allclose(r["weights"][2], 1 / 3, atol=1e-3)


def test_a_trial_that_is_there_is_not_run_again(records, folder, monkeypatch):
    monkeypatch.setattr("bers.experiments.trust.fit", None)  # would fail if it were called
    again = study(TrustConfig(seeds=(77,), generations=6, rules=RULES), folder, progress=False)
    assert json.dumps(again) == json.dumps(records)


def test_trials_of_other_settings_are_not_mixed_in(records, folder):
    assert TrustConfig(generations=6).digest != TrustConfig(generations=7).digest
    assert TrustConfig(rules=("odds",)).digest != TrustConfig(rules=("equal",)).digest
    assert TrustConfig(seeds=(1,)).digest == TrustConfig(seeds=(2,)).digest
    assert len(list(folder.iterdir())) == 4
