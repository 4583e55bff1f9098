"""A surrogate of a new function that begins with what earlier functions had in common.

Enters: the rows of earlier tasks, in one box, the less the better. Leaves: a `Family`; with rows of
a new task a `Belief`, which predicts, says how much improvement to expect where, and how much of it
rests on the earlier tasks.

Every earlier task has a head under shared features of the inputs: Matérn correlations with some of
all rows, one length per column found by the evidence of all tasks. The heads are draws of one
population. A new function is a mean of the population plus a draw of its covariance plus a Matérn
residual (informed); or one earlier function plus a residual (near); or a Matérn process with no
earlier function in it (neutral). All of them stand side by side, with several sizes each, and the
evidence of the new rows decides. Offset and scale of the values are unknown to all. [Eq. family]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float64
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr

from bers.errors import ConfigError, DataError

_ROWS = 100  # of one task
_POOL = 2500  # rows that features are chosen from
_FEATURES = 200
_RANK = 64  # of the heads' covariance
_HEADS = 200  # of very many tasks, those that the population is found from
_FOR_LENGTHS = 30  # tasks, and 50 rows of each, that the lengths are found from
_ROUNDS = 4  # of expectation and maximisation
_PULL = 2.0  # heads that say the covariance is the process's own
_OWN_ROWS = 200  # of the new task: the best, and the latest
_SCALES = 2.0 ** np.arange(-2.0, 9.0, 0.75)  # of the values, in units of their spread
_NO_END = 1e6  # length of a column that says nothing
_LEVEL = 3.0  # variance of the mean level of an earlier task's rows, in units of their spread
_OFFSET = 9.0  # variance of the new function's mean level, in units of the scale
_NOISE = (1e-3, 3e-2)  # variance, in units of the scale
_COMMON = (0.3, 1.0, 3.0)  # how much of the heads' covariance
_RESIDUAL = (0.02, 0.1, 0.4)  # variance of the residual beside it
_NEAR = (0.05, 0.2, 0.6)  # variance of the residual around one earlier function
_ROUND_LENGTHS = (0.15, 0.35, 0.8)  # of neutral processes, times √(D/2)
_LENGTHS = (0.5, 1.0, 2.0)  # of neutral processes, times those of the family
_OWN_INFORMED = ((0.3, 0.4), (1.0, 0.4), (1.0, 1.0))  # common and residual, with lengths of its own
_OWN_FROM = 8  # rows of its own from which on the new task's lengths are found
_KEPT = 0.97  # of the belief is used to predict
_MOST = 6  # processes that predict, at most
_LEAST = 3e-3  # share of a scale that predicts
_FEW = 4  # earlier functions that predict, at most, for each size of the residual


def correlation(
    a: Float64[np.ndarray, "n D"],
    b: Float64[np.ndarray, "m D"],
    lengths: Float64[np.ndarray, " D"],
) -> Float64[np.ndarray, "n m"]:
    """Matérn correlations (5/2) between rows, with one length per column.

    Parameters
    ----------
    a, b
        Rows.
    lengths
        Of every column.

    Returns
    -------
    ndarray
        Between 0 and 1.

    Examples
    --------
    >>> correlation(np.zeros((1, 1)), np.array([[0.0], [1.0]]), np.ones(1)).round(4).tolist()
    [[1.0, 0.524]]
    """
    a, b = a / lengths, b / lengths
    squares = np.sum(a * a, 1)[:, None] + np.sum(b * b, 1) - 2 * (a @ b.T)
    r = np.sqrt(5 * np.maximum(squares, 0))
    return (1 + r + r * r / 3) * np.exp(-r)


@dataclass(frozen=True)
class Warp:
    """Values with their bad end drawn together: what is far above the middle says little.

    Linear below the middle, a logarithm above it.
    """

    middle: float
    unit: float

    @classmethod
    def of(cls, y: Float64[np.ndarray, " n"]) -> "Warp":
        """By the median, and its distance to the best values.

        >>> Warp.of(np.array([1.0, 2.0, 3.0, 50.0, 900.0])).middle
        3.0
        """
        middle = float(np.median(y))
        low = float(np.quantile(y, 0.05)) if len(y) >= 20 else float(y.min())
        unit = middle - low
        return cls(middle, unit if unit > 1e-12 * abs(middle) else float(np.ptp(y)) or 1.0)

    def to(self, y: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Values as the model sees them."""
        t = (y - self.middle) / self.unit
        return np.where(t > 0, np.log1p(np.maximum(t, 0)), t)

    def back(self, z: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Values as they were.

        >>> warp = Warp(2.0, 0.5)
        >>> warp.back(warp.to(np.array([1.0, 9.0]))).round(9).tolist()
        [1.0, 9.0]
        """
        return self.middle + self.unit * np.where(z > 0, np.expm1(np.clip(z, 0, 50)), z)


@dataclass(frozen=True)
class Places:
    """Points, and what does not change about them as rows come in. Made by `Family.places`."""

    x: Float64[np.ndarray, "n D"]
    k: Float64[np.ndarray, "n M"]
    """Correlations with the features' rows."""
    common: Float64[np.ndarray, "n r"]
    """Features in which the heads' covariance is the identity."""
    mean: Float64[np.ndarray, " n"]
    """Of the population."""

    def __getitem__(self, rows: np.ndarray) -> "Places":
        return Places(self.x[rows], self.k[rows], self.common[rows], self.mean[rows])


@dataclass(frozen=True)
class Family:
    """What earlier tasks have in common. Made by `family`; `observe` makes a `Belief`."""

    lengths: Float64[np.ndarray, " D"]
    reach: Float64[np.ndarray, " D"]
    """The same, but without end in columns in which the earlier tasks' rows are all alike."""
    nodes: Float64[np.ndarray, "M D"]
    """The rows whose correlations are the features."""
    mean: Float64[np.ndarray, " M"]
    """Of the population of heads."""
    common: Float64[np.ndarray, "M r"]
    """A root of its covariance."""
    heads: Float64[np.ndarray, "M N"]
    """Of all earlier tasks."""

    @property
    def N(self) -> int:
        """Earlier tasks."""
        return self.heads.shape[1]

    def places(self, x: Float64[np.ndarray, "n D"]) -> Places:
        """Points that will be asked about again and again.

        Parameters
        ----------
        x
            Rows, in the box of the earlier tasks' rows.

        Returns
        -------
        Places
            What `Belief` takes in place of rows.
        """
        k = correlation(np.asarray(x, float), self.nodes, self.reach)
        return Places(np.asarray(x, float), k, k @ self.common, k @ self.mean)

    def values(self, x: "Places | Float64[np.ndarray, 'n D']") -> Float64[np.ndarray, "n N"]:
        """What every earlier function was worth at points, in its own units (mean 0, spread 1).

        Parameters
        ----------
        x
            Points, or their places.

        Returns
        -------
        ndarray
            One column for each earlier task.
        """
        return (x if isinstance(x, Places) else self.places(x)).k @ self.heads

    def portfolio(self, x: "Places | Float64[np.ndarray, 'n D']", size: int) -> list[int]:
        """Points on which the earlier tasks agree: each lowers their mean least value most.

        Parameters
        ----------
        x
            Points to choose from, or their places.
        size
            How many.

        Returns
        -------
        list of int
            Their numbers, in order.

        Examples
        --------
        >>> x = np.linspace(0, 1, 21)[:, None]
        >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.4, 0.5, 0.6)])
        >>> [round(float(x[i, 0]), 2) for i in found.portfolio(x, 1)]
        [0.5]
        """
        values = np.exp(self.values(x))  # a bad surprise counts more than a good one
        least, chosen = np.full(self.N, np.inf), []
        for _ in range(min(size, len(values))):
            gain = np.minimum(least, values).mean(axis=1)
            gain[chosen] = np.inf
            chosen.append(int(np.argmin(gain)))
            least = np.minimum(least, values[chosen[-1]])
        return chosen

    def observe(
        self,
        x: Float64[np.ndarray, "n D"],
        y: Float64[np.ndarray, " n"],
        *,
        odds: float = 1.0,
    ) -> "Belief":
        """What is believed of a new function after some rows of it.

        Parameters
        ----------
        x, y
            Rows of the new task, the less the better; at least one.
        odds
            That the earlier tasks help, to one that they do not, before any row is seen.

        Returns
        -------
        Belief
            It predicts.

        Examples
        --------
        >>> x = np.linspace(0, 1, 21)[:, None]
        >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.3, 0.4, 0.5, 0.6)])
        >>> at = np.array([[0.1], [0.5], [0.9]])
        >>> belief = found.observe(at, 7 + 100 * (at[:, 0] - 0.45) ** 2)
        >>> belief.informed > 0.6, bool(abs(belief.predict(np.array([[0.3]]))[0][0] - 9.25) < 2)
        (True, True)
        >>> found.observe(at, np.array([0.0, 1.0, 0.0])).informed < 0.5
        True
        """
        if not odds > 0:
            raise ConfigError(f"odds must be above 0; got {odds}. Give 1 where nothing is known.")
        return _believed(self, np.asarray(x, float), np.asarray(y, float), odds)


@dataclass(frozen=True)
class _Process:
    """One hypothesis about the new function: a process given the rows."""

    kind: str
    common: float
    """How much of the heads' covariance it has."""
    residual: float
    """Variance of its Matérn part."""
    lengths: Float64[np.ndarray, " D"]
    mean: Float64[np.ndarray, "n J"]
    """At the rows, one column for each earlier function it may be near; one of zeros if neutral."""
    noise: float
    log_prior: float


@dataclass(frozen=True)
class Belief:
    """A new function, as far as it is known. Made by `Family.observe`."""

    family: Family
    at: Places
    """The rows."""
    warp: Warp
    loc: float
    unit: float
    z: Float64[np.ndarray, " n"]
    """Their values as the processes see them."""
    processes: tuple[_Process, ...]
    factors: Float64[np.ndarray, "H n n"]
    """Lower Cholesky factors of the rows' covariances."""
    shares: tuple[Float64[np.ndarray, "S J"], ...]
    """How likely each process is, by scale of the values and by earlier function."""

    @property
    def informed(self) -> float:
        """The share of what rests on earlier tasks; the rest is what "nobody" has."""
        pairs = zip(self.processes, self.shares, strict=True)
        return float(min(1.0, sum(p.sum() for one, p in pairs if one.kind != "neutral")))

    @cached_property
    def weights(self) -> Float64[np.ndarray, " N"]:
        """The share of every earlier task. They add up to `informed`.

        Of what rests on all of them together, each has as much as a process near to it alone would.
        """
        if not self.family.N:
            return np.zeros(0)
        near = np.zeros(self.family.N)
        for one, share in zip(self.processes, self.shares, strict=True):
            if one.kind == "near":
                near += share.sum(axis=0)
        total = near.sum()
        even = near / total if total > 1e-300 else np.full(self.family.N, 1 / self.family.N)
        return even * self.informed

    @cached_property
    def alone(self) -> "Belief":
        """What would be believed without the earlier tasks.

        >>> x = np.linspace(0, 1, 21)[:, None]
        >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.4, 0.5, 0.6)])
        >>> belief = found.observe(x[[0, 20]], np.array([0.3, 0.2]))
        >>> belief.informed > 0.4, belief.alone.informed
        (True, 0.0)
        """
        own = [h for h, one in enumerate(self.processes) if one.kind == "neutral"]
        total = sum(float(self.shares[h].sum()) for h in own)
        if not total > 0:
            return self
        return replace(
            self,
            processes=tuple(self.processes[h] for h in own),
            factors=self.factors[own],
            shares=tuple(self.shares[h] / total for h in own),
        )

    def predict(
        self, x: "Places | Float64[np.ndarray, 'n D']"
    ) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
        """Middle and spread of the function at points, in the units of its values.

        Parameters
        ----------
        x
            Points, or their places.

        Returns
        -------
        middle, spread
            One entry for each point.
        """
        n = len(x.x) if isinstance(x, Places) else len(x)
        mean, variance, total = np.zeros(n), np.zeros(n), 0.0
        for share, m, s in self._parts(x):
            total += share
            mean = mean + share * m
            variance = variance + share * (s * s + m * m)
        mean = mean / total
        std = np.sqrt(np.maximum(variance / total - mean**2, 0)) * self.unit
        mean = mean * self.unit + self.loc
        low, high = self.warp.back(mean - std), self.warp.back(mean + std)
        return self.warp.back(mean), 0.5 * (high - low)

    def improvement(
        self, x: "Places | Float64[np.ndarray, 'n D']", best: float | None = None
    ) -> Float64[np.ndarray, " n"]:
        """Expected improvement of points below the best value so far, up to a factor.

        Parameters
        ----------
        x
            Points, or their places.
        best
            The value to beat; the least of the rows unless given.

        Returns
        -------
        ndarray
            One entry for each point, in the units that the processes see.
        """
        goal = float(self.z.min())
        if best is not None:
            goal = (float(self.warp.to(np.array([best]))[0]) - self.loc) / self.unit
        return improvement_of(self._parts(x), goal)

    def _parts(self, x: "Places | Float64[np.ndarray, 'n D']") -> Iterator["Part"]:
        """Share, mean and standard deviation under each hypothesis that counts."""
        for one in self.given(x):
            yield from one.parts()

    def given(self, x: "Places | Float64[np.ndarray, 'n D']") -> Iterator["Given"]:
        """The processes that count, at points.

        Parameters
        ----------
        x
            Points, or their places.

        Yields
        ------
        Given
            Each process, given the rows.
        """
        to = x if isinstance(x, Places) else self.family.places(x)
        total = np.array([share.sum() for share in self.shares])
        order = np.argsort(-total, kind="stable")
        count = int(np.searchsorted(np.cumsum(total[order]), _KEPT)) + 1
        least = min(_LEAST, 0.1 * max(float(share.max()) for share in self.shares))
        apart: dict[bytes, np.ndarray] = {}
        for h in order[: min(_MOST, count)]:
            one, L, share = self.processes[h], self.factors[h], self.shares[h]
            key = one.lengths.tobytes()
            if key not in apart:
                apart[key] = correlation(self.at.x, to.x, one.lengths)
            cross = one.residual * apart[key] + _OFFSET
            variance = np.full(len(to.x), one.residual + _OFFSET)
            if one.common:
                cross = cross + one.common * (self.at.common @ to.common.T)
                variance = variance + one.common * np.sum(to.common**2, axis=1)
            V = solve_triangular(L, cross, lower=True, check_finite=False)
            rows = solve_triangular(L, self.z, lower=True, check_finite=False) @ V
            means, shares = [], []
            for j in np.argsort(-share.sum(axis=0), kind="stable")[:_FEW]:
                mean = np.zeros(len(to.x))
                if one.kind != "neutral":
                    prior = to.mean if one.kind == "informed" else to.k @ self.family.heads[:, j]
                    solved = solve_triangular(L, one.mean[:, j], lower=True, check_finite=False)
                    mean = prior - solved @ V
                means.append(mean)
                some = np.flatnonzero(share[:, j] > least)
                shares.append([(float(share[s, j]), float(_SCALES[s])) for s in some])
            left = variance - np.sum(V * V, axis=0)
            yield Given(one, to, V, left, rows, tuple(means), tuple(shares))


Part = tuple[float, np.ndarray, np.ndarray]
"""Share, mean and standard deviation at points under one hypothesis."""


@dataclass(frozen=True)
class Given:
    """A process at some points, given rows. Made by `Belief.given`."""

    process: _Process
    to: Places
    V: Float64[np.ndarray, "n m"]
    """The rows' factor, solved for their covariances with the points."""
    left: Float64[np.ndarray, " m"]
    """Variance at the points."""
    rows: Float64[np.ndarray, " m"]
    """What the rows say of the points, and"""
    means: tuple[Float64[np.ndarray, " m"], ...]
    """what is left there of each earlier function, in units of a scale."""
    shares: tuple[list[tuple[float, float]], ...]
    """For each of these functions: shares, and the scales that they belong to."""

    def parts(self) -> Iterator[Part]:
        """Share, mean and standard deviation under each scale and earlier function."""
        std = np.sqrt(np.maximum(self.left, 1e-9))
        for mean, shares in zip(self.means, self.shares, strict=True):
            for share, scale in shares:
                yield share, self.rows + scale * mean, scale * std

    def supposing(self, i: int, z: float) -> "Given":
        """The same if one of the points were a row of this value."""
        one, to = self.process, self.to
        cross = one.residual * correlation(to.x[i : i + 1], to.x, one.lengths)[0] + _OFFSET
        if one.common:
            cross = cross + one.common * (to.common @ to.common[i])
        root = np.sqrt(max(self.left[i], 0.0) + one.noise)
        v = (cross - self.V[:, i] @ self.V) / root
        return replace(
            self,
            V=np.vstack([self.V, v]),
            left=self.left - v * v,
            rows=self.rows + v * ((z - self.rows[i]) / root),
            means=tuple(mean - v * (mean[i] / root) for mean in self.means),
        )


def improvement_of(parts: Iterator[Part], goal: float) -> Float64[np.ndarray, " m"]:
    """Expected improvement below a goal, over all parts.

    >>> part = (0.5, np.array([0.0, 9.0]), np.array([1.0, 1.0]))
    >>> improvement_of(iter([part, part]), 0.0).round(4).tolist()
    [0.3989, 0.0]
    """
    found, total = 0.0, 0.0
    for share, m, s in parts:
        u = (goal - m) / s
        total += share
        found = found + share * s * (u * ndtr(u) + np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi))
    return np.asarray(found / total)


