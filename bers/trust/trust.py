"""Whom to believe: `Trust`, the one object that everybody uses.

Enters: sources, then rows of the target, as they come in. Leaves: weights, the target's head, a
ranking. This is the only place where a model is refined, beliefs are formed and weights are chosen;
`rank`, `minimize`, the integrations and the studies are its clients.

    sources ─ fit ─> Trust ── observe(x, y) ──> Trust ── observe(x, y) ──> ...

A `Trust` never changes: `observe` gives back the next one. With a whole number as `rng` it is a
pure function of what went in; a generator is shared with whoever handed it over.

Sources are judged by an encoder that has not seen the target's labels: it stays as the sources left
it. An encoder that goes on learning from the target, for better predictions, is another one.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from bers.data.checks import (
    MOST_BATCHES,
    MOST_DRAWS,
    finite_number,
    flag,
    one_of,
    random_numbers,
    share,
    usable,
    whole,
)
from bers.data.demonstrations import Demonstrations
from bers.data.given import as_rows, as_sources
from bers.data.source import Source
from bers.data.transforms import Transform, transform_named, undo
from bers.deprecated import old_config, old_words
from bers.errors import BersError, ConfigError, DataError, FileError, PrecisionWarning
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit, refine
from bers.model.nig import NIG, StudentT
from bers.model.posteriors import summary_of
from bers.model.scaling import Memory
from bers.parallel import Map, map_of
from bers.text import printable, unique
from bers.trust.beliefs import Beliefs, Counts, beliefs
from bers.trust.ranking import Ranking, ranking_of, undetermined
from bers.trust.robust import far_off, with_explained, without_far_labels, without_rows
from bers.trust.rules import Past, Rule, rule_named, weigh, without_gains
from bers.trust.target import Beside, Common, beside, informed_head, unseen_share
from bers.trust.worth import Worth, comparable, foreseen_of, worth_of

Rng = int | np.integer | np.random.Generator
Prior = Literal["sources", "neutral"]
_ON_DISK = (
    "rows on disk can be observed once, first, and as they are. Load them into memory: "
    "bers.load(..., stream=False)."
)


@dataclass(frozen=True)
class _Settings:
    """What stays the same from one `observe` to the next."""

    rule: Rule
    config: ModelConfig | None
    batches: int
    subset: int | None
    transform: Transform | None
    keep: tuple[float, float] | None
    remember: int | None
    frozen: bool
    """Whether sources are judged by the encoder as they left it."""
    prior: Prior
    robust: bool
    modelled: bool
    """Whether there is a model, or will be."""
    workers: Map | None
    progress: bool | None
    memory: Memory
    """Of the model that judges."""
    learned: Memory
    """Of the model that goes on learning."""
    common: Common = field(default_factory=Common)
    """What the sources' heads have in common, once it was asked for."""

    @property
    def informed(self) -> bool:
        """Whether the target's head leans on the sources' heads."""
        return self.prior == "sources" and self.frozen and not self.apart

    @property
    def apart(self) -> bool:
        """Whether one model judges and another one predicts."""
        return self.frozen and self.batches > 0

    def judging(self, judge: Model, every: Sequence[Source], rng: Rng) -> Model:
        """A head for each of `every`, by the encoder as it is."""
        how = {"workers": self.workers, "memory": self.memory, "progress": False}
        return refine(judge, every, batches=0, subset=self.subset, rng=rng, **how)

    def refined(
        self, model: Model | None, every: Sequence[Source], rng: Rng, subset: int | None
    ) -> Model:
        """One head for each of `every`, by the model so far, or by a first one."""
        memory = self.learned if self.apart and model is not None else self.memory
        how = {"workers": self.workers, "memory": memory, "progress": self.progress}
        if model is None:
            return fit(every, config=self.config, rng=rng, **how)
        return refine(model, every, batches=self.batches, subset=subset, rng=rng, **how)

    def believed(
        self, model: Model, target: Source, head: int = -1, sources: Sequence[Source] = ()
    ) -> Beliefs:
        """What the heads say about the target's rows."""
        return beliefs(
            model,
            target,
            head=head,
            subset=self.subset,
            workers=self.workers,
            memory=self.memory,
            sources=sources,
        )


