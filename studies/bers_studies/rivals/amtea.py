"""AMTEA: an evolutionary algorithm that samples from a mixture of past runs' elites.

A rival for comparison, after Da, Gupta and Ong, "Curbing negative influences online for
seamless transfer evolutionary optimization" (IEEE Transactions on Cybernetics, 2019).

Enters: a function of one point, bounds, and the past runs as pairs (X, y).
Leaves: one record per generation: the points tried, their values, the sources' weights.

Each source is a Gaussian of its elites. Every `interval` generations, the sources' Gaussians and
that of the current population are stacked by EM, and the offspring are drawn from the mixture.
The others come from Differential Evolution (rand/1/bin), the base that we use elsewhere.
As in the paper, the best of parents and offspring together survive, so a good draw from a source
stays whatever its place in the population; one-to-one replacement would lose some of them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, SupportsFloat

import numpy as np

from bers.errors import ConfigError, DataError

EM_STEPS = 100
"""Steps of EM, as many as in the authors' code."""


class Generation(NamedTuple):
    """What one generation tried."""

    x: np.ndarray
    """Points, (n, D)."""
    f: np.ndarray
    """Their values, (n,)."""
    weights: np.ndarray | None
    """One weight per source, (N,); the rest of 1 is the population's own. None: no mixture."""


class Gaussian(NamedTuple):
    """A Gaussian on the unit box."""

    mean: np.ndarray
    cov: np.ndarray


def fit_gaussian(x: np.ndarray, *, ridge: float = 0.1) -> Gaussian:
    """The Gaussian of some rows; its covariance is diagonal if there are fewer than 2 D rows.

    The ridge is a share of the mean variance. It shrinks with the rows, so it never keeps a
    population from closing in. With 32 rows in 10 dimensions, less of it lets the population
    collapse in the directions that it missed by chance.

    >>> fit_gaussian(np.array([[0.0], [1.0]]), ridge=0.0).cov
    array([[0.5]])
    """
    n, D = x.shape
    mean = x.mean(axis=0)
    cov = (x - mean).T @ (x - mean) / (n - 1)
    if n < 2 * D:
        cov = np.diag(np.diag(cov))
    return Gaussian(mean, cov + (ridge * np.trace(cov) / D + 1e-14) * np.eye(D))


def blurred(model: Gaussian, share: float) -> Gaussian:
    """The Gaussian with the moments of the model and a share of uniform points on the unit box.

    Weights are found with blurred models: a narrow source far from a young population would
    otherwise have a likelihood of zero, and never be asked. The paper adds random rows instead.

    >>> blurred(Gaussian(np.zeros(1), np.zeros((1, 1))), 0.5).mean
    array([0.25])
    """
    step = 0.5 - model.mean
    spread = np.eye(len(step)) / 12  # the variance of a uniform coordinate
    cov = (1 - share) * model.cov + share * spread + share * (1 - share) * np.outer(step, step)
    return Gaussian(model.mean + share * step, cov)


def log_density(model: Gaussian, x: np.ndarray) -> np.ndarray:
    """The log density of each row.

    >>> log_density(Gaussian(np.zeros(1), np.eye(1)), np.zeros((1, 1))).round(4)
    array([-0.9189])
    """
    root = np.linalg.cholesky(model.cov)
    z = np.linalg.solve(root, (x - model.mean).T)
    return -0.5 * np.sum(z**2, axis=0) - np.sum(np.log(np.sqrt(2 * np.pi) * np.diag(root)))


def stack(log_densities: np.ndarray) -> np.ndarray:
    """Weights of the columns (models) that make the rows (points) most likely, by EM.

    >>> stack(np.log([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])).round(3)
    array([0.708, 0.292])
    """
    p = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(EM_STEPS):
        joint = p * w
        w = np.mean(joint / joint.sum(axis=1, keepdims=True), axis=0)
    return w


def mixture_weights(sources: Sequence[Gaussian], x: np.ndarray, blur: float) -> np.ndarray:
    """Weights of the sources and, last, of the population's own model, (N + 1,).

    Every row is scored by an own model fitted to the other rows: it must not praise itself.

    >>> x = np.random.default_rng(0).normal(0.2, 0.05, (32, 2))
    >>> right, wrong = Gaussian(x[0], np.eye(2) / 400), Gaussian(1 - x[0], np.eye(2) / 400)
    >>> mixture_weights([right, wrong], x, 0.1).argmin()
    np.int64(1)
    """
    table = [log_density(blurred(model, blur), x) for model in sources]
    rows = np.arange(len(x))
    own = [
        log_density(blurred(fit_gaussian(x[rows != i]), blur), x[i : i + 1]).item() for i in rows
    ]
    return stack(np.column_stack([*table, own]))


def draw(
    rng: np.random.Generator, models: Sequence[Gaussian], weights: np.ndarray, n: int
) -> np.ndarray:
    """n points of a mixture, clipped to the unit box, in random order.

    As in the authors' code, counts are rounded up before n are kept: a model with any weight is
    tried now and then.

    >>> models = [Gaussian(np.full(1, 0.2), np.zeros((1, 1))), Gaussian(np.ones(1), np.eye(1))]
    >>> draw(np.random.default_rng(0), models, np.array([1.0, 0.0]), 2)
    array([[0.2],
           [0.2]])
    """
    counts = np.ceil(n * weights).astype(int)
    points = [
        rng.multivariate_normal(model.mean, model.cov, count, method="eigh")
        for model, count in zip(models, counts, strict=True)
    ]
    return np.clip(rng.permutation(np.concatenate(points))[:n], 0, 1)


