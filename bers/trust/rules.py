"""Every way to choose weights, behind one signature: rule(beliefs, past) -> weights.

Enters: `Beliefs`, and `Past`, what earlier choices brought. Leaves: N weights of 0 or above whose
sum is at most 1; what is missing is "nobody". A new rule is one function and one line in `RULES`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float64
from scipy.special import softmax

from bers.errors import ConfigError, DataWarning
from bers.model import nig
from bers.trust.beliefs import Beliefs, Counts
from bers.trust.objective import METRICS, Metric, drawn_programs, drawn_weights, program, solved
from bers.trust.odds import odds

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


Weights = Float64[np.ndarray, " N"]
Rule = Callable[[Beliefs, Past], Weights]


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


RULES: dict[str, Rule] = {
    "odds": by_odds,
    **{metric: partial(by_program, metric=metric) for metric in METRICS},
    "shape+nobody": partial(by_program, metric="shape", nobody=True),
    "averaged": partial(by_draws, metric="affine"),
    "equal": equally,
    "ucb": by_ucb,
    "evidence": by_evidence,
    "ranking": by_ranking,
    "gradient": by_gradient,
}
"""Rules by name; `single:0`, `single:1`, ... are made on demand by `rule_named`."""


def rule_named(name: str) -> Rule:
    """The rule of that name.

    >>> rule_named("odds") is by_odds
    True
    """
    if name in RULES:
        return RULES[name]
    metric = name.removesuffix("+nobody")
    if metric in METRICS:
        return partial(by_program, metric=metric, nobody=True)  # pyright: ignore
    start, _, number = name.partition(":")
    if start == "single" and number.isdigit():
        return partial(one, source=int(number))
    known = ", ".join([*RULES, "single:0", "weights+nobody"])
    raise ConfigError(f"there is no rule {name!r}. Known: {known}.")


def undetermined_note(target_rows: int) -> str:
    """What to say where weights are equal for want of data.

    >>> undetermined_note(0)[:22]
    'the target has no rows'
    """
    who = "no source has rows" if target_rows else "the target has no rows"
    return (
        f"{who}, so nothing tells the sources apart: their weights are equal. Collect data first."
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


def is_blind(name: str) -> bool:
    """Whether a rule looks at no posterior; then `Counts` will do, and no model is needed.

    >>> is_blind("ucb"), is_blind("single:2"), is_blind("odds")
    (True, True, False)
    """
    rule_named(name)
    return name in ("equal", "ucb") or name.startswith("single:")


def weigh(known: Beliefs | Counts, rule: str | Rule = "odds", past: Past | None = None) -> Weights:
    """Weights by a rule, with what every rule owes: nothing to those without rows.

    Without a row of the target, or with no row in any source, nothing can be told apart: then all
    weights are equal, and a warning says so.
    """
    past = past or Past.none(known.N)
    rule = rule_named(rule) if isinstance(rule, str) else rule
    if known.n == 0 or not known.known.any():
        warnings.warn(undetermined_note(known.n), DataWarning, stacklevel=2)
        return np.full(known.N, 1 / known.N)
    return np.where(known.known, rule(known, past), 0.0)  # pyright: ignore[reportArgumentType]
