"""What is tabulated and drawn of which study.

Enters: the name of a study. Leaves: functions from its folder of journals to Markdown and pictures.
"""

from collections.abc import Callable
from pathlib import Path

from bers.report.agents import agents_tables, draw_agents
from bers.report.static import (
    growth_tables,
    options_tables,
    paper_metric_tables,
    safety_tables,
    static_tables,
)
from bers.report.static_figures import draw_functions, draw_latent, draw_more
from bers.report.supply import supply_options_tables, supply_tables
from bers.report.supply_figures import draw_makeup, draw_posteriors, draw_profit
from bers.report.tuning import tuning_tables

TABLES: dict[str, Callable[[Path], str]] = {
    "static": static_tables,
    "safety": safety_tables,
    "growth": growth_tables,
    "options": options_tables,
    "paper-metric": paper_metric_tables,
    "supply": supply_tables,
    "supply-options": supply_options_tables,
    "agents": agents_tables,
    "tuning": tuning_tables,
}
DRAWN: dict[str, dict[str, Callable[[Path, Path], None]]] = {
    "static": {"functions.png": draw_functions, "more-methods.png": draw_more},
    "latent": {"latent.png": draw_latent},
    "supply": {
        "profit.png": draw_profit,
        "posteriors.png": draw_posteriors,
        "per.png": draw_makeup,
    },
    "agents": {"agents.png": draw_agents},
}
