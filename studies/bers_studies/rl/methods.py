"""What studies of control share: demonstrations for a trial, and methods that use them.

Enters: a learner, transitions of several sources, a trial's number. Leaves: for each method the
score after every episode of training, and the weights. Every method of a trial starts from the
same networks and sees the same random numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from bers.algorithm import Reuse, ReuseConfig, experience_reuse
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Trim
from bers.data.transitions import Inputs
from bers.errors import FileError
from bers.integrity import read_sealed, text_digest, write_sealed
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit
from bers.reuse.transitions import TransitionConfig, TransitionReuse
from bers.schedules import Power
from bers.trust.rules import rule_named
from bers.trust.trust import Trust
from bers_studies.rl.policy_reuse import Arms, PolicyGuide, cloned
from bers_studies.rl.replay import Transitions
from bers_studies.runner.own_folder import own_folder
from bers_studies.runner.provenance import code_digest

FADING = Power(0.95)
"""The chance to reuse, by episode (paper)."""
_KEPT = "bers-transitions-1"
_COLUMNS = ("s_tm1", "a_tm1", "r_t", "s_t")


@dataclass(frozen=True)
class Method:
    """A way to use the sources' transitions by weights."""

    reuse: ReuseConfig
    handing: TransitionConfig
    model: ModelConfig


def paper_methods(recipe: ReuseConfig, model: ModelConfig, sources: int) -> dict[str, Method]:
    """The paper's recipe, each source alone, and half-and-half batches (RLPD)."""
    printed = Method(recipe, TransitionConfig.paper(), model)
    half = TransitionConfig(mix="half", relabel=False)
    single = [replace(recipe, rule=f"single:{i}") for i in range(sources)]
    return {
        "BERS, paper's recipe": printed,
        **{f"S{i + 1}": replace(printed, reuse=one) for i, one in enumerate(single)},
        "RLPD": Method(replace(recipe, rule="equal"), half, model),
    }


@dataclass(frozen=True)
class Shown:
    """The demonstrations of one trial."""

    pool: Transitions
    """Of all sources, one behind the other."""
    counts: Int[np.ndarray, " N"]
    x: np.ndarray
    """The pool as the model of the rewards sees it."""
    sources: list[Demonstrations]
    """Rows for that model."""
    keep: tuple[float, float]
    """Least and greatest reward among them."""
    profit: list[float]
    """Mean reward of each source's rows, times the steps of an episode."""

    def part(self, i: int) -> Transitions:
        """The transitions of one source."""
        end = int(np.cumsum(self.counts)[i])
        return self.pool[end - int(self.counts[i]) : end]


def shown_of(
    parts: Sequence[Transitions],
    names: Sequence[str],
    *,
    inputs: Inputs,
    trimmed: float,
    horizon: int,
) -> Shown:
    """All sources; the model is not shown the rows of least and greatest reward."""
    sources, x = [], []
    for name, rows in zip(names, parts, strict=True):
        x.append(np.asarray(inputs(rows.s_tm1, rows.a_tm1, rows.s_t), np.float64))
        y = rows.r_t.astype(np.float64)
        fine = Trim(trimmed, 1 - trimmed).fit(y).keep(y)
        sources.append(Demonstrations(x[-1][fine], y[fine], name))
    return Shown(
        pool=jax.tree.map(lambda *columns: np.concatenate(columns), *parts),
        counts=np.array([len(part) for part in parts]),
        x=np.concatenate(x),
        sources=sources,
        keep=(min(s.y.min() for s in sources), max(s.y.max() for s in sources)),
        profit=[float(part.r_t.mean()) * horizon for part in parts],
    )


def kept(name: str, key: str, make: Callable[[], Transitions]) -> Transitions:
    """Transitions that trials share, from a folder of the user's own if this code has made them
    before.

    Making them again would take minutes, and give the same bits. A file that is damaged, or of
    another key, is made again.
    """
    wanted = f"{code_digest(make.__module__)} {key}"
    path = own_folder() / f"{name}-{text_digest(wanted)[:16]}.bers"
    with suppress(FileError):
        arrays, about = read_sealed(path, _KEPT, "transitions")
        if about == {"key": wanted} and set(arrays) == set(_COLUMNS):
            return Transitions(*(arrays[column] for column in _COLUMNS))
    rows = make()
    columns = {column: np.asarray(getattr(rows, column)) for column in _COLUMNS}
    write_sealed(path, _KEPT, columns, {"key": wanted})
    return rows


