"""LCBench with a table of our own: no data is needed."""

import json

import numpy as np
import pytest
from bers_studies.lcbench import study as lcbench
from bers_studies.lcbench.claims import claims
from bers_studies.lcbench.methods import as_trials, asked, misled, runs
from bers_studies.lcbench.past import earlier, modelled
from bers_studies.lcbench.problems import Range, Tasks, developed, folder, reported
from bers_studies.lcbench.tables import curves, needed, ranks, tables
from bers_studies.report.curves import Runs
from bers_studies.rivals.ensembles import portfolio, rgpe, rgpe_weights, tst_r, tst_weights
from bers_studies.rivals.gaussian_process import fitted, improvement

from bers.errors import FileError


class Session:
    """Accuracy that is least far from a best place, which moves a little from task to task."""

    def run(self, _, given):
        x, task = given["x_cont"].astype(float), given["x_cat"][:, 0]
        rate = np.log10(x[:, 2]) + 2 + 0.1 * task
        found = 90 - 10 * rate**2 - 20 * (x[:, 3] - 0.5) ** 2
        return [np.column_stack([0 * found, found])]


@pytest.fixture(scope="module")
def table():
    names = tuple(f"t{i}" for i in range(6))
    space = {
        "batch_size": Range(16, 512, True, True),
        "learning_rate": Range(1e-4, 1e-1, True, False),
        "momentum": Range(0.1, 0.99, False, False),
    }
    return Tasks(names, space, Session(), {name: i for i, name in enumerate(names)})


def test_tasks_answer_rows_and_are_split(table):
    rows = np.array([[0.5, 2 / 3, (0.5 - 0.1) / 0.89]])
    assert table.values("t0", rows)[0] == pytest.approx(10, abs=1e-3)
    assert table.values("t3", rows)[0] == pytest.approx(10 + 10 * 0.09, abs=1e-3)
    least, most = table.ends("t0")
    assert least == pytest.approx(10, abs=0.1)
    assert table.regret("t0", np.array([least, most])).tolist() == [0, 1]
    assert developed(table) == ("t0", "t2", "t4")
    assert reported(table) == ("t1", "t3", "t5")
    with pytest.raises(FileError, match="needs a folder with model.onnx; got '/nowhere'. Set BERS"):
        folder("/nowhere")


def test_ranges():
    of = Range(16, 512, True, True)
    assert of.value(np.array([0, 0.5, 1])).tolist() == [16, 91, 512]
    assert of.place(of.value(np.array([0.5])))[0] == pytest.approx(0.5, abs=0.01)
    assert Range(0, 4, False, False).value(np.array([0.25, 2.0])).tolist() == [1, 4]


def test_rows_become_trials_and_come_back(table):
    x = np.random.default_rng(0).random((3, 3))
    for row, trial in zip(x, as_trials(table, (x, np.arange(3.0))), strict=True):
        back = asked(table, trial)
        np.testing.assert_allclose(back[1:], row[1:], atol=1e-9)
        assert back[0] == pytest.approx(row[0], abs=0.02)  # a whole number
    assert set(trial.params) == set(table.space)


def test_all_methods_run_and_the_same_seed_gives_the_same(table):
    sources = earlier(table, "random", 12, 0)
    models = modelled(table, "random", 12, 0)
    found = {m: run() for m, run in runs(table, "t1", sources, models, 7, 0).items()}
    assert list(found) == ["random", "TPE", "GP", "WS-CMA-ES", "TPE, best enqueued", "mean order",
                           "greedy portfolio", "TST-R", "RGPE"]  # fmt: skip
    again = runs(table, "t1", sources, models, 7, 0)
    for method, y in found.items():
        assert y.shape == (7,)
        assert np.isfinite(y).all()
        np.testing.assert_array_equal(again[method](), y)
    assert found["greedy portfolio"][0] == found["mean order"][0]
    assert found["RGPE"][0] == found["TST-R"][0] == found["greedy portfolio"][0]


