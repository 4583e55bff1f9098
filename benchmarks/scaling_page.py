"""The tables and the picture of docs/scaling.md, from scaling.json.

python benchmarks/scaling_page.py   # nothing is measured anew
"""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from scaling_fit import SERIES, Series
from scaling_plan import CORES, DRAWING, FIRST, OPENING, Plan
from scaling_words import bytes_said, count, hours_said, seconds_said

from bers.files import write_atomically

STORED = Path(__file__).with_name("scaling.json")
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
PICTURE = PAGE.with_suffix(".png")
SOURCES, ROWS = 10_000, 10**9
_LARGE = 1 << 20


def plans(found: dict, **how: object) -> dict[str, Plan]:
    """Both readings of "10,000 sources, a billion rows", and one with larger row groups."""
    few, many = ROWS // SOURCES, ROWS
    return {
        "a billion rows in all": Plan(found, SOURCES, few, **how),
        "a billion rows each": Plan(found, SOURCES, many, **how),
        "the same, row groups of a million": Plan(found, SOURCES, many, group=_LARGE, **how),
    }


def points_listed(series: Series, points: list) -> str:
    """What was measured, size by size."""
    said = bytes_said if series.unit == "B" else seconds_said
    return ", ".join(f"{count(size)}: {said(cost)}" for size, cost in points)


def page(text: str, found: dict) -> str:
    """The page with all its tables made anew."""
    for name, lines in _blocks(found).items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"{PAGE.name} has no place for {name}: add {begin} and {end}.")
        text = before + "\n".join([begin, "", *lines, "", end]) + after
    return text


def digest() -> str:
    """Of the stored measurements; the picture carries it."""
    return hashlib.sha256(STORED.read_bytes()).hexdigest()


def write() -> None:
    """Page and picture from what is stored."""
    found = json.loads(STORED.read_text())
    draft = PAGE.with_name(f"{PAGE.name}.part")
    draft.write_text(page(PAGE.read_text(), found))
    os.replace(draft, PAGE)
    draw(found)


def _blocks(found: dict) -> dict[str, list[str]]:
    return {
        "measured": _measured(found),
        "system": _system(found),
        "moves": _moves(found),
        "check": _check(found),
        "plan": _plan(found),
        "verdict": _verdict(found),
        "trials": _trials(found),
    }


def _measured(found: dict) -> list[str]:
    about = found["machine"]
    lines = [
        f"CPU time in one thread of {about['cpu']}, {about['measured']}; medians.{_again(found)}",
        "",
        "| step | by | expected | slope | measured |",
        "|---|---|---|---|---|",
    ]
    for name, series in SERIES.items():
        points = found["series"][name]
        flat = "" if series.upto == float("inf") else f", flat from {count(series.upto)} on"
        lines.append(
            f"| {series.what} | {series.over} | {series.expected:g}{flat} "
            f"| {series.slope(points):.2f} | {points_listed(series, points)} |"
        )
    return lines


def _again(found: dict) -> str:
    """Series that were measured alone, after their program had changed."""
    later = found.get("again", {})
    said = [f"{' and '.join(names)} on {day}" for day, names in later.items()]
    return f" Measured again: {', '.join(said)}." if said else ""


def _system(found: dict) -> list[str]:
    share = found["system"]
    return [
        f"At {count(share['sources'])} sources, {share['heads']:.0%} of the CPU time of heads is "
        "the system's, which hands out memory page by page. They are worked on in blocks that stay "
        "in cache; all at once, they would grow faster than their arithmetic. Of the default "
        f"rule's CPU time the system's share is {share['odds']:.0%}."
    ]


def _moves(found: dict) -> list[str]:
    size, parts = found["bytes"], dict(found["series"]["part_bytes"])
    few, many = min(parts), max(parts)
    return [
        "| what | from | to | bytes |",
        "|---|---|---|---|",
        f"| the encoder and the scale of inputs | ranking process | machine | "
        f"{bytes_said(size['encoder'])}, once |",
        f"| which rows to read | ranking process | worker | {bytes_said(parts[few])} a part of a "
        f"source of {few} row groups, {bytes_said(parts[many])} of {count(many)} |",
        f"| R factor and count | worker | ranking process | {bytes_said(size['factor'])} a part |",
        f"| weights | ranking process | learner | {size['weight']} B a source |",
        f"| records of a trial | worker | runner | {bytes_said(size['trial'])} a short trial |",
        f"| rows | files | worker | {size['row']:.0f} B a row of 10 inputs and a label, "
        "unless the files are on the worker |",
    ]


def _check(found: dict) -> list[str]:
    check = found["check"]
    plan = Plan(found, check["sources"], check["rows"], batches=check["batches"])
    ratio = check["seconds"] / plan.seconds
    return [
        f"A ranking of {check['sources']} sources of {count(check['rows'])} rows on disk, "
        f"{check['batches']} batches, took {seconds_said(check['seconds'])} of CPU time. The sum "
        f"of its steps by these slopes is {seconds_said(plan.seconds)}: measured over planned, "
        f"{ratio:.2f}."
    ]