def evolve(rng: np.random.Generator, x: np.ndarray, F: float, CR: float) -> np.ndarray:
    """One trial per row, by Differential Evolution (rand/1/bin), clipped to the unit box.

    >>> evolve(np.random.default_rng(0), np.full((4, 2), 0.5), 0.5, 0.7)[0]
    array([0.5, 0.5])
    """
    NP, D = x.shape
    trials = x.copy()
    for j in range(NP):
        a, b, c = rng.choice(np.delete(np.arange(NP), j), 3, replace=False)
        cross = rng.random(D) < CR
        cross[rng.integers(D)] = True
        trials[j, cross] = (x[a] + F * (x[b] - x[c]))[cross]
    return np.clip(trials, 0, 1)


def unit_sources(
    sources: Sequence[tuple[np.ndarray, np.ndarray]], low: np.ndarray, high: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The checked past runs, with the box at [0, 1]^D and the best rows first.

    >>> unit_sources([([[4.0], [0.0]], [2.0, 1.0])], np.zeros(1), np.full(1, 8.0))[0][0].tolist()
    [[0.0], [0.5]]
    """
    if low.shape != high.shape or low.ndim != 1 or not np.all(np.isfinite(high - low)):
        raise ConfigError(f"low and high must be finite, of shape (D,); got {low} and {high}.")
    if not np.all(low < high):
        raise ConfigError(f"low must be below high; got {low} and {high}. Drop fixed coordinates.")
    unit = []
    for i, (x, y) in enumerate(sources):
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != len(low) or y.shape != x.shape[:1] or len(y) < 2:
            raise DataError(
                f"sources[{i}] must be (X, y) of shapes (n, {len(low)}) and (n,), n at least 2; "
                f"got {x.shape} and {y.shape}. Pass the points in rows, with one value each."
            )
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
            raise DataError(f"sources[{i}] has values that are not finite. Drop those rows.")
        best = np.argsort(y, kind="stable")
        unit.append(((x[best] - low) / (high - low), y[best]))
    return unit


def amtea(
    rng: np.random.Generator,
    fun: Callable[[np.ndarray], SupportsFloat],
    low: np.ndarray,
    high: np.ndarray,
    sources: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    population: int = 32,
    interval: int = 2,
    elites: int = 32,
    blur: float = 1 / 6,
    jitter: float = 0.01,
    crossover_rate: float = 0.7,
    differential_weight: float = 0.5,
) -> Iterator[Generation]:
    """Minimise without end: the initial population first, then one record per generation.

    Each record costs `population` evaluations. `blur` is the share of uniform points in the
    models that are weighted, `jitter` the noise on the weights before points are drawn; both are
    the authors'. Without sources this is plain evolution.

    >>> def sphere(x): return np.sum(x**2)
    >>> rng, low, high = np.random.default_rng(0), np.full(2, -1.0), np.full(2, 1.0)
    >>> past = rng.normal(0.0, 0.1, (40, 2))
    >>> run = amtea(rng, sphere, low, high, [(past, np.sum(past**2, axis=1))])
    >>> first, second = next(run), next(run)
    >>> second.x.shape, bool(second.f.min() < first.f.min()), second.weights.shape
    ((32, 2), True, (1,))
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    for name, value, least in (
        ("population", population, 4), ("interval", interval, 1), ("elites", elites, 2)
    ):  # fmt: skip
        if value < least:
            raise ConfigError(f"amtea({name}=...) must be at least {least}; got {value}.")
    if not 0 < blur < 1:
        raise ConfigError(f"amtea(blur=...) must be between 0 and 1; got {blur}. Try 0.1.")
    models = [fit_gaussian(x[:elites]) for x, _ in unit_sources(sources, low, high)]

    def tried(x: np.ndarray, weights: np.ndarray | None = None) -> Generation:
        points = np.clip(low + x * (high - low), low, high)  # rounding may leave the box
        return Generation(points, np.array([float(fun(point)) for point in points]), weights)

    def run() -> Iterator[Generation]:
        x = rng.random((population, len(low)))
        now = tried(x)
        f = now.f
        yield now
        number = 0
        while True:
            # the first offspring are the mixture's: past runs help most at the start
            if models and number % interval == 0:
                weights = mixture_weights(models, x, blur)
                noisy = np.maximum(weights + rng.normal(0, jitter, len(weights)), 0)
                noisy[-1] += not noisy.any()  # noise took all: the population's own model
                trials = draw(rng, [*models, fit_gaussian(x)], noisy / noisy.sum(), population)
                now = tried(trials, weights[:-1])
            else:
                trials = evolve(rng, x, differential_weight, crossover_rate)
                now = tried(trials)
            yield now
            both, values = np.concatenate([x, trials]), np.concatenate([f, now.f])
            best = np.argsort(values, kind="stable")[:population]
            x, f = both[best], values[best]
            number += 1

    return run()
