"""Experiments from a list: which to do next, when similar lists were worked on before.

Enters: a table of all experiments that could be done, and what was measured in earlier campaigns;
then what is measured now. Leaves: rows of the table to measure next, weights of the earlier
campaigns, and a result. The surrogate is that of `bers/model/process.py`: it begins with what the
earlier campaigns had in common, and the new rows decide how much of that is kept. [Eq. family]
"""

import os
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.optimize import OptimizeResult

from bers.data.checks import flag, random_numbers, whole
from bers.errors import ConfigError, DataError, FileError
from bers.integrity import read_sealed, write_sealed
from bers.model.plate import Plate
from bers.model.process import Belief, family, stranger
from bers.optimise.candidates import Candidates, alike, with_values
from bers.optimise.result import Result

_AGREED = 3  # experiments on which the earlier campaigns agree, before there is anything to believe
_FIRST = 3  # experiments without earlier campaigns before there is anything to believe
_COMPARE, _EVERY = 5, 10  # these, counted from 0, are chosen as without earlier campaigns
_FORMAT = "bers-campaign-1"
_USUAL = 0.8  # length at which values are alike, in ranges, where there is nothing to tell


class Prediction(NamedTuple):
    """What is expected of candidates. It unpacks as (mean, spread)."""

    mean: Float64[np.ndarray, " n"]
    """The middle of what is expected."""
    spread: Float64[np.ndarray, " n"]
    """How far off that may usually be: a standard deviation."""


