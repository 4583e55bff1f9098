import inspect
import json

import cpu_clock
import pytest
import run
import scaling
import scaling_fit
import scaling_page
import scaling_runs
from scaling_fit import SERIES, Series
from scaling_plan import DRAWING, FIRST, OPENING, SECOND, Plan
from scaling_words import bytes_said, count, hours_said, seconds_said

from bers import ModelConfig
from bers.data import shards
from bers.data.storage import save
from bers.model import training


@pytest.fixture(scope="module")
def found():
    return json.loads(scaling_page.STORED.read_text())


def made_up():
    """Measurements on a machine where a piece of anything takes 1 µs, and 10 bytes."""
    sizes = (1, 4, 16, 64)
    series = {
        name: [[size, size * (10.0 if one.unit == "B" else 1e-6)] for size in sizes]
        for name, one in SERIES.items()
    }
    size = dict.fromkeys(("factor", "encoder", "weight", "row"), 10)
    memory = dict.fromkeys(("footer", "odds", "draws"), 10)
    return {"series": series, "bytes": size, "memory": memory}


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_of_scaling_shows_the_stored_points(found):
    shown = scaling_page.PAGE.read_text()
    assert scaling_page.page(shown, found) == shown


def test_the_picture_was_drawn_from_the_stored_points():
    from PIL import Image

    with Image.open(scaling_page.PICTURE) as picture:
        assert picture.text["Description"] == scaling_page.digest()


def test_the_table_of_benchmarks_shows_the_stored_points(found):
    stored = {entry["name"]: entry for entry in json.loads(run.RESULTS.read_text())}
    rows = scaling.made(found)
    assert {row.name for row in rows} == set(run.BENCHMARKS["scaling"])
    for row in rows:
        assert stored[row.name] == row.entry()


def test_what_the_page_says_in_words(found):
    cost = {name: dict(map(tuple, points)) for name, points in found["series"].items()}
    rows = 1_000_000
    read, whole = cost["read"][rows], cost["pass"][rows]
    assert whole > 4 * (read + rows * cost["factor"][21])  # most of it is the encoder's
    assert 0.85 < SERIES["pass"].slope(found["series"]["pass"]) < 1.15
    for name in ("factor", "collinear", "head_features"):
        assert SERIES[name].slope(found["series"][name]) < SERIES[name].expected
    assert cost["training"][256] < 1.5 * cost["training"][64]
    assert 0.1 < found["system"]["heads"] < 0.5
    check = found["check"]
    plan = Plan(found, check["sources"], check["rows"], batches=check["batches"])
    assert 0.5 < check["seconds"] / plan.seconds < 2


def test_a_page_without_a_place_is_refused(found):
    with pytest.raises(ValueError, match="no place for measured: add <!-- measured -->"):
        scaling_page.page("# Past one machine\n", found)


# ---- lines ---------------------------------------------------------------------------------------


def test_a_slope_is_that_of_the_last_three_points():
    line = Series("a", "rows", 2.0)
    points = [(1, 5.0), (2, 5.0), (10, 1.0), (100, 100.0), (1000, 10_000.0)]
    assert line.slope(points) == pytest.approx(2)


def test_costs_go_between_points_and_on_from_the_last():
    line, points = Series("a", "rows", 1.0), [(1, 1.0), (10, 30.0), (100, 900.0), (1000, 27_000.0)]
    assert line.cost(points, 10) == pytest.approx(30)
    assert line.cost(points, 10**0.5) == pytest.approx(30**0.5)
    assert line.cost(points, 10_000) == pytest.approx(27_000 * 30)


def test_a_slope_below_the_expected_one_does_not_go_on():
    line, points = Series("a", "rows", 1.0), [(1, 1.0), (100, 10.0), (10_000, 100.0)]
    assert line.cost(points, 1_000_000) == pytest.approx(10_000)
    assert line.cost(points, 1_000_000, as_measured=True) == pytest.approx(1000)


def test_a_cost_that_stays_the_same_is_not_fitted_there():
    line = Series("a", "sources", 1.0, upto=4)
    points = [(1, 1.0), (2, 2.0), (4, 4.0), (8, 4.0), (16, 4.0)]
    assert line.slope(points) == pytest.approx(1)
    assert line.cost(points, 1000) == pytest.approx(4)


