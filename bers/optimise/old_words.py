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


def old_settings(
    learner: DE, reuse: ReuseConfig, *, disp: bool = False
) -> Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, str]]]:
    """A translation for functions with these defaults; `disp`, if they had that word.

    >>> new, said = old_settings(DE(), ReuseConfig())({"metric": "shape", "rng": 0})
    >>> new["reuse"].rule, said
    ('shape', {'metric': "reuse=bers.ReuseConfig(rule='shape')"})
    """

    def translate(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        words, said = dict(words), {}
        for record, names, start in (("learner", _LEARNER, learner), ("reuse", _REUSE, reuse)):
            found = {old: words.pop(old) for old in names if old in words}
            told = {old: names[old] for old in found}
            if record == "reuse" and "feasible" in words:
                found["metric"] = _on(found.get("metric", reuse.rule), words.pop("feasible"))
                told["feasible"] = "rule"
            if not found:
                continue
            if words.get(record) is not None:
                raise ConfigError(f"{next(iter(told))}= is part of {record}= now. Set it there.")
            changes = {names[old]: value for old, value in found.items()}
            words[record] = replace(start, **changes)
            inside = ", ".join(f"{new}={_short(value)}" for new, value in changes.items())
            said |= dict.fromkeys(told, f"{record}=bers.{type(start).__name__}({inside})")
        for old, new in (("config", "model"), ("progress_bar", "progress")):
            if old in words:
                value = words.pop(old)
                if words.get(new) is None:
                    words[new] = value
                said[old] = f"{new}="
        if disp and "disp" in words:
            if words.pop("disp"):
                words["progress"] = "lines"
            said["disp"] = 'progress="lines"'
        return words, said

    return translate


def _short(value: Any) -> str:
    """A value as it is written, unless that is long: a population, say."""
    written = repr(value)
    return written if len(written) <= 40 and written.isprintable() else "..."


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