def test_curves_of_rivals_are_found_once(table, tmp_path, monkeypatch):
    monkeypatch.setenv("BERS_KEPT", str(tmp_path / "kept"))
    of = lcbench.curves(table, "t1", "TPE", 6, 4, 0)
    first = {name: of[name]() for name in ("TPE", "TST-R")}
    files = {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert len(files) == 2 + len(table.names)  # two curves and the studies of TPE
    monkeypatch.setattr("bers_studies.lcbench.rivals.runs", lambda *_: dict.fromkeys(of))
    monkeypatch.setattr("bers_studies.lcbench.past._by_tpe", lambda *_: 1 / 0)
    earlier.cache_clear()
    for name, y in first.items():
        np.testing.assert_array_equal(lcbench.curves(table, "t1", "TPE", 6, 4, 0)[name](), y)
    x, y = earlier(table, "TPE", 6, 0)["t2"]
    np.testing.assert_allclose(table.values("t2", x), y, atol=1e-3)
    with pytest.raises(ZeroDivisionError, match="division"):  # other seeds are others
        lcbench.curves(table, "t1", "TPE", 6, 4, 1)["TPE"]()


def test_misleading_studies(table):
    sources = earlier(table, "random", 12, 0)
    assert len(misled(sources, "turned", 2, 0)) == 2
    for name, (x, y) in misled(sources, "turned", 6, 0).items():
        np.testing.assert_array_equal(y, -sources[name][1])
        np.testing.assert_array_equal(x, sources[name][0])
    for name, (x, y) in misled(sources, "mirrored", 6, 0).items():
        np.testing.assert_array_equal(x, 1 - sources[name][0])
        np.testing.assert_array_equal(y, sources[name][1])


def test_a_trial_of_the_study(table, monkeypatch):
    monkeypatch.setattr(lcbench, "tasks", lambda _: table)
    config = lcbench.LcbenchConfig(count=1, earlier=10, trials=5, misleading=(2,))
    records = list(lcbench.trial(config, 0))
    assert len(records) == 10
    records += lcbench.trial(config, 2)
    assert [r["method"] for r in records[-3:]] == ["BERS", "BERS, 2 turned", "BERS, 2 mirrored"]
    assert {r["target"] for r in records} == {"t1"}
    for r in records:
        json.dumps(r, allow_nan=False)
        at, regret = np.array(r["steps"]).T
        assert at[0] == 1
        assert np.all(np.diff(at) > 0)
        assert np.all(np.diff(regret) < 0)
    few = lcbench.LcbenchConfig(count=1, earlier=6, trials=3, methods=("TPE", "BERS"))
    found = list(lcbench.trial(few, 1))
    assert [(r["panel"], r["method"]) for r in found] == [("TPE", "TPE"), ("TPE", "BERS")]


def test_tables_and_claims():
    steps = {"TPE": [[1, 0.5], [4, 0.2]], "RGPE": [[1, 0.4], [3, 0.2]], "BERS": [[1, 0.1]]}
    steps["BERS, 2 turned"] = [[1, 0.3]]
    records = [
        {"panel": "random", "target": t, "trial": s, "method": m, "steps": given}
        for t in "ab" for s in range(3) for m, given in steps.items()
    ]  # fmt: skip
    runs = Runs(tuple(records), 3, 0, "runs/lcbench")
    assert curves(runs, "random", "RGPE")[0].tolist() == [0.4, 0.4, 0.2, 0.2]
    assert ranks(runs, "random", 3) == {"TPE": 3, "RGPE": 2, "BERS": 1}
    assert needed(runs, "random", "RGPE").tolist() == [3] * 6
    found = {c.id: c for c in claims(runs)}
    assert found["lcbench-regret-5-random"].measured == "0.100 against 0.200 of TPE"
    assert found["lcbench-rank-20-random"].holds
    assert found["lcbench-trials-random"].measured == "25%"
    assert not found["lcbench-safe-2-turned-20"].holds


def test_tables_are_written(tmp_path, monkeypatch):
    records = [
        {"panel": "TPE", "target": "a", "trial": s, "method": m, "steps": [[1, 0.5], [3, y]]}
        for s in range(3) for m, y in (("TPE", 0.2), ("BERS", 0.1), ("BERS, 2 turned", 0.3))
    ]  # fmt: skip
    told = Runs(tuple(records), 3, 0, "runs/lcbench")
    monkeypatch.setattr("bers_studies.lcbench.tables.read_runs", lambda _: told)
    text = tables(tmp_path)
    assert "| BERS | 0.100 / 0.100 / 0.100 / 0.100 / 0.100 |" in text
    assert "| 2 turned | +0.100 |" in text


def test_a_process_goes_through_its_rows_and_finds_what_matters():
    x = np.random.default_rng(0).random((25, 2))
    y = np.sin(5 * x[:, 0])
    process = fitted(x, 3 * y + 7)
    mean, std = process.predict(x)
    np.testing.assert_allclose(mean * process.scale + process.loc, 3 * y + 7, atol=0.1)
    assert process.lengths[1] > 3 * process.lengths[0]
    assert std.max() < 0.2 < process.predict(np.array([[5.0, 5.0]]))[1][0]
    gain = improvement(np.array([0.0, -5.0]), np.array([1.0, 1e-6]), 0.0)
    np.testing.assert_allclose(gain, [0.39894, 5.0], atol=1e-4)


def test_ensembles_believe_sources_that_order_rows_alike():
    rng = np.random.default_rng(0)
    x = rng.random((30, 1))
    f = np.sin(6 * x[:, 0])
    same, turned = fitted(x, 5 * f + 1), fitted(x, -f)
    target = fitted(x[:6], f[:6])
    weights = rgpe_weights(rng, [same, turned], target)
    assert weights.sum() == pytest.approx(1)
    assert weights[1] == 0
    near = tst_weights([same, turned], target)
    assert near.tolist() == [0.5, 0, 0.5]
    at = np.linspace(0, 1, 50)[:, None]
    for mean, std in (rgpe(rng, [same, turned], target, at), tst_r([same, turned], target, at)):
        assert np.corrcoef(mean, np.sin(6 * at[:, 0]))[0, 1] > 0.9
        assert (std > 0).all()


def test_the_portfolio_is_greedy():
    values = np.array([[0, 9, 9, 4], [9, 0, 9, 4], [9, 9, 0, 4.0]])
    assert portfolio(values, 4)[:2] == [3, 0]
    assert sorted(portfolio(values, 9)) == [0, 1, 2, 3]
