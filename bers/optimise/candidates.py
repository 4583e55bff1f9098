"""A list of experiments as rows of the unit cube, and rows of it in the caller's own kind of table.

Enters: a data frame or an array, and earlier campaigns in whatever form. Leaves: a `Candidates`
whose columns are numbers that all campaigns share: numbers over their range, words as 0 and 1.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int

from bers.data.frames import frame_table, is_column, is_frame
from bers.data.given import as_inputs, as_sources
from bers.errors import DataError, DataWarning
from bers.optimise.rows import told_numbers
from bers.text import printable

_SAME = 1e-9  # of a column's range: rows that are one experiment
_Pair = tuple[Float64[np.ndarray, "n D"], Float64[np.ndarray, " n"]]


@dataclass(frozen=True)
class Candidates:
    """All experiments that could be done, each once."""

    given: Any
    """As it was given: a frame or an array."""
    x: Float64[np.ndarray, "n D"]
    """In the unit cube."""
    at: Int[np.ndarray, " n"]
    """Where each stands in what was given."""
    low: Float64[np.ndarray, " D"]
    width: Float64[np.ndarray, " D"]
    names: tuple[str, ...]
    """Columns as they were given; none of an array."""
    columns: tuple[str, ...]
    """Columns behind x."""

    def rows(self, which: Int[np.ndarray, " k"]) -> Any:
        """Some of them, as a table of the kind that was given.

        >>> alike([[3.0], [4.0]], (), None)[0].rows(np.array([1])).tolist()
        [[4.0]]
        """
        places = self.at[which]
        if not self.names:
            return self.given[places]
        import narwhals as nw

        return nw.from_native(self.given)[places.tolist()].to_native()

    def one(self, which: int) -> Any:
        """One of them: a dictionary by column, or a row of an array."""
        if not self.names:
            return self.given[self.at[which]].copy()
        import narwhals as nw

        frame = nw.from_native(self.given)
        return {name: frame[name].to_list()[self.at[which]] for name in self.names}

    def places(self, rows: Any) -> list[int]:
        """Which of them the rows of a table are.

        >>> alike([[3.0], [4.0]], (), None)[0].places([[4.0], [3.0]])
        [1, 0]
        """
        found = []
        for i, row in enumerate(self._unit_rows(rows)):
            away = np.max(np.abs(self.x - row), axis=1)
            at = int(np.argmin(away))
            if not away[at] <= _SAME:
                raise DataError(
                    f"tell: row {i} is none of the candidates. Write it as it is there, leave it "
                    "out, or give a new Campaign candidates that have it."
                )
            found.append(at)
        return found

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and plain values, for a file; the index of a frame is not kept.

        >>> arrays, about = alike([[3.0], [4.0]], (), None)[0].parts()
        >>> Candidates.of_parts(arrays, about).rows(np.array([1])).tolist()
        [[4.0]]
        """
        arrays = {name: getattr(self, name) for name in ("x", "at", "low", "width")}
        about: dict[str, Any] = {"columns": list(self.columns), "names": list(self.names)}
        if not self.names:
            return arrays | {"given": self.given}, about
        import narwhals as nw

        frame = nw.from_native(self.given)
        about |= {"backend": str(frame.implementation), "words": {}}
        for i, name in enumerate(frame.columns):
            values = frame[name].to_numpy()
            if values.dtype.kind in "biuf":
                arrays[f"column.{i}"] = values
            else:
                about["words"][str(i)] = [str(word) for word in frame[name].to_list()]
        return arrays, about

    @classmethod
    def of_parts(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> "Candidates":
        """What `parts` took apart.

        >>> import pandas as pd
        >>> table = pd.DataFrame({"base": ["a", "b"], "hours": [1, 2]})
        >>> again = Candidates.of_parts(*alike(table, (), None)[0].parts())
        >>> again.one(1), type(again.rows(np.array([0]))).__name__
        ({'base': 'b', 'hours': 2}, 'DataFrame')
        """
        names, given = tuple(about["names"]), arrays.get("given")
        if names:
            import narwhals as nw

            words = about["words"]
            columns = {
                name: words[str(i)] if str(i) in words else arrays[f"column.{i}"]
                for i, name in enumerate(names)
            }
            given = nw.from_dict(columns, backend=about["backend"]).to_native()
        places = (arrays[name] for name in ("x", "at", "low", "width"))
        return cls(given, *places, names, tuple(about["columns"]))

    def _unit_rows(self, rows: Any) -> np.ndarray:
        if not self.names:
            x = _array(rows, "tell: rows")
        elif not is_frame(rows):
            raise DataError(
                "tell: rows must be a data frame with the candidates' columns; got "
                f"{type(rows).__name__}. Give the rows that ask() gave."
            )
        else:
            x = as_inputs(_selected(rows, self.names), self.columns)
        if x.shape[1] != len(self.low):
            raise DataError(f"tell: rows have {x.shape[1]} columns, candidates {len(self.low)}.")
        return (np.asarray(x, float) - self.low) / self.width


def alike(candidates: Any, sources: Any, y: str | None) -> tuple[Candidates, dict[str, _Pair]]:
    """The list, and earlier campaigns by name, all in the same columns of the unit cube.

    >>> found, past = alike([[3.0], [5.0]], {"a": ([[4.0], [5.0]], [1.0, 2.0])}, None)
    >>> found.x.tolist(), past["a"][0].tolist()
    ([[0.0], [1.0]], [[0.5], [1.0]])
    """
    framed = is_frame(candidates)
    given = _collected(candidates) if framed else _array(candidates, "candidates")
    names = tuple(map(str, frame_table(given, "candidates").column_names)) if framed else ()
    if not len(given):
        raise DataError("candidates has no rows. Give one for each experiment that could be done.")
    if framed:
        _refuse_empty_cells(frame_table(given, "candidates"))
    every: dict[str, Any] = {"candidates": (given, np.zeros(len(given)))}
    for name, one in _listed(sources):
        every[name if name not in every else f"{name}'"] = _of_result(one)
    found, _ = as_sources(every, x=names or None, y=y, drop_nonfinite=True, categories=framed)
    own, past = found[0], {one.name: one for one in found[1:]}
    if own.n != len(given):
        raise DataError("candidates has values that are missing. Fill them, or leave rows out.")
    rows = np.concatenate([np.asarray(one.x, float) for one in found if one.n])  # pyright: ignore
    _say_what_is_elsewhere(own, past)
    low, width = rows.min(axis=0), np.ptp(rows, axis=0)
    width = np.where(width > 0, width, 1.0)
    x = (np.asarray(own.x, float) - low) / width  # pyright: ignore
    at = np.sort(np.unique(x, axis=0, return_index=True)[1])
    pairs = {
        name: ((np.asarray(one.x, float) - low) / width, np.asarray(one.y, float))  # pyright: ignore
        for name, one in past.items()
    }
    columns = tuple(getattr(own, "x_names", ()))
    return Candidates(given, x[at], at, low, width, names, columns), pairs


def _refuse_empty_cells(table: Any) -> None:
    """Of the list; those of earlier campaigns are left out with a warning."""
    for name in map(str, table.column_names):
        empty = table.column(name).is_null(nan_is_null=True).to_pylist()
        if any(empty):
            raise DataError(
                f"candidates: {sum(empty)} of {len(empty)} rows have no value in the column "
                f"'{printable(name)}', the first is row {empty.index(True)}, counted from 0. Fill "
                "it, or leave these rows out."
            )


def _say_what_is_elsewhere(own: Any, past: Mapping[str, Any]) -> None:
    """Warn of earlier campaigns that share no stretch of a column with the list: of other units?

    Where a campaign has one value only, such as its temperature, it may be next to the list's.
    """
    here = np.asarray(own.x, float)
    names = getattr(own, "x_names", ()) or tuple(f"column {j}" for j in range(here.shape[1]))
    for source, one in past.items():
        there = np.asarray(one.x, float)
        for j, name in enumerate(names if one.n else ()):
            (low, high), (least, most) = _ends(here[:, j]), _ends(there[:, j])
            gap, spreads = max(least - high, low - most), (high - low, most - least)
            if _is_word(here[:, j]) and _is_word(there[:, j]):
                continue
            if gap > (0 if min(spreads) > 0 else max(spreads)) and max(spreads) > 0:
                warnings.warn(
                    f"'{printable(source)}': {printable(name)} goes from {least:g} to {most:g}, "
                    f"outside the candidates' {low:g} to {high:g}, so it says little of them. Is "
                    "it in other units? Give all campaigns the same.",
                    DataWarning,
                    stacklevel=4,
                )


def _ends(x: Float64[np.ndarray, " n"]) -> tuple[float, float]:
    return float(x.min()), float(x.max())


def _is_word(x: Float64[np.ndarray, " n"]) -> bool:
    return bool(np.isin(x, (0, 1)).all())


def with_values(rows: Any, y: Any) -> tuple[Any, Float64[np.ndarray, " n"]]:
    """Rows and their values, which may be a column among them.

    >>> import pandas as pd
    >>> with_values(pd.DataFrame({"a": [1.0], "pay": [2.0]}), "pay")[1].tolist()
    [2.0]
    """
    if isinstance(y, str):
        if not is_frame(rows):
            raise DataError(f"tell: {printable(y)!r} names no column: rows are no data frame.")
        import narwhals as nw

        frame = nw.from_native(_collected(rows))
        if y not in frame.columns:
            raise DataError(
                f"tell: there is no column {printable(y)!r}; rows have {', '.join(frame.columns)}."
            )
        y = frame[y].to_numpy()
    elif is_column(y):
        import narwhals as nw

        y = nw.from_native(y, series_only=True).to_numpy()
    values = np.atleast_1d(told_numbers(y, "y")).ravel()
    if np.isinf(values).any():
        raise DataError(
            f"tell: value {int(np.argmax(np.isinf(values)))} is infinite. Tell a finite number, or "
            "nan where an experiment failed."
        )
    return rows, values


def _listed(sources: Any) -> list[tuple[str, Any]]:
    sources = () if sources is None else sources
    many = isinstance(sources, Mapping | Sequence) and not isinstance(sources, str | bytes)
    if not many or (isinstance(sources, Mapping) and {"x_all", "fun_all"} <= set(sources)):
        raise DataError(
            f"sources must be a list of earlier campaigns; got {type(sources).__name__}. Put it "
            "in [ ]."
        )
    if isinstance(sources, Mapping):
        return [(str(name), one) for name, one in sources.items()]
    return [(f"campaign {i}", one) for i, one in enumerate(sources)]


def _of_result(one: Any) -> Any:
    """A result of a campaign as rows and values."""
    if isinstance(one, Mapping) and {"x_all", "fun_all"} <= set(one):
        return one["x_all"], one["fun_all"]
    return one


def _collected(frame: Any) -> Any:
    import narwhals as nw

    found = nw.from_native(frame)
    return found.collect().to_native() if isinstance(found, nw.LazyFrame) else frame


def _selected(frame: Any, names: Sequence[str]) -> Any:
    import narwhals as nw

    found = nw.from_native(_collected(frame))
    lost = [name for name in names if name not in found.columns]
    if lost:
        raise DataError(
            f"tell: rows lack the column {printable(lost[0])!r}. Give all of the candidates'."
        )
    return found.select(list(names)).to_native()


def _array(given: Any, what: str) -> np.ndarray:
    try:
        x = np.asarray(given, np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{what} must be a data frame, or rows of numbers; got {type(given).__name__}."
        ) from error
    if x.ndim != 2 or not np.isfinite(x).all():
        raise DataError(f"{what} must be finite numbers of shape (rows, columns); got {x.shape}.")
    return x
