"""Two camps: agents that use the sources' points, and agents that do not. [Eq. camps]

A source's point can be better than everything the population has and still lie in the wrong
valley. All agents together would follow it and lose what they need to get out again. So, while
sources are used much, half of the agents use them and half do not, and parents come from an
agent's own camp. The camp that falls behind for a few generations, or is not ahead for many, has
lost: its agents are made anew from the winners', and from then on there is one population.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from jaxtyping import Bool, Float64, Int

_ENOUGH = 0.1  # expected share of guided trials from which camps are worth their price
_BEHIND = 3  # generations that the guided camp may be behind
_SMALL = 63  # a table of all triples of so many takes 6 MB
_AHEAD_PER_DIMENSION = 3  # generations, times D, that it must be ahead: a slow search is no loser


@dataclass(frozen=True)
class Camps:
    """Who is in which camp, and how the contest stands."""

    guided: Bool[np.ndarray, " NP"]
    ahead: int = 0
    """Generations in a row in which the guided camp had the best agent."""
    behind: int = 0
    won: bool | None = None
    """None while it is open; True if the guided camp won. Then the losers are to be made anew."""

    @property
    def lost(self) -> Bool[np.ndarray, " NP"]:
        """Agents of the camp that lost."""
        return np.zeros_like(self.guided) if self.won is None else self.guided != self.won


def divided(rng: np.random.Generator, NP: int) -> Camps:
    """Half of the agents, drawn at random, follow the guide.

    >>> int(divided(np.random.default_rng(0), 32).guided.sum())
    16
    """
    return Camps(rng.permutation(NP) < NP // 2)


def worth_dividing(share: float, NP: int) -> bool:
    """Whether so many trials will be guided that it can go wrong; a camp needs four agents.

    >>> worth_dividing(0.5, 32), worth_dividing(0.01, 32), worth_dividing(0.5, 6)
    (True, False, False)
    """
    return share > _ENOUGH and NP >= 8


def judged(camps: Camps, f: Float64[np.ndarray, " NP"], D: int) -> Camps:
    """The contest after one more generation. [Eq. camps]

    >>> camps = Camps(np.array([True, True, False, False]))
    >>> for _ in range(4):
    ...     camps = judged(camps, np.array([5.0, 4.0, 3.0, 9.0]), 10)
    >>> camps.won, camps.lost.tolist()
    (False, [True, True, False, False])
    """
    if f[camps.guided].min() > f[~camps.guided].min():
        camps = replace(camps, ahead=0, behind=camps.behind + 1)
    else:
        camps = replace(camps, ahead=camps.ahead + 1, behind=0)
    if camps.behind > _BEHIND:
        return replace(camps, won=False)
    return replace(camps, won=True) if camps.ahead >= _AHEAD_PER_DIMENSION * D else camps


def three_others(
    u: Float64[np.ndarray, " NP"], camps: Camps | None = None
) -> Int[np.ndarray, "3 NP"]:
    """For every agent three others, all different, from its own camp, by uniform numbers u.

    Agents that lost have parents among the winners.

    >>> three_others(np.array([0.1, 0.9, 0.5, 0.2])).T.tolist()
    [[1, 2, 3], [3, 2, 0], [1, 3, 0], [0, 2, 1]]
    """
    NP = len(u)
    if camps is None:
        return _others(u, np.arange(NP))
    others = np.empty((3, NP), np.intp)
    if camps.won is None:
        for camp in (np.flatnonzero(camps.guided), np.flatnonzero(~camps.guided)):
            others[:, camp] = camp[_others(u[camp], np.arange(len(camp)))]
        return others
    winners, losers = np.flatnonzero(~camps.lost), np.flatnonzero(camps.lost)
    others[:, winners] = winners[_others(u[winners], np.arange(len(winners)))]
    # a place beyond the last winner: none of them is stepped over
    beyond = np.full(len(losers), len(winners))
    others[:, losers] = winners[_others(u[losers], beyond, len(winners))]
    return others


def _others(
    u: Float64[np.ndarray, " k"], own: Int[np.ndarray, " k"], left: int | None = None
) -> Int[np.ndarray, "3 k"]:
    """One of the ordered triples of those that are left, and then a step over the own place."""
    left = len(own) - 1 if left is None else left
    which = (u * (left * (left - 1) * (left - 2))).astype(np.intp)
    others = _table(left).take(which, axis=1) if left <= _SMALL else _triples(which, left)
    others += others >= own
    return others


def _triples(which: Int[np.ndarray, " k"], left: int) -> Int[np.ndarray, "3 k"]:
    """By number, the ordered triples of `left` things: each steps over the ones before it."""
    a, b, c = (np.array(part) for part in np.unravel_index(which, (left, left - 1, left - 2)))
    b += b >= a
    first, second = np.minimum(a, b), np.maximum(a, b)
    c += c >= first
    c += c >= second
    return np.stack([a, b, c])


@cache
def _table(left: int) -> Int[np.ndarray, "3 count"]:
    """All of them; looking up is faster than working out."""
    return _triples(np.arange(left * (left - 1) * (left - 2)), left)
