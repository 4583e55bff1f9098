"""The supply chain under Gymnasium."""

import copy
import subprocess
import sys
from functools import partial

import gymnasium
import jax
import numpy as np
import pytest
from bers_studies.envs.supply_chain import SupplyChain, ring_costs, step_with
from bers_studies.envs.supply_env import SupplyChainEnv, SupplyChainVectorEnv
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.wrappers import RescaleObservation

from bers.errors import ConfigError, DataError

ID = "bers/SupplyChain-v0"
SMALL = {"scenario": ring_costs(2, [(0, 1)]), "demand": (3.0, 2.0), "capacity": 20}


def some_actions(env, periods, seed=0):
    space = copy.deepcopy(env.action_space)
    space.seed(seed)
    return [space.sample() for _ in range(periods)]


def play(env, actions, seed):
    """Everything an episode shows."""
    seen = [env.reset(seed=seed)]
    seen += [env.step(action) for action in actions]
    return seen


def same(one, two):
    return data_equivalence(one, two, exact=True)


# one environment


@pytest.mark.parametrize("options", [{}, {"scenario": 3}, SMALL], ids=["target", "3", "small"])
def test_gymnasium_finds_no_fault(options):
    check_env(gymnasium.make(ID, render_mode="rgb_array", **options).unwrapped)


def test_stable_baselines_finds_no_fault():
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = gymnasium.make(ID, render_mode="rgb_array")
    with pytest.warns(UserWarning, match=r"symmetric and normalized Box action space") as found:
        checker.check_env(env, skip_render_check=False)
    assert len(found) == 1  # shares are from 0 to 1; its learners scale them


def test_whole_episodes_repeat_bit_for_bit():
    env, other = gymnasium.make(ID, scenario=1), gymnasium.make(ID, scenario=1)
    actions = some_actions(env, 200)
    first = play(env, actions, seed=7)
    assert same(first, play(env, actions, seed=7))  # again
    assert same(first, play(other, actions, seed=7))  # in another environment
    stocks = np.array([stock for stock, *_ in first])
    rest = play(env, actions, seed=8)
    assert not same(first, rest)
    assert np.mean(stocks != [stock for stock, *_ in rest]) > 0.2


def test_after_a_reset_without_a_seed_the_demand_goes_on():
    env = SupplyChainEnv(1)
    actions = some_actions(env, 5)
    first, second = play(env, actions, seed=7), play(env, actions, seed=None)
    assert not same(first[1:], second[1:])
    env.reset(seed=7)
    for action in actions:
        env.step(action)
    assert same(second, play(env, actions, seed=None))


def test_a_step_is_a_period_of_the_network():
    env = SupplyChainEnv(2)
    env.reset(seed=5)
    demand = np.random.Generator(np.random.PCG64(5)).poisson(env.network.demand, (30, 6))
    one = jax.jit(partial(step_with, config=SupplyChain(2)))
    stock = np.zeros(7, np.int32)
    for action, asked in zip(some_actions(env, 30), demand, strict=True):
        seen, reward, terminated, truncated, info = env.step(action)
        stock, expected, _ = one(stock, action, asked.astype(np.int32))
        np.testing.assert_array_equal(seen, stock)
        np.testing.assert_allclose(reward, expected, rtol=1e-5)
        np.testing.assert_array_equal(info["sold"] + info["lost_sales"], asked)
        assert not terminated
        assert not truncated


