"""The multi-headed Bayesian neural network: one encoder, one Bayesian head per source.

Enters: demonstrations of several sources. Leaves: a `Model` that says, for each of them, what
it wanted and how sure that is. A head holds no trained parameters: it is the posterior of its
rows under the shared encoder, so a source or a target is added by handing over its rows.

`fit` trains on the sources; `refine` goes on training, on sources and target together; both
end with the posteriors of the rows they were given. A model is never changed in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int
from numpy.typing import ArrayLike

from bers.data.checks import MOST_BATCHES, numbers, random_numbers, refuse_bad, whole
from bers.data.given import as_inputs, as_sources
from bers.data.source import Source
from bers.errors import ConfigError, DataError
from bers.model import nig
from bers.model.choice import choose
from bers.model.config import ModelConfig
from bers.model.encoder import new_encoder
from bers.model.nig import StudentT
from bers.model.posteriors import features, posteriors
from bers.model.scaling import InputScale, Memory, Moments, input_scale, label_scales
from bers.model.skill import Skill, measured_skill
from bers.model.training import EarlyStopping, HeldOut, TrainState, new_state, train
from bers.parallel import Map, map_of
from bers.text import printable


@dataclass(frozen=True)
class History:
    """How training went: the objective of every batch, and the held-out scores if any."""

    objective: Float[np.ndarray, " batches"] = field(default_factory=lambda: np.zeros(0))
    scores: Float[np.ndarray, "checks 2"] = field(default_factory=lambda: np.zeros((0, 2)))
    """Rows of (batches done, log predictive density per held-out row)."""


@dataclass(frozen=True, repr=False)
class Model:
    """A shared encoder and the posteriors of its heads. Made by `fit`.

    Examples
    --------
    >>> from bers import Demonstrations
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> sources = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, -x[:, 1], "bob")]
    >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=200, learning_rate=1e-2)
    >>> model = fit(sources, config=config)
    >>> model
    Model(alice: 200 rows, bob: 200 rows; 2 inputs, 5 features, 200 batches)
    >>> model.predict("bob", [[0.0, 0.5]]).mean.round(1).tolist()
    [-0.5]
    """

    state: TrainState
    """The encoder, and where its optimiser stands."""
    inputs: InputScale
    """How inputs are standardised."""
    config: ModelConfig
    """The settings that it was made with."""
    names: tuple[str, ...]
    """Of the heads."""
    x_names: tuple[str, ...]
    """Names of the input columns, or none if the sources do not name them."""
    priors: nig.NIG
    """Of all heads, stacked."""
    heads: nig.NIG
    """All posteriors, stacked: `heads[0]` is the first source's."""
    rows: Int[np.ndarray, " heads"]
    """Rows behind each head."""
    batches: int
    """Mini-batches trained on so far."""
    history: History = field(default_factory=History)
    """How training went."""
    skill: Skill = field(default_factory=lambda: Skill.unknown(0))
    """How well heads do on rows that were held out."""

    def features(self, x: ArrayLike) -> Float64[np.ndarray, "n D"]:
        """φ(x): what the heads are linear in, the constant bias last.

        Parameters
        ----------
        x
            Rows of inputs, not standardised.

        Returns
        -------
        Array
            One row of features for each.
        """
        return features(self.state.encoder, self.inputs.standardise(self.rows_of(x)))

    def rows_of(self, x: ArrayLike) -> Float64[np.ndarray, "n d"]:
        """Rows of inputs as numbers, in the order of the model's columns; what is wrong is refused.

        Parameters
        ----------
        x
            Rows of inputs; columns of a frame are found by name.

        Returns
        -------
        Array
            Not standardised.

        Examples
        --------
        >>> from bers import Demonstrations
        >>> line = Demonstrations([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], "line")
        >>> model = fit([line], config=ModelConfig(hidden=(4,), latent_dim=2, batches=1))
        >>> model.rows_of([[1], [2]]).tolist()
        [[1.0], [2.0]]
        """
        x = numbers(as_inputs(x, self.x_names), "x")
        if x.ndim != 2 or x.shape[1] != self.state.encoder.inputs:
            raise DataError(
                f"model.features(x) needs rows of {self.state.encoder.inputs} inputs; "
                f"got shape {x.shape}."
            )
        names = self.x_names or tuple(f"x{j}" for j in range(x.shape[1]))
        rows = x.astype(np.float64)
        refuse_bad(rows, np.zeros(len(rows)), names, "y")
        return rows

    def index(self, which: str | int | np.integer) -> int:
        """The position of a head, by name or by position.

        Parameters
        ----------
        which
            Its name, or its position; -1 is the last.

        Returns
        -------
        int
            Counted from 0.
        """
        if isinstance(which, int | np.integer):
            if not -len(self.names) <= which < len(self.names):
                raise DataError(f"there is no head {which}; the model has {len(self.names)}.")
            return int(which) % len(self.names)
        found = [i for i, name in enumerate(self.names) if name == which]
        if len(found) == 1:
            return found[0]
        problem = "there is no head" if not found else f"{len(found)} heads are"
        known = ", ".join(repr(printable(name, 40)) for name in self.names[:10])
        raise DataError(f"{problem} named {which!r}. Known: {known}. A position works too.")

    def head(self, which: str | int) -> nig.NIG:
        """The posterior of (w, σ²) of one head.

        Parameters
        ----------
        which
            As in `index`.

        Returns
        -------
        NIG
            Normal-inverse-gamma.
        """
        return self.heads[self.index(which)]

    def predict(self, which: str | int, x: ArrayLike) -> StudentT:
        """What one head expects of the labels at rows x: a Student t for each.

        Parameters
        ----------
        which
            As in `index`.
        x
            Rows of inputs, not standardised.

        Returns
        -------
        StudentT
            With arrays of one entry for each row.
        """
        return nig.predict(self.head(which), self.features(x))

    @property
    def log_evidence(self) -> Float64[np.ndarray, " heads"]:
        """log p(y | X) of each head's rows."""
        return nig.log_evidence(self.priors, self.heads)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{printable(name, 24)}: {n} rows"
            for name, n in zip(self.names[:6], self.rows[:6], strict=True)
        )
        more = f", and {len(self.names) - 6} more" if len(self.names) > 6 else ""
        encoder = self.state.encoder
        return (
            f"Model({counts}{more}; {encoder.inputs} inputs, {encoder.features} features, "
            f"{self.batches} batches)"
        )


