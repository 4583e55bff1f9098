import json
import math
import re

import pytest
import row
import run

FIELDS = {
    "name": str,
    "ours": float,
    "peer": float,
    "peer_name": str,
    "ratio": float,
    "goal": float,
    "rule": str,
    "unit": str,
    "note": str,
    "met": bool,
    "machine": dict,
}


@pytest.fixture(scope="module")
def entries():
    if not run.RESULTS.exists():
        pytest.skip("benchmarks/results.json is not there; `make bench` writes it")
    return json.loads(run.RESULTS.read_text())


def race(ours, peer, *, goal=3, **options):
    return row.faster(
        "pretrain", ours, peer, peer_name="p", goal=goal, unit="u", note="", **options
    )


def limit(ours, **options):
    return row.at_most("import_time", ours, 1.0, unit="s", note="", **options)


def test_results_are_a_list_with_every_field(entries):
    assert isinstance(entries, list)
    for entry in entries:
        assert set(entry) - {"floor"} == set(FIELDS)
        assert entry.get("floor", 1.0) > 0
        for name, kind in FIELDS.items():
            assert isinstance(entry[name], (int, float) if kind is float else kind), (entry, name)
            assert kind is not float or math.isfinite(entry[name])


def test_results_have_known_names_once_in_the_tables_order(entries):
    names = [entry["name"] for entry in entries]
    assert names == [name for name in run.ORDER if name in names]


def test_results_keep_their_own_rules(entries):
    for entry in entries:
        assert entry["rule"] in (row.RACE, row.LIMIT, row.GROWTH)
        value = entry["ours"] if entry["rule"] == row.LIMIT else entry["ratio"]
        reached = value >= entry["goal"] if entry["rule"] == row.RACE else value <= entry["goal"]
        assert reached or not entry["met"]
        ratios = (entry["ours"] / entry["peer"], entry["peer"] / max(entry["ours"], 1e-9))
        assert any(entry["ratio"] == pytest.approx(ratio, rel=2e-3) for ratio in ratios)


def test_results_name_no_folder_of_the_machine(entries):
    assert not re.search(r"/(home|root|tmp|work|usr)/", json.dumps(entries))


def test_rates_and_times_are_both_better_above_one():
    assert race(300.0, 100.0).ratio == pytest.approx(3)
    assert race(10.0, 30.0, less_is_better=True).ratio == pytest.approx(3)


@pytest.mark.parametrize(("ours", "met"), [(300.0, True), (299.0, False)])
def test_race_is_met_at_the_goal(ours, met):
    assert race(ours, 100.0).met is met


@pytest.mark.parametrize(("ours", "met"), [(1.0, True), (1.1, False)])
def test_limit_is_met_at_the_limit(ours, met):
    assert limit(ours).met is met


def test_a_floor_says_whether_a_goal_can_be_met():
    slow = race(20.0, 40.0, less_is_better=True)
    assert (slow.met, slow.out_of_reach, "floor" in slow.entry()) == (False, False, False)
    bound = slow.above(16.0)  # 40 / 16 is less than 3
    assert bound.out_of_reach
    assert bound.entry()["floor"] == 16
    assert bound.note == (
        " 1.25 times the floor. No program can meet the goal here; it is judged by that."
    )
    assert not slow.above(10.0).out_of_reach
    said = slow.above(10.0, "the same products").note
    assert said.startswith(" 2.00 times the floor, the same products. The floor leaves room")
    rate = race(200.0, 100.0)
    assert rate.above(250.0).out_of_reach
    assert not rate.above(400.0).out_of_reach


def test_no_benchmark_is_begun_when_the_time_is_over(monkeypatch, capsys):
    monkeypatch.setattr(run, "import_module", lambda name: pytest.fail(name))
    run.main(["pretrain", "replay"], minutes=-1)
    assert "minutes are over. Not run: pretrain, replay." in capsys.readouterr().err


def test_a_failed_check_misses_the_goal():
    assert not limit(0.1, fine=False).met


def test_names_choose_benchmarks_by_file_or_row():
    assert run.chosen([]) == list(run.BENCHMARKS)
    assert run.chosen(["posterior_memory", "pretrain"]) == ["pretrain", "posterior_stream"]


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(SystemExit, match=r"no benchmark named nonsense\. There are: pretrain, "):
        run.chosen(["nonsense"])


def test_every_benchmark_has_its_file():
    for name in run.BENCHMARKS:
        assert "def rows() -> list[Row]:" in run.RESULTS.with_name(f"{name}.py").read_text()


def test_new_entries_replace_old_ones_and_keep_the_others():
    old = [{"name": "pretrain", "ours": 1}, {"name": "help_time", "ours": 2}]
    new = [{"name": "pretrain", "ours": 3}, {"name": "refine_full", "ours": 4}]
    assert [e["ours"] for e in run.merged(old, new)] == [3, 4, 2]


def test_the_page_shows_the_stored_results(entries):
    shown = run.PAGE.read_text()
    assert run.page(shown, entries) == shown
