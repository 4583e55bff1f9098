"""Records are read back trial by trial, and what failed is counted only."""

import numpy as np
import pytest
from bers_studies.report.curves import (
    at,
    by_method,
    log10_mean,
    number,
    read_runs,
    span,
    table,
)
from bers_studies.runner.journal import write_journal
from report_helpers import record, write_trials

from bers.errors import FileError


def two(seed):
    share = [0.25 * seed, 1 - 0.25 * seed, 0.0]
    return [
        record([9.0, 4.0 + seed], 100 + seed, panel="Rastrigin", method="BERS", weights=share),
        record([9.0, 8.0], None, panel="Rastrigin", method="None"),
        record([9.0, 1.0], 7, "0.01", panel="Sphere", method="None"),
    ]


@pytest.fixture
def runs(tmp_path):
    bad = [record([9.0, 1e9], 1, panel="Rastrigin", method="BERS", weights=[1.0, 0.0, 0.0])]
    return read_runs(write_trials(tmp_path / "studies" / "mine", [two(0), two(1)], failed=[bad]))


def test_failed_trials_are_counted_and_left_out(runs):
    assert (runs.trials, runs.failed, runs.folder) == (2, 1, "studies/mine")
    assert len(runs.records) == 6
    assert runs.best(method="BERS").tolist() == [[9.0, 4.0], [9.0, 5.0]]
    assert runs.evaluations("Rastrigin", method="BERS").tolist() == [100, 101]


def test_trials_come_in_the_order_of_their_seeds(tmp_path):
    for name, seed in (("a", 10), ("b", 9), ("c", 0)):
        write_journal(tmp_path / f"{name}.jsonl", {"seed": seed}, [{"best": [float(seed)]}])
    runs = read_runs(tmp_path)
    assert [r["seed"] for r in runs.records] == [0, 9, 10]
    assert runs.best().tolist() == [[0.0], [9.0], [10.0]]


def test_evaluations_are_those_to_the_threshold_of_the_target(runs):
    assert runs.evaluations("Sphere", method="None").tolist() == [7, 7]
    assert runs.evaluations("Sphere", "1.0", method="None").tolist() == [np.inf, np.inf]
    assert runs.evaluations("Rastrigin", method="None").tolist() == [np.inf, np.inf]
    assert runs.evaluations("Rastrigin", "1.0", method="BERS").tolist() == [100, 101]


def test_weights_come_with_their_generations(runs):
    g, a = runs.weights(panel="Rastrigin", method="BERS")
    assert a.shape == (2, len(g), 3)
    assert g[[0, 11, 12, -1]].tolist() == [1, 12, 16, 100]
    assert a[:, 5].tolist() == [[0.0, 1.0, 0.0], [0.25, 0.75, 0.0]]


def test_values_are_named_once_in_order_of_appearance(runs):
    assert runs.values("panel") == ["Rastrigin", "Sphere"]
    assert runs.values("method") == ["BERS", "None"]
    assert runs.values("seed") == [0, 1]
    assert runs.values("kind") == []


def test_what_is_not_there_is_named(runs, tmp_path):
    missing = r"studies/mine has no records of panel Ackley, method BERS. Run the study again"
    with pytest.raises(FileError, match=missing):
        runs.pick(panel="Ackley", method="BERS")
    with pytest.raises(FileError, match="there is no folder .*nowhere. Check the path"):
        read_runs(tmp_path / "nowhere")
    write_trials(tmp_path / "lost", [], failed=[two(0)])
    with pytest.raises(FileError, match="lost holds no finished trials"):
        read_runs(tmp_path / "lost")


def test_a_damaged_journal_is_not_read_over(tmp_path):
    path = write_trials(tmp_path, [two(0), two(1)]) / "trial-0001.jsonl"
    path.write_bytes(path.read_bytes().replace(b"101", b"100"))
    with pytest.raises(FileError, match=r"trial-0001.jsonl, line 2: damaged"):
        read_runs(tmp_path)


def test_the_mean_of_logs_skips_the_first_population():
    best = np.array([[1e5, 10.0, 1.0, 0.1, 1e-9], [1e5, 1.0, 1.0, 1.0, 1.0]])
    assert log10_mean(best, 3).tolist() == [0.0, 0.0]
    assert log10_mean(best).tolist() == pytest.approx([-9 / 4, 0.0])
    assert log10_mean(np.array([[1.0, 0.0]])).tolist() == [-12.0]  # zero is taken as 1e-12


def test_a_generation_beyond_the_end_is_the_last_one():
    best = np.array([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]])
    assert at(best, 1).tolist() == [2.0, 5.0]
    assert at(best, 2).tolist() == at(best, 100).tolist() == [1.0, 4.0]


def test_cells_of_tables():
    assert [number(v) for v in (np.inf, np.nan, 0.0, 1234.5)] == ["never", "n/a", "0", "1.23e+03"]
    assert number(1234.5, "{:.0f}") == "1234"
    assert span((3.0, np.inf), "{:.0f}") == "3 to never"
    assert span((np.nan, np.nan)) == "not available"
    assert table(["a", "b", "c"], [["1", "2", "3"], ["4", "5", "6"]]) == [
        "| a | b | c |", "|---|---|---|", "| 1 | 2 | 3 |", "| 4 | 5 | 6 |",
    ]  # fmt: skip


def test_methods_come_as_asked_for_and_only_those_there_are(runs):
    found = by_method(runs, "Rastrigin", ["None", "AMTEA", "BERS"])
    assert list(found) == ["None", "BERS"]
    assert found["BERS"].tolist() == [[9.0, 4.0], [9.0, 5.0]]
    assert list(by_method(runs, "Sphere", ["BERS", "None"])) == ["None"]
