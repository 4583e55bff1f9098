"""Pictures of the supply chain's study, from its journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs
from bers_studies.report.figures import draw_band, save
from bers_studies.supply.home import draw_home

_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "BERS, paper's recipe": {"color": "black", "lw": 1.4, "ls": (0, (4, 2)), "zorder": 4},
    "PER": {"color": "#CC79A7", "lw": 1.3},
    "PPR": {"color": "#56B4E9", "lw": 1.3},
    "RLPD": {"color": "#E69F00", "lw": 1.3},
    "S1": {"color": "#0072B2", "lw": 1.1},
    "S2": {"color": "#D55E00", "lw": 1.1},
    "S3": {"color": "#009E73", "lw": 1.1},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}
_SOURCES = {"scenario 1": "#0072B2", "scenario 2": "#D55E00", "scenario 3": "#009E73"}
_OWN = "0.75"


def draw_profit(folder: Path, picture: Path) -> None:
    """Test profit by episode above, weights below, one column for each ground truth.

    Lines are means over trials and over five episodes, bands one standard error; the level line is
    the mean profit of the demonstrations of that scenario. Below, broken lines are the paper's
    recipe.
    """
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    truths = runs.values("truth")
    figure = Figure(figsize=(4.2 * len(truths), 7.0), layout="constrained")
    axes = figure.subplots(2, len(truths), sharex=True, squeeze=False)
    for column, truth in enumerate(truths):
        top, bottom = axes[:, column]
        for method, style in _STYLES.items():
            draw_band(top, _smooth(runs.array("profit", truth=truth, method=method)), method, style)
        if truth != "target":
            level = np.mean([r["sources"][int(truth) - 1] for r in runs.pick(truth=truth)])
            top.axhline(level, color="0.3", lw=0.9, ls=(0, (1, 2)))
        top.set_ylim(bottom=-3000)
        top.set_title(_title(truth), loc="left", fontsize=12)
        for method, line in (("BERS", "-"), ("BERS, paper's recipe", (0, (4, 2)))):
            a = np.array([r["weights"] for r in runs.pick(truth=truth, method=method)])
            for i, (name, colour) in enumerate(_SOURCES.items()):
                label = name if line == "-" else None
                draw_band(bottom, a[:, :, i], label, {"color": colour, "ls": line, "lw": 1.6})
        bottom.set_ylim(-0.02, 1.02)
        bottom.set_xlabel("episode")
    axes[0, 0].set_ylabel("test profit, mean of 5 episodes")
    axes[1, 0].set_ylabel("weight")
    axes[1, 0].legend(frameon=False, fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    columns = min(len(labels), 3 * len(truths))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
    save(figure, picture)


def draw_posteriors(folder: Path, picture: Path, method: str = "BERS") -> None:
    """Marginals of w of sources and target, after some episodes: one row per truth."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    truths = runs.values("truth")
    kept = {truth: runs.pick(truth=truth, method=method)[0]["posteriors"] for truth in truths}
    heads = {**_SOURCES, "the task learned": "black"}
    times = sorted((m for m in kept[truths[0]] if m != "entries"), key=int)
    figure = Figure(figsize=(3.4 * len(times), 2.3 * len(truths)), layout="constrained")
    axes = figure.subplots(len(truths), len(times), sharey="row", squeeze=False)
    for row, truth in enumerate(truths):
        for column, m in enumerate(times):
            ax, found = axes[row, column], kept[truth][m]
            centre, scale = np.array(found["centre"]), np.array(found["scale"])
            for head, (name, colour) in enumerate(list(heads.items())[: len(centre)]):
                x = np.arange(centre.shape[1]) + 0.16 * (head - 1.5)
                how = {"fmt": "o", "ms": 3.5, "lw": 1.2, "color": colour, "label": name}
                ax.errorbar(x, centre[head], 2 * scale[head], **how)
            ax.set_xticks([])
            ax.spines[["top", "right", "bottom"]].set_visible(False)
            ax.grid(axis="y", color="0.94")
            if row == 0:
                ax.set_title(f"after {m} episodes", fontsize=10)
        axes[row, 0].set_ylabel(_title(truth))
    figure.supxlabel("entries of w that tell the sources apart; bars are two standard deviations")
    handles, labels = axes[0, -1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    save(figure, picture)


def draw_makeup(folder: Path, picture: Path) -> None:
    """From whom the rows of prioritised batches are, by episode."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    truths = runs.values("truth")
    figure = Figure(figsize=(3.6 * len(truths), 3.2), layout="constrained")
    axes = figure.subplots(1, len(truths), sharey=True, squeeze=False)[0]
    colours = [_OWN, *_SOURCES.values()]
    for ax, truth in zip(axes, truths, strict=True):
        share = np.mean([r["makeup"] for r in runs.pick(truth=truth, method="PER")], axis=0)
        episodes = np.arange(1, len(share) + 1)
        ax.stackplot(episodes, *share.T, colors=colours, labels=["target", *_SOURCES])
        ax.set_title(_title(truth), loc="left", fontsize=12)
        ax.set_xlim(1, len(share))
        ax.set_ylim(0, 1)
        ax.set_xlabel("episode")
    axes[0].set_ylabel("share of batches")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    save(figure, picture)


def _smooth(curves: np.ndarray, width: int = 5) -> np.ndarray:
    """Means of so many episodes up to each; of fewer at the start.

    >>> _smooth(np.array([[1.0, 3.0, 8.0]]), 2).tolist()
    [[1.0, 2.0, 5.5]]
    """
    sums = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, curves.shape[1] + 1)
    starts = np.maximum(ends - width, 0)
    return (sums[:, ends] - sums[:, starts]) / (ends - starts)


def _title(truth: str) -> str:
    return "Target" if truth == "target" else f"Scenario {truth}"


def _scenarios(folder: Path, picture: Path) -> None:
    from bers_studies.envs.supply_drawing import draw_scenarios

    draw_scenarios(picture)


def _actor(folder: Path, picture: Path) -> None:
    from bers_studies.envs.actor_drawing import draw_actor

    draw_actor(path=picture)


FIGURES = {
    "scenarios.png": _scenarios,
    "actor.png": _actor,
    "profit.png": draw_profit,
    "posteriors.png": draw_posteriors,
    "per.png": draw_makeup,
    "home.svg": draw_home,
}
