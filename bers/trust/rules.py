"""Every way to choose weights, behind one signature: rule(beliefs, past) -> weights.

Enters: `Beliefs`, and `Past`, what earlier choices brought. Leaves: N weights of 0 or above whose
sum is at most 1; what is missing is "nobody". A rule says what it needs and whether it can be
drawn: a new one is one function and one line in `RULES`, here and nowhere else.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64
from scipy.special import softmax

from bers.errors import ConfigError, DataWarning
from bers.model import nig
from bers.trust.beliefs import Beliefs, Counts
from bers.trust.objective import METRICS, Metric, drawn_programs, drawn_weights, program, solved
from bers.trust.odds import drawn_odds, odds

_DRAWS = 400
_RATE = 1.0  # of the exponentiated gradient


@dataclass(frozen=True)
class Past:
    """What earlier choices brought. Rules that learn from posteriors alone do not look at it."""

    pulls: Float64[np.ndarray, " N"]
    """How often each source was reused."""
    gains: Float64[np.ndarray, " N"]
    """Sum of the improvements of the best value in iterations that reused it."""
    a: Float64[np.ndarray, " N"]
    """The last weights."""

    @classmethod
    def none(cls, N: int) -> "Past":
        """Before the first iteration.

        >>> Past.none(2).a.tolist()
        [0.5, 0.5]
        """
        return cls(np.zeros(N), np.zeros(N), np.full(N, 1 / N))

    def after(self, source: int, gain: float) -> "Past":
        """One iteration later, in which `source` was reused and the best value fell by `gain`."""
        here = np.arange(len(self.pulls)) == source
        return replace(self, pulls=self.pulls + here, gains=self.gains + gain * here)

    def charged(self, a: Float64[np.ndarray, " N"], gain: float) -> "Past":
        """One iteration later, for weights that chose one source; others are not charged.

        >>> Past.none(2).charged(np.array([0.0, 1.0]), 2.0).gains.tolist()
        [0.0, 2.0]
        """
        chosen = np.flatnonzero(a)
        return self.after(int(chosen[0]), gain) if len(chosen) == 1 else self


Weights = Float64[np.ndarray, " N"]


def by_odds(known: Beliefs, past: Past) -> Weights:
    """The odds that the target is like each source; the default. [Eq. odds]"""
    return odds(known).a


def by_program(known: Beliefs, past: Past, *, metric: Metric, nobody: bool = False) -> Weights:
    """The quadratic program: `weights` on the simplex is the paper's rule. [Eq. qp]"""
    feasible = "at_most_one" if nobody else "simplex"
    return solved(program(known, metric), metric, feasible)


def by_draws(known: Beliefs, past: Past, *, metric: Metric, draws: int = _DRAWS) -> Weights:
    """The mean solution over draws of the posteriors: near equal at first, sharper with data."""
    rng = np.random.default_rng(known.n)
    w = drawn_weights(rng, known, draws)
    return solved(drawn_programs(known, metric, *w), metric).mean(0)


def equally(known: Beliefs | Counts, past: Past) -> Weights:
    """The same weight for every source that has rows."""
    return known.known / np.sum(known.known)


def one(known: Beliefs | Counts, past: Past, *, source: int) -> Weights:
    """One source, whatever the data say."""
    if not 0 <= source < known.N:
        raise ConfigError(f"there is no source {source}; there are {known.N}, counted from 0.")
    return np.eye(known.N)[source]


def by_ucb(known: Beliefs | Counts, past: Past) -> Weights:
    """The source whose gains have the best upper bound; only those with rows are tried."""
    a, some = np.zeros(known.N), known.known
    a[some] = ucb(Past(past.pulls[some], past.gains[some], past.a[some]))
    return a


def ucb(past: Past) -> Weights:
    """UCB1 of Auer, Cesa-Bianchi and Fischer (2002), all weight on one source. [Eq. ucb]

    Gains are divided by the largest mean gain, since the bound is for rewards in [0, 1].

    >>> ucb(Past(np.array([9.0, 9.0]), np.array([1.0, 3.0]), np.zeros(2))).tolist()
    [0.0, 1.0]
    """
    N = len(past.pulls)
    if np.any(past.pulls == 0):
        return np.eye(N)[int(np.argmin(past.pulls))]
    mean = past.gains / past.pulls
    size = np.max(np.abs(mean))
    bound = mean / (size or 1.0) + np.sqrt(2 * np.log(past.pulls.sum()) / past.pulls)
    return np.eye(N)[int(np.argmax(bound))]


