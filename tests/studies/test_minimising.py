"""The studies of minimising: problems are what they say, and claims follow from records."""

import numpy as np
import pytest
from bers_studies.bbob import claims as bbob_claims
from bers_studies.bbob.methods import Counted, Enough, first_used
from bers_studies.bbob.study import CONFIG
from bers_studies.report.curves import Runs
from bers_studies.simulator.claims import claims as simulator_claims
from bers_studies.simulator.methods import METHODS, TOLD
from bers_studies.simulator.problems import DIMENSION, SIMULATORS, Instance, problem
from bers_studies.static_again.claims import claims as again_claims
from bers_studies.static_again.tables import RIVALS


def test_the_count_ends_at_the_budget_within_a_batch():
    counted = Counted(lambda x: x[:, 0], 4)
    counted(np.array([[3.0], [5.0]]))
    with pytest.raises(Enough, match="budget is used up"):
        counted(np.array([[2.0], [4.0], [0.0]]))
    assert counted.least.tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("best", [0, 3])
def test_the_source_that_a_search_starts_from_is_told(best):
    rng = np.random.default_rng(0)
    at = rng.uniform(0.6, 0.9, (5, 3))
    at[best] = 0.31
    past = [(np.stack([p, p / 2 + 0.5]), np.array([0.0, 1.0])) for p in at]

    def fun(x):
        return np.sum((x - 0.3) ** 2, axis=1)

    assert first_used(rng, fun, 3, past) == (best, best)
    worse = [past[i] for i in range(5) if i != best]
    nearest = int(np.argmin([np.sum((x[0] - 0.5) ** 2) for x, _ in worse]))
    found = first_used(rng, lambda x: np.sum((x - 0.5) ** 2, axis=1), 3, worse)
    assert found == (nearest, -1)  # the middle is better than any source's point


def test_problems_of_bbob_are_related_or_not():
    pytest.importorskip("ioh")
    from bers_studies.bbob.problems import DEVELOPED_ON, MANY, REPORTED, problem

    assert sorted(DEVELOPED_ON + REPORTED) == list(range(1, 25))
    made = problem(7, 2, MANY, 1, among=REPORTED)
    assert (len(made.sources), made.related) == (30, 1)
    made = problem(9, 2, "mixture", 0, among=REPORTED)
    assert (len(made.sources), made.related) == (4, 2)
    assert made.gap(made.optimum[None])[0] == pytest.approx(0, abs=1e-8)
    assert made.gap(np.array([[0.1, 0.9], [0.5, 0.5]])).min() > 0


# simulators


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_near_run_knows_more_than_chance_and_other_runs(name):
    made = problem(name, 3)
    assert problem(name, 3).sources["near"][1].tolist() == made.sources["near"][1].tolist()
    best = {kind: made.fun(x[[np.argmin(y)]])[0] for kind, (x, y) in made.sources.items()}
    chance = made.fun(np.random.default_rng(1).random((200, DIMENSION)))
    assert np.isfinite(chance).all()
    assert best["near"] < np.quantile(chance, 0.05)
    assert best["near"] < best["noise"]


@pytest.mark.parametrize("name", ["bowl", "valley", "ridge", "ripples", "plateau", "yield"])
def test_the_minimum_is_where_the_instance_says(name):
    at = Instance.drawn(np.random.default_rng(0))
    x = np.clip(at.place + 0.02 * np.random.default_rng(1).normal(size=(300, DIMENSION)), 0, 1)
    here = SIMULATORS[name](at, at.place[None])[0]
    assert here == pytest.approx(0, abs=1e-9)
    assert SIMULATORS[name](at, x).min() > here


def test_the_pendulum_is_a_pendulum():
    at = Instance(np.full(DIMENSION, 0.5), np.eye(DIMENSION))
    still = np.full((1, DIMENSION), 0.5)  # no torque: it hangs
    goal = np.pi * 0.9
    assert SIMULATORS["pendulum"](at, still)[0] == pytest.approx(10 * (1 - np.cos(goal)))


# claims


def gap_record(method, family, D, panel, gaps):
    return {
        "method": method, "family": family, "dimension": D, "panel": panel, "number": 0,
        "log10_gap": gaps,
    }  # fmt: skip


@pytest.mark.parametrize(("ahead", "holds"), [(0.4, True), (0.2, False)])
def test_claims_about_bbob_follow_from_the_records(ahead, holds):
    records = []
    for family in CONFIG.families:
        for D in (5, 10):
            for panel in ("f2", "f4"):
                own = [1.0, 0.0, -1.0, -2.0]
                there = [g + ahead for g in own]
                for method, gaps in (("BERS", own), ("CMA-ES", there), ("DE", [9.0] * 4)):
                    records.append(gap_record(method, family, D, panel, gaps))
        records.append(gap_record("Optuna's CMA-ES", family, 5, "f2", [0.0, -9.0]))
    many = {"panel": "f2", "many": 30, "right": True, "dimension": 5, "number": 0}
    records += [many | {"started": started} for started in (True, True, False)]
    found = {c.id: c for c in bbob_claims.claims(Runs(tuple(records), 1, 0, "runs/bbob"))}
    for family in ("2", "10"):
        for evaluations in (100, 300):
            assert found[f"bbob-displaced-{family}-{evaluations}"].holds is holds
        assert found[f"bbob-columns-displaced-{family}"].holds
    assert found["bbob-misleading"].holds
    assert found["bbob-misleading"].measured == " / ".join([f"{-ahead:+.2f}"] * 4)
    assert found["bbob-many"].measured == "3 of 3; the search starts from its point in 2"


@pytest.mark.parametrize(("ours", "holds"), [(1.0, True), (3.0, False)])
def test_claims_about_simulators_leave_out_who_is_told(ours, holds):
    least = {"BERS": ours, "TPE": 2.0, TOLD: 0.0}
    records = [
        {"panel": "arm", "number": n, "method": method, "least": [value + n] * 4}
        for n in range(3)
        for method, value in least.items()
    ]
    found = list(simulator_claims(Runs(tuple(records), 3, 0, "runs/simulator")))
    assert [c.id for c in found] == ["simulator-50", "simulator-100", "simulator-200"]
    assert all(c.holds is holds for c in found)
    assert found[0].measured == ("2.0 against 3.0 of TPE" if holds else "3.0 against 2.0 of TPE")
    assert TOLD in METHODS


@pytest.mark.parametrize(("to", "least", "holds"), [(90, 1e-9, True), (None, 0.5, False)])
def test_claims_about_the_papers_functions_again(to, least, holds):
    records = [
        {
            "panel": panel,
            "method": "BERS",
            "evaluations_to": {"1.0": to, "0.1": to, "0.01": to},
            "least": least,
        }
        for panel in (*RIVALS, "Ackley, another box")
        for _ in range(3)
    ]
    found = list(again_claims(Runs(tuple(records), 3, 0, "runs/static-again")))
    assert len(found) == 10
    assert all(c.holds is holds for c in found)
    assert found[0].measured == ("90 against 1,541" if holds else "never against 1,541")
