"""Calls of the public API that are right but for one argument, and values that are odd."""

import decimal
import fractions
import pathlib
from dataclasses import fields

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


def model_calls(folder):
    """The same for what trains, weighs and searches, as small as it can be."""
    rng = np.random.default_rng(0)

    def source(name):
        x = rng.uniform(size=(12, 2))
        return bers.Demonstrations(x, x[:, 0], name)

    def sphere(x):
        return float(np.sum(np.asarray(x) ** 2))

    def own(settings):
        return {field.name: getattr(settings, field.name) for field in fields(settings)}

    def searched(learner, **more):
        return bers.minimize(sphere, box, learner=learner, maxfun=12, rng=0, **more)

    box, both = [(-1.0, 1.0)] * 2, [source("alice"), source("bob")]
    quick = bers.ModelConfig(hidden=(4,), latent_dim=2, batches=2, batch_size=8)
    x = rng.uniform(size=(6, 2))
    trust = bers.Trust(both, model=quick, progress=False)
    told, found = trust.observe(x, x[:, 0]), searched(None)
    model, optimizer = trust.model, bers.Optimizer(box, rng=0)
    told.save(folder / "trust.bers")
    bers.save_model(model, folder / "model.bers")
    optimizer.save(folder / "run.bers")
    silent = {"rng": 0, "progress": False}
    search = {"maxiter": 2, "maxfun": 12, "callback": None, "workers": 1, "vectorized": False}
    search |= silent
    trusting = {"rule": "odds", "batches": 0, "frozen": True, "prior": "sources", "robust": True}
    trusting |= {"subset": None, "transform": None, "keep": None, "remember": None}
    drawn = {"draws": 4, "level": 0.9, "rng": 0}
    return {
        "ModelConfig": (bers.ModelConfig, own(quick)),
        "fit": (bers.fit, {"sources": both, "config": quick, "workers": 1} | silent),
        "refine": (
            bers.refine,
            {"model": model, "sources": both, "batches": 1, "subset": 4, "workers": 1} | silent,
        ),
        "Trust": (
            bers.Trust,
            {"sources": both, "model": model, "predicts": True, "workers": 1} | trusting | silent,
        ),
        "observe": (trust.observe, {"x": x, "y": x[:, 0], "gain": None}),
        "predict": (told.predict, {"x": x}),
        "relabel": (told.relabel, {"x": x, "rewards": None, "source": None, "pessimism": 0.0}),
        "ranking": (told.ranking, drawn),
        "worth": (
            told.worth,
            {"horizon": None, "discount": 1.0, "best": None, "than": None, "level": 0.9, "rng": 0},
        ),
        "weights_by": (told.weights_by, {"rule": "odds", "last": None}),
        "Trust.save": (told.save, {"path": folder / "other.bers"}),
        "Trust.load": (
            bers.Trust.load,
            {"path": folder / "trust.bers", "sources": both, "workers": None},
        ),
        "rank": (
            bers.rank,
            {"sources": both, "target": source("new"), "rule": "odds", "model": model}
            | {"transform": None, "x": None, "y": None, "drop_nonfinite": False, "workers": None}
            | drawn | {"progress": False},
        ),
        "CMAES": (lambda **some: searched(bers.CMAES(**some)), own(bers.CMAES())),
        "DE": (lambda **some: searched(bers.DE(**some)), own(bers.DE())),
        "ReuseConfig": (
            lambda **some: searched(
                None, sources=both, model=model, reuse=bers.ReuseConfig(**some)
            ),
            own(bers.ReuseConfig()),
        ),
        "minimize": (
            bers.minimize,
            {"fun": sphere, "bounds": box, "args": (), "sources": (), "learner": None}
            | {"reuse": None, "model": None, "x0": None} | search,
        ),
        "minimize_many": (
            bers.minimize_many,
            {"funs": [sphere, sphere], "bounds": box, "sources": (), "reuse": None}
            | {"learner": bers.DE(population=5), "model": quick} | search | {"maxiter": 1},
        ),
        "Optimizer": (
            bers.Optimizer,
            {"bounds": box, "sources": (), "learner": None, "reuse": None, "model": None}
            | {"x0": None, "integrality": None, "constraints": None} | silent,
        ),
        "Space": (
            lambda **some: bers.minimize(sphere, bers.Space(**some), maxfun=6, rng=0),
            {"bounds": box, "integrality": None, "constraints": (), "vectorized": False},
        ),
        "ask": (bers.Optimizer(box, rng=0).ask, {"n": 2}),
        "tell": (bers.Optimizer(box, rng=0).tell, {"x": [[0.0, 0.5]], "y": [1.0]}),
        "Optimizer.save": (optimizer.save, {"path": folder / "other.bers"}),
        "Optimizer.load": (bers.Optimizer.load, {"path": folder / "run.bers"}),
        "save_model": (bers.save_model, {"model": model, "path": folder / "other.bers"}),
        "load_model": (bers.load_model, {"path": folder / "model.bers"}),
        "save_page": (bers.save_page, {"run": found, "path": folder / "p.html", "title": None}),
    }  # fmt: skip
