"""What to try next, by a surrogate that begins with what earlier studies had in common.

Enters: earlier studies, and all trials of the new one. Leaves: parameters for the next trial, or
word that the base sampler shall have it. First come points on which the earlier studies agree.
Then, of their good points, of neighbours of the best, and of some at random, the one with the most
expected improvement. One early trial, and every so often a later one, is left to the base sampler:
it is what earlier studies that mislead are compared with. Where parameters are conditional and
trials bring nothing new, some go to the branch that was tried least. [Eq. family]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from bers.integrations.optuna.columns import Columns
from bers.integrations.optuna.space import (
    KEY,
    Earlier,
    constrained,
    last_value,
    params_of,
    say_what_is_missing,
    usable_value,
)
from bers.model.process import Belief, Family, Places, family, with_guesses

START = 3
"""Trials with points on which the earlier studies agree, before there is anything to believe."""
COMPARE, EVERY = 5, 10
"""Trial 5, counted from 0, and every tenth after it is left to the base sampler."""
_GOOD = 12  # points of an earlier study that are candidates, if there are few studies
_POOL = 800  # of all studies together
_ROWS = 200  # of each earlier study that are looked at
_RANDOM = 400
_BEST = 4  # rows whose neighbours are candidates
_AROUND = 40  # neighbours of each, at every distance
_FAR = (0.02, 0.08, 0.2)
_CLOSER = (0.05, 0.02)  # distances at which the best candidate is improved
_SAME = 1e-6  # squared distance of points that are the same
_FLAT, _BEYOND = 0.25, 2.0  # how far equal values are taken for a step, and how far it may go on
_TIES = 2  # equal values from which on a function is taken for stairs
_STUCK, _GAIN = 3, 0.05  # trials that bring less than this share of what was gained before
_ELSEWHERE = 2  # then one in so many goes to the branch that was tried least
_DOUBT = 4.0  # spreads by which a branch may be better than expected
_SHOWN = 3  # weights that a trial keeps


@dataclass(frozen=True)
class Known:
    """What does not change while trials come in: the space, the family, good points."""

    columns: Columns
    family: Family
    pool: Places
    """Good points of the earlier studies, moved into the new space."""
    active: Bool[np.ndarray, "n P"]
    """Which parameters each has."""
    origin: Int[np.ndarray, "n 2"]
    """Study and place of each."""
    speakers: tuple[int, ...]
    """The studies behind the family's heads."""
    order: tuple[int, ...]
    """Points to begin with: together, each study finds a good one among them."""
    agreed: tuple[int, ...]
    """The same, first those of which most studies expect something better than usual."""
    patterns: Bool[np.ndarray, "m P"]
    """Which parameters are active together, where that differs."""
    choices: Float64[np.ndarray, "m D"]
    """And with which categories."""

    @property
    def conditional(self) -> bool:
        """Whether some parameters are active in some trials only."""
        return len(self.patterns) > 0


@dataclass(frozen=True)
class Proposal:
    """A point to try, and whose it is."""

    params: dict[str, Any]
    source: int | None = None
    point: int | None = None
    agreed: bool = False


def space_of(
    sources: Sequence[Earlier], trials: Sequence[FrozenTrial]
) -> dict[str, BaseDistribution]:
    """All parameters of the new study, and those of earlier ones that may still turn up in it.

    Once the new study has trials, a parameter that it has not shown counts only where an earlier
    study has it in some trials and not in others.

    >>> sources = [Earlier("a", ({"x": 1.0, "z": 0.0},), np.zeros(1),
    ...                    kinds={"x": FloatDistribution(0, 9), "z": FloatDistribution(0, 1)})]
    >>> sorted(space_of(sources, []))
    ['x', 'z']
    """
    shown: dict[str, BaseDistribution] = {}
    for trial in trials:
        shown |= trial.distributions
    begun = any(t.state.is_finished() and t.params for t in trials)
    found: dict[str, BaseDistribution] = {}
    for one in sources:
        for name, kind in one.kinds.items():
            if name not in shown and (not begun or name in one.sometimes):
                found[name] = _wider(found[name], kind) if name in found else kind
    found |= shown
    return {name: found[name] for name in sorted(found)}


