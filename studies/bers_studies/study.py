"""What a study is, and which there are: every folder of this package that holds a `study.py`.

Enters: nothing, or a name. Leaves: records of studies, in the order in which they are run and
shown. A folder's `__init__.py` holds the record, `STUDY`, and is light to import. The rest is
imported when it is asked for, and what a study does not have may be missing:

- `study.py`: `CONFIG`, `QUICK` (settings, as reported and for a quick look) and `trial`;
- `tables.py`: `tables(folder)`, Markdown of a folder of journals;
- `figures.py`: `FIGURES`, for each name of a file the function that draws it: `draw(folder, path)`;
- `claims.py`: `claims(runs)`, what is claimed of the records, beside what was measured;
- `view.py`: `panels(runs)`, what a page shows beside the charts that all studies have.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import bers_studies
from bers.errors import ConfigError

if TYPE_CHECKING:
    from bers_studies.report.claim import Claim
    from bers_studies.report.curves import Runs
    from bers_studies.report.panel import Panel
    from bers_studies.runner.run import Experiment


@dataclass(frozen=True)
class Study:
    """What is known of a study before it is run.

    >>> Study("bers_studies.paper_metric", "readings of the paper's settings", trials=5).name
    'paper-metric'
    """

    package: str
    """The folder, as Python names it: `__name__` of the module that holds the record."""
    about: str
    """In a few words."""
    trials: int
    seconds: float | None = None
    """Of one part on one core, where it was measured; a part is a trial or one of its targets."""
    parts: int = 1
    """Of a trial, run one by one."""
    quick_trials: int = 2
    given: str | None = None
    """What fixes the number of trials, if it cannot be chosen."""
    needs: tuple[str, ...] = ()
    """Packages that do not come with bers-studies alone."""
    order: int = 1000
    """Its place among all: those with smaller numbers come first."""
    sources: tuple[str, ...] = ()
    """Names of the sources, in the order of weights, where records do not name them."""
    head: tuple[str, ...] = ()
    """Ids of the claims that the short table shows: one or two, and some that do not hold."""
    page: str = ""
    """The page that says what we claim."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where the paper claims what: places by the beginnings of ids, of which the longest counts."""

    @property
    def name(self) -> str:
        """As it is called on the command line, and as its folder of results is called."""
        return self.package.rpartition(".")[2].replace("_", "-")

    @property
    def missing(self) -> list[str]:
        """Packages that it needs and that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def config(self) -> Any:
        """The settings as reported."""
        return self._run().CONFIG

    @property
    def quick(self) -> Any:
        """The settings of a quick look."""
        return self._run().QUICK

    @property
    def trial(self) -> "Callable[[Any, int], Iterable[Mapping[str, Any]]]":
        """What is done for every seed."""
        return self._run().trial

    @property
    def tables(self) -> Callable[[Path], str] | None:
        """From a folder of journals to Markdown."""
        return self._part("tables", "tables")

    @property
    def figures(self) -> Mapping[str, Callable[[Path, Path], None]]:
        """What draws each picture, from a folder of journals."""
        return self._part("figures", "FIGURES") or {}

    @property
    def claims(self) -> "Callable[[Runs], Iterable[Claim]] | None":
        """From records to claims."""
        return self._part("claims", "claims")

    @property
    def panels(self) -> "Callable[[Runs], list[Panel]] | None":
        """From records to what only this study's part of a page shows."""
        return self._part("view", "panels")

    def experiment(self, *, quick: bool = False) -> "Experiment":
        """For the runner."""
        from bers_studies.runner.run import Experiment

        return Experiment(self.name, self.quick if quick else self.config, self.trial)

    def seeds(self, trials: int | None, *, quick: bool = False) -> range:
        """One number for each part."""
        if trials is not None and self.given is not None:
            raise ConfigError(f"{self.name} has one trial per {self.given}; leave --trials out.")
        usual = self.quick_trials if quick and self.given is None else self.trials
        return range((trials or usual) * self.parts)

    def place(self, id: str, said_by: str) -> str:
        """Where a claim is made: the place in the paper, or our page.

        >>> places = {"": "paper, section 4.3", "a-finds": "paper, figure 5"}
        >>> study = Study("bers_studies.a", "", trials=1, page="docs/a.md", places=places)
        >>> study.place("a-finds-1", "paper"), study.place("a-safe", "paper")
        ('paper, figure 5', 'paper, section 4.3')
        >>> study.place("a-finds-1", "BERS")
        'docs/a.md'
        """
        if said_by != "paper":
            return self.page or said_by
        found = max((start for start in self.places if id.startswith(start)), key=len, default=None)
        return said_by if found is None else self.places[found]

    def _run(self) -> Any:
        if self.missing:
            raise ConfigError(
                f"{self.name} needs {', '.join(self.missing)}. "
                "`make venv` installs what studies need."
            )
        return import_module(f"{self.package}.study")

    def _part(self, module: str, name: str) -> Any:
        """What a module of the folder offers under a name; None where there is no such module."""
        if find_spec(f"{self.package}.{module}") is None:
            return None
        return getattr(import_module(f"{self.package}.{module}"), name)


def studies() -> dict[str, Study]:
    """All studies by name, in their order.

    >>> list(studies())[:2]
    ['static', 'paper-metric']
    """
    places = [Path(place) for place in bers_studies.__path__]
    folders = [one.name for one in iter_modules(bers_studies.__path__) if one.ispkg]
    found: list[Study] = [
        import_module(f"bers_studies.{folder}").STUDY
        for folder in folders
        if any((place / folder / "study.py").is_file() for place in places)
    ]
    return {one.name: one for one in sorted(found, key=lambda one: (one.order, one.name))}


def study_named(name: str) -> Study:
    """One of them.

    >>> study_named("nobody").trials
    20
    """
    known = studies()
    if name not in known:
        raise ConfigError(f"there is no experiment {name!r}. Known: {', '.join(known)}.")
    return known[name]
