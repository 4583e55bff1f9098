"""What reuse costs a learner of Stable-Baselines3: drawing a batch, and the callback.

A batch of 256 rows from a buffer that mixes in rows of three sources, against the library's own
buffer; and the share of the time that the callback takes in a run of SAC on the supply chain.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from row import Row, at_most
from timing import here, take_turns

BATCH, ROWS, SOURCES = 256, 10_000, 3
ROUNDS, CALLS = 15, 400
STEPS = 4_000


def rows() -> list[Row]:
    """Two limits."""
    contenders = {"ours": here(draws(mixing())), "peer": here(draws(plain()))}
    seconds = take_turns("sb3_buffer", contenders, rounds=ROUNDS)
    ratio = seconds["ours"] / seconds["peer"]
    took, inside, first = callback_share()
    return [
        at_most(
            "sb3_buffer",
            ratio,
            1.5,
            unit="times the library's own time",
            note=f"Batches of {BATCH}, half of the rows from {SOURCES} sources of {ROWS:,} rows, "
            f"the buffer holds {ROWS:,}; {seconds['ours'] / CALLS * 1e6:.0f} and "
            f"{seconds['peer'] / CALLS * 1e6:.0f} microseconds a batch.",
        ),
        at_most(
            "sb3_callback",
            inside / took,
            0.1,
            unit="of the training time",
            note=f"SAC on the supply chain's target, {STEPS:,} steps in {took:.0f} s, three "
            "sources of 2,000 rows, a look every 200 steps, relabelling and imitation; the model "
            "sees stocks, actions and trucks, 94 numbers. Fitting it on the sources beforehand, "
            f"{first:.0f} s with compilation, is not counted: it is done once.",
        ),
    ]


def spaces():
    """Of the supply chain."""
    import bers_studies.envs  # noqa: F401  tells Gymnasium of them
    import gymnasium

    env = gymnasium.make("bers/SupplyChain-v0", disable_env_checker=True)
    return env.observation_space, env.action_space


def filled(buffer):
    """A buffer full of random rows."""
    seen, act = buffer.observation_space, buffer.action_space
    rng = np.random.default_rng(0)
    for _ in range(ROWS):
        s = rng.integers(0, 50, (1, *seen.shape))
        a = rng.uniform(-1, 1, (1, *act.shape)).astype(np.float32)
        buffer.add(s, s, a, np.ones(1), np.zeros(1), [{}])
    return buffer


def plain():
    """The library's own."""
    from stable_baselines3.common.buffers import ReplayBuffer

    return filled(ReplayBuffer(ROWS, *spaces(), device="cpu"))


def mixing():
    """Ours, half of all rows from sources."""
    from bers.integrations.sb3 import BersReplayBuffer
    from bers.reuse.transitions import BatchGuide

    made = filled(BersReplayBuffer(ROWS, *spaces(), device="cpu", sources=random_sources(ROWS)))
    a, counts = np.full(SOURCES, 1 / SOURCES), np.full(SOURCES, ROWS)
    rewards = partial(np.take, np.zeros(SOURCES * ROWS))
    made.follow(BatchGuide(np.random.default_rng(0), a, 0.5, counts, rewards, mix="row"))
    return made


def random_sources(count: int):
    """Random policies on the three scenarios."""
    import bers_studies.envs  # noqa: F401
    import gymnasium

    from bers import Demonstrations

    found = []
    for scenario in (1, 2, 3):
        env = gymnasium.make("bers/SupplyChain-v0", scenario=scenario, disable_env_checker=True)
        env.action_space.seed(scenario)
        seen, steps = env.reset(seed=scenario)[0], []
        while len(steps) < count:
            action = env.action_space.sample()
            later, reward, ended, cut, _ = env.step(action)
            steps.append((seen, action, reward, later, ended, cut))
            seen = env.reset()[0] if cut else later
        columns = [np.array(column) for column in zip(*steps, strict=True)]
        found.append(Demonstrations.from_transitions(*columns, name=f"scenario {scenario}"))
    return found


def draws(buffer) -> Callable[[], None]:
    """Many batches."""

    def run() -> None:
        for _ in range(CALLS):
            buffer.sample(BATCH)

    return run


def callback_share() -> tuple[float, float, float]:
    """Seconds of training, of these in the callback, and of the fit before."""
    import gymnasium
    from bers_studies.envs.supply_chain import SupplyChain
    from bers_studies.envs.supply_inputs import trucks_and_stocks
    from stable_baselines3 import SAC

    from bers.integrations.sb3 import BersCallback, BersReplayBuffer

    env = gymnasium.make("bers/SupplyChain-v0", scenario="target", disable_env_checker=True)
    model = SAC(
        "MlpPolicy",
        env,
        seed=0,
        replay_buffer_class=BersReplayBuffer,
        replay_buffer_kwargs={"sources": random_sources(2_000)},
    )

    def trucks(before, action, later):
        stocks = before.astype(np.int32), later.astype(np.int32)
        return trucks_and_stocks(stocks[0], action, stocks[1], config=SupplyChain())

    callback = BersCallback(schedule=0.5, inputs=trucks)
    model.learn(200, callback=callback)
    first = callback.seconds
    callback.seconds = 0.0
    start = time.perf_counter()
    model.learn(STEPS, callback=callback, reset_num_timesteps=False)
    return time.perf_counter() - start, callback.seconds, first
