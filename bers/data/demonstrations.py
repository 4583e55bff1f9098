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
from typing import TYPE_CHECKING, Any

import numpy as np

from bers.data.checks import (
    checked_name,
    column_names,
    column_places,
    data_error,
    dropping,
    features,
    flag,
    given_names,
    good_rows,
    labels,
    payloads,
    read_only,
    refuse_bad,
    warn_dropped,
    whole,
)
from bers.data.frames import frame_rows, is_column, is_frame
from bers.data.sampling import draw_batches, held_out, row_numbers
from bers.data.transforms import KINDS, Transform, fit_and_apply, undo
from bers.integrity import array_digest, digest
from bers.text import printable

if TYPE_CHECKING:
    from bers.data.transitions import Inputs


@dataclass(frozen=True, eq=False, repr=False)
class Demonstrations:
    """Rows (x, y) of one demonstrator, in memory; checked, and immutable.

    Parameters
    ----------
    x : array of shape (n, k), or frame
        Features. Kept as float32 or float64; one column may be given as shape (n,). A frame of
        pandas, Polars or the like names its columns itself; its index is ignored.
    y : array of shape (n,)
        Labels, kept as float64, after `transforms`. A column of a frame brings its name.
    name : str
        Whose rows these are; any text.
    payload : mapping of str to array, optional
        What a learner consumes: arrays of n rows, by name.
    transforms : tuple of Transform, optional
        Fitted transforms that were applied to the labels, first to last.
    x_names : tuple of str, optional
        Names of the features; a frame's own, or x0, x1, ... unless given.
    y_name : str, default "y"
        Name of the label.
    columns_guessed : bool, default False
        Whether it was guessed which columns of a file are features and which is the label.

    Raises
    ------
    DataError
        If the arrays do not fit together, or hold values that are not finite.

    Examples
    --------
    >>> d = Demonstrations([[0.0, 1.0], [2.0, 3.0]], [5, 6], "alice")
    >>> d
    Demonstrations('alice', n=2, k=2, y 5 to 6)
    >>> d.x_names
    ('x0', 'x1')
    """

    x: np.ndarray
    y: np.ndarray
    name: str
    payload: Mapping[str, np.ndarray] = field(default_factory=dict)
    transforms: tuple[Transform, ...] = ()
    x_names: tuple[str, ...] = ()
    y_name: str = "y"
    columns_guessed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        way = dropping("bers.Demonstrations.build")
        self.__dict__.update(_checked_fields(self.__dict__, way=way))

    @classmethod
    def build(
        cls, x: Any, y: Any, name: str, *, drop_nonfinite: bool = False, origin: str = "", **fields
    ) -> "Demonstrations":
        """Like the constructor; can drop rows that are not finite, and name a file in errors.

        Parameters
        ----------
        x : array of shape (n, k)
            Features.
        y : array of shape (n,)
            Labels.
        name : str
            Whose rows these are.
        drop_nonfinite : bool, default False
            Drop rows that are not finite, with a warning, instead of refusing them all.
        origin : str, default ""
            The file that the rows came from, for errors.
        **fields
            The other parameters of the constructor.

        Returns
        -------
        Demonstrations
            Of the rows that stay.

        Raises
        ------
        DataError
            If the arrays do not fit together; `FileError` where there is an origin.

        Examples
        --------
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     d = Demonstrations.build([1, 2], [3, float("nan")], "a", drop_nonfinite=True)
        >>> d.n, str(caught[0].message)
        (1, "'a': dropped 1 of 2 rows with values that are not finite or beyond ±1e+150.")
        """
        values = {"x": x, "y": y, "name": name, **fields}
        return _trusted(**_checked_fields(values, drop_nonfinite=drop_nonfinite, origin=origin))

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
        inputs: "Inputs | None" = None,
        n_actions: int | None = None,
        drop_nonfinite: bool = False,
        origin: str = "",
    ) -> "Demonstrations":
        """Steps of an environment: y is the reward, the payload holds all six arrays.

        Parameters
        ----------
        observation : array of shape (n, ...)
            Before the step.
        action : array of shape (n, ...)
            What was done. Whole numbers of shape (n,) are choices, with a column each in x.
        reward : array of shape (n,)
            What the step paid.
        next_observation : array of shape (n, ...)
            After the step.
        terminated : array of shape (n,)
            Whether the task itself ended.
        truncated : array of shape (n,)
            Whether a limit of time ended it.
        name : str
            Whose steps these are.
        inputs : callable, optional
            Makes x of observation, action and next observation, called once with all rows;
            otherwise the three are flattened and joined.
        n_actions : int, optional
            Number of choices; the largest action plus one, unless given.
        drop_nonfinite : bool, default False
            Drop rows that are not finite, with a warning, instead of refusing them all.
        origin : str, default ""
            The file that the steps came from, for errors.

        Returns
        -------
        Demonstrations
            One row a step.

        Examples
        --------
        >>> d = Demonstrations.from_transitions(
        ...     [[0.0], [0.1]], [1, 0], [1.0, 2.0], [[0.1], [0.2]], [0, 1], [0, 0], name="a")
        >>> d.x.tolist()
        [[0.0, 0.0, 1.0, 0.1], [0.1, 1.0, 0.0, 0.2]]
        """
        checked_name(origin, "origin")
        given = (observation, action, reward, next_observation, terminated, truncated)
        from bers.data.transitions import STEP, transition_fields

        steps = dict(zip(STEP, given, strict=True))
        values = {"name": name, **transition_fields(steps, inputs, n_actions, origin)}
        return _trusted(**_checked_fields(values, drop_nonfinite=drop_nonfinite, origin=origin))

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
        """All rows once, in order, a block at a time.

        Parameters
        ----------
        rows : int, default 65536
            At most this many rows a block.

        Yields
        ------
        x : array of shape (b, k)
            Features of a block.
        y : array of shape (b,)
            Labels of a block.

        Examples
        --------
        >>> [len(y) for x, y in Demonstrations([1, 2, 3], [1, 2, 3], "a").blocks(2)]
        [2, 1]
        """
        rows = whole(rows, "rows")
        for start in range(0, self.n, rows):
            yield self.x[start : start + rows], self.y[start : start + rows]

    def parts(self) -> list["Demonstrations"]:
        """Sources that together are this one.

        Returns
        -------
        list of Demonstrations
            Only itself, since it is in one place.
        """
        return [self]

    def draw(
        self, rng: np.random.Generator, batches: int, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random batches of rows; no row comes twice in a batch.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of chance.
        batches : int
            How many.
        size : int
            Rows of each. With fewer rows than this every row comes once, in the first slots.

        Returns
        -------
        x : array of shape (batches, size, k)
            Features; zero in unused slots.
        y : array of shape (batches, size)
            Labels; zero in unused slots.
        used : array of bool, of shape (batches, size)
            Which slots hold a row.

        Examples
        --------
        >>> d = Demonstrations([1, 2, 3], [1, 2, 3], "a")
        >>> x, y, used = d.draw(np.random.default_rng(0), 2, 4)
        >>> x.shape, used[0].tolist()
        ((2, 4, 1), [True, True, True, False])
        """
        return draw_batches(rng, self.x, self.y, batches, size)

    def split(
        self, rng: np.random.Generator, fraction: float
    ) -> tuple["Demonstrations", "Demonstrations"]:
        """Keep some rows, hold out the others; both parts keep the order.

        Parameters
        ----------
        rng : numpy.random.Generator
            Chooses the rows.
        fraction : float
            About this share is held out. Of two rows or more, both parts get one.

        Returns
        -------
        kept : Demonstrations
            The rows kept.
        out : Demonstrations
            The rows held out.

        Examples
        --------
        >>> kept, out = Demonstrations([1, 2, 3, 4], [1, 2, 3, 4], "a").split(
        ...     np.random.default_rng(0), 0.25)
        >>> kept.n, out.n
        (3, 1)
        """
        out = held_out(rng, self.n, fraction)
        return self.take(~out), self.take(out)

    def take(self, rows: Any) -> "Demonstrations":
        """Some of the rows.

        Parameters
        ----------
        rows : array of int or bool, or slice
            Numbers of rows, a mask of all rows, or a slice.

        Returns
        -------
        Demonstrations
            Those rows, in that order.

        Raises
        ------
        DataError
            If a row is out of range.

        Examples
        --------
        >>> Demonstrations([1, 2, 3], [1, 2, 3], "a").take([2, 0]).y
        array([3., 1.])
        """
        if not isinstance(rows, slice):
            rows = row_numbers(rows, self.n)
        payload = {name: values[rows] for name, values in self.payload.items()}
        return _trusted(
            **{**_fields(self), "x": self.x[rows], "y": self.y[rows], "payload": payload}
        )

    def select(self, columns: str | Sequence[str]) -> "Demonstrations":
        """Some of the features, by name.

        Parameters
        ----------
        columns : str or sequence of str
            Names out of `x_names`.

        Returns
        -------
        Demonstrations
            The same rows with those features, in that order.

        Raises
        ------
        DataError
            If there is no such feature, or one is named twice.

        Examples
        --------
        >>> d = Demonstrations([[1, 2, 3]], [4], "a", x_names=("load", "gear", "speed"))
        >>> d.select(["speed", "load"]).x.tolist()
        [[3.0, 1.0]]
        """
        places = column_places(columns, self.x_names, self.name)
        x_names = tuple(self.x_names[j] for j in places)
        return _trusted(
            **{**_fields(self), "x": np.take(self.x, places, axis=1), "x_names": x_names}
        )

    def transformed(self, *transforms: Transform) -> "Demonstrations":
        """Apply transforms to the labels, and remember them.

        Parameters
        ----------
        *transforms : Transform
            First to last. Those not fitted yet are fitted on the labels; the rows that they
            drop are left out.

        Returns
        -------
        Demonstrations
            With `y` in the new units; `original_y` is in the old ones.

        Raises
        ------
        DataError
            If a label lies where a transform is not defined.

        Examples
        --------
        >>> from bers.transforms import Sqrt
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

        Parameters
        ----------
        name : str
            The other name.

        Returns
        -------
        Demonstrations
            The arrays are shared.

        Examples
        --------
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


def record_of(
    x: Any, y: Any, name: str, *, drop_nonfinite: bool, way: str, **fields: Any
) -> Demonstrations:
    """Like `Demonstrations.build`; `way` says in errors how to be rid of missing values.

    >>> record_of([1, 2], [3, 4], "a", drop_nonfinite=False, way=dropping("bers.as_sources"))
    Demonstrations('a', n=2, k=1, y 3 to 4)
    """
    values = {"x": x, "y": y, "name": name, **fields}
    return _trusted(**_checked_fields(values, drop_nonfinite=drop_nonfinite, way=way))


def _checked_fields(
    values: Mapping[str, Any],
    *,
    drop_nonfinite: bool = False,
    origin: str = "",
    way: str = dropping(),
) -> dict[str, Any]:
    """Private, read-only copies of the fields that agree, or an error that names what does not."""
    origin = checked_name(origin, "origin")
    name = checked_name(values["name"], origin=origin)
    y_name = values.get("y_name", "y")
    given = given_names(values.get("x_names"), origin)
    if is_frame(values["x"]) or is_column(values["y"]) or is_frame(values["y"]):
        what = f"'{printable(name)}'"
        values = {**values, **frame_rows(values["x"], values["y"], given, y_name, what)}
        given, y_name = values["x_names"], values["y_name"]
    x = features(values["x"], given, y_name, origin)
    x_names = column_names(given, y_name, x.shape[1], origin)
    y = labels(values["y"], y_name, len(x), origin)
    payload = payloads(values.get("payload"), len(x), origin)
    if flag(drop_nonfinite, "drop_nonfinite"):
        good = good_rows(x, y)
        if not good.all():
            warn_dropped(name, int((~good).sum()), len(x), origin)
            x, y = x[good], y[good]
            payload = {k: v[good] for k, v in payload.items()}
    refuse_bad(x, y, x_names, y_name, origin, way=way)
    return {
        "x": read_only(x),
        "y": read_only(y),
        "name": name,
        "payload": payload,
        "transforms": _checked_transforms(values.get("transforms", ()), origin),
        "x_names": x_names,
        "y_name": y_name,
        "columns_guessed": bool(values.get("columns_guessed", False)),
    }


def _checked_transforms(transforms: Any, origin: str) -> tuple:
    several = isinstance(transforms, tuple | list)
    for transform in transforms if several else [transforms]:
        if not several or type(transform) not in KINDS.values() or not transform.fitted:
            raise data_error(
                "transforms must hold fitted transforms; got "
                f"{printable(repr(transform))}. Use transformed(...) to fit and apply one.",
                origin,
            )
    return tuple(transforms)


def _fields(d: Demonstrations) -> dict[str, Any]:
    """All that a record is made of, by name."""
    return {name: getattr(d, name) for name in Demonstrations.__dataclass_fields__}


def _rebuilt(fields: dict[str, Any]) -> Demonstrations:
    """What unpickling calls."""
    return _trusted(**fields)


def _trusted(**fields: Any) -> Demonstrations:
    """A record from values that were checked before, without a second look or copy."""
    arrays = {"x": read_only(fields["x"]), "y": read_only(fields["y"])}
    payload = MappingProxyType({k: read_only(v) for k, v in fields.get("payload", {}).items()})
    made = object.__new__(Demonstrations)
    made.__dict__.update({**fields, **arrays, "payload": payload})
    return made
