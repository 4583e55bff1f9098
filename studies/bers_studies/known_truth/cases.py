"""Tables whose true answer is known: sources, a target, and who is right.

Enters: a case and a seed. Leaves: `Tables`: the sources, a law by which rows of the target are
drawn as often as wanted, and the names of those that are right; none where nobody is. As long as a
case does not say otherwise, three sources have 500 rows and the target has 60, four inputs matter,
and the noise is a tenth of the labels' spread. The right source is at a random place, and so are
the inputs that matter.

Half of the cases are there to develop with ("develop"), the others to report ("report"). Both
have all kinds; functions, inputs and most sizes differ.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers_studies.known_truth.functions import (
    MATTER,
    Function,
    drawn,
    explained,
    scaled,
    unlike,
)

Noise = Callable[[np.random.Generator, np.ndarray], np.ndarray]
"""From a generator and the values of a function to labels."""

_REFERENCE = 1000  # rows by which functions are compared and scaled
_FAR_OFF = 20.0  # spreads that an outlier is off


@dataclass(frozen=True)
class Law:
    """How rows come about."""

    inputs: Callable[[np.random.Generator, int], np.ndarray]
    function: Function
    """What is behind the labels, without noise, before units."""
    labels: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    """From a generator and rows of inputs to labels, before units."""
    scale: float = 1.0
    """Units of the labels."""
    offset: float = 0.0
    stretched: tuple[int, float] | None = None
    """A column, and how many times too large it is written down."""

    def rows(self, rng: np.random.Generator, n: int, name: str) -> Demonstrations:
        """Fresh rows."""
        x = self.inputs(rng, n)
        y = self.offset + self.scale * self.labels(rng, x)
        if self.stretched is not None:
            x[:, self.stretched[0]] *= self.stretched[1]
        return Demonstrations(x, y, name)


@dataclass(frozen=True)
class Tables:
    """One draw of a case."""

    sources: list[Demonstrations]
    laws: Mapping[str, Law]
    """By which the rows of each source were drawn, by name."""
    aim: Law
    """By which rows of the target are drawn."""
    rows: int
    """Of the target, in this case."""
    right: frozenset[str]
    """Names of those that are right; empty where nobody is."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Of a mixture: how much of each is in the target."""

    def target(self, rng: np.random.Generator, rows: int | None = None) -> Demonstrations:
        """Fresh rows of the target, from the same truth."""
        return self.aim.rows(rng, self.rows if rows is None else rows, "target")

    def fresh(self, name: str, rng: np.random.Generator, rows: int) -> Demonstrations:
        """Fresh rows of a source."""
        return self.laws[name].rows(rng, rows, name)


@dataclass(frozen=True)
class Case:
    """One kind of table; a seed makes it one table."""

    name: str
    kind: str
    half: str
    """develop, or report."""
    make: Callable[[np.random.Generator], Tables]

    def tables(self, seed: int) -> Tables:
        """The same seed gives the same tables; cases share no random numbers."""
        return self.make(self._rng(seed, 0))

    def target_rng(self, seed: int, draw: int = 0) -> np.random.Generator:
        """For a draw of the target; the first is the one that is ranked."""
        return self._rng(seed, 1 + draw)

    def _rng(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.name.encode()), *numbers])


def judged(tables: Tables, ranking: Any) -> dict[str, Any]:
    """What a ranking says, and whether that is right.

    Right is the largest answer, of: those that are right, together; each wrong source; nobody. Of
    a mixture, each part must have a tenth or more, or a note must say that no single source is.
    Confidently wrong is a weight above one half on a wrong source.
    """
    weights = {one.name: float(one.weight) for one in ranking.sources}
    nobody = float(ranking.nobody)
    wrong = max((w for name, w in weights.items() if name not in tables.right), default=0.0)
    on_right = sum(weights[name] for name in tables.right)
    right = on_right > max(nobody, wrong) if tables.right else nobody > wrong
    if tables.shares:
        noted = any("no single source" in note for note in ranking.warnings)
        right = right and (noted or min(weights[name] for name in tables.shares) >= 0.1)
    undecided = bool(getattr(ranking, "undecided", False))
    top = max(weights, key=lambda name: weights[name])
    top = "undecided" if undecided else top if weights[top] > nobody else "nobody"
    return {
        "top": top,
        "right": bool(right),
        "undecided": undecided,
        "outcome": "undecided" if undecided else "right" if right else "wrong",
        "confidently_wrong": wrong > 0.5,
    }