def drawn(rng: np.random.Generator, episodes: Iterator[Transitions], rows: int) -> Transitions:
    """Rows drawn from a whole training, so that early, clumsy ones are among them (paper)."""
    seen = [jax.tree.map(np.asarray, news) for news in episodes]
    every = jax.tree.map(lambda *columns: np.concatenate(columns), *seen)
    return every[np.sort(rng.choice(len(every), rows, replace=False))]


class Bench:
    """One task, one set of demonstrations; every method starts from the same networks."""

    def __init__(
        self,
        learner: Any,
        given: Shown,
        number: int,
        episodes: int,
        score: Callable[[Any], float],
        *,
        clones: dict[str, Any] | None = None,
        batches: int | None = None,
    ) -> None:
        """`learner` has `task`, `start` and `iterate`; `score` is of a state; `clones` are options
        of cloned policies; `batches`, of the model's first training, if not as a method says."""
        self.learner, self.given, self.number = learner, given, number
        self.episodes, self.score, self.clones = episodes, score, clones or {}
        self.batches = batches
        self._models: dict[ModelConfig, Model] = {}

    def fresh(self) -> tuple[np.random.Generator, Any]:
        """Random numbers and networks to start with."""
        rng = np.random.default_rng([self.number, 1])
        return rng, self.learner.start(rng)

    def weighted(
        self, method: Method, watch: Callable[[Reuse], None] = lambda known: None
    ) -> tuple[list[float], list[list[float]]]:
        """Algorithm 1: scores and weights; `watch` sees what is known before and after."""
        rng, state = self.fresh()
        given, own = self.given, np.random.default_rng([self.number, 2])
        config = method.reuse
        looks = rule_named(config.rule).needs == "posteriors"
        trust = Trust(
            given.sources,
            rule=config.rule,
            model=self._model(method.model) if looks else None,
            batches=config.batches,
            frozen=config.rule != "weights",
            robust=False,
            subset=config.subset,
            keep=given.keep,
            predicts=False,
            rng=own,
            progress=False,
        )
        offer = TransitionReuse(given.x, given.pool.r_t, given.counts, method.handing)
        reuse = Reuse(trust, offer, config.schedule, own)
        scores, weights = [], []
        watch(reuse)
        for now, known in experience_reuse(rng, self.learner, state, reuse, self.episodes):
            scores.append(self.score(now))
            weights.append(known.trust.weights.round(3).tolist())
            watch(known)
        return scores, weights

    def alone(self) -> list[float]:
        """Without sources."""
        rng, state = self.fresh()
        scores = []
        for _ in range(self.episodes):
            state, _ = self.learner.iterate(rng, state, None)
            scores.append(self.score(state))
        return scores

    def policies(self) -> tuple[list[float], list[int]]:
        """HAT + PPR: scores, and the policy that was followed."""
        rng, state = self.fresh()
        nets = [
            cloned(
                jax.random.key(i),
                jax.tree.map(jnp.asarray, self.given.part(i)),
                task=self.learner.task,
                **self.clones,
            )
            for i in range(len(self.given.counts))
        ]
        own, arms = np.random.default_rng([self.number, 2]), Arms.new(len(nets))
        scores, chosen = [], []
        for m in range(1, self.episodes + 1):
            arm = arms.choose()
            # the own policy is never followed: any net will do, and keeps one compilation
            p_m = FADING(m) if arm < len(nets) else 0.0
            guide = PolicyGuide(own, nets[arm % len(nets)], p_m)
            state, seen = self.learner.iterate(rng, state, guide)
            arms = arms.after(arm, float(seen.y.sum()))
            scores.append(self.score(state))
            chosen.append(arm)
        return scores, chosen

    def _model(self, config: ModelConfig) -> Model:
        if config not in self._models:
            used = config if self.batches is None else replace(config, batches=self.batches)
            self._models[config] = fit(
                self.given.sources, config=used, rng=self.number, progress=False
            )
        return self._models[config]
