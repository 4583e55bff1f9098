"""Reactions as black boxes: tables, shares of them, scenarios."""

import numpy as np
import pytest
from bers_studies.reactions import problems, study
from bers_studies.reactions.claims import claims
from bers_studies.report.curves import Runs

from bers.errors import ConfigError


def _tables(folder):
    """Two small files, as the public ones are written."""
    rows = [f"{b},{s},l,{c},{t},{10 * t + c}" for t in (90, 105, 120) for b in "ab" for s in "uv"
            for c in (0.1, 0.2)]  # fmt: skip
    head = "\ufeffBase,Solvent,Ligand,Concentration,Temp_C,yield\n"
    (folder / "direct_arylation.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    halides = ["1-iodo-4-methoxybenzene", "3-chloropyridine", "f", "g", "h"]
    pairs = [(b, a) for b in "ab" for a in "xyz"]
    rows = [
        f"{b},l,{a},{h},{10 * i + k}"
        for i, h in enumerate(halides)
        for k, (b, a) in enumerate(pairs)
    ]
    rows += ["a,l,,f,99", "a,l,x,,99"]
    (folder / "aryl_halides.csv").write_text(
        "base,ligand,additive,aryl_halide,yield\n" + "\n".join(rows)
    )


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("BERS_DATA", raising=False)


def test_tables_become_reactions_by_temperature_and_by_substance(tmp_path):
    _tables(tmp_path)
    by_temperature = problems.reactions("arylation", tmp_path)
    assert list(by_temperature) == ["90", "105", "120"]
    one = by_temperature["90"]
    assert list(one.conditions) == ["Base", "Ligand", "Solvent", "Concentration"]
    assert sorted(one.yields) == pytest.approx([900.1] * 4 + [900.2] * 4)
    by_substance = problems.reactions("halides", tmp_path)
    assert [len(r.yields) for r in by_substance.values()] == [6] * 5  # gaps are left out
    with pytest.raises(ConfigError, match="no table is called 'x'; choose one of arylation, hal"):
        problems.reactions("x", tmp_path)


def test_the_top_is_one_percent_but_never_fewer_than_two():
    many = problems.Reaction("t", "r", None, np.arange(1000.0))
    assert many.top == 990.0
    assert (many.yields >= many.top).sum() == 10
    assert problems.Reaction("t", "r", None, np.arange(20.0)).top == 18.0


def test_scenarios_have_shares_of_sources_and_misleading_ones_are_turned(tmp_path):
    _tables(tmp_path)
    scenario = problems.Scenario("s", "halides", "f", ("g", "h"), 0.5)
    target, (g, h) = scenario.made(np.random.default_rng(0), tmp_path)
    assert target.name == "f"
    assert len(target.yields) == 6
    assert (len(g.yields), len(g.conditions)) == (3, 3)
    assert h.yields.min() >= 40
    again = scenario.made(np.random.default_rng(0), tmp_path)[1][0]
    assert again.conditions.equals(g.conditions)
    turned = problems.Scenario("s", "halides", "f", ("h",), 1.0, turned=True)
    made = turned.made(np.random.default_rng(0), tmp_path)[1][0]
    assert made.yields.tolist() == [-40.0, -41, -42, -43, -44, -45]


def test_what_methods_are_developed_on_holds_no_reported_target(tmp_path):
    _tables(tmp_path)
    reported = {s.target for s in problems.REPORTED}
    developed = problems.developed(tmp_path)
    assert [s.target for s in developed] == ["f", "g", "h"]
    assert developed[2].sources == ("f", "g")
    for scenario in developed:
        assert not reported & {scenario.target, *scenario.sources}


# the study


def test_a_part_is_a_target_with_all_its_scenarios_and_without_sources(tmp_path):
    _tables(tmp_path)
    config = study.ReactionsConfig(
        data=str(tmp_path), targets=(("halides", "3-chloropyridine"),), budget=4, seeds=2
    )
    with pytest.MonkeyPatch.context() as patch:
        few = problems.Scenario("few", "halides", "3-chloropyridine", ("f", "g"), 0.5)
        patch.setattr(study, "REPORTED", (few,))
        records = list(study.trial(config, 0))
    assert [r["method"] for r in records] == [study.ALONE, study.RANDOM, study.OWN, study.ORDER]
    assert {r["trial"] for r in records} == {2}
    assert (records[2]["rows"], records[2]["alike"]) == (6, 1.0)
    for record in records:
        assert 1 <= record["to_top"] <= 5
        assert (record["best"], record["most"]) == ([], 15.0)


def test_ways_of_choosing_try_each_condition_once():
    import pandas as pd

    rows = pd.DataFrame([(a, b) for a in "uvw" for b in "xyz"], columns=["a", "b"])
    target = problems.Reaction("t", "new", rows, np.arange(9.0))
    past = [problems.Reaction("t", "old", rows, 7 + 2 * np.arange(9.0))]
    rng = np.random.default_rng(0)
    assert study.in_order(rng, target, past, 3) == [8, 7, 6]
    assert sorted(study.at_random(rng, target, past, 9)) == list(range(9))
    tried = study.by_campaign(rng, target, (), 9)
    assert len(set(tried)) == len(tried)
    assert tried[-1] == 8  # it ends at the best of all
    assert len(study.by_campaign(rng, target, past, 9)) <= 3


@pytest.mark.parametrize(("own", "holds"), [(10, (True, True)), (25, (False, False))])
def test_claims_about_reactions_follow_from_the_records(own, holds):
    about = {"trial": 0, "table": "t", "target": "a", "best": [1.0], "most": 2.0}
    alone = about | {"scenario": "", "to_top": 20}
    there = {"to_top": own, "rows": 12, "turned": False}
    records = (
        alone | {"method": study.ALONE},
        alone | {"method": study.RANDOM},
        about | there | {"method": study.OWN, "scenario": "near", "alike": 0.8},
        about | there | {"method": study.ORDER, "scenario": "near", "alike": 0.8},
        about | there | {"method": study.OWN, "scenario": "far", "alike": 0.1},
        about | there | {"method": study.ORDER, "scenario": "far", "alike": 0.1},
    )
    found = {c.id: c for c in claims(Runs(records, 1, 0, "runs/reactions"))}
    assert (found["reactions-half"].holds, found["reactions-never-worse"].holds) == holds
    assert found["reactions-half"].measured.startswith(f"mean share {own / 20:.2f}")
