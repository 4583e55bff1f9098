"""Reactions as black boxes: tables of conditions of which each has one yield, by substance.

Enters: the folder of the files; docs/sklearn.md says where they are from. Leaves: for each
temperature of the direct arylations, and each aryl halide of the cross-couplings, a `Reaction`; and
scenarios of one that is new and others that were carried out before.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import ConfigError
from bers_studies.regression.problems import file_of

TABLES = ("arylation", "halides")
TOP = 0.01
"""The share of all conditions that counts as the top."""


@dataclass(frozen=True)
class Reaction:
    """All conditions of one reaction, and their yields in percent."""

    table: str
    name: str
    conditions: Any
    """A data frame: one row for each, words and numbers."""
    yields: np.ndarray

    @property
    def top(self) -> float:
        """The yield from which conditions are among the top 1%; at least the best two.

        >>> Reaction("t", "r", None, np.array([1.0, 5, 3, 2])).top
        3.0
        """
        count = max(2, round(TOP * len(self.yields)))
        return float(np.sort(self.yields)[-count])

    def some(self, rng: np.random.Generator, share: float) -> "Reaction":
        """A random share of the conditions, at least two: what was carried out before."""
        count = max(2, round(share * len(self.yields)))
        rows = np.sort(rng.permutation(len(self.yields))[:count])
        kept = self.conditions.iloc[rows].reset_index(drop=True)
        return Reaction(self.table, self.name, kept, self.yields[rows])

    def turned(self) -> "Reaction":
        """The same with what was good made bad: past runs that mislead."""
        return Reaction(self.table, f"{self.name}, turned", self.conditions, -self.yields)


def reactions(table: str, folder: Path) -> dict[str, Reaction]:
    """All of a table: "arylation" (by temperature) or "halides" (by aryl halide)."""
    import pandas as pd

    if table == "arylation":
        rows = pd.read_csv(file_of(folder, "direct_arylation.csv"), encoding="utf-8-sig")
        by, columns = "Temp_C", ["Base", "Ligand", "Solvent", "Concentration"]
    elif table == "halides":
        rows = pd.read_csv(file_of(folder, "aryl_halides.csv"))
        rows = rows.dropna(subset=["aryl_halide", "additive"])
        by, columns = "aryl_halide", ["base", "ligand", "additive"]
    else:
        raise ConfigError(f"no table is called {table!r}; choose one of {', '.join(TABLES)}.")
    found = {}
    for name, some in rows.groupby(by, sort=True):
        conditions = some[columns].reset_index(drop=True)
        found[str(name)] = Reaction(table, str(name), conditions, some["yield"].to_numpy(float))
    return found


@dataclass(frozen=True)
class Scenario:
    """One that is new, and those that were carried out before."""

    name: str
    table: str
    target: str
    sources: tuple[str, ...]
    share: float = 1.0
    """Of the sources' conditions that were carried out."""
    turned: bool = False
    """Whether the sources mislead: high yields are low ones."""

    def made(self, rng: np.random.Generator, folder: Path) -> tuple[Reaction, list[Reaction]]:
        """The target, and what is known of the others."""
        every = reactions(self.table, folder)
        past = [every[name].some(rng, self.share) for name in self.sources]
        return every[self.target], [one.turned() for one in past] if self.turned else past


_CF3, _PYRIDINE = "1-chloro-4-(trifluoromethyl)benzene", "2-iodopyridine"
_METHOXY, _CHLORO = "1-iodo-4-methoxybenzene", "3-chloropyridine"
BAYBES = tuple(
    Scenario(f"{said}, {share:.0%}", "halides", target, sources, share)
    for said, target, sources in (
        ("two sources, iodomethoxybenzene", _METHOXY, (_CF3, _PYRIDINE)),
        ("one source, iodomethoxybenzene", _METHOXY, (_CF3,)),
        ("one source, chloropyridine", _CHLORO, (_PYRIDINE,)),
    )
    for share in (0.01, 0.05, 0.1)
)
"""BayBE's own scenarios of transfer between aryl halides."""


def temperatures(share: float = 1.0, *, turned: bool = False) -> tuple[Scenario, ...]:
    """One temperature as the target, the two others as sources.

    >>> [one.sources for one in temperatures()][0]
    ('105', '120')
    """
    every = ("90", "105", "120")
    said = "turned" if turned else f"{share:.0%}"
    return tuple(
        Scenario(
            f"{target} °C, {said}",
            "arylation",
            target,
            tuple(other for other in every if other != target),
            share,
            turned,
        )
        for target in every
    )


def developed(folder: Path, share: float = 0.1, *, turned: bool = False) -> tuple[Scenario, ...]:
    """What methods are developed on: the aryl halides that are no target of BayBE's scenarios.

    The sources of each are the two that come after it by name.
    """
    names = [name for name in reactions("halides", folder) if name not in (_METHOXY, _CHLORO)]
    said = "turned" if turned else f"{share:.0%}"
    return tuple(
        Scenario(
            f"{name}, {said}", "halides", name, tuple((names * 2)[i + 1 : i + 3]), share, turned
        )
        for i, name in enumerate(names)
    )


REPORTED = (
    *BAYBES,
    *temperatures(),
    *temperatures(0.1),
    *temperatures(turned=True),
)
"""What results are reported on."""
