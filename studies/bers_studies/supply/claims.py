"""What the paper says about the supply chain, and what we say, beside what was measured.

Enters: the runs of the study. Leaves: claims. A profit "over" some episodes is the
mean test profit of these, and a method's figure the mean over trials.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_OURS, _PAPER = "BERS", "BERS, paper's recipe"
_SINGLE = ("S1", "S2", "S3")
_LONG = 10**6


def claims(runs: Runs) -> Iterator[Claim]:
    """All of them."""
    truths = runs.values("truth")
    yield from _of_method(runs, "paper", _PAPER)
    yield from _of_method(runs, "BERS", _OURS)
    yield from _prioritised(runs, truths)
    for truth in _known(truths):
        yield _well_ahead_of_none(runs, truth)
    for truth in truths:
        yield _never_below_none(runs, truth)


def paper_claims(runs: Runs) -> Iterator[Claim]:
    """What the paper says of its method, of records that need not hold those of other methods."""
    yield from _of_method(runs, "paper", _PAPER)


def _of_method(runs: Runs, who: str, method: str) -> Iterator[Claim]:
    """Claims about a method; those whose rivals were not run on the same trials are left out."""
    truths = runs.values("truth")
    for truth in truths:
        if _has(runs, truth, method, *_SINGLE):
            yield _near_best_expert(runs, truth, who, method)
    for truth in _known(truths):
        yield _finds_the_source(runs, truth, who, method)
        yield _surpasses_demonstrations(runs, truth, who, method)
        if _has(runs, truth, method, "PPR"):
            yield _ahead(runs, truth, who, method, "PPR", 10, "in jump-start")
    for truth in truths:
        if _has(runs, truth, method, "PER"):
            yield _ahead(runs, truth, who, method, "PER", _LONG, "over all episodes")
    if "target" in truths:
        yield from _target(runs, who, method)


def _has(runs: Runs, truth: str, method: str, *rivals: str) -> bool:
    """Whether one of the rivals at least was run as often as the method."""
    methods = [r["method"] for r in runs.pick(truth=truth)]
    return any(methods.count(rival) == methods.count(method) for rival in rivals)


def _known(truths: list[str]) -> list[str]:
    return [truth for truth in truths if truth != "target"]


def _over(runs: Runs, truth: str, method: str, episodes: int = _LONG) -> np.ndarray:
    return runs.array("profit", truth=truth, method=method)[:, :episodes].mean(axis=1)


def _name(truth: str) -> str:
    which = "the target" if truth == "target" else f"scenario {truth}"
    return f"{which} of the supply chain"


def _near_best_expert(runs: Runs, truth: str, who: str, method: str) -> Claim:
    ours = _over(runs, truth, method)
    there = {r["method"] for r in runs.pick(truth=truth)}
    best = max(there & set(_SINGLE), key=lambda single: _over(runs, truth, single).mean())
    theirs = _over(runs, truth, best)
    return claim_of(
        runs,
        f"supply-best-expert-{truth}-{who.lower()}",
        f"on {_name(truth)}, {method} reaches 95% of the profit over all episodes of the best "
        "single source used alone",
        who,
        f"{ours.mean():.0f} against {theirs.mean():.0f} of {best}",
        ours.mean() >= 0.95 * theirs.mean(),
        ours,
    )


def _finds_the_source(runs: Runs, truth: str, who: str, method: str) -> Claim:
    a = np.array([r["weights"] for r in runs.pick(truth=truth, method=method)])[:, 2:]
    right = (a.argmax(axis=2) == int(truth) - 1) & (a.max(axis=2) > 0)
    share = float(right.all(axis=1).mean())
    return claim_of(
        runs,
        f"supply-finds-{truth}-{who.lower()}",
        f"on {_name(truth)}, its own source has the largest weight of {method} from episode 3 on, "
        "in 90% of the trials",
        who,
        f"in {share:.0%}",
        share >= 0.9,
    )


def _surpasses_demonstrations(runs: Runs, truth: str, who: str, method: str) -> Claim:
    curve = runs.array("profit", truth=truth, method=method)[:, :10].mean(axis=0)
    level = np.mean([r["sources"][int(truth) - 1] for r in runs.pick(truth=truth)])
    above = np.flatnonzero(curve > level)
    when = f"after {above[0] + 1}" if len(above) else "not yet"
    return claim_of(
        runs,
        f"supply-jump-start-{truth}-{who.lower()}",
        f"on {_name(truth)}, {method} surpasses the mean profit of the demonstrations within 10 "
        "episodes",
        who,
        f"{when}; {curve.max():.0f} at best, demonstrations {level:.0f}",
        len(above) > 0,
    )


def _ahead(
    runs: Runs, truth: str, who: str, method: str, rival: str, episodes: int, when: str
) -> Claim:
    ours, theirs = (_over(runs, truth, m, episodes) for m in (method, rival))
    return claim_of(
        runs,
        f"supply-ahead-{rival.lower()}-{truth}-{who.lower()}",
        f"on {_name(truth)}, {method} is ahead of {rival} {when}",
        who,
        f"{ours.mean():.0f} against {theirs.mean():.0f}",
        ours.mean() > theirs.mean(),
        ours - theirs,
    )


def _target(runs: Runs, who: str, method: str) -> Iterator[Claim]:
    a = np.array([r["weights"] for r in runs.pick(truth="target", method=method)]).mean(axis=(0, 1))
    said = ", ".join(f"{x:.2f}" for x in a)
    equal = abs(a[0] - a[1]) <= 0.2 and a[2] <= 0.2
    yield claim_of(
        runs,
        f"supply-equal-weights-{who.lower()}",
        f"on {_name('target')}, {method} weighs scenarios 1 and 2 roughly equally (within 0.2), "
        "and 3 by at most 0.2",
        who,
        f"mean weights {said}",
        equal,
    )
    yield claim_of(
        runs,
        f"supply-both-weights-{who.lower()}",
        f"on {_name('target')}, scenarios 1 and 2 together have at least 0.85 of the weight of "
        f"{method}",
        who,
        f"{a[0] + a[1]:.2f}",
        a[0] + a[1] >= 0.85,
    )
    for single in _SINGLE:
        yield _ahead(runs, "target", who, method, single, _LONG, "over all episodes")


def _prioritised(runs: Runs, truths: list[str]) -> Iterator[Claim]:
    for truth in truths:
        makeup = np.array([r["makeup"] for r in runs.pick(truth=truth, method="PER")]).mean(axis=0)
        yield claim_of(
            runs,
            f"supply-per-early-{truth}",
            f"on {_name(truth)}, batches of PER are at first mostly source data and in the end "
            "only target data",
            "paper",
            f"source data {1 - makeup[0, 0]:.0%}, then {1 - makeup[-1, 0]:.0%}",
            makeup[0, 0] < 0.5 and makeup[-1, 0] > 0.95,
        )
        if truth == "target":
            continue
        early = makeup[:50, 1:].sum(axis=0)
        share = float(early[int(truth) - 1] / early.sum())
        yield claim_of(
            runs,
            f"supply-per-favours-{truth}",
            f"on {_name(truth)}, PER does not favour the right source (less than 0.45 of the "
            "source rows over 50 episodes)",
            "paper",
            f"{share:.2f}",
            share < 0.45,
        )


def _well_ahead_of_none(runs: Runs, truth: str) -> Claim:
    ours, none = (_over(runs, truth, method, 40) for method in (_OURS, "None"))
    more = (ours.mean() - none.mean()) / abs(none.mean())
    return claim_of(
        runs,
        f"supply-ahead-of-none-{truth}",
        f"on {_name(truth)}, {_OURS} is ahead of no sources by 25% or more over 40 episodes",
        "BERS",
        f"{ours.mean():.0f} against {none.mean():.0f}: {more:+.0%}",
        more >= 0.25,
        ours - none,
    )


def _never_below_none(runs: Runs, truth: str) -> Claim:
    ours, none = (_over(runs, truth, method) for method in (_OURS, "None"))
    more = (ours.mean() - none.mean()) / abs(none.mean())
    return claim_of(
        runs,
        f"supply-safe-{truth}",
        f"on {_name(truth)}, {_OURS} is at most 5% below no sources over all episodes",
        "BERS",
        f"{ours.mean():.0f} against {none.mean():.0f}: {more:+.0%}",
        more >= -0.05,
        ours - none,
    )
