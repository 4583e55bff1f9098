"""One line of the benchmark table, and of results.json.

Three kinds of row, told apart by `rule`, which says in words when the goal is met:
a race ("ratio >= goal", our speed over the peer's), a limit ("ours <= goal", where `peer` repeats
the limit and `ratio` is limit / ours), and a growth ("ratio <= goal", time per row).
"""

import datetime
import math
import os
import platform
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

RACE, LIMIT, GROWTH = "ratio >= goal", "ours <= goal", "ratio <= goal"


@dataclass(frozen=True)
class Row:
    """What was measured, against what, and whether that is enough."""

    name: str
    ours: float
    peer: float
    peer_name: str
    ratio: float
    goal: float
    rule: str
    unit: str
    note: str
    fine: bool = True
    """False when a check beside the number failed; the note says which."""
    machine: dict[str, object] = field(default_factory=lambda: machine())
    floor: float = math.nan
    """What the part that nobody can do without takes alone, in the unit of `ours`, measured in the
    same run: the same matrix products, the same decoding. NaN: not measured."""

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        value = self.ours if self.rule == LIMIT else self.ratio
        reached = value >= self.goal if self.rule == RACE else value <= self.goal
        return reached and self.fine

    @property
    def out_of_reach(self) -> bool:
        """Whether the goal would be missed even if all but that part took no time."""
        if math.isnan(self.floor):
            return False
        if self.rule != RACE:
            return (self.floor if self.rule == LIMIT else self.floor / self.peer) > self.goal
        faster_is_more = math.isclose(self.ratio, self.ours / self.peer, rel_tol=1e-6)
        best = self.floor / self.peer if faster_is_more else self.peer / self.floor
        return best < self.goal

    def entry(self) -> dict[str, object]:
        """The row as results.json has it, numbers to four digits; a floor where it is known."""
        values = {key: _short(value) for key, value in asdict(self).items() if key != "fine"}
        if math.isnan(self.floor):
            del values["floor"]
        return {**values, "met": self.met}

    def above(self, floor: float, what: str = "") -> "Row":
        """The same with its floor, which is `what`; where the goal cannot be met, how near it is
        decides."""
        row = replace(self, floor=floor)
        share = max(self.ours, floor) / min(self.ours, floor)
        said = f" {share:.2f} times the floor{what and f', {what}'}."
        if row.out_of_reach:
            said += " No program can meet the goal here; it is judged by that."
        elif not row.met:
            said += " The floor leaves room: the goal is missed."
        return replace(row, note=self.note + said)


def faster(
    name: str,
    ours: float,
    peer: float,
    *,
    peer_name: str,
    goal: float,
    unit: str,
    note: str,
    less_is_better: bool = False,
) -> Row:
    """A race: `ours` and `peer` are rates, or times if less is better."""
    ratio = peer / ours if less_is_better else ours / peer
    return Row(name, ours, peer, peer_name, ratio, goal, RACE, unit, note)


def at_most(
    name: str, ours: float, limit: float, *, unit: str, note: str, fine: bool = True
) -> Row:
    """A limit that `ours` must keep."""
    ratio = limit / max(ours, 1e-9)
    return Row(name, ours, limit, "limit", ratio, limit, LIMIT, unit, note, fine)


def machine() -> dict[str, object]:
    """What the numbers depend on, and the day they were measured."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "measured": datetime.date.today().isoformat(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def _short(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value
