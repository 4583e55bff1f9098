"""Robots that should do what others did not: rewards, logs, the search, and a task of the study."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::bers.errors.DataWarning")

from bers_studies.envs.robots import FAMILIES, reaching, swimming  # noqa: E402
from bers_studies.robots import STUDY  # noqa: E402
from bers_studies.robots import study as robots  # noqa: E402
from bers_studies.robots.search import Moments, SearchConfig, episode, search  # noqa: E402

from bers.model.config import ModelConfig  # noqa: E402


def test_a_swimmer_and_an_arm_are_paid_for_their_goals_and_do_not_see_them():
    env = swimming(0.2)
    env.reset(seed=0)
    action = np.full(2, 0.5, np.float32)
    _, paid, *_, info = env.step(action)
    assert paid == pytest.approx(-10 * abs(info["x_velocity"] - 0.2) - 0.05 * 0.5, abs=1e-6)
    seen = []
    for place in ((0.1, 0.0), (-0.1, 0.1)):
        env = reaching(place)
        start, _ = env.reset(seed=1)
        assert env.observation_space.contains(start)
        now, paid, *_ = env.step(action)
        away = np.linalg.norm(now[-2:] - place)
        assert paid == pytest.approx(-10 * away - 0.1 * 0.5, abs=1e-5)
        seen.append(now)
    np.testing.assert_array_equal(*seen)


def test_a_hopper_that_falls_goes_on():
    env = FAMILIES["Hopper"].make(1.0)
    env.reset(seed=0)
    ends = [env.step(np.ones(3, np.float32))[2] for _ in range(100)]
    assert not any(ends)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_those_who_left_logs_are_better_than_standing_still_and_than_half_way(family):
    what = FAMILIES[family]
    for log, goal in what.logs.items():
        env = what.make(goal)
        k, A = env.observation_space.shape[0], env.action_space.shape[0]
        still = episode(env, np.zeros((A, k)), np.zeros(A), 0)[0]
        earned = []
        for skill in ("good", "half"):
            walker = robots._walkers()[family][log][skill]
            gain, bias = np.array(walker["gain"]), np.array(walker["bias"])
            earned.append(np.mean([episode(env, gain, bias, s)[0] for s in (0, 1)]))
        assert earned[0] > max(still, earned[1])


def test_the_search_finds_better_policies():
    config = SearchConfig(rounds=6, directions=4, better=2)
    found = search(lambda: reaching((0.14, 0.0)), 0, config)
    first = search(lambda: reaching((0.14, 0.0)), 0, replace(config, rounds=1))
    assert found["good"]["return"] > first["good"]["return"] + 1
    assert found["half"]["return"] <= found["good"]["return"]


def test_moments_are_those_of_all_rows():
    rows, seen = np.random.default_rng(0).normal(3, 2, (90, 2)), Moments(2)
    for part in np.split(rows, 3):
        seen.see(part)
    np.testing.assert_allclose(seen.mean, rows.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(seen.spread, rows.std(axis=0), rtol=1e-6)


def test_every_task_is_a_part_and_nine_logs_stand_goal_by_goal():
    assert STUDY.parts == len(robots.TASKS) == 11
    names = [robots._log("Reacher", "above", skill, 60, 0).name for skill in robots.SKILLS]
    assert names == ["above, good", "above, half", "above, random"]


def test_all_methods_on_one_task():
    tiny = robots.RobotsConfig(
        agents=replace(robots.QUICK.agents, points=2, model=ModelConfig(hidden=(8,), batches=20)),
        rows=200,
        steps=120,
        updates=1,
    )
    records = list(robots.trial(tiny, list(robots.TASKS).index("Reacher, near")))
    assert [r["method"] for r in records] == [
        "BERS", "None", "equal", "RLPD, all logs", "the paper's recipe", "best single",
        "RLPD, right log", "behaviour cloning, then SAC",
    ]  # fmt: skip
    assert all(len(r["returns"]) == 2 and np.isfinite(r["returns"]).all() for r in records)
    assert records[0]["right"] == (0,)
