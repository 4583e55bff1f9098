"""Networks with their flows: what is drawn, what is counted, and that names stay text."""

import re

import numpy as np
from bers_studies.report.curves import Runs
from bers_studies.report.page import page
from bers_studies.supply_flows.tables import tables
from bers_studies.supply_flows.view import draw_flows, panels
from report_helpers import write_trials


def record(method="BERS", trial=0, truth="2", **more):
    """A factory and three warehouses: two routes in use, one of them cheap."""
    flows, cost = np.zeros((4, 4)), np.full((4, 4), 3.0)
    cost[0, 1:], cost[0, 1] = 1.5, 0.03
    flows[0, 1], flows[2, 3] = 6.0, 2.0
    return {
        "truth": truth, "trial": trial, "method": method, "earned": 1234.5,
        "places": ["factory", "A", "B", "C"], "flows": flows.tolist(),
        "truck_cost": cost.tolist(), **more,
    }  # fmt: skip


def test_arrows_are_as_wide_as_flows_and_coloured_by_price():
    made = draw_flows("target", record())
    assert made.count("<circle") == 4
    widths = [float(w) for w in re.findall(r'stroke-width="([\d.]+)"', made)]
    kinds = re.findall(r'class="route c(\d)"', made)
    assert widths == [5.5, 2.5]  # 1 + 0.75 per unit, the widest first
    assert kinds == ["0", "2"]
    assert "factory to A: 6.0 units a period, cheap" in made
    assert "B to C: 2.0 units a period, dearest" in made


def test_what_hardly_moves_is_left_out():
    flows = np.full((4, 4), 0.01)
    assert 'class="route' not in draw_flows("t", record(flows=flows.tolist()))


def test_arrows_end_at_the_edge_of_their_place():
    made = draw_flows("t", record())
    tip = np.array([float(v) for v in re.search(r'points="([\d.]+),([\d.]+)', made).groups()])
    place = np.array([200.0, 52.0])  # A, on top
    assert 21 <= np.linalg.norm(tip - place) <= 25


def test_the_table_counts_units_by_price(tmp_path):
    write_trials(tmp_path, [[record(), record("None")]])
    made = tables(tmp_path)
    assert "| scenario 2 | BERS | 1,234 | 6.0 | 0.0 | 2.0 |" in made


def test_the_page_shows_the_first_trial_and_names_stay_text(tmp_path):
    hostile = "<script>alert(1)</script>"
    names = ["factory", hostile, "B", "C"]
    folder = tmp_path / "supply-flows"
    write_trials(folder, [[record(places=names)], [record(trial=1, places=names)]])
    made = page([folder])
    assert made.count('class="route c') == 2
    assert "scenario 2, BERS: profit 1,234" in made
    assert hostile not in made
    (nothing,) = panels(Runs(({"method": "None"},), 1, 0, "supply-flows"))
    assert nothing.figures == []
