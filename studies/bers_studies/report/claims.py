"""Every claim that can be measured, beside what was measured.

Enters: folders of journals. Leaves: claims with a figure, an interval, and whether they hold.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bers.errors import FileError
from bers_studies.report.claim import Claim
from bers_studies.report.curves import Runs, read_runs
from bers_studies.report.figures import is_quick
from bers_studies.study import Study, studies


def claims(root: Path) -> list[Claim]:
    """All claims for which there are journals under `root`, such as `reproductions`.

    A quick look shows nothing of this kind, and is passed over.
    """
    found: list[Claim] = []
    for name, study in studies().items():
        folder = root / name
        if folder.is_dir() and any(folder.glob("*.jsonl")) and not is_quick(folder):
            found += _checked(study, folder)
    if not found:
        raise FileError(
            f"{root} holds no folder of a study with claims. Give the one that holds them: "
            "`bers-studies claims runs`, after `bers-studies reproduce`."
        )
    return joined(found)


def joined(found: Sequence[Claim]) -> list[Claim]:
    """Claims as printed, each with its best reading; a reading stands alone if nothing else does.

    The best reading of a claim is the first in which it holds, or the first that was tried.

    >>> one = Claim("a", "b", "paper", "c", None, 3, False, "d")
    >>> read = [replace(one, reading="x"), replace(one, reading="y", holds=True)]
    >>> [(claim.best.reading, claim.holds_somehow) for claim in joined([one, *read])]
    [('y', True)]
    """
    read: dict[str, list[Claim]] = {}
    for one in found:
        if one.reading:
            read.setdefault(one.id, []).append(one)
    best = {id: max(tried, key=lambda one: one.holds) for id, tried in read.items()}
    whole = [replace(one, best=best.get(one.id)) for one in found if not one.reading]
    known = {one.id for one in whole}
    return whole + [one for id, one in best.items() if id not in known]


def claims_of(study: Study, runs: Runs) -> list[Claim]:
    """The claims about one study, each with its place; none if there are none.

    >>> from bers_studies.study import study_named
    >>> claims_of(study_named("options"), Runs((), 0, 0, "runs/options"))
    []
    """
    check = study.claims
    made = [] if check is None else check(runs)
    return [replace(one, where=study.place(one.id, one.said_by)) for one in made]


def _checked(study: Study, folder: Path) -> list[Claim]:
    return [] if study.claims is None else claims_of(study, read_runs(folder))
