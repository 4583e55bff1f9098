"""Which earlier studies helped a study, how much, and when.

Enters: a study that `BersSampler` sampled. Leaves: rows of a table, and lines of text.
"""

from collections.abc import Sequence

import numpy as np
from optuna import Study
from optuna.study import StudyDirection
from optuna.trial import TrialState

from bers.errors import DataError
from bers.integrations.optuna.space import KEY, usable_value
from bers.text import printable

HEADS = ("whose", "points tried", "best of them", "improvements", "gain", "weight")
_OWN = {"model": "the model's own", "base": "the base sampler", "user": "yours"}


def helped(study: Study) -> list[tuple[str, ...]]:
    """Rows of a table: every earlier study whose point was tried or that had some weight.

    Parameters
    ----------
    study
        Sampled by `BersSampler`.

    Returns
    -------
    list of tuple of str
        Under `HEADS`. The gain is the share of all improvement after the first trial. The weights
        are those at the end of each third of the study.

    Examples
    --------
    >>> from optuna import create_study
    >>> from optuna.trial import create_trial
    >>> study = create_study()
    >>> kept = [{"source": None, "by": "base", "weights": {"a": 0.5, "nobody": 0.5}},
    ...         {"source": "a", "by": "model", "weights": {"a": 0.9, "nobody": 0.1}}]
    >>> study.add_trials([create_trial(value=y, user_attrs={KEY: told})
    ...                   for y, told in zip((3.0, 1.0), kept)])
    >>> for row in helped(study):
    ...     print(row)
    ('a', '1', '1', '1', '100%', '0.50, 0.50, 0.90')
    ('the base sampler', '1', '3', '0', '', '')
    ('nobody', '', '', '', '', '0.50, 0.50, 0.10')
    """
    if len(study.directions) > 1:
        raise DataError("a report needs a study with one objective; this one has several.")
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    done = [t for t in study.get_trials(deepcopy=False) if t.state == TrialState.COMPLETE]
    done = [t for t in done if usable_value(t.values[0])]
    kept = [t.user_attrs.get(KEY, {}) for t in done]
    if not any(kept):
        raise DataError(
            "no trial says whom it was guided by. Give a study that was sampled by BersSampler."
        )
    whose = [told.get("source") or _OWN[told.get("by", "user")] for told in kept]
    y = np.array([sign * t.values[0] for t in done])
    least = np.minimum.accumulate(y)
    gains = np.append(0.0, least[:-1] - least[1:])
    shares = [told["weights"] for told in kept if told]
    names = list(dict.fromkeys(n for one in shares for n in one if n != "nobody"))
    names = [n for n in names if n in whose or any(one.get(n, 0) >= 0.01 for one in shares)]
    order = [*sorted(names, key=lambda n: -gains[[w == n for w in whose]].sum())]
    rows = []
    for name in [*order, *(own for own in _OWN.values() if own in whose)]:
        mine = np.array([w == name for w in whose])
        total, gain = float(gains.sum()), float(gains[mine].sum())
        rows.append(
            (
                printable(name),
                str(int(mine.sum())),
                f"{sign * y[mine].min():.4g}" if mine.any() else "",
                str(int((gains[mine] > 0).sum())),
                f"{gain / total:.0%}" if gain > 0 else "",
                _weights(shares, name) if name in names else "",
            )
        )
    return [*rows, ("nobody", "", "", "", "", _weights(shares, "nobody"))]


def _weights(shares: Sequence[dict[str, float]], name: str) -> str:
    """At the end of each third; a trial keeps its largest weights only."""
    at = [max(0, round(len(shares) * third / 3) - 1) for third in (1, 2, 3)]
    return ", ".join(f"{shares[i].get(name, 0.0):.2f}" for i in at)
