"""Records of optimisation runs, read from journals and asked simple questions.

Enters: a folder of journals. Leaves: arrays by panel and method, one row per trial. Failed trials
are counted, never averaged over.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import FileError
from bers_studies.report.statistics import standard_error
from bers_studies.runner.journal import Journal, read_journals

THRESHOLDS = {"Rosenbrock": "0.01", "Ackley": "0.01", "Sphere": "0.01"}
"""At what value a target counts as solved; 1.0 for all others."""


@dataclass(frozen=True)
class Runs:
    """All records of a study."""

    records: tuple[dict[str, Any], ...]
    trials: int
    """Those that ended well; several journals may be parts of one."""
    failed: int
    folder: str

    @property
    def heading(self) -> str:
        """How many trials there are, as the first line of tables says it.

        >>> Runs((), 20, 1, "runs/a").heading
        '20 trials, 1 failed and left out.'
        """
        lost = f", {self.failed} failed and left out" if self.failed else ""
        return f"{self.trials} trials{lost}."

    def pick(self, **wanted: object) -> list[dict[str, Any]]:
        """Records that have these values, in the order of the trials."""
        found = [r for r in self.records if all(r.get(k) == v for k, v in wanted.items())]
        if not found:
            what = ", ".join(f"{k} {v}" for k, v in wanted.items())
            raise FileError(f"{self.folder} has no records of {what}. Run the study again.")
        return found

    def values(self, name: str) -> list[Any]:
        """All values of a field, in order of appearance."""
        return list(dict.fromkeys(r[name] for r in self.records if name in r))

    def array(self, field: str, **wanted: object) -> np.ndarray:
        """What the records with these values hold in a field, one row for each."""
        return np.array([r[field] for r in self.pick(**wanted)])

    def best(self, **wanted: object) -> np.ndarray:
        """Best value so far, (trials, generations + 1)."""
        return self.array("best", **wanted)

    def evaluations(self, panel: str, threshold: str | None = None, **wanted: object) -> np.ndarray:
        """Evaluations until the panel's threshold; infinite where it was not reached."""
        threshold = threshold or THRESHOLDS.get(panel, "1.0")
        found = [r["evaluations_to"][threshold] for r in self.pick(panel=panel, **wanted)]
        return np.array([np.inf if n is None else n for n in found], dtype=float)

    def weights(self, **wanted: object) -> tuple[np.ndarray, np.ndarray]:
        """Generations, and weights (trials, generations, sources)."""
        chosen = self.pick(**wanted)
        return np.array(chosen[0]["weights_at"]), np.array([r["weights"] for r in chosen])


def read_runs(folder: str | os.PathLike[str]) -> Runs:
    """All trials of a folder that ended well."""
    if not Path(folder).is_dir():
        raise FileError(f"there is no folder {folder}. Check the path.")
    return runs_of(folder, read_journals(folder))


def runs_of(folder: str | os.PathLike[str], journals: Sequence[Journal]) -> Runs:
    """The same from journals that were read before."""
    fine = [journal for journal in journals if not journal.failed]
    if not fine:
        raise FileError(
            f"{folder} holds no finished trials. Give a folder that `reproduce` filled."
        )
    records = [{**r, "seed": j.header["seed"]} for j in fine for r in j.records]
    trials = len({r["trial"] for r in records if "trial" in r}) or len(fine)
    name = "/".join(Path(folder).parts[-2:])
    return Runs(tuple(records), trials, len(journals) - len(fine), name)


def log10_mean(best: np.ndarray, generations: int = 100) -> np.ndarray:
    """Mean of log10 of the best value over the first generations, for each trial.

    >>> log10_mean(np.array([[9.0, 10.0, 0.1]]), 2).tolist()
    [0.0]
    """
    return np.log10(np.maximum(best[:, 1 : generations + 1], 1e-12)).mean(axis=1)


def at(best: np.ndarray, generation: int) -> np.ndarray:
    """The best value after a generation, or after the last there is."""
    return best[:, min(generation, best.shape[1] - 1)]


def every_generation(g: np.ndarray, a: np.ndarray, last: int = 100) -> np.ndarray:
    """Weights (trials, generations, sources) at each generation, by those recorded at some.

    In between they stay what they were, so that a mean counts every generation once.

    >>> every_generation(np.array([1, 2, 4]), np.array([[[0.1], [0.2], [0.4]]]), 5).ravel().tolist()
    [0.1, 0.2, 0.2, 0.4, 0.4]
    """
    wanted = np.arange(1, last + 1)
    return a[:, np.searchsorted(g, wanted, side="right") - 1]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table.

    >>> print("\\n".join(table(["a", "b"], [["1", "2"]])))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def number(value: float, form: str = "{:.3g}") -> str:
    """A number for a table; infinite means that it was never reached.

    >>> number(float("inf")), number(0.01234)
    ('never', '0.0123')
    """
    return "never" if np.isinf(value) else "n/a" if np.isnan(value) else form.format(value)


def span(ends: Sequence[float], form: str = "{:.3g}") -> str:
    """An interval for a table.

    >>> span((1.0, 2.0)), span((float("nan"), float("nan")))
    ('1 to 2', 'not available')
    """
    if np.isnan(ends[0]):
        return "not available"
    return f"{number(ends[0], form)} to {number(ends[1], form)}"


def with_error(values: np.ndarray) -> str:
    """A mean and its standard error, for a table of whole numbers; one value has no error.

    >>> with_error(np.array([9.0, 11.0])), with_error(np.array([9.0]))
    ('10 ± 1', '9')
    """
    if len(values) < 2:
        return f"{values.mean():.0f}"
    return f"{values.mean():.0f} ± {standard_error(values):.0f}"


def by_method(runs: Runs, panel: str, methods: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Best values of those methods that the study has."""
    have = {r["method"] for r in runs.records if r.get("panel") == panel}
    return {m: runs.best(panel=panel, method=m) for m in methods if m in have}
