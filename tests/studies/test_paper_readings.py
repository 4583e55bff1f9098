"""Readings of the paper's supply chain, in small: what they change, their records, their claims."""

import json
import tempfile
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.paper_best import study as paper_best
from bers_studies.paper_best.claims import claims
from bers_studies.paper_best.tables import tables as best_tables
from bers_studies.paper_readings import demonstrations, readings
from bers_studies.paper_readings import study as paper_readings
from bers_studies.paper_readings.bench import OURS
from bers_studies.paper_readings.demonstrations import network_of, shown_in
from bers_studies.paper_readings.readings import AS_PRINTED, READINGS, PerEpisode
from bers_studies.paper_readings.tables import tables
from bers_studies.report.curves import Runs
from bers_studies.rl.ddpg import DDPG, DDPGConfig
from bers_studies.rl.handed import nothing_handed
from bers_studies.study import study_named
from bers_studies.supply import demonstrations as supply_demonstrations
from bers_studies.supply.demonstrations import DemonstrationConfig, with_trucks
from bers_studies.supply.study import SupplyConfig
from report_helpers import write_trials

from bers.reuse.transitions import BatchGuide

SMALL = SupplyConfig(
    episodes=2, tests=2, shown=DemonstrationConfig(steps=400, rows=300), batches=20
)
NETS = DDPGConfig(hidden=(32, 32))


@pytest.fixture(scope="module", autouse=True)
def small_networks(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supply_demonstrations, "DDPGConfig", lambda: NETS)
        patch.setattr(demonstrations, "DDPGConfig", lambda: NETS)
        patch.setattr(readings, "DDPGConfig", partial(DDPGConfig, hidden=(32, 32)))
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("demonstrations")))
        yield


@pytest.fixture(scope="module")
def given():
    return shown_in(AS_PRINTED, 0, SMALL.shown)


def test_every_reading_has_a_name_and_one_change():
    assert len({replace(one, name="", says="") for one in READINGS.values()}) == len(READINGS)
    for one in readings.ONE_BY_ONE[1:]:
        fields = {f for f in vars(one) if getattr(one, f) != getattr(AS_PRINTED, f)}
        assert len(fields - {"name", "says"}) <= (2 if ", skip" in one.name else 1)
    assert study_named("paper-readings").parts == paper_readings.PARTS
    assert study_named("paper-best").parts == paper_best.PARTS


def test_what_is_chosen_by_some_trials_is_reported_by_others():
    chosen = range(study_named("paper-readings").trials)
    assert max(chosen) < paper_best.FIRST
    assert all(reading in READINGS.values() for reading in paper_best.BEST)


def episodes(which, guide=None, count=2):
    rng, state = np.random.default_rng(0), None
    state = which.start(rng)
    for _ in range(count):
        state, seen = which.iterate(rng, state, guide and guide())
    return state, seen


def test_as_printed_is_the_plain_learner_bit_for_bit(given):
    task = SupplyTask(SupplyChain(2))
    mine = AS_PRINTED.learner(task, given)
    plain = DDPG(task, with_trucks(), mine.pool, NETS)

    def guide():
        rng, a = np.random.default_rng(3), np.array([0.0, 1.0, 0.0])
        return BatchGuide(rng, a, 0.5, given.counts, rewards=given.pool.r_t.take)

    for one in (None, guide):
        (state, seen), (other, theirs) = (episodes(which, one) for which in (mine, plain))
        for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(seen.y, theirs.y)


def test_a_batch_beside_is_one_more_and_nothing_without_sources(given):
    task = SupplyTask(SupplyChain(2))
    beside = READINGS["beside"].learner(task, given)
    twice = READINGS["two batches"].learner(task, given)

    def guide(p_m):
        rng, a = np.random.default_rng(3), np.array([0.0, 1.0, 0.0])
        return BatchGuide(rng, a, p_m, given.counts, rewards=given.pool.r_t.take)

    def steps(which, p_m):
        state, _ = episodes(which, partial(guide, p_m))
        return int(state.nets.critic_moments.steps)

    assert steps(beside, 0.0) == 2 * task.horizon
    assert steps(beside, 1.0) == 4 * task.horizon
    assert steps(twice, 0.5) == 4 * task.horizon
    assert twice.none.rows.shape == (2 * task.horizon, NETS.batch_size)
    assert nothing_handed(task, NETS).rows.shape == (task.horizon, NETS.batch_size)


