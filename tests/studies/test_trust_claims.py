"""Claims about whom to trust, on journals in which they just hold, or just do not."""

import pytest
from bers_studies.report.claims import claims
from report_helpers import write_trials

from bers.errors import FileError


def found(folder):
    return {claim.id: claim for claim in claims(folder)}


@pytest.mark.parametrize(("later", "holds"), [(0.9, True), (0.89, False)])
def test_the_right_source_must_be_found_by_generation_five(tmp_path, later, holds):
    weights = [[1.0, 0.0]] * 2 + [[1 - later, later]] * 2
    one = {"target": "Sphere", "right": 1, "generations": [1, 4, 5, 100], "weights": weights}
    other = {**one, "rule": "weights", "weights": [[0.0, 1.0]] * 4}  # another rule is not asked
    write_trials(tmp_path / "trust", [[{**one, "rule": "odds"}, other]] * 3)
    claim = found(tmp_path)["trust-sphere"]
    assert (claim.holds, claim.measured) == (holds, f"mean weight {later:.3f}")
    assert (claim.trials, claim.said_by) == (3, "BERS")


@pytest.mark.parametrize(("shares", "holds"), [((0.8, 1.0, 0.95), True), ((0.8, 0.98, 0.9), False)])
def test_nobody_is_trusted_on_average(tmp_path, shares, holds):
    trials = [[{"kind": "sign-flipped", "rule": "odds", "nobody": share}] for share in shares]
    write_trials(tmp_path / "nobody", trials)
    claim = found(tmp_path)["nobody-sign-flipped"]
    assert claim.holds is holds
    assert claim.measured == f"mean share of nobody {sum(shares) / 3:.3f}, least 0.800"
    assert claim.interval == pytest.approx((min(shares), max(shares)))


@pytest.mark.parametrize(("wins", "holds"), [(8, True), (7, False)])
def test_eight_firms_of_eleven_are_enough(tmp_path, wins, holds):
    trials = [
        [{"years": "first ten", "rule": "odds", "error": 1.0, "equal": 2.0 if i < wins else 1.0}]
        for i in range(11)
    ]
    write_trials(tmp_path / "grunfeld", trials)
    claim = found(tmp_path)["grunfeld-first-ten"]
    assert (claim.holds, claim.measured, claim.trials) == (holds, f"{wins} of 11", 11)


@pytest.mark.parametrize(("least", "holds"), [(0.98, True), (0.97, False)])
def test_one_head_that_explains_too_little_is_enough(tmp_path, least, holds):
    head = {"kind": "source", "setting": "BERS", "r2": 1.0}
    others = [{**head, "kind": "target", "r2": 0.1}, {**head, "setting": "paper", "r2": 0.1}]
    write_trials(tmp_path / "heads", [[head, {**head, "r2": least}, *others]])
    claim = found(tmp_path)["heads-explain"]
    assert (claim.holds, claim.measured) == (
        holds,
        f"least {least:.3f}, mean {(1 + least) / 2:.3f}",
    )


def test_a_study_without_the_default_rule_says_so(tmp_path):
    write_trials(tmp_path / "nobody", [[{"kind": "noise", "rule": "shape", "nobody": 1.0}]])
    with pytest.raises(FileError, match="has no records of kind noise, rule odds. Run the study"):
        claims(tmp_path)
