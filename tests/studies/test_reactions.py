"""Reactions as black boxes: tables, shares of them, scenarios."""

import numpy as np
import pytest
from bers_studies.reactions import problems

from bers.errors import ConfigError


def _tables(folder):
    """Two small files, as the public ones are written."""
    rows = [f"{b},{s},l,{c},{t},{10 * t + c}" for t in (90, 105, 120) for b in "ab" for s in "uv"
            for c in (0.1, 0.2)]  # fmt: skip
    head = "\ufeffBase,Solvent,Ligand,Concentration,Temp_C,yield\n"
    (folder / "direct_arylation.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    halides = ["1-iodo-4-methoxybenzene", "3-chloropyridine", "f", "g", "h"]
    rows = [f"{b},l,{a},{h},{i}" for i, h in enumerate(halides) for b in "ab" for a in "xyz"]
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
    assert set(h.yields) == {4.0}
    again = scenario.made(np.random.default_rng(0), tmp_path)[1][0]
    assert again.conditions.equals(g.conditions)
    turned = problems.Scenario("s", "halides", "f", ("h",), 1.0, turned=True)
    assert set(turned.made(np.random.default_rng(0), tmp_path)[1][0].yields) == {-4.0}


def test_what_methods_are_developed_on_holds_no_reported_target(tmp_path):
    _tables(tmp_path)
    reported = {s.target for s in problems.REPORTED}
    developed = problems.developed(tmp_path)
    assert [s.target for s in developed] == ["f", "g", "h"]
    assert developed[2].sources == ("f", "g")
    for scenario in developed:
        assert not reported & {scenario.target, *scenario.sources}