def family(
    sources: Sequence[tuple[Float64[np.ndarray, "n D"], Float64[np.ndarray, " n"]]],
    *,
    rng: int = 0,
) -> Family:
    """Find what earlier tasks have in common.

    Parameters
    ----------
    sources
        Rows and values of each earlier task, the less the better. Columns are the same for all,
        and about as wide as the unit cube.
    rng
        The same number gives the same family.

    Returns
    -------
    Family
        Its `observe` takes rows of a new task.

    Examples
    --------
    >>> x = np.random.default_rng(0).random((30, 2))
    >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.2, 0.4, 0.6)])
    >>> found.N, bool(found.lengths[1] > 2 * found.lengths[0])  # the second column is idle
    (3, True)
    """
    if not sources:
        raise DataError("family() needs the rows of at least one earlier task; got none.")
    draw = np.random.default_rng(rng)
    rows = [_thinned(np.asarray(x, float), np.asarray(y, float), _ROWS) for x, y in sources]
    rows = [(x, _standard(y)) for x, y in rows]
    lengths, signal, noise = _shared_lengths(draw, rows)
    pool = np.concatenate([x for x, _ in rows])
    pool = pool[np.sort(draw.permutation(len(pool))[:_POOL])]
    reach = np.where(np.ptp(pool, axis=0) > 1e-9, lengths, _NO_END)
    nodes = pool[_apart(pool, reach)]
    root = np.linalg.cholesky(correlation(nodes, nodes, reach) + 1e-6 * np.eye(len(nodes)))
    pairs = [
        (solve_triangular(root, correlation(x, nodes, reach).T, lower=True).T, y) for x, y in rows
    ]
    some = np.unique(np.linspace(0, len(rows) - 1, min(_HEADS, len(rows))).astype(int))
    m, C = _population([pairs[i] for i in some], signal, noise)
    heads = np.array([_head(Phi, y, m, C, noise)[0] for Phi, y in pairs])
    values, vectors = np.linalg.eigh(C)
    most = np.argsort(-values)[:_RANK]
    spread = vectors[:, most] * np.sqrt(np.maximum(values[most], 0))
    to_nodes = [solve_triangular(root.T, part, lower=False) for part in (m, spread, heads.T)]
    return Family(lengths, reach, nodes, *to_nodes)


