"""The study of worth: what is true is computed from trucks, and claims follow from records."""

import numpy as np
import pytest
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.report.curves import Runs
from bers_studies.rl.methods import shown_of
from bers_studies.rl.replay import Transitions
from bers_studies.supply.demonstrations import with_trucks
from bers_studies.worth.claims import claims
from bers_studies.worth.study import SETS, _earned, _thirds
from bers_studies.worth.tables import worth_tables


def given():
    """Twelve rows of each scenario that send everything from the factory to warehouse A."""
    stocks = np.zeros((12, 7), np.int32)
    stocks[:, 0] = 8
    action = np.zeros((12, 44), np.float32)
    action[:, 2] = 1.0
    rows = Transitions(stocks, action, np.ones(12, np.float32), stocks)
    names = [f"scenario {i}" for i in (1, 2, 3)]
    return shown_of([rows] * 3, names, inputs=with_trucks(), trimmed=0.0, horizon=200)


def test_thirds_are_in_order_and_all_rows_are_in_one():
    found = list(_thirds(given()))
    assert [name for name, _, _ in found][2] == "scenario 1, last third"
    assert np.concatenate([rows for _, _, rows in found]).tolist() == list(range(36))


def test_only_trucks_cost_otherwise():
    shown = given()
    rows = np.arange(4)
    own = _earned(shown, 1, rows, "1")
    assert own == pytest.approx(SupplyChain(1).horizon * 1.0)
    # two trucks to A: 0.03 each in scenario 1, 1.5 in scenario 2
    assert _earned(shown, 1, rows, "2") == pytest.approx(own - 200 * 2 * (1.5 - 0.03), rel=1e-5)


def record(sources, method, episodes, off):
    true = [float(i) for i in range(9)]
    mean = [value + off for value in true]
    return {
        "trial": 1, "sources": sources, "truth": "1", "method": method, "episodes": episodes,
        "true": true, "mean": mean, "low": [m - 1 for m in mean], "high": [m + 1 for m in mean],
    }  # fmt: skip


@pytest.mark.parametrize(("off", "holds"), [(0.5, True), (2.0, False)])
def test_claims_and_tables_follow_from_the_records(off, holds):
    records = [
        record(name, method, episodes, off if method == "BERS" else 5.0)
        for name in SETS
        for method in ("BERS", "neutral")
        for episodes in (1, 3)
    ]
    found = {c.id: c for c in claims(Runs(tuple(records), 1, 0, "runs/worth"))}
    assert found["worth-error"].holds is holds
    assert found["worth-best"].holds
    assert not found["worth-intervals"].holds  # all hold, or none
    assert found["worth-safe-scenario-3"].holds
    assert f"| all | 1 | {off:.1f} | 5.0 |" in worth_tables(records)
