"""The settings of the neural-linear model.

`ModelConfig()` is what the library uses; `ModelConfig.paper()` is what the paper printed. Where
the two differ, the field says why. Values out of range are refused here, by name.

Without `hidden` the encoder is chosen by held-out rows: a network on the columns that matter, one
on all of them, trees, or a network and trees. With `hidden` it is the network that is described.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from bers.data.checks import one_of, whole
from bers.deprecated import old_words
from bers.errors import ConfigError

_UNITS = (64, 64)  # of a network that competes with other encoders
_OPEN: dict[str, tuple[Any, Any]] = {
    "activation": ("relu", "silu"),
    "learning_rate": (1e-4, 3e-3),
    "patience": (None, 300),
}
"""What None stands for: where the network is described, and where the encoder is chosen."""
_WHOLE = {"latent_dim": 1, "batch_size": 2, "heads_per_batch": 1, "batches": 0}


@dataclass(frozen=True)
class ModelConfig:
    """Encoder, prior and training of the shared model.

    >>> ModelConfig(latent_dim=2).latent_dim
    2
    """

    hidden: tuple[int, ...] | None = None
    """Units of each hidden layer of the network that is the encoder (paper: 200 and 200; 300 and
    200 for the supply chain). None: the encoder is chosen by held-out rows."""
    latent_dim: int = 20
    """Learned features d, the constant bias not counted (paper: 20)."""
    activation: Literal["relu", "tanh", "silu"] | None = None
    """Of the hidden units (paper: ReLU). The outputs are always tanh. None: ReLU, or SiLU where the
    encoder is chosen, which was better on every function tried."""
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

    learning_rate: float | None = None
    """Of Adam. None: 1e-4 (paper), or 3e-3 where held-out rows say when to stop."""
    l2: float = 1e-4
    """Penalty on the encoder's weights, per row of log evidence (paper: 1e-4)."""
    batch_size: int = 64
    """Rows per head in a mini-batch (paper: 64)."""
    batches: int = 4000
    """Mini-batches of pre-training, at most (paper: 4000)."""
    heads_per_batch: int = 8
    """With more heads than this, each batch trains on a random choice of them (paper: all)."""

    held_out: float = 0.2
    """Share of every source's rows that the encoder does not see: they choose it and say when to
    stop, and how well heads do on rows that are new to them."""
    patience: int | None = None
    """Stop after this many batches without a better held-out score. None: 300 where the encoder is
    chosen; else all batches are run and no rows are held out (paper)."""

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
        printed = {
            "hidden": (200, 200),
            "bias_precision": 1.0,
            "labels": "raw",
            "heads_per_batch": 64,
        }
        return cls(**{**printed, **changes})  # pyright: ignore[reportArgumentType]

    def __post_init__(self) -> None:
        if self.hidden is not None:
            several = isinstance(self.hidden, tuple | list)
            units = tuple(self.hidden) if several else (self.hidden,)
            units = tuple(whole(unit, "ModelConfig(hidden=...)") for unit in units)
            object.__setattr__(self, "hidden", units)
        for name, (described, chosen) in _OPEN.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, chosen if self.hidden is None else described)
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
        one_of(self.activation, "ModelConfig(activation=...)", "relu", "tanh", "silu")
        one_of(self.labels, "ModelConfig(labels=...)", "standardised", "raw")
        _require(self, "skip", isinstance(self.skip, bool), "True or False")

    @property
    def chosen(self) -> bool:
        """Whether held-out rows choose the encoder."""
        return self.hidden is None

    @property
    def units(self) -> tuple[int, ...]:
        """Of each hidden layer of a network."""
        return _UNITS if self.hidden is None else self.hidden

    @property
    def rate(self) -> float:
        """The learning rate, what None stands for filled in."""
        assert self.learning_rate is not None
        return self.learning_rate

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
