"""What each source would have earned in the target's task: goal and skill in one number.

Enters: the target's head, and the sources' rows. Leaves: a `Worth`: mean, interval and chances for
each source. What an episode earns is linear in the target's weights, so a source is boiled down to
the mean over its episodes of its discounted features: d numbers. [Eq. worth]

    ψᵢ = E[Σₜ γᵗ φ(sₜ, aₜ)],   worthᵢ = ψᵢᵀw

Posteriors take rows as independent and features as right. Neither is so, and errors of neighbouring
rows add up over an episode; the spread of w is widened for that. The best row of a past run is one
row: what `Trust.predict` says of it, with all that stands beside the head, and widened as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float64

from bers.data.checks import finite_number, one_of, whole
from bers.data.demonstrations import Demonstrations
from bers.data.source import Source
from bers.data.transforms import undo
from bers.errors import ConfigError, DataError
from bers.model import nig
from bers.model.neural_linear import Model
from bers.text import printable

_WIDER = 1.9  # times the spread of w by its posterior, chosen on trials of the supply chain
_WIDER_ROW = 1.5  # times that of a best row, chosen on random waves and half of BBOB
_DRAWS = 4000
_MOST_STEPS = 10**7

nan = float("nan")


@dataclass(frozen=True)
class SourceWorth:
    """One line of a `Worth`."""

    name: str
    mean: float = nan
    """Expected of an episode, or of a row."""
    low: float = nan
    """Lower end of its interval."""
    high: float = nan
    prob_best: float = nan
    """Chance that no other source is worth more."""
    prob_better: float = nan
    """Chance that it is worth more than what was given to compare with."""
    foreseen: float = nan
    """Share of the variance of labels at its rows that the target's head can be expected to
    foresee; 0 or below: labels that the head gives to its rows say nothing."""


@dataclass(frozen=True, repr=False)
class Worth:
    """What `Trust.worth` found. Prints as a table.

    Examples
    --------
    >>> found = Worth((SourceWorth("alice", 3.0, 2.0, 4.0, 0.9), SourceWorth("bob", 1.0)), "a row")
    >>> found.best, found.mean.tolist()
    ('alice', [3.0, 1.0])
    """

    sources: tuple[SourceWorth, ...]
    """In the order they were given."""
    of: str
    """What is paid for: "an episode", "200 rows", "a row", "its lowest row"."""
    level: float = 0.9
    """Of the intervals."""
    than: float | None = None
    """What was given to compare with."""

    @property
    def mean(self) -> Float64[np.ndarray, " N"]:
        """Of each source, in the order given."""
        return np.array([one.mean for one in self.sources])

    @property
    def best(self) -> str | None:
        """The source that is most likely worth most; None if none has rows."""
        chances = np.nan_to_num(np.array([one.prob_best for one in self.sources]), nan=-1.0)
        return self.sources[int(np.argmax(chances))].name if chances.max() >= 0 else None

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.__dict__, "sources": [asdict(one) for one in self.sources]}

    def __repr__(self) -> str:
        heads = ["source", "worth", f"{self.level:.0%} interval", "best", "foreseen"]
        rows = [
            [
                printable(one.name, 30),
                _number(one.mean, ".4g"),
                f"{_number(one.low, '.4g')} to {_number(one.high, '.4g')}",
                _number(one.prob_best, ".0%"),
                _number(one.foreseen, ".0%"),
            ]
            for one in self.sources
        ]
        if self.than is not None:
            heads.append(f"above {self.than:.4g}")
            for row, one in zip(rows, self.sources, strict=True):
                row.append(_number(one.prob_better, ".0%"))
        widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [heads, *rows]
        ]
        return "\n".join([f"What {self.of} would have earned in the target's task", "", *lines])


def worth_of(
    rng: np.random.Generator,
    head: nig.NIG,
    model: Model,
    sources: Sequence[Source],
    *,
    names: Sequence[str],
    undone: Any = (),
    horizon: int | None = None,
    discount: float = 1.0,
    best: Literal["lowest", "highest"] | None = None,
    than: float | None = None,
    level: float = 0.9,
    summaries: Sequence[nig.Summary | None] = (),
    foretold: Callable[[Float64[np.ndarray, "m D"]], nig.StudentT] | None = None,
) -> Worth:
    """The worth of every source by the target's head; `undone` are transforms of its labels.

    Where there is a summary of a source whose rows are in no episodes, its rows are not read again.
    What is `foretold` of best rows is asked for with `best` alone.
    """
    _check(sources, undone, horizon, discount, best, than)
    some = [i for i, source in enumerate(sources) if source.n]
    known = [*summaries, *[None] * (len(sources) - len(summaries))]
    rows = [
        rows_of(model, sources[i], horizon, discount, best)
        if (summary := known[i]) is None or best is not None or _ends(sources[i]) is not None
        else _rows_of_summary(summary, horizon, discount)
        for i in some
    ]
    if not rows:
        raise DataError("no source has any rows, so none has a worth. Give sources with rows.")
    if best is None:
        psi = np.stack([each.psi for each in rows])
        w, _ = nig.draw(rng, head, _DRAWS)
        mean, drawn = psi @ head.mu, psi @ (head.mu + _WIDER * (w - head.mu)).T
    else:
        assert foretold is not None
        said = foretold(np.stack([each.best for each in rows if each.best is not None]))
        chance = rng.standard_t(np.broadcast_to(said.dof, said.loc.shape), (_DRAWS, len(rows)))
        mean, drawn = said.loc, (said.loc + _WIDER_ROW * said.scale * chance).T
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=1)
    mean, low, high, drawn = (undo(undone, part) for part in (mean, low, high, drawn))
    top = drawn >= drawn.max(axis=0) - 1e-12 * np.abs(drawn).max()
    if best == "lowest":
        top = drawn <= drawn.min(axis=0) + 1e-12 * np.abs(drawn).max()
    chance = np.mean(top / top.sum(axis=0), axis=1)
    better = _better(drawn, than, best)
    foreseen = [_foreseen(head, each.square, each.mean) for each in rows]
    lines = [SourceWorth(name) for name in names]
    for k, i in enumerate(some):
        values = (mean[k], low[k], high[k], chance[k], better[k], foreseen[k])
        lines[i] = SourceWorth(names[i], *(float(value) for value in values))
    return Worth(tuple(lines), _paid_for(sources, horizon, best), level, than)


@dataclass(frozen=True)
class Rows:
    """What is known of a source's rows under an encoder."""

    psi: Float64[np.ndarray, " d"]
    """What an episode adds up to, on average."""
    mean: Float64[np.ndarray, " d"]
    """Feature of a row, on average."""
    square: Float64[np.ndarray, "d d"]
    """φφᵀ of a row, on average."""
    best: Float64[np.ndarray, " D"] | None = None
    """The inputs of its best row, if one was asked for."""


