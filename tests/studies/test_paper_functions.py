"""Readings of the paper's functions, in small: records, what is reported, claims."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bers_studies.paper_functions import study
from bers_studies.paper_functions.claims import claims, reported
from bers_studies.paper_functions.tables import tables
from bers_studies.report.curves import read_runs
from bers_studies.static.demonstrations import demonstrate
from report_helpers import write_trials

from bers.model.config import ModelConfig

TINY = ModelConfig(hidden=(16,), latent_dim=2, batches=1, learning_rate=1e-2)
CONFIG = study.PaperFunctionsConfig(generations=24, choosing=2, population=40)


def short(rng, function, **settings):
    how = {"fitness": 0.0, "max_generations": 6, "config": settings.get("config")}
    return demonstrate(rng, function, **how)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trial that chooses, and one that reports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "demonstrate", short)
        patch.setattr(
            study.Reading, "model", lambda reading, **changes: replace(TINY, skip=reading.skip)
        )
        trials = [list(study.trial(CONFIG, seed)) for seed in (0, study.CHOOSING)]
    for records in trials:
        json.dumps(records, allow_nan=False)
        assert records[0]["sizes"] == [280] * 3
    place = tmp_path_factory.mktemp("functions")
    write_trials(place, trials)
    return place


def test_trials_that_choose_have_all_readings_and_the_others_all_targets(folder):
    runs = read_runs(folder)
    chosen = [r for r in runs.records if r["trial"] == 0 and "panel" in r]
    assert [r["reading"] for r in chosen] == list(study.READINGS)
    assert {r["panel"] for r in chosen} == {"Rastrigin"}
    rest = reported(runs)
    assert rest.trials == 1
    assert rest.values("reading") == [study.BEST]
    methods = [study.OURS, *study.RIVALS]
    shown = [(r["panel"], r["method"]) for r in rest.records if "panel" in r]
    expected = [(target.name, method) for target in study.TARGETS for method in methods]
    assert shown == expected + [(study.MULTI_TASK, m) for m in (study.OURS, "UCB", "Equal")]


def test_claims_are_the_papers_in_that_reading(folder):
    found = {claim.id: claim for claim in claims(read_runs(folder))}
    assert len(found) == 23
    assert {claim.said_by for claim in found.values()} == {"paper"}
    sizes = found.pop("demonstration-sizes")
    assert (sizes.measured, sizes.holds, sizes.trials) == ("280, 280, 280", False, 2)
    assert {claim.reading for claim in found.values()} == {study.BEST}
    assert {claim.trials for claim in found.values()} == {1}


def test_tables_show_how_it_was_chosen(folder):
    text = tables(folder)
    assert all(f"| {name} | 1 |" in text for name in study.READINGS)


def test_long_demonstrations_ask_more_of_rosenbrock():
    rng, config = np.random.default_rng(0), study.PaperFunctionsConfig(population=32)
    found = study.long_demonstrations(rng, config)
    assert [source.original_y.min() <= limit for source, limit in zip(
        found, (0.015, 0.15, 0.15), strict=True
    )] == [True] * 3  # fmt: skip
    assert found[0].n > 1.3 * study.demonstrate(np.random.default_rng(0), study.ROSENBROCK).n
