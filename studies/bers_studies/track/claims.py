"""What we say about the cart on a track, beside what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs


def claims(runs: Runs) -> Iterator[Claim]:
    """In the end not behind the plain learner on any goal; ahead over all where a log helps."""
    for task in runs.values("task"):
        ours, plain = (runs.array("returns", task=task, method=m) for m in ("BERS", "None"))
        short = task.split()[0].replace("'s", "")
        last = [part[:, -(part.shape[1] // 4 or 1) :].mean(axis=1) for part in (ours, plain)]
        gain = last[0] - last[1]
        yield claim_of(
            runs,
            f"track-final-{short}",
            f"cart on a track, {task}: over the last quarter the agent is at least as good as the "
            "plain learner",
            "BERS",
            f"{last[0].mean():.1f} against {last[1].mean():.1f}",
            gain.mean() >= 0,
            gain,
        )
        if runs.pick(task=task)[0]["right"]:
            areas = [part.mean(axis=1) for part in (ours, plain)]
            yield claim_of(
                runs,
                f"track-area-{short}",
                f"cart on a track, {task}: over all of the run the agent is ahead of the plain "
                "learner",
                "BERS",
                f"{areas[0].mean():.1f} against {areas[1].mean():.1f}",
                (areas[0] - areas[1]).mean() > 0,
                areas[0] - areas[1],
            )