def log_predictive(known: Beliefs) -> Float64[np.ndarray, " N"]:
    """log p(target's labels | a source's rows), for each source. [Eq. nig_ll]"""
    summary = known.summary
    shared = nig.Summary(
        np.broadcast_to(summary.R, (known.N, *summary.R.shape)), np.full(known.N, known.n)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # conditioning a well-known head on few rows loses digits
        return nig.log_evidence(known.sources, nig.condition(known.sources, shared))


def by_evidence(known: Beliefs, past: Past) -> Weights:
    """In proportion to the predictive density of the target's rows under each source."""
    return softmax(np.where(known.known, log_predictive(known), -np.inf))


def by_ranking(known: Beliefs, past: Past, *, draws: int = 100) -> Weights:
    """How often a draw of a source mis-orders the fewest pairs of target rows (RGPE).

    After Feurer, Letham and Bakshy (2018); ties share.
    """
    rng = np.random.default_rng(known.n)
    Phi, y = (part[:100] for part in known.sample)  # 4950 pairs tell sources apart
    w, _ = nig.draw(rng, known.sources, draws)
    f = np.einsum("snd,md->snm", w, Phi)
    wrong = np.empty(f.shape[:2])
    for i in range(known.N):
        order = f[:, i, :, None] < f[:, i, None, :]
        wrong[:, i] = np.sum(order ^ (y[:, None] < y[None, :]), axis=(-1, -2))
    wrong = np.where(known.known, wrong, np.inf)
    best = wrong == wrong.min(-1, keepdims=True)
    return np.mean(best / best.sum(-1, keepdims=True), axis=0)


def by_gradient(known: Beliefs, past: Past) -> Weights:
    """Exponentiated gradient on the heads' errors on the target's rows. [Eq. gradient]"""
    left = known.squared_error(known.sources.mu @ known.raw.T)
    unit = max(known.label_variance, 1e-300)
    step = -_RATE * np.minimum(left, 100 * unit) / unit
    start = np.log(np.maximum(past.a, 1e-300))
    return softmax(np.where(known.known, start + step, -np.inf))


def _drawn_odds(
    rng: np.random.Generator, known: Beliefs, draws: int
) -> Float64[np.ndarray, "draws N"]:
    return drawn_odds(rng, known, draws).a


def _drawn_programs(
    rng: np.random.Generator, known: Beliefs, draws: int, *, metric: Metric, nobody: bool = False
) -> Float64[np.ndarray, "draws N"]:
    programs = drawn_programs(known, metric, *drawn_weights(rng, known, draws))
    return solved(programs, metric, "at_most_one" if nobody else "simplex")


@dataclass(frozen=True)
class Rule:
    """A way to choose weights, and what it has to know.

    A rule of your own goes wherever a name of one does.

    Parameters
    ----------
    name
        What a ranking calls it.
    weigh
        From `Beliefs` (or `Counts`, if the rule needs no posteriors) and `Past` to N weights of 0
        or above, whose sum is at most 1.
    needs
        "posteriors": the model's heads. "rows": only who has rows at all. "gains": what earlier
        choices brought, which only a learner that reports it can tell.
    draw
        From a generator, `Beliefs` and a number to so many draws of the weights, for intervals;
        None if the rule has none.

    Examples
    --------
    >>> last = Rule("last", lambda known, past: np.eye(known.N)[-1], needs="rows")
    >>> rule_named(last) is last, rule_named("ucb").needs
    (True, 'gains')
    """

    name: str
    weigh: Callable[[Any, Past], Weights]
    needs: Literal["posteriors", "rows", "gains"] = "posteriors"
    draw: Callable[[np.random.Generator, Beliefs, int], np.ndarray] | None = None

    def __post_init__(self) -> None:
        if self.needs not in ("posteriors", "rows", "gains"):
            raise ConfigError(
                f'Rule(needs=...) must be "posteriors", "rows" or "gains"; got {self.needs!r}.'
            )


def _metric_rule(name: str, metric: Metric, *, nobody: bool = False) -> Rule:
    return Rule(
        name,
        partial(by_program, metric=metric, nobody=nobody),
        draw=partial(_drawn_programs, metric=metric, nobody=nobody),
    )


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("odds", by_odds, draw=_drawn_odds),
        *(_metric_rule(metric, metric) for metric in METRICS),
        _metric_rule("shape+nobody", "shape", nobody=True),
        Rule(
            "averaged",
            partial(by_draws, metric="affine"),
            draw=partial(_drawn_programs, metric="affine"),
        ),
        Rule("equal", equally, needs="rows"),
        Rule("ucb", by_ucb, needs="gains"),
        Rule("evidence", by_evidence),
        Rule("ranking", by_ranking),
        Rule("gradient", by_gradient),
    )
}
"""Rules by name; `single:0`, `single:1`, ... are made on demand by `rule_named`."""