def _plan(found: dict) -> list[str]:
    every, measured = plans(found), plans(found, as_measured=True).values()
    some = list(every.values())
    first = some[0]
    lines = [f"| | {' | '.join(every)} |", "|---|" + "---|" * len(every)]

    def line(what: str, values: Iterable[str]) -> None:
        lines.append(f"| {what} | {' | '.join(values)} |")

    line("rows in all", (count(plan.total) for plan in some))
    line("row groups in all", (count(plan.sources * plan.groups) for plan in some))
    line("parts, at most 64 a source", (count(plan.parts) for plan in some))
    line("bytes of the files", (bytes_said(plan.stored) for plan in some))
    line("batches of training", (count(plan.trained) for plan in some))
    for name in first.steps:
        line(f"CPU: {name}", (hours_said(plan.steps[name]) for plan in some))
    line("**CPU: all**", (f"**{hours_said(plan.seconds)}**" for plan in some))
    line("the same by the measured slopes alone", (hours_said(plan.seconds) for plan in measured))
    line("of it in one process", (hours_said(plan.alone()) for plan in some))
    for name in first.network:
        line(f"network: {name}", (bytes_said(plan.network[name]) for plan in some))
    for name in first.memory:
        line(f"memory: {name}", (bytes_said(plan.memory[name]) for plan in some))
    return lines


def _verdict(found: dict) -> list[str]:
    lines = []
    for name, plan in plans(found).items():
        said = [f"- **{name[0].upper()}{name[1:]}.** Today: {_enough(plan, ())}"]
        if plan.cores(1) is None:
            said.append(f"With the first pass shared like the second: {_enough(plan, (FIRST,))}")
            more = (FIRST, OPENING, DRAWING)
            said.append(f"With opening and drawing shared as well: {_enough(plan, more)}")
        lines.append(" ".join(said))
    return lines


def _enough(plan: Plan, also_shared: tuple[str, ...]) -> str:
    """Cores and machines for an hour, or else for a day."""
    said = f"one process is busy for {hours_said(plan.alone(also_shared))}"
    for hours, span in ((1, "an hour"), (24, "a day")):
        cores = plan.cores(hours, also_shared)
        if cores is not None:
            return f"{said}; to be done in {span}, the rest takes {_cores(cores)}."
    return f"{said}, so no number of machines does it in a day."


def _cores(cores: int) -> str:
    machines = -(-cores // CORES)
    many = "1 machine" if machines == 1 else f"{count(machines)} machines"
    return f"{count(cores)} core{'' if cores == 1 else 's'}, {many} of {CORES} cores"


def _trials(found: dict) -> list[str]:
    series, points = SERIES["trials"], found["series"]["trials"]
    return [
        "Trials are independent, so twice as many cost twice as much, less what a study costs "
        f"once: from {count(points[0][0])} to {count(points[-1][0])} short searches the slope is "
        f"{series.slope(points):.2f}. What comes back is records, "
        f"{bytes_said(found['bytes']['trial'])} for such a search. A study keeps as many cores "
        "busy as it has trials, and no more."
    ]


def draw(found: dict) -> None:
    """Points and lines by rows, by sources and by features, on log-log paper."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    for ax, (over, (end, names)) in zip(figure.subplots(1, 3), _PANELS.items(), strict=True):
        for name, colour in zip(names, _COLOURS, strict=False):
            _line(ax, SERIES[name], found["series"][name], colour, end)
        ax.set(xscale="log", yscale="log", xlabel=over)
        ax.grid(color="0.94")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.axes[0].set_ylabel("CPU seconds")
    with write_atomically(PICTURE) as temporary:
        figure.savefig(temporary, format="png", dpi=100, metadata={"Description": digest()})


_PANELS = {
    "rows": (1e9, ("read", "first_pass", "pass")),
    "sources": (1e6, ("program", "training", "odds", "heads", "draws")),
    "features": (0, ("factor", "collinear", "head_features")),
}
"""What stands on the axis: how far lines go on, and which there are."""
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito


def _line(ax, series: Series, points: list, colour: str, end: float) -> None:
    """Points that were measured, a line through them, and where it goes on."""
    sizes, costs = zip(*points, strict=True)
    said = f"{series.what}: {series.slope(points):.2f}"
    ax.plot(sizes, costs, "o-", color=colour, ms=4, lw=1, label=said)
    if end > sizes[-1]:
        beyond = [series.cost(points, size) for size in (sizes[-1], end)]
        ax.plot((sizes[-1], end), beyond, ":", color=colour, lw=1.5)


if __name__ == "__main__":
    write()
