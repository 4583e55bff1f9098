"""Readings of the arm's recipe, in small: records, what is reported, claims."""

import json
from functools import partial

import jax
import numpy as np
import pytest
from bers_studies.paper_arm import study
from bers_studies.paper_arm.claims import claims, reported
from bers_studies.paper_arm.tables import tables
from bers_studies.reacher.study import GOALS, ReacherBench, ReacherConfig, ShownConfig, shown
from bers_studies.report.curves import read_runs
from bers_studies.study import study_named
from report_helpers import write_trials

from bers.reuse.transitions import BatchGuide

TINY = ShownConfig(steps=1500, rows=500)
SMALL = ReacherConfig(episodes=2, tests=2, clone_epochs=1, shown=TINY, batches=50)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trial that chooses, with one goal, and one that reports, with both."""
    config = study.PaperArmConfig(SMALL)
    parts = [0, study.CHOOSING * study.PARTS, study.CHOOSING * study.PARTS + 1]
    trials = [list(study.trial(config, seed)) for seed in parts]
    json.dumps(trials, allow_nan=False)
    assert [r["reading"] for r in trials[0]] == list(study.READINGS)
    for records in trials[1:]:
        assert [r["method"] for r in records] == [study.OURS, *study.RIVALS]
        assert records[0]["reading"] == study.BEST
    place = tmp_path_factory.mktemp("arm")
    write_trials(place, trials)
    return place


def test_readings_differ_in_weights_or_in_returns(folder):
    assert study_named("paper-arm").parts == study.PARTS
    first = [r for r in read_runs(folder).records if r["trial"] == 0]
    runs = {r["reading"]: (r["weights"], r["returns"]) for r in first}
    assert runs["as printed"][0] != runs["skip"][0]
    assert runs["as printed"][1] != runs["beside"][1]


def test_claims_are_the_authors_in_that_reading(folder):
    runs = read_runs(folder)
    found = list(claims(runs))
    assert len({claim.id for claim in found}) == len(found) == 6
    assert {claim.reading for claim in found} == {study.BEST}
    assert {claim.trials for claim in found} == {1} == {reported(runs).trials}
    assert "| choosing | skip |" in tables(folder)


@pytest.mark.parametrize(("p_m", "more"), [(0.0, 0), (1.0, 1)])
def test_a_batch_beside_is_one_more_and_nothing_without_sources(p_m, more):
    given = shown(0, TINY)
    plain = ReacherBench(GOALS["upper right"], given, 0, SMALL).learner
    learner = study.BesideDQN(**vars(plain))
    rng, a = np.random.default_rng(0), np.eye(4)[2]
    guide = partial(BatchGuide, rng, a, counts=given.counts, rewards=given.pool.r_t.take)
    state, seen = learner.iterate(rng, learner.start(rng), guide(p_m))
    assert int(state.moments.steps) == (1 + more) * learner.task.horizon
    assert len(seen.y) == learner.task.horizon
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.net))
