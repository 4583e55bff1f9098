"""Claims about journals in which they clearly hold, clearly do not, or just do."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from bers_studies.report.claim import Claim, ends
from bers_studies.report.claims import claims, joined
from bers_studies.report.claims_page import all_claims
from report_helpers import record, write_trials

from bers.errors import FileError

TARGETS = ("Rosenbrock", "Ackley", "Sphere", "Rastrigin")
RIGHT = {"Rosenbrock": 0, "Ackley": 1, "Sphere": 2, "Rastrigin": 2}
DEFAULT, PAPER = "BERS", "BERS, paper's metric"
MULTI_TASK = "Rastrigin, multi-task"
BOTH = ("small-gap", "identified", "fewer-than-ucb", "less-variable")
ONCE = ("favours-sphere", "quicker-minimum", "multi-task-ucb", "multi-task-equal", "smooth")

# best value after 100 generations: of the first trial, and how much more in each further one;
# evaluations until solved, likewise
GOOD = {
    DEFAULT: (0.01, 0.001, 900, 10),
    PAPER: (0.01, 0.001, 900, 10),
    "UCB": (0.1, 0.01, 2000, 10),
    "Equal": (1.0, 0.1, None, 0),
    "None": (2.0, 0.1, None, 0),
    "right": (0.02, 0.001, 1000, 10),
    "wrong": (5.0, 0.001, None, 0),
}
BAD = {
    DEFAULT: (10.0, 1.0, 5000, 10),
    PAPER: (10.0, 1.0, 5000, 10),
    "UCB": (3.0, 0.1, 3000, 10),
    "Equal": (2.0, 0.1, None, 0),
    "None": (1.0, 0.1, None, 0),
    "right": (0.02, 0.001, 1000, 10),
    "wrong": (5.0, 0.001, None, 0),
}


def sure(right):
    """Nearly all weight on the right source."""
    return lambda _: [0.98 if i == right else 0.01 for i in range(3)]


def confused(right):
    """The weight goes to and fro between two others, or to one other."""
    return lambda g: [float(i == (right + 1 + (g // 4) % 2) % 3) for i in range(3)]


def static(folder, numbers, weights, trials=4, panels=(*TARGETS, MULTI_TASK), failed=0, **changes):
    """Journals of a static study; `changes` are numbers of single methods, for all targets."""
    table = numbers | changes

    def one(seed):
        found = []
        for panel in panels:
            right = RIGHT.get(panel, 2)
            for method in (DEFAULT, PAPER, "UCB", "Equal", "None", "S1", "S2", "S3"):
                kind = method
                if method[0] == "S":
                    kind = "right" if int(method[1]) - 1 == right else "wrong"
                best, more, needed, later = table[kind]
                rule = weights.get(method, weights["all"]) if isinstance(weights, dict) else weights
                found.append(
                    record(
                        best + seed * more,
                        None if needed is None else needed + seed * later,
                        "1.0" if panel.startswith("Rastrigin") else "0.01",
                        rule(right),
                        panel=panel,
                        method=method,
                    )
                )
        return found

    write_trials(folder / "static", [one(s) for s in range(trials)], [one(99)] * failed)
    return {claim.id: claim for claim in claims(folder)}


def test_all_claims_hold_where_all_is_as_said(tmp_path):
    found = static(tmp_path, GOOD, sure)
    assert {claim.id for claim in found.values() if not claim.holds} == set()
    expected = [f"{name}-{t.lower()}-{who}" for name in BOTH for t in TARGETS
                for who in ("default", "paper")]  # fmt: skip
    expected += [f"{name}-{who}" for name in ONCE for who in ("default", "paper")]
    expected += [f"{name}-{t.lower()}" for name in ("best-expert", "ahead-of-ucb") for t in TARGETS]
    expected += ["ucb-is-strong", "rastrigin-below-ucb", "rastrigin-below-none"]
    assert set(found) == set(expected)
    assert {claim.trials for claim in found.values()} == {4}
    assert {claim.journal for claim in found.values()} == {f"{tmp_path.name}/static"}


def test_no_claim_holds_where_nothing_is_as_said(tmp_path):
    found = static(tmp_path, BAD, confused)
    assert {claim.id for claim in found.values() if claim.holds} == set()
    assert len(found) == 53


def test_the_papers_metric_and_ours_are_judged_apart(tmp_path):
    weights = {"all": sure, PAPER: confused}
    found = static(tmp_path, GOOD, weights, **{PAPER: BAD[PAPER]})
    lost = {claim.id for claim in found.values() if not claim.holds}
    assert lost == {i for i in found if i.endswith("-paper")}
    assert {found[i].said_by for i in lost} == {"paper"}


def test_what_we_say_and_what_the_paper_says_are_told_apart(tmp_path):
    found = static(tmp_path, GOOD, sure)
    ours = {claim.id for claim in found.values() if claim.said_by == "BERS"}
    names = ("best-expert", "ahead-of-ucb", "rastrigin-below")
    assert ours == {i for i in found if i.startswith(names)}
    assert {claim.said_by for claim in found.values()} == {"paper", "BERS"}


def test_what_was_measured_is_said_in_numbers(tmp_path):
    found = static(tmp_path, GOOD, sure)
    measured = {
        "small-gap-sphere-default": "915 evaluations, the expert 1015",
        "identified-ackley-paper": "mean weight 0.98",
        "fewer-than-ucb-rastrigin-default": "needs fewer evaluations with probability 1.00",
        "less-variable-sphere-default": "0.0013 against 0.013",
        "favours-sphere-paper": "mean weights 0.01, 0.01, 0.98",
        "quicker-minimum-default": "best value 0.011 against 2.1; better with probability 1.00",
        "smooth-default": "largest move 0.00",
        "ucb-is-strong": "least probability of being better 1.00",
        "best-expert-rosenbrock": "915 against 1015 of S1",
        "rastrigin-below-none": "0.011 against 2.1: 187 times",
    }
    assert {name: found[name].measured for name in measured} == measured
    low, high = found["small-gap-sphere-default"].interval
    assert 900 <= low < 915 < high <= 930
    assert found["fewer-than-ucb-rastrigin-default"].interval == (1.0, 1.0)
    assert found["identified-ackley-paper"].interval is None  # all trials are equal
    assert found["less-variable-sphere-default"].interval is None


def test_failed_trials_decide_nothing(tmp_path):
    alone = static(tmp_path / "a", GOOD, sure)
    beside = static(tmp_path / "b", GOOD, sure, failed=3)
    assert [c.measured for c in alone.values()] == [c.measured for c in beside.values()]
    assert {claim.trials for claim in beside.values()} == {4}


def test_without_multi_task_there_is_no_claim_about_it(tmp_path):
    found = static(tmp_path, GOOD, sure, panels=TARGETS)
    assert len(found) == 49
    assert not any("multi-task" in name for name in found)


@pytest.mark.parametrize(
    ("needed", "small", "best", "rastrigin"),
    [
        (1000, True, True, True),
        (1001, True, False, True),
        (1150, True, False, True),
        (1151, True, False, False),
        (1250, True, False, False),
        (1251, False, False, False),
    ],
)
def test_a_small_gap_ends_where_it_is_said_to(tmp_path, needed, small, best, rastrigin):
    changes = {DEFAULT: (0.01, 0.001, needed, 0), "right": (0.02, 0.001, 1000, 0)}
    found = static(tmp_path, GOOD, sure, **changes)
    for target in TARGETS:
        assert found[f"small-gap-{target.lower()}-default"].holds is small
        right = rastrigin if target == "Rastrigin" else best
        assert found[f"best-expert-{target.lower()}"].holds is right


def test_the_best_expert_is_the_quickest_not_the_one_meant(tmp_path):
    found = static(tmp_path, GOOD, sure, wrong=(5.0, 0.001, 500, 0))
    assert not any(found[f"best-expert-{t.lower()}"].holds for t in TARGETS)
    assert found["best-expert-rosenbrock"].measured == "915 against 500 of S2"
    assert found["small-gap-rosenbrock-default"].holds  # that one is about the source meant


def test_never_is_no_small_gap_to_never(tmp_path):
    never = (0.02, 0.001, None, 0)
    found = static(tmp_path, GOOD, sure, **{DEFAULT: never, "right": never})
    for target in TARGETS:
        assert not found[f"small-gap-{target.lower()}-default"].holds
        assert not found[f"best-expert-{target.lower()}"].holds
        assert found[f"small-gap-{target.lower()}-paper"].holds  # 915 against never


def test_most_of_the_weight_is_more_than_half(tmp_path):
    for share, holds in ((0.51, True), (0.49, False)):

        def split(right, share=share):
            return lambda _: [share if i == right else (1 - share) / 2 for i in range(3)]

        found = static(tmp_path / str(share), GOOD, {"all": sure, DEFAULT: split})
        assert found["favours-sphere-default"].holds is holds
        assert [found[f"identified-{t.lower()}-default"].holds for t in TARGETS] == [holds] * 4
        assert found["favours-sphere-paper"].holds


def test_the_source_must_be_found_by_generation_ten(tmp_path):
    def late(right):
        return lambda g: [float(i == (right if g > 10 else (right + 1) % 3)) for i in range(3)]

    found = static(tmp_path, GOOD, {"all": sure, PAPER: late})
    assert not any(found[f"identified-{t.lower()}-paper"].holds for t in TARGETS)
    assert found["smooth-paper"].holds  # before the 20th nothing is asked


def test_a_mean_over_generations_counts_each_of_them_once(tmp_path):
    """Weights are recorded at every one of the first twelve, and then at every fourth."""

    def late(right):
        return lambda g: [float(i == (right if g > 40 else (right + 1) % 3)) for i in range(3)]

    found = static(tmp_path, GOOD, {"all": sure, PAPER: late})["favours-sphere-paper"]
    shares = [float(w) for w in found.measured.removeprefix("mean weights ").split(", ")]
    assert shares == pytest.approx([0.4, 0.0, 0.6], abs=0.04)
    assert found.holds


def test_a_jump_of_the_weights_is_not_smooth(tmp_path):
    for size, holds in ((0.09, True), (0.11, False)):

        def jump(right, size=size):
            del right
            return lambda g: [0.5, 0.5 - size * (g >= 60), size * (g >= 60)]

        found = static(tmp_path / str(size), GOOD, {"all": sure, DEFAULT: jump})
        assert found["smooth-default"].holds is holds
        assert found["smooth-default"].measured == f"largest move {size:.2f}"


def test_ahead_of_ucb_takes_both_a_better_value_and_less_spread(tmp_path):
    wild = static(tmp_path / "wild", GOOD, sure, **{DEFAULT: (0.001, 0.02, 900, 10)})
    assert wild["ahead-of-ucb-sphere"].measured.startswith("probability 1.00; ")
    assert not wild["ahead-of-ucb-sphere"].holds
    worse = static(tmp_path / "worse", GOOD, sure, **{DEFAULT: (0.2, 0.001, 900, 10)})
    assert worse["ahead-of-ucb-sphere"].measured.startswith("probability 0.00; ")
    assert not worse["ahead-of-ucb-sphere"].holds


def test_far_below_is_five_and_ten_times(tmp_path):
    changes = {DEFAULT: (0.1, 0.0, 900, 10), "UCB": (0.5, 0.0, 2000, 10)}
    just = static(tmp_path / "just", GOOD, sure, **changes, **{"None": (0.99, 0.0, None, 0)})
    assert just["rastrigin-below-ucb"].holds
    assert not just["rastrigin-below-none"].holds
    assert just["rastrigin-below-none"].measured == "0.1 against 0.99: 10 times"


def test_one_trial_is_judged_without_intervals(tmp_path):
    found = static(tmp_path, GOOD, sure, trials=1)
    assert all(claim.interval is None for claim in found.values())
    assert found["small-gap-sphere-default"].holds
    assert not found["less-variable-sphere-default"].holds  # one trial has no spread
    assert not found["fewer-than-ucb-sphere-default"].holds  # nor an interval


# ---- the other studies ---------------------------------------------------------------------------


def only(folder):
    return {claim.id: claim for claim in claims(folder)}


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.25, True), (1.27, False)])
def test_safety_allows_a_tenth_of_a_decade(tmp_path, factor, holds):
    trials = [
        [
            record([50.0, *[value * (1 + seed)] * 3], panel=panel, kind=kind, method=method)
            for panel in ("Sphere", "Rastrigin")
            for kind in ("other functions", "noise")
            for method, value in (("None", 2.0), ("BERS", 2.0 * factor))
        ]
        for seed in range(3)
    ]
    write_trials(tmp_path / "safety", trials)
    found = only(tmp_path)
    assert list(found) == [
        "safe-other-functions-sphere", "safe-other-functions-rastrigin", "safe-noise-sphere",
        "safe-noise-rastrigin",
    ]  # fmt: skip
    for claim in found.values():
        assert claim.holds is holds
        assert claim.said_by == "BERS"
        assert claim.measured == f"{math.log10(factor):+.3f}"


def test_safety_has_an_interval_of_the_pairs(tmp_path):
    trials = [
        [
            record([50.0, 1.0], panel="Sphere", kind="noise", method="None"),
            record([50.0, value], panel="Sphere", kind="noise", method="BERS"),
        ]
        for value in (0.1, 10.0, 1.0)
    ]
    write_trials(tmp_path / "safety", trials)
    claim = only(tmp_path)["safe-noise-sphere"]
    assert (claim.measured, claim.interval, claim.holds) == ("+0.000", (-1.0, 1.0), True)


@pytest.mark.parametrize(
    ("needed", "measured", "holds"),
    [
        ((100, 110, 129), "100 / 110 / 129 evaluations, +29%", True),
        ((100, 500, 90), "100 / 500 / 90 evaluations, -10%", True),
        ((100, 110, 131), "100 / 110 / 131 evaluations, +31%", False),
        ((100, 110, None), "100 / 110 / never evaluations", False),
        ((None, 110, None), "never / 110 / never evaluations", False),
    ],
)
def test_growth_compares_the_largest_number_with_the_smallest(tmp_path, needed, measured, holds):
    trials = [
        [
            record(1.0, n, panel="Rastrigin", method="BERS", number=count)
            for count, n in zip((2, 8, 64), needed, strict=True)
        ]
        for _ in range(2)
    ]
    write_trials(tmp_path / "growth", trials)
    (claim,) = claims(tmp_path)
    assert (claim.id, claim.said_by, claim.holds) == ("growth", "BERS", holds)
    assert claim.measured.startswith(measured)
    assert "from 2 to 64 past runs" in claim.claim


@pytest.mark.parametrize(("share", "holds"), [(0.6, True), (0.4, False)])
def test_one_reading_that_favours_sphere_is_enough(tmp_path, share, holds):
    trials = [
        [
            record(1.0, panel="Rastrigin", method=method, rows=[3392, 2048, 1696],
                   weights=[1 - a, 0.0, a])
            for method, a in (("as printed", 0.1), ("d = 2", share))
        ]
    ]  # fmt: skip
    write_trials(tmp_path / "paper-metric", trials)
    found = only(tmp_path)
    claim = found["favours-sphere-tried"]
    assert (claim.holds, claim.said_by) == (holds, "paper")
    assert claim.measured == f"largest mean weight on Sphere {share:.2f} (d = 2), of 2 variants"
    sizes = found["demonstration-sizes"]
    assert (sizes.holds, sizes.measured) == (False, "3,392, 2,048, 1,696")


def test_demonstrations_of_the_printed_size(tmp_path):
    for rows, holds in (([17000, 6000, 5000], True), ([17000, 6000, 4600], False)):
        folder = tmp_path / str(rows[2])
        one = record(1.0, panel="Rastrigin", method="as printed", rows=rows, weights=[1, 0, 0])
        write_trials(folder / "paper-metric", [[one]])
        assert only(folder)["demonstration-sizes"].holds is holds


def latent_trial(nearest):
    """Means that start anywhere and end with the target near one of the sources."""
    found = []
    for panel in TARGETS:
        corners = [[4.0 * (i == j) for j in range(3)] for i in range(3)]
        near = nearest.get(panel, RIGHT[panel])
        end = [*corners, [x + 0.5 for x in corners[near]]]
        far = [*corners, [9.0, -9.0, 9.0]]
        found.append({"panel": panel, "means": [far, end]})
    return found


def test_the_targets_mean_ends_near_the_right_source(tmp_path):
    write_trials(tmp_path / "latent", [latent_trial({}) for _ in range(3)])
    (claim,) = claims(tmp_path)
    assert (claim.id, claim.said_by, claim.holds) == ("latent-converges", "paper", True)
    assert claim.measured == "Rosenbrock 1.00, Ackley 1.00, Sphere 1.00, Rastrigin 1.00"


def test_one_target_that_ends_elsewhere_is_enough(tmp_path):
    wrong = latent_trial({"Rastrigin": 1})
    write_trials(tmp_path / "latent", [latent_trial({}), wrong, wrong])
    (claim,) = claims(tmp_path)
    assert not claim.holds
    assert claim.measured == "Rosenbrock 1.00, Ackley 1.00, Sphere 1.00, Rastrigin 0.33"


# ---- all of them ---------------------------------------------------------------------------------


def everything(folder):
    static(folder, GOOD, sure, **{"UCB": (0.1, 0.01, None, 0)})
    write_trials(folder / "latent", [latent_trial({})] * 2)
    write_trials(
        folder / "growth",
        [[record(1.0, n, panel="Rastrigin", method="BERS", number=n) for n in (2, 64)]],
    )
    write_trials(
        folder / "safety",
        [[record(1.0, panel="Sphere", kind="moved", method=m) for m in ("BERS", "None")]],
    )
    one = record(1.0, panel="Rastrigin", method="as printed", rows=[1, 2, 3], weights=[1, 0, 0])
    write_trials(folder / "paper-metric", [[one]])
    write_trials(folder / "tuning", [[{"anything": 1}]])  # a study without claims
    (folder / "options").mkdir()  # a study without trials
    return claims(folder)


def test_ids_are_unique_and_fields_are_plain_values(tmp_path):
    found = everything(tmp_path)
    assert len({claim.id for claim in found}) == len(found) == 53 + 5
    for claim in found:
        values = claim.to_dict()
        assert list(values) == [
            "id", "claim", "said_by", "measured", "interval", "trials", "holds", "journal", "where",
            "reading", "best",
        ]  # fmt: skip
        assert type(values["holds"]) is bool
        assert type(values["trials"]) is int
        assert values["said_by"] in ("paper", "BERS")
        assert values["interval"] is None or [type(x) for x in values["interval"]] == [float] * 2
        assert values["id"] == values["id"].lower().replace(" ", "-")
        json.dumps(values, allow_nan=False)
    folders = {"static": 53, "paper-metric": 2, "latent": 1, "safety": 1, "growth": 1}
    assert [f"{tmp_path.name}/{name}" for name in folders for _ in range(folders[name])] == [
        claim.journal for claim in found
    ]


def test_an_interval_that_has_no_end_is_still_json(tmp_path):
    trials = []
    for seed in range(4):
        needed = 100 + seed if seed < 2 else None
        trials.append([
            record(1.0, needed, "1.0" if target == "Rastrigin" else "0.01", sure(right)(0),
                   panel=target, method=method)
            for target, right in RIGHT.items()
            for method in (DEFAULT, PAPER, "UCB", "Equal", "None", "S1", "S2", "S3")
        ])  # fmt: skip
    write_trials(tmp_path / "static", trials)
    claim = only(tmp_path)["small-gap-sphere-default"]
    low, high = claim.interval
    assert 100 <= low < 102
    assert high == math.inf
    assert json.loads(json.dumps(claim.to_dict(), allow_nan=False))["interval"] == [low, None]


def test_missing_journals_come_with_advice(tmp_path):
    advice = "holds no folder of a study with claims. Give the one that holds them"
    with pytest.raises(FileError, match=advice):
        claims(tmp_path / "nowhere")
    (tmp_path / "static").mkdir()
    with pytest.raises(FileError, match=advice):
        claims(tmp_path)
    write_trials(tmp_path / "static", [], failed=[[]])
    with pytest.raises(FileError, match="static holds no finished trials. Give a folder that"):
        claims(tmp_path)
    write_trials(tmp_path / "latent", [latent_trial({})[:3]])
    (tmp_path / "static" / "trial-0000.jsonl").unlink()
    with pytest.raises(FileError, match="latent has no records of panel Rastrigin. Run the study"):
        claims(tmp_path)


def test_a_claim_in_a_reading_stands_beside_the_claim_as_printed():
    printed = Claim("a", "b", "paper", "0.4", None, 3, False, "runs/a")
    other = Claim("z", "b", "BERS", "1", None, 3, True, "runs/a")
    fails = replace(printed, reading="first", measured="0.45", journal="runs/b")
    works = replace(fails, reading="second", measured="0.6", interval=(0.5, np.inf), holds=True)
    found = joined([printed, fails, works, other])
    assert [claim.id for claim in found] == ["a", "z"]
    assert found[0] == replace(printed, best=works)
    assert (found[0].holds, found[0].holds_somehow) == (False, True)
    values = json.loads(json.dumps(found[0].to_dict(), allow_nan=False))
    assert values["best"]["reading"] == "second"
    assert values["best"]["interval"] == [0.5, None]
    assert joined([printed, fails])[0].best == fails  # none holds: the first that was tried
    assert joined([works]) == [works]  # a reading of nothing is not lost
    text = all_claims(found)
    assert (
        "**0 of 1 claims of the paper hold as printed, 1 in their best reading, and 1 of 1" in text
    )
    assert "## The paper's claims that hold in another reading" in text
    assert "| yes: 0.6 (second; 3 trials, `runs/b`) |" in text


def test_a_claim_is_a_plain_value():
    one = Claim("a", "b", "paper", "c", (0.5, 1.0), 3, True, "d", "e")
    values = ["a", "b", "paper", "c", (0.5, 1.0), 3, True, "d", "e"]
    assert list(one.to_dict().values()) == [*values, "", None]
    assert ends((1, math.inf)) == (1.0, math.inf)
    assert ends((math.nan, math.nan)) is None
