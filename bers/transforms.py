"""Transforms of labels: what to import to change, rank or trim them, and to have them back.

Each is a frozen record that can be fitted, stored with the data and undone. Pass them to
`Demonstrations.transformed` or `Shards.transformed`, first to last.

| transform | label | for |
|---|---|---|
| `Sqrt` | √y | labels that are never negative |
| `Log1p` | log(1 + y) | labels above -1 |
| `LogGap` | log(1 + (y - least) / unit) | far outliers, any units |
| `Standardise` | (y - mean) / scale | any labels |
| `RankNormal` | normal score of the rank | any labels, whatever their shape |
| `Trim` | y, without the extreme rows | mistakes at either end |
| `Chain` | several of them as one | |

Examples
--------
>>> import bers
>>> from bers.transforms import Log1p, Sqrt
>>> costs = bers.Demonstrations([[0.0], [1.0]], [0.0, 9.0], "alice")
>>> gentle = costs.transformed(Sqrt(), Log1p())
>>> gentle.y.round(3), gentle.original_y.round(3)
(array([0.   , 1.386]), array([0., 9.]))
"""

from bers.data.transforms import *  # noqa: F403
from bers.data.transforms import __all__  # noqa: F401
