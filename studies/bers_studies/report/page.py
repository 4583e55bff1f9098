"""One page for any number of studies: self-contained, readable offline and without scripts.

Enters: folders of journals, or of results with their tables and pictures. Leaves: HTML as text.
Charts are drawn once, as SVG; what a reader chooses is done by style rules. A script adds a slider
and the numbers under the pointer, and nothing that cannot be read without it.
"""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bers.errors import BersError, FileError
from bers.files import read_regular
from bers.text import printable
from bers_studies.report.claim import Claim
from bers_studies.report.claims import claims_of
from bers_studies.report.curves import Runs, runs_of
from bers_studies.report.figures import is_quick
from bers_studies.report.markdown import to_html
from bers_studies.report.panel import Panel
from bers_studies.report.svg import draw
from bers_studies.report.views import STATISTICS, groups
from bers_studies.runner.journal import Journal, read_journals
from bers_studies.study import Study, studies

_PICTURES, _TABLES = 4_000_000, 4_000_000  # bytes of a picture, and of tables, that a page takes
COLOURS = 16
"""Classes that the style sheet knows."""


@dataclass(frozen=True)
class Shown:
    """A group of charts on the page."""

    title: str
    figures: list[tuple[str, Markup]]
    names: list[str]
    choose: bool
    numbers: str = ""
    """JSON for the numbers under the pointer."""
    opened: tuple[int, ...] | None = None
    """Numbers of the lines that are shown at first; None: all."""


@dataclass(frozen=True)
class Section:
    """One study on the page."""

    name: str
    about: str = ""
    claims: list[Claim] = field(default_factory=list)
    charts: list[Shown] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    tables: Markup | str = ""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    provenance: dict[str, str] = field(default_factory=dict)
    trials: int = 0
    failed: int = 0
    quick: bool = False


def page(folders: Sequence[Path], *, title: str = "BERS", live: bool = False) -> str:
    """The whole page; `live` makes it look for news by itself.

    >>> page([Path("nowhere")])
    Traceback (most recent call last):
    bers.errors.FileError: nowhere holds nothing to show. Give a folder that `reproduce` made.
    """
    sections = [_safe_section(folder, live) for folder in folders]
    style, script = _asset("page.css"), _asset("page.js")
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(_asset("page.html"))
    return template.render(
        title=title,
        sections=sections,
        claims=[claim for section in sections for claim in section.claims],
        numbers={section.name: i for i, section in enumerate(sections, start=1)},
        said={"paper": "What the paper says", "BERS": "What we say"},
        statistics=STATISTICS,
        style=Markup(style),
        script=Markup(script),
        script_hash=_hash(script),
        colours=COLOURS,
        live=live,
    )


def _safe_section(folder: Path, live: bool) -> Section:
    """A section, or one sentence on a folder whose records are not what a study writes."""
    try:
        return _section(folder, live)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, BersError):
            raise
        raise FileError(
            f"{printable(str(folder), 200)} cannot be shown: its records are not what a study of "
            f"this version writes ({type(error).__name__}: {printable(str(error), 100)}). Run the "
            "study again, or leave the folder out."
        ) from error


def _section(folder: Path, live: bool) -> Section:
    journals = read_journals(folder) if folder.is_dir() else []
    pictures = [(p.stem.replace("-", " "), _embedded(p)) for p in sorted(folder.glob("*.png"))]
    table = folder / "tables.md"
    tables = Markup(to_html(_text(table))) if os.path.lexists(table) else Markup("")
    if not journals and not pictures and not tables and not (live and folder.is_dir()):
        raise FileError(f"{folder} holds nothing to show. Give a folder that `reproduce` made.")
    fine = [j for j in journals if not j.failed]
    runs = runs_of(folder, journals) if fine else None
    quick = is_quick(folder)
    study = _study(folder, fine)
    return Section(
        name=folder.name,
        about="" if study is None else study.about,
        claims=[] if runs is None or quick else _claims(study, runs),
        charts=[] if runs is None else _charts(runs, () if study is None else study.sources),
        panels=[] if runs is None else _panels(study, runs),
        tables=tables,
        pictures=pictures,
        provenance=_provenance(fine),
        trials=0 if runs is None else runs.trials,
        failed=len(journals) - len(fine),
        quick=quick,
    )


def _study(folder: Path, journals: Sequence[Journal]) -> Study | None:
    """The study that journals name, or else their folder; None if it is not one of ours."""
    named = journals[0].header.get("name") if journals else None
    return studies().get(str(named or folder.name))


def _claims(study: Study | None, runs: Runs) -> list[Claim]:
    """None as long as a study has not come far enough."""
    try:
        return [] if study is None else claims_of(study, runs)
    except FileError:
        return []


def _panels(study: Study | None, runs: Runs) -> list[Panel]:
    make = None if study is None else study.panels
    return [] if make is None else make(runs)


def _charts(runs: Runs, sources: Sequence[str]) -> list[Shown]:
    shown = []
    for group in groups(runs, sources):
        figures = [(chart.title, Markup(draw(chart))) for chart in group.charts]
        numbers = [
            {
                "x": _rounded(chart.x),
                "y": {
                    statistic: {line.number: _rounded(line.y) for line in lines}
                    for statistic, lines in chart.lines.items()
                },
            }
            for chart in group.charts
        ]
        told = json.dumps(numbers, separators=(",", ":"), allow_nan=False)
        shown.append(Shown(group.title, figures, group.names, group.choose, told, group.opened))
    return shown


def _rounded(values: np.ndarray) -> list[float | None]:
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in np.asarray(values, float)]


def _provenance(journals: Sequence[Journal]) -> dict[str, str]:
    if not journals:
        return {}
    headers = [journal.header for journal in journals]
    about: dict[str, set[str]] = {}
    for header in headers:
        for name, value in {**header.get("provenance", {}), "code": header.get("code")}.items():
            said = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            about.setdefault(name, set()).add(said)
    times = sorted(about.pop("time", {""}))
    about.pop("seconds", None)
    took = [h["provenance"]["seconds"] for h in headers if "seconds" in h.get("provenance", {})]
    told = {name: " · ".join(sorted(values)) for name, values in sorted(about.items())}
    return {"written": f"{times[0]} to {times[-1]}", **_timing(took), **told}


def _timing(seconds: Sequence[float]) -> dict[str, str]:
    if not seconds:
        return {}
    low, middle, high = np.quantile(seconds, (0.0, 0.5, 1.0))
    said = f"{middle:,.0f} seconds a part ({low:,.0f} to {high:,.0f}), {sum(seconds) / 60:,.1f} "
    return {"took": said + f"minutes for {len(seconds)}"}


def _text(path: Path) -> str:
    try:
        return read_regular(path, _TABLES).decode()
    except UnicodeDecodeError as error:
        raise FileError(
            f"{printable(str(path), 200)} is not text in UTF-8. Run the study again, or remove it."
        ) from error


def _embedded(picture: Path) -> str:
    data = read_regular(picture, _PICTURES)
    if not data.startswith(b"\x89PNG"):
        raise FileError(f"{printable(str(picture), 200)} is no PNG. Draw it again, or remove it.")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _asset(name: str) -> str:
    return files("bers_studies.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
