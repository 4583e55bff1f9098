"""`bers demo`: three past runs, one new function, with and without them.

Enters: a folder, a seed. Leaves: a table that grows while the search goes on, a comparison at the
end, and a picture.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bers.cli.common import Out, Progress, Seed, make_folder, new_console, print_table

if TYPE_CHECKING:
    import numpy as np

_SHOWN = (4, 20, 40, 60, 80, 100, 150, 200, 400, 700)
_EVALUATIONS = 1000
_COMPARED = (20, 100, 300, 1000)
_GOAL = 0.01
_LEAST = 1e-6  # that the picture shows
_NEAR = 0.15  # the value at which a past run was ended
_BOUNDS = [(-4.0, 4.0)] * 10


def _rosenbrock(x: "np.ndarray") -> float:
    return float(sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) ** 0.5)


def _ackley(x: "np.ndarray") -> float:
    import numpy as np

    bowl = 20 - 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(bowl + np.e - np.exp(np.mean(np.cos(2 * np.pi * x))))


def _sphere(x: "np.ndarray") -> float:
    return float(sum((x + 2) ** 2) ** 0.5)


def _rastrigin(x: "np.ndarray") -> float:
    import numpy as np

    z = x + 2
    return float(np.sqrt(max(0.0, np.sum(10 + z**2 - 10 * np.cos(2 * np.pi * z)))))


_PAST = {"Rosenbrock": _rosenbrock, "Ackley": _ackley, "Sphere": _sphere}


def demo(out: Out = Path("demo-output"), seed: Seed = 0, progress: Progress = None) -> None:
    """Minimise a new function with the help of three past runs, and once more without."""
    from bers.files import write_atomically
    from bers.learners.differential_evolution import DE
    from bers.optimise.minimize import minimize

    console = new_console()
    make_folder(out)
    console.print(
        "Three past runs of Differential Evolution, each on another function of the same ten "
        "variables:"
    )
    runs, learner = {}, DE(tol=-1.0)  # which never thinks that it has converged
    for i, (name, fun) in enumerate(_PAST.items()):
        runs[name] = minimize(
            fun, _BOUNDS, learner=learner, rng=[seed, i], callback=lambda now: now.fun <= _NEAR
        )
        told = f"{runs[name].nfev:,} evaluations, best value {runs[name].fun:.2f}"
        console.print(f"  {name}: {told}")
    console.print(
        "\nA new function: Rastrigin, full of valleys. Its lowest one is where Sphere's is, but "
        "nobody says so.\nThe best point of each run is tried, and the search starts from the best "
        "of them. The weights say which\nrun the new function is like ..."
    )
    shares: list[list[float]] = []
    at: list[int] = []
    waiting = list(_SHOWN)
    show = _growing_table([*runs, "nobody"])

    def watch(intermediate_result: Any) -> None:
        a = list(intermediate_result.weights.values())
        shares.append([round(w, 4) for w in a])
        at.append(int(intermediate_result.nfev))
        if waiting and at[-1] >= waiting[0]:
            while waiting and at[-1] >= waiting[0]:
                waiting.pop(0)
            cells = [f"{w:.2f}" for w in (*a, max(0.0, 1 - sum(a)))]
            show([str(at[-1]), _value(intermediate_result.fun), *cells])

    settings: dict[str, Any] = {"maxfun": _EVALUATIONS, "rng": seed}
    with_runs = minimize(
        _rastrigin, _BOUNDS, sources=runs, callback=watch, progress=progress, **settings
    )
    console.print("Once more without past runs ...\n")
    without = minimize(_rastrigin, _BOUNDS, **settings)
    records = [_record("with past runs", with_runs), _record("without", without)]
    records[0] |= {"sources": list(runs), "weights": shares, "weights_at": at}
    rows = [
        [r["method"], *(_value(r["best"][m - 1]) for m in _COMPARED), _count(r)] for r in records
    ]
    first, *more = (f"{m:,}" for m in _COMPARED)
    heads = ["", f"best after {first} evaluations", *more, f"evaluations to {_GOAL}"]
    print_table(heads, rows)
    tried = ", ".join(f"{n} of {name}" for name, n in with_runs.sources_used.items() if n)
    console.print(f"\nTrials that used a point of a past run: {tried or 'none'}.", markup=False)
    with write_atomically(out / "results.json") as temporary:
        temporary.write_text(json.dumps(records) + "\n")
    console.print(_drawn(records, out / "demo.png"), markup=False)


def _record(method: str, result: Any) -> dict[str, Any]:
    """The best value after each evaluation, and evaluations until the goal."""
    import numpy as np

    so_far = np.minimum.accumulate(result.fun_all)
    reached = int(np.argmax(so_far <= _GOAL)) + 1 if so_far[-1] <= _GOAL else None
    best = [float(f"{value:.5g}") for value in so_far]
    return {"method": method, "fun": float(result.fun), "best": best, "evaluations": reached}


def _value(number: float) -> str:
    return f"{number:.3g}"


def _count(record: dict[str, Any]) -> str:
    return "never" if record["evaluations"] is None else f"{record['evaluations']:,}"


def _drawn(records: list[dict[str, Any]], picture: Path) -> str:
    """Best values, and the past runs' weights, as a picture; what to say of it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "For a picture, install Matplotlib: pip install 'bers[plot]'."
    import numpy as np

    from bers.files import write_atomically

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for record, colour in zip(records, ("#0072B2", "0.55"), strict=True):
        best = np.maximum(record["best"], _LEAST)
        left.plot(range(1, len(best) + 1), best, color=colour, lw=2.2, label=record["method"])
    tries = len(records[0]["sources"])
    left.axvspan(0.9, tries + 0.5, color="0.93", lw=0)
    left.text(1.1, 1.5 * _LEAST, "past runs\nare tried", fontsize=9, color="0.35")
    left.set(xscale="log", yscale="log", xlim=(0.9, None), ylim=(_LEAST, None))
    left.set(xlabel="evaluations of the new function", ylabel="best value so far")
    weights = np.array(records[0]["weights"])
    nobody = np.maximum(0, 1 - weights.sum(axis=1))
    colours = ("#D55E00", "#009E73", "#0072B2", "0.88")
    right.stackplot(
        records[0]["weights_at"],
        [*weights.T, nobody],
        labels=[*records[0]["sources"], "nobody"],
        colors=colours,
        step="post",
    )
    right.set(xscale="log", xlabel="evaluations of the new function", ylabel="whom it is like")
    right.set(ylim=(0, 1), xlim=(0.9, len(records[0]["best"])))
    right.axvspan(0.9, records[0]["weights_at"][0], color="0.97", lw=0)
    left.legend(frameon=False)
    left.grid(color="0.94")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    with write_atomically(picture) as temporary:
        figure.savefig(temporary, format="png", dpi=100)
    return f"Picture: {picture}"


def _growing_table(names: list[str]) -> Callable[[list[str]], None]:
    """A function that prints a row; the headings come with the first.

    On a terminal Rich prints lines above a bar that is being drawn; elsewhere it must not take
    them to where the bar is.
    """
    heads = ["evaluations", "best value", *(f"weight: {name}" for name in names)]
    to = None if sys.stdout.isatty() else sys.stdout
    rows = [heads]

    def show(cells: list[str]) -> None:
        rows.append(cells)
        while rows:
            padded = [c.rjust(len(h)) for c, h in zip(rows.pop(0), heads, strict=True)]
            print("  ".join(padded), file=to, flush=True)

    return show
