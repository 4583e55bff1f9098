"""Charts of a page: the right numbers under the right names."""

import re

import numpy as np
import pytest
from bers_studies.report.curves import Runs
from bers_studies.report.page import page
from bers_studies.report.svg import Chart, Line, draw, nice_ticks
from bers_studies.report.views import groups
from bers_studies.runner.journal import write_journal
from bers_studies.study import study_named


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


def curves_of(ends, panels=("p",)):
    """Two trials of each method on each panel, that end where `ends` says."""
    return [
        {"panel": panel, "method": method, "best": [10.0, 1.0, end]}
        for panel in panels
        for method, end in ends.items()
        for _ in range(2)
    ]


def opened(records):
    (group,) = groups(Runs(tuple(records), 2, 0, "study"))
    return [group.names[i] for i in group.opened]


def test_a_page_opens_with_few_lines():
    ends = {"UCB": 0.5, "BERS": 0.1, "AMTEA": 0.01, "None": 0.9, "BERS, other": 0.001, "S1": 0.6}
    assert opened(curves_of(ends)) == ["BERS", "AMTEA", "None"]
    # a rival that is ahead of BERS is shown even where it is missing from a chart
    several = curves_of(ends, ("p", "q")) + curves_of({"BERS": 0.1, "UCB": 0.5}, ("r",))
    assert opened(several) == ["BERS", "AMTEA", "None"]
    more = {"UCB": 1.0, "BERS": 3.0, "RLPD": 2.0, "None": 0.0}
    profit = [{"truth": "1", "method": m, "profit": [0.0, v]} for m, v in more.items()] * 2
    assert opened(profit) == ["BERS", "RLPD", "None"]  # more is better
    assert opened(curves_of({"a": 0.1, "b": 0.2})) == ["a", "b"]  # nothing to leave out


def test_the_boxes_of_the_others_are_not_ticked(tmp_path):
    ends = {"BERS": 0.1, "UCB": 0.5, "S1": 0.7, "None": 0.9}
    write_journal(tmp_path / "trial.jsonl", {"seed": 0}, curves_of(ends)[::2])
    text = page([tmp_path])
    boxes = re.findall(r'class="pick-\d+"( checked)?><span class="key"></span>([^<]+)<', text)
    assert {name: bool(ticked) for ticked, name in boxes} == {
        "BERS": True,
        "UCB": True,
        "S1": False,
        "None": True,
    }
    assert "1 more can be chosen above" in text
    none = re.search(r'<label class="(m\d+ none)">.*?None</label>', text)
    assert none is not None
    assert f'<g class="{none[1]}">' in text  # the same in the chart


def test_weights_have_the_names_of_a_study_and_an_axis():
    rows = [[0.2, 0.5, 0.3], [0.1, 0.9, 0.0]]
    record = {"panel": "p", "method": "BERS", "best": [1.0, 2.0], "weights": rows}
    runs = Runs((record, record), 2, 0, "study")
    for sources, wanted in ((("a", "b", "c"), ["a", "b", "c"]), (("a",), ["source 1", "source 2"])):
        found = {group.title: group for group in groups(runs, sources)}
        weights = found["Weights of the sources: BERS"]
        assert weights.names[: len(wanted)] == wanted
        assert weights.charts[0].x_label == "generation"
    assert study_named("static").sources == ("Rosenbrock", "Ackley", "Sphere")
    assert study_named("supply").sources[0] == "scenario 1"


def test_curves_end_at_the_edges_of_their_chart():
    line = Line("a", 0, np.array([1.0, -50.0]))
    made = draw(Chart("c", np.array([0.0, 3.0]), {"": [line]}, y_range=(0.0, 1.0)))
    inner = re.search(r'<svg class="frame-of-lines"[^>]* y="(\d+)"[^>]* height="(\d+)"', made)
    assert inner is not None
    top, height = map(int, inner.groups())
    base = int(re.search(r'class="axis"[^>]* y1="(\d+)"', made)[1])
    assert top + height <= base + 1  # and a browser cuts off what is outside
    ticks = re.findall(r'class="tick across"[^>]*>([^<]+)<', made)
    assert ticks == ["0", "1", "2", "3"]


@pytest.mark.parametrize(("low", "high"), [(1, 2), (0, 15), (1, 40), (0, 150), (1, 30_000)])
def test_ticks_of_what_is_counted_are_whole(low, high):
    ticks = nice_ticks(float(low), float(high), whole=True)
    assert all(tick == int(tick) for tick in ticks)
    assert 2 <= len(ticks) <= 7
