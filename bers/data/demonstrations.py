"""What one demonstrator did: rows of features with a label each, in memory.

Enter: arrays or lists. Leave: `Demonstrations`, an immutable record of checked, private
copies. (x, y) is what the model regresses; the payload is what a learner consumes; the
transforms are those already applied to y, so that labels in the user's units can be had back.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from bers.data.checks import checked_name, read_only, refuse_bad
from bers.data.drawing import draw_batches, held_out, row_numbers
from bers.data.fields import checked_fields
from bers.data.settings import whole
from bers.data.transforms import Transform, fit_and_apply, undo
from bers.data.transitions import STEP, Inputs, transition_fields
from bers.integrity import array_digest, digest
from bers.text import printable


@dataclass(frozen=True, eq=False, repr=False)
class Demonstrations:
    """Rows (x, y) of one demonstrator.

    >>> d = Demonstrations([[0.0, 1.0], [2.0, 3.0]], [5, 6], "alice")
    >>> d
    Demonstrations('alice', n=2, k=2, y 5 to 6)
    >>> d.x_names
    ('x0', 'x1')
    """

    x: np.ndarray
    """Features, (n, k), float32 or float64."""
    y: np.ndarray
    """Labels, (n,), float64, after `transforms`."""
    name: str
    """Whose rows these are; any text."""
    payload: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What a learner consumes: arrays of n rows, by name."""
    transforms: tuple[Transform, ...] = ()
    """Fitted transforms that were applied to the labels, first to last."""
    x_names: tuple[str, ...] = ()
    """Names of the features; x0, x1, ... unless given."""
    y_name: str = "y"
    """Name of the label."""

    def __post_init__(self) -> None:
        self.__dict__.update(checked_fields(self.__dict__))

    @classmethod
    def build(
        cls, x: Any, y: Any, name: str, *, drop_nonfinite: bool = False, origin: str = "", **fields
    ) -> "Demonstrations":
        """Like the constructor; can drop rows that are not finite, and name a file in errors.

        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     d = Demonstrations.build([1, 2], [3, float("nan")], "a", drop_nonfinite=True)
        >>> d.n, str(caught[0].message)
        (1, "'a': dropped 1 of 2 rows with values that are not finite or beyond ±1e+150.")
        """
        values = {"x": x, "y": y, "name": name, **fields}
        return _trusted(**checked_fields(values, drop_nonfinite=drop_nonfinite, origin=origin))

    @classmethod
    def from_transitions(
        cls,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        truncated: Any,
        *,
        name: str,
        inputs: Inputs | None = None,
        n_actions: int | None = None,
        drop_nonfinite: bool = False,
        origin: str = "",
    ) -> "Demonstrations":
        """Steps of an environment: y is the reward, the payload holds all six arrays.

        x is `inputs(observation, action, next_observation)`, called once with all rows, or the
        three flattened and joined. Whole-number actions of shape (n,) become one column each
        of `n_actions` (the largest action plus one, unless given).

        >>> d = Demonstrations.from_transitions(
        ...     [[0.0], [0.1]], [1, 0], [1.0, 2.0], [[0.1], [0.2]], [0, 1], [0, 0], name="a")
        >>> d.x.tolist()
        [[0.0, 0.0, 1.0, 0.1], [0.1, 1.0, 0.0, 0.2]]
        """
        given = (observation, action, reward, next_observation, terminated, truncated)
        steps = dict(zip(STEP, given, strict=True))
        values = {"name": name, **transition_fields(steps, inputs, n_actions, origin)}
        return _trusted(**checked_fields(values, drop_nonfinite=drop_nonfinite, origin=origin))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def dim(self) -> int:
        """Number of features, k."""
        return self.x.shape[1]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the record."""
        arrays = {"x": self.x, "y": self.y}
        arrays |= {f"payload/{name}": values for name, values in self.payload.items()}
        sealed = {name: array_digest(values) for name, values in arrays.items()}
        return record_digest(self.name, self.x_names, self.y_name, self.transforms, sealed)

    @property
    def original_y(self) -> np.ndarray:
        """The labels before the transforms, in the user's units."""
        return undo(self.transforms, self.y)

    def blocks(self, rows: int = 65536) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All rows once, in order, as (x, y) of at most `rows` rows.

        >>> [len(y) for x, y in Demonstrations([1, 2, 3], [1, 2, 3], "a").blocks(2)]
        [2, 1]
        """
        rows = whole(rows, "rows")
        for start in range(0, self.n, rows):
            yield self.x[start : start + rows], self.y[start : start + rows]

    def parts(self) -> list["Demonstrations"]:
        """Sources that together are this one: itself, since it is in one place."""
        return [self]

    def draw(
        self, rng: np.random.Generator, batches: int, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random batches: x (batches, size, k), y (batches, size), used (batches, size).

        No row comes twice in a batch. With fewer rows than `size` every row comes once, in the
        first slots; the other slots are zero and `used` is False there.

        >>> d = Demonstrations([1, 2, 3], [1, 2, 3], "a")
        >>> x, y, used = d.draw(np.random.default_rng(0), 2, 4)
        >>> x.shape, used[0].tolist()
        ((2, 4, 1), [True, True, True, False])
        """
        return draw_batches(rng, self.x, self.y, batches, size)

    def split(
        self, rng: np.random.Generator, fraction: float
    ) -> tuple["Demonstrations", "Demonstrations"]:
        """Keep some rows, hold out about `fraction` of them; both parts keep the order.

        >>> kept, out = Demonstrations([1, 2, 3, 4], [1, 2, 3, 4], "a").split(
        ...     np.random.default_rng(0), 0.25)
        >>> kept.n, out.n
        (3, 1)
        """
        out = held_out(rng, self.n, fraction)
        return self.take(~out), self.take(out)

    def take(self, rows: Any) -> "Demonstrations":
        """The rows numbered, sliced or marked by `rows`.

        >>> Demonstrations([1, 2, 3], [1, 2, 3], "a").take([2, 0]).y
        array([3., 1.])
        """
        if not isinstance(rows, slice):
            rows = row_numbers(rows, self.n)
        payload = {name: values[rows] for name, values in self.payload.items()}
        return _trusted(
            **{**_fields(self), "x": self.x[rows], "y": self.y[rows], "payload": payload}
        )

    def transformed(self, *transforms: Transform) -> "Demonstrations":
        """Fit those not fitted yet, drop the rows they drop, map the labels, remember them.

        >>> from bers.data.transforms import Sqrt
        >>> d = Demonstrations([1, 2], [4, 9], "a").transformed(Sqrt())
        >>> d.y, d.original_y
        (array([2., 3.]), array([4., 9.]))
        """
        result = self
        for transform in transforms:
            fitted, keep, y = fit_and_apply(transform, result.y)
            result = result.take(keep) if not keep.all() else result
            refuse_bad(result.x[:, :0], y, (), f"{fitted.name} of {result.y_name}")
            y = np.array(y, np.float64)
            result = _trusted(
                **{**_fields(result), "y": y, "transforms": (*result.transforms, fitted)}
            )
        return result

    def renamed(self, name: str) -> "Demonstrations":
        """The same rows under another name.

        >>> Demonstrations([1], [1], "a").renamed("b").name
        'b'
        """
        return _trusted(**{**_fields(self), "name": checked_name(name)})

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        span = f", y {self.y.min():.4g} to {self.y.max():.4g}" if self.n else ""
        done = "".join(f", {t.name}" for t in self.transforms)
        return f"Demonstrations('{printable(self.name)}', n={self.n}, k={self.dim}{span}{done})"

    def __reduce__(self):
        # A mapping proxy cannot be pickled, and a copy must be read-only too.
        return _rebuilt, ({**_fields(self), "payload": dict(self.payload)},)