def stranger(lengths: Float64[np.ndarray, " D"]) -> Family:
    """A family without any earlier task: every belief is the new task's own.

    Parameters
    ----------
    lengths
        How far its values are taken to be alike, at first, in each column.

    Returns
    -------
    Family
        Its `observe` takes rows of a new task.

    Examples
    --------
    >>> x = np.linspace(0, 1, 11)[:, None]
    >>> belief = stranger(np.ones(1)).observe(x, (x[:, 0] - 0.3) ** 2)
    >>> round(float(belief.predict(np.array([[0.35]]))[0][0]), 3), belief.informed
    (0.002, 0.0)
    """
    D = len(lengths)
    none = np.zeros((0, 0))
    return Family(lengths, lengths, np.zeros((0, D)), np.zeros(0), none, none)


def _standard(y: np.ndarray) -> np.ndarray:
    z = Warp.of(y).to(y)
    return (z - z.mean()) / (z.std() or 1.0)


def _thinned(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The best half of them, and some of all others."""
    if len(y) <= most:
        return x, y
    order = np.argsort(y, kind="stable")
    rest = np.linspace(most // 2, len(y) - 1, most - most // 2).astype(int)
    chosen = order[np.concatenate([np.arange(most // 2), rest])]
    return x[chosen], y[chosen]


def _shared_lengths(
    draw: np.random.Generator, rows: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, float, float]:
    """Lengths, signal and noise that make the rows of some tasks most likely, with a prior."""
    D = rows[0][0].shape[1]
    first = FirstGuess.of(D)
    sizes = sorted((len(y) for _, y in rows), reverse=True)
    n = min(50, sizes[len(sizes) // 2])
    chosen = [one for one in rows if len(one[1]) >= n and np.ptp(one[1]) > 0]
    if n < 5 or not chosen:
        return np.exp(first.middle[:D]), 1.0, 0.05
    chosen = [chosen[i] for i in draw.permutation(len(chosen))[:_FOR_LENGTHS]]
    kept = [np.sort(draw.permutation(len(y))[:n]) for _, y in chosen]
    X = np.stack([x[k] for (x, _), k in zip(chosen, kept, strict=True)])
    Y = np.stack([y[k] for (_, y), k in zip(chosen, kept, strict=True)])
    t = most_likely(X, Y, first, profile=False)
    return np.exp(t[:D]), float(np.exp(t[D])), float(np.exp(t[D + 1]))


@dataclass(frozen=True)
class FirstGuess:
    """A prior of the logarithms of lengths, signal and noise."""

    middle: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, D: int, lengths: np.ndarray | None = None) -> "FirstGuess":
        """Around these lengths, or around those that are usual in the unit cube."""
        usual = np.full(D, np.log(0.8)) if lengths is None else np.log(lengths)
        return cls(
            np.concatenate([usual, [0.0, np.log(0.02)]]),
            np.concatenate([np.ones(D), [2.0, 2.0]]),
        )


def most_likely(X: np.ndarray, Y: np.ndarray, first: FirstGuess, *, profile: bool) -> np.ndarray:
    """Logarithms of lengths, signal and noise, by the evidence of (tasks, n) rows.

    With `profile`, the scale of the values is what fits best, and the signal stays 1.

    >>> x = np.linspace(-1, 1, 20)[None, :, None]
    >>> found = most_likely(x, np.sin(3 * x[..., 0]), FirstGuess.of(1), profile=True)
    >>> bool(0.3 < np.exp(found[0]) < 3), bool(np.exp(found[2]) < 0.01)
    (True, True)
    """
    D, n = X.shape[-1], Y.shape[1]
    apart, eye = ((X[:, :, None] - X[:, None]) ** 2).reshape(-1, D), np.eye(n)
    shape = (len(Y), n, n)

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        lengths, signal, noise = np.exp(t[:D]), np.exp(t[D]), np.exp(t[D + 1])
        r = np.sqrt(5 * (apart @ (1 / lengths**2))).reshape(shape)
        e = np.exp(-r)
        C = (1 + r + r * r / 3) * e
        K = signal * C + (noise + 1e-8) * eye + 1.0
        try:
            L = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(t)
        inverse = np.linalg.inv(K)
        a = (inverse @ Y[..., None])[..., 0]
        fit = np.sum(Y * a, axis=1)
        value = float(np.sum(np.log(np.einsum("ijj->ij", L))))
        if profile:
            value += 0.5 * n * float(np.sum(np.log(fit)))
            W = inverse - (n / fit)[:, None, None] * a[:, :, None] * a[:, None]
        else:
            value += 0.5 * float(fit.sum())
            W = inverse - a[:, :, None] * a[:, None]
        slope = np.zeros_like(t)
        inner = signal * 5 / 3 * (1 + r) * e * W
        slope[:D] = 0.5 * (inner.ravel() @ apart) / lengths**2
        slope[D] = 0.0 if profile else 0.5 * signal * np.sum(W * C)
        slope[D + 1] = 0.5 * noise * np.einsum("ijj->", W)
        off = (t - first.middle) / first.width
        return value + 0.5 * float(off @ off), slope + off / first.width

    bounds = [(np.log(0.05), np.log(20.0))] * D
    bounds += [
        (0.0, 0.0) if profile else (-3.0, 3.0),
        (np.log(1e-4), 0.0),
    ]
    options = {"maxiter": 20 if profile else 40}
    start = first.middle.copy()
    start[:D] = np.clip(start[:D], *bounds[0])
    if profile and not np.sum(Y * Y, axis=1).all():  # equal values: every scale is too large
        return start
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


def _apart(pool: np.ndarray, lengths: np.ndarray) -> list[int]:
    """Rows that tell most of all others: a Cholesky factor with pivots, as far as it goes."""
    left, chosen = np.ones(len(pool)), []
    L = np.zeros((len(pool), min(_FEATURES, len(pool))))
    for j in range(L.shape[1]):
        i = int(np.argmax(left))
        if left[i] < 1e-4:
            break
        chosen.append(i)
        column = correlation(pool, pool[i : i + 1], lengths)[:, 0] - L[:, :j] @ L[i, :j]
        L[:, j] = column / np.sqrt(left[i])
        left = np.maximum(left - L[:, j] ** 2, 0)
    return chosen


def _head(
    Phi: np.ndarray, y: np.ndarray, m: np.ndarray, C: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a head given its rows, and a root of what the rows take off its covariance.

    The mean level of the rows is unknown: those of a search are the better ones, so a value that is
    usual among them says something else in every search.
    """
    across = C @ Phi.T
    L = np.linalg.cholesky(Phi @ across + noise * np.eye(len(y)) + _LEVEL)
    R = solve_triangular(L, across.T, lower=True)
    return m + R.T @ solve_triangular(L, y - Phi @ m, lower=True), R


def _population(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], signal: float, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the heads, by expectation and maximisation; pulled to the process."""
    N, d = len(pairs), pairs[0][0].shape[1]
    m, C = np.zeros(d), signal * np.eye(d)
    for _ in range(_ROUNDS):
        total, mu = N * C, np.zeros((N, d))
        for i, (Phi, y) in enumerate(pairs):
            mu[i], R = _head(Phi, y, m, C, noise)
            total = total - R.T @ R
        m = mu.sum(axis=0) / (N + 0.5)
        far = mu - m
        C = (_PULL * signal * np.eye(d) + total + far.T @ far) / (_PULL + N)
    return m, C


def _believed(family: Family, x: np.ndarray, y: np.ndarray, odds: float) -> Belief:
    """All processes given the rows, and the share of each."""
    if len(y) < 1 or len(x) != len(y):
        raise DataError(f"observe() needs rows, a value each; got {len(x)} rows, {len(y)} values.")
    if len(y) > _OWN_ROWS:
        best = np.argsort(y, kind="stable")[: _OWN_ROWS // 2]
        rest = np.setdiff1d(np.arange(len(y)), best)[-(_OWN_ROWS // 2) :]
        chosen = np.sort(np.concatenate([best, rest]))
        x, y = x[chosen], y[chosen]
    n = len(y)
    warp = Warp.of(y) if n > 2 else Warp(float(y.max()), 1.0)
    z = warp.to(y)
    loc = float(z.mean())
    spread = float(z.std())
    unit = spread if spread > 1e-12 * max(1.0, abs(loc)) else 1.0
    z = (z - loc) / unit
    at = family.places(x)
    processes = list(_processes(family, at, z, odds))
    by_lengths: dict[bytes, np.ndarray] = {}
    shared, K = at.common @ at.common.T, []
    for one in processes:
        key = one.lengths.tobytes()
        if key not in by_lengths:
            by_lengths[key] = correlation(x, x, one.lengths)
        K.append(one.common * shared + one.residual * by_lengths[key] + one.noise * np.eye(n))
    factors = np.linalg.cholesky(np.stack(K) + _OFFSET)
    logs = [_log_evidence(one, L, z) for one, L in zip(processes, factors, strict=True)]
    logs = [one.log_prior + log for one, log in zip(processes, logs, strict=True)]
    total = logsumexp([logsumexp(log) for log in logs])
    shares = tuple(np.exp(log - total) for log in logs)
    return Belief(family, at, warp, loc, unit, z, tuple(processes), factors, shares)


def _processes(family: Family, at: Places, z: np.ndarray, odds: float) -> Iterator[_Process]:
    """All hypotheses about the new function, and how likely each is before its rows are seen."""
    n, D = at.x.shape
    helps, alone = np.log(odds / (1 + odds)), -np.log1p(odds)
    own = _own(family, at.x, z) if n >= _OWN_FROM else None
    zero, mean, each = np.zeros((n, 1)), at.mean[:, None], at.k @ family.heads
    log = helps - np.log(2 * len(_NOISE) * len(_COMMON) * len(_RESIDUAL))
    near = helps - np.log(2 * len(_NOISE) * len(_NEAR) * max(1, family.N))
    isotropic = [np.full(D, times * np.sqrt(D / 2)) for times in _ROUND_LENGTHS]
    lengths = [*isotropic, *(times * family.lengths for times in _LENGTHS)]
    neutral = alone - np.log(len(_NOISE) * len(lengths))
    for noise in _NOISE:
        for residual in _RESIDUAL if family.N else ():
            for common in _COMMON:
                yield _Process("informed", common, residual, family.lengths, mean, noise, log)
        for residual in _NEAR if family.N else ():
            yield _Process("near", 0.0, residual, family.lengths, each, noise, near)
        for own_lengths in lengths:
            yield _Process("neutral", 0.0, 1.0, own_lengths, zero, noise, neutral)
    if own is not None:
        found, noise, cost = own
        yield _Process("neutral", 0.0, 1.0, found, zero, noise, alone - cost)
        cost += np.log(len(_OWN_INFORMED))
        for common, residual in _OWN_INFORMED if family.N else ():
            yield _Process("informed", common, residual, found, mean, noise, helps - cost)


def _own(family: Family, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Lengths and noise by the new rows alone, around the family's, and what the choice costs."""
    D = x.shape[1]
    first = FirstGuess.of(D, family.lengths)
    t = most_likely(x[None], z[None], first, profile=True)
    off = (t - first.middle)[:D] / first.width[:D]
    return np.exp(t[:D]), float(np.exp(t[D + 1])), 0.5 * float(off @ off) + np.log(2.0)


def _log_evidence(one: _Process, L: np.ndarray, z: np.ndarray) -> Float64[np.ndarray, "S J"]:
    """Of the rows under a process, for every scale of the values and every mean."""
    a = solve_triangular(L, z, lower=True, check_finite=False)
    b = solve_triangular(L, one.mean, lower=True, check_finite=False)
    scales = _SCALES[:, None]
    misfit = (a @ a) / scales**2 - 2 * (a @ b) / scales + np.sum(b * b, axis=0)
    log_det = float(np.sum(np.log(np.diagonal(L))))
    return -log_det - len(z) * np.log(scales) - 0.5 * misfit


def with_guesses(belief: Belief, x: Float64[np.ndarray, "m D"], *, odds: float = 1.0) -> Belief:
    """The belief if points that are under way were worth what is expected of them.

    Parameters
    ----------
    belief
        By what is known.
    x
        Points whose values are not known yet.
    odds
        As in `Family.observe`.

    Returns
    -------
    Belief
        For proposing something else.

    Examples
    --------
    >>> x = np.linspace(0, 1, 21)[:, None]
    >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.3, 0.4, 0.5, 0.6)])
    >>> belief = found.observe(x[[0, 20]], np.array([0.2, 0.3]))
    >>> best = int(np.argmax(belief.improvement(x)))
    >>> best != int(np.argmax(with_guesses(belief, x[[best]]).improvement(x)))
    True
    """
    if not len(x):
        return belief
    y = belief.warp.back(belief.z * belief.unit + belief.loc)
    guessed, _ = belief.predict(x)
    rows = np.concatenate([belief.at.x, x])
    return belief.family.observe(rows, np.append(y, np.maximum(guessed, y.min())), odds=odds)
