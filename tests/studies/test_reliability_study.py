"""The study of certainty: sets whose truth holds, and claims that follow from records."""

import os
from pathlib import Path

import numpy as np
import pytest
from bers_studies.reliability.claims import claims
from bers_studies.reliability.problems import KINDS, _usual, counts, set_of
from bers_studies.reliability.study import CONFIG, QUICK, sets, trial
from bers_studies.reliability.tables import (
    calibration_error,
    reliability_tables,
    right_between,
    seen,
)
from bers_studies.report.curves import Runs


def _with_data(kind, half):
    folder = Path(os.environ.get("BERS_DATA", "../shared/data"))
    if kind == "tables" and not (folder / "aryl_halides.csv").is_file():
        pytest.skip("the tables are not here")
    return set_of(kind, half, 0, folder)


@pytest.mark.parametrize("half", ["choose", "report"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_third_of_the_targets_is_misled_and_each_source_has_its_own(kind, half):
    made = _with_data(kind, half)
    rights = [target.right for target in made.targets]
    assert [rights.count(i) for i in range(4)] == [4] * 4
    assert rights.count(None) == len(rights) / 3
    for target in made.targets:
        assert len(target.x) == len(target.y) >= 270
        assert np.isfinite(target.y).all()
        assert np.ptp(target.y) > 0
        assert target.x.shape[1] == made.sources[0].dim


@pytest.mark.parametrize("half", ["choose", "report"])
def test_the_same_words_give_the_same_rows(half):
    one, two = (set_of("functions", half, 3, Path()) for _ in range(2))
    for a, b in zip(one.targets, two.targets, strict=True):
        np.testing.assert_array_equal(a.y, b.y)
    other = set_of("functions", half, 4, Path())
    assert not np.array_equal(one.targets[0].y, other.targets[0].y)


def test_directions_of_the_supply_chain_are_of_variance_one():
    mean, common = _usual()
    assert mean.shape == (12,)
    assert 6 < common.shape[1] <= 12


def test_rows_that_are_seen_and_five_generations():
    made = set_of("bbob", "choose", 0, Path())
    searched = [target for target in made.targets if target.generations is not None]
    assert searched
    assert list(counts(searched[0], (5, 1000))) == [(5, "5"), (160, "5 generations")]
    drawn = next(target for target in made.targets if target.generations is None)
    assert list(counts(drawn, (5, 300))) == [(5, "5"), (300, "300")]


def test_every_set_is_in_one_part():
    every = sets(CONFIG)
    assert len(every) == len(set(every)) == 15 + 10 + 9 + 9
    assert 24 * len(every) >= 1000


def test_a_quick_part_says_what_was_claimed():
    records = [*trial(QUICK, 1)]
    assert {r["kind"] for r in records} == {"functions"}
    assert len(records) == 24
    for r in records:
        assert r["rows"] == ["10", "100"]
        assert all(0 <= claim <= 1 for claim in r["claimed"])
        total = np.add(r["claimed"], r["nobody"])
        assert np.all(total <= 1 + 1e-3)


def _records(claimed, right):
    return [
        {"kind": "bbob", "right": 0, "rows": ["5 generations"], "top": [0 if hit else 1],
         "claimed": [claimed], "nobody": [1 - claimed]}
        for hit in right
    ]  # fmt: skip


@pytest.mark.parametrize(("hits", "holds"), [(100, True), (95, False)])
def test_claims_follow_from_records(hits, holds):
    records = _records(0.999, [True] * hits + [False] * (100 - hits))
    records += _records(0.95, [True] * 95 + [False] * 5)
    found = {c.id: c for c in claims(Runs(tuple(records), 1, 0, "runs/reliability"))}
    assert found["reliability-sure"].holds is holds
    assert found["reliability-nearly-sure"].holds
    assert found["reliability-calibration"].holds
    every = seen(records)
    assert right_between(every, 0.9, 0.99) == (0.95, 100)
    assert calibration_error(every) < 0.05
    assert "| 0.99 to 1 | 100 | 1.00 |" in reliability_tables(records)
