"""Whom to trust for a new task, how sure that is, and why: `rank`.

Enters: demonstrations of several sources, and some rows of the new task. Leaves: a `Ranking`, with
weights, intervals, what they rest on, and warnings where they rest on little. The weights say how
alike the goals are, not how skilled a demonstrator is, so returns stand beside them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from jaxtyping import Float64

from bers.data.checks import whole
from bers.data.source import Source
from bers.errors import ConfigError, DataError
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit, refine
from bers.model.scaling import input_moments, label_moments
from bers.text import printable
from bers.trust.beliefs import Beliefs, beliefs
from bers.trust.objective import METRICS, Metric, drawn_programs, drawn_weights, solved
from bers.trust.odds import drawn_odds
from bers.trust.rules import Past, log_predictive, rule_named, undetermined_note, weigh
from bers.trust.show import as_html, as_json, as_text, figure

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
    best: float = nan
    """Chance that this source deserves the largest weight."""
    match: float = nan
    """Correlation of its function with the target's labels, over the target's rows."""
    distance: float = nan
    """Share of the target's spread that its function misses, offset and scale set best."""
    error: float = nan
    """Root mean square error of its head on the target's rows, none of which it has seen."""
    evidence: float = nan
    """Log density of a target row under its posterior, offset and scale included."""
    far: float = nan
    """How far the target's rows lie out, in units of its own spread; 1 is at home."""
    explained: float = nan
    """Share of its own labels' variance that its head explains."""
    rows: int = 0
    value: float = nan
    """Mean return of its episodes, or the mean of its labels: its skill, not its goal."""


@dataclass(frozen=True, repr=False)
class Ranking:
    """What `rank` found. Prints as a table, also in notebooks.

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
    target_rows: int
    rule: str = "odds"
    level: float = 0.9
    """Of the intervals."""
    nobody_low: float = nan
    nobody_high: float = nan
    nobody_best: float = nan
    explained: float = nan
    """Share of the target's variance that its own head explains."""
    mixture_explained: float = nan
    """Share that the weighted sources explain, offset and scale set best."""
    warnings: tuple[str, ...] = ()
    model: Model | None = field(default=None, compare=False)

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
        """A Matplotlib figure of weights and intervals; saved as PNG if a path is given."""
        return figure(self.to_dict(), path)

    def __repr__(self) -> str:
        return as_text(self.to_dict())

    def _repr_html_(self) -> str:
        return as_html(self.to_dict())


def rank(
    sources: Sequence[Source],
    target: Source,
    *,
    rule: str = "odds",
    model: Model | None = None,
    config: ModelConfig | None = None,
    draws: int = 400,
    level: float = 0.9,
    rng: int | np.integer | np.random.Generator = 0,
    progress: bool | None = None,
) -> Ranking:
    """Which of the sources the target should learn from, and how much.

    rule: a name of bers.trust.rules.RULES. model: one already fitted on the sources, to save
    time; it is refined with the target. draws: of the posteriors, for intervals of the given
    level. The same `rng` gives the same ranking.

    >>> from bers import Demonstrations
    >>> x = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> runs = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, x[:, 1], "bob")]
    >>> new = Demonstrations(x[:60], 3 * x[:60, 1] + 5, "new task")
    >>> config = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> ranking = rank(runs, new, config=config)
    >>> ranking.best, bool(ranking.weights[1] > 0.95)
    ('bob', True)
    """
    whole(draws, "rank(draws=...)")
    if not 0 < level < 1:
        raise ConfigError(f"rank(level=...) must lie between 0 and 1; got {level}.")
    rule_named(rule)
    if not isinstance(sources, Sequence) or not sources:
        raise DataError("rank(sources, target) needs a list of at least one source.")
    if target.n == 0 or all(source.n == 0 for source in sources):
        return _undetermined(sources, target, rule, level)
    generator = np.random.default_rng(rng)
    every = [*sources, target]
    if model is None:
        model = fit(every, config=config, rng=generator, progress=progress)
    else:
        model = refine(model, every, batches=100, rng=generator, progress=progress)
    return rank_by(model, sources, target, rule=rule, draws=draws, level=level, rng=generator)


