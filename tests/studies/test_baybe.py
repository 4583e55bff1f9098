"""Reactions beside BayBE: a small table of our own, and a stand-in for the other environment."""

import sys

import numpy as np
import pandas as pd
import pytest
from bers_studies.baybe import study as baybe
from bers_studies.baybe.claims import claims
from bers_studies.baybe.tables import counts, ends, share, tables
from bers_studies.reactions.problems import Reaction
from bers_studies.report.curves import Runs
from bers_studies.rivals import baybe_apart

from bers.errors import BersError, ConfigError


def reaction(name, best):
    rows = [(a, b) for a in "pqrstu" for b in "vwxyz"]
    far = [abs("pqrstu".index(a) - best[0]) + abs("vwxyz".index(b) - best[1]) for a, b in rows]
    return Reaction("t", name, pd.DataFrame(rows, columns=["a", "b"]), 90 - 10.0 * np.array(far))


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program in BayBE's place that takes conditions in their order."""
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys\n"
        "given = json.load(sys.stdin)\n"
        "first = 5 * len(given['sources'])\n"
        "good = [i for i, y in enumerate(given['yields']) if y >= given['enough']]\n"
        "last = min(good[0], first + given['trials'] - 1)\n"
        "print('a word'); print(json.dumps({'tried': list(range(first, last + 1))}))\n"
    )
    monkeypatch.setattr(baybe_apart, "PROGRAM", program)
    monkeypatch.setenv("BERS_BAYBE", sys.executable)


def test_the_other_environment_is_told_all_and_answers_with_numbers(stand_in, monkeypatch):
    told = baybe.told(reaction("new", (3, 2)))
    assert told["conditions"][7] == ["q", "x"]
    tried = baybe_apart.tried(told, [], enough=90.0, trials=60, seed=0)
    assert tried == list(range(18))
    assert told["yields"][tried[-1]] == 90
    assert baybe_apart.tried(told, [told], enough=90.0, trials=4, seed=0) == [5, 6, 7, 8]
    monkeypatch.setattr(baybe_apart, "PROGRAM", "nowhere.py")
    with pytest.raises(BersError, match=r"ended with: .*nowhere.py.*Check that environment"):
        baybe_apart.tried(told, [], enough=90.0, trials=4, seed=0)
    monkeypatch.delenv("BERS_BAYBE")
    with pytest.raises(ConfigError, match="needs an environment of its own.*set BERS_BAYBE"):
        baybe_apart.tried(told, [], enough=90.0, trials=4, seed=0)


def test_methods_stop_at_the_top_and_earlier_reactions_help(stand_in):
    target, past = reaction("new", (3, 2)), [reaction("a", (3, 3)), reaction("b", (4, 2))]
    found = {name: run() for name, run in baybe.methods(target, past, 30, 0).items()}
    assert list(found) == ["TPE", "BERS", "BayBE", "BayBE, TaskParameter"]
    for yields in found.values():
        assert len(yields) == 30 or yields[-1] >= target.top
        assert max(yields[:-1], default=0) < target.top
    assert baybe.needed(found["BERS"], target.top) <= 6
    assert baybe.needed(found["BayBE, TaskParameter"], target.top) < len(found["BayBE"])


def test_a_combination_that_is_not_in_the_table_is_no_experiment():
    whole = reaction("new", (0, 0))
    some = Reaction("t", "new", whole.conditions[6:].reset_index(drop=True), whole.yields[6:])
    from optuna.samplers import RandomSampler

    found = baybe.searched(some, RandomSampler(seed=0), 12)
    assert set(found) <= set(some.yields.tolist())
    past = baybe.as_trials(whole, Reaction("t", "s", whole.conditions[:5], whole.yields[:5]))
    assert [trial.params["a"] for trial in past] == ["p"] * 5


def test_tables_and_claims(tmp_path, monkeypatch):
    needed = {"TPE": 40, "BERS": 10, "BayBE": 30, "BayBE, TaskParameter": 8}
    records = tuple(
        {"panel": "t", "scenario": s, "trial": k, "method": m, "needed": n + k, "steps": [[1, 2.0]]}
        for s in ("one", "two") for k in range(2) for m, n in needed.items()
    )  # fmt: skip
    runs = Runs(records, 2, 0, "runs/baybe")
    assert counts(runs, "BERS", scenario="one").tolist() == [10, 11]
    assert share(runs, "BayBE") == pytest.approx(21 / 61)
    low, high = ends(runs, "BayBE")
    assert 1 / 3 <= low <= 21 / 61 <= high <= 11 / 31
    found = {one.id: one for one in claims(runs)}
    assert found["baybe-alone"].holds
    assert not found["baybe-transfer"].holds
    assert found["baybe-alone"].measured == "10.5 against 30.5"
    monkeypatch.setattr("bers_studies.baybe.tables.read_runs", lambda _: runs)
    assert "| one | 40 41 | 10 11 | 30 31 | 8 9 |" in tables(tmp_path)
