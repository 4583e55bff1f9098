"""What we say about agents of Stable-Baselines3 and about tuning with Optuna, beside what was
measured.

Enters: the runs of the studies agents and tuning. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.agents.figures import returns, right_weights
from bers_studies.report.claim import Claim, claim_of, ends
from bers_studies.report.curves import Runs
from bers_studies.report.statistics import interval
from bers_studies.tuning.tables import gaps, misled, share

_OURS = "BERS"
_TRUSTED, _BEHIND, _SHARE = 0.9, 0.05, 0.6


def agents_claims(runs: Runs) -> Iterator[Claim]:
    """Whether the right source is found, and what that is worth."""
    for task in runs.values("task"):
        records = runs.pick(task=task, method=_OURS)
        found, short = right_weights(records), task.replace(",", "").replace(" ", "-").lower()
        misled = not records[0]["right"]
        whom = "nobody" if misled else "those that want the same, or parts of it,"
        yield claim_of(
            runs,
            f"agents-right-{short}",
            f"Stable-Baselines3, {task}: {whom} have {_TRUSTED} or more of the weight, from the "
            "second test point on",
            _OURS,
            f"{found.mean():.2f}",
            found.mean() >= _TRUSTED,
            found,
        )
        rivals = {"None": "the plain learner"} if misled else _RIVALS
        for rival, called in rivals.items():
            ours, theirs = (returns(runs, task, name).mean(axis=1) for name in (_OURS, rival))
            gain = float((ours - theirs).mean())
            least = -_BEHIND * abs(float(theirs.mean())) if misled else 0.0
            how = f"at most {_BEHIND:.0%} behind" if misled else "ahead of"
            yield claim_of(
                runs,
                f"agents-{'safe' if misled else 'ahead'}-{rival.lower()}-{short}",
                f"Stable-Baselines3, {task}: the agent is {how} {called} over all of the run",
                _OURS,
                f"{ours.mean():.0f} against {theirs.mean():.0f}",
                gain > least,
                ours - theirs,
            )


_RIVALS = {"None": "the plain learner", "equal": "one that takes all sources alike"}


def tuning_claims(runs: Runs) -> Iterator[Claim]:
    """Whether earlier studies save trials, and whether misleading ones cost anything."""
    for panel in runs.values("panel"):
        short = panel.replace(",", "").replace(" ", "-")
        value, pair = share(runs, panel, _OURS)
        yield Claim(
            f"tuning-saved-{short}",
            f"tuning, {panel}: with earlier studies, TPE's usual value takes {_SHARE:.0%} of "
            "TPE's trials or fewer",
            _OURS,
            f"{value:.0%}",
            ends(pair),
            runs.trials,
            value <= _SHARE,
            runs.folder,
        )
        for kind, method in misled(runs).items():
            worse = gaps(runs, panel, method)
            low, _ = pair = interval(worse, np.mean)
            yield Claim(
                f"tuning-safe-{kind}-{short}",
                f"tuning, {panel}: with misleading studies only ({kind}), the best value after as "
                "many trials is not measurably worse than TPE's (in percent)",
                _OURS,
                f"{worse.mean():+.1f}%",
                ends(pair),
                runs.trials,
                low <= 0,
                runs.folder,
            )
