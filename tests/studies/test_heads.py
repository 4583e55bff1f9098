"""The promises of the model on the paper's functions, one trial each; the full study is longer."""

import numpy as np
import pytest
from bers_studies.heads.study import HeadsConfig, trial
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES, SPHERE

from bers.model.config import ModelConfig


@pytest.fixture(scope="module")
def records():
    return list(trial(HeadsConfig(models=(("BERS", ModelConfig()),)), 11))


def test_every_source_head_explains_its_function(records):
    found = {r["head"]: r["r2"] for r in records if r["kind"] == "source"}
    assert list(found) == [f.name for f in SOURCES]
    assert min(found.values()) >= 0.95, found


def test_target_heads_added_later_do_too(records):
    found = {r["head"]: r["r2"] for r in records if r["kind"] == "target"}
    assert list(found) == [f.name for f in (*SOURCES, RASTRIGIN)]
    assert min(found[f.name] for f in SOURCES) >= 0.95, found


def test_ninety_percent_intervals_hold_about_that(records):
    for r in records:
        at_ninety = r["coverage"][r["levels"].index(0.9)]
        assert 0.75 <= at_ninety <= 0.99, r


def test_demonstrations_hold_every_evaluation_until_the_fitness():
    d = demonstrate(np.random.default_rng(0), SPHERE)
    assert d.n % 32 == 0
    assert d.original_y.min() <= 0.15 < d.original_y[:-32].min()
    np.testing.assert_allclose(d.original_y, SPHERE(d.x), rtol=1e-12)
    assert [t.name for t in d.transforms] == ["log1p"]
    short = demonstrate(np.random.default_rng(0), RASTRIGIN, max_generations=3)
    assert short.n == 4 * 32
