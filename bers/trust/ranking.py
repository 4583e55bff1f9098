"""Whom to trust for a new task, how sure that is, and why: what a ranking says.

Enters: weights, and the beliefs that they follow from. Leaves: a `Ranking`: weights, intervals,
what they rest on, and warnings where they rest on little. The weights say how alike the goals are,
not how skilled a demonstrator is, so returns stand beside them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from bers.data.demonstrations import Demonstrations
from bers.data.source import Source
from bers.deprecated import old_name
from bers.model.neural_linear import Model
from bers.model.scaling import Memory, input_moments, label_moments
from bers.text import printable, unique
from bers.trust.beliefs import Beliefs
from bers.trust.render import as_html, as_json, as_text, figure
from bers.trust.rules import Rule, log_predictive, undetermined_note
from bers.trust.worth import Worth

_POOR = 0.3  # of labels explained: below it, weights rest on little
_FEW = 10  # rows of the target
_LEAST = 4  # rows of the target; fewer settle nothing
_ALIKE = 0.98  # correlation of two functions over the target's rows, from which they are one
_MARGIN = 0.05  # of its range that a source is trusted beyond
_OUTSIDE = 0.25  # of the target's rows outside a source's range, from which its head guesses
_UNITS = 100.0  # times the spread of the others, from which a column seems to be in other units
_HELD = 20  # rows that were held out, for a share of them to say something
_SURE, _SURE_OF_NOBODY = 0.6, 0.9  # mean weight over the draws, from which the answer is decided
_RISING = 0.05  # nats a row that training still gained in its last quarter

_COMPARED = 100_000  # rows of the target, up to which copies are looked for

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
    """Root mean square error of its head on the target's rows, none of which it has seen, with the
    offset between the two removed."""
    evidence: float = nan
    """Log density of a target row under its posterior, offset and scale included."""
    extrapolation: float = nan
    """Share of the target's rows that lie outside the range of its own in some column."""
    skill: float = nan
    """Share of its own held-out labels that its head explains; none where none were held out."""
    explained: float = nan
    """Share of its own labels' variance that its head explains, on rows it was fitted to."""
    rows: int = 0
    value: float = nan
    """Mean return of its episodes, or the mean of its labels: its skill, not its goal."""
    worth: float = nan
    """What an episode of it, or a row, would have earned in the target's task: goal and skill."""
    worth_low: float = nan
    """Lower end of the interval of its worth."""
    worth_high: float = nan

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
    undecided: bool = False
    """Whether the rows do not settle who, if anybody, is to be trusted."""
    distinct_rows: int | None = None
    """Of the target; None where they are too many to be compared with each other."""
    outliers: tuple[int, ...] = ()
    """Rows of the target, counted from 0, that were left out because their labels lie far off."""
    explained: float = nan
    """Share of the target's variance that its own head explains, every row left out in turn."""
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

    @property
    def verdict(self) -> str:
        """The answer in a word or two: a name, several, "nobody" or "undecided".

        >>> Ranking((RankedSource("alice", 0.9),), "new", 50).verdict
        'alice'
        """
        if self.undecided:
            return "undecided"
        if self.nobody > self.weights.sum():
            return "nobody"
        least = min(0.1, self.weights.max() / 2)
        some = [i for i in np.argsort(-self.weights, kind="stable") if self.weights[i] >= least]
        more = [f"{len(some) - 3} more"] if len(some) > 4 else []
        return " and ".join([*(self.names[i] for i in (some[:3] if more else some)), *more])

    def to_dict(self) -> dict[str, object]:
        """Everything but the model, as plain values."""
        rest = {k: v for k, v in self.__dict__.items() if k not in ("model", "sources")}
        lines = [
            {**asdict(one), "name": name}
            for one, name in zip(self.sources, self.names, strict=True)
        ]
        return {**rest, "nobody": self.nobody, "verdict": self.verdict, "sources": lines}

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
    outliers: tuple[int, ...] = (),
    heard: Sequence[Source] = (),
    worth: Worth | None = None,
) -> Ranking:
    """A ranking by weights, and by the beliefs that they follow from.

    `heard` are the sources without the labels that were left out, if they differ.
    """
    heard = heard or sources
    left_out = [source.n - one.n for source, one in zip(sources, heard, strict=True)]
    told_apart = known.label_variance > 0  # labels that are all the same tell nothing
    drawn = _drawn(rng, known, rule, draws) if told_apart else None
    enough = known.n >= _LEAST  # so few rows, drawn again, are nearly the same rows
    low, high, top = _intervals(drawn if enough else None, level, known.N)
    lines = _lines(model, known, sources, heard, target, a, low, high, top, memory)
    if worth is not None:
        lines = tuple(
            replace(line, worth=one.mean, worth_low=one.low, worth_high=one.high)
            for line, one in zip(lines, worth.sources, strict=True)
        )
    blind = any(line.extrapolation > _OUTSIDE for line in lines)
    distinct = _distinct(target)
    copies = distinct is not None and distinct < min(_FEW, target.n)
    settled = told_apart
    if drawn is not None:
        settled = enough and not copies and _decided(drawn.mean(0), _groups(known), blind)
    ranking = Ranking(
        lines,
        target=target.name,
        target_rows=target.n,
        rule=rule.name,
        level=level,
        nobody_low=low[-1],
        nobody_high=high[-1],
        nobody_prob_best=top[-1],
        undecided=not settled,
        distinct_rows=distinct,
        outliers=outliers,
        explained=_explained(known),
        mixture_explained=_mixture_explained(known, a),
        model=model,
    )
    notes = [*_notes(ranking, model, known, sources, target, memory, left_out)]
    notes += _notes_on_worth(ranking, worth)
    return replace(ranking, warnings=tuple(notes))


