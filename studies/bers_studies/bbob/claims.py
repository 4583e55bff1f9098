"""Claims about BBOB's functions with past runs.

Enters: the records of the study. Leaves: claims. The function on which the search was mended after
it had been developed does not count.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.bbob.problems import FAMILIES
from bers_studies.bbob.study import AT
from bers_studies.bbob.tables import from_its_point, gaps, unseen
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_AHEAD = 0.3
_BEHIND = 0.05
_FIRST = 0.95
_OWN = ("BERS", "BERS alone")


def claims(runs: Runs) -> Iterator[Claim]:
    """Ahead of the best rival where past runs are related; not behind CMA-ES where they mislead."""
    every, runs = runs, unseen(runs)
    there = [family for family in FAMILIES if family in runs.values("family")]
    for family in there:
        if family.startswith("displaced"):
            yield from _ahead(runs, family)
    for family in there:
        yield _column_by_column(runs, family)
    if "misleading" in there:
        ours, none = (gaps(runs, m, family="misleading") for m in ("BERS", "CMA-ES"))
        behind = (ours - none).mean(axis=0)
        yield claim_of(
            runs,
            "bbob-misleading",
            f"with misleading past runs at most {_BEHIND} behind CMA-ES alone, at all budgets",
            "BERS",
            " / ".join(f"{b:+.2f}" for b in behind),
            behind.max() <= _BEHIND,
            (ours - none).mean(axis=1),
        )
    many = [r for r in every.records if "many" in r]
    if many:
        right = np.array([float(r["right"]) for r in many])
        yield claim_of(
            runs,
            "bbob-many",
            f"of {many[0]['many']} sources, the right one is used first in at least {_FIRST:.0%}",
            "BERS",
            f"{int(right.sum())} of {len(right)}{from_its_point(many)}",
            right.mean() >= _FIRST,
            right,
        )


def _ahead(runs: Runs, family: str) -> Iterator[Claim]:
    ours = gaps(runs, "BERS", family=family)
    for k, evaluations in enumerate(AT[:2]):
        if ours.shape[1] <= k:
            continue
        rivals = _rivals(runs, family=family).items()
        name, best = min(rivals, key=lambda one: one[1][:, k].mean())
        ahead = best[:, k] - ours[:, k]
        yield claim_of(
            runs,
            f"bbob-{family.replace(' ', '-').rstrip('%')}-{evaluations}",
            f"{family}: after {evaluations} evaluations at least {_AHEAD} (log10 of the gap) "
            "ahead of the best rival",
            "BERS",
            f"{ahead.mean():+.2f}, of {name}",
            ahead.mean() >= _AHEAD,
            ahead,
        )


def _column_by_column(runs: Runs, family: str) -> Claim:
    """The smallest lead over the best rival of each dimension and budget."""
    leads = {}
    for D in runs.values("dimension"):
        ours = gaps(runs, "BERS", family=family, dimension=D)
        rivals = _rivals(runs, family=family, dimension=D)
        best = np.min([one.mean(axis=0) for one in rivals.values()], axis=0)
        leads |= {(D, n): v for n, v in zip(AT, best - ours.mean(axis=0), strict=False)}
    (D, n), least = min(leads.items(), key=lambda one: one[1])
    return claim_of(
        runs,
        f"bbob-columns-{family.replace(' ', '-').rstrip('%')}",
        f"{family}: in every dimension and at every budget at most the best rival's gap",
        "BERS",
        f"least lead {least:+.2f}, D = {D}, {n:,} evaluations",
        least >= 0,
    )


def _rivals(runs: Runs, **wanted: object) -> dict[str, np.ndarray]:
    """The gaps of all rivals that were run on all of these targets, at all budgets."""
    found = {}
    for method in runs.values("method"):
        if method in _OWN:
            continue
        some = wanted | {"method": method}
        if any(all(r.get(k) == v for k, v in some.items()) for r in runs.records):
            one = gaps(runs, method, **wanted)
            if one.shape == gaps(runs, "BERS", **wanted).shape:
                found[method] = one
    return found