def fit(
    sources: Sequence[Source],
    *,
    config: ModelConfig | None = None,
    rng: int | np.integer | np.random.Generator = 0,
    workers: int | Map | None = None,
    memory: Memory | None = None,
    progress: bool | None = None,
) -> Model:
    """Train the encoder on all sources together and condition a head on each.

    Parameters
    ----------
    sources
        Demonstrations of each source, in memory or on disk.
    config
        Encoder, prior and training. With `patience` set, `held_out` of the rows choose when to
        stop.
    rng
        The same one gives the same model.
    workers
        Who works on the parts of sources on disk: a number of processes, or a map.
    memory
        What is known of the sources from calls before; it saves measuring them again.
    progress
        Bars: yes, no, or (None) on a terminal only.

    Returns
    -------
    Model
        One encoder, and one head for each source.

    Examples
    --------
    >>> from bers import Demonstrations
    >>> line = Demonstrations([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], "line")
    >>> fit([line], config=ModelConfig(hidden=(4,), latent_dim=2, batches=1)).names
    ('line',)
    """
    if config is not None and not isinstance(config, ModelConfig):
        raise ConfigError(f"config must be a bers.ModelConfig; got {type(config).__name__}.")
    config = config or ModelConfig()
    rng = random_numbers(rng)
    sources = _checked(sources)
    memory = Memory() if memory is None else memory
    inputs = input_scale(sources, memory=memory, workers=map_of(workers), show=progress)
    state = new_state(new_encoder(rng, sources[0].dim, config=config), config=config)
    blank = nig.prior(state.encoder.features)
    columns = _columns(sources)
    model = Model(state, inputs, config, (), columns, blank, blank, np.zeros(0, int), 0)
    how = _How(config.batches, config.patience, None, map_of(workers), memory, progress)
    return _train(rng, model, sources, how)


def refine(
    model: Model,
    sources: Sequence[Source],
    *,
    batches: int = 1,
    subset: int | None = None,
    rng: int | np.integer | np.random.Generator = 0,
    workers: int | Map | None = None,
    memory: Memory | None = None,
    progress: bool | None = None,
) -> Model:
    """Train on for some mini-batches of all sources, then refresh every head.

    Parameters
    ----------
    model
        What was trained before; it is not changed.
    sources
        All the heads that the new model shall have: the old ones, new ones, a target.
    batches
        Of training; with 0 the encoder stays as it is.
    subset
        Refresh from that many random rows per source; `subset_error` tells what that costs.
    rng
        A whole number gives new batches at every call, because the batches seen so far are mixed
        in.
    workers
        Who works on the parts of sources on disk: a number of processes, or a map.
    memory
        What is known of the sources from calls before; it saves measuring them again.
    progress
        Bars: yes, no, or (None) on a terminal only.

    Returns
    -------
    Model
        One head for each of the sources given.

    Examples
    --------
    >>> from bers import Demonstrations
    >>> line = Demonstrations([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], "line")
    >>> model = fit([line], config=ModelConfig(hidden=(4,), latent_dim=2, batches=1))
    >>> refine(model, [line, line.renamed("target")]).names
    ('line', 'target')
    """
    if not isinstance(model, Model):
        raise ConfigError(f"model must be a bers.Model, as fit gives; got {type(model).__name__}.")
    whole(batches, "refine(batches=...)", 0, MOST_BATCHES)
    if subset is not None:
        whole(subset, "refine(subset=...)", 2)
    random_numbers(rng)
    sources = _checked(sources, model.x_names)
    if sources[0].dim != model.state.encoder.inputs:
        raise DataError(
            f"the model takes {model.state.encoder.inputs} inputs, the sources have "
            f"{sources[0].dim}. Fit a new model, or give the same columns."
        )
    columns = _columns(sources)
    if columns and model.x_names and columns != model.x_names:
        raise DataError(
            f"the model was fitted on the columns {_listed(model.x_names)}; the sources have "
            f"{_listed(columns)}. Give the same columns in the same order."
        )
    if isinstance(rng, int | np.integer):
        rng = np.random.default_rng([int(rng), model.batches])
    memory = Memory() if memory is None else memory
    how = _How(batches, None, subset, map_of(workers), memory, progress)
    return _train(rng, model, sources, how)