class Trust:
    """How far each of several sources is to be believed, given what was seen of a target.

    Parameters
    ----------
    sources
        What the demonstrators did: frames, files, pairs (x, y), `Demonstrations` or `Shards`; in a
        list, or by name in a mapping. Columns are matched by name; the label is guessed, unless
        a frame or file stands in a pair with its name: (frame, "yield").
    rule
        How to weigh: a name of `bers.rules.RULES`, or a `bers.rules.Rule`.
    model
        `ModelConfig` for the model that is trained here, or a `Model` that was fitted on these
        sources before.
    batches
        Mini-batches at each `observe` that train the model that predicts, on the target's rows too;
        0 leaves the encoder as it is.
    frozen
        Judge by the encoder as the sources left it, whatever the one that predicts has learned. If
        not, the target's rows are judged by an encoder that was trained on them (paper).
    prior
        Where the target's head begins: with what the "sources" have in common and with those that
        it is like, as far as its rows bear them out; or "neutral" (paper). With batches, or
        without `frozen`, it is neutral.
    robust
        Leave out labels, of the target and of sources, that lie so far off that nothing explains
        them. A search visits such points in earnest: there it is better off without.
    subset
        Rows per source that refresh its head at each `observe`; None: all.
    transform
        Of the labels of every source and of the target, one of `bers.transforms`.
    keep
        Least and greatest label of the target that the model is shown (the paper's, for control).
    remember
        Rows of the target that are kept, the newest; None: all.
    predicts
        Whether `predict` and `relabel` will be asked for. If not, and if the rule looks at no
        posterior, there is no model.
    workers
        Who works on the parts of sources on disk: a number of processes, or a map.
    rng
        The same whole number gives the same bits.
    progress
        Bars: yes, no, or (None) on a terminal only.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> runs = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, x[:, 1], "bob")]
    >>> config = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> before = Trust(runs, model=config)
    >>> before.weights.tolist()
    [0.5, 0.5]
    >>> after = before.observe(x[:60], 3 * x[:60, 1] + 5)
    >>> bool(after.weights[1] > 0.9), after.predict([[0.0, 0.4]]).mean.round(1).tolist()
    (True, [6.2])
    >>> after.ranking().best, before.weights.tolist()
    ('bob', [0.5, 0.5])
    """

    sources: tuple[Source, ...]
    """As the model sees them: transformed, if a transform was given."""
    model: Model | None
    """One head for each source and, once something was seen, for the target, last."""
    weights: Float64[np.ndarray, " N"]
    """Of the sources, 0 or above; what their sum lacks to one is "nobody"."""
    x: Float64[np.ndarray, "n D"]
    y: Float64[np.ndarray, " n"]
    """What was seen of the target, in its own units."""
    past: Past
    """What earlier choices brought."""
    outliers: tuple[int, ...]
    """Rows of the target, counted from 0, whose labels lie so far off that they are left out."""
    _name: str
    """Of the target."""
    _heard: tuple[Source, ...]
    """The sources without those labels that lie far off."""
    _judge: Model | None
    _settings: _Settings
    _rng: Rng
    _whole_target: Source | None
    _known: Beliefs | Counts | None

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        rule: str | Rule = "odds",
        model: Model | ModelConfig | None = None,
        batches: int = 0,
        frozen: bool = True,
        prior: Prior = "sources",
        robust: bool = True,
        subset: int | None = None,
        transform: Transform | None = None,
        keep: tuple[float, float] | None = None,
        remember: int | None = None,
        predicts: bool = True,
        workers: int | Map | None = None,
        rng: Rng = 0,
        progress: bool | None = None,
    ) -> None:
        try:
            sources, _ = as_sources(sources)
        except DataError as error:
            said = str(error).replace("with y=...", 'in a pair: (table, "label").')
            raise DataError(said) from error
        if remember is not None:
            whole(remember, "Trust(remember=...)")
        if model is not None and not isinstance(model, Model | ModelConfig):
            raise ConfigError(
                f"model must be a bers.ModelConfig or a Model; got {type(model).__name__}."
            )
        one_of(prior, "prior", "sources", "neutral")
        whole(batches, "Trust(batches=...)", 0, MOST_BATCHES)
        if subset is not None:
            whole(subset, "Trust(subset=...)", 2)
        switches = {"frozen": frozen, "robust": robust, "predicts": predicts}
        for name, value in switches.items():
            flag(value, f"Trust({name}=...)")
        random_numbers(rng)
        found = rule_named(rule)
        fitted = model if isinstance(model, Model) else None
        settings = _Settings(
            rule=found,
            config=None if isinstance(model, Model) else model,
            batches=batches,
            subset=subset,
            transform=transform,
            keep=keep,
            remember=remember,
            frozen=frozen,
            prior=prior,
            robust=robust,
            modelled=_modelled(found, predicts, sources),
            workers=map_of(workers),
            progress=progress,
            memory=Memory(),
            learned=Memory(),
        )
        mapped = tuple(mapped_by(source, transform) for source in sources)
        heard = mapped
        if not settings.modelled:
            fitted = None
        else:
            near = [without_far_labels(s) for s in mapped] if robust and frozen else mapped
            if fitted is None:
                fitted = settings.refined(None, near, rng, None)
            elif len(fitted.names) == len(mapped) and any(
                a is not b for a, b in zip(near, mapped, strict=True)
            ):
                fitted = settings.judging(fitted, near, rng)  # heads that have not seen those
            pairs = enumerate(zip(mapped, near, strict=True))
            heard = tuple(with_explained(fitted, i, *pair) for i, pair in pairs)
        some = np.array([source.n > 0 for source in mapped])
        self._fill(
            sources=mapped,
            model=fitted,
            _judge=fitted,
            outliers=(),
            _heard=heard,
            _name="target",
            weights=some / some.sum() if some.any() else np.full(len(some), 1 / len(some)),
            x=np.zeros((0, mapped[0].dim)),
            y=np.zeros(0),
            past=Past.none(len(mapped)),
            _settings=settings,
            _rng=rng,
            _whole_target=None,
            _known=None,
        )

    def _fill(self, **values: Any) -> None:
        values["weights"].flags.writeable = False
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Trust never changes; observe(...) gives the next one ({name}).")

    def _next(self, **changes: Any) -> "Trust":
        other = object.__new__(Trust)
        # what was seen is put together again when asked for
        lost = {"head", "_beside"} | (
            {"target"} if changes.keys() & {"x", "y", "_whole_target"} else set()
        )
        kept = {name: value for name, value in self.__dict__.items() if name not in lost}
        other._fill(**kept | changes)
        return other

    # what is seen

    def observe(
        self, x: ArrayLike | Source, y: ArrayLike | None = None, *, gain: float | None = None
    ) -> "Trust":
        """The next `Trust`, which has seen more of the target.

        Parameters
        ----------
        x
            Rows of inputs; or, alone, a source of rows with their labels.
        y
            Their labels, in the target's own units; not a number where one failed.
        gain
            How much better the learner's best became since the last `observe`, for rules that
            learn by trying; 0 or above.

        Returns
        -------
        Trust
            With new weights, and a head for the target. This one stays as it is.

        Examples
        --------
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> trust = Trust([run], rule="equal", predicts=False)
        >>> trust.observe([[0.5]], [0.5]).y.tolist()
        [0.5]
        """
        seen = self._seen(*as_rows(x, y, like=self.sources))
        past = replace(self.past, a=self.weights)
        if self.rule.needs == "gains":
            if gain is None and self.target.n:
                raise ConfigError(
                    f"the rule {self.rule.name!r} learns from what each choice of a source "
                    "brought: observe(x, y, gain=...). Or choose another rule."
                )
            past = past if gain is None else past.charged(self.weights, gain)
        name = x.name if isinstance(x, Source) else self._name
        new = self._next(
            x=seen.x, y=seen.y, _whole_target=seen.whole, past=past, outliers=(), _name=name
        )
        target = new.target
        if not target.n or not any(source.n for source in self.sources):
            return new  # nothing can be compared yet
        settings, model, judge = self._settings, self.model, self._judge
        if not settings.modelled:
            known: Beliefs | Counts = Counts(np.array([s.n for s in self.sources]), target.n)
            return new._next(weights=weigh(known, settings.rule, past), _known=known)
        if settings.frozen:
            assert judge is not None
            judge = settings.judging(judge, [*self._heard, target], self._rng)
            known = settings.believed(judge, target, sources=self._heard)
            odd = far_off(judge, known, target) if settings.robust else ()
            if odd:
                places = np.flatnonzero(_fine(new.y, settings.keep))[list(odd)]
                cleared = without_rows(target, odd)
                new = new._next(_whole_target=cleared, outliers=tuple(places.tolist()))
                target = new.target
                judge = settings.judging(judge, [*self._heard, target], self._rng)
                known = settings.believed(judge, target, sources=self._heard)
            model = judge if not settings.apart else model
        if settings.apart or not settings.frozen:
            every = [*self._heard, target]
            model = settings.refined(model, every, self._rng, settings.subset)
        if not settings.frozen:
            assert model is not None
            judge, known = model, settings.believed(model, target, sources=self._heard)
        weights = weigh(known, settings.rule, past)
        return new._next(model=model, _judge=judge, weights=weights, _known=known)

    def _resumed(self, own: dict[str, np.ndarray], past: Past, judge: Model | None) -> "Trust":
        """After a file was read: what was seen, and what followed from it."""
        x, y, a, odd = own["x"], own["y"], own["a"], tuple(own["outliers"].tolist())
        if len(x) != len(y) or {len(a), len(past.pulls), len(past.gains)} != {len(self.sources)}:
            raise ValueError("its arrays do not fit one another")
        settings = self._settings
        new = self._next(x=x, y=y, weights=a, past=past, outliers=odd, _judge=judge or self.model)
        if odd:
            among = np.searchsorted(np.flatnonzero(_fine(y, settings.keep)), odd)
            new = new._next(_whole_target=without_rows(new.target, tuple(among.tolist())))
        known: Beliefs | Counts | None = None
        judge = new._judge
        if new.target.n and judge is not None and len(judge.names) > len(self.sources):
            known = settings.believed(judge, new.target, sources=new._heard)
        elif new.target.n and not settings.modelled:
            known = Counts(np.array([source.n for source in self.sources]), new.target.n)
        return new._next(_known=known)

    def _seen(self, x: Any, y: Any) -> "_Seen":
        settings = self._settings
        if y is None:
            if not isinstance(x, Source):
                raise DataError("observe(x, y) needs the labels y, or one source with labels.")
            if x.dim != self.sources[0].dim:
                raise DataError(
                    f"the target has {_columns_of(x)} inputs, the sources have "
                    f"{_columns_of(self.sources[0])}. Give the same columns in the same order."
                )
            fresh = not len(self.y) and self._whole_target is None
            if isinstance(x, Demonstrations):
                plain = settings.transform is None and settings.keep is None
                if fresh and plain and settings.remember is None:
                    return _Seen(x.x, x.y, x)
                x, y = x.x, (x.y if settings.transform is None else x.original_y)
            elif fresh and settings.transform is None:
                return _Seen(np.zeros((0, x.dim)), np.zeros(0), x)
            else:
                raise DataError(_ON_DISK)
        if self._whole_target is not None and not isinstance(self._whole_target, Demonstrations):
            raise DataError(_ON_DISK)
        try:
            rows, labels = np.asarray(x, np.float64), np.asarray(y, np.float64).ravel()
        except (ValueError, TypeError) as error:
            raise DataError(f"observe(x, y) needs numbers: {error}.") from error
        if rows.ndim != 2 or rows.shape != (len(labels), self.sources[0].dim):
            raise DataError(
                f"observe(x, y) needs rows of shape ({len(labels)}, {self.sources[0].dim}) for "
                f"{len(labels)} labels; got {rows.shape}."
            )
        x, y = np.concatenate([self.x, rows]), np.concatenate([self.y, labels])
        if settings.remember is not None and len(y) > settings.remember:
            x, y = x[-settings.remember :], y[-settings.remember :]
        return _Seen(x, y, None)

    @cached_property
    def target(self) -> Source:
        """What was seen, as the rows of one more head: failed and trimmed ones are left out."""
        s = self._settings
        if self._whole_target is not None:
            return self._whole_target
        return rows_seen(self.x, self.y, self._name, s.transform, s.keep)

    # what is known

    @property
    def names(self) -> list[str]:
        """Of the sources, made different where they are equal."""
        return unique([source.name for source in self.sources])

    @property
    def nobody(self) -> float:
        """The weight that no source earned."""
        return max(0.0, 1.0 - float(self.weights.sum()))

    @property
    def rule(self) -> Rule:
        """How weights are chosen."""
        return self._settings.rule

    @property
    def rng(self) -> Rng:
        """What it was made with: a number, or the stream that it shares."""
        return self._rng

    @property
    def has_target(self) -> bool:
        """Whether there is a head for the target already."""
        return self.model is not None and len(self.model.names) > len(self.sources)

    def weights_by(
        self, rule: str | Rule, last: Float64[np.ndarray, " N"] | None = None
    ) -> Float64[np.ndarray, " N"]:
        """What another rule makes of the same posteriors.

        Parameters
        ----------
        rule
            A name of `bers.rules.RULES`, or a `bers.rules.Rule`.
        last
            The weights that this rule gave before, for rules that go on from there.

        Returns
        -------
        Array
            One weight for each source.

        Examples
        --------
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> config = ModelConfig(hidden=(4,), latent_dim=2, batches=10)
        >>> trust = Trust([run], model=config).observe([[0.5], [1.5]], [0.5, 1.5])
        >>> trust.weights_by("equal").tolist()
        [1.0]
        """
        if self._known is None:
            raise DataError("nothing was observed yet: call observe(x, y) first.")
        found = without_gains(rule, "weights_by")
        if found.needs == "posteriors" and isinstance(self._known, Counts):
            raise ConfigError(f"the rule {found.name!r} needs a model: Trust(predicts=True).")
        past = Past.none(len(self.sources))
        return weigh(self._known, found, past if last is None else replace(past, a=last))

    def predict(self, x: ArrayLike) -> StudentT:
        """What the target is expected to pay at rows of inputs.

        By its head, and by a smooth function beside it for what no source knows, as far as its
        rows bear that out. [Eq. residual] Beside them stand the sources that order the rows best
        [Eq. order] or, where nobody has half of the weight, models of the target's rows alone.
        [Eq. own]

        Parameters
        ----------
        x
            Rows of inputs.

        Returns
        -------
        StudentT
            Mean, scale, density and intervals for each row, in the units that the model sees:
            after the transform, if one was given.

        Examples
        --------
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> config = ModelConfig(hidden=(4,), latent_dim=2, batches=10, skip=True)
        >>> trust = Trust([run], model=config).observe([[0.5], [1.5]], [0.5, 1.5])
        >>> trust.predict([[1.0], [1.2]]).mean.shape
        (2,)
        """
        head, model = self.head, self.model
        assert model is not None
        return self._beside.predict(head, model, x)

    @cached_property
    def _beside(self) -> Beside:
        """What no source knows of the target, where its head leans on the sources'."""
        settings, known, model = self._settings, self._known, self.model
        if not settings.informed or not isinstance(known, Beliefs) or model is None:
            return Beside()
        common = settings.common.of(model, self._heard, settings)
        seen = {"model": model, "target": self.target, "head": self.head}
        return beside(common, known, self.weights, **seen)

    @cached_property
    def head(self) -> NIG:
        """The target's head: what its rows say, on top of what the sources have in common."""
        if self.model is None:
            raise ConfigError(
                f"with the rule {self.rule.name!r} there is no model here: Trust(predicts=True)."
            )
        if not self.has_target:
            raise DataError("nothing is known of the target yet: call observe(x, y) first.")
        settings, known = self._settings, self._known
        if not settings.informed or not isinstance(known, Beliefs):
            return self.model.heads[-1]
        common = settings.common.of(self.model, self._heard, settings)
        return informed_head(common, known, self.weights)

    def relabel(
        self,
        x: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        source: str | int | None = None,
        pessimism: float = 0.0,
    ) -> Float64[np.ndarray, " n"]:
        """What a source's rows would have earned in the target's task. [Eq. relabel]

        With the labels that the rows had, what the model does not see in them is kept, as far as
        the target's own rows show that there is such a thing in its labels too.

        Parameters
        ----------
        x
            Rows of inputs of the source.
        rewards
            The labels that these rows had, in the source's own units; None: not known.
        source
            Whose rows they are: a name or a position. It is asked for with `rewards` only.
        pessimism
            Standard deviations to subtract where the head is unsure.

        Returns
        -------
        Array
            One label for each row, in the target's own units.

        Examples
        --------
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> config = ModelConfig(hidden=(4,), latent_dim=2, batches=10, skip=True)
        >>> trust = Trust([run], model=config).observe([[0.5], [1.5]], [0.5, 1.5])
        >>> bool(trust.relabel(run.x, pessimism=1.0)[0] < trust.relabel(run.x)[0])
        True
        >>> trust.relabel(run.x, rewards=run.y + [9, 0, 0], source="run").argmax()
        np.int64(0)
        """
        head, model = self.head, self.model
        assert model is not None
        if (rewards is None) != (source is None):
            raise ConfigError("relabel(rewards=..., source=...) go together: give both or neither.")
        if finite_number(pessimism, "relabel(pessimism=...)"):
            expected = nig.predict(head, model.features(x))
            labels = expected.mean - pessimism * expected.scale
        else:  # spreads cost more than all the rest
            labels = model.features(x) @ head.mu
        transforms = getattr(self.target, "transforms", ())
        if rewards is not None and source is not None:
            if transforms:
                raise ConfigError("labels were transformed: relabel(x) without rewards=.")
            theirs = model.heads[self._place(source)]
            seen = np.asarray(rewards, np.float64).ravel()
            if len(seen) != len(labels):
                raise DataError(
                    f"relabel() needs one reward for each row: got {len(seen)} for {len(labels)} "
                    "rows."
                )
            labels = labels + unseen_share(head, theirs) * (seen - model.features(x) @ theirs.mu)
        return undo(transforms, labels)

    def _place(self, source: str | int) -> int:
        """Of a source, by name or position."""
        if isinstance(source, str):
            if source not in self.names:
                known = ", ".join(repr(printable(name, 40)) for name in self.names[:10])
                raise DataError(f"there is no source {source!r}. Known: {known}.")
            return self.names.index(source)
        if not -len(self.names) <= source < len(self.names):
            raise DataError(f"there is no source {source}; there are {len(self.names)}.")
        return int(source) % len(self.names)

    @property
    def foreseen(self) -> Float64[np.ndarray, " N"]:
        """Share of the variance of labels at each source's rows that the target's head can be
        expected to foresee: what `relabel` is worth there. Not a number for sources without rows.

        Examples
        --------
        >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 1))
        >>> runs = [Demonstrations(x, x[:, 0], "near"), Demonstrations(9 * x, x[:, 0], "far")]
        >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=50)
        >>> near, far = Trust(runs, model=config).observe(x[:20], x[:20, 0]).foreseen
        >>> bool(near > far)
        True
        """
        found = foreseen_of(self.head, self._summaries())
        return np.array([np.nan if one is None else one for one in found])

    def worth(
        self,
        *,
        horizon: int | None = None,
        discount: float = 1.0,
        best: Literal["lowest", "highest"] | None = None,
        than: float | None = None,
        level: float = 0.9,
        rng: Rng | None = None,
    ) -> Worth:
        """What each source would have earned in the target's task. [Eq. worth]

        Weights say who wanted the same; this says who would do well: goal and skill in one number.

        Parameters
        ----------
        horizon
            Steps of an episode, where the rows of a source are not in episodes; None: 1, so that
            the worth is that of one row.
        discount
            Of rewards, per step of an episode.
        best
            For past runs: the worth of a source is that of its row with the "lowest" or "highest"
            label. None: of all its rows.
        than
            What you earn yourself, to be compared with.
        level
            Of the intervals, between 0 and 1.
        rng
            For the draws; by default the same rows give the same answer.

        Returns
        -------
        Worth
            A line for each source: mean, interval, chances. Prints as a table.

        Examples
        --------
        >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 1))
        >>> y = x[:, 0]
        >>> below, above = Demonstrations(x - 1, y, "below"), Demonstrations(x + 1, y, "above")
        >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=50, skip=True)
        >>> found = Trust([below, above], model=config).observe(x[:50], y[:50]).worth()
        >>> found.best, found.mean.round().tolist()
        ('above', [-1.0, 1.0])
        """
        head, model = self.head, self.model
        assert model is not None
        share(level, "level")
        return worth_of(
            random_numbers(len(self.y) if rng is None else rng),
            head,
            model,
            self.sources,
            names=self.names,
            undone=getattr(self.target, "transforms", ()),
            horizon=horizon,
            discount=discount,
            best=best,
            than=than,
            level=level,
            foretold=self.predict,
        )

    def ranking(self, *, draws: int = 400, level: float = 0.9, rng: Rng | None = None) -> Ranking:
        """The weights with intervals, what they rest on, and warnings.

        Parameters
        ----------
        draws
            Of the posteriors, for the intervals.
        level
            Of the intervals, between 0 and 1.
        rng
            For the draws; by default the same rows give the same ranking.

        Returns
        -------
        Ranking
            Prints as a table, also in notebooks.

        Examples
        --------
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> config = ModelConfig(hidden=(4,), latent_dim=2, batches=10)
        >>> trust = Trust([run], model=config).observe([[0.5], [1.5]], [0.5, 1.5])
        >>> trust.ranking().target_rows
        2
        """
        whole(draws, "ranking(draws=...)", most=MOST_DRAWS)
        share(level, "level")
        if self._known is None:
            return undetermined(self.sources, self.target, self.rule, level)
        if self.model is None or isinstance(self._known, Counts):
            raise ConfigError(
                f"with the rule {self.rule.name!r} there is no model to rank by: "
                "Trust(predicts=True)."
            )
        assert self._judge is not None
        return ranking_of(
            random_numbers(len(self.y) if rng is None else rng),
            self._judge,
            self._known,
            self.weights,
            self.sources,
            self.target,
            rule=self.rule,
            memory=self._settings.memory,
            draws=draws,
            level=level,
            outliers=self.outliers,
            heard=self._heard,
            worth=self._plain_worth(level),
        )

    def _summaries(self) -> list[nig.Summary]:
        """Of the sources' rows, as the model that predicts sees them; made before, as a rule."""
        model, s = self.model, self._settings
        assert model is not None
        memory = s.learned if s.apart else s.memory
        how = {"inputs": model.inputs, "memory": memory, "subset": s.subset, "workers": s.workers}
        return [summary_of(model.state.encoder, source, **how) for source in self._heard]

    def _plain_worth(self, level: float) -> Worth | None:
        """Of an episode, or of a row, without reading rows again that are in no episodes."""
        model = self.model
        undone = getattr(self.target, "transforms", ())
        if model is None or not comparable(self.sources, undone):
            return None
        rng = np.random.default_rng(len(self.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # shown digits are few
            return worth_of(
                rng,
                self.head,
                model,
                self.sources,
                names=self.names,
                level=level,
                summaries=self._summaries(),
            )

    # keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned; the sources' own rows are not in the file.

        Parameters
        ----------
        path
            The file to write.

        Examples
        --------
        >>> import tempfile
        >>> run = Demonstrations([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], "run")
        >>> trust = Trust([run], rule="equal", predicts=False).observe([[0.5]], [0.5])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trust.save(f"{folder}/t.bers")
        ...     Trust.load(f"{folder}/t.bers", [run]).y.tolist()
        [0.5]
        """
        from bers.trust.files import save_trust

        save_trust(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], sources: Sequence[Source], *, workers: Any = None
    ) -> "Trust":
        """A `Trust` that `save` wrote, with the sources it was made with.

        Parameters
        ----------
        path
            The file.
        sources
            Those of then, in the same order; others are refused.
        workers
            Who works on the parts of sources on disk.

        Returns
        -------
        Trust
            It goes on with the same bits.
        """
        from bers.trust.files import digests_of, read_trust

        arrays, about, rng = read_trust(path)
        if not isinstance(sources, Sequence | Mapping):
            raise ConfigError(
                f"sources must be a list of at least one source; got {type(sources).__name__}. "
                "Give those of then, in order."
            )
        if len(about.get("digests", ())) != len(sources):
            raise FileError(
                f"{path} was saved with {len(about.get('digests', ()))} sources; got "
                f"{len(sources)}. Give those of then, in order."
            )
        try:
            trust = cls.of_parts(arrays, about, sources, rng, workers=workers)
            if about["digests"] != digests_of(trust.sources):
                raise FileError(
                    f"{path} was saved with other sources. Give those of then, in order."
                )
            return trust
        except BersError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            said = f"{path} is damaged or not a BERS trust: {error}. Save it again."
            raise FileError(said) from error

    @classmethod
    def of_parts(
        cls,
        arrays: dict[str, np.ndarray],
        about: dict[str, Any],
        sources: Sequence[Source],
        rng: Rng,
        *,
        workers: int | Map | None = None,
    ) -> "Trust":
        """What `bers.trust.files.trust_parts` took apart, for files that hold more than this.

        Parameters
        ----------
        arrays, about
            The two parts.
        sources
            Those of then, in the same order; that is not checked here.
        rng
            The stream of random numbers, which the parts do not hold.
        workers
            Who works on the parts of sources on disk.

        Returns
        -------
        Trust
            It goes on with the same bits.
        """
        from bers.trust.files import judge_of, seen_and_found, trust_settings

        new = cls(sources, rng=rng, workers=workers, **trust_settings(arrays, about))
        own = seen_and_found(arrays)
        past = Past(own["pulls"], own["gains"], own["last"])
        return new._resumed(own, past, judge_of(arrays, about))

    def __repr__(self) -> str:
        shares = ", ".join(
            f"{name}: {a:.2f}" for name, a in zip(self.names[:6], self.weights[:6], strict=True)
        )
        more = f", and {len(self.names) - 6} more" if len(self.names) > 6 else ""
        return (
            f"Trust({shares}{more}, nobody: {self.nobody:.2f}; {self.target.n} rows of the target)"
        )


class _Seen(NamedTuple):
    """All that was seen of the target."""

    x: np.ndarray
    y: np.ndarray
    whole: Source | None


@dataclass(frozen=True)
class JointTrust:
    """Several targets that are each other's sources, beside sources that all may learn from.

    >>> x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    >>> tasks = [Demonstrations(x, x[:, 0], "a"), Demonstrations(x, 2 * x[:, 0], "b")]
    >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=50)
    >>> start = JointTrust.new(2, (), rule="odds", config=config, batches=1, subset=None,
    ...                        rng=np.random.default_rng(0))
    >>> [len(a) for a in start.observe(tasks).weights]
    [1, 1]
    """

    sources: tuple[Source, ...]
    """That all may learn from."""
    weights: tuple[Float64[np.ndarray, " others"], ...]
    """For each target, over the other targets, then the sources."""
    pasts: tuple[Past, ...]
    settings: _Settings
    rng: np.random.Generator
    model: Model | None = None

    @classmethod
    def new(
        cls,
        targets: int,
        sources: Sequence[Source],
        *,
        rule: str | Rule,
        config: ModelConfig,
        batches: int,
        subset: int | None,
        rng: np.random.Generator,
    ) -> "JointTrust":
        """Before anything is seen; all weights are equal."""
        found, others = rule_named(rule), targets - 1 + len(sources)
        settings = _Settings(
            rule=found,
            config=config,
            batches=batches,
            subset=subset,
            transform=None,
            keep=None,
            remember=None,
            frozen=False,
            prior="neutral",
            robust=False,
            modelled=found.needs == "posteriors",
            workers=None,
            progress=False,
            memory=Memory(),
            learned=Memory(),
        )
        equal = tuple(np.full(others, 1 / others) for _ in range(targets))
        pasts = tuple(Past.none(others) for _ in range(targets))
        return cls(tuple(sources), equal, pasts, settings, rng)

    def observe(
        self, targets: Sequence[Source], gains: Sequence[float | None] | None = None
    ) -> "JointTrust":
        """All rows of each target so far; and how much better each became, if it was under way."""
        settings, every = self.settings, [*targets, *self.sources]
        if not any(one.n for one in every):
            return self  # nothing is known of any task yet
        model = self.model
        if settings.modelled:
            model = settings.refined(model, every, self.rng, settings.subset)
        weights, pasts = [], []
        for k, target in enumerate(targets):
            a, past = self.weights[k], self.pasts[k]
            gain = None if gains is None else gains[k]
            if gain is not None and settings.rule.needs == "gains":
                past = past.charged(a, gain)
            known: Beliefs | Counts
            if model is None:
                rows = np.array([one.n for i, one in enumerate(every) if i != k])
                known = Counts(rows, target.n)
            else:
                known = settings.believed(model, target, head=k)
            if known.n and known.known.any():
                a = weigh(known, settings.rule, past)
            weights.append(a)
            pasts.append(replace(past, a=a))
        return replace(self, weights=tuple(weights), pasts=tuple(pasts), model=model)


@old_words(old_config)
def rank(
    sources: Sequence[Source],
    target: Source,
    *,
    rule: str | Rule = "odds",
    model: Model | ModelConfig | None = None,
    transform: str | Transform | None = None,
    x: Sequence[str] | None = None,
    y: str | None = None,
    drop_nonfinite: bool = False,
    draws: int = 400,
    level: float = 0.9,
    workers: int | Map | None = None,
    rng: Rng = 0,
    progress: bool | None = None,
) -> Ranking:
    """Which of the sources the target should learn from, and how much.

    Parameters
    ----------
    sources
        What the demonstrators did: frames, files, pairs (x, y), `Demonstrations` or `Shards`; in a
        list, or by name in a mapping. Columns are matched by name.
    target
        Some rows of the new task, in any of these forms.
    rule
        How to weigh: a name of `bers.rules.RULES`, or a `bers.rules.Rule`.
    model
        `ModelConfig`; or a `Model` fitted on the sources before, which saves time: the target gets
        a head beside theirs, and the encoder stays as it is.
    transform
        Of the labels of every source and of the target: "rank", "log", ..., or one of
        `bers.transforms`, for labels with long tails. None: as they are, and the few that lie so
        far off that nothing explains them are left out, with a note.
    x
        Input columns of tables, by name; by default all but the label.
    y
        The label column of tables; by default it is guessed.
    drop_nonfinite
        Drop rows with missing values, with a warning, instead of refusing them.
    draws
        Of the posteriors, for the intervals.
    level
        Of the intervals, between 0 and 1.
    workers
        Who works on the parts of sources on disk: a number of processes, or a map.
    rng
        The same one gives the same ranking.
    progress
        Bars: yes, no, or (None) on a terminal only.

    Returns
    -------
    Ranking
        Prints as a table, also in notebooks.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> runs = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, x[:, 1], "bob")]
    >>> new = Demonstrations(x[:60], 3 * x[:60, 1] + 5, "new task")
    >>> config = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> ranking = rank(runs, new, model=config)
    >>> ranking.best, bool(ranking.weights[1] > 0.95)
    ('bob', True)
    """
    whole(draws, "rank(draws=...)", most=MOST_DRAWS)
    share(level, "rank(level=...)")
    sources, target = as_sources(sources, target, x=x, y=y, drop_nonfinite=drop_nonfinite)
    generator = random_numbers(rng)
    trust = Trust(
        sources,
        rule=without_gains(rule, "rank"),
        model=model,
        transform=transform_named(transform),
        workers=workers,
        rng=generator,
        progress=progress,
    )
    return trust.observe(target).ranking(draws=draws, level=level, rng=generator)


def rows_seen(
    x: Float64[np.ndarray, "n D"],
    y: Float64[np.ndarray, " n"],
    name: str,
    transform: Transform | None,
    keep: tuple[float, float] | None = None,
) -> Demonstrations:
    """What was seen of a task, as the rows of a head; failed evaluations are left out.

    So are labels out of the range `keep`.
    """
    fine = _fine(y, keep)
    return mapped_by(Demonstrations(x[fine], y[fine], name), transform)


def _fine(y: Float64[np.ndarray, " n"], keep: tuple[float, float] | None) -> np.ndarray:
    """Which labels can be learned from."""
    fine = usable(y)
    return fine if keep is None else fine & (y >= keep[0]) & (y <= keep[1])


def mapped_by(source: Any, transform: Transform | None) -> Any:
    """The source with its labels transformed, if there are any."""
    return source.transformed(transform) if transform is not None and source.n else source


def _modelled(rule: Rule, predicts: bool, sources: Sequence[Source]) -> bool:
    return (predicts or rule.needs == "posteriors") and any(source.n for source in sources)


def _check_sources(sources: Any) -> None:
    if not isinstance(sources, Sequence) or isinstance(sources, str) or not sources:
        raise DataError(
            f"sources must be a list of at least one source; got {type(sources).__name__}."
        )
    for i, source in enumerate(sources):
        _check_source(source, f"source {i}")
    first = sources[0]
    for other in sources[1:]:
        if other.dim != first.dim:
            raise DataError(
                f"all sources must have the same inputs; {printable(first.name)!r} has "
                f"{_columns_of(first)}, {printable(other.name)!r} has {_columns_of(other)}. Choose "
                "columns that all have: x=[...] when loading."
            )


def _check_source(source: Any, what: str) -> None:
    if not isinstance(source, Source):
        raise DataError(
            f"{what} must be Demonstrations or Shards; got {type(source).__name__}. Make them by "
            "bers.load(path), or bers.Demonstrations(x, y, name)."
        )


def _columns_of(source: Source) -> str:
    names = getattr(source, "x_names", ())
    return f"{source.dim} ({printable(', '.join(names), 60)})" if names else str(source.dim)
