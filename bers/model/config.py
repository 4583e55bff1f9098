"""The settings of the neural-linear model.

`ModelConfig()` is what the library uses; `ModelConfig.paper()` is what the paper printed. Where
the two differ, the field says why. Values out of range are refused here, by name.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from bers.data.checks import whole
from bers.deprecated import old_words
from bers.errors import ConfigError

_WHOLE = {"latent_dim": 1, "batch_size": 2, "heads_per_batch": 1, "batches": 0}


@dataclass(frozen=True)
class ModelConfig:
    """Encoder, prior and training of the shared model.

    >>> ModelConfig(latent_dim=2).latent_dim
    2
    """

    hidden: tuple[int, ...] = (200, 200)
    """Units of each hidden layer (paper: 200 and 200; 300 and 200 for the supply chain)."""
    latent_dim: int = 20
    """Learned features d, the constant bias not counted (paper: 20)."""
    activation: Literal["relu", "tanh"] = "relu"
    """Of the hidden units (paper: ReLU). The outputs are always tanh."""
    skip: bool = False
    """Show the heads the standardised inputs beside the learned features."""

    weight_precision: float = 1.0
    """Λ⁰ for every weight but the bias (paper: w ~ N(0, I))."""
    bias_precision: float = 1e-2
    """Λ⁰ for the bias. Paper: 1, which charges an offset in the labels to the noise."""
    noise_prior: tuple[float, float] = (1.0, 1.0)
    """Shape and scale (α, β) of σ²'s prior (paper: InvGamma(1, 1)); the scale is in units of the
    labels' variance if `labels="standardised"`."""
    labels: Literal["standardised", "raw"] = "standardised"
    """Centre and scale each head's prior by its own labels. Paper: raw, labels of order one."""

    learning_rate: float = 1e-4
    """Of Adam (paper: 1e-4, which also gave the best held-out density on the sources)."""
    l2: float = 1e-4
    """Penalty on the encoder's weights, per row of log evidence (paper: 1e-4)."""
    batch_size: int = 64
    """Rows per head in a mini-batch (paper: 64)."""
    batches: int = 4000
    """Mini-batches of pre-training (paper: 4000)."""
    heads_per_batch: int = 64
    """With more heads than this, each stretch of batches trains on a random choice of them."""

    held_out: float = 0.1
    """Share of every source's rows kept for early stopping, if `patience` is set."""
    patience: int | None = None
    """Stop after this many batches without a better held-out score; None trains them all."""

    @classmethod
    def paper(cls, **changes: object) -> "ModelConfig":
        """The paper's settings.

        Parameters
        ----------
        **changes
            Settings that shall differ from the paper's.

        Examples
        --------
        >>> ModelConfig.paper().labels
        'raw'
        """
        printed = {"bias_precision": 1.0, "labels": "raw"}
        return cls(**{**printed, **changes})  # pyright: ignore[reportArgumentType]

    def __post_init__(self) -> None:
        units = (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden)
        units = tuple(whole(unit, "ModelConfig(hidden=...)") for unit in units)
        object.__setattr__(self, "hidden", units)
        for name, least in _WHOLE.items():
            value = whole(getattr(self, name), f"ModelConfig({name}=...)", least)
            object.__setattr__(self, name, value)
        if self.patience is not None:
            whole(self.patience, "ModelConfig(patience=...)")
        for name in ("weight_precision", "bias_precision", "learning_rate"):
            value = getattr(self, name)
            _require(self, name, _number(value) and 0 < value < float("inf"), "finite and above 0")
        prior = tuple(self.noise_prior) if np.iterable(self.noise_prior) else ()
        fine = len(prior) == 2 and all(_number(end) and 0 < end < float("inf") for end in prior)
        _require(self, "noise_prior", fine, "two numbers, finite and above 0")
        object.__setattr__(self, "noise_prior", prior)
        _require(self, "l2", _number(self.l2) and 0 <= self.l2 < float("inf"), "0 or above")
        _require(self, "held_out", _number(self.held_out) and 0 < self.held_out < 1, "in (0, 1)")
        _require(self, "activation", self.activation in ("relu", "tanh"), '"relu" or "tanh"')
        _require(self, "labels", self.labels in ("standardised", "raw"), '"standardised" or "raw"')
        _require(self, "skip", isinstance(self.skip, bool), "True or False")

    @property
    def alpha(self) -> float:
        """Shape of the noise prior, α⁰."""
        return self.noise_prior[0]

    @property
    def beta(self) -> float:
        """Scale of the noise prior, β⁰."""
        return self.noise_prior[1]

    def to_dict(self) -> dict[str, object]:
        """The settings as plain values, for a journal or a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _require(config: ModelConfig, name: str, holds: bool, wanted: str) -> None:
    if not holds:
        raise ConfigError(
            f"ModelConfig({name}=...) must be {wanted}; got {getattr(config, name)!r}."
        )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _old_noise(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    found = {name: words.pop(name) for name in ("alpha", "beta") if name in words}
    if not found:
        return words, {}
    words["noise_prior"] = pair = (found.get("alpha", 1.0), found.get("beta", 1.0))
    return words, dict.fromkeys(found, f"noise_prior={pair}")


ModelConfig.__init__ = old_words(_old_noise)(ModelConfig.__init__)
