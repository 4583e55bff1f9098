"""p_m: the chance that iteration m learns from the sources. [Eq. schedule]

Enters: m, counted from 1. Leaves: a number in [0, 1]. The guide lowers it further: by the share of
"nobody" in the weights, and by the guard, for a source that no longer pays.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from bers.errors import ConfigError

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class Power:
    """ρ^m, which fades to zero (paper: ρ = 0.99 for functions, 0.95 for control).

    Parameters
    ----------
    rho
        ρ, in [0, 1].

    Examples
    --------
    >>> round(Power(0.99)(100), 3), Power(0.99)(10**6)
    (0.366, 0.0)
    """

    rho: float = 0.99

    def __post_init__(self) -> None:
        _check("Power(rho=...)", self.rho)

    def __call__(self, m: int) -> float:
        """The chance at iteration m."""
        return float(self.rho) ** m


@dataclass(frozen=True)
class Constant:
    """The same chance for ever (paper: 0.3 where tasks are solved at the same time).

    Parameters
    ----------
    p
        The chance, in [0, 1].

    Examples
    --------
    >>> Constant(0.3)(1000)
    0.3
    """

    p: float = 0.3

    def __post_init__(self) -> None:
        _check("Constant(p=...)", self.p)

    def __call__(self, m: int) -> float:
        """The chance at iteration m."""
        return float(self.p)


@dataclass(frozen=True)
class Linear:
    """From `p` down to zero, which is reached at iteration `until`.

    Parameters
    ----------
    p
        The chance that it starts from, in [0, 1].
    until
        At least 1.

    Examples
    --------
    >>> [Linear(1.0, until=4)(m) for m in (1, 2, 4, 9)]
    [0.75, 0.5, 0.0, 0.0]
    """

    p: float = 1.0
    until: int = 100

    def __post_init__(self) -> None:
        _check("Linear(p=...)", self.p)
        whole = isinstance(self.until, int | np.integer) and not isinstance(self.until, bool)
        if not whole or not 1 <= self.until < 2**63:
            raise ConfigError(
                f"Linear(until=...) must be at least 1; got {self.until!r}. Give a whole number."
            )

    def __call__(self, m: int) -> float:
        """The chance at iteration m."""
        return float(self.p) * max(0.0, 1 - m / self.until)


def schedule_named(what: "Schedule | float | str") -> Schedule:
    """A schedule from what a user wrote: a schedule, a number, or "paper".

    >>> schedule_named(0.3), schedule_named("paper")
    (Constant(p=0.3), Power(rho=0.99))
    """
    if isinstance(what, str):
        if what == "paper":
            return Power()
        raise ConfigError(
            f"there is no schedule {what!r}. Give a number for a constant chance, "
            '"paper" for 0.99^m, or one of bers.schedules.'
        )
    if isinstance(what, int | float | np.integer | np.floating):
        return Constant(float(what))
    if not callable(what):
        raise ConfigError(f"schedule must be a number, a name or callable; got {what!r}.")
    return what


def _check(name: str, p: float) -> None:
    if not (isinstance(p, int | float) and 0 <= p <= 1):
        raise ConfigError(f"{name} must be a chance in [0, 1]; got {p!r}.")


def schedule_parts(schedule: Schedule) -> list[Any]:
    """A schedule of ours as plain values, for a file.

    >>> schedule_of(schedule_parts(Power(0.9)))
    Power(rho=0.9)
    """
    if type(schedule) not in _OURS.values():
        raise ConfigError(
            f"a run with a schedule of your own ({type(schedule).__name__}) cannot be saved; use "
            f"one of bers.schedules: {', '.join(_OURS)}."
        )
    return [type(schedule).__name__, asdict(schedule)]  # pyright: ignore[reportArgumentType]


def schedule_of(parts: Sequence[Any]) -> Schedule:
    """The schedule that `schedule_parts` took apart."""
    return _OURS[parts[0]](**parts[1])


_OURS: dict[str, Any] = {
    name: kind for name, kind in globals().items() if isinstance(kind, type) and is_dataclass(kind)
}
