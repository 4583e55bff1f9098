"""A ranking as the data-set weights of a robomimic config.

Enters: a `Ranking`, and the path of each source. Leaves: JSON for `train.data`, a list of data
sets with a weight each. What nobody earned is left out: robomimic has no such share. The ranking
may be of the very files, which `bers.load` reads.
"""

import json
from collections.abc import Sequence

from bers.trust.ranking import Ranking


def robomimic_weights(ranking: Ranking, paths: Sequence[str]) -> str:
    """The part of a robomimic config that says how often each data set is drawn.

    >>> from bers.trust.ranking import RankedSource
    >>> ranking = Ranking((RankedSource("alice", 0.25), RankedSource("bob", 0.75)), "new", 9)
    >>> json.loads(robomimic_weights(ranking, ["a.hdf5", "b.hdf5"]))["train"]["data"][1]
    {'path': 'b.hdf5', 'weight': 0.75}
    """
    data = [
        {"path": str(path), "weight": float(weight)}
        for path, weight in zip(paths, ranking.weights, strict=True)
    ]
    config = {"train": {"data": data, "normalize_weights_by_ds_size": True}}
    return json.dumps(config, indent=1) + "\n"
