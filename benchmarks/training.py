"""A race in training steps per second: our compiled episodes, Stable-Baselines3 and SBX.

Each runs in a process of its own, with one thread, and they take turns.
"""

from collections.abc import Callable
from typing import Any

import jax
from apart import Maker, apart
from bers_studies.rl.handed import nothing_handed
from one_thread import one_thread
from row import Row, faster
from timing import take_turns

GOALS = {"sb3": 5.0, "sbx": 1.5}
"""How many times faster ours should be."""


ROUNDS = 10


def race(name: str, makers: dict[str, Maker], *, steps: int, config: Any) -> list[Row]:
    """Two rows; a maker, of "ours", "sb3" and "sbx", gives a call that trains for `steps`."""
    with one_thread(), apart(name, makers) as turns:
        seconds = take_turns(name, turns, rounds=ROUNDS)
    rates = {who: steps / value for who, value in seconds.items()}
    learner = type(config).__name__.removesuffix("Config")
    called = {"sb3": f"Stable-Baselines3's {learner}", "sbx": f"SBX's {learner}"}
    first, second = config.hidden
    return [
        faster(
            f"{name}_{peer}",
            rates["ours"],
            rates[peer],
            peer_name=called[peer],
            goal=goal,
            unit="training steps per second",
            note=f"{first} and {second} hidden units, batches of {config.batch_size}, one update "
            "per step, environment included, one thread.",
        )
        for peer, goal in GOALS.items()
    ]


def compiled(learner: Any, task: Any, config: Any) -> Callable[[], object]:
    """Ours, an episode at a call; `learner` is a module with `new_state` and `episode`."""
    key = jax.random.key(0)
    state = learner.new_state(key, task=task, config=config)
    handed, calls = nothing_handed(task, config), 0

    def run() -> object:
        nonlocal state, calls
        calls += 1
        now = jax.random.fold_in(key, calls)
        state, _ = learner.episode(now, state, handed, None, task=task, config=config)
        return jax.block_until_ready(state)

    return run


def continued(model: object, steps: int) -> Callable[[], object]:
    """A peer's model that goes on learning at every call."""

    def run() -> int:
        model.learn(steps, reset_num_timesteps=False)  # pyright: ignore[reportAttributeAccessIssue]
        return model.num_timesteps  # pyright: ignore[reportAttributeAccessIssue]

    run()  # the first steps do not learn yet
    return run
