"""From raw values to the checked fields of one record.

Enter: what the caller passed, by field name. Leave: the same fields as private, read-only
copies that agree with each other, or an error that names the column, row and count.
"""

import warnings
from collections.abc import Mapping
from typing import Any

from bers.data.checks import (
    LARGEST,
    checked_name,
    column_names,
    data_error,
    features,
    good_rows,
    labels,
    payloads,
    printable,
    read_only,
    refuse_bad,
)
from bers.data.transforms import KINDS
from bers.errors import DataWarning


def checked_fields(
    values: Mapping[str, Any], *, drop_nonfinite: bool = False, origin: str = ""
) -> dict[str, Any]:
    """Check x, y, name, payload, transforms, x_names and y_name together.

    >>> checked_fields({"x": [[1, 2]], "y": [3], "name": "a"})["x_names"]
    ('x0', 'x1')
    """
    name = checked_name(values["name"], origin=origin)
    y_name = values.get("y_name", "y")
    given = values.get("x_names") or ()
    x = features(values["x"], given, y_name, origin)
    x_names = column_names(given, y_name, x.shape[1], origin)
    y = labels(values["y"], y_name, len(x), origin)
    payload = payloads(values.get("payload"), len(x), origin)
    if drop_nonfinite:
        good = good_rows(x, y)
        if not good.all():
            warn_dropped(name, int((~good).sum()), len(x), origin)
            x, y = x[good], y[good]
            payload = {k: v[good] for k, v in payload.items()}
    refuse_bad(x, y, x_names, y_name, origin)
    return {
        "x": read_only(x),
        "y": read_only(y),
        "name": name,
        "payload": payload,
        "transforms": _checked_transforms(values.get("transforms", ()), origin),
        "x_names": x_names,
        "y_name": y_name,
    }


def _checked_transforms(transforms: Any, origin: str) -> tuple:
    for transform in transforms if isinstance(transforms, (tuple, list)) else [transforms]:
        if type(transform) not in KINDS.values() or not transform.fitted:
            raise data_error(
                f"transforms must hold fitted transforms; got {printable(repr(transform))}. "
                "Use transformed(...) to fit and apply one.",
                origin,
            )
    return tuple(transforms)


def warn_dropped(name: str, count: int, n: int, origin: str) -> None:
    """Say how many rows were left out.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_dropped("alice", 1, 5, "a.csv")
    >>> str(caught[0].message)
    "a.csv: 'alice': dropped 1 of 5 rows with values that are not finite or beyond ±1e+150."
    """
    where = f"{origin}: " if origin else ""
    warnings.warn(
        f"{where}{printable(name)!r}: dropped {count} of {n} rows with values that are "
        f"not finite or beyond ±{LARGEST:g}.",
        DataWarning,
        stacklevel=4,
    )