def _wider(first: BaseDistribution, other: BaseDistribution) -> BaseDistribution:
    """A range that holds both; the first, if they are not of one kind."""
    for kind in (FloatDistribution, IntDistribution):
        if isinstance(first, kind) and isinstance(other, kind) and first.log == other.log:
            low, high = min(first.low, other.low), max(first.high, other.high)
            if (low, high) == (first.low, first.high):
                return first
            step = first.step if isinstance(kind, IntDistribution) else None
            more = {} if step is None else {"step": step}
            return kind(low, high, log=first.log, **more)  # type: ignore[arg-type]
    return first


def known(
    sources: Sequence[Earlier], space: Mapping[str, BaseDistribution], seed: int = 0
) -> Known | None:
    """The family of the earlier studies in a space; None where none has a row in it."""
    columns = Columns(dict(space))
    rows, active = [], []
    for one in sources:
        x, has = columns.rows([one.params[j] for j in some_of(len(one.params))])
        rows.append(x)
        active.append(has)
    some = [i for i, has in enumerate(active) if has.any()]
    if not some or not columns.width:
        return None
    fam = family([(rows[i], sources[i].y[some_of(len(sources[i].y))]) for i in some])
    each = max(1, min(_GOOD, _POOL // len(some)))
    origin = np.array([(i, j) for i in some for j in range(min(each, len(rows[i])))])  # best first
    origin = origin[np.unique(np.linspace(0, len(origin) - 1, min(_POOL, len(origin))).astype(int))]
    x = np.array([rows[i][j] for i, j in origin])
    has = np.array([active[i][j] for i, j in origin])
    patterns, choices = _patterns(columns, rows, active, some)
    rng = np.random.default_rng([seed, 17])
    if not len(patterns):
        x, has = _filled(rng, columns, x, has), np.ones_like(has)
    x = np.where(_spread(columns, has), columns.snapped(x), x)
    pool = fam.places(x)
    order = fam.portfolio(pool, 2 * START)
    odd = (fam.values(pool[np.array(order)]) < 0).mean(axis=1) < 0.5
    agreed = tuple(np.array(order)[np.argsort(odd, kind="stable")].tolist())
    return Known(
        columns, fam, pool, has, origin, tuple(some), tuple(order), agreed, patterns, choices
    )


def some_of(n: int) -> Int[np.ndarray, " m"]:
    """Which trials of an earlier study are looked at, best first: the best, and some of all others.

    >>> some_of(3).tolist(), len(some_of(5000)), some_of(5000)[:2].tolist()
    ([0, 1, 2], 200, [0, 1])
    """
    if n <= _ROWS:
        return np.arange(n)
    rest = np.linspace(_ROWS // 2, n - 1, _ROWS - _ROWS // 2).astype(int)
    return np.concatenate([np.arange(_ROWS // 2), rest])


def _patterns(
    columns: Columns, rows: list[np.ndarray], active: list[np.ndarray], some: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Combinations of active parameters and categories, if a study has several of the former."""
    if all((active[i] == active[i][0]).all() for i in some):
        empty = np.zeros((0, len(columns.space)), bool)
        return empty, np.zeros((0, columns.width))
    category = np.repeat(columns.categories, [s.stop - s.start for s in columns.slices])
    x = np.concatenate([rows[i] for i in some]) * category
    both = np.unique(np.hstack([np.concatenate([active[i] for i in some]), x]), axis=0)
    count = len(columns.space)
    return both[:, :count].astype(bool), both[:, count:]


def _spread(columns: Columns, active: np.ndarray) -> np.ndarray:
    """What is said of parameters, said of their columns."""
    return np.repeat(active, [s.stop - s.start for s in columns.slices], axis=1)


def _filled(
    rng: np.random.Generator, columns: Columns, x: np.ndarray, active: np.ndarray
) -> np.ndarray:
    """Rows whose missing parameters are drawn at random."""
    return np.where(_spread(columns, active), x, _random(rng, columns, len(x)))


def _random(rng: np.random.Generator, columns: Columns, n: int) -> np.ndarray:
    x = rng.random((n, columns.width))
    for p, at in enumerate(columns.slices):
        if columns.categories[p]:
            x[:, at] = np.eye(at.stop - at.start)[rng.integers(at.stop - at.start, size=n)]
    return x


@dataclass(frozen=True)
class Own:
    """The new study's trials as rows."""

    x: Float64[np.ndarray, "n D"]
    active: Bool[np.ndarray, "n P"]
    y: Float64[np.ndarray, " n"]
    """The less the better."""
    pending: Float64[np.ndarray, "m D"]
    """Points under way."""
    of_base: Bool[np.ndarray, " n"]
    """Which are the base sampler's."""

    @property
    def first_time(self) -> Int[np.ndarray, " m"]:
        """The rows that were not tried before."""
        return np.sort(np.unique(self.x, axis=0, return_index=True)[1])

    @property
    def base_repeats(self) -> bool:
        """Whether the base sampler's last row was tried before, as happens in small spaces."""
        last = np.flatnonzero(self.of_base)[-1:]
        return bool(len(last)) and last[0] not in self.first_time


def own_rows(columns: Columns, trials: Sequence[FrozenTrial], maximised: bool, number: int) -> Own:
    """Rows of the new study; `number` is that of the trial to propose.

    What was pruned counts as the worse of its last value and the middle of all; what has no value,
    or breaks a constraint, as the worst: the middle is near the best once a search has come far,
    and then it looks as if there were something to be found.
    """
    sign = -1.0 if maximised else 1.0
    shown = [t for t in trials if t.number != number and params_of(t)]
    values = np.full(len(shown), np.nan)
    for i, t in enumerate(shown):
        if t.state == TrialState.COMPLETE and usable_value(t.values[0]):
            values[i] = sign * t.values[0]
    done = np.isfinite(values)
    if done.any():
        middle, worst = float(np.median(values[done])), float(values[done].max())
        for i, t in enumerate(shown):
            if t.state == TrialState.COMPLETE:
                if not done[i] or constrained(t):
                    values[i] = worst
            elif t.state == TrialState.PRUNED:
                last = last_value(t)
                values[i] = worst if last is None else max(middle, sign * last)
            elif t.state == TrialState.FAIL:
                values[i] = worst
    x, active = columns.rows([params_of(t) for t in shown])
    fine = np.isfinite(values)
    under_way = np.array([t.state == TrialState.RUNNING for t in shown], bool)
    base = np.array([t.user_attrs.get(KEY, {}).get("by") == "base" for t in shown], bool)
    return Own(x[fine], active[fine], values[fine], x[under_way & ~fine], base[fine])


def first_point(what: Known, own: Own) -> Proposal | None:
    """The next point to begin with, if it was not tried.

    After what is good for most studies comes what is good for the others. While points are under
    way, it is too early for that: nothing is known yet of those that most studies agree on.
    """
    tried = np.concatenate([own.x, own.pending])
    for i in what.agreed if len(own.pending) else what.order:
        if not len(tried) or _squares(what.pool.x[i : i + 1], tried).min() > _SAME:
            return replace(_of_pool(what, i), agreed=True)
    return None


def best_point(rng: np.random.Generator, what: Known, own: Own, belief: Belief) -> Proposal | None:
    """The candidate with the most expected improvement."""
    tried = np.concatenate([own.x, own.pending])
    flat = _steps(own, len(tried))
    belief = with_guesses(belief, own.pending)

    def gain(x: Places | Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, " n"]:
        at = x.x if isinstance(x, Places) else x
        return np.where(_new(at, tried, flat), belief.improvement(x), -1.0)

    x, active = _candidates(rng, what, own)
    theirs, gains = gain(what.pool), gain(x)
    i, j = int(np.argmax(theirs)), int(np.argmax(gains))
    if max(theirs[i], gains[j]) < 0:
        return None  # all was tried: a small space
    taken = theirs[i] >= gains[j]
    at, has = (what.pool.x[i], what.active[i]) if taken else (x[j], active[j])
    best, moved = max(theirs[i], gains[j]), False
    for far in _CLOSER:
        near, _ = _around(rng, what, at[None], has[None], 2 * _AROUND, far)
        found = gain(near)
        k = int(np.argmax(found))
        if found[k] > best:
            at, best, moved = near[k], found[k], True
    if taken and not moved:
        return _of_pool(what, i)
    return Proposal(what.columns.params(at, has))


def stuck(y: Float64[np.ndarray, " n"]) -> bool:
    """Whether the last values, in the order of trials, brought next to nothing.

    >>> stuck(np.array([9.0, 8, 7, 3, 2, 2, 2, 2, 2])), stuck(np.array([9.0, 8, 7, 6, 5, 4, 3]))
    (True, False)
    """
    before = y[:-_STUCK]
    if len(before) < _STUCK:
        return False
    usual = float(np.median(y[: (len(y) + 1) // 2]))
    return float(before.min() - y.min()) <= _GAIN * (usual - float(y.min()))


def elsewhere(rng: np.random.Generator, what: Known, own: Own, belief: Belief) -> Proposal | None:
    """A point of the branch that was tried least, of those that may still have something better.

    At random, or what is expected to be best there. Expected improvement shrinks to the last
    decimals of a branch before it leaves it.
    """
    columns = what.columns
    category = _spread(columns, columns.categories[None])[0]
    in_branch = (own.active[:, None] == what.patterns).all(axis=2)
    in_branch &= (own.x[:, None, category] == what.choices[:, category]).all(axis=2)
    tried = in_branch.sum(axis=0)
    for branch in np.lexsort([rng.random(len(tried)), tried]):
        which = np.full(_RANDOM // 2, branch)
        active = what.patterns[which]
        drawn = _as_pattern(what, _random(rng, columns, len(which)), which)
        x = columns_snapped(columns, drawn, active)
        middle, spread = belief.predict(x)
        if np.min(middle - _DOUBT * spread) < own.y.min():
            best = int(np.argmin(middle)) if rng.random() < 0.5 else 0
            return Proposal(columns.params(x[best], active[best]))
    return None


def _steps(own: Own, count: int) -> Float64[np.ndarray, " n"]:
    """How far around each row the function is known to be flat, by rows with the very same value.

    Objectives of few levels, such as an accuracy or a rounded parameter, are stairs: a smooth model
    expects something right beside the best row, where there is the same again.
    """
    found = np.zeros(count)
    apart = np.abs(own.x[:, None] - own.x).max(axis=2)
    equal = (own.y[:, None] == own.y) & (apart < _FLAT)
    found[: len(own.y)] = _BEYOND * np.max(np.where(equal, apart, 0.0), axis=1, initial=0.0)
    return found


def _new(x: np.ndarray, tried: np.ndarray, flat: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Which points are not known already."""
    found = _squares(x, tried).min(axis=1) > _SAME
    for row, far in zip(tried, flat, strict=True):
        if far > 0:
            found &= np.abs(x - row).max(axis=1) > far
    return found


def _of_pool(what: Known, i: int) -> Proposal:
    source, point = what.origin[i]
    params = what.columns.params(what.pool.x[i], what.active[i])
    return Proposal(params, int(source), int(point))


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum(np.sum(a * a, 1)[:, None] + np.sum(b * b, 1) - 2 * (a @ b.T), 0)


def _candidates(rng: np.random.Generator, what: Known, own: Own) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of the best rows, and points at random."""
    columns = what.columns
    best = np.argsort(own.y, kind="stable")[:_BEST]
    x, active = own.x[best], own.active[best]
    if not what.conditional:
        x, active = _filled(rng, columns, x, active), np.ones_like(active)
    parts = [_around(rng, what, x, active, _AROUND, far) for far in _FAR]
    drawn = _random(rng, columns, _RANDOM)
    has = np.ones((_RANDOM, len(columns.space)), bool)
    if what.conditional:
        which = rng.integers(len(what.patterns), size=_RANDOM)
        drawn, has = _as_pattern(what, drawn, which), what.patterns[which]
    parts.append((columns_snapped(columns, drawn, has), has))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))  # type: ignore


def columns_snapped(columns: Columns, x: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Rows on the grid of the space, where they are active."""
    return np.where(_spread(columns, active), columns.snapped(x), x)


def _as_pattern(what: Known, x: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Rows with the categories of patterns; what is not active stands where it does in rows."""
    columns = what.columns
    category = np.repeat(columns.categories, [s.stop - s.start for s in columns.slices])
    on = _spread(columns, what.patterns[which])
    return np.where(category, what.choices[which], np.where(on, x, 0.5))


def _around(
    rng: np.random.Generator,
    what: Known,
    x: np.ndarray,
    active: np.ndarray,
    each: int,
    far: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of rows: some parameters are moved, and now and then a category is another."""
    columns = what.columns
    x, active = np.repeat(x, each, axis=0), np.repeat(active, each, axis=0)
    count = len(columns.space)
    moved = rng.random(active.shape) < max(0.3, 2 / count)
    moved &= active
    steps = far * rng.standard_normal(x.shape)
    found = np.where(_spread(columns, moved & ~columns.categories), np.clip(x + steps, 0, 1), x)
    if not what.conditional:
        flips = moved & columns.categories & (rng.random(moved.shape) < 0.5)
        found = np.where(_spread(columns, flips), _random(rng, columns, len(x)), found)
    return columns_snapped(columns, found, active), active


def told(
    names: Sequence[str], weights: Float64[np.ndarray, " N"], proposal: Proposal | None
) -> dict[str, Any]:
    """What a trial keeps: whose point it is, and the largest weights.

    >>> told(["a", "b"], np.array([0.75, 0.0]), Proposal({}, 0, 3))
    {'source': 'a', 'point': 3, 'by': 'model', 'weights': {'a': 0.75, 'nobody': 0.25}}
    """
    most = np.argsort(-weights, kind="stable")[:_SHOWN]
    shown = {names[i]: round(float(weights[i]), 4) for i in most if weights[i] > 0}
    shown["nobody"] = round(max(0.0, 1.0 - float(weights.sum())), 4)
    if proposal is None:
        return {"source": None, "by": "base", "weights": shown}
    if proposal.source is None or proposal.point is None:
        return {"source": None, "by": "model", "weights": shown}
    by = "agreed" if proposal.agreed else "model"
    source = names[proposal.source]
    return {"source": source, "point": proposal.point, "by": by, "weights": shown}


class Proposing:
    """The surrogate of the new study, kept from trial to trial, and what it proposes."""

    def __init__(self, odds: float) -> None:
        self.odds = odds
        self.belief: Belief | None = None
        self._known: Known | None = None
        self._known_for: tuple[Any, ...] = ()
        self._warned = False

    def weights(self, sources: Sequence[Earlier]) -> Float64[np.ndarray, " N"]:
        """Of the earlier studies now; equal before the first trial, none where all differ."""
        if self._known_for and self._known is None:  # none has a parameter of the new study
            return np.zeros(len(sources))
        some = np.array([bool(one.params) for one in sources])
        found = np.zeros(len(sources))
        if self.belief is None or self._known is None:
            return some / max(int(some.sum()), 1)
        found[list(self._known.speakers)] = self.belief.weights
        return found

    def decide(
        self,
        sources: list[Earlier],
        trials: list[FrozenTrial],
        number: int,
        maximised: bool,
        entropy: Any,
    ) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Parameters of the next trial, or none for the base sampler; and what the trial keeps."""
        names = [one.name for one in sources]
        what = self._in_space(sources, trials, maximised)
        self.belief, proposal = None, None
        if what is not None:
            own = own_rows(what.columns, trials, maximised, number)
            if len(own.y):
                self.belief = what.family.observe(own.x, own.y, odds=self.odds)
            rng = np.random.default_rng([entropy, number])
            proposal = self._proposal(rng, what, own, trials, number)
        found = told(names, self.weights(sources), proposal)
        return None if proposal is None else proposal.params, found

    def _proposal(
        self,
        rng: np.random.Generator,
        what: Known,
        own: Own,
        trials: list[FrozenTrial],
        number: int,
    ) -> Proposal | None:
        if left_to_base(number, own.y[own.first_time]) and not own.base_repeats:
            return None
        begun = sum(t.user_attrs.get(KEY, {}).get("by") == "agreed" for t in trials)
        if begun < START or self.belief is None:
            point = first_point(what, own)
            if point is not None or self.belief is None:
                return point
        if what.conditional and number % _ELSEWHERE == 0 and stuck(own.y):
            found = elsewhere(rng, what, own, self.belief)
            if found is not None:
                return found
        return best_point(rng, what, own, self.belief)

    def _in_space(
        self, sources: list[Earlier], trials: list[FrozenTrial], maximised: bool
    ) -> Known | None:
        """The family in the space as far as it is known; found anew when that changes."""
        space = space_of(sources, trials)
        key = (tuple(space.items()), maximised)
        if key != self._known_for:
            self._known, self._known_for = known(sources, space), key
        done = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
        if done and not self._warned:
            say_what_is_missing({k: v for t in done for k, v in t.distributions.items()}, sources)
            self._warned = True
        return self._known


def left_to_base(number: int, y: Float64[np.ndarray, " n"]) -> bool:
    """Whether the trial of this number, counted from 0, is the base sampler's, given all values.

    Of a function that is stairs, where a smooth model knows little, it has every second trial.

    >>> [number for number in range(40) if left_to_base(number, np.arange(number))]
    [5, 15, 25, 35]
    >>> [number for number in range(12) if left_to_base(number, np.arange(number) // 2)]
    [5, 8, 10]
    """
    if number % EVERY == COMPARE:
        return True
    good = np.sort(y)[: (len(y) + 1) // 2]  # what was pruned or failed has one value, too
    stairs = len(good) - len(np.unique(good)) >= _TIES
    return stairs and number > COMPARE and number % 2 == 0
