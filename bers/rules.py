"""Rules: how weights are chosen, by name or by one of your own.

Enters: the name of a rule, or a `Rule`. Leaves: what `rule=` takes, everywhere. [Eq. qp] [Eq. odds]

>>> import bers
>>> sorted(bers.rules.RULES)[:3]
['affine', 'averaged', 'centred']
>>> mine = bers.rules.Rule("rows", lambda known, past: known.rows / known.rows.sum(), needs="rows")
>>> x = [[0.0], [1.0], [2.0], [3.0]]
>>> runs = [bers.Demonstrations(x[:1], [0.0], "a"), bers.Demonstrations(x[:3], [0, 1, 2], "b")]
>>> bers.Trust(runs, rule=mine, predicts=False).observe(x, [0, 1, 2, 3]).weights.tolist()
[0.25, 0.75]
"""

from bers.trust.beliefs import Beliefs, Counts
from bers.trust.objective import METRICS
from bers.trust.rules import RULES, Past, Rule, rule_named

__all__ = ["METRICS", "RULES", "Beliefs", "Counts", "Past", "Rule", "rule_named"]
