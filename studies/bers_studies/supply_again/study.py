"""The supply chain again: BERS alone, by the defaults as they are now.

Enters: settings and a number, which stands for a trial and one of four ground truths. Leaves: one
record, as that of BERS in the study `supply`. The other methods of that study do not depend on how
sources are judged: with the same numbers they would give the same bits, so they are not run again.
"""

from collections.abc import Iterator
from typing import Any

from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.supply.demonstrations import shown, with_trucks
from bers_studies.supply.study import CONFIG, PARTS, QUICK, TRUTHS, SupplyBench, SupplyConfig

__all__ = ["CONFIG", "PARTS", "QUICK", "trial"]


def trial(config: SupplyConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One trial on one truth; numbers are those of the study `supply`."""
    number, which = divmod(seed, PARTS)
    truth = TRUTHS[which]
    given = shown(number, inputs=with_trucks(), config=config.shown)
    bench = SupplyBench(SupplyTask(SupplyChain(truth)), given, number, config, with_trucks())
    run = bench.run("BERS")
    run.pop("posteriors")
    record = {"truth": str(truth), "trial": number, "method": "BERS", "sources": given.profit}
    yield record | run