def undetermined(sources: Sequence[Source], target: Source, rule: Rule, level: float) -> Ranking:
    """Where there are no rows to compare: equal weights, and a note that says so."""
    lines = [RankedSource(s.name, 1 / len(sources), rows=s.n) for s in sources]
    note = undetermined_note(target.n)
    return Ranking(
        tuple(lines), target.name, target.n, rule.name, level, undecided=True, warnings=(note,)
    )


def _distinct(target: Source) -> int | None:
    """Rows of the target that differ from each other, in inputs or label."""
    if not isinstance(target, Demonstrations) or target.n > _COMPARED:
        return None
    return len(np.unique(np.column_stack([target.x, target.y]), axis=0))


def _drawn(
    rng: np.random.Generator, known: Beliefs, rule: Rule, draws: int
) -> Float64[np.ndarray, "draws N1"] | None:
    """Weights, and nobody's last, had other rows been seen and other functions been true."""
    if rule.draw is None:
        return None
    a = np.concatenate([rule.draw(rng, known.resampled(rng), 1) for _ in range(draws)])
    return np.concatenate([a, np.maximum(0.0, 1 - a.sum(-1, keepdims=True))], axis=1)


def _intervals(
    drawn: np.ndarray | None, level: float, N: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the interval and chance of being best, for each source and for nobody, last."""
    if drawn is None:
        return tuple(np.full(N + 1, nan) for _ in range(3))  # pyright: ignore
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    top = drawn >= drawn.max(-1, keepdims=True) - 1e-9
    return low, high, np.mean(top / top.sum(-1, keepdims=True), axis=0)


def _groups(known: Beliefs) -> list[list[int]]:
    """Sources whose functions are the same over the target's rows, but for offset and scale."""
    if known.n < _FEW:
        return [[int(i)] for i in np.flatnonzero(known.known)]  # few rows make anybody alike
    f = known.sources.mu @ known.centred.T
    size = np.linalg.norm(f, axis=-1, keepdims=True)
    f = np.where(size > 1e-150, f / np.where(size > 1e-150, size, 1.0), 0.0)
    left, groups = list(np.flatnonzero(known.known)), []
    while left:
        alike = [i for i in left[1:] if f[left[0]] @ f[i] > _ALIKE]
        groups.append([int(left[0]), *map(int, alike)])
        left = [i for i in left[1:] if i not in alike]
    return groups


def _decided(
    mean: Float64[np.ndarray, " N1"], groups: list[list[int]], blind: bool = False
) -> bool:
    """Whether one answer holds over the draws: nobody, or sources that are one, or two that share.

    Nobody is likely before anything is seen, so it takes more to say so; and it cannot be said of
    a source that is `blind`: that has not seen where the target's rows lie.
    """
    one = max((float(mean[group].sum()) for group in groups), default=0.0)
    several = sum(float(mean[group].sum()) for group in groups if mean[group].sum() >= 0.15)
    nobody = mean[-1] >= _SURE_OF_NOBODY and not blind
    return bool(nobody or one >= _SURE or several >= 0.9)


def _lines(
    model: Model,
    known: Beliefs,
    sources: Sequence[Source],
    heard: Sequence[Source],
    target: Source,
    a: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    top: np.ndarray,
    memory: Memory,
) -> tuple[RankedSource, ...]:
    error = np.sqrt(known.squared_error(known.sources.mu @ known.centred.T, centred=True))
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
                extrapolation=float(_outside(model, source, target, memory)[0]),
                skill=nan if np.isnan(known.skill[i]) else float(known.skill[i]),
                explained=float(known.explained[i]),
                rows=source.n,
                value=_value(heard[i], memory),
            )
        )
    return tuple(lines)


