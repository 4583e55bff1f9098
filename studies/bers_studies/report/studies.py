"""What is said, tabulated and drawn of which study.

Enters: the name of a study. Leaves: what it is about, and functions from its folder of journals to
Markdown and pictures.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bers_studies.agents.figures import agents_tables, draw_agents
from bers_studies.reacher.figures import draw_map, draw_reacher, reacher_tables
from bers_studies.report.curves import read_runs
from bers_studies.report.figures import draw_calibration, draw_trust
from bers_studies.static.figures import draw_functions, draw_latent, draw_more
from bers_studies.static.tables import (
    growth_tables,
    options_tables,
    paper_metric_tables,
    safety_tables,
    static_tables,
)
from bers_studies.supply.figures import draw_makeup, draw_posteriors, draw_profit
from bers_studies.supply.tables import supply_options_tables, supply_tables
from bers_studies.supply_flows.view import flows_tables
from bers_studies.trust.tables import grunfeld_tables, heads_tables, nobody_table, trust_tables
from bers_studies.tuning.tables import tuning_tables

ABOUT: dict[str, str] = {
    "static": "past runs on four functions, in both forms, against thirteen other methods",
    "supply": "the supply chain, nine methods, four ground truths",
    "reacher": "an arm with DQN, nine methods, two new goals",
    "reacher-map": "whom the arm trusts, for a hundred goals",
    "agents": "agents of Stable-Baselines3 with several demonstrators",
    "tuning": "Optuna with earlier studies, five families of tuning problems",
    "trust": "which rule finds the right source",
    "nobody": "sources that nobody should trust",
    "safety": "past runs that mislead",
    "growth": "up to 64 past runs of which one is right",
    "options": "what each part of reuse is worth",
    "paper-metric": "readings of the paper's settings",
    "latent": "how the heads' means move with two features",
    "supply-options": "what each part of control is worth",
    "supply-flows": "what goes along each route of the supply chain",
    "heads": "error and calibration of every head",
    "grunfeld": "eleven firms, each in turn the new task",
}
"""In the order in which a page shows them."""


def _of_records(make: Callable[[Any], str]) -> Callable[[Path], str]:
    return lambda folder: make(read_runs(folder).records)


TABLES: dict[str, Callable[[Path], str]] = {
    "static": static_tables,
    "safety": safety_tables,
    "growth": growth_tables,
    "options": options_tables,
    "paper-metric": paper_metric_tables,
    "supply": supply_tables,
    "supply-options": supply_options_tables,
    "supply-flows": flows_tables,
    "reacher": reacher_tables,
    "agents": agents_tables,
    "tuning": tuning_tables,
    "heads": _of_records(heads_tables),
    "trust": _of_records(trust_tables),
    "nobody": _of_records(nobody_table),
    "grunfeld": _of_records(grunfeld_tables),
}
DRAWN: dict[str, dict[str, Callable[[Path, Path], None]]] = {
    "static": {"functions.png": draw_functions, "more-methods.png": draw_more},
    "latent": {"latent.png": draw_latent},
    "supply": {
        "profit.png": draw_profit,
        "posteriors.png": draw_posteriors,
        "per.png": draw_makeup,
    },
    "reacher": {"reacher.png": draw_reacher},
    "reacher-map": {"map.png": draw_map},
    "agents": {"agents.png": draw_agents},
    "heads": {"calibration.png": draw_calibration},
    "trust": {"weights.png": draw_trust},
}
