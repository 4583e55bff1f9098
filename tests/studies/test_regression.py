"""Real groups. The stored results are of the default model; here small data show that it works."""

from dataclasses import replace

import numpy as np
import pytest
from bers_studies.regression import problems, study
from bers_studies.regression.claims import claims
from bers_studies.regression.problems import PROBLEMS, Problem
from bers_studies.regression.rivals import RIVALS
from bers_studies.regression.study import CONFIG, trial
from bers_studies.regression.tables import ratios, regression_tables
from bers_studies.report.curves import Runs

from bers import ModelConfig
from bers.errors import ConfigError

SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)


def world(folder=None, groups=4, n=40):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (groups * n, 3))
    number = np.repeat(np.arange(groups), n)
    y = X @ [3.0, -2.0, 0.0] + number + 0.5 * number * X[:, 2] + 0.1 * rng.standard_normal(len(X))
    return Problem(X, y, number)


def _halves():
    problem = world()
    seen = np.random.default_rng(1).uniform(size=len(problem.y)) < 0.7
    return Problem(*(p[seen] for p in problem)), Problem(*(p[~seen] for p in problem))


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_foretells(name):
    known, asked = _halves()
    said = RIVALS[name](known, asked.X, asked.groups)
    explained = 1 - np.mean((said - asked.y) ** 2) / np.var(asked.y)
    assert explained > (0.98 if name in ("ridge alone", "pooled + residual ridge") else 0.6)


def test_errors_of_leaving_one_row_out_are_those_of_fitting_again():
    from bers_studies.regression.rivals import _left_out_error

    rng = np.random.default_rng(0)
    Z, y, penalty = rng.standard_normal((9, 3)), rng.standard_normal(9), 0.7
    total = 0.0
    for i in range(9):
        rest = np.arange(9) != i
        w = np.linalg.solve(Z[rest].T @ Z[rest] + penalty * np.eye(3), Z[rest].T @ y[rest])
        total += (y[i] - Z[i] @ w) ** 2
    assert _left_out_error(Z, y, penalty) == pytest.approx(total)


@pytest.fixture(scope="module")
def records():
    with pytest.MonkeyPatch.context() as patch:
        for name in PROBLEMS:
            patch.setitem(study.PROBLEMS, name, world)
        config = replace(CONFIG, model=SMALL, shares=(0.1,), groups=1, rivals=("pooled ridge",))
        return [record for seed in range(5) for record in trial(config, seed)]


def test_a_trial_measures_every_problem(records):
    assert [r["problem"] for r in records if r["method"] == "pooled ridge"] == list(PROBLEMS)
    assert {r["trial"] for r in records} == {5}
    schools = {r["method"]: r["explained"] for r in records if r["problem"] == "school"}
    assert schools["together"] > 0.98 > schools["pooled ridge"]
    new = {r["method"]: r["error"] for r in records if r["problem"] == "firms"}
    assert set(new) == {"adapted", "alone", "together", "pooled ridge"}
    assert new["adapted"] < new["alone"]
    assert "together" not in {r["method"] for r in records if r["problem"] == "halides"}


def test_tables_and_claims(records):
    text = regression_tables(records)
    assert text.count("**") == 10
    assert "| together | 99" in text
    found = {claim.id: claim for claim in claims(Runs(tuple(records), 1, 0, "runs/regression"))}
    assert list(found) == [*(f"regression-{name}" for name in PROBLEMS), "regression-both"]
    assert found["regression-both"].holds
    assert found["regression-both"].measured == "on 5 of 5"
    worse = [{**r, "error": 1000 * r["error"]} if r["method"] == "adapted" else r for r in records]
    other = {claim.id: claim for claim in claims(Runs(tuple(worse), 1, 0, "runs/regression"))}
    assert not other["regression-both"].holds
    assert other["regression-both"].measured.startswith("on 1 of 5; not on arylation, ")
    assert found["regression-school"].holds
    firms = [r for r in records if r["problem"] == "firms"]
    assert found["regression-firms"].holds == (ratios(firms, "adapted", 0.1).max() <= 1.01)


def test_firms_come_with_statsmodels():
    X, y, groups = problems.firms(None)
    assert X.shape == (220, 2)
    assert len(np.unique(groups)) == 11
    assert y[0] == pytest.approx(317.6)


def test_tuning_tasks_are_those_that_orders_reports(monkeypatch):
    monkeypatch.setattr(problems, "tuning_tasks", lambda folder: tuple(range(1, 35)))
    monkeypatch.setattr(problems, "accuracies", lambda folder, task, x: task + x[:, 0])
    X, y, groups = problems.tuning(None)
    assert X.shape == (1700, 7)
    assert np.unique(groups).tolist() == list(range(17, 34))
    np.testing.assert_allclose(y, groups + X[:, 0])


def test_missing_files_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("BERS_DATA", raising=False)
    with pytest.raises(ConfigError, match="no file school.mat in .*BERS_DATA.*where it is from"):
        problems.school(tmp_path)


def test_tables_of_reactions_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("BERS_DATA", str(tmp_path))
    head = "Base,Ligand,Solvent,Concentration,Temp_C,yield\n"
    (tmp_path / "direct_arylation.csv").write_text(head + "a,l,s,0.1,90,5\nb,l,s,0.2,105,7\n")
    X, y, groups = problems.arylation(tmp_path / "elsewhere")
    assert X.tolist() == [[1, 0, 1, 1, 0.1], [0, 1, 1, 1, 0.2]]
    assert (y.tolist(), groups.tolist()) == ([5, 7], ["90", "105"])
    head = "base,ligand,additive,aryl_halide,yield\n"
    (tmp_path / "aryl_halides.csv").write_text(head + "a,l,x,h,5\na,l,,h,7\na,l,x,,7\n")
    X, y, groups = problems.halides(tmp_path)
    assert (X.tolist(), y.tolist(), groups.tolist()) == ([[1, 1, 1]], [5], ["h"])
