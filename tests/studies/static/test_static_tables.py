"""Tables, cell by cell, of trials that were written by hand."""

import pytest
from bers_studies.growth.tables import tables as growth_tables
from bers_studies.options.tables import tables as options_tables
from bers_studies.paper_metric.tables import tables as paper_metric_tables
from bers_studies.safety.tables import tables as safety_tables
from bers_studies.static.tables import tables as static_tables
from report_helpers import record, write_trials

from bers.errors import FileError


def cells(text):
    """Tables of Markdown as lists of rows, without their headings' lines."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return rows[0], rows[1:]


def lines_of(panel, text):
    """Rows by method of one panel of the static tables."""
    part = text.split(f"**{panel}**\n")[1].split("**")[0]
    heads, rows = cells(part)
    return heads, {row[0]: row[1:] for row in rows}


def static_trial(best, needed, other=10.0, panel="Rastrigin", threshold="1.0"):
    return [
        record(best, needed, threshold, panel=panel, method="BERS"),
        record(other, None, panel=panel, method="None"),
    ]


GOOD = [static_trial(*pair) for pair in ((0.1, 100), (0.1, 200), (0.001, 300), (0.001, None))]
BAD = static_trial(1e9, 1, other=1e-9)


def test_static_tables_show_means_intervals_and_who_is_better(tmp_path):
    text = static_tables(write_trials(tmp_path, GOOD))
    assert text.startswith("4 trials.\n\n**Rastrigin**\n\n| method |")
    assert text.endswith("|\n")
    heads, rows = lines_of("Rastrigin", text)
    assert heads == [
        "method", "evaluations to 1.0", "95% interval", "reached", "best at 1",
        "spread (log10)", "BERS better",
    ]  # fmt: skip
    # of 100, 200, 300 and never, the middle half are 200 and 300
    assert rows["BERS"] == ["250", "100 to never", "3 of 4", "0.0505 ± 0.03", "1.15"]
    assert rows["None"] == [
        "never", "not available", "0 of 4", "10 ± 0", "0.00", "1.00 (1.00 to 1.00)",
    ]  # fmt: skip


def test_a_tie_is_one_half_without_an_interval(tmp_path):
    trials = [static_trial(2.0, 50, other=2.0) for _ in range(3)]
    _, rows = lines_of("Rastrigin", static_tables(write_trials(tmp_path, trials)))
    assert rows["None"][-1] == "0.50 (not available)"
    assert rows["BERS"][:3] == ["50", "not available", "3 of 3"]


def test_failed_trials_are_said_and_change_no_number(tmp_path):
    without = static_tables(write_trials(tmp_path / "a", GOOD))
    with_failed = static_tables(write_trials(tmp_path / "b", GOOD, failed=[BAD, BAD]))
    assert with_failed.startswith("4 trials, 2 failed and left out.\n")
    assert with_failed.splitlines()[1:] == without.splitlines()[1:]


def test_each_target_has_its_own_threshold(tmp_path):
    trials = [
        static_trial(0.1, 40) + static_trial(0.1, 80, panel="Sphere", threshold="0.01")
        for _ in range(2)
    ]
    text = static_tables(write_trials(tmp_path, trials))
    for panel, heading, needed in (
        ("Rastrigin", "evaluations to 1.0", "40"),
        ("Sphere", "evaluations to 0.01", "80"),
    ):
        heads, rows = lines_of(panel, text)
        assert heads[1] == heading
        assert rows["BERS"][0] == needed


def test_the_best_value_is_that_of_generation_100(tmp_path):
    curve = [float(200 - g) for g in range(151)]
    trials = [[record(curve, None, panel="Rastrigin", method="BERS")] for _ in range(2)]
    _, rows = lines_of("Rastrigin", static_tables(write_trials(tmp_path, trials)))
    assert rows["BERS"][3] == "100 ± 0"


def test_one_trial_has_a_table_too(tmp_path):
    _, rows = lines_of("Rastrigin", static_tables(write_trials(tmp_path, GOOD[:1])))
    assert rows["BERS"] == ["100", "not available", "1 of 1", "0.1 ± n/a", "n/a"]
    assert rows["None"][-1] == "1.00 (not available)"


def test_static_tables_need_bers(tmp_path):
    write_trials(tmp_path, [[record(1.0, 5, panel="Sphere", method="None")]])
    with pytest.raises(FileError, match="no records of panel Sphere, method BERS"):
        static_tables(tmp_path)


def test_safety_tables_show_the_difference_of_the_logs(tmp_path):
    trials = [
        [
            record([1e5, *ours], panel=panel, kind=kind, method="BERS")
            for panel, kind, ours in (
                ("Sphere", "noise", [10.0 ** (1 + seed), 10.0]),
                ("Sphere", "moved", [0.1, 0.1]),
            )
        ]
        + [
            record([1e5, 1.0, 1.0], panel="Sphere", kind=kind, method="None")
            for kind in ("noise", "moved")
        ]
        for seed in (0, 1, 2)
    ]
    text = safety_tables(write_trials(tmp_path, trials, failed=[trials[0]]))
    assert text.startswith("3 trials, 1 failed and left out.\n")
    heads, rows = cells(text)
    assert heads == ["past runs", "target", "None", "BERS", "difference", "95% interval"]
    assert rows == [
        ["noise", "Sphere", "0.000", "1.500", "+1.500", "+1.000 to +2.000"],
        ["moved", "Sphere", "0.000", "-1.000", "-1.000", "not available"],
    ]


def growth_trial(*needed):
    return [
        record(1.0, n, panel="Rastrigin", number=count, method="BERS",
               weights=lambda g, c=count: [round(g / 10 / c, 3) if g <= 10 else 0.0, 0.0])
        for count, n in zip((2, 4, 8), needed, strict=True)
    ]  # fmt: skip


def test_growth_tables_show_the_ratio_to_the_smallest_number(tmp_path):
    trials = [growth_trial(100, 120, None), growth_trial(300, 380, 1)]
    text = growth_tables(write_trials(tmp_path, trials))
    heads, rows = cells(text)
    assert heads[:5] == ["past runs", "evaluations to 1.0", "95% interval", "reached", "ratio"]
    assert heads[5:] == [f"weight, gen. {m}" for m in (1, 2, 3, 5, 10)]
    assert rows == [
        ["2", "200", "not available", "2 of 2", "1.00", "0.05", "0.10", "0.15", "0.25", "0.50"],
        ["4", "250", "not available", "2 of 2", "1.25", "0.03", "0.05", "0.07", "0.12", "0.25"],
        ["8", "never", "not available", "1 of 2", "never", "0.01", "0.03", "0.04", "0.06", "0.12"],
    ]


def test_growth_from_never_has_no_ratio(tmp_path):
    text = growth_tables(write_trials(tmp_path, [growth_trial(None, 5, None)]))
    assert [row[4] for row in cells(text)[1]] == ["n/a", "0.00", "n/a"]


def test_options_tables_average_over_targets(tmp_path):
    trials = [
        [
            record([9.0, 10.0], 30, "0.01", panel="Sphere", method="default"),
            record([9.0, 0.001], None, panel="Rastrigin", method="default"),
            record([9.0, 100.0], 50 + seed, "0.01", panel="Sphere", method="None"),
            record([9.0, 1.0], 70, panel="Rastrigin", method="None"),
        ]
        for seed in (0, 2)
    ]
    text = options_tables(write_trials(tmp_path, trials))
    first, second = text.split("**Evaluations until solved**")
    assert cells(first) == (
        ["option", "Sphere", "Rastrigin", "mean"],
        [["default", "1.00", "-3.00", "-1.00"], ["None", "2.00", "0.00", "1.00"]],
    )
    assert cells(second) == (
        ["option", "Sphere, to 0.01", "Rastrigin, to 1.0"],
        [["default", "30", "never"], ["None", "51", "70"]],
    )


def test_paper_metric_tables_show_three_shares(tmp_path):
    def weights(g):
        return [1.0, 0.0, 0.0] if g < 48 else [0.0, 0.0, 1.0]

    trials = [
        [record(value, panel="Rastrigin", method="as printed", rows=[2000 + n, 10, 5],
                weights=weights)]
        for value, n in ((1.0, 0), (2.0, 500))
    ]  # fmt: skip
    text = paper_metric_tables(write_trials(tmp_path, trials))
    assert text.startswith("2 trials.\nWeights are Rosenbrock : Ackley : Sphere.\n")
    heads, rows = cells(text)
    assert heads == ["variant", "rows", "generation 4", "48", "100", "all", "best at 100"]
    early, late = "1.00 : 0.00 : 0.00", "0.00 : 0.00 : 1.00"
    assert rows[0][:5] == ["as printed", "2,250, 10, 5", early, late, late]
    assert rows[0][6] == "1.5"
