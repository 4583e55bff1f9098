"""The study of orders: rivals, claims and the table that follow from records."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bers_studies.orders.claims import claims
from bers_studies.orders.rivals import best_single, ridge_towards_equal
from bers_studies.orders.study import OURS, QUICK, trial
from bers_studies.orders.tables import correlations, orders_table
from bers_studies.report.curves import Runs


@pytest.mark.parametrize(("ours", "holds"), [(0.9, True), (0.5, False)])
def test_orders_are_compared_way_by_way(ours, holds):
    records = [
        {"rule": rule, "rows": 5, "spearman": value}
        for rule, value in ((OURS, ours), ("RGPE", 0.7))
    ]
    found = {c.id: c for c in claims(Runs(tuple(records), 1, 0, "runs/orders"))}
    assert found["orders-rgpe"].holds is holds
    assert correlations(records, "RGPE", 5).tolist() == [0.7]
    assert f"| {OURS} | {ours:.3f} |" in orders_table(records)


def test_rivals_find_who_goes_along():
    f = np.random.default_rng(0).normal(size=(20, 4))
    y = 3 * f[:, 2] - 1
    assert np.argmax(best_single(None, f, y)) == 2
    assert np.argmax(ridge_towards_equal(None, f, y)) == 2
    few = ridge_towards_equal(None, f[:2], y[:2])
    assert few.sum() == pytest.approx(1)
    assert ridge_towards_equal(None, f, -f.sum(1)).tolist() == [0.25] * 4


def test_a_quick_trial_has_every_way_at_every_number_of_rows():
    folder = Path(os.environ.get("BERS_DATA", "../shared/data"))
    if not (folder / "lcbench").is_dir():
        pytest.skip("the data sets are not here")
    records = [*trial(replace(QUICK, source_rows=12, asked=50, data=str(folder)), 0)]
    assert len(records) == 2 * 6
    assert {r["task"] for r in records} == {33}
    assert all(-1 <= r["spearman"] <= 1 for r in records)
