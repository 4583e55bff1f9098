"""Run all benchmarks, or those named; write results.json and the table in docs/benchmarks.md.

    python benchmarks/run.py [NAME...]

A name is a benchmark (a file here with `rows()`) or one of its rows; a row's benchmark is run
whole. Entries of other benchmarks in results.json stay as they are.
"""

import argparse
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table
from row import Row
from timing import say

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
MINUTES = 16.0
"""After that many no benchmark is begun, so that all end within twenty."""
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"
BENCHMARKS = {
    "pretrain": ("pretrain",),
    "refine_full": ("refine_full",),
    "refine_subset": ("refine_subset", "refine_subset_both"),
    "posterior_stream": (
        "posterior_stream",
        "posterior_files",
        "posterior_arrays",
        "posterior_memory",
        "posterior_growth_1e4",
        "posterior_growth_1e5",
        "posterior_growth_1e6",
        "posterior_growth_1e7",
    ),
    "weights": (
        "weights_cvxopt_3",
        "weights_cvxopt_1000",
        "weights_best_3",
        "weights_best_10",
        "weights_best_30",
        "weights_best_100",
        "weights_best_300",
        "weights_best_1000",
        "weights_million",
        "weights_growth",
        "weights_draws",
    ),
    "rank_stream": ("rank_memory",),
    "scaling": (
        "scaling_pass",
        "scaling_read",
        "scaling_factor",
        "scaling_factor_bytes",
        "scaling_heads",
        "scaling_program",
        "scaling_odds",
        "scaling_training",
        "scaling_training_many",
        "scaling_trials",
    ),
    "static_de": ("static_de_scipy", "static_de_pymoo", "static_de_immediate"),
    "reuse_generation": (
        "reuse_generation",
        "reuse_generation_peer",
        "reuse_generation_paper",
    ),
    "supply_ddpg": ("supply_ddpg_sb3", "supply_ddpg_sbx"),
    "supply_env": ("supply_env",),
    "reacher_dqn": ("reacher_dqn_sb3", "reacher_dqn_sbx"),
    "replay": ("replay",),
    "sb3_buffer": ("sb3_buffer", "sb3_callback"),
    "tables": ("rank_cold", "rank_cold_many", "fit_sources"),
    "minimise_reuse": ("minimise_reuse_first", "minimise_reuse"),
    "import_time": ("import_time", "help_time"),
}
"""The rows of every benchmark, in the table's order."""

ORDER = [row for rows in BENCHMARKS.values() for row in rows]


def chosen(names: list[str]) -> list[str]:
    """The benchmarks behind the names; all if there are none.

    >>> chosen(["help_time"])
    ['import_time']
    """
    unknown = [name for name in names if name not in BENCHMARKS and name not in ORDER]
    if unknown:
        known = ", ".join(dict.fromkeys([*BENCHMARKS, *ORDER]))
        raise SystemExit(f"there is no benchmark named {', '.join(unknown)}. There are: {known}.")
    wanted = set(names or BENCHMARKS)
    return [name for name, rows in BENCHMARKS.items() if wanted & {name, *rows}]


def merged(old: list[dict], new: list[dict]) -> list[dict]:
    """Old entries with the new ones in their place, in the table's order."""
    entries = {entry["name"]: entry for entry in [*old, *new]}
    return [entries[name] for name in ORDER if name in entries]


def table(rows: list[Row]) -> Table:
    """What a reader looks at."""
    made = Table("name", "ours", "peer", "peer's name", "ratio", "goal", "", "unit")
    for row in rows:
        sign = {">=": "at least", "<=": "at most"}[row.rule.split()[1]]
        made.add_row(
            row.name,
            f"{row.ours:,.4g}",
            f"{row.peer:,.4g}",
            row.peer_name,
            f"{row.ratio:.2f}",
            f"{row.rule.split()[0]} {sign} {row.goal:g}",
            "[green]met[/]" if row.met else "[red]missed[/]",
            row.unit,
        )
    return made


def main(names: list[str], minutes: float = MINUTES) -> None:
    """Each benchmark's rows are written as soon as they are measured.

    None is begun when the time is over; those that were left out are named.
    """
    measured: list[Row] = []
    wanted, started = chosen(names), time.monotonic()
    for i, name in enumerate(wanted):
        if time.monotonic() - started > 60 * minutes:
            say(f"{minutes:g} minutes are over. Not run: {', '.join(wanted[i:])}.")
            break
        say(f"{name}: starting, {i + 1} of {len(wanted)}")
        rows = import_module(name).rows()
        strange = {row.name for row in rows} - set(BENCHMARKS[name])
        if strange:
            raise RuntimeError(f"{name} made rows that BENCHMARKS does not list: {strange}")
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        _write(merged(old, [row.entry() for row in rows]))
        measured += rows
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table(measured))
    for row in measured:
        console.print(f"{row.name}: {row.note}", markup=False, highlight=False)


def _write(entries: list[dict]) -> None:
    """All or nothing: a run that is stopped leaves the files of before."""
    pages = {RESULTS: json.dumps(entries, indent=2, ensure_ascii=False) + "\n"}
    if PAGE.exists():
        pages[PAGE] = page(PAGE.read_text(), entries)
    for path, text in pages.items():
        draft = path.with_name(f"{path.name}.part")
        draft.write_text(text)
        os.replace(draft, path)


def page(text: str, entries: list[dict]) -> str:
    """A Markdown page with its table made anew, between two comments."""
    lines = ["| row | ours | floor | peer | ratio | goal | |", "|---|---|---|---|---|---|---|"]
    for e in entries:
        value, sign, _ = e["rule"].split()
        sign = {">=": "at least", "<=": "at most"}[sign]
        lines.append(
            f"| {e['name'].replace('_', ' ')} | {e['ours']:,.4g} "
            f"| {'' if 'floor' not in e else format(e['floor'], ',.4g')} | {e['peer']:,.4g} "
            f"| {e['ratio']:.2f} | {value} {sign} {e['goal']:g} "
            f"| {'met' if e['met'] else 'missed'} |"
        )
    lines += ["", "In the same order:", ""]
    for e in entries:
        against = "" if e["peer_name"] == "limit" else f"against {e['peer_name']}, "
        lines.append(f"- **{e['name'].replace('_', ' ')}**: {against}in {e['unit']}. {e['note']}")
    before, _, rest = text.partition(_BEGIN)
    return before + "\n".join([_BEGIN, "", *lines, "", _END]) + rest.partition(_END)[2]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks or rows; all if none")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="begin none after so many")
    given = parser.parse_args()
    main(given.names, given.minutes)
