"""What a ranking of N sources of n rows would cost: CPU, memory, bytes between machines.

Enters: measured points. Leaves: a `Plan`, with every step of `bers.rank`. Workers share one of
them, the second pass over the rows; a plan can ask what it would be like if they shared more.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scaling_fit import GROUP, HEADS, POOLED, SERIES, STRETCH

HOUR = 3600.0
CORES = 32
"""Of a machine in the plans."""
OPENING, FIRST, DRAWING = "opening the files", "first pass: means and spreads", "drawing batches"
SECOND = "second pass: encoder and R factors"
_PARTS = 64  # of a source, at most
_BATCHES = 4000  # of training, at least


@dataclass(frozen=True)
class Plan:
    """One ranking of files."""

    measured: dict[str, Any]
    sources: int
    rows: int
    """Of each source."""
    group: int = GROUP
    """Rows of a row group."""
    batches: int | None = None
    """Of training; None: as many as let every source come once on average."""
    as_measured: bool = False
    """Go on by the measured slopes, even where they are below the expected ones."""

    @property
    def total(self) -> int:
        """Rows of all sources."""
        return self.sources * self.rows

    @property
    def groups(self) -> int:
        """Row groups of a source."""
        return math.ceil(self.rows / self.group)

    @property
    def parts(self) -> int:
        """Pieces of work, over all sources."""
        return self.sources * min(_PARTS, self.groups)

    @property
    def trained(self) -> int:
        """Batches of training."""
        once = math.ceil(self.sources / HEADS) * STRETCH
        return max(_BATCHES, once) if self.batches is None else self.batches

    @property
    def drawn_rows(self) -> float:
        """Rows that are read to draw the batches of training."""
        return self._visits * min(self.rows, POOLED * self.group)

    @property
    def _visits(self) -> float:
        return math.ceil(self.trained / STRETCH) * min(self.sources, HEADS)

    @cached_property
    def steps(self) -> dict[str, float]:
        """CPU seconds of each, in their order."""
        # row groups that are larger than those measured are read in proportion
        visit = self.cost("drawing", self.rows) * max(1.0, self.group / GROUP)
        return {
            OPENING: self.sources * self.cost("opening", self.groups),
            FIRST: self.cost("first_pass", self.total),
            DRAWING: self._visits * visit,
            "training": self.trained * self.cost("training", self.sources),
            SECOND: self.cost("pass", self.total),
            "merging R factors": self.cost("merge", self.parts),
            # once more for the density of the target's rows under each source
            "heads": 2 * self.cost("heads", self.sources),
            "weights by the default rule": self.cost("odds", self.sources),
            "their intervals": self.cost("draws", self.sources),
        }

    @property
    def shared(self) -> tuple[str, ...]:
        """Steps that workers share; sources of one row group each are not handed out."""
        return (SECOND,) if self.groups > 1 else ()

    @property
    def seconds(self) -> float:
        """CPU seconds of all steps."""
        return sum(self.steps.values())

    def alone(self, also_shared: Collection[str] = ()) -> float:
        """CPU seconds of one process, which no number of machines makes shorter."""
        shared = {*self.shared, *also_shared}
        return sum(cost for name, cost in self.steps.items() if name not in shared)

    def cores(self, hours: float, also_shared: Collection[str] = ()) -> int | None:
        """How many, for all to be done in so many hours; None if one process takes longer."""
        alone = self.alone(also_shared)
        left = hours * HOUR - alone
        return math.ceil((self.seconds - alone) / left) if left > 0 else None

    @property
    def network(self) -> dict[str, float]:
        """Bytes between machines, at most."""
        each, parts = self.measured["bytes"], self.parts
        return {
            "R factors, from the workers": parts * each["factor"],
            "the encoder, to every machine": each["encoder"],
            "which rows to read, to the workers": parts * self.cost("part_bytes", self.groups),
            "weights, to a learner": self.sources * each["weight"],
            "rows, if the files are elsewhere": 2 * self.stored + self.drawn_rows * each["row"],
        }

    @property
    def stored(self) -> float:
        """Bytes of all files."""
        return self.total * self.measured["bytes"]["row"]

    @property
    def memory(self) -> dict[str, float]:
        """Bytes in the process that ranks."""
        each = self.measured["memory"]
        return {
            "footers of the files": self.sources * self.groups * each["footer"],
            "weights by the default rule": self.sources * each["odds"],
            "their intervals": self.sources * each["draws"],
        }

    def cost(self, name: str, size: float) -> float:
        """Of one series at a size."""
        points = self.measured["series"][name]
        return SERIES[name].cost(points, size, as_measured=self.as_measured)