def rows_of(
    model: Model,
    source: Source,
    horizon: int | None = None,
    discount: float = 1.0,
    best: Literal["lowest", "highest"] | None = None,
) -> Rows:
    """One pass over the rows; where they are in episodes, each is discounted from its start.

    >>> from bers import ModelConfig, fit
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> ends = {"reward": x[:, 0], "terminated": x[:, 0] == 1, "truncated": x[:, 0] == 3}
    >>> two = Demonstrations(x, x[:, 0], "two episodes", payload=ends)
    >>> model = fit([two], config=ModelConfig(hidden=(2,), latent_dim=1, batches=0))
    >>> float(rows_of(model, two, discount=0.5).psi[-1])  # of the bias: 1 + 0.5
    1.5
    """
    ends = _ends(source)
    d = model.state.encoder.features
    total, square = np.zeros(d), np.zeros((d, d))
    psi, when, done, episodes = np.zeros_like(total), 0, 0, 0
    chosen: tuple[float, np.ndarray] | None = None
    for x, y in source.blocks():
        Phi = model.features(np.asarray(x, np.float64))
        total, square = total + Phi.sum(axis=0), square + Phi.T @ Phi
        if best is not None:
            at = int(np.argmin(y) if best == "lowest" else np.argmax(y))
            value = float(y[at]) if best == "lowest" else -float(y[at])
            if chosen is None or value < chosen[0]:
                chosen = value, np.asarray(x[at], np.float64)
        if ends is not None:
            steps, when = _steps(ends[done : done + len(Phi)], when)
            psi += discount**steps @ Phi
            episodes += int(ends[done : done + len(Phi)].sum())
        done += len(Phi)
    mean = total / source.n
    psi = psi / (episodes + (when > 0)) if ends is not None else _over(mean, horizon, discount)
    return Rows(psi, mean, square / source.n, None if chosen is None else chosen[1])