def test_bernoulli_once_an_episode_is_as_often_as_its_chance():
    chances = np.mean([[PerEpisode(seed)(m) for m in (1, 14, 60)] for seed in range(300)], axis=0)
    np.testing.assert_allclose(chances, [0.95, 0.95**14, 0.95**60], atol=0.08)


def test_inputs_differ_and_say_what_they_should():
    rng = np.random.default_rng(0)
    s, a = rng.integers(0, 9, (5, 7)), rng.random((5, 44)).astype(np.float32)
    widths = {"trucks": 94, "units": 94, "stocks": 58, "one-hot": 758}
    rows = {name: readings.inputs_named(name)(s, a, s) for name in widths}
    assert {name: x.shape[1] for name, x in rows.items()} == widths
    units, trucks = rows["units"][:, 58:], rows["trucks"][:, 58:]
    assert (units <= s.max()).all()
    np.testing.assert_array_equal(np.sort(np.ceil(units / 4)), np.sort(trucks))


def test_shared_routes_are_of_both_scenarios_and_of_the_target():
    world = READINGS["shared routes"]
    cheap = {
        truth: np.array(network_of(truth, world).truck_cost) == 0.03
        for truth in (1, 2, 3, "target")
    }
    assert all(one.sum() == 6 for one in cheap.values())
    assert (cheap[1] & cheap[2]).sum() == 2
    assert [(cheap["target"] & cheap[i]).sum() for i in (1, 2, 3)] == [4, 4, 0]
    assert network_of("target", AS_PRINTED) == SupplyChain("target")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two readings of one trial."""
    config = paper_readings.PaperReadingsConfig(SMALL)
    names = list(READINGS)
    chosen = [names.index("as printed"), names.index("p_m per episode")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_readings, "TRUTHS", ("target",))
        trials = [list(paper_readings.trial(config, seed)) for seed in chosen]
    for records in trials:
        assert [r["method"] for r in records] == [OURS, "S1", "S2"]
        assert np.array(records[0]["weights"]).shape == (2, 3)
        assert all(len(r["profit"]) == 2 for r in records)
        json.dumps(records, allow_nan=False)
    assert [trial[0]["reading"] for trial in trials] == ["as printed", "p_m per episode"]
    write_trials(tmp_path_factory.mktemp("journals"), trials)
    return tmp_path_factory.getbasetemp() / "journals0"


def test_tables_have_a_row_for_each_reading(folder):
    text = tables(folder)
    assert "| as printed |" in text
    assert "| p_m per episode |" in text


def test_late_demonstrations_are_drawn_from_the_end():
    three = DemonstrationConfig(steps=600, rows=300)
    late = shown_in(READINGS["from the end of training"], 0, three)
    assert late.counts.tolist() == [200] * 3  # one of three episodes is left


def test_claims_are_made_reading_by_reading(tmp_path):
    config = paper_best.PaperBestConfig(SMALL, followed=1)
    names = [(truth, turn) for truth, turn in paper_best.UNITS]
    parts = [names.index((2, "first")), names.index((2, "second"))]
    trials = [list(paper_best.trial(config, seed)) for seed in parts]
    assert [r["method"] for r in trials[0]] == [OURS, "S2", "PPR"]
    assert {r["trial"] for records in trials for r in records} == {paper_best.FIRST}
    assert len(trials[0][-1]["profit"]) == 1
    found = list(claims(Runs(tuple(r for records in trials for r in records), 1, 0, "a")))
    ids = ["best-expert-2", "finds-2", "jump-start-2", "ahead-ppr-2"]
    expected = [(f"supply-{id}-paper", one.name) for one in paper_best.BEST for id in ids]
    assert [(claim.id, claim.reading) for claim in found] == expected
    assert {claim.said_by for claim in found} == {"paper"}
    write_trials(tmp_path, trials)
    assert f"{OURS}: {paper_best.BEST[1].name}" in best_tables(tmp_path)
