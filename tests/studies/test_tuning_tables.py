"""Tables of tuning with earlier studies."""

import numpy as np
from bers_studies.report.curves import read_runs
from bers_studies.runner.journal import write_journal
from bers_studies.tuning.tables import gaps, needed, share, tables


def journals(folder):
    folder.mkdir()
    for seed in range(4):
        common = {"trial": seed, "panel": "trees", "target": "wine", "used": [1, 2, 5], "budget": 4}
        curves = {
            "TPE": [9, 8, 7, 6 - seed, 6 - seed],
            "BERS": [9, 6 - seed, 2, 2, 1],
            "WS-CMA-ES": [9, 9, 9, 9, 9],
            "BERS, turned": [9, 8, 8, 6 - seed + (seed > 1), 0],
        }
        records = [{**common, "method": method, "best": best} for method, best in curves.items()]
        write_journal(folder / f"{seed}.jsonl", {"seed": seed}, records)


def test_numbers_of_the_tables(tmp_path):
    journals(tmp_path / "tuning")
    runs = read_runs(tmp_path / "tuning")
    assert needed(runs, "trees", "wine", "TPE").tolist() == [6, 6, 4, 4]  # 4.5 is the median
    assert needed(runs, "trees", "wine", "BERS").tolist() == [3, 3, 2, 2]
    assert needed(runs, "trees", "wine", "WS-CMA-ES").tolist() == [6, 6, 6, 6]  # never
    assert share(runs, "trees", "BERS")[0] == 0.5
    np.testing.assert_allclose(gaps(runs, "trees", "BERS, turned"), [0, 0, 25, 100 / 3])
    assert (gaps(runs, "trees", "BERS") < 0).all()


def test_tables_as_markdown(tmp_path):
    journals(tmp_path / "tuning")
    text = tables(tmp_path / "tuning")
    assert text.startswith("4 trials.\n")
    assert "| trees | BERS | 2.5 | 0.50 (0.50 to 0.50) | 4, 0, 0 |" in text
    assert "| trees | wine | 5.0 | 2.5 | 6.0 |" in text
    assert "| trees | turned | +14.58% | +0.00 to +29.17 | 0, 2, 2 | 2.0 |" in text
