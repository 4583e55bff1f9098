"""Small trials have all records; tables, claims and the picture are made of them."""

from dataclasses import replace

import numpy as np
import pytest
from bers_studies.known_truth.figures import draw_cases
from bers_studies.known_truth.study import QUICK, KnownTruthConfig, trial
from bers_studies.known_truth.tables import tables
from bers_studies.report.claims import claims
from report_helpers import png_size, write_trials

from bers.model.config import ModelConfig

SMALL = ModelConfig(hidden=(8,), latent_dim=4, batches=20, learning_rate=1e-2)
CONFIG = replace(QUICK, model=SMALL)


@pytest.fixture(scope="module")
def records():
    return list(trial(CONFIG, 0))


def test_every_case_has_a_record(records):
    ranked = [r for r in records if r["what"] == "ranking"]
    assert [r["case"] for r in ranked] == list(QUICK.cases)
    for r in ranked:
        assert r["outcome"] in ("right", "undecided", "wrong")
        assert len(r["weights"]) == len(r["low"]) == len(r["high"]) == 4
        assert sum(r["weights"]) == pytest.approx(1, abs=1e-3)
        assert set(r["true"]) <= set(r["names"])
    checked = {r["case"]: r for r in ranked if "covered" in r}
    assert list(checked) == list(QUICK.cases)
    for r in checked.values():
        rows = zip(r["low"], r["medians"], r["high"], r["covered"], strict=True)
        for low, median, high, covered in rows:
            if min(abs(median - low), abs(median - high)) > 1e-4:  # records are rounded
                assert covered == (low <= median <= high)


def test_heads_stand_beside_boosting(records):
    heads = [r for r in records if r["what"] == "heads"]
    assert [(r["families"], r["irrelevant"]) for r in heads] == [
        ("ridges steps rational", 0), ("ridges steps rational", 25)
    ]  # fmt: skip
    for r in heads:
        assert len(r["heads"]) == len(r["boosting"]) == 3
        assert np.max(r["heads"]) < 0.999  # fresh labels are noisy
        assert np.min(r["boosting"]) > 0.5


def test_later_seeds_have_no_heads():
    config = replace(CONFIG, cases=(), head_seeds=2)
    assert len(list(trial(config, 1))) == 2
    assert list(trial(config, 2)) == []


def test_the_half_that_settings_were_not_chosen_on_is_asked_by_default():
    config = KnownTruthConfig()
    assert len(config.cases) >= 30
    assert all(name.startswith("report: ") for name in config.cases)
    assert config.model is None
    assert {half for half, _ in config.triples} == {"report"}
    assert len(config.triples) >= 3


def test_tables_and_picture_are_made_of_the_records(records, tmp_path):
    folder = write_trials(tmp_path / "known-truth", [records])
    text = tables(folder)
    assert text.startswith("1 trials.\n")
    for part in ("| report | 2 | 2 |", "| one is right | right, normal inputs |", "**develop**",
                 "| report | ridges, steps, rational | 25 |"):  # fmt: skip
        assert part in text
    draw_cases(folder, tmp_path / "cases.png")
    assert png_size(tmp_path / "cases.png")[0] == 1300
    assert {claim.id for claim in claims(tmp_path)} == {
        "known-truth-right", "known-truth-confident", "known-truth-intervals"
    }  # fmt: skip


def record(outcome="right", half="report", sure=False, **more):
    return {"what": "ranking", "half": half, "case": f"{half}: a", "kind": "k",
            "outcome": outcome, "confidently_wrong": sure, **more}  # fmt: skip


def held(tmp_path, records):
    write_trials(tmp_path / "known-truth", [records, records])
    return {claim.id: claim for claim in claims(tmp_path)}


@pytest.mark.parametrize(("wrong", "holds"), [(1, True), (2, False)])
def test_one_in_twenty_may_be_wrong(tmp_path, wrong, holds):
    good = [record()] * (10 - wrong) + [record("undecided")] * 10
    found = held(tmp_path, good + [record("wrong")] * wrong + [record("wrong", "develop")] * 9)
    claim = found["known-truth-right"]
    assert (claim.holds, claim.trials) == (holds, 2)
    assert claim.measured.endswith("50.0% undecided")
    assert found["known-truth-confident"].holds
    assert "known-truth-intervals" not in found


@pytest.mark.parametrize(("sure", "holds"), [(1, True), (2, False)])
def test_one_in_a_hundred_may_be_sure_and_wrong(tmp_path, sure, holds):
    records = [record()] * (100 - sure) + [record("wrong", sure=True)] * sure
    assert held(tmp_path, records)["known-truth-confident"].holds is holds


@pytest.mark.parametrize(("inside", "holds"), [(79, False), (80, True), (97, True), (98, False)])
def test_intervals_are_neither_too_narrow_nor_too_wide(tmp_path, inside, holds):
    covered = [True] * inside + [False] * (100 - inside)
    claim = held(tmp_path, [record(covered=covered)])["known-truth-intervals"]
    assert (claim.holds, claim.measured) == (holds, f"{inside:.1f}%")


def test_a_bar_is_right_undecided_or_wrong(tmp_path):
    records = [
        record(), record("undecided", sure=True), record("wrong"), record("wrong", sure=True)
    ]  # fmt: skip
    text = tables(write_trials(tmp_path / "known-truth", [records]))
    assert "| report | 1 | 4 | 25% | 25% | 50% | 50% | 50% | not checked |" in text
