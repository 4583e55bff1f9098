import json

import pytest

from bers.errors import FileError
from bers.report.figures import draw_calibration, read_records


def _records(settings=("BERS", "paper"), heads=("Sphere", "<b>&\n"), trials=2):
    levels = [0.1, 0.5, 0.9]
    return [
        {"setting": s, "kind": "source", "head": h, "r2": 0.9, "seed": t,
         "levels": levels, "coverage": [level * 0.9 for level in levels]}
        for s in settings for h in heads for t in range(trials)
    ]  # fmt: skip


def _size(png):
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_a_panel_per_setting(tmp_path):
    results = tmp_path / "results.json"
    results.write_text(json.dumps(_records()))
    draw_calibration(results, tmp_path / "two.png")
    results.write_text(json.dumps(_records(settings=("BERS",), trials=1)))
    draw_calibration(results, tmp_path / "one.png")
    wide, narrow = _size(tmp_path / "two.png"), _size(tmp_path / "one.png")
    assert wide[0] > 1.8 * narrow[0]
    assert wide[1] == narrow[1]


def test_drawing_leaves_matplotlib_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    (tmp_path / "r.json").write_text(json.dumps(_records()))
    draw_calibration(tmp_path / "r.json", tmp_path / "r.png")
    assert dict(matplotlib.rcParams) == before


def test_bad_results_are_named(tmp_path):
    with pytest.raises(FileError, match=r"cannot read results from .*nowhere.json"):
        read_records(tmp_path / "nowhere.json")
    (tmp_path / "half.json").write_text("[{")
    with pytest.raises(FileError, match=r"cannot read results from .*half.json"):
        read_records(tmp_path / "half.json")
    (tmp_path / "empty.json").write_text("[]")
    with pytest.raises(FileError, match="holds no records"):
        read_records(tmp_path / "empty.json")
