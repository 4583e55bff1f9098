"""What we say about agents of Stable-Baselines3, beside what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.agents.tables import right_weights
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_OURS = "BERS"
_TRUSTED, _BEHIND = 0.9, 0.05
_RIVALS = {"None": "the plain learner", "equal": "one that takes all sources alike"}


def claims(runs: Runs) -> Iterator[Claim]:
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
            ours, theirs = (
                runs.array("returns", task=task, method=name).mean(axis=1)
                for name in (_OURS, rival)
            )
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
