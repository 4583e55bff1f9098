"""Tables and pictures of the reacher's studies, from their journals.

Enters: a folder of journals. Leaves: Markdown, and PNG files.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table
from bers_studies.report.figures import draw_band, save
from bers_studies.report.statistics import probability_of_improvement, standard_error

_COLOURS = {"right": "#0072B2", "left": "#D55E00", "top": "#009E73", "bottom": "#CC79A7"}
_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "BERS, paper's recipe": {"color": "black", "lw": 1.4, "ls": (0, (4, 2)), "zorder": 4},
    **{f"S{i + 1}": {"color": _COLOURS[name], "lw": 1.1} for i, name in enumerate(_COLOURS)},
    "RLPD": {"color": "#E69F00", "lw": 1.3},
    "PPR": {"color": "#56B4E9", "lw": 1.3},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}
_EPISODES = (1, 5, 10, 20, 40, 60)


def reacher_tables(folder: Path) -> str:
    """For every goal and method: returns of test episodes, their mean, and who beats plain DQN."""
    runs = read_runs(folder)
    lines = [
        f"{runs.trials} trials. Returns of test episodes of 500 steps, mean; over all episodes "
        "with standard error. Better than DQN: probability of improvement of that mean over None."
    ]
    for goal in runs.values("panel"):
        last = len(runs.pick(panel=goal)[0]["returns"])
        after = [m for m in _EPISODES if m <= last]
        plain, rows = returns(runs, goal, "None").mean(axis=1), []
        for method in runs.values("method"):
            curve = returns(runs, goal, method)
            every = curve.mean(axis=1)
            better = probability_of_improvement(-every, -plain).value
            rows.append([
                method,
                *(f"{curve[:, m - 1].mean():.0f}" for m in after),
                f"{every.mean():.0f} ± {standard_error(every):.0f}",
                "" if method == "None" else f"{better:.2f}",
                _weights_told(runs, goal, method),
            ])  # fmt: skip
        heads = ["method", *(f"after {m}" for m in after), "all", "better than DQN"]
        lines += ["", f"**{goal}**", "", *table([*heads, "last weights"], rows)]
    return "\n".join(lines) + "\n"


def draw_reacher(folder: Path, picture: Path) -> None:
    """Returns by episode above, weights of BERS below, one column for each goal."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    goals = runs.values("panel")
    figure = Figure(figsize=(5.2 * len(goals), 7.0), layout="constrained")
    axes = figure.subplots(2, len(goals), sharex=True, squeeze=False)
    for column, goal in enumerate(goals):
        top, bottom = axes[:, column]
        for method, style in _STYLES.items():
            draw_band(top, returns(runs, goal, method), method, style)
        for method, line in (("BERS", "-"), ("BERS, paper's recipe", (0, (4, 2)))):
            a = np.array([r["weights"] for r in runs.pick(panel=goal, method=method)])
            for i, name in enumerate(runs.records[0]["names"]):
                label = name if line == "-" else None
                draw_band(
                    bottom, a[:, :, i], label, {"color": _COLOURS[name], "ls": line, "lw": 1.6}
                )
        top.set_title(goal, loc="left", fontsize=12)
        bottom.set(xlabel="episode", ylim=(-0.02, 1.02))
    axes[0, 0].set_ylabel("return of test episodes")
    axes[1, 0].set_ylabel("weight")
    axes[1, 0].legend(frameon=False, fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    save(figure, picture)


def draw_map(folder: Path, picture: Path) -> None:
    """Who is trusted for which goal: shares as pies, nobody in white; one panel for each rule."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Wedge

    record = read_runs(folder).records[0]
    titles = {"odds": "BERS: may trust nobody", "shape": "must trust somebody"}
    figure = Figure(figsize=(11, 5.9), layout="constrained")
    axes = figure.subplots(1, len(record["weights_at"]))
    for ax, (rule, weights) in zip(axes, record["weights_at"].items(), strict=True):
        for goal, shares in zip(record["goals"], weights, strict=True):
            ax.add_patch(Circle(goal, 0.0088, fc="white", ec="0.6", lw=0.8, zorder=2))
            start = 90.0
            for name, share in zip(record["names"], shares, strict=True):
                end = start + 360.0 * share
                if share > 0.005:
                    wedge = Wedge(goal, 0.0088, start, end, fc=_COLOURS[name], lw=0, zorder=3)
                    ax.add_patch(wedge)
                start = end
        for name, place in zip(record["names"], record["wants"], strict=True):
            ax.plot(*place, "*", ms=17, color=_COLOURS[name], mec="white", mew=1.2, zorder=5)
        ax.add_patch(Circle((0, 0), 0.21, fill=False, ec="0.8", ls=(0, (4, 4))))
        ax.set(xlim=(-0.23, 0.23), ylim=(-0.23, 0.23), aspect="equal")
        ax.set_axis_off()
        ax.set_title(titles.get(rule, rule), fontsize=12)
    handles = [
        axes[0].plot([], [], "*", ms=12, color=_COLOURS[name], label=f"wants {name}")[0]
        for name in record["names"]
    ]
    handles.append(axes[0].plot([], [], "o", ms=9, mfc="white", mec="0.6", label="nobody")[0])
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    save(figure, picture)


def returns(runs: Runs, goal: str, method: str) -> np.ndarray:
    """Returns of test episodes, one row a trial."""
    return np.array([r["returns"] for r in runs.pick(panel=goal, method=method)])


def _weights_told(runs: Runs, goal: str, method: str) -> str:
    records = [r for r in runs.pick(panel=goal, method=method) if "weights" in r]
    found = [r["weights"][-1] for r in records]
    if not found or method not in ("BERS", "BERS, paper's recipe"):
        return ""
    mean = np.mean(found, axis=0)
    shares = zip(records[0]["names"], mean, strict=True)
    return ", ".join(f"{name} {w:.2f}" for name, w in shares if w >= 0.005)