# what tables are made of


@dataclass(frozen=True)
class Setting:
    """What most tables have in common."""

    families: tuple[str, ...]
    """Of the sources' functions, the right one's first."""
    inputs: str = "uniform"
    """uniform, normal, or correlated: normal, and every two columns are alike by one half."""
    irrelevant: int = 0
    """Columns that do not matter, beside the four that do."""
    rows: int = 500
    """Of each source."""
    target_rows: int = 60
    noise: float = 0.1
    """Of the sources' labels, in spreads of the function."""
    target_noise: float = 0.1
    heavy: bool = False
    """Noise follows Student's t with two degrees of freedom instead of the normal."""
    apart: float = 0.5
    """The largest correlation with the right source's function, whatever its sign."""


class World:
    """Functions and inputs of one table, from which its laws are made."""

    def __init__(self, rng: np.random.Generator, setting: Setting) -> None:
        self.rng, self.setting = rng, setting
        columns = MATTER + setting.irrelevant
        self.columns = rng.permutation(columns)[:MATTER]
        self.reference = self.inputs(rng, _REFERENCE)
        self._matter = self.reference[:, self.columns]
        self._inner: list[Function] = []
        for family in setting.families:  # the first two are those that a target may follow
            first = self._inner[:2]
            self._inner.append(unlike(rng, family, first, self._matter, setting.apart))
        self.functions = [self.outer(f) for f in self._inner]

    def inputs(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Rows of inputs; every column has mean 0 and spread 1."""
        columns = MATTER + self.setting.irrelevant
        if self.setting.inputs == "uniform":
            return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, columns))
        x = rng.standard_normal((n, columns))
        if self.setting.inputs == "correlated":
            x = np.sqrt(0.5) * (x + rng.standard_normal((n, 1)))
        return x

    def half_of(self, column: int, side: float) -> Callable[..., np.ndarray]:
        """The same, but one of the columns that matter is on one side of zero only."""

        def inputs(rng: np.random.Generator, n: int) -> np.ndarray:
            x = self.inputs(rng, n)
            x[:, self.columns[column]] = side * np.abs(x[:, self.columns[column]])
            return x

        return inputs

    def outer(self, function: Function) -> Function:
        """A function of the inputs that matter as one of all inputs."""
        return lambda x: function(x[:, self.columns])

    def unrelated(self, family: str) -> Function:
        """One of which the sources' functions together explain a twentieth or less."""
        function = unlike(self.rng, family, self._inner, self._matter, 0.05, explained)
        return self.outer(function)

    def near(self, function: Function, family: str, correlation: float) -> Function:
        """A function that correlates with another by so much."""
        x = self.reference
        other = self.outer(drawn(self.rng, family, self._matter))
        slope = float(function(x) @ other(x) / (function(x) @ function(x)))
        rest = scaled(lambda x: other(x) - slope * function(x), x)
        across = np.sqrt(1 - correlation**2)
        return lambda x: correlation * function(x) + across * rest(x)

    def noisy(self, size: float) -> Noise:
        """Adds noise of a size."""
        if self.setting.heavy:
            return lambda rng, f: f + size * rng.standard_t(2, len(f))
        return lambda rng, f: f + size * rng.standard_normal(len(f))

    def law(self, function: Function, noise: Noise | None = None) -> Law:
        """Of a source with this function."""
        return self._law(function, noise or self.noisy(self.setting.noise))

    def laws(self, noise: Noise | None = None) -> list[Law]:
        """One for each function."""
        return [self.law(function, noise) for function in self.functions]

    def aim(self, function: Function | None = None, noise: Noise | None = None) -> Law:
        """Of a target with this function; by default that of the first source."""
        function = self.functions[0] if function is None else function
        return self._law(function, noise or self.noisy(self.setting.target_noise))

    def _law(self, function: Function, noise: Noise) -> Law:
        return Law(self.inputs, function, lambda rng, x: noise(rng, function(x)))

    def tables(
        self,
        laws: Sequence[Law],
        aim: Law,
        right: Sequence[int] = (0,),
        *,
        shares: Sequence[float] = (),
        rows: Mapping[int, int] | None = None,
    ) -> Tables:
        """Sources in a random order; `right` and `rows` go by the order of the laws."""
        numbers = {**dict.fromkeys(range(len(laws)), self.setting.rows), **(rows or {})}
        places = self.rng.permutation(len(laws))
        names = {int(i): f"s{place + 1}" for place, i in enumerate(places)}
        return Tables(
            [laws[i].rows(self.rng, numbers[i], name) for i, name in names.items()],
            {name: laws[i] for i, name in names.items()},
            aim,
            self.setting.target_rows,
            frozenset(names[i] for i in right),
            {names[i]: share for i, share in zip(right, shares, strict=False)},
        )


# kinds of tables: each a function of a generator, a setting and what is its own


def one_right(rng: np.random.Generator, setting: Setting) -> Tables:
    """The target has the function of one source."""
    world = World(rng, setting)
    return world.tables(world.laws(), world.aim())


def noise_alone(rng: np.random.Generator, setting: Setting) -> Tables:
    """The target's labels have nothing to do with its inputs."""
    world = World(rng, setting)
    aim = world.aim(lambda x: np.zeros(len(x)), lambda rng, f: rng.standard_normal(len(f)))
    return world.tables(world.laws(), aim, right=())


def unrelated(rng: np.random.Generator, setting: Setting, family: str) -> Tables:
    """The target has a function of its own."""
    world = World(rng, setting)
    return world.tables(world.laws(), world.aim(world.unrelated(family)), right=())


def sign_turned(rng: np.random.Generator, setting: Setting) -> Tables:
    """The target is what one source says, upside down."""
    world = World(rng, setting)
    f = world.functions[0]
    return world.tables(world.laws(), world.aim(lambda x: -f(x)), right=())


def label_far_off(rng: np.random.Generator, setting: Setting) -> Tables:
    """One label of the target is 20 spreads off."""
    world = World(rng, setting)
    noisy = world.noisy(setting.target_noise)

    def noise(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        y = noisy(rng, f)
        y[rng.integers(len(y))] += _FAR_OFF * rng.choice([-1, 1])
        return y

    return world.tables(world.laws(), world.aim(noise=noise))


def outliers(rng: np.random.Generator, setting: Setting, who: Sequence[int]) -> Tables:
    """Of some sources' labels, one in twenty is 20 spreads off."""
    world = World(rng, setting)
    noisy = world.noisy(setting.noise)

    def noise(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        y = noisy(rng, f)
        off = rng.permutation(len(y))[: round(0.05 * len(y))]
        y[off] += _FAR_OFF * rng.choice([-1, 1], len(off))
        return y

    laws = [world.law(f, noise if i in who else None) for i, f in enumerate(world.functions)]
    return world.tables(laws, world.aim())


def sum_of_two(rng: np.random.Generator, setting: Setting, share: float = 0.6) -> Tables:
    """The target's function is a weighted sum of two sources' functions."""
    world = World(rng, setting)
    f, g = world.functions[:2]
    aim = world.aim(lambda x: share * f(x) + (1 - share) * g(x))
    return world.tables(world.laws(), aim, right=(0, 1), shares=(share, 1 - share))


def rows_of_two(rng: np.random.Generator, setting: Setting, share: float = 0.6) -> Tables:
    """Some of the target's rows follow one source, the others another."""
    world = World(rng, setting)
    f, g = world.functions[:2]
    noisy = world.noisy(setting.target_noise)

    def labels(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        first = rng.permutation(len(x)) < round(share * len(x))
        return noisy(rng, np.where(first, f(x), g(x)))

    aim = replace(world.aim(lambda x: share * f(x) + (1 - share) * g(x)), labels=labels)
    return world.tables(world.laws(), aim, right=(0, 1), shares=(share, 1 - share))


def other_units(
    rng: np.random.Generator,
    setting: Setting,
    scales: Sequence[float] = (1, 1, 1),
    offsets: Sequence[float] = (0, 0, 0),
    scale: float = 1.0,
    offset: float = 0.0,
) -> Tables:
    """Labels of sources and of the target are written in other units."""
    world = World(rng, setting)
    laws = [
        replace(law, scale=a, offset=b)
        for law, a, b in zip(world.laws(), scales, offsets, strict=True)
    ]
    return world.tables(laws, replace(world.aim(), scale=scale, offset=offset))


def wrong_column(rng: np.random.Generator, setting: Setting, factor: float = 1000.0) -> Tables:
    """A wrong source has one of the inputs that matter in units that are too small."""
    world = World(rng, setting)
    laws = world.laws()
    laws[1] = replace(laws[1], stretched=(int(world.columns[0]), factor))
    return world.tables(laws, world.aim())


def tiny_source(rng: np.random.Generator, setting: Setting, who: int, rows: int) -> Tables:
    """One source has a handful of rows."""
    world = World(rng, setting)
    return world.tables(world.laws(), world.aim(), rows={who: rows})


def duplicates(rng: np.random.Generator, setting: Setting, same_rows: bool) -> Tables:
    """Two sources have the right function; with the same rows, or each with its own."""
    world = World(rng, setting)
    laws = [world.law(world.functions[0]), *world.laws()]
    tables = world.tables(laws, world.aim(), right=(0, 1))
    if same_rows:
        first = next(s for s in tables.sources if s.name in tables.right)
        sources = [
            Demonstrations(first.x, first.y, s.name) if s.name in tables.right else s
            for s in tables.sources
        ]
        tables = replace(tables, sources=sources)
    return tables


def right_saw_half(rng: np.random.Generator, setting: Setting, column: int) -> Tables:
    """The right source has seen half of an input's range; the target and the others, all of it."""
    world = World(rng, setting)
    laws = world.laws()
    laws[0] = replace(laws[0], inputs=world.half_of(column, rng.choice([-1, 1])))
    return world.tables(laws, world.aim())


def others_saw_elsewhere(rng: np.random.Generator, setting: Setting, column: int) -> Tables:
    """The target and the right source are in one half of an input's range, the others not."""
    world = World(rng, setting)
    side = rng.choice([-1, 1])
    here, there = world.half_of(column, side), world.half_of(column, -side)
    first, *others = world.laws()
    laws = [replace(first, inputs=here), *(replace(law, inputs=there) for law in others)]
    return world.tables(laws, replace(world.aim(), inputs=here))


def binary(rng: np.random.Generator, setting: Setting, steep: float | None) -> Tables:
    """Labels are 0 or 1: above a threshold, or by a logistic chance of some steepness."""

    def noise(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        if steep is None:
            return (f + setting.noise * rng.standard_normal(len(f)) > 0).astype(float)
        return (rng.random(len(f)) < 1 / (1 + np.exp(-steep * f))).astype(float)

    world = World(rng, setting)
    return world.tables(world.laws(noise), world.aim(noise=noise))


def counts(rng: np.random.Generator, setting: Setting, level: float) -> Tables:
    """Labels are counts, Poisson, with a mean that is exponential in the function."""

    def noise(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        return rng.poisson(level * np.exp(0.7 * np.clip(f, -4, 4))).astype(float)

    world = World(rng, setting)
    return world.tables(world.laws(noise), world.aim(noise=noise))


def near_alike(rng: np.random.Generator, setting: Setting, family: str) -> Tables:
    """One of the wrong sources correlates with the right one by .9."""
    world = World(rng, setting)
    close = world.near(world.functions[0], family, 0.9)
    laws = [*world.laws(), world.law(close)]
    return world.tables(laws, world.aim())


def _case(
    half: str,
    kind: str,
    name: str,
    make: Callable[..., Tables],
    families: str,
    *,
    own: Mapping[str, Any] | None = None,
    **setting: Any,
) -> Case:
    """A case: families by their names in one line, settings that differ, what is the kind's own."""
    put = Setting(tuple(families.split()), **setting)
    full = f"{half}: {name}"
    return Case(full, kind, half, partial(make, setting=put, **(own or {})))


_D, _R = partial(_case, "develop"), partial(_case, "report")
_RIGHT, _NOISE, _OTHER = "one is right", "a target of noise", "an unrelated target"
_TARGET, _SOURCES, _ODD = "rows of the target", "rows of the sources", "labels that are far off"
_LARGE, _MIXED, _UNITS = "much noise", "mixtures", "units"
_TINY, _TWICE, _PART = "tiny sources", "duplicates", "partly seen inputs"
_TURNED, _WHOLE, _MANY, _NEAR = "sign turned", "whole numbers", "many sources", "nearly alike"

# fmt: off
_DEVELOP = (
    _D(_RIGHT, "right", one_right, "waves products friedman"),
    _D(_RIGHT, "right, 25 irrelevant", one_right, "friedman waves bowls", irrelevant=25),
    _D(_RIGHT, "right, 60 irrelevant", one_right, "waves waves waves", irrelevant=60,
       inputs="normal"),
    _D(_RIGHT, "right, 100 irrelevant", one_right, "bowls waves friedman", irrelevant=100),
    _D(_NOISE, "noise", noise_alone, "waves products friedman"),
    _D(_NOISE, "noise, 25 irrelevant", noise_alone, "bowls friedman waves", irrelevant=25,
       inputs="normal"),
    _D(_NOISE, "noise, 100 irrelevant", noise_alone, "friedman waves products", irrelevant=100),
    _D(_OTHER, "unrelated", unrelated, "waves friedman bowls", own={"family": "products"}),
    _D(_OTHER, "unrelated, 25 irrelevant", unrelated, "products friedman bowls", irrelevant=25,
       own={"family": "waves"}),
    _D(_OTHER, "unrelated, 60 irrelevant", unrelated, "waves products waves", irrelevant=60,
       inputs="normal", own={"family": "waves"}),
    _D(_TARGET, "target of 5", one_right, "friedman products waves", target_rows=5),
    _D(_TARGET, "target of 15", one_right, "waves bowls products", target_rows=15,
       inputs="normal"),
    _D(_TARGET, "target of 300", one_right, "products waves friedman", target_rows=300,
       inputs="correlated"),
    _D(_SOURCES, "sources of 50", one_right, "waves friedman products", rows=50),
    _D(_SOURCES, "sources of 2,000", one_right, "friedman bowls waves", rows=2000,
       inputs="correlated"),
    _D(_ODD, "a target's label far off", label_far_off, "waves friedman bowls"),
    _D(_ODD, "5% of the right source's labels far off", outliers, "friedman products waves",
       own={"who": (0,)}),
    _D(_LARGE, "heavy tails", one_right, "bowls waves friedman", heavy=True),
    _D(_LARGE, "target as noisy as its function", one_right, "waves products friedman",
       target_noise=1.0),
    _D(_LARGE, "sources as noisy as their functions", one_right, "friedman waves bowls",
       noise=1.0),
    _D(_MIXED, "sum of two", sum_of_two, "waves friedman products"),
    _D(_MIXED, "rows of two", rows_of_two, "friedman waves bowls"),
    _D(_UNITS, "target in other units", other_units, "products friedman waves",
       inputs="normal", own={"scale": 3.0, "offset": 100.0}),
    _D(_UNITS, "right source with a large offset", other_units, "waves bowls friedman",
       own={"offsets": (1e6, 0, 0)}),
    _D(_UNITS, "a wrong source's column in other units", wrong_column, "friedman waves products"),
    _D(_TINY, "wrong source of 5", tiny_source, "waves products friedman",
       own={"who": 1, "rows": 5}),
    _D(_TINY, "right source of 10", tiny_source, "friedman waves products",
       own={"who": 0, "rows": 10}),
    _D(_TWICE, "the right one twice, same rows", duplicates, "waves friedman bowls",
       own={"same_rows": True}),
    _D(_PART, "right source saw half", right_saw_half, "waves friedman products",
       own={"column": 0}),
    _D(_PART, "wrong sources saw the other half", others_saw_elsewhere, "friedman waves bowls",
       own={"column": 1}),
    _D(_TURNED, "sign turned", sign_turned, "waves friedman products", apart=0.2),
    _D(_WHOLE, "0 or 1 by a threshold", binary, "waves products bowls", own={"steep": None}),
    _D(_WHOLE, "counts around 3", counts, "friedman waves bowls", own={"level": 3.0}),
    _D(_MANY, "10 sources", one_right,
       "waves products friedman bowls waves products friedman bowls waves friedman"),
    _D(_NEAR, "one alike by .9", near_alike, "waves friedman", own={"family": "products"}),
)
"""To develop methods with."""

_REPORT = (
    _R(_RIGHT, "right, normal inputs", one_right, "ridges steps rational", inputs="normal"),
    _R(_RIGHT, "right, 10 irrelevant", one_right, "steps monotone bumps", irrelevant=10),
    _R(_RIGHT, "right, 60 irrelevant", one_right, "rational bumps ridges", irrelevant=60),
    _R(_RIGHT, "right, 100 irrelevant", one_right, "monotone steps ridges", irrelevant=100,
       inputs="normal"),
    _R(_NOISE, "noise, 10 irrelevant", noise_alone, "ridges bumps steps", irrelevant=10),
    _R(_NOISE, "noise, 60 irrelevant", noise_alone, "monotone rational ridges", irrelevant=60),
    _R(_NOISE, "noise, 100 irrelevant", noise_alone, "steps ridges monotone", irrelevant=100,
       inputs="normal"),
    _R(_OTHER, "unrelated, normal inputs", unrelated, "ridges rational steps", inputs="normal",
       own={"family": "bumps"}),
    _R(_OTHER, "unrelated, 10 irrelevant", unrelated, "monotone steps bumps", irrelevant=10,
       own={"family": "ridges"}),
    _R(_OTHER, "unrelated, 60 irrelevant", unrelated, "steps ridges rational", irrelevant=60,
       own={"family": "monotone"}),
    _R(_OTHER, "unrelated, 100 irrelevant", unrelated, "ridges bumps rational", irrelevant=100,
       own={"family": "steps"}),
    _R(_TARGET, "target of 8", one_right, "monotone ridges bumps", target_rows=8),
    _R(_TARGET, "target of 30", one_right, "rational steps ridges", target_rows=30,
       inputs="correlated"),
    _R(_TARGET, "target of 300", one_right, "bumps monotone steps", target_rows=300),
    _R(_SOURCES, "sources of 50", one_right, "monotone rational bumps", rows=50),
    _R(_SOURCES, "sources of 200", one_right, "steps ridges rational", rows=200, inputs="normal"),
    _R(_SOURCES, "sources of 2,000", one_right, "bumps steps monotone", rows=2000),
    _R(_ODD, "a target's label far off", label_far_off, "ridges rational steps",
       inputs="normal"),
    _R(_ODD, "5% of all sources' labels far off", outliers, "monotone ridges bumps",
       own={"who": (0, 1, 2)}),
    _R(_LARGE, "heavy tails", one_right, "steps bumps rational", heavy=True),
    _R(_LARGE, "target as noisy as its function", one_right, "ridges monotone bumps",
       target_noise=1.0, inputs="normal"),
    _R(_LARGE, "sources as noisy as their functions", one_right, "rational steps monotone",
       noise=1.0),
    _R(_MIXED, "sum of two", sum_of_two, "monotone bumps steps"),
    _R(_MIXED, "rows of two", rows_of_two, "ridges rational bumps", inputs="normal"),
    _R(_UNITS, "all in other units", other_units, "rational ridges monotone",
       own={"scales": (0.01, 50, 1), "offsets": (3, -200, 7), "scale": 40.0, "offset": -900.0}),
    _R(_UNITS, "wrong source with a large offset", other_units, "steps monotone ridges",
       own={"offsets": (0, 1e6, 0)}),
    _R(_UNITS, "a wrong source's column in other units", wrong_column, "bumps ridges monotone",
       inputs="normal"),
    _R(_TINY, "wrong source of 10", tiny_source, "ridges steps monotone",
       own={"who": 1, "rows": 10}),
    _R(_TINY, "right source of 10", tiny_source, "monotone bumps rational",
       own={"who": 0, "rows": 10}),
    _R(_TWICE, "the right one twice, other rows", duplicates, "bumps ridges steps",
       own={"same_rows": False}),
    _R(_PART, "right source saw half", right_saw_half, "ridges monotone rational",
       own={"column": 2}),
    _R(_PART, "wrong sources saw the other half", others_saw_elsewhere, "rational bumps steps",
       own={"column": 3}),
    _R(_TURNED, "sign turned", sign_turned, "monotone steps bumps", apart=0.2, inputs="normal"),
    _R(_WHOLE, "0 or 1 by chance", binary, "monotone ridges steps", own={"steep": 4.0}),
    _R(_WHOLE, "counts around 8", counts, "ridges rational bumps", inputs="correlated",
       own={"level": 8.0}),
    _R(_MANY, "10 sources", one_right,
       "rational steps ridges bumps monotone rational steps ridges bumps monotone"),
    _R(_MANY, "30 sources", one_right, " ".join(6 * ["ridges bumps monotone rational steps"])),
    _R(_NEAR, "one alike by .9", near_alike, "bumps monotone", own={"family": "ridges"}),
)
"""To report."""
# fmt: on

CASES: dict[str, Case] = {case.name: case for case in (*_DEVELOP, *_REPORT)}
"""All cases by name."""
