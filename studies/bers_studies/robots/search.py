"""Those who leave logs: linear policies of robots, found by random search, kept as small JSON.

Enters: the name of a family, or none for all. Leaves: a file like `walkers.json` beside this one.
Nobody runs this in a study: it is how the file came about, and how to make one for another robot.

    python -m bers_studies.robots.search Swimmer walkers.json

The search is augmented random search (Mania, Guy and Recht, 2018): steps along differences of
returns of a policy and its mirror image, over the better half of the directions, with inputs
normalised as they come; what is kept is in the units of the robot. Of each policy two are kept: the
best, and the first that was half-way from where the search began.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from bers_studies.envs.robots import FAMILIES

_EPISODES = 4  # by which a policy is judged


@dataclass(frozen=True)
class SearchConfig:
    """One search."""

    rounds: int = 150
    directions: int = 12
    better: int = 6
    step: float = 0.05
    radius: float = 0.1


class Moments:
    """Mean and spread of what was seen."""

    def __init__(self, size: int) -> None:
        self.n, self.mean, self.squares = 1e-8, np.zeros(size), np.full(size, 1e-8)

    def see(self, rows: np.ndarray) -> None:
        """Take some rows in."""
        n, mean = len(rows), rows.mean(axis=0)
        gap, total = mean - self.mean, self.n + len(rows)
        self.squares += ((rows - mean) ** 2).sum(axis=0) + gap**2 * self.n * n / total
        self.mean, self.n = self.mean + gap * n / total, total

    @property
    def spread(self) -> np.ndarray:
        """Standard deviations; of what hardly moves, one."""
        found = np.sqrt(self.squares / self.n)
        return np.where(found < 1e-6, 1.0, found)


def search(
    make: Callable[[], gymnasium.Env], seed: int, config: SearchConfig, show: Any = None
) -> dict[str, dict[str, Any]]:
    """The best linear policy that was found, and the first half-way to it."""
    rng, env = np.random.default_rng(seed), make()
    env.reset(seed=seed)
    assert env.observation_space.shape is not None
    assert env.action_space.shape is not None
    k, A = env.observation_space.shape[0], env.action_space.shape[0]
    theta, seen = np.zeros((A, k + 1)), Moments(k)
    found = []
    for number in range(config.rounds):
        ways = rng.normal(size=(config.directions, A, k + 1))
        starts = rng.integers(1 << 31, size=config.directions)
        paid, rows = np.empty((config.directions, 2)), []
        mean, spread = seen.mean.copy(), seen.spread
        for i, way in enumerate(ways):
            for j, sign in enumerate((1, -1)):
                plain = in_units(theta + sign * config.radius * way, mean, spread)
                paid[i, j], states = episode(env, *plain, int(starts[i]))
                rows.append(states)
        best = np.argsort(-paid.max(axis=1))[: config.better]
        slope = np.tensordot(paid[best, 0] - paid[best, 1], ways[best], 1)
        theta = theta + config.step / (config.better * paid[best].std() + 1e-8) * slope
        now = in_units(theta, mean, spread)  # the moments that these directions were tried with
        seen.see(np.concatenate(rows))
        judged = float(np.mean([episode(env, *now, 10 + e)[0] for e in range(_EPISODES)]))
        found.append((judged, now))
        if show is not None and number % 10 == 9:
            show(f"{number + 1:4d}  {judged:8.1f}  best {max(j for j, _ in found):8.1f}")
    return {"good": _kept(*max(found, key=lambda one: one[0])), "half": _kept(*_half(found))}


def in_units(theta: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> Any:
    """Gain and bias on plain observations of a policy on normalised ones."""
    gain = theta[:, :-1] / spread
    return gain, theta[:, -1] - gain @ mean


def episode(
    env: gymnasium.Env, gain: np.ndarray, bias: np.ndarray, seed: int
) -> tuple[float, np.ndarray]:
    """What a policy earns, and all that it saw."""
    now, total, over, states = env.reset(seed=seed)[0], 0.0, False, []
    while not over:
        states.append(now)
        action = np.clip(gain @ now + bias, -1, 1).astype(np.float32)
        now, paid, ended, cut, _ = env.step(action)
        total, over = total + float(paid), ended or cut
    return total, np.array(states)


def _half(found: list[Any]) -> Any:
    """The first policy that is half-way from the worst of the first rounds to the best."""
    returns = [judged for judged, _ in found]
    bar = (returns[0] + max(returns)) / 2
    return next(one for one in found if one[0] >= bar)


def _kept(judged: float, policy: Any) -> dict[str, Any]:
    gain, bias = policy
    return {
        "return": round(judged, 1),
        "gain": np.round(gain, 4).tolist(),
        "bias": np.round(bias, 4).tolist(),
    }


def main() -> None:
    """Search for one family, or all, and add what was found to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=[*FAMILIES, "all"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=SearchConfig.rounds)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    kept = json.loads(told.file.read_text()) if told.file.exists() else {}
    for name in FAMILIES if told.family == "all" else [told.family]:
        for log, goal in FAMILIES[name].logs.items():
            print(name, log, flush=True)
            config = SearchConfig(rounds=told.rounds)
            found = search(
                lambda name=name, goal=goal: FAMILIES[name].make(goal), told.seed, config,
                lambda line: print(line, flush=True),
            )  # fmt: skip
            kept.setdefault(name, {})[log] = found
            told.file.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