def _explained(known: Beliefs) -> float:
    """Of the target's variance by its own head, with every row left out in turn.

    The encoder has not seen these labels, and leaving a row out of a linear head is exact:
    its residual grows by 1 / (1 − h), h being its leverage.
    """
    Phi, y = known.sample
    if known.label_variance <= 0 or known.n < 3:
        return nan
    root = np.linalg.solve(known.target.U.T, Phi.T)
    leverage = np.minimum(np.sum(root**2, 0), 1 - 1e-9)
    left = (y - Phi @ known.target.mu) / (1 - leverage)
    alone = (y - y.mean()) * len(y) / (len(y) - 1)
    return float(np.clip(1 - np.sum(left**2) / np.sum(alone**2), 0.0, 1.0))


def _mixture_explained(known: Beliefs, a: np.ndarray) -> float:
    match = known.match(known.centred @ (a @ known.sources.mu))
    return float(max(match, 0.0) ** 2)


def _outside(
    model: Model, source: Source, target: Source, memory: Memory
) -> tuple[float, Float64[np.ndarray, " k"]]:
    """Share of the target's rows outside a source's range: in any column, and column by column.

    A range is widened a little.
    """
    here = input_moments(source, memory)
    margin = _MARGIN * np.maximum(here.high - here.low, model.inputs.spread)
    out, rows = np.zeros(target.dim), 0
    for x, _ in target.blocks():
        beyond = (x < here.low - margin) | (x > here.high + margin)
        out += beyond.sum(0)
        rows += int(beyond.any(1).sum())
    return rows / max(target.n, 1), out / max(target.n, 1)


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
    ranking: Ranking,
    model: Model,
    known: Beliefs,
    sources: Sequence[Source],
    target: Source,
    memory: Memory,
    left_out: Sequence[int],
) -> Iterator[str]:
    """What to know before the weights are relied on; one sentence for all sources it holds of."""
    names = [printable(name, 40) for name in ranking.names]
    yield from _notes_on_rows(ranking, sources, names, left_out)
    yield from _notes_on_heads(ranking, model, names)
    yield from _notes_on_inputs(ranking, model, sources, target, memory, names)
    alike = [[names[i] for i in group] for group in _groups(known) if len(group) > 1]
    if alike:
        yield (
            f"{_listed(alike[0])} say the same about the target's rows, but for offset and scale: "
            "the weight is shared between them."
        )
    if not ranking.undecided and sum(a >= 0.1 for a in ranking.weights) > 1 and not alike:
        yield "no single source fits all of the target's rows: several share them."


def _notes_on_worth(ranking: Ranking, worth: Worth | None) -> Iterator[str]:
    """Where who wanted the same is not who would earn most; more is better in episodes only."""
    if (
        worth is None
        or worth.of != "an episode"
        or not any(one.low == one.low for one in worth.sources)
    ):
        return
    top, first = int(np.argmax(ranking.weights)), worth.best
    best = next(i for i, one in enumerate(worth.sources) if one.name == first)
    one, other = worth.sources[best], worth.sources[top]
    if best != top and one.low > other.high and ranking.weights[top] >= ranking.nobody:
        yield (
            f"weights say who wanted the same, and that is most likely "
            f"'{printable(other.name, 40)}'; but '{printable(one.name, 40)}' would have earned "
            f"more in your task: {one.mean:.3g} an episode against {other.mean:.3g}. Imitate by "
            "worth, and take rewards by weight."
        )


def _notes_on_rows(
    ranking: Ranking, sources: Sequence[Source], names: list[str], left_out: Sequence[int]
) -> Iterator[str]:
    empty = [name for name, source in zip(names, sources, strict=True) if source.n == 0]
    if empty:
        one = len(empty) == 1
        rest = (
            "has no rows: it is undetermined and gets"
            if one
            else ("have no rows: they are undetermined and get")
        )
        yield f"{_listed(empty)} {rest} no weight."
    if ranking.outliers:
        rows = ", ".join(str(row) for row in ranking.outliers[:5])
        more = f" and {len(ranking.outliers) - 5} more" if len(ranking.outliers) > 5 else ""
        word, lies = ("row", "label lies") if len(ranking.outliers) == 1 else ("rows", "labels lie")
        yield (
            f"left out of the target: {word} {rows}{more}, counted from 0, whose {lies} far from "
            "all others and from what any source would say. Check, or give a transform."
        )
    for name, count in zip(names, left_out, strict=False):
        if count:
            yield (
                f"left out of '{name}': {'1 label' if count == 1 else f'{count} labels'} far from "
                "all others, which its head does not foresee. Check, or give a transform."
            )
    if ranking.distinct_rows is not None and ranking.distinct_rows <= ranking.target_rows / 2:
        yield (
            f"only {ranking.distinct_rows} of the target's {ranking.target_rows} rows are "
            "distinct, and copies count as evidence. Drop them, unless they were measured anew."
        )
    if ranking.target_rows < _FEW:
        rows = "1 row" if ranking.target_rows == 1 else f"{ranking.target_rows} rows"
        yield f"the target has only {rows}; collect more before you rely on the weights."
    elif np.isnan(ranking.explained):
        yield "all labels of the target are the same, so nothing tells the sources apart."
    elif ranking.explained < _POOR:
        yield (
            f"the model explains only {ranking.explained:.0%} of the target's labels, so weights "
            "rest on little. Give inputs that the label depends on, or more rows. "
            "Trust.predict may do better, by the target's rows alone."
        )


