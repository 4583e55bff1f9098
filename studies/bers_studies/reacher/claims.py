"""What the authors say about the arm, and what we say, beside what was measured.

Enters: the runs of the study. Leaves: claims. A return "over all episodes" is the
mean over training of the returns of test episodes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bers_studies.report.claim import Claim, claim_of, ends
from bers_studies.report.curves import Runs
from bers_studies.report.statistics import probability_of_improvement

_OURS, _PAPER = "BERS", "BERS, paper's recipe"
_NAMES = {"PPR": "policy reuse", "None": "plain DQN", "RLPD": "half-and-half batches"}


def claims(runs: Runs) -> Iterator[Claim]:
    """All of them."""
    goals = runs.values("panel")
    yield from _of_method(runs, "paper", _PAPER)
    yield from _of_method(runs, "BERS", _OURS)
    for goal in goals:
        yield _improves(runs, goal)
    if "lower left" in goals:
        for i, name in enumerate(runs.records[0]["names"]):
            yield _ahead(runs, "lower left", "BERS", _OURS, f"S{i + 1}", f"the source {name} alone")


def paper_claims(runs: Runs) -> Iterator[Claim]:
    """What the authors say of their method, of records that need not hold those of ours."""
    yield from _of_method(runs, "paper", _PAPER)


def _of_method(runs: Runs, who: str, method: str) -> Iterator[Claim]:
    for goal in runs.values("panel"):
        yield from _weights(runs, goal, who, method)
        for rival in ("PPR", "None"):
            yield _ahead(runs, goal, who, method, rival)


def _weights(runs: Runs, goal: str, who: str, method: str) -> Iterator[Claim]:
    records = runs.pick(panel=goal, method=method)
    last = np.array([r["weights"][-1] for r in records])
    a = dict(zip(records[0]["names"], last.mean(axis=0), strict=True))
    said = ", ".join(f"{name} {w:.2f}" for name, w in a.items())
    if goal == "upper right":
        nearest = a["top"] >= 0.5 and max(a, key=a.__getitem__) == "top"
        text = f"on the arm's {goal} goal, the nearest source has the largest weight of {method}, "
        text += "half or more, in the last episode"
        yield claim_of(runs, f"reacher-nearest-{who.lower()}", text, who, said, nearest)
    if goal == "lower left":
        both = a["left"] + a["bottom"]
        text = f"on the arm's {goal} goal, the sources left and bottom together have 0.75 or more "
        text += f"of the weight of {method} in the last episode"
        yield claim_of(runs, f"reacher-both-{who.lower()}", text, who, said, both >= 0.75)


def _ahead(
    runs: Runs, goal: str, who: str, method: str, rival: str, called: str | None = None
) -> Claim:
    ours, theirs = (_over_all(runs, goal, name) for name in (method, rival))
    return claim_of(
        runs,
        f"reacher-ahead-{rival.lower()}-{goal.replace(' ', '-')}-{who.lower()}",
        f"on the arm's {goal} goal, {method} is ahead of {called or _NAMES[rival]} over all "
        "episodes",
        who,
        f"{ours.mean():.0f} against {theirs.mean():.0f}",
        ours.mean() > theirs.mean(),
        ours - theirs,
    )


def _improves(runs: Runs, goal: str) -> Claim:
    ours, theirs = (_over_all(runs, goal, name) for name in (_OURS, "None"))
    found = probability_of_improvement(-ours, -theirs)
    text = f"on the arm's {goal} goal, {_OURS} is better than plain DQN over all episodes with a "
    text += "probability of improvement of 0.8 or more"
    id = f"reacher-improves-{goal.replace(' ', '-')}"
    claim = claim_of(runs, id, text, "BERS", f"{found.value:.2f}", found.value >= 0.8)
    return replace(claim, interval=ends(found[1:]))


def _over_all(runs: Runs, goal: str, method: str) -> np.ndarray:
    return runs.array("returns", panel=goal, method=method).mean(axis=1)