def record_digest(
    name: str,
    x_names: Sequence[str],
    y_name: str,
    transforms: Sequence[Transform],
    arrays: Mapping[str, str],
) -> str:
    """One SHA-256 of a whole record, whose arrays have their own already.

    >>> record_digest("a", ("x0",), "y", (), {"y": array_digest(np.zeros(2))})[:6]
    'addff6'
    """
    heads = {
        "name": name,
        "x_names": json.dumps(list(x_names)),
        "y_name": y_name,
        "transforms": json.dumps([transform.to_dict() for transform in transforms]),
    }
    return digest({**heads, **{f"array/{key}": value for key, value in arrays.items()}})


def _fields(d: Demonstrations) -> dict[str, Any]:
    return {name: getattr(d, name) for name in Demonstrations.__dataclass_fields__}


def _rebuilt(fields: dict[str, Any]) -> Demonstrations:
    return _trusted(**fields)


def _trusted(**fields: Any) -> Demonstrations:
    """A record from values that were checked before, without a second look or copy."""
    arrays = {"x": read_only(fields["x"]), "y": read_only(fields["y"])}
    payload = MappingProxyType({k: read_only(v) for k, v in fields.get("payload", {}).items()})
    made = object.__new__(Demonstrations)
    made.__dict__.update({**fields, **arrays, "payload": payload})
    return made
