"""Journals: what a trial was, what it found, and how it ended, in one file that cannot lie.

Enters: a header (config, seed, provenance), records, and the traceback of a trial that failed.
Leaves: a file of JSON lines, written atomically; or, read back, a `Journal`. The first line is the
header, then come the records, the last line says how it ended. Every line carries the SHA-256 of
its own canonical JSON, and the last one that of all lines before it, so a flipped byte, a lost
line or a swapped one is found. JSON has no NaN and no infinity; they are written as
{"$float": "nan"}, {"$float": "inf"} and {"$float": "-inf"}, and come back as floats.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bers.errors import DataError, FileError
from bers.files import read_regular, write_atomically
from bers.integrity import text_digest as _sha
from bers.text import printable

_TAG = "$float"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_AGAIN = "Delete the file and run the same command again; only what was in it is done again."


@dataclass(frozen=True)
class Journal:
    """One trial, read back.

    >>> Journal({"seed": 3}, ({"best": 0.5},)).failed
    False
    """

    header: dict[str, Any]
    """Config, seed, provenance."""
    records: tuple[dict[str, Any], ...]
    """What the trial found, in order; of a failed trial, what it had found until then."""
    traceback: str | None = None
    """Of a failed trial."""

    @property
    def failed(self) -> bool:
        """Whether the trial ended with an error."""
        return self.traceback is not None


def plain(value: object, where: str = "a record") -> Any:
    """A value as JSON has it: arrays become lists, NaN and infinities become tagged objects.

    >>> plain({"best": float("inf"), "at": (1, 2)})
    {'best': {'$float': 'inf'}, 'at': [1, 2]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_TAG: repr(float(value))}
    if isinstance(value, list | tuple):
        return [plain(item, where) for item in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key == _TAG:
                raise DataError(
                    f"{where} has the key {key!r}; keys must be text other than {_TAG!r}. "
                    "Rename it."
                )
        return {key: plain(item, f"{where}, key {key!r}") for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy's and JAX's arrays and numbers
        return plain(value.tolist(), where)  # pyright: ignore[reportAttributeAccessIssue]
    raise DataError(
        f"{where} has a {type(value).__name__}; a journal takes numbers, text, lists, arrays and "
        "dicts of them. Turn it into one of these first."
    )


def restored(value: Any) -> Any:
    """What `plain` made, with NaN and infinities as floats again.

    >>> restored({"best": {"$float": "inf"}, "at": [1, 2]})
    {'best': inf, 'at': [1, 2]}
    """
    if isinstance(value, list):
        return [restored(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {_TAG}:
            return _NOT_FINITE[value[_TAG]]
        return {key: restored(item) for key, item in value.items()}
    return value


def canonical(value: object) -> str:
    """The one way to write a plain value as JSON: sorted keys, no spaces, ASCII.

    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seal(value: Mapping[str, object]) -> str:
    """One line of JSON that carries its own SHA-256.

    >>> seal({"seed": 3})[-20:]
    '","line":{"seed":3}}'
    """
    line = plain(value)
    return canonical({"check": _sha(canonical(line)), "line": line})


def unseal(text: bytes, where: str) -> dict[str, Any]:
    """What was sealed; a line that is damaged or foreign is refused.

    >>> unseal(seal({"seed": 3}).encode(), "notes.json, line 1")
    {'seed': 3}
    """
    try:
        line = restored(json.loads(text)["line"])
        if isinstance(line, dict) and text.decode() == seal(line):
            return line
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise FileError(f"{where}: damaged, or not written by BERS. {_AGAIN}")


def write_journal(
    path: str | os.PathLike[str],
    header: Mapping[str, object],
    records: Iterable[Mapping[str, object]],
    *,
    traceback: str | None = None,
) -> None:
    """Write one trial; with a traceback, as one that failed.

    >>> write_journal("trial.jsonl", {"seed": 3}, [{"best": 0.5}])
    >>> read_journal("trial.jsonl").records
    ({'best': 0.5},)
    """
    lines = [seal({"header": header}), *(seal({"record": record}) for record in records)]
    status = "ok" if traceback is None else "failed"
    closing = {"status": status, "records": len(lines) - 1, "traceback": traceback}
    lines.append(seal({**closing, "before": _sha("\n".join(lines))}))
    with write_atomically(path) as temporary:
        temporary.write_bytes(("\n".join(lines) + "\n").encode())


def read_journal(path: str | os.PathLike[str]) -> Journal:
    """Read one trial back, every check checked.

    >>> write_journal("trial.jsonl", {"seed": 3}, [], traceback="ValueError: no")
    >>> read_journal("trial.jsonl").failed
    True
    """
    name = printable(str(path), 200)
    content = read_regular(path)
    if not content:
        raise FileError(f"{name}, line 1: the file is empty. {_AGAIN}")
    *texts, rest = content.split(b"\n")
    if rest:
        raise FileError(f"{name}, line {len(texts) + 1}: the file is cut off. {_AGAIN}")
    lines = [unseal(text, f"{name}, line {i}") for i, text in enumerate(texts, start=1)]
    closing = lines[-1]
    if "status" not in closing:
        raise FileError(f"{name}, line {len(lines)}: the file is cut off after it. {_AGAIN}")
    for i, line in enumerate(lines[:-1], start=1):
        if not isinstance(line.get("header" if i == 1 else "record"), dict):
            raise FileError(f"{name}, line {i}: out of place. {_AGAIN}")
    if len(lines) < 2 or closing.get("before") != _sha(b"\n".join(texts[:-1]).decode()):
        raise FileError(f"{name}, line {len(lines)}: lines before it are lost or new. {_AGAIN}")
    records = tuple(line["record"] for line in lines[1:-1])
    return Journal(lines[0]["header"], records, closing.get("traceback"))


def read_journals(folder: str | os.PathLike[str]) -> list[Journal]:
    """All journals (*.jsonl) of a folder, sorted by seed.

    >>> Path("trials").mkdir()
    >>> for seed in (10, 9):
    ...     write_journal(f"trials/{seed}.jsonl", {"seed": seed}, [])
    >>> [journal.header["seed"] for journal in read_journals("trials")]
    [9, 10]
    """
    if not Path(folder).is_dir():
        raise FileError(f"there is no folder {printable(str(folder), 200)}. Check the path.")
    found: dict[int, tuple[Path, Journal]] = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        journal = read_journal(path)
        _check_header(journal.header, printable(str(path), 200))
        seed = journal.header["seed"]
        if seed in found:  # it would count twice, and fake precision
            other = printable(found[seed][0].name)
            raise FileError(
                f"{printable(str(path), 200)} and {other} are of one seed, {seed}. Move one of "
                "them out of the folder."
            )
        found[seed] = path, journal
    return [found[seed][1] for seed in sorted(found)]


def _check_header(header: Mapping[str, Any], name: str) -> None:
    """Raise where a header is not what a trial's is."""
    kinds = {"seed": int, "name": str, "code": str, "config": dict, "provenance": dict}
    for key, kind in kinds.items():
        if key in header and (type(header[key]) is not kind):
            raise FileError(f"{name}, line 1: {key} is no {kind.__name__}. {_AGAIN}")
    if "seed" not in header:
        raise FileError(
            f"{name}, line 1: the header names no seed. "
            "Move files that are not journals of trials out of the folder."
        )
    for key, value in header.get("provenance", {}).items():
        if key == "seconds" and not isinstance(value, int | float):
            raise FileError(f"{name}, line 1: seconds is no number. {_AGAIN}")
