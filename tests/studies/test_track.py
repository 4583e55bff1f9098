"""The cart on a track and HalfCheetah, in small: environments, demonstrators, records, rivals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bers_studies.agents.study import learn
from bers_studies.envs.velocity import running
from bers_studies.mujoco import study as mujoco
from bers_studies.mujoco.figures import draw_runs
from bers_studies.report.curves import read_runs
from bers_studies.rivals.agents import become_clone
from bers_studies.runner.run import Experiment, run
from bers_studies.track import study as track
from bers_studies.track.claims import claims
from bers_studies.track.tables import tables

from bers.integrations.sb3.normed import NormedPolicy

pytest.importorskip("mujoco")
SMALL = replace(track.QUICK, steps=240, points=3)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its log where it runs."""
    monkeypatch.chdir(tmp_path)


def test_carts_come_to_rest_where_they_should():
    left, middle, right = track._steered(0, 0.2)
    for log, place in ((left, -2), (middle, 0), (right, 2)):
        ends = log.payload["next_observation"][log.payload["truncated"], 0]
        np.testing.assert_allclose(ends, place, atol=0.3)


def test_a_trial_says_who_led_and_what_he_earned(tmp_path):
    run(Experiment("track", SMALL, track.trial), [1], tmp_path / "runs", backend="here")
    found = read_runs(tmp_path / "runs")
    ours, plain = found.records
    assert [r["method"] for r in found.records] == ["BERS", "None"]
    assert ours["task"] == "near goal"
    assert len(ours["led"]) == len(ours["returns"]) == 3
    assert plain["led"] == []
    leader, freedom, theirs, own = ours["led"][-1]
    assert leader in (-1, 0, 1, 2)
    if leader >= 0:
        assert 0.02 <= freedom <= 1
        assert np.isfinite([theirs, own]).all()
    assert "**near goal**" in tables(tmp_path / "runs")
    first = next(iter(claims(found)))
    assert first.id == "track-final-near"


def test_velocity_is_what_is_paid_for():
    env = running(1.5)
    env.reset(seed=0)
    action = np.full(6, 0.5, np.float32)
    _, reward, _, _, info = env.step(action)
    assert reward == pytest.approx(-abs(info["x_velocity"] - 1.5) - 0.05 * 6 * 0.25, abs=1e-6)


def test_the_three_run_as_fast_as_they_say():
    for speed in mujoco.SPEEDS:
        log = mujoco._log(speed, 200, 0)
        at = log.payload["next_observation"][50:, 8].mean()
        assert at == pytest.approx(speed, abs=0.5)


def test_a_clone_begins_as_its_source_and_normed_critics_learn():
    from stable_baselines3.sac.sac import SAC

    task = replace(track._task("own goal"), steps=60)
    logs = task.sources(0, 0.3)
    started = {}

    def start(agent):
        become_clone(agent, source=2, seed=0)
        started["agent"] = agent

    few = replace(SMALL, points=1, tests=2)
    cloned = learn(
        replace(task, settings={**task.settings, "learning_starts": 1000}),
        [*logs], None, 0, few, started=start,
    )  # fmt: skip
    assert cloned["begun"] == cloned["returns"][0] > -30  # nothing was learned in between
    agent = SAC(NormedPolicy, track._cart(0.0), learning_starts=10, batch_size=8)
    names = {type(part).__name__ for part in agent.critic.modules()}
    assert "LayerNorm" in names
    before = agent.critic.q_networks[0][0].weight.detach().clone()
    agent.learn(20)
    assert not np.allclose(before, agent.critic.q_networks[0][0].weight.detach())
    target = agent.critic_target.q_networks[0][0].weight.detach()
    assert not np.allclose(target, before)


def test_the_picture_is_drawn_from_the_stored_journals(tmp_path):
    stored = Path(__file__).parents[2] / "reproductions" / "mujoco"
    draw_runs(stored, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