def _rows_of_summary(summary: nig.Summary, horizon: int | None, discount: float) -> Rows:
    """Of rows in no episodes, which were boiled down before; the bias is the last feature."""
    square = summary.R[:, :-1].T @ summary.R[:, :-1] / float(summary.n)
    return Rows(_over(square[-1], horizon, discount), square[-1], square)


def _over(mean: np.ndarray, horizon: int | None, discount: float) -> np.ndarray:
    """What so many steps add up to."""
    return mean * (1 if horizon is None else float(np.sum(discount ** np.arange(horizon))))


def _steps(ends: Bool[np.ndarray, " n"], first: int) -> tuple[np.ndarray, int]:
    """The number of each row in its episode, and that of the row to come.

    >>> [part.tolist() if hasattr(part, "tolist") else part
    ...  for part in _steps(np.array([False, True, False, False]), 3)]
    [[3, 4, 0, 1], 2]
    """
    place = np.arange(len(ends))
    starts = np.concatenate([[0], np.flatnonzero(ends) + 1])
    last = starts[np.searchsorted(starts, place, side="right") - 1]
    steps = place - last + np.where(last == 0, first, 0)
    if not len(ends):
        return steps, first
    return steps, 0 if ends[-1] else int(steps[-1]) + 1


def _ends(source: Source) -> Bool[np.ndarray, " n"] | None:
    """Where episodes end, if the rows are in episodes."""
    payload: Mapping[str, Any] = getattr(source, "payload", {})
    if not isinstance(source, Demonstrations) or not {"terminated", "truncated"} <= set(payload):
        return None
    return np.asarray(payload["terminated"], bool) | np.asarray(payload["truncated"], bool)


def _foreseen(head: nig.NIG, square: np.ndarray, mean: np.ndarray) -> float:
    """One less the expected squared error over the expected variance, at a source's rows."""
    around = square - np.outer(mean, mean)
    spread = _WIDER**2 * float(head.beta / head.alpha) * head.Sigma
    variance = float(head.mu @ around @ head.mu) + float(np.sum(spread * around))
    return 1 - float(np.sum(spread * square)) / variance if variance > 0 else nan


def foreseen_of(head: nig.NIG, summaries: Sequence[nig.Summary]) -> list[float | None]:
    """Of the labels at each source's rows, by their summaries; None where there are no rows."""
    rows = [_rows_of_summary(one, None, 1.0) if one.n else None for one in summaries]
    return [None if one is None else _foreseen(head, one.square, one.mean) for one in rows]


def _better(drawn: np.ndarray, than: float | None, best: str | None) -> np.ndarray:
    if than is None:
        return np.full(len(drawn), nan)
    return np.mean(drawn < than if best == "lowest" else drawn > than, axis=1)


def _paid_for(sources: Sequence[Source], horizon: int | None, best: str | None) -> str:
    if best is not None:
        return f"its {best} row"
    if all(_ends(source) is not None for source in sources):
        return "an episode"
    return "a row" if horizon is None else f"{horizon} rows"


def comparable(sources: Sequence[Source], undone: Any) -> bool:
    """Whether what the rows of all sources earn can be added up and compared."""
    return not undone and len({_ends(source) is not None for source in sources if source.n}) == 1


def _check(
    sources: Sequence[Source],
    undone: Any,
    horizon: int | None,
    discount: float,
    best: Any,
    than: Any,
) -> None:
    one_of(best, "worth(best=...)", "lowest", "highest", None)
    if not 0 < finite_number(discount, "worth(discount=...)") <= 1:
        raise ConfigError(f"worth(discount=...) must be above 0 and at most 1; got {discount}.")
    if than is not None:
        finite_number(than, "worth(than=...)")
    if horizon is not None:
        whole(horizon, "worth(horizon=...)", most=_MOST_STEPS)
    if undone and best is None:
        raise ConfigError(
            "labels were transformed, and sums of transformed labels mean nothing. Ask for "
            'worth(best="lowest") or "highest", or give no transform.'
        )
    kinds = {_ends(source) is not None for source in sources if source.n}
    if len(kinds) > 1 and best is None:
        raise DataError(
            "some sources are in episodes and others are not, so what they earn cannot be "
            "compared. Give all of them in episodes, or none."
        )


def _number(value: float, how: str) -> str:
    return "" if np.isnan(value) else format(value, how)
