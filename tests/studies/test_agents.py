"""The study of agents, in small: its records, its demonstrators, its tables."""

import numpy as np
import pytest
from bers_studies.agents import study as agents
from bers_studies.agents.figures import draw_agents
from bers_studies.agents.study import TASKS, AgentsConfig, _pendulum, _supply, learn, trial
from bers_studies.agents.tables import tables
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_env import OneHotStocks
from bers_studies.envs.supply_inputs import one_hot
from bers_studies.report.curves import read_runs
from bers_studies.runner.run import Experiment, run

from bers.model.config import ModelConfig

QUICK = ModelConfig(hidden=(16,), latent_dim=4, batches=100, skip=True)
SMALL = AgentsConfig(steps=600, points=3, tests=1, model=QUICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One trial on the pendulum, and made-up ones."""
    path = tmp_path_factory.mktemp("agents")
    run(Experiment("agents", SMALL, trial), [0], path, backend="here")
    return path


def test_every_method_has_a_record(folder):
    found = read_runs(folder)
    assert found.values("method") == ["BERS", "best source alone", "equal", "None"]
    for record in found.records:
        assert record["at"] == [200, 400, 600]
        assert np.isfinite(record["returns"]).all()
    ours, single, equal, none = found.records
    assert ours["weights"][-1][0] > 0.9  # the one who wants the pendulum to stand
    assert single["weights"][-1] == [1, 0, 0, 0]
    assert equal["weights"][-1] == pytest.approx([1 / 3] * 3 + [0], abs=1e-3)
    assert none["weights"] == []


def test_tables_and_picture(folder, tmp_path):
    made = tables(folder)
    assert "**pendulum, SAC**" in made
    assert "| None |" in made
    draw_agents(folder, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_the_same_seed_gives_the_same_run():
    task = SMALL.short(TASKS["pendulum, SAC, all mislead"])
    sources = task.sources(0)
    one, other = (learn(task, sources, "odds", 3, SMALL) for _ in range(2))
    assert one["returns"] == other["returns"]
    assert one["weights"] == other["weights"]


def test_demonstrators_get_where_they_want():
    stand, hang, turn = TASKS["pendulum, SAC"].sources(0)
    assert stand.payload["reward"].mean() > -2  # most of the time upright
    assert hang.payload["reward"].mean() > -2
    speed = turn.payload["next_observation"][:, 2]
    assert speed.mean() > 2
    carts = TASKS["cart, DQN"].sources(0)
    places = [cart.payload["observation"][:, 0].mean() for cart in carts]
    assert places == sorted(places)
    assert places[2] > 0.3


def test_the_supply_chain_is_shown_one_hot():
    env = _supply()
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    assert seen.sum() == 7
    assert isinstance(env.env, OneHotStocks)
    stocks = np.array([[0, 3, 50, 1, 2, 9, 10]], np.int32)
    np.testing.assert_array_equal(agents._stocks(one_hot(stocks, config=SupplyChain())), stocks)


def test_a_goal_has_its_environment():
    assert _pendulum("hang").unwrapped.angle == np.pi
    assert _pendulum("turn left").unwrapped.speed == -8.0
