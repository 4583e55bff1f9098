"""Two sets of journals side by side: the numbers are those of the journals."""

import json

import numpy as np
import pytest
from bers_studies.cli import app
from bers_studies.report.compare import compare
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
    other = runs(tmp_path / "b", [0.01, 0.001])
    row, _ = compare(one, other)
    assert (row.target, row.method) == ("Ackley", "BERS")
    assert row.one.mean == pytest.approx((-0.5 - 1 - 0.5) / 3)
    assert row.other.mean == pytest.approx((-1 - 1.5) / 2)
    assert row.better == pytest.approx(11 / 12)  # 5 of 6 pairs, and one tie
    assert row.low <= row.better <= row.high
    assert (row.one.trials, row.other.trials) == (3, 2)


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