def rule_named(rule: str | Rule) -> Rule:
    """The rule of that name; a rule itself is its own.

    Parameters
    ----------
    rule
        A name of `RULES`; "single:0", "single:1", ... for one source alone; a metric's name with
        "+nobody", for weights whose sum may be below 1; or a `Rule`.

    Returns
    -------
    Rule
        Others are refused, with the names that are known.

    Examples
    --------
    >>> rule_named("odds").weigh is by_odds
    True
    """
    if isinstance(rule, Rule):
        return rule
    if not isinstance(rule, str):
        raise ConfigError(
            f"rule must be a name of bers.rules.RULES or a bers.rules.Rule; got "
            f"{type(rule).__name__}."
        )
    if rule in RULES:
        return RULES[rule]
    metric = rule.removesuffix("+nobody")
    if metric in METRICS:
        return _metric_rule(rule, metric, nobody=True)
    start, _, number = rule.partition(":")
    if start == "single" and number.isdigit():
        return Rule(rule, partial(one, source=int(number)), needs="rows")
    known = ", ".join([*RULES, "single:0", "weights+nobody"])
    raise ConfigError(f"there is no rule {rule!r}. Known: {known}.")


def without_gains(rule: str | Rule, where: str) -> Rule:
    """The rule, if it can do without a history of gains; `where` says who has none.

    >>> without_gains("odds", "rank").name
    'odds'
    """
    found = rule_named(rule)
    if found.needs == "gains":
        raise ConfigError(
            f"the rule {found.name!r} learns from what each choice of a source brought, which "
            f'{where} cannot tell it. Choose another rule, such as "odds", or use it in '
            "bers.minimize."
        )
    return found


def undetermined_note(target_rows: int) -> str:
    """What to say where weights are equal for want of data.

    >>> undetermined_note(0)[:22]
    'the target has no rows'
    """
    who = "no source has rows" if target_rows else "the target has no rows"
    return (
        f"{who}, so nothing tells the sources apart: their weights are equal, and whether nobody "
        "is like the target cannot be told. Collect data first."
    )


def rule_on(metric: str, feasible: str | None) -> str:
    """The name of a rule on a feasible set; None leaves it as the rule has it.

    >>> rule_on("function", "at_most_one"), rule_on("odds", None)
    ('function+nobody', 'odds')
    """
    rule_named(metric)
    if feasible is None:
        return metric
    if feasible not in ("simplex", "at_most_one"):
        raise ConfigError(f'feasible must be "simplex" or "at_most_one"; got {feasible!r}.')
    if metric not in METRICS:
        raise ConfigError(
            f"feasible is for the metrics of the quadratic program ({', '.join(METRICS)}); "
            f"got metric={metric!r}. Leave it out."
        )
    return metric if feasible == "simplex" else f"{metric}+nobody"


def weigh(known: Beliefs | Counts, rule: str | Rule = "odds", past: Past | None = None) -> Weights:
    """Weights by a rule, with what every rule owes: nothing to those without rows.

    Without a row of the target, or with no row in any source, nothing can be told apart: then all
    weights are equal, and a warning says so.
    """
    past = past or Past.none(known.N)
    if known.n == 0 or not known.known.any():
        warnings.warn(undetermined_note(known.n), DataWarning, stacklevel=2)
        return np.full(known.N, 1 / known.N)
    found = rule_named(rule)
    a = np.asarray(found.weigh(known, past), np.float64)
    if a.shape != (known.N,) or not np.all(a >= 0) or not a.sum() <= 1 + 1e-6:
        raise ConfigError(
            f"the rule {found.name!r} must give {known.N} weights of 0 or above whose sum is at "
            f"most 1; got {a}."
        )
    return np.where(known.known, a, 0.0)
