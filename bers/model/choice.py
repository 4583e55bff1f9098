"""Which encoder: the one whose heads explain most of the rows that were held out.

Enters: rows of every source that may be learned from, and rows that are held out. Leaves: a trained
encoder and how training went. Candidates are a network on the columns that matter, a network on all
of them, trees, and the better network with the trees. [Eq. held_out] [Eq. trees]

A network on sixty columns of which four matter learns its rows by heart. Held-out rows tell, and
trees, which look at one column at a time, tell which columns to keep.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bers.data.source import Source
from bers.model.config import ModelConfig
from bers.model.encoder import Both, Encoder, Network, new_encoder
from bers.model.scaling import InputScale, LabelScale
from bers.model.training import EarlyStopping, HeldOut, TrainState, new_state, train
from bers.model.trees import Table, columns_that_matter, grow

_ROWS, _FEWEST, _MOST = 12_000, 50, 2_000  # that trees see: of all sources, and of one
_TREES, _TREE_PATIENCE = 300, 30
_FEWER = 0.02  # of held-out labels that trees alone must explain beyond network and trees


class Chosen(NamedTuple):
    """The encoder, and how the search for it went."""

    state: TrainState
    objective: Float[np.ndarray, " batches"]
    scores: Float[np.ndarray, "checks 2"]


def choose(
    rng: np.random.Generator,
    kept: Sequence[Source],
    held: Sequence[Source],
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
    show: bool | None = None,
) -> Chosen:
    """Train the candidates and keep the best."""
    table = _table(rng, kept, held, inputs, labels)
    score = HeldOut(rng, kept, held, inputs=inputs, labels=labels, config=config)
    if not any(table.y[table.source == i].std() > 0 for i in range(table.N)):  # nothing to learn
        network = new_encoder(rng, len(inputs.mean), config=config)
        return Chosen(new_state(network, config=config), np.zeros(0), np.zeros((0, 2)))
    columns = columns_that_matter(rng, table)
    some = 0 < len(columns) < table.x.shape[1]
    looked: list[Sequence[int] | None] = [columns.tolist(), None] if some else [None]
    found: list[tuple[float, Encoder]] = []
    objectives, scores = [], []
    best_network: tuple[float, Network] | None = None
    for chosen in looked:
        network = new_encoder(rng, len(inputs.mean), config=config, columns=chosen)
        stopper = EarlyStopping(score, config.patience)
        state, objective = train(
            rng,
            new_state(network, config=config),
            kept,
            batches=config.batches,
            inputs=inputs,
            labels=labels,
            config=config,
            check=stopper.check if score.rows else None,
            show=show,
        )
        network = state.encoder if stopper.best is None else stopper.best
        assert isinstance(network, Network)
        value = score.explained(network)
        found.append((value, network))
        objectives.append(objective)
        scores.extend(stopper.scores)
        if best_network is None or value > best_network[0]:
            best_network = value, network
    trees = None
    if score.rows and config.batches:
        every = np.arange(table.x.shape[1])
        trees = grow(
            rng,
            table,
            columns if some else every,
            trees=_TREES,
            patience=_TREE_PATIENCE,
            most=config.latent_dim,
        )
    if trees is not None and best_network is not None:
        both = Both(best_network[1], trees)
        # alone they have few features, which is little for a target unlike all sources
        found += [(score.explained(both), both), (score.explained(trees) - _FEWER, trees)]
    best = max(found, key=lambda one: one[0])[1]
    return Chosen(
        new_state(best, config=config),
        np.concatenate(objectives),
        np.array(scores).reshape(-1, 2),
    )


def _table(
    rng: np.random.Generator,
    kept: Sequence[Source],
    held: Sequence[Source],
    inputs: InputScale,
    labels: Sequence[LabelScale],
) -> Table:
    """Some rows of every source, standardised, those held out marked."""
    most = int(np.clip(_ROWS // len(kept), _FEWEST, _MOST))
    x, y, source, out = [], [], [], []
    for i, pair in enumerate(zip(kept, held, strict=True)):
        for is_held, rows in enumerate(pair):
            drawn, values, used = rows.draw(rng, 1, most // 4 if is_held else most)
            x.append(inputs.standardise(drawn[used]))
            y.append(labels[i].standardise(values[used].astype(np.float64)))
            source.append(np.full(len(y[-1]), i))
            out.append(np.full(len(y[-1]), bool(is_held)))
    return Table(*(np.concatenate(part) for part in (x, y, source, out)))