def test_info_says_where_the_reward_came_from():
    env = SupplyChainEnv("target")
    before, _ = env.reset(seed=0)
    cost = np.array(env.network.truck_cost)
    for action in some_actions(env, 50):
        after, reward, *_, info = env.step(action)
        parts = info["revenue"] - info["production"] - info["storage"] - info["transport"]
        np.testing.assert_allclose(reward, parts, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(info["revenue"], 0.6 * info["sold"].sum(), rtol=1e-5)
        np.testing.assert_allclose(info["transport"], np.sum(cost * info["trucks"]), rtol=1e-5)
        np.testing.assert_array_equal(info["trucks"], np.ceil(info["shipped"] / 4))
        gone = info["sold"].sum() + info["overflow"].sum()
        assert before.sum() + info["produced"] == after.sum() + gone
        before = after
    for name in ("revenue", "production", "storage", "transport"):
        assert type(info[name]) is float
    assert type(info["produced"]) is int
    shapes = {name: info[name].shape for name in ("lost_sales", "trucks", "shipped", "overflow")}
    assert shapes == {
        "lost_sales": (6,), "trucks": (7, 7), "shipped": (7, 7), "overflow": (7,)
    }  # fmt: skip
    info["trucks"][:] = 0  # it is the user's


def test_spaces():
    env = gymnasium.make(ID, **SMALL)
    assert env.observation_space == gymnasium.spaces.Box(0, 20, (3,), np.float32)
    assert env.action_space == gymnasium.spaces.Box(0, 1, (8,), np.float32)
    scaled = RescaleObservation(env, np.float32(0), np.float32(1))
    scaled.reset(seed=0)
    stock, *_ = scaled.step(np.ones(8, np.float32))
    np.testing.assert_allclose(stock, [1, 0, 0])  # 35 were made, 20 fit


def test_options_are_those_of_the_network():
    env = gymnasium.make(ID, scenario=1, price=2.0, demand=[1] * 6, truck_size=7)
    assert env.unwrapped.network == SupplyChain(1, price=2.0, demand=(1,) * 6, truck_size=7)
    assert SupplyChainEnv().network == SupplyChain("target")
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.network == env.unwrapped.network


@pytest.mark.parametrize(("options", "length"), [({}, 200), ({"max_episode_steps": 3}, 3)])
def test_episodes_end_by_the_time_limit(options, length):
    env = gymnasium.make(ID, **SMALL, **options)
    env.reset(seed=0)
    ends = [env.step(action)[2:4] for action in some_actions(env, length)]
    assert ends == [(False, False)] * (length - 1) + [(False, True)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": 9}, "there is no scenario 9"),
        ({"horizon": 50}, "give max_episode_steps, not horizon"),
        ({"colour": "red"}, "no option colour; it has capacity, demand, max_production, price"),
        ({"capacity": 0}, "must be 1 or more; got 0"),
        ({"render_mode": "ansi"}, "render_mode must be None or \"rgb_array\"; got 'ansi'"),
    ],
)
@pytest.mark.parametrize("make", [SupplyChainEnv, SupplyChainVectorEnv])
def test_impossible_options(make, options, message):
    with pytest.raises(ConfigError, match=message):
        make(**options)


def test_impossible_actions():
    env = SupplyChainEnv()
    env.reset(seed=0)
    with pytest.raises(DataError, match=r"shape \(44,\); got \(43,\)"):
        env.step(np.zeros(43))
    with pytest.raises(DataError, match="must be finite"):
        env.step(np.full(44, np.nan))


# many


def test_a_vector_of_environments_is_as_many_single_ones():
    """Bit for bit, over the ends of episodes and beyond a block of demand."""
    envs = gymnasium.make_vec(ID, num_envs=3, max_episode_steps=50, **SMALL)
    assert isinstance(envs, SupplyChainVectorEnv)
    single = gymnasium.make_vec(
        ID, num_envs=3, vectorization_mode="sync", max_episode_steps=50, **SMALL
    )
    assert envs.observation_space == single.observation_space
    assert envs.action_space == single.action_space
    assert envs.metadata["autoreset_mode"] == single.metadata["autoreset_mode"]
    one, two = envs.reset(seed=11), single.reset(seed=11)
    assert same(one[0], two[0])
    ends = []
    for i, action in enumerate(some_actions(envs, 170)):
        one, two = envs.step(action), single.step(action)
        assert same(one[:4], two[:4])
        ends.append(one[3].all())
        for name, value in two[4].items():
            np.testing.assert_array_equal(one[4][name], value)
        if not two[4]:  # the step that starts the next episode
            assert i in (50, 101, 152)
            assert not one[4]["_revenue"].any()
            assert (one[4]["revenue"] == 0).all()
            assert (one[0] == 0).all()
    assert np.flatnonzero(ends).tolist() == [49, 100, 151]


def test_copies_differ_and_seeds_can_be_given_one_by_one():
    envs = SupplyChainVectorEnv(3, **SMALL)
    envs.reset(seed=[4, 4, 5])
    actions = np.ones((3, 8), np.float32)
    rewards = np.array([envs.step(actions)[1] for _ in range(20)])
    np.testing.assert_array_equal(rewards[:, 0], rewards[:, 1])
    assert (rewards[:, 0] != rewards[:, 2]).any()
    envs.reset(seed=3)
    np.testing.assert_array_equal(rewards[:, 0], [envs.step(actions)[1][1] for _ in range(20)])
    with pytest.raises(ConfigError, match="one seed or 3, one per copy; got 2"):
        envs.reset(seed=[1, 2])