class Campaign:
    """A list of experiments, done one by one or some at a time, that learns from earlier ones.

    Parameters
    ----------
    candidates
        All experiments that could be done: a data frame, one row each, with columns of numbers and
        words; or an array (n, D).
    sources
        Earlier campaigns: a list, or a mapping by name, of frames with the same columns and that of
        the value, files of such tables, pairs (rows, values), or results of a campaign. None:
        there are none.
    y
        Column of the sources that holds the value; guessed from its usual names, unless given.
    maximize
        Whether values are the better the larger, such as yields; for the sources, too.
    odds
        That earlier campaigns help, to one that they do not, before anything is measured.
    rng
        The same one gives the same campaign.

    Examples
    --------
    >>> import pandas as pd
    >>> solvents, hours = ["water", "ethanol", "toluene"], [1.0, 2.0, 4.0, 8.0]
    >>> table = pd.DataFrame([(s, h) for s in solvents for h in hours], columns=["solvent", "h"])
    >>> def measure(rows):
    ...     return 10 * rows["h"] - rows["h"] ** 2 + 20 * (rows["solvent"] == "ethanol")
    >>> past = table.assign(reward=measure(table) - 7)
    >>> campaign = Campaign(table, {"last year": past}, maximize=True, rng=0)
    >>> for _ in range(3):
    ...     rows = campaign.ask(2)
    ...     campaign.tell(rows, measure(rows))
    >>> campaign.result().x
    {'solvent': 'ethanol', 'h': 4.0}
    """

    def __init__(
        self,
        candidates: Any,
        sources: Any = (),
        *,
        y: str | None = None,
        maximize: bool = False,
        odds: float = 3.0,
        rng: int | np.integer | np.random.Generator | None = None,
    ) -> None:
        if not odds > 0:
            raise ConfigError(f"odds must be above 0; got {odds}. Give 3, or 1 if in doubt.")
        flag(maximize, "maximize")
        self.maximize, self.odds = maximize, float(odds)
        self._seed = int(random_numbers(rng).integers(2**31))
        self._list, self._past = alike(candidates, sources, y)
        self._begin()

    def _begin(self) -> None:
        """What the earlier campaigns have in common, and nothing told yet."""
        past = self._past
        self._sign = -1.0 if self.maximize else 1.0
        self.names = list(past)
        self._speakers = [i for i, (_, values) in enumerate(past.values()) if len(values)]
        pairs = [(x, self._sign * values) for x, values in past.values() if len(values)]
        usual = np.full(self._list.x.shape[1], _USUAL)
        self._family = family(pairs, rng=self._seed) if pairs else stranger(usual)
        self._places = self._family.places(self._list.x)
        self._order = self._family.portfolio(self._places, 2 * _AGREED) if pairs else []
        self._told: list[tuple[int, float]] = []
        self._heard: set[tuple[int, str]] = set()
        self._asked: list[int] = []
        self._plate: tuple[np.ndarray, Plate] | None = None

    # asking and telling

    def ask(self, n: int = 1) -> Any:
        """Experiments to do next; the same ones until they are told.

        Parameters
        ----------
        n
            How many. They are chosen to be done side by side.

        Returns
        -------
        frame or array
            Rows of the candidates. Fewer than n once few are left.

        Examples
        --------
        >>> campaign = Campaign(np.arange(6.0)[:, None], rng=0)
        >>> first = campaign.ask(2)
        >>> len(first), bool((campaign.ask(3)[:2] == first).all())
        (2, True)
        """
        whole(n, "ask(n)")
        while len(self._asked) < n:
            row = self._next()
            if row is None:
                break
            self._asked.append(row)
        return self._list.rows(np.array(self._asked[:n], int))

    def tell(self, rows: Any, y: Any = None) -> None:
        """Take in values of experiments, in any order, asked for or not.

        The very same row told again counts once, so a table that grows may be told as a whole each
        time. Another value of an experiment that was told before is a repetition: both count, and
        it is worth their mean.

        Parameters
        ----------
        rows
            Rows of the candidates: a frame with the candidates' columns, in any order and among
            others; or an array, one row or several.
        y
            Their values, or the name of the column that holds them. nan where an experiment failed,
            which counts as the worst.

        Examples
        --------
        >>> campaign = Campaign(np.arange(6.0)[:, None], rng=0)
        >>> campaign.tell([[4.0], [5.0]], [2.0, np.nan])
        >>> campaign.best, len(campaign.ask(9))
        (2.0, 4)
        """
        rows, values = with_values(rows, y)
        places = self._list.places(rows)
        if len(places) != len(values):
            raise DataError(f"tell: {len(places)} rows, but {len(values)} values. Give one each.")
        for row, value in zip(places, values.tolist(), strict=True):
            if row in self._asked:
                self._asked.remove(row)
                self._plate = None
            key = (row, repr(value))  # a failure is equal to itself
            if key not in self._heard:
                self._heard.add(key)
                self._told.append((row, value))
                self._plate = None

    # what comes next

    def _next(self) -> int | None:
        """The row with the most expected improvement, of those not done and not asked for."""
        chosen = [*dict.fromkeys(row for row, _ in self._told), *self._asked]
        left = np.setdiff1d(np.arange(len(self._list.x)), chosen)
        if not len(left):
            return None
        number = len(chosen)
        rng = np.random.default_rng([self._seed, number])
        agreed = [row for row in self._order if row not in chosen]
        if agreed and (number < _AGREED or not self._told):
            return agreed[0]
        if not self._told or number < _FIRST:
            return self._apart(rng, left, chosen)
        if self._plate is None:
            self._plate = self._begun(left)
        rows, plate = self._plate
        open_ = np.searchsorted(rows, left)
        gain = plate.improvement(alone=number % _EVERY == _COMPARE)[open_]
        i = int(rng.choice(np.flatnonzero(gain >= gain.max())))
        plate.suppose(int(open_[i]))
        return int(left[i])

    def _begun(self, left: np.ndarray) -> tuple[np.ndarray, Plate]:
        """All rows that are not done, and what is believed of them, given those asked for."""
        rows = np.sort(np.concatenate([left, np.array(self._asked, int)]))
        plate = Plate(self._belief(), self._places[rows])
        for row in self._asked:
            plate.suppose(int(np.searchsorted(rows, row)))
        return rows, plate

    def _apart(self, rng: np.random.Generator, left: np.ndarray, chosen: list[int]) -> int:
        """At random at first; then what is farthest from all that was chosen."""
        if not chosen:
            return int(rng.choice(left))
        x = self._list.x
        away = np.sum((x[left, None] - x[chosen]) ** 2, axis=2).min(axis=1)
        return int(left[rng.choice(np.flatnonzero(away >= away.max() - 1e-9))])

    def _belief(self) -> Belief:
        """After all that was told; the less the better, failures as the worst."""
        rows = np.array([row for row, _ in self._told], int)
        values = self._sign * np.array([value for _, value in self._told])
        fine = np.isfinite(values)
        values = np.where(fine, values, values[fine].max() if fine.any() else 0.0)
        return self._family.observe(self._list.x[rows], values, odds=self.odds)

    # what is known

    @property
    def weights(self) -> dict[str, float]:
        """The share of each earlier campaign now; what is missing to one is "nobody"."""
        found = np.zeros(len(self.names))
        if self._speakers:
            even = np.full(len(self._speakers), 1 / len(self._speakers))
            found[self._speakers] = self._belief().weights if self._told else even
        return dict(zip(self.names, found.tolist(), strict=True))

    @property
    def best(self) -> float:
        """The best value so far, of repeated experiments their mean; nan before there is one."""
        return self._top()[1]

    def _top(self) -> tuple[int, float]:
        """The best experiment, -1 before there is one, and the mean of what it gave."""
        found: dict[int, list[float]] = {}
        for row, value in self._told:
            if np.isfinite(value):
                found.setdefault(row, []).append(value)
        means = [(row, float(np.mean(values))) for row, values in found.items()]
        return min(means, key=lambda one: self._sign * one[1], default=(-1, float("nan")))

    def predict(self) -> "Prediction":
        """What is expected of every candidate.

        Returns
        -------
        Prediction
            mean and spread, in the units of the values, in the order of the candidates.

        Examples
        --------
        >>> campaign = Campaign(np.arange(6.0)[:, None], rng=0)
        >>> campaign.tell([[0.0], [2.0], [5.0]], [0.0, 2.0, 5.0])
        >>> bool(abs(campaign.predict().mean[1] - 1) < 0.5)
        True
        """
        if not self._told:
            raise ConfigError("predict() needs values. Tell some first.")
        mean, spread = self._belief().predict(self._places)
        return Prediction(-mean if self.maximize else mean, spread)

    def result(self) -> OptimizeResult:
        """What was found so far.

        Returns
        -------
        OptimizeResult
            x, the best experiment (a dictionary by column, or a row), fun, its value, nfev; x_all
            and fun_all, all that was told; with earlier campaigns, weights. It is a source of the
            next campaign.

        Examples
        --------
        >>> Campaign(np.arange(6.0)[:, None], rng=0).result().nfev
        0
        """
        rows = np.array([row for row, _ in self._told], int)
        values = np.array([value for _, value in self._told], float)
        top, best = self._top()
        found: dict[str, Any] = {"x": None, "fun": best, "nfev": len(rows)}
        if top >= 0:
            found["x"] = self._list.one(top)
        found |= {"x_all": self._list.rows(rows), "fun_all": values}
        if self.names:
            found["weights"] = self.weights
        return Result(**found)

    # keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the campaign, earlier ones included; `Campaign.load` goes on with the same rows.

        Parameters
        ----------
        path
            The file to write.

        Examples
        --------
        >>> import tempfile
        >>> campaign = Campaign(np.arange(6.0)[:, None], rng=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign.save(f"{folder}/plate.bers")
        ...     bool((Campaign.load(f"{folder}/plate.bers").ask(2) == campaign.ask(2)).all())
        True
        """
        arrays, about = self._list.parts()
        for i, (x, y) in enumerate(self._past.values()):
            arrays |= {f"past.{i}.x": x, f"past.{i}.y": y}
        arrays |= {
            "told.row": np.array([row for row, _ in self._told], np.int64),
            "told.y": np.array([value for _, value in self._told], np.float64),
            "asked": np.array(self._asked, np.int64),
        }
        settings = {"maximize": self.maximize, "odds": self.odds, "seed": self._seed}
        write_sealed(path, _FORMAT, arrays, {**about, **settings, "past": self.names})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Campaign":
        """A campaign that `save` wrote; damaged and foreign files are refused.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Campaign
            It goes on as the one that was saved.

        Examples
        --------
        >>> Campaign.load("nowhere.bers")
        Traceback (most recent call last):
        bers.errors.FileError: there is no campaign file nowhere.bers. Check the path.
        """
        arrays, about = read_sealed(path, _FORMAT, "a BERS campaign")
        campaign = cls.__new__(cls)
        try:
            campaign._fill(arrays, about)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            said = f"{path} is damaged or not a BERS campaign: {error}. Save it again."
            raise FileError(said) from error
        return campaign

    def _fill(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        self.maximize, self.odds, self._seed = about["maximize"], about["odds"], about["seed"]
        self._list = Candidates.of_parts(arrays, about)
        names = about["past"]
        self._past = {
            n: (arrays[f"past.{i}.x"], arrays[f"past.{i}.y"]) for i, n in enumerate(names)
        }
        self._begin()
        values = arrays["told.y"].tolist()
        self._told = list(zip(arrays["told.row"].tolist(), values, strict=True))
        self._heard = {(row, repr(value)) for row, value in self._told}
        self._asked = arrays["asked"].tolist()
