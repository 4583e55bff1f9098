"""`bers demo`: three past runs, one new function, with and without them.

Enters: a folder, a seed. Leaves: a table that grows while the search goes on, a comparison at the
end, and a picture.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bers.commands.common import Out, Progress, Seed, make_folder, new_console, print_table

_SHOWN = {0, 1, 2, 3, 5, 10, 20, 30, 50, 70, 100}
_GENERATIONS = 100


def demo(out: Out = Path("demo-output"), seed: Seed = 0, progress: Progress = None) -> None:
    """Minimise a new function with the help of three past runs, and once more without."""
    import json

    import numpy as np

    from bers.experiments.curves import record_of
    from bers.experiments.demonstrations import BOUNDS, demonstrate
    from bers.files import write_atomically
    from bers.optimise.minimize import minimize
    from bers.problems.functions import RASTRIGIN, SOURCES
    from bers.report.figures import draw_run

    console = new_console()
    make_folder(out)
    rng = np.random.default_rng(seed)
    console.print("Three past runs, each on another function of the same ten variables:")
    runs = {function.name: demonstrate(rng, function) for function in SOURCES}
    for name, run in runs.items():
        console.print(f"  {name}: {run.n:,} evaluations, best value {run.original_y.min():.2f}")
    console.print(
        "\nA new function: Rastrigin, full of valleys. Its lowest one is where Sphere's is, but "
        "nobody says so.\nOne encoder and three heads are trained on the past runs ..."
    )
    shares: list[list[float]] = []
    show = _growing_table([*runs, "nobody"])

    def watch(intermediate_result: Any) -> None:
        a = list(intermediate_result.weights.values())
        shares.append(a)
        m = intermediate_result.nit
        if m in _SHOWN:
            cells = [f"{w:.2f}" for w in (*a, max(0.0, 1 - sum(a)))]
            best = f"{intermediate_result.fun:.4f}"
            show([str(m), str(intermediate_result.nfev), best, *cells])

    settings: dict[str, Any] = {"maxiter": _GENERATIONS, "tol": -1.0, "rng": seed}
    with_runs = minimize(RASTRIGIN, BOUNDS, runs, callback=watch, progress_bar=progress, **settings)
    console.print("Once more without past runs ...\n")
    without = minimize(RASTRIGIN, BOUNDS, **settings)
    records = []
    for name, result in (("with past runs", with_runs), ("without", without)):
        NP = len(result.population)
        curve = np.minimum.accumulate(result.fun_all)[NP - 1 :: NP]
        record = record_of(curve.tolist(), result.fun_all)
        records.append({"method": name, "fun": float(result.fun), **record})
    records[0] |= {"sources": list(runs), "weights": shares}
    rows = [
        [r["method"], *(f"{r['best'][m]:.4f}" for m in (10, 50, 100)), _count(r, "1.0")]
        for r in records
    ]
    heads = ["", "best after 10 generations", "50", "100", "evaluations to 1.0"]
    print_table(heads, rows)
    tried = ", ".join(f"{n} of {name}" for name, n in with_runs.sources_used.items() if n)
    console.print(f"\nTrials that used a point of a past run: {tried or 'none'}.", markup=False)
    with write_atomically(out / "results.json") as temporary:
        temporary.write_text(json.dumps(records) + "\n")
    draw_run(out / "results.json", out / "demo.png")
    console.print(f"Picture: {out / 'demo.png'}", markup=False)


def _count(record: dict[str, Any], threshold: str) -> str:
    found = record["evaluations_to"][threshold]
    return "never" if found is None else f"{found:,}"


def _growing_table(names: list[str]) -> Callable[[list[str]], None]:
    """A function that prints a row; the headings come with the first.

    On a terminal Rich prints lines above a bar that is being drawn; elsewhere it must not take
    them to where the bar is.
    """
    heads = ["generation", "evaluations", "best value", *(f"weight: {name}" for name in names)]
    to = None if sys.stdout.isatty() else sys.stdout
    rows = [heads]

    def show(cells: list[str]) -> None:
        rows.append(cells)
        while rows:
            padded = [c.rjust(len(h)) for c, h in zip(rows.pop(0), heads, strict=True)]
            print("  ".join(padded), file=to, flush=True)

    return show
