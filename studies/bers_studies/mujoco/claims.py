"""What we say about HalfCheetah with the logs of others, beside what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_FROM = 2000
_BELOW, _BEHIND = 0.1, 0.05


def claims(runs: Runs) -> Iterator[Claim]:
    """Never far below a clone of the right log; not behind plain where all mislead."""
    for task in runs.values("task"):
        first = runs.pick(task=task)[0]
        ours, plain = (runs.array("returns", task=task, method=m) for m in ("BERS", "None"))
        gain = ours.mean(axis=1) - plain.mean(axis=1)
        told = f"{ours.mean():.0f} against {plain.mean():.0f}"
        if not first["right"]:
            yield claim_of(
                runs,
                "mujoco-mislead",
                f"HalfCheetah at {task}, where all logs mislead: the agent is at most "
                f"{_BEHIND:.0%} behind the plain learner over all of the run",
                "BERS",
                told,
                gain.mean() > -_BEHIND * abs(plain.mean()),
                gain,
            )
            continue
        yield claim_of(
            runs,
            "mujoco-ahead-none",
            f"HalfCheetah at {task}: the agent is ahead of the plain learner over all of the run",
            "BERS",
            told,
            gain.mean() > 0,
            gain,
        )
        late = np.array(first["at"]) >= _FROM
        clone = runs.array("begun", task=task, method="behaviour cloning, then SAC")
        least = ours[:, late].min(axis=1)
        bar = clone - _BELOW * np.abs(clone)
        yield claim_of(
            runs,
            "mujoco-never-below",
            f"HalfCheetah at {task}: from step {_FROM} on the agent is never more than "
            f"{_BELOW:.0%} below what a clone of the right log earns without a step",
            "BERS",
            f"least {least.mean():.0f} against {bar.mean():.0f}",
            bool((least >= bar).all()),
            least - bar,
        )
        rlpd = runs.array("returns", task=task, method="RLPD, right log").mean(axis=1)
        yield claim_of(
            runs,
            "mujoco-ahead-rlpd",
            f"HalfCheetah at {task}: the agent is ahead of RLPD that is told the right log, over "
            "all of the run",
            "BERS",
            f"{ours.mean():.0f} against {rlpd.mean():.0f}",
            (ours.mean(axis=1) - rlpd).mean() > 0,
            ours.mean(axis=1) - rlpd,
        )
