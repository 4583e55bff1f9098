"""Episodes of logs that may hold no next observations and no rewards, as transitions.

Enter: what was seen and done in each episode, and what it paid, if that was written down. Leave: a
record of transitions. A log of T observations holds T − 1 next ones: the last step of an episode is
kept only where it is said to have ended the task, and nothing is learned from what came after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bers.data.checks import numbers
from bers.data.demonstrations import Demonstrations
from bers.data.formats import Options
from bers.data.transitions import STEP
from bers.errors import ConfigError, FileError
from bers.text import printable


@dataclass(frozen=True)
class Episode:
    """One episode, a row a step.

    >>> one = Episode(np.array([[0.0], [0.1]]), np.array([[1.0], [2.0]]), None, None)
    >>> len(one.steps["action"]), one.steps["next_observation"].tolist()
    (1, [[0.1]])
    """

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray | None
    """None: not written down."""
    done: np.ndarray | None
    """Whether the task ended; None: not written down, so only the log did."""
    next_observation: np.ndarray | None = None
    """None: what was seen a row later."""

    @property
    def steps(self) -> dict[str, np.ndarray]:
        """Transitions by the names of a payload; rewards are zero where there are none."""
        n, seen, later = len(self.observation), self.observation, self.next_observation
        done = np.zeros(n, bool) if self.done is None else self.done.astype(bool)
        kept = n
        if later is None:
            later = np.concatenate([seen[1:], seen[-1:]])
            kept = n if n and done[-1] else max(n - 1, 0)
        cut = np.zeros(n, bool)
        cut[kept - 1 : kept] = not done[kept - 1 : kept].any()
        reward = np.zeros(n) if self.reward is None else self.reward
        values = (seen, self.action, reward, later, done, cut)
        return {name: part[:kept] for name, part in zip(STEP, values, strict=True)}


def record_of_episodes(
    episodes: Sequence[Episode], options: Options, name: str, *, origin: str, absent: str
) -> Demonstrations:
    """All transitions; `origin` is where they come from, for errors, and `absent` says what was
    looked for where there are no rewards.

    >>> one = Episode(np.array([[0.0], [0.1]]), np.array([[1.0], [2.0]]), np.ones(2), None)
    >>> record_of_episodes([one], Options(), "a", origin="a", absent="")
    Demonstrations('a', n=1, k=3, y 1 to 1)
    """
    origin = printable(origin, 200)
    if options.rewards is None and any(one.reward is None for one in episodes):
        raise FileError(
            f"{origin}: holds no rewards ({absent}), and states and actions alone do not "
            "say what was wanted. Name a column that tells it with y=..., or pass rewards=..., a "
            "function of observations, actions and next observations."
        )
    parts = [one.steps for one in episodes]
    shapes = {tuple(part[n].shape[1:] for n in STEP[:2]) for part in parts}
    if len(shapes) > 1:
        raise FileError(f"{origin}: its episodes have other shapes. Load them as sources.")
    steps = {
        part: np.concatenate([one[part] for one in parts])
        if parts
        else np.empty((0, 1) if "observation" in part else 0)
        for part in STEP
    }
    if options.rewards is not None:
        steps["reward"] = given_rewards(options, steps)
    return Demonstrations.from_transitions(
        *steps.values(),
        name=name if options.name is None else options.name,
        inputs=options.inputs,
        drop_nonfinite=options.drop_nonfinite,
        origin=origin,
    )


def given_rewards(options: Options, steps: dict[str, np.ndarray]) -> np.ndarray:
    """What the caller's function says that the steps pay.

    >>> steps = {"observation": np.ones((2, 1)), "action": np.zeros(2),
    ...          "next_observation": np.full((2, 1), 3.0)}
    >>> given_rewards(Options(rewards=lambda seen, act, later: (later - seen)[:, 0]), steps)
    array([2., 2.])
    """
    assert options.rewards is not None
    seen = (steps[part] for part in ("observation", "action", "next_observation"))
    found, n = numbers(options.rewards(*seen), "what rewards=... gave"), len(steps["action"])
    if found.shape != (n,):
        raise ConfigError(
            f"rewards=... must give one number a row, shape ({n},); it gave shape {found.shape}. "
            "It is called once, with all rows."
        )
    return found


def observed_keys(found: Sequence[str], options: Options, where: str) -> list[str]:
    """The parts of an observation, in order of their names: all that hold numbers, or as named.

    >>> observed_keys(["b", "a"], Options(), "f")
    ['a', 'b']
    """
    if options.x is None:
        if not found:
            raise FileError(f"{where}: holds no observations of numbers. Images are not read.")
        return sorted(found)
    wanted = [options.x] if isinstance(options.x, str) else list(options.x)
    for key in wanted:
        if key not in found:
            has = ", ".join(printable(one, 40) for one in sorted(found)[:20])
            raise FileError(
                f"{where}: there is no part {printable(key)!r} of numbers among the observations. "
                f"It has: {has}."
            )
    return wanted
