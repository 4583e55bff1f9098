"""Charts of a page: the right numbers under the right names."""

import numpy as np
import pytest
from bers_studies.report.curves import Runs
from bers_studies.report.page import page
from bers_studies.report.views import groups
from bers_studies.runner.journal import write_journal


def lines_of(records, title):
    """The lines of the first chart of a group, by name."""
    found = {group.title: group for group in groups(Runs(tuple(records), 2, 0, "study"))}
    (lines,) = found[title].charts[0].lines.values()
    assert [line.name for line in lines] == found[title].names
    return {line.name: line.y for line in lines}


def test_weights_have_the_names_of_their_sources():
    rows = [[0.2, 0.5, 0.3], [0.1, 0.9, 0.0]]
    about = {"panel": "p", "method": "BERS", "returns": [1.0, 2.0], "weights": rows}
    named = about | {"names": ["left", "top", "nobody"]}
    lines = lines_of([named, named], "Weights of the sources: BERS")
    np.testing.assert_allclose(lines["top"], [0.5, 0.9])
    np.testing.assert_allclose(lines["nobody"], [0.3, 0.0])
    assert list(lines_of([about, about], "Weights of the sources: BERS"))[1] == "source 2"


def test_own_rows_of_prioritised_batches_come_first():
    makeup = [[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]
    record = {"truth": "1", "method": "PER", "profit": [1.0, 2.0], "makeup": makeup}
    lines = lines_of([record, record], "Where prioritised batches come from")
    assert lines["own rows"].tolist() == pytest.approx([0.1, 1.0])
    assert lines["source 3"].tolist() == pytest.approx([0.4, 0.0])


def test_the_page_says_how_long_it_took(tmp_path):
    for seed, seconds in enumerate((30.0, 90.0, 60.0)):
        header = {"seed": seed, "provenance": {"time": "2020", "seconds": seconds}}
        records = [{"panel": "p", "method": "BERS", "returns": [1.0, 2.0]}]
        write_journal(tmp_path / f"trial-{seed:04d}.jsonl", header, records)
    assert "60 seconds a part (30 to 90), 3.0 minutes for 3" in page([tmp_path])


def test_parts_of_one_trial_are_one_trial(tmp_path):
    for part in range(4):
        records = [{"truth": "1", "trial": part // 2, "method": "BERS", "profit": [1.0, 2.0]}]
        write_journal(tmp_path / f"trial-{part:04d}.jsonl", {"seed": part}, records)
    assert "2 trials" in page([tmp_path])
