"""A race in training steps per second: our compiled episodes, Stable-Baselines3 and SBX.

Each runs in a process of its own, with one thread, and they take turns.
"""

from collections.abc import Callable

from apart import apart
from one_thread import one_thread
from row import Row, faster
from timing import take_turns

GOALS = {"sb3": 5.0, "sbx": 1.5}
"""How many times faster ours should be."""


def race(
    name: str,
    makers: dict[str, Callable[[], Callable[[], object]]],
    *,
    learner: str,
    steps: int,
    rounds: int,
    note: str,
) -> list[Row]:
    """Two rows; a maker, of "ours", "sb3" and "sbx", gives a call that trains for `steps`."""
    with one_thread(), apart(name, makers) as turns:
        seconds = take_turns(name, turns, rounds=rounds)
    rates = {who: steps / value for who, value in seconds.items()}
    called = {"sb3": f"Stable-Baselines3's {learner}", "sbx": f"SBX's {learner}"}
    return [
        faster(
            f"{name}_{peer}",
            rates["ours"],
            rates[peer],
            peer_name=called[peer],
            goal=goal,
            unit="training steps per second",
            note=f"{note}, one update per step, environment included, one thread.",
        )
        for peer, goal in GOALS.items()
    ]


def continued(model: object, steps: int) -> Callable[[], object]:
    """A peer's model that goes on learning at every call."""

    def run() -> int:
        model.learn(steps, reset_num_timesteps=False)  # pyright: ignore[reportAttributeAccessIssue]
        return model.num_timesteps  # pyright: ignore[reportAttributeAccessIssue]

    run()  # the first steps do not learn yet
    return run
