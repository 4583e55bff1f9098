"""The words of the version before, for `minimize`, `Optimizer` and what stands on them.

Enters: keyword arguments as somebody wrote them a version ago. Leaves: the records of now, and for
every old word what to write instead. The whole module goes with the next version.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bers.algorithm import ReuseConfig
from bers.errors import ConfigError
from bers.learners.differential_evolution import DE
from bers.trust.objective import METRICS

_LEARNER = {
    "population_size": "population",
    "mutation": "mutation",
    "recombination": "recombination",
    "updating": "updating",
    "init": "init",
    "tol": "tol",
    "atol": "atol",
}
_REUSE = {
    "metric": "rule",
    "schedule": "schedule",
    "guard": "guard",
    "elites": "elites",
    "pick": "pick",
    "transform": "transform",
    "batches": "batches",
}

OLD_WORDS = {*_LEARNER, *_REUSE, "feasible", "config", "progress_bar"}
"""All of them."""


def old_settings(
    learner: DE, reuse: ReuseConfig
) -> Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, str]]]:
    """A translation for functions with these defaults.

    >>> new, said = old_settings(DE(), ReuseConfig())({"metric": "shape", "rng": 0})
    >>> new["reuse"].rule, said
    ('shape', {'metric': "reuse=ReuseConfig(rule='shape')"})
    """

    def translate(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        words, said = dict(words), {}
        for record, names, start in (("learner", _LEARNER, learner), ("reuse", _REUSE, reuse)):
            found = {old: words.pop(old) for old in names if old in words}
            if record == "reuse" and "feasible" in words:
                found["metric"] = _on(found.get("metric", start.rule), words.pop("feasible"))
            if not found:
                continue
            if record in words:
                old = next(iter(found))
                raise ConfigError(f"{old}= is part of {record}= now. Set it there.")
            changes = {names[old]: value for old, value in found.items()}
            words[record] = replace(start, **changes)
            for old in found:
                value = f"{type(start).__name__}({names[old]}={found[old]!r})"
                said[old] = f"{record}={value}"
        for old, new in (("config", "model"), ("progress_bar", "progress")):
            if old in words:
                value = words.pop(old)
                words.setdefault(new, value)
                said[old] = f"{new}="
        if words.pop("disp", False):
            words["progress"], said["disp"] = "lines", 'progress="lines"'
        return words, said

    return translate


def _on(metric: Any, feasible: str | None) -> Any:
    """The name of a rule on a feasible set."""
    if feasible is None:
        return metric
    if feasible not in ("simplex", "at_most_one"):
        raise ConfigError(f'feasible must be "simplex" or "at_most_one"; got {feasible!r}.')
    if metric not in METRICS:
        raise ConfigError(
            f"feasible is for the metrics of the quadratic program ({', '.join(METRICS)}); "
            f"got metric={metric!r}. Leave it out."
        )
    return metric if feasible == "simplex" else f"{metric}+nobody"