def subset_error(model: Model, sources: Sequence[Source], subset: int) -> Float64[np.ndarray, " N"]:
    """What refreshing from a subset costs, for each head, relative to what the head says.

    The root mean square difference of the two posterior means over the source's own rows,
    divided by the spread of the full posterior mean there.
    """
    full = refine(model, sources, batches=0)
    part = refine(model, sources, batches=0, subset=subset)
    errors = []
    for i, source in enumerate(sources):
        spread, squares = Moments(np.zeros(1)), 0.0
        for x, _ in source.blocks():
            Phi = model.features(x)
            whole, guess = Phi @ full.heads[i].mu, Phi @ part.heads[i].mu
            spread.add(whole[:, None])
            squares += float(np.sum((whole - guess) ** 2))
        error = np.sqrt(squares / max(spread.n, 1))
        errors.append(error / max(float(spread.spread[0]), 1e-300))
    return np.array(errors)


class _How(NamedTuple):
    """How a model is trained."""

    batches: int
    patience: int | None
    subset: int | None
    workers: Map | None
    memory: Memory
    progress: bool | None


def _train(rng: np.random.Generator, model: Model, sources: Sequence[Source], how: _How) -> Model:
    config, inputs = model.config, model.inputs
    labels = label_scales(sources, config=config, memory=how.memory, show=how.progress)
    known = {"inputs": inputs, "labels": labels, "config": config}
    skill, scores = model.skill.carried(model.names, sources), np.zeros((0, 2))
    if how.patience is not None:
        halves = [source.split(rng, config.held_out) for source in sources]
        kept, held = [list(side) for side in zip(*halves, strict=True)]
        if config.chosen:
            state, objective, scores = choose(rng, kept, held, **known, show=how.progress)
        else:
            stopper = EarlyStopping(HeldOut(rng, kept, held, **known), how.patience)
            state, objective = train(
                rng,
                model.state,
                kept,
                batches=how.batches,
                **known,
                check=stopper.check,
                show=how.progress,
            )
            if stopper.best is not None:
                state, scores = replace(state, encoder=stopper.best), np.array(stopper.scores)
        skill = measured_skill(state.encoder, kept, held, **known)
    else:
        state, objective = train(
            rng, model.state, sources, batches=how.batches, **known, show=how.progress
        )
    after = posteriors(
        state.encoder,
        sources,
        inputs=inputs,
        labels=labels,
        config=config,
        memory=how.memory,
        subset=how.subset,
        workers=how.workers,
        show=how.progress,
    )
    return Model(
        state,
        inputs,
        config,
        tuple(source.name for source in sources),
        model.x_names or _columns(sources),
        after.priors,
        after.heads,
        after.rows,
        model.batches + len(objective),
        History(
            np.concatenate([model.history.objective, objective]),
            np.concatenate([model.history.scores, scores]),
        ),
        skill,
    )


def _checked(sources: Any, columns: tuple[str, ...] = ()) -> list[Source]:
    """Sources whose columns agree: with one another, or with those of the model."""
    if not isinstance(sources, Sequence | Mapping):
        raise DataError(f"give a list of sources; got {type(sources).__name__}. Put it in [ ].")
    if not sources:
        raise DataError("give at least one source of demonstrations; got none.")
    agreeing, _ = as_sources(sources, x=columns or None)
    if all(source.n == 0 for source in agreeing):
        raise DataError("all sources are empty. Collect demonstrations first.")
    return agreeing


def _columns(sources: Sequence[Source]) -> tuple[str, ...]:
    """The columns' names, where sources give them; sources that disagree are refused."""
    named = [(s.name, tuple(getattr(s, "x_names", ()))) for s in sources]
    # x0, x1, ... are what arrays without names get
    named = [(name, c) for name, c in named if c and c != tuple(f"x{j}" for j in range(len(c)))]
    for name, columns in named[1:]:
        if columns != named[0][1]:
            raise DataError(
                f"sources must have the same input columns in the same order; "
                f"{printable(named[0][0])!r} has {_listed(named[0][1])}, {printable(name)!r} has "
                f"{_listed(columns)}. Choose them with x=[...] when loading."
            )
    return named[0][1] if named else ()


def _listed(names: Sequence[str]) -> str:
    return printable(", ".join(names), 80)
