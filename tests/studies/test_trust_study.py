from functools import partial

import numpy as np
import pytest
from bers_studies.trust import study as trust
from bers_studies.trust.study import RIGHT, TrustConfig, trial

from bers.model.config import ModelConfig

RULES = ("odds", "weights", "equal")
CONFIG = TrustConfig(generations=6, rules=RULES)


@pytest.fixture(scope="module")
def records():
    """A seed that took no part in choosing, few generations, and a model that is trained fast."""
    quick = ModelConfig(hidden=(64,), batches=1000, learning_rate=2e-3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust, "Trust", partial(trust.Trust, model=quick))
        return list(trial(CONFIG, 77))


def test_every_target_and_rule_is_there(records):
    assert [(r["target"], r["rule"]) for r in records] == [
        (target, rule) for target in RIGHT for rule in (*RULES, "ucb")
    ]
    for r in records:
        assert set(r) == {"target", "right", "rule", "generations", "weights"}
        assert r["right"] == RIGHT[r["target"]]
        assert r["generations"] == [1, 2, 3, 4, 5, 6]
        a = np.array(r["weights"])
        assert a.shape == (6, 3)
        assert np.all(a >= 0)
        assert np.all(a.sum(axis=1) < 1 + 2e-3)  # written with three digits


def test_the_default_finds_sphere_for_rastrigin(records):
    found = {r["rule"]: r["weights"][-1][2] for r in records if r["target"] == "Rastrigin"}
    assert found["odds"] > 0.9
    assert found["weights"] < 0.5  # the paper's metric does not
    assert found["equal"] == 0.333


def test_ucb_tries_everyone_first(records):
    for r in records:
        if r["rule"] == "ucb":
            np.testing.assert_allclose(r["weights"][2], 1 / 3, atol=1e-3)
            np.testing.assert_allclose(np.sum(r["weights"], axis=1), 1, atol=2e-3)


def test_generations_that_are_recorded():
    assert TrustConfig(generations=3).recorded == [1, 2, 3]
    assert TrustConfig(generations=22).recorded == [*range(1, 13), 16, 20]
    assert "ucb" not in TrustConfig().rules  # it has a run of its own