def rank_by(
    model: Model,
    sources: Sequence[Source],
    target: Source,
    *,
    rule: str = "odds",
    draws: int = 400,
    level: float = 0.9,
    rng: np.random.Generator,
    past: Past | None = None,
    subset: int | None = None,
) -> Ranking:
    """A ranking by a model that has heads for the sources and, last, the target."""
    known = beliefs(model, target, subset=subset)
    a = weigh(known, rule, past)
    low, high, best = _intervals(rng, known, rule, draws, level)
    lines = _lines(model, known, sources, target, a, low, high, best)
    ranking = Ranking(
        lines,
        target=target.name,
        target_rows=target.n,
        rule=rule,
        level=level,
        nobody_low=low[-1],
        nobody_high=high[-1],
        nobody_best=best[-1],
        explained=_explained(known),
        mixture_explained=_mixture_explained(known, a),
        model=model,
    )
    notes = tuple(_notes(ranking, model, sources, target))
    return Ranking(**{**ranking.__dict__, "warnings": notes})


def unique(names: Sequence[str]) -> list[str]:
    """Names that can be keys: later ones of the same name are numbered.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    taken: set[str] = set()
    result = []
    for name in names:
        own, count = name, 1
        while own in taken:
            count += 1
            own = f"{name} ({count})"
        taken.add(own)
        result.append(own)
    return result


def _undetermined(sources: Sequence[Source], target: Source, rule: str, level: float) -> Ranking:
    lines = [RankedSource(s.name, 1 / len(sources), rows=s.n) for s in sources]
    return Ranking(
        tuple(lines), target.name, target.n, rule, level, warnings=(undetermined_note(target.n),)
    )


def _intervals(
    rng: np.random.Generator, known: Beliefs, rule: str, draws: int, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the interval and chance of being best, for each source and for nobody, last."""
    if rule == "odds":
        a = drawn_odds(rng, known, draws).a
    elif rule in METRICS or rule == "averaged":
        metric: Metric = "affine" if rule == "averaged" else rule  # pyright: ignore
        w = drawn_weights(rng, known, draws)
        a = solved(drawn_programs(known, metric, *w), metric)
    else:
        return tuple(np.full(known.N + 1, nan) for _ in range(3))  # pyright: ignore
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
    best: np.ndarray,
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
                best=float(best[i]),
                match=float(match[i]),
                distance=float(np.sqrt(1 - max(match[i], 0.0) ** 2)),
                error=float(error[i]),
                evidence=float(evidence[i]),
                far=float(_far(model, source, target).max()),
                explained=float(known.explained[i]),
                rows=source.n,
                value=_value(source),
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


def _far(model: Model, source: Source, target: Source) -> np.ndarray:
    """Root mean square of the target's rows, in units of the source's spread, by column."""
    here, there = input_moments(source), input_moments(target)
    spread = np.maximum(here.spread, 1e-2 * model.inputs.spread)
    return np.sqrt(there.spread**2 + (there.mean - here.mean) ** 2) / spread


def _value(source: Source) -> float:
    """Mean return of the source's episodes, if it has any, else the mean of its labels."""
    payload = getattr(source, "payload", {})
    if {"reward", "terminated", "truncated"} <= set(payload):
        ends = int(np.sum(np.asarray(payload["terminated"]) | np.asarray(payload["truncated"])))
        return float(np.sum(payload["reward"])) / max(ends, 1)
    original = getattr(source, "original_y", None)
    return (
        float(np.mean(original)) if original is not None else float(label_moments(source).mean[0])
    )


def _notes(ranking: Ranking, model: Model, sources: Sequence[Source], target: Source):
    for line, source in zip(ranking.sources, sources, strict=True):
        name = printable(line.name, 40)
        if source.n == 0:
            yield f"'{name}' has no rows: it is undetermined and gets no weight."
        elif line.far > _FAR:
            columns = model.x_names or tuple(f"x{j}" for j in range(target.dim))
            worst = printable(columns[int(np.argmax(_far(model, source, target)))], 30)
            yield (
                f"target rows lie outside what '{name}' has seen: {line.far:.1f} times its spread, "
                f"most in {worst}. There its head guesses."
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
