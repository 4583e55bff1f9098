"""A ranking as text, HTML, JSON and picture.

Enters: the plain values of a `Ranking`. Leaves: something to look at. Names of sources come from
other people's files: they are escaped here, in every form.
"""

import html
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bers.errors import ConfigError
from bers.files import write_atomically
from bers.html import bars, rows_of, whole_page
from bers.text import printable

_Cell = Callable[[Mapping[str, Any]], str]
_LINES: dict[str, tuple[_Cell, str]] = {
    "weight": (lambda one: _number(one["weight"], ".3f"), ""),
    "interval": (lambda one: _span(one["low"], one["high"]), ""),
    "best": (lambda one: _number(one["prob_best"], ".0%"), "chance to deserve the largest weight"),
    "corr.": (
        lambda one: _number(one["correlation"], "+.2f"),
        "correlation of the source's function with the target's labels",
    ),
    "error": (
        lambda one: _number(one["error"], ".3g"),
        "of its head on target rows, which it has not seen, offset removed",
    ),
    "skill": (
        lambda one: _number(one["skill"], ".0%"),
        "of its own held-out labels that its head explains",
    ),
    "outside": (
        lambda one: _number(one["extrapolation"], ".0%"),
        "target rows outside the range that it has seen",
    ),
    "rows": (lambda one: f"{one['rows']:,}", ""),
    "return": (lambda one: _number(one["value"], ".3g"), "mean return, or mean label"),
    "worth": (
        lambda one: _worth(one["worth"], one["worth_low"], one["worth_high"]),
        "what an episode of it, or a row, would have earned in the target's task, with an interval",
    ),
}
"""The columns after the name: what stands in a source's line, and what it means, if that is not
plain. A new column is a field of `RankedSource` and a line here."""
COLUMNS = ("source", *_LINES)
"""Of the table; `legend` says what they mean."""

_BAR, _REST = "#0072B2", "#999999"
_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums",
    "text-align:{align};padding:.25em .6em;border-bottom:1px solid #ddd",
)


def table(ranking: Mapping[str, Any], longest: int = 30) -> list[list[str]]:
    """The cells of the table, largest weight first, nobody last."""
    lines = sorted(ranking["sources"], key=lambda one: -one["weight"])
    rows = [
        [printable(one["name"], longest), *(cell(one) for cell, _ in _LINES.values())]
        for one in lines
    ]
    nobody = {
        "weight": ranking["nobody"],
        "low": ranking["nobody_low"],
        "high": ranking["nobody_high"],
        "prob_best": ranking["nobody_prob_best"],
    }
    known = ("weight", "interval", "best")
    cells = [cell(nobody) if name in known else "" for name, (cell, _) in _LINES.items()]
    return [*rows, ["nobody", *cells]]


def headings(ranking: Mapping[str, Any]) -> list[str]:
    """Of the table's columns."""
    return [f"{ranking['level']:.0%} interval" if c == "interval" else c for c in COLUMNS]


def legend() -> str:
    """What the columns mean, in one paragraph."""
    meant = "; ".join(f"{name}: {text}" for name, (_, text) in _LINES.items() if text)
    return f"{meant}. Weights say how alike the goals are, not how skilled a source is."


def title(ranking: Mapping[str, Any]) -> str:
    """Target, rows and rule."""
    return (
        f"Sources for {printable(ranking['target'], 40)!r}, {ranking['target_rows']:,} rows, "
        f"by {ranking['rule']}"
    )


def footing(ranking: Mapping[str, Any]) -> list[str]:
    """What the weights rest on, and the warnings."""
    lines = [verdict(ranking)]
    if not math.isnan(ranking["explained"]):
        lines.append(
            f"The target's own head explains {ranking['explained']:.0%} of its labels, the "
            f"weighted sources {ranking['mixture_explained']:.0%}."
        )
    return [*lines, *(f"Note: {one}" for one in ranking["warnings"])]


def verdict(ranking: Mapping[str, Any]) -> str:
    """The answer in one sentence."""
    if ranking["undecided"]:
        return (
            "Undecided: these rows do not settle whom to trust, if anybody. Weights are what is "
            "likely so far."
        )
    if ranking["verdict"] == "nobody":
        return "Answer: nobody. No source is like the target."
    return f"Answer: {printable(ranking['verdict'], 200)}."


def as_text(ranking: Mapping[str, Any]) -> str:
    """A plain table."""
    rows = [headings(ranking), *table(ranking)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([title(ranking), *lines, *footing(ranking)])


def as_html(ranking: Mapping[str, Any]) -> str:
    """A table for notebooks, without scripts."""
    whole, cell = _STYLE
    head = _html_row("th", headings(ranking), cell)
    body = "".join(_html_row("td", row, cell) for row in table(ranking, 60))
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in footing(ranking))
    return (
        f"<p><b>{html.escape(title(ranking))}</b></p>"
        f'<table style="{whole}"><thead>{head}</thead><tbody>{body}</tbody></table>{notes}'
    )


def as_page(ranking: Mapping[str, Any]) -> str:
    """A whole page: bars, table and legend in one file that asks for nothing else."""
    return whole_page("Whom to trust", page_parts(ranking))


