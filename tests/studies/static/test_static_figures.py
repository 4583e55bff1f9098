"""The pictures are drawn, show the means of the trials that ended well, and change nothing else."""

import numpy as np
import pytest
from bers_studies.latent import figures as latent_figures
from bers_studies.latent.figures import draw_latent
from bers_studies.static import figures as static_figures
from bers_studies.static.figures import draw_functions, draw_more
from report_helpers import GENERATIONS, png_size, record, write_trials

from bers.errors import FileError

PANELS = ("Rosenbrock", "Sphere", "Rastrigin, multi-task")


def static_trial(seed, scale=1.0):
    found = []
    for panel in PANELS:
        for method in ("BERS", "BERS, paper's metric", "UCB", "S3", "None", "AMTEA", "unheard of"):
            curve = [scale * (1 + seed) * 10.0 ** (1 - g / 50) for g in range(121)]
            share = [0.25 + 0.5 * seed, 0.25, 0.5 - 0.5 * seed] if "BERS" in method else None
            found.append(record(curve, panel=panel, method=method, weights=share))
    return found


def latent_trial(seed):
    rng = np.random.default_rng(seed)
    return [
        {"panel": panel, "means": rng.standard_normal((6, 4, 3)).cumsum(axis=0)}
        for panel in ("Rosenbrock", "Ackley", "Sphere", "Rastrigin")
    ]


DRAW = {
    "functions": (draw_functions, static_trial, (350 * 3, 660)),
    "more": (draw_more, static_trial, (390 * 2, 420)),  # without the multi-task panel
    "latent": (draw_latent, latent_trial, (390 * 4, 440)),
}


@pytest.fixture
def drawn(monkeypatch):
    """The figure itself, instead of a file."""
    kept = []
    for module in (static_figures, latent_figures):
        monkeypatch.setattr(module, "save", lambda figure, _: kept.append(figure))

    def draw(function, *arguments):
        function(*arguments, None)
        return kept.pop()

    return draw


@pytest.mark.parametrize("trials", [1, 2])
@pytest.mark.parametrize("which", DRAW)
def test_a_picture_has_a_panel_per_target(tmp_path, which, trials):
    draw, trial, size = DRAW[which]
    write_trials(tmp_path, [trial(seed) for seed in range(trials)], failed=[[]])
    draw(tmp_path, tmp_path / "a.png")
    assert png_size(tmp_path / "a.png") == size
    assert (tmp_path / "a.png").stat().st_size > 20_000
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".jsonl"] * trials + [
        ".jsonl",
        ".png",
    ]


@pytest.mark.parametrize("which", DRAW)
def test_drawing_leaves_matplotlib_alone(tmp_path, which):
    import matplotlib
    from matplotlib import pyplot

    before, backend = dict(matplotlib.rcParams), matplotlib.get_backend()
    draw, trial, _ = DRAW[which]
    write_trials(tmp_path, [trial(0), trial(1)])
    draw(tmp_path, tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == before
    assert matplotlib.get_backend() == backend
    assert pyplot.get_fignums() == []


def test_drawn_again_it_is_the_same_picture(tmp_path):
    write_trials(tmp_path, [static_trial(0)])
    for name in ("a.png", "b.png"):
        draw_more(tmp_path, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_lines_are_means_of_the_trials_that_ended_well(tmp_path, drawn):
    bad = static_trial(0, scale=1e9)
    write_trials(tmp_path, [static_trial(0), static_trial(1)], failed=[bad])
    figure = drawn(draw_functions, tmp_path)
    top, bottom = figure.axes[0], figure.axes[len(PANELS)]
    lines = {line.get_label(): line.get_ydata() for line in top.lines}
    assert list(lines) == ["BERS", "BERS, paper's metric", "UCB", "S3", "None"]
    # trials at 1 and 2 times the same curve, 100 generations of it
    np.testing.assert_allclose(lines["BERS"], [15 * 10 ** (-g / 50) for g in range(101)])
    weights = {line.get_label(): line for line in bottom.lines[:3]}
    assert list(weights) == ["Rosenbrock", "Ackley", "Sphere"]
    assert weights["Sphere"].get_xdata().tolist() == GENERATIONS
    for name, mean in (("Rosenbrock", 0.5), ("Ackley", 0.25), ("Sphere", 0.25)):
        np.testing.assert_allclose(weights[name].get_ydata(), mean)


def test_bands_are_one_standard_error_and_need_two_trials(tmp_path, drawn):
    write_trials(tmp_path, [static_trial(0), static_trial(1)])
    top, bottom = (drawn(draw_functions, tmp_path).axes[i] for i in (0, len(PANELS)))
    ends = top.collections[0].get_paths()[0].vertices
    start = ends[ends[:, 0] == 0, 1]  # 10 and 20: mean 15, standard error 5
    assert (start.min(), start.max()) == pytest.approx((10, 20))
    share = bottom.collections[0].get_paths()[0].vertices[:, 1]  # 0.25 and 0.75
    assert (share.min(), share.max()) == pytest.approx((0.25, 0.75))
    write_trials(tmp_path / "one", [static_trial(0)])
    assert [len(ax.collections) for ax in drawn(draw_functions, tmp_path / "one").axes] == [0] * 6


def test_the_picture_of_more_methods_shows_those_there_are(tmp_path, drawn):
    write_trials(tmp_path, [static_trial(0)])
    figure = drawn(draw_more, tmp_path)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Rosenbrock", "Sphere"]
    assert [line.get_label() for line in figure.axes[0].lines] == ["BERS", "AMTEA", "None"]


def test_the_latent_picture_follows_the_first_trial(tmp_path, drawn):
    write_trials(tmp_path, [latent_trial(0), latent_trial(1)])
    figure = drawn(draw_latent, tmp_path)
    ax = figure.axes[2]
    assert ax.get_title(loc="left") == "Sphere"
    assert [line.get_label() for line in ax.lines] == ["Rosenbrock", "Ackley", "Sphere", "target"]
    for head, line in enumerate(ax.lines):
        means = latent_trial(0)[2]["means"][:, head]
        np.testing.assert_allclose(np.array(line.get_data_3d()).T, means)


def test_nothing_is_drawn_without_trials(tmp_path):
    for draw, trial, _ in DRAW.values():
        with pytest.raises(FileError, match="there is no folder .*nowhere"):
            draw(tmp_path / "nowhere", tmp_path / "a.png")
        write_trials(tmp_path / "failed", [], failed=[trial(0)])
        with pytest.raises(FileError, match="holds no finished trials"):
            draw(tmp_path / "failed", tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