def test_some_copies_can_start_again():
    envs = SupplyChainVectorEnv(3, max_episode_steps=4, **SMALL)
    envs.reset(seed=0)
    actions = np.ones((3, 8), np.float32)
    for _ in range(3):
        before, *_ = envs.step(actions)
    after, _ = envs.reset(options={"reset_mask": np.array([True, False, False])})
    np.testing.assert_array_equal(after, before * [[0], [1], [1]])
    assert envs.step(actions)[3].tolist() == [False, True, True]
    with pytest.raises(ConfigError, match="reset_mask must be 3 truth values"):
        envs.reset(options={"reset_mask": np.ones(3)})


def test_a_vector_without_an_end():
    for limit in (None, -1):
        envs = SupplyChainVectorEnv(2, max_episode_steps=limit, **SMALL)
        envs.reset(seed=0)
        assert not any(envs.step(action)[3].any() for action in some_actions(envs, 210))
    with pytest.raises(ConfigError, match="max_episode_steps must be 1 or more"):
        SupplyChainVectorEnv(2, max_episode_steps=0)
    with pytest.raises(ConfigError, match=r"num_envs=...\) must be 1 or more; got 0"):
        SupplyChainVectorEnv(0)
    with pytest.raises(DataError, match=r"shape \(2, 8\); got \(8,\)"):
        envs.step(np.zeros(8))


def test_it_is_compiled_once():
    from bers_studies.envs import supply_env as ours

    envs = SupplyChainVectorEnv(5, 1, price=0.7)
    compiled = ours._steps._cache_size()
    for seed in (0, 1):
        envs.reset(seed=seed)
        for action in some_actions(envs, 3):
            envs.step(action)
    assert ours._steps._cache_size() == compiled + 1


# pictures


def test_a_picture_shows_the_network():
    env = gymnasium.make(ID, render_mode="rgb_array", scenario=1)
    env.reset(seed=0)
    empty = env.render()
    assert empty.shape == (600, 800, 3)
    assert empty.dtype == np.uint8
    for action in some_actions(env, 3):
        env.step(action)
    shown = env.render()
    assert 0.02 < np.mean((shown != 255).any(axis=2)) < 0.5
    assert (shown != empty).any()
    np.testing.assert_array_equal(shown, env.render())
    assert SupplyChainEnv().render() is None


def test_a_vector_shows_each_of_its_copies():
    envs = SupplyChainVectorEnv(2, render_mode="rgb_array", max_episode_steps=2, **SMALL)
    single = SupplyChainEnv(render_mode="rgb_array", **SMALL)
    envs.reset(seed=0)
    single.reset(seed=1)
    start = single.render()
    for shown in envs.render():
        np.testing.assert_array_equal(shown, start)
    for _ in range(2):
        envs.step(np.ones((2, 8), np.float32))
        single.step(np.ones(8, np.float32))
    np.testing.assert_array_equal(envs.render()[1], single.render())
    envs.step(np.ones((2, 8), np.float32))  # both start again
    np.testing.assert_array_equal(envs.render()[0], start)
    assert SupplyChainVectorEnv(2).render() is None


# the registry


@pytest.mark.parametrize(
    "order", [("bers_studies.envs", "gymnasium"), ("gymnasium", "bers_studies.envs")]
)
def test_importing_the_environments_tells_gymnasium_of_them(order):
    program = f"""
import sys
finders = list(sys.meta_path)
import {order[0]}
import {order[1]}
assert gymnasium.spec("{ID}").max_episode_steps == 200
assert sys.meta_path == finders, sys.meta_path
assert not {{"jax", "matplotlib"}} & set(sys.modules)
import gymnasium.wrappers.vector
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_importing_them_again_is_no_second_registration():
    import importlib

    import bers_studies.envs

    before = gymnasium.spec(ID)
    importlib.reload(bers_studies.envs)
    assert gymnasium.spec(ID) is before


def test_gymnasium_can_be_told_where_to_look():
    program = f"""
import gymnasium
env = gymnasium.make("bers_studies.envs:{ID}")
assert env.observation_space.shape == (7,)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_the_library_does_not_need_gymnasium():
    program = """
import sys
sys.modules["gymnasium"] = None
finders = list(sys.meta_path)
import bers
assert sys.meta_path == finders
bers.fit
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
