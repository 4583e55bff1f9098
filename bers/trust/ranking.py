"""Whom to trust for a new task, how sure that is, and why: what a ranking says.

Enters: weights, and the beliefs that they follow from. Leaves: a `Ranking`: weights, intervals,
what they rest on, and warnings where they rest on little. The weights say how alike the goals are,
not how skilled a demonstrator is, so returns stand beside them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from bers.data.source import Source
from bers.deprecated import old_name
from bers.model.neural_linear import Model
from bers.model.scaling import Memory, input_moments, label_moments
from bers.text import printable, unique
from bers.trust.beliefs import Beliefs
from bers.trust.render import as_html, as_json, as_text, figure
from bers.trust.rules import Rule, log_predictive, undetermined_note

_FAR = 2.0  # times a source's own spread, from which its head only guesses
_LITTLE = 0.3  # of the target's variance explained: below it, weights rest on little
_FEW = 10  # rows of the target

nan = float("nan")


@dataclass(frozen=True)
class RankedSource:
    """One line of a ranking."""

    name: str
    weight: float
    low: float = nan
    """Lower end of the weight's interval over draws of the posteriors."""
    high: float = nan
    prob_best: float = nan
    """Chance that this source deserves the largest weight."""
    correlation: float = nan
    """Correlation of its function with the target's labels, over the target's rows."""
    distance: float = nan
    """Share of the target's spread that its function misses, offset and scale set best."""
    error: float = nan
    """Root mean square error of its head on the target's rows, none of which it has seen."""
    evidence: float = nan
    """Log density of a target row under its posterior, offset and scale included."""
    extrapolation: float = nan
    """How far the target's rows lie out, in units of its own spread; 1 is at home."""
    explained: float = nan
    """Share of its own labels' variance that its head explains."""
    rows: int = 0
    value: float = nan
    """Mean return of its episodes, or the mean of its labels: its skill, not its goal."""

    best = old_name("best", "prob_best")
    match = old_name("match", "correlation")
    far = old_name("far", "extrapolation")


@dataclass(frozen=True, repr=False)
class Ranking:
    """What `rank` found. Prints as a table, also in notebooks.

    Examples
    --------
    >>> rows = [RankedSource("alice", 0.1), RankedSource("bob", 0.7)]
    >>> ranking = Ranking(tuple(rows), target="new", target_rows=50)
    >>> round(ranking.nobody, 6), ranking.best
    (0.2, 'bob')
    >>> ranking.weights.tolist()
    [0.1, 0.7]
    """

    sources: tuple[RankedSource, ...]
    """In the order they were given."""
    target: str
    """Its name."""
    target_rows: int
    """Of the target, that it was compared by."""
    rule: str = "odds"
    """The name of how weights were chosen."""
    level: float = 0.9
    """Of the intervals."""
    nobody_low: float = nan
    """Lower end of the interval of "nobody"."""
    nobody_high: float = nan
    """Upper end."""
    nobody_prob_best: float = nan
    """Chance that "nobody" deserves the largest weight."""
    explained: float = nan
    """Share of the target's variance that its own head explains."""
    mixture_explained: float = nan
    """Share that the weighted sources explain, offset and scale set best."""
    warnings: tuple[str, ...] = ()
    """Where the weights rest on little, in sentences."""
    model: Model | None = field(default=None, compare=False)
    """With a head for each source and for the target; None where there was nothing to compare."""

    @property
    def weights(self) -> Float64[np.ndarray, " N"]:
        """Of the sources, in the order given."""
        return np.array([source.weight for source in self.sources])

    @property
    def nobody(self) -> float:
        """The weight that no source earned."""
        return max(0.0, 1.0 - float(self.weights.sum()))

    @property
    def names(self) -> list[str]:
        """Of the sources, made different where they are equal."""
        return unique([source.name for source in self.sources])

    @property
    def best(self) -> str | None:
        """The source with the largest weight, or None if nobody has more."""
        top = int(np.argmax(self.weights))
        return self.names[top] if self.weights[top] >= self.nobody else None

    def to_dict(self) -> dict[str, object]:
        """Everything but the model, as plain values."""
        rest = {k: v for k, v in self.__dict__.items() if k not in ("model", "sources")}
        lines = [
            {**asdict(one), "name": name}
            for one, name in zip(self.sources, self.names, strict=True)
        ]
        return {**rest, "nobody": self.nobody, "sources": lines}

    def to_json(self) -> str:
        """As JSON: weights by name, nobody, intervals, warnings, and every line in full."""
        return as_json(self.to_dict())

    def plot(self, path: str | None = None):
        """A Matplotlib figure of weights and intervals.

        Parameters
        ----------
        path
            Where to save it as PNG too, if given.

        Returns
        -------
        Figure
            Matplotlib's.
        """
        return figure(self.to_dict(), path)

    def __repr__(self) -> str:
        return as_text(self.to_dict())

    def _repr_html_(self) -> str:
        return as_html(self.to_dict())


def ranking_of(
    rng: np.random.Generator,
    model: Model,
    known: Beliefs,
    a: Float64[np.ndarray, " N"],
    sources: Sequence[Source],
    target: Source,
    *,
    rule: Rule,
    memory: Memory,
    draws: int = 400,
    level: float = 0.9,
) -> Ranking:
    """A ranking by weights, and by the beliefs that they follow from."""
    low, high, top = _intervals(rng, known, rule, draws, level)
    ranking = Ranking(
        _lines(model, known, sources, target, a, low, high, top, memory),
        target=target.name,
        target_rows=target.n,
        rule=rule.name,
        level=level,
        nobody_low=low[-1],
        nobody_high=high[-1],
        nobody_prob_best=top[-1],
        explained=_explained(known),
        mixture_explained=_mixture_explained(known, a),
        model=model,
    )
    return replace(ranking, warnings=tuple(_notes(ranking, model, sources, target, memory)))


