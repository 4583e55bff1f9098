"""Inputs that cannot be used, and the words they are refused with."""

import decimal

import numpy as np
import pytest

from bers.data.demonstrations import Demonstrations
from bers.errors import BersError, ConfigError, DataError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1.0, NAN], [NAN, NAN]], [1, 2], "column 'x0': 1 of 2 values are not finite .* in row 1"),
        ([[1.0, 2.0], [1.0, INF]], [1, 2], "column 'x1': 1 of 2 values are not finite .* in row 1"),
        ([1.0, 2.0, 3.0], [1, -INF, NAN], "column 'y': 2 of 3 values are not finite .* in row 1"),
        ([1.0, 1e151], [1, 2], r"column 'x0': 1 of 2 values are beyond ±1e\+150.*Rescale"),
        (
            [1.0, 2.0],
            [1, 1e308],
            r"column 'y': 1 of 2 values are beyond ±1e\+150, the first in row 1",
        ),
        ([1.0, 2.0], [-1e151, 1], "the first in row 0. Rescale the column"),
        ([1, 2], [1], "x has 2 rows but y has 1. Give one label a row"),
        ([[1], [2]], [[1], [2]], r"y must have shape \(rows,\); got \(2, 1\). Use y.ravel"),
        (np.ones((2, 2, 2)), [1, 2], r"x must have shape .*; got \(2, 2, 2\). Flatten"),
        (np.ones((2, 0)), [1, 2], r"with a column or more; got \(2, 0\)"),
        (3.0, [1], "x must have shape"),
        ([[1, 2], [3]], [1, 2], "x is not a rectangular array of numbers"),
        ([["a", "b"]], [1], "x has type <U1: column 'x0' holds .*'a'"),
        ([[1, "b"]], [1], "column 'x0' holds"),
        (
            [[1.0, None]],
            [1],
            "x has type object: column 'x1' holds None .NoneType. in row 0",
        ),
        ([[decimal.Decimal(1)]], [1], "x has type object: column 'x0' holds Decimal"),
        ([1j], [1], "x has type complex128"),
        ([1.0], ["a"], "y has type <U1: column 'y' holds"),
        ([1.0], [1 + 2j], "y has type complex128: column 'y'"),
        (np.array(["2020-01-01"], "M8[D]"), [1], "x has type datetime64"),
        (np.zeros(1, [("a", "f8")]), [1], "x has type"),
        ([2**53 + 1], [1], r"column 'x0' holds integers beyond ±2\*\*53"),
        (np.array([2**63], np.uint64), [1], "column 'x0' holds integers beyond"),
        (np.array([[0, -(2**60)]]), [1], "column 'x1' holds integers beyond"),
        ([1.0], [2**60], "column 'y' holds integers beyond"),
        ([10**400], [1], "x has type object"),
        (
            np.ma.masked_array([1, 2], [False, True]),
            [1, 2],
            "column 'x0': 1 of 2 values are not fin",
        ),
        (np.array([1e30, 1e39], np.longdouble) ** 8, [1, 2], "column 'x0'"),
        (np.array([np.inf], np.float16), [1], "column 'x0': 1 of 1 values are not finite"),
    ],
)
def test_rows_that_cannot_be_used(x, y, message):
    with pytest.raises(DataError, match=message):
        Demonstrations(x, y, "a")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, "name must be a string; got int"),
        ({"name": "\ud800"}, "is not valid text. Rename it"),
        ({"x_names": ("a",)}, "x has 2 columns but x_names has 1"),
        ({"x_names": ("a", "a")}, "two columns are named 'a'"),
        ({"x_names": ("a", "y")}, "two columns are named 'y'"),
        ({"x_names": ("a", "")}, "column name '' is empty or holds a zero"),
        ({"x_names": ("a", "b\0")}, "is empty or holds a zero"),
        ({"x_names": ("a", 3)}, "a column name must be a string; got int"),
        ({"y_name": "x0"}, "two columns are named 'x0'"),
        ({"payload": {"p": [1, 2]}}, r"payload 'p' has shape \(2,\), but x has 1 rows"),
        ({"payload": {"p": 1}}, "payload 'p' has shape"),
        ({"payload": {"p": ["a"]}}, "payload 'p' has type <U1"),
        ({"payload": {"p": [object()]}}, "payload 'p' has type object"),
        ({"payload": {"p": [1j]}}, "payload 'p' has type complex128"),
        ({"payload": {"p": np.ones(1, np.longdouble)}}, "has type .*128. Convert it to float64"),
        ({"payload": {1: [1]}}, "a payload name must be a string"),
        ({"payload": {"": [1]}}, "payload name '' is empty"),
        ({"payload": [1]}, "payload must map names to arrays; got list"),
        ({"transforms": ("sqrt",)}, "transforms must hold fitted transforms; got 'sqrt'"),
        ({"transforms": 3}, "transforms must hold fitted transforms; got 3"),
    ],
)
def test_fields_that_cannot_be_used(fields, message):
    with pytest.raises(DataError, match=message):
        Demonstrations(**{"x": [[1.0, 2.0]], "y": [1.0], "name": "a", **fields})


def test_the_named_column_is_the_users_own():
    with pytest.raises(DataError, match=r"column 'speed': 1 of 1 values are not finite"):
        Demonstrations([[1.0, NAN]], [1], "a", x_names=("mass", "speed"))
    with pytest.raises(DataError, match=r"column 'mass' holds .*'b'"):
        Demonstrations([["b", 1]], [1], "a", x_names=("mass", "speed"))


@pytest.mark.parametrize("name", ["", "a" * 10_000, "<script>", "a\nb", "../x", "é\u202e", "\0"])
def test_any_text_is_a_name(name):
    d = Demonstrations([1.0], [1.0], name)
    assert d.name == name
    assert repr(d).isprintable()


def test_every_error_is_one_family():
    for error in (DataError, ConfigError):
        assert issubclass(error, BersError)
        assert issubclass(error, ValueError)


def test_callers_objects_are_never_changed():
    x, y = np.array([[1.0, NAN], [3.0, 4.0]]), np.array([1.0, 2.0])
    payload = {"p": np.arange(2)}
    before = x.tobytes(), y.tobytes(), payload["p"].tobytes()
    with pytest.warns(Warning, match=r"dropped 1 of 2 rows"):
        Demonstrations.build(x, y, "a", payload=payload, drop_nonfinite=True)
    with pytest.raises(DataError, match=r"not finite"):
        Demonstrations(x, y, "a", payload)
    assert (x.tobytes(), y.tobytes(), payload["p"].tobytes()) == before
    assert x.flags.writeable
    assert y.flags.writeable
    assert payload["p"].flags.writeable
