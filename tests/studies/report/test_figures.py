"""Pictures: one of them stands for all."""

from bers_studies.heads.figures import draw_calibration
from bers_studies.report.figures import QUICK, is_quick
from report_helpers import write_trials


def _records(settings=("BERS", "paper"), heads=("Sphere", "<b>&\n"), trials=2):
    levels = [0.1, 0.5, 0.9]
    records = [
        {"setting": s, "kind": "source", "head": h, "r2": 0.9, "levels": levels,
         "coverage": [level * 0.9 for level in levels]}
        for s in settings for h in heads
    ]  # fmt: skip
    return [records] * trials


def _size(png):
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_a_panel_per_setting(tmp_path):
    draw_calibration(write_trials(tmp_path / "a", _records()), tmp_path / "two.png")
    one = _records(settings=("BERS",), trials=1)
    draw_calibration(write_trials(tmp_path / "b", one), tmp_path / "one.png")
    wide, narrow = _size(tmp_path / "two.png"), _size(tmp_path / "one.png")
    assert wide[0] > 1.8 * narrow[0]
    assert wide[1] == narrow[1]


def test_drawing_leaves_matplotlib_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw_calibration(write_trials(tmp_path / "r", _records()), tmp_path / "r.png")
    assert dict(matplotlib.rcParams) == before


def test_a_picture_of_a_quick_look_is_marked(tmp_path):
    folder = write_trials(tmp_path / "a", _records())
    draw_calibration(folder, folder / "plain.png")
    assert not is_quick(folder)
    (folder / QUICK).touch()
    draw_calibration(folder, folder / "marked.png")
    assert is_quick(folder)
    plain, marked = ((folder / f"{name}.png").read_bytes() for name in ("plain", "marked"))
    assert plain != marked
    assert _size(folder / "plain.png") == _size(folder / "marked.png")
