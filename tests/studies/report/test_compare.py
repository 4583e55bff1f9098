"""Two sets of journals side by side: the numbers are those of the journals."""

import json

import numpy as np
import pytest
from bers_studies.cli import app
from bers_studies.report.compare import compare
from bers_studies.runner.journal import write_journal
from report_helpers import record, write_trials
from typer.testing import CliRunner

from bers.errors import FileError


def runs(folder, last, methods=("BERS", "None"), panel="Ackley"):
    return write_trials(
        folder,
        [[record([1.0, float(v)], panel=panel, method=m) for m in methods] for v in last],
    )


def test_scores_and_probability(tmp_path):
    one = runs(tmp_path / "a", [0.1, 0.01, 0.1])
    other = runs(tmp_path / "b", [0.01, 0.001, 0.01])
    row, _ = compare(one, other)
    assert (row.target, row.method) == ("Ackley", "BERS")
    assert row.one.mean == pytest.approx((-0.5 - 1 - 0.5) / 3)
    assert row.other.mean == pytest.approx((-1 - 1.5 - 1) / 3)
    assert row.better == pytest.approx(8 / 9)  # 7 of 9 pairs, and two ties
    assert row.low <= row.better <= row.high
    assert (row.one.trials, row.other.trials) == (3, 3)
    assert row.notes == []


def test_trials_of_the_same_seeds_are_compared_and_said(tmp_path):
    one = runs(tmp_path / "a", [0.1, 0.01, 1e-9])
    other = runs(tmp_path / "b", [0.01, 0.001])
    row, _ = compare(one, other)
    assert row.one.mean == pytest.approx((-0.5 - 1) / 2)  # without the third, which has no partner
    assert row.other.mean == pytest.approx((-1 - 1.5) / 2)
    assert row.notes == ["3 and 2 trials: the 2 of the same seeds are compared"]
    assert np.isnan(row.low)  # of two trials there is no interval
    said = CliRunner().invoke(app, ["compare", str(one), str(other)])
    assert "Unequal runs: 3 and 2 trials: the 2 of the same seeds are compared." in said.output


def test_curves_are_compared_as_far_as_both_go(tmp_path):
    sides = {"a": [1.0, 0.1, 1e-9, 1e-9], "b": [1.0, 0.01]}
    for name, curve in sides.items():
        trials = [[record(curve, panel="Ackley", method="BERS")] for _ in range(3)]
        write_trials(tmp_path / name, trials)
    (row,) = compare(tmp_path / "a", tmp_path / "b")
    assert (row.one.mean, row.other.mean) == (pytest.approx(-0.5), pytest.approx(-1.0))
    assert row.better == 1.0
    assert row.notes == ["curves have 4 and 2 values: the first 2 are compared"]
    assert row.to_dict()["one"]["length"] == 4


def test_without_a_seed_in_common_all_trials_count(tmp_path):
    one = runs(tmp_path / "a", [0.1, 0.01])
    trials = [[record([1.0, 0.01], panel="Ackley", method="BERS")]] * 3
    write_trials(tmp_path / "b", trials)
    for seed in range(3):
        path = tmp_path / "b" / f"trial-{seed:04d}.jsonl"
        write_journal(path, {"seed": seed + 10}, trials[seed])
    (row,) = compare(one, tmp_path / "b")
    assert (row.one.trials, row.other.trials) == (2, 3)
    assert row.notes == ["2 and 3 trials, none of the same seed: all are compared"]


def test_more_is_better_for_profit(tmp_path):
    for name, level in (("a", 1.0), ("b", 2.0)):
        trials = [
            [{"truth": "1", "method": "BERS", "profit": [level, level + s]}] for s in range(3)
        ]
        write_trials(tmp_path / name, trials)
    (row,) = compare(tmp_path / "a", tmp_path / "b")
    assert row.target == "scenario 1"
    assert row.one.mean == pytest.approx(1.5)
    assert row.better == pytest.approx((6 + 0.5 * 1 + 2) / 9)


def test_only_what_both_have_is_compared(tmp_path):
    one = runs(tmp_path / "a", [0.1, 0.2], methods=("BERS", "UCB"))
    other = runs(tmp_path / "b", [0.1, 0.2], methods=("None", "BERS"))
    assert [row.method for row in compare(one, other)] == ["BERS"]
    strange = runs(tmp_path / "c", [0.1, 0.2], panel="Sphere")
    with pytest.raises(FileError, match="in common"):
        compare(one, strange)
    profit = write_trials(tmp_path / "d", [[{"truth": "1", "method": "a", "profit": [1.0]}]])
    with pytest.raises(FileError, match="one kind"):
        compare(one, profit)


def test_the_command_prints_a_table_and_json(tmp_path):
    one, other = runs(tmp_path / "a", [0.1, 0.01]), runs(tmp_path / "b", [0.01, 0.001])
    said = CliRunner().invoke(app, ["compare", str(one), str(other)])
    assert said.exit_code == 0
    assert "0.88" in said.output
    told = CliRunner().invoke(app, ["compare", str(one), str(other), "--json"])
    rows = json.loads(told.output)
    assert [row["method"] for row in rows] == ["BERS", "None"]
    assert rows[0]["better"] == 0.875
    alike = runs(tmp_path / "c", [0.1])
    rows = json.loads(CliRunner().invoke(app, ["compare", str(alike), str(alike), "--json"]).output)
    assert rows[0]["one"]["low"] is None
    assert np.isclose(rows[0]["better"], 0.5)
