"""A model as one file: tensors by safetensors, everything else as JSON in its header.

Enters: a model. Leaves: a file that gives back the same bits, and a model from such a file. The
header carries a SHA-256 of all tensors and of the JSON, so a flipped byte, a cut file or a file
of another program is refused by name. Nothing in a file is ever executed.
"""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from bers.errors import BersError, FileError
from bers.files import digest, write_atomically
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
from bers.model.neural_linear import History, Model
from bers.model.scaling import InputScale
from bers.model.training import TrainState, new_state

_FORMAT = "bers-model-1"


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model, so that `load_model` gives back the same bits.

    The demonstrations are not in the file, only what was learned of them.

    >>> import tempfile
    >>> from bers import Demonstrations, ModelConfig, fit
    >>> line = Demonstrations([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], "line")
    >>> model = fit([line], config=ModelConfig(hidden=(4,), latent_dim=2, batches=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/m.bers")
    ...     load_model(f"{folder}/m.bers")
    Model(line: 3 rows; 1 inputs, 3 features, 1 batches)
    """
    arrays = _arrays(model)
    about = json.dumps(
        {
            "config": model.config.to_dict(),
            "names": model.names,
            "x_names": model.x_names,
            "batches": model.batches,
        }
    )
    seal = {"format": _FORMAT, "about": about, "sha256": digest({**arrays, "about": about})}
    # one key, because safetensors writes several in no fixed order
    header = {"bers": json.dumps(seal)}
    with write_atomically(path) as temporary:
        try:
            save_file(arrays, temporary, metadata=header)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save_model` wrote; damaged and foreign files are refused.

    >>> load_model("nowhere.bers")
    Traceback (most recent call last):
    bers.errors.FileError: there is no model file nowhere.bers. Check the path.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no model file {path}. Check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("bers", "{}"))
            if header.get("format") != _FORMAT:
                raise FileError(
                    f"{path} is not a BERS model (format {header.get('format')!r}, wanted "
                    f"{_FORMAT!r}). Give a file that save_model wrote."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if digest({**arrays, "about": header["about"]}) != header["sha256"]:
            raise FileError(f"{path} is damaged: its SHA-256 does not match. Save it again.")
        return _model(arrays, json.loads(header["about"]))
    except BersError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is damaged or not a BERS model: {error}. Save it again."
        ) from error


def _arrays(model: Model) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {
        "inputs.mean": model.inputs.mean,
        "inputs.spread": model.inputs.spread,
        "rows": model.rows,
        "history.objective": model.history.objective,
        "history.scores": model.history.scores,
    }
    for group, head in (("priors", model.priors), ("heads", model.heads)):
        for part in ("mu", "U", "alpha", "beta"):
            arrays[f"{group}.{part}"] = getattr(head, part)
    for i, leaf in enumerate(jax.tree.leaves(model.state)):
        arrays[f"state.{i:03d}"] = np.asarray(leaf)
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


def _model(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model:
    config = ModelConfig(**about["config"])
    heads = {
        group: nig.NIG(*(arrays[f"{group}.{part}"] for part in ("mu", "U", "alpha", "beta")))
        for group in ("priors", "heads")
    }
    return Model(
        state=_state(arrays, config),
        inputs=InputScale(arrays["inputs.mean"], arrays["inputs.spread"]),
        config=config,
        names=tuple(about["names"]),
        x_names=tuple(about["x_names"]),
        priors=heads["priors"],
        heads=heads["heads"],
        rows=arrays["rows"],
        batches=about["batches"],
        history=History(arrays["history.objective"], arrays["history.scores"]),
    )


def _state(arrays: dict[str, np.ndarray], config: ModelConfig) -> TrainState:
    """Pour the stored leaves into a state of the shape that the settings call for."""
    sizes = (len(arrays["inputs.mean"]), *config.hidden, config.latent_dim)
    shape = new_state(
        Encoder(
            tuple(jnp.zeros(pair) for pair in itertools.pairwise(sizes)),
            tuple(jnp.zeros(size) for size in sizes[1:]),
            config.activation,
            config.skip,
        ),
        config=config,
    )
    wanted, tree = jax.tree.flatten(shape)
    leaves = [jnp.asarray(arrays[f"state.{i:03d}"]) for i in range(len(wanted))]
    for leaf, like in zip(leaves, wanted, strict=True):
        if leaf.shape != like.shape or leaf.dtype != like.dtype:
            raise FileError(
                f"a stored tensor has shape {leaf.shape}, the settings call for {like.shape}."
            )
    return jax.tree.unflatten(tree, leaves)