def test_two_points_have_no_slope():
    with pytest.raises(ValueError, match="needs 3 points; got 2. Measure again: make bench"):
        Series("a", "rows", 1.0).slope([(1, 1.0), (2, 2.0)])


# ---- plans ---------------------------------------------------------------------------------------


def test_a_plan_adds_up_every_step():
    plan = Plan(made_up(), sources=10, rows=1000, group=250, batches=200)
    assert plan.total == 10_000
    assert plan.parts == 40
    assert plan.steps[SECOND] == pytest.approx(0.01)
    assert plan.steps[OPENING] == pytest.approx(10 * 4e-6)
    assert plan.steps[DRAWING] == pytest.approx(2 * 10 * 1e-3)  # two visits to ten sources
    assert plan.steps["training"] == pytest.approx(200 * 1e-5)
    assert plan.steps["heads"] == pytest.approx(2e-5)
    assert plan.seconds == pytest.approx(sum(plan.steps.values()))
    assert plan.network["R factors, from the workers"] == 400
    assert plan.network["which rows to read, to the workers"] == pytest.approx(40 * 40)
    assert plan.memory["footers of the files"] == 400


def test_no_machines_help_where_one_process_takes_longer():
    plan = Plan(made_up(), sources=10, rows=10**9, batches=0)
    assert plan.alone() > 3600
    assert plan.cores(1) is None
    assert plan.alone([FIRST]) < 3600
    shared = plan.steps[FIRST] + plan.steps[SECOND]
    assert plan.cores(1, [FIRST]) == -(-shared // (3600 - plan.alone([FIRST])))


def test_sources_of_one_row_group_are_not_handed_out():
    plan = Plan(made_up(), sources=10, rows=1000)
    assert plan.groups == 1
    assert plan.alone() == pytest.approx(plan.seconds)


def test_the_plans_know_the_settings_of_the_library():
    assert inspect.signature(save).parameters["rows_per_group"].default == scaling_fit.GROUP
    assert scaling_fit.POOLED == shards.POOL_GROUPS
    assert ModelConfig.paper().heads_per_batch == scaling_fit.HEADS
    assert scaling_fit.STRETCH == training._STRETCH


def test_an_r_factor_moves_as_many_bytes_as_stored(found):
    for features, size in found["series"]["factor_bytes"][:3]:
        assert scaling_runs._size(scaling_runs._factor(features)) == pytest.approx(size, rel=0.05)


def test_a_pass_hands_out_parts_and_gets_back_r_factors(tmp_path):
    work, parts, back = scaling_runs._handed(tmp_path, 4)
    assert len(parts) == len(back) == 4
    assert [int(summary.n) for summary in back] == [8, 8, 8, 8]
    assert scaling_runs._size(work) > 40 * scaling_runs._size(back[0])  # the encoder is larger


# ---- numbers in words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (seconds_said(0.00999), "10 ms"),
        (seconds_said(0.9996), "1.0 s"),
        (seconds_said(2e-7), "200 ns"),
        (hours_said(59), "59 s"),
        (hours_said(5400), "1.5 h"),
        (hours_said(2.2e7), "6,100 h"),
        (bytes_said(999), "999 B"),
        (bytes_said(999_700), "1.0 MB"),
        (bytes_said(8.8e14), "880 TB"),
        (count(10**13), "10¹³"),
        (count(9_540_000), "9,540,000"),
    ],
)
def test_numbers_are_said_with_the_unit_that_fits(said, expected):
    assert said == expected


def test_cpu_seconds_do_not_count_sleep():
    import time

    assert cpu_clock.cpu_seconds(lambda: time.sleep(0.05)) < 0.02


def test_long_calls_are_timed_once(monkeypatch):
    monkeypatch.setattr(cpu_clock, "cpu_seconds", lambda call, times=1: call())
    seen = []
    calls = {10: lambda: seen.append("short") or 0.1, 20: lambda: seen.append("long") or 9.0}
    assert cpu_clock.measured("test", calls, rounds=3) == [(10, 0.1), (20, 9.0)]
    assert seen.count("long") == 1
    assert seen.count("short") == 5  # to warm up, to count the calls of a turn, and three turns