def page_parts(ranking: Mapping[str, Any]) -> list[str]:
    """What a page says of a ranking; the answer first, at most thirty bars."""
    lines = sorted(ranking["sources"], key=lambda one: -one["weight"])
    shares = [(one["name"], one["weight"], one["low"], one["high"]) for one in lines[:30]]
    if len(lines) > 30:
        rest = sum(one["weight"] for one in lines[30:])
        shares.append((f"{len(lines) - 30:,} more", rest, math.nan, math.nan))
    shares.append(
        ("nobody", ranking["nobody"], ranking["nobody_low"], ranking["nobody_high"]),
    )
    said, *notes = footing(ranking)
    return [
        f"<p>{html.escape(title(ranking))}. <b>{html.escape(said)}</b></p>",
        bars(shares),
        f'<p class="soft">Bars: weights. Lines across them: {ranking["level"]:.0%} intervals.</p>',
        rows_of([headings(ranking), *table(ranking, 60)]),
        *(f"<p>{html.escape(line)}</p>" for line in notes),
        f'<p class="soft">{html.escape(legend())}</p>',
    ]


def as_json(ranking: Mapping[str, Any]) -> str:
    """Weights, nobody, intervals and warnings first, then every line; NaN becomes null."""
    lines = ranking["sources"]
    first = {
        "weights": {one["name"]: one["weight"] for one in lines},
        "nobody": ranking["nobody"],
        "intervals": {one["name"]: [one["low"], one["high"]] for one in lines},
        "nobody_interval": [ranking["nobody_low"], ranking["nobody_high"]],
        "level": ranking["level"],
        "warnings": list(ranking["warnings"]),
        "verdict": ranking["verdict"],
        "undecided": ranking["undecided"],
    }
    rest = {key: value for key, value in ranking.items() if key not in first}
    return json.dumps(_plain({**first, **rest}), indent=1, allow_nan=False)


def figure(ranking: Mapping[str, Any], path: str | os.PathLike[str] | None = None):
    """Bars of the weights with their intervals, largest first; at most thirty sources.

    What they are worth stands beside that, where it is known.
    """
    Figure = matplotlib_figure()
    lines = sorted(ranking["sources"], key=lambda one: -one["weight"])
    shown, more = lines[:30], len(lines) - 30
    names = [_plain_text(one["name"]) for one in shown]
    values = [(one["weight"], one["low"], one["high"]) for one in shown]
    if more > 0:
        names.append(f"{more:,} more")
        values.append((sum(one["weight"] for one in lines[30:]), math.nan, math.nan))
    names.append("nobody")
    values.append((ranking["nobody"], ranking["nobody_low"], ranking["nobody_high"]))
    worths = [(one["worth"], one["worth_low"], one["worth_high"]) for one in shown]
    beside = any(not math.isnan(worth) for worth, _, _ in worths)
    size = (10 if beside else 7, 1.2 + 0.38 * len(names))
    canvas = Figure(figsize=size, layout="constrained")
    ax, *more_axes = canvas.subplots(1, 1 + beside, squeeze=False, sharey=True)[0]
    for right in more_axes:
        for i, (worth, low, high) in enumerate(worths):
            right.plot([low, high], [i, i], color="#222222", lw=1.6)
            right.plot([worth], [i], "o", color=_BAR)
        right.set_xlabel(f"worth in the target's task, with {ranking['level']:.0%} interval")
        right.grid(axis="x", color="0.92")
        right.spines[["top", "right", "left"]].set_visible(False)
        right.tick_params(axis="y", length=0)
    for i, (weight, low, high) in enumerate(values):
        ax.barh(i, weight, color=_REST if names[i] == "nobody" else _BAR, height=0.62, zorder=2)
        if not math.isnan(low):
            ax.plot([low, high], [i, i], color="#222222", lw=1.6, zorder=3)
        end = max(weight, 0.0 if math.isnan(high) else high)
        ax.text(end + 0.012, i, f"{weight:.2f}", va="center", fontsize=9, color="#222222")
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.08), xlabel=f"weight, with {ranking['level']:.0%} interval")
    ax.set_title(title(ranking), loc="left", fontsize=11, parse_math=False)
    ax.grid(axis="x", color="0.92", zorder=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if path is not None:
        with write_atomically(path) as temporary:
            canvas.savefig(temporary, format="png", dpi=120)
    return canvas


def matplotlib_figure() -> Any:
    """Matplotlib's Figure, which is optional."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("a picture needs Matplotlib: pip install 'bers[plot]'.") from error
    return Figure


def _html_row(kind: str, cells: Sequence[str], style: str) -> str:
    parts = [
        f'<{kind} style="{style.format(align="left" if i == 0 else "right")}">'
        f"{html.escape(cell)}</{kind}>"
        for i, cell in enumerate(cells)
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _plain_text(name: str) -> str:
    return printable(name, 24)


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _worth(mean: float, low: float, high: float) -> str:
    """As many digits as tell the ends apart, at least three."""
    if math.isnan(mean):
        return ""
    apart, most = high - low, max(abs(low), abs(high), abs(mean))
    digits = 2 + round(math.log10(most / apart)) if 0 < apart < most else 3
    form = f".{min(max(digits, 3), 8)}g"
    return f"{mean:{form}} ({low:{form}} to {high:{form}})"


def _span(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{low:.2f} to {high:.2f}"


def _plain(value: Any) -> Any:
    """Values that JSON has: no NaN, no tuples, no NumPy."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str | bool | int) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