def _notes_on_heads(ranking: Ranking, model: Model, names: list[str]) -> Iterator[str]:
    poor = [n for n, line in zip(names, ranking.sources, strict=True) if line.skill < _POOR]
    if poor:
        yield (
            f"on rows that were held out, the {'head' if len(poor) == 1 else 'heads'} of "
            f"{_listed(poor)} {'explains' if len(poor) == 1 else 'explain'} less than {_POOR:.0%} "
            f"of {'its' if len(poor) == 1 else 'their'} own labels, and can say little for or "
            "against. Give more rows, or inputs that the label depends on."
        )
    narrow = [
        (name, share)
        for name, share, rows in zip(names, model.skill.coverage, model.skill.rows, strict=False)
        if rows >= _HELD and share < _SURE
    ]
    if narrow:
        name, share = min(narrow, key=lambda one: one[1])
        yield (
            f"90% intervals of the head of '{name}' hold {share:.0%} of its held-out labels: its "
            "certainty cannot be believed. Give it more rows."
        )
    if not _converged(model):
        yield (
            "training had not come to rest when it ended, so other weights may follow from more "
            "of it. Raise batches, or learning_rate."
        )


def _converged(model: Model) -> bool:
    """Whether more training would hardly have changed anything, as far as its history tells."""
    scores = model.history.scores
    if len(scores):  # one stretch for each network that was tried: the best one counts
        starts = np.flatnonzero(np.diff(scores[:, 0]) <= 0) + 1
        done, score = max(np.split(scores, starts), key=lambda one: one[:, 1].max()).T
        late = score[len(score) * 3 // 4 - 1] if len(score) > 3 else score[-1]
        return bool(done[-1] < model.config.batches or score.max() - late < _RISING)
    quarter = len(model.history.objective) // 4
    if quarter < 10:
        return True
    third, last = model.history.objective[-2 * quarter :].reshape(2, -1).mean(1)
    return bool(last - third < _RISING)


def _notes_on_inputs(
    ranking: Ranking,
    model: Model,
    sources: Sequence[Source],
    target: Source,
    memory: Memory,
    names: list[str],
) -> Iterator[str]:
    columns = model.x_names or tuple(f"x{j}" for j in range(target.dim))
    out = [i for i, line in enumerate(ranking.sources) if line.extrapolation > _OUTSIDE]
    if out:
        worst = max(out, key=lambda i: ranking.sources[i].extrapolation)
        share, by_column = _outside(model, sources[worst], target, memory)
        column = printable(columns[int(np.argmax(by_column))], 30)
        yield (
            f"target rows lie outside what {_listed([names[i] for i in out])} "
            f"{'has' if len(out) == 1 else 'have'} seen: {share:.0%} of them, most in {column}. "
            f"There {'its head guesses' if len(out) == 1 else 'their heads guess'}, and nobody can "
            "be said to be unlike the target."
        )
    every, called = [*sources, target], [*names, printable(target.name, 40)]
    some = [one for one in zip(every, called, strict=True) if one[0].n > 1]
    if len(some) > 1:
        spread = np.array([input_moments(one, memory).spread for one, _ in some])
        middle = np.sort(spread, axis=0)[(len(some) - 1) // 2]  # of two, the smaller one
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((middle > 0) & (spread > 0), spread / middle, 1.0)
        ratio = np.maximum(ratio, 1 / ratio)
        at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[at] > _UNITS:
            size = "large" if spread[at] > middle[at[1]] else "small"
            yield (
                f"column {printable(columns[int(at[1])], 30)} of '{some[at[0]][1]}' is "
                f"{ratio[at]:.0f} times as {size} as in the others: is it in other units?"
            )


def _listed(names: Sequence[str]) -> str:
    """Some names, quoted; not more than three."""
    shown = [f"'{name}'" for name in names[:3]]
    if len(names) > 3:
        shown = [*shown[:2], f"{len(names) - 2} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