def undetermined(sources: Sequence[Source], target: Source, rule: Rule, level: float) -> Ranking:
    """Where there are no rows to compare: equal weights, and a note that says so."""
    lines = [RankedSource(s.name, 1 / len(sources), rows=s.n) for s in sources]
    note = undetermined_note(target.n)
    return Ranking(tuple(lines), target.name, target.n, rule.name, level, warnings=(note,))


def _intervals(
    rng: np.random.Generator, known: Beliefs, rule: Rule, draws: int, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the interval and chance of being best, for each source and for nobody, last."""
    if rule.draw is None:
        return tuple(np.full(known.N + 1, nan) for _ in range(3))  # pyright: ignore
    a = rule.draw(rng, known, draws)
    a = np.concatenate([a, np.maximum(0.0, 1 - a.sum(-1, keepdims=True))], axis=1)
    low, high = np.quantile(a, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    top = a >= a.max(-1, keepdims=True) - 1e-9
    return low, high, np.mean(top / top.sum(-1, keepdims=True), axis=0)


def _lines(
    model: Model,
    known: Beliefs,
    sources: Sequence[Source],
    target: Source,
    a: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    top: np.ndarray,
    memory: Memory,
) -> tuple[RankedSource, ...]:
    error = np.sqrt(known.squared_error(known.sources.mu @ known.raw.T))
    match = known.match(known.sources.mu @ known.centred.T)
    evidence = log_predictive(known) / known.n
    lines = []
    for i, source in enumerate(sources):
        if source.n == 0:
            lines.append(RankedSource(source.name, float(a[i]), 0.0, 0.0, 0.0))
            continue
        lines.append(
            RankedSource(
                name=source.name,
                weight=float(a[i]),
                low=float(low[i]),
                high=float(high[i]),
                prob_best=float(top[i]),
                correlation=float(match[i]),
                distance=float(np.sqrt(1 - max(match[i], 0.0) ** 2)),
                error=float(error[i]),
                evidence=float(evidence[i]),
                extrapolation=float(_far(model, source, target, memory).max()),
                explained=float(known.explained[i]),
                rows=source.n,
                value=_value(source, memory),
            )
        )
    return tuple(lines)


def _explained(known: Beliefs) -> float:
    """Of the target's variance by its own head, less what chance would give its features."""
    if known.label_variance <= 0 or known.n < 3:
        return nan
    left = known.squared_error(known.raw @ known.target.mu) / known.label_variance
    spare = max(known.n - known.sources.d, 1)
    return float(np.clip(1 - left * (known.n - 1) / max(spare, known.n / 2), 0.0, 1.0))


def _mixture_explained(known: Beliefs, a: np.ndarray) -> float:
    match = known.match(known.centred @ (a @ known.sources.mu))
    return float(max(match, 0.0) ** 2)


def _far(model: Model, source: Source, target: Source, memory: Memory) -> np.ndarray:
    """Root mean square of the target's rows, in units of the source's spread, by column."""
    here, there = input_moments(source, memory), input_moments(target, memory)
    spread = np.maximum(here.spread, 1e-2 * model.inputs.spread)
    return np.sqrt(there.spread**2 + (there.mean - here.mean) ** 2) / spread


def _value(source: Source, memory: Memory) -> float:
    """Mean return of the source's episodes, if it has any, else the mean of its labels."""
    payload = getattr(source, "payload", {})
    if {"reward", "terminated", "truncated"} <= set(payload):
        ends = int(np.sum(np.asarray(payload["terminated"]) | np.asarray(payload["truncated"])))
        return float(np.sum(payload["reward"])) / max(ends, 1)
    original = getattr(source, "original_y", None)
    return (
        float(np.mean(original))
        if original is not None
        else float(label_moments(source, memory).mean[0])
    )


def _notes(
    ranking: Ranking, model: Model, sources: Sequence[Source], target: Source, memory: Memory
) -> Iterator[str]:
    for line, source in zip(ranking.sources, sources, strict=True):
        name = printable(line.name, 40)
        if source.n == 0:
            yield f"'{name}' has no rows: it is undetermined and gets no weight."
        elif line.extrapolation > _FAR:
            columns = model.x_names or tuple(f"x{j}" for j in range(target.dim))
            worst = printable(columns[int(np.argmax(_far(model, source, target, memory)))], 30)
            yield (
                f"target rows lie outside what '{name}' has seen: {line.extrapolation:.1f} times "
                f"its spread, most in {worst}. There its head guesses."
            )
    if target.n < _FEW:
        rows = "1 row" if target.n == 1 else f"{target.n} rows"
        yield f"the target has only {rows}; collect more before you rely on the weights."
    elif np.isnan(ranking.explained):
        yield "all labels of the target are the same, so nothing tells the sources apart."
    elif ranking.explained < _LITTLE:
        yield (
            f"the model explains only {ranking.explained:.0%} of the target's labels, so weights "
            "rest on little. Give inputs in which the label is closer to additive, or more rows."
        )
