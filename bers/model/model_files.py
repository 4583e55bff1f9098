"""A model as one sealed file.

Enters: a model. Leaves: a file that gives back the same bits, and a model from such a file, or its
parts, for files that hold more than a model.
"""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.errors import BersError, ConfigError, FileError
from bers.integrity import read_sealed, write_sealed
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Both, Encoder, network_of, new_encoder
from bers.model.neural_linear import History, Model
from bers.model.scaling import InputScale
from bers.model.skill import Skill
from bers.model.training import TrainState, new_state
from bers.model.trees import Trees, blank_trees

_FORMAT = "bers-model-1"


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model, so that `load_model` gives back the same bits.

    The demonstrations are not in the file, only what was learned of them.

    Parameters
    ----------
    model
        What `fit` or `refine` gave.
    path
        The file to write.

    Examples
    --------
    >>> import tempfile
    >>> from bers import Demonstrations, ModelConfig, fit
    >>> line = Demonstrations([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], "line")
    >>> model = fit([line], config=ModelConfig(hidden=(4,), latent_dim=2, batches=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/m.bers")
    ...     load_model(f"{folder}/m.bers")
    Model(line: 3 rows; 1 inputs, 3 features, 1 batches)
    """
    if not isinstance(model, Model):
        raise ConfigError(f"model must be a bers.Model, as fit gives; got {type(model).__name__}.")
    write_sealed(path, _FORMAT, *model_parts(model))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save_model` wrote; damaged and foreign files are refused.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Model
        With the same bits.

    Examples
    --------
    >>> load_model("nowhere.bers")
    Traceback (most recent call last):
    bers.errors.FileError: there is no model file nowhere.bers. Check the path.
    """
    arrays, about = read_sealed(path, _FORMAT, "a BERS model")
    try:
        return model_of(arrays, about)
    except BersError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is damaged or not a BERS model: {error}. Save it again."
        ) from error


def model_parts(model: Model) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A model as arrays and settings, for a file that may hold more than the model."""
    about = {
        "config": model.config.to_dict(),
        "names": model.names,
        "x_names": model.x_names,
        "batches": model.batches,
        "encoder": encoder_parts(model.state.encoder),
    }
    return _arrays(model), about


def _arrays(model: Model) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {
        "inputs.mean": model.inputs.mean,
        "inputs.spread": model.inputs.spread,
        "rows": model.rows,
        "history.objective": model.history.objective,
        "history.scores": model.history.scores,
        "skill.r2": model.skill.r2,
        "skill.coverage": model.skill.coverage,
        "skill.rows": model.skill.rows,
    }
    for group, head in (("priors", model.priors), ("heads", model.heads)):
        for part in ("mu", "U", "alpha", "beta"):
            arrays[f"{group}.{part}"] = getattr(head, part)
    for i, leaf in enumerate(jax.tree.leaves(model.state)):
        arrays[f"state.{i:03d}"] = np.asarray(leaf)
    return arrays


def model_of(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model:
    """The model that `model_parts` took apart."""
    config = ModelConfig(**about["config"])
    heads = {
        group: nig.NIG(*(arrays[f"{group}.{part}"] for part in ("mu", "U", "alpha", "beta")))
        for group in ("priors", "heads")
    }
    return Model(
        state=_state(arrays, config, about.get("encoder")),
        inputs=InputScale(arrays["inputs.mean"], arrays["inputs.spread"]),
        config=config,
        names=tuple(about["names"]),
        x_names=tuple(about["x_names"]),
        priors=heads["priors"],
        heads=heads["heads"],
        rows=arrays["rows"],
        batches=about["batches"],
        history=History(arrays["history.objective"], arrays["history.scores"]),
        skill=_skill(arrays, len(about["names"])),
    )


def _skill(arrays: dict[str, np.ndarray], heads: int) -> Skill:
    if "skill.r2" not in arrays:  # files of before heads were measured on held-out rows
        return Skill.unknown(heads)
    return Skill(arrays["skill.r2"], arrays["skill.coverage"], arrays["skill.rows"])


def encoder_parts(encoder: Encoder) -> dict[str, Any]:
    """What tells the shape of an encoder, beside the settings."""
    network, trees = network_of(encoder), getattr(encoder, "trees", encoder)
    grown = trees.value.shape if isinstance(trees, Trees) else None
    return {
        "network": network is not None,
        "columns": None if network is None or network.columns is None else list(network.columns),
        "trees": None if grown is None else [grown[0], grown[2]],
    }


def _blank_encoder(inputs: int, config: ModelConfig, parts: dict[str, Any] | None) -> Encoder:
    """An encoder of the right shape, to be filled."""
    parts = parts or {"network": True, "columns": None, "trees": None}
    trees = None if parts["trees"] is None else blank_trees(*parts["trees"], inputs)
    if not parts["network"] and trees is not None:
        return trees
    columns = parts["columns"]
    if columns is not None and not all(0 <= column < inputs for column in columns):
        raise FileError(f"its encoder looks at columns {columns[:5]} of {inputs}.")
    network = new_encoder(np.random.default_rng(0), inputs, config=config, columns=columns)
    return network if trees is None else Both(network, trees)


def _state(
    arrays: dict[str, np.ndarray], config: ModelConfig, parts: dict[str, Any] | None
) -> TrainState:
    """Pour the stored leaves into a state of the shape that the settings call for."""
    shape = new_state(_blank_encoder(len(arrays["inputs.mean"]), config, parts), config=config)
    wanted, tree = jax.tree.flatten(shape)
    leaves = [jnp.asarray(arrays[f"state.{i:03d}"]) for i in range(len(wanted))]
    for leaf, like in zip(leaves, wanted, strict=True):
        if leaf.shape != like.shape or leaf.dtype != like.dtype:
            raise FileError(
                f"a stored tensor has shape {leaf.shape}, the settings call for {like.shape}."
            )
    return jax.tree.unflatten(tree, leaves)
