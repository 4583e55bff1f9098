"""Calls of the public API that are right but for one argument, and values that are odd."""

import decimal
import fractions
import pathlib

import numpy as np

import bers
from bers import schedules, transforms
from bers.data.given import as_rows, as_source
from bers.parallel import map_of

ODD = [
    *(None, True, False, 0, 1, -1, -5, 3, 2**63, 10**30, 0.0, 0.5, -0.5, 1.5, 1e308, 1j),
    *(float("nan"), float("inf"), -float("inf"), np.float64(0.5), np.int8(-3), np.nan),
    *("", "a", "nowhere.csv", "\ud800", "\0", "x" * 5000, b"", b"a", memoryview(b"abc")),
    *([], [[]], [1], [[1, 2], [3]], ["a"], [None], [True], (), (1,), (1, 2), ("a", "b")),
    *({}, {"a": 1}, {1: 2}, set(), {1}, range(3), slice(None), Ellipsis, NotImplemented),
    *(object(), lambda *a, **k: None, np.random.default_rng(0), transforms.Log1p()),
    *(decimal.Decimal("0.5"), fractions.Fraction(1, 2), pathlib.Path("nowhere")),
    *(np.array(1.0), np.array([]), np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((2, 2))),
    *(np.zeros(3), np.ones((2, 2, 2)), np.array(["a"]), np.array([None]), np.array([1j])),
    *(np.array(["2020-01-01"], "M8[D]"), np.array([(1, 2)], "i4,i4"), np.array([True] * 3)),
    *(np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), np.ma.array([[1.0]] * 3, mask=[[1]] * 3)),
    *(np.array([1.0, np.nan, np.inf]), np.array([1e308] * 3), np.array([2**62] * 3)),
]
"""What somebody may hand over by mistake."""


def calls(folder):
    """Functions with arguments that are right, by name; small, since each is called often."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=3)
    d = bers.Demonstrations(x, y, "alice")
    bers.save(d, folder / "a.npz")
    bers.save(d, folder / "a.parquet", rows_per_group=1)
    (folder / "a.csv").write_text("a,b,y\n1,2,3\n4,5,6\n")
    shards = bers.load(folder / "a.parquet", stream=True)
    record = {"x": x, "y": y, "name": "alice"}
    steps = {"observation": x, "action": y, "reward": y, "next_observation": x}
    steps |= {"terminated": [0, 0, 1], "truncated": [0, 0, 0], "name": "alice"}
    more = {"payload": None, "transforms": (), "x_names": (), "y_name": "y"}
    chosen = {"x": ["a"], "y": "y", "drop_nonfinite": False, "csv": None}
    how = {"name": "a", "payload": None, "stream": None, "max_bytes": 10**6, "inputs": None}
    parquet = {"path": folder / "a.parquet", "x": ["x0"], "y": "y", "name": "a"}
    draw = {"rng": rng, "batches": 1, "size": 2}
    half = {"rng": rng, "fraction": 0.5}
    return {
        "Demonstrations": (bers.Demonstrations, record | more),
        "build": (bers.Demonstrations.build, record | {"drop_nonfinite": True, "origin": ""}),
        "from_transitions": (
            bers.Demonstrations.from_transitions,
            steps | {"inputs": None, "n_actions": None},
        ),
        "blocks": (lambda rows: list(d.blocks(rows)), {"rows": 2}),
        "draw": (d.draw, draw),
        "split": (d.split, half),
        "take": (d.take, {"rows": [0]}),
        "select": (d.select, {"columns": ["x0"]}),
        "renamed": (d.renamed, {"name": "bob"}),
        "transformed": (lambda t: d.transformed(t), {"t": transforms.Standardise()}),
        "shards.blocks": (lambda rows: list(shards.blocks(rows)), {"rows": 2}),
        "shards.draw": (shards.draw, draw),
        "shards.split": (shards.split, half),
        "shards.select": (shards.select, {"columns": ["x0"]}),
        "shards.renamed": (shards.renamed, {"name": "bob"}),
        "load csv": (bers.load, {"path": folder / "a.csv", **how, **chosen}),
        "load npz": (bers.load, {"path": folder / "a.npz", "x": "x", "y": "y", "payload": None}),
        "load parquet": (bers.load, {**parquet, "payload": None, "stream": True}),
        "Shards.open": (bers.Shards.open, {**parquet, "max_bytes": 10**6}),
        "save": (bers.save, {"demonstrations": d, "path": folder / "b.npz", "rows_per_group": 2}),
        "save parquet": (bers.save, {"demonstrations": d, "path": folder / "b.parquet"}),
        "as_sources": (
            bers.as_sources,
            {"sources": [folder / "a.csv"], "target": folder / "a.csv", "categories": False}
            | chosen,
        ),
        "as_source": (as_source, {"given": (x, y), "name": "a"}),
        "as_rows": (as_rows, {"x": x, "y": y, "like": [d]}),
        "CSV": (bers.CSV, {"sep": None, "decimal": ".", "encoding": None, "missing": ()}),
        "Trim": (transforms.Trim, {"low": 0.1, "high": 0.9}),
        "Power": (schedules.Power, {"rho": 0.9}),
        "Constant": (schedules.Constant, {"p": 0.9}),
        "Linear": (schedules.Linear, {"p": 0.9, "until": 10}),
        "map_of": (map_of, {"workers": 1}),
    }
