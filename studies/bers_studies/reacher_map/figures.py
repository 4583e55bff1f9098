"""The map of whom the arm trusts, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path

from bers_studies.reacher.figures import COLOURS
from bers_studies.report.curves import read_runs
from bers_studies.report.figures import save


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
                    wedge = Wedge(goal, 0.0088, start, end, fc=COLOURS[name], lw=0, zorder=3)
                    ax.add_patch(wedge)
                start = end
        for name, place in zip(record["names"], record["wants"], strict=True):
            ax.plot(*place, "*", ms=17, color=COLOURS[name], mec="white", mew=1.2, zorder=5)
        ax.add_patch(Circle((0, 0), 0.21, fill=False, ec="0.8", ls=(0, (4, 4))))
        ax.set(xlim=(-0.23, 0.23), ylim=(-0.23, 0.23), aspect="equal")
        ax.set_axis_off()
        ax.set_title(titles.get(rule, rule), fontsize=12)
    handles = [
        axes[0].plot([], [], "*", ms=12, color=COLOURS[name], label=f"wants {name}")[0]
        for name in record["names"]
    ]
    handles.append(axes[0].plot([], [], "o", ms=9, mfc="white", mec="0.6", label="nobody")[0])
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    save(figure, picture)


FIGURES = {"map.png": draw_map}
