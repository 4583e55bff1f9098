"""Surrogates that transfer: RGPE and TST-R, and orders of settings that do not look at the target.

After Feurer, Letham, Bakshy, "Scalable meta-learning for Bayesian optimization using
ranking-weighted Gaussian process ensembles" (AutoML workshop 2018), and Wistuba, Schilling,
Schmidt-Thieme, "Two-stage transfer surrogate model for automatic hyperparameter optimization"
(ECML 2016). The portfolio is greedy: each setting lowers the sources' mean least value most.

Enters: fitted processes of the sources, rows and values of the target. Leaves: for candidates,
expected improvement by the ensemble, or an order.
"""

from collections.abc import Sequence

import numpy as np

from bers_studies.rivals.gaussian_process import GP, improvement

SAMPLES = 256
"""Draws of RGPE's weights."""
BANDWIDTH = 0.1
"""Of TST-R's kernel, as published."""
_QUANTILE = 0.95  # of the target's loss: a source whose median loss is above has no weight


def discordant(guess: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pairs of rows that guesses order otherwise than values, for each draw of guesses.

    >>> discordant(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), np.array([1.0, 5.0, 9.0])).tolist()
    [0, 3]
    """
    i, j = np.triu_indices(len(y), 1)
    return np.sum((guess[:, i] < guess[:, j]) != (y[i] < y[j]), axis=1)


def rgpe_weights(rng: np.random.Generator, sources: Sequence[GP], target: GP) -> np.ndarray:
    """The share of draws in which each model has the least ranking loss; the target is last.

    The target's own loss is by leaving one row out.

    >>> from bers_studies.rivals.gaussian_process import fitted
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((30, 1))
    >>> same, turned = fitted(x, 3 * x[:, 0]), fitted(x, -x[:, 0])
    >>> target = fitted(x[:4], x[:4, 0] ** 3)
    >>> weights = rgpe_weights(rng, [same, turned], target)
    >>> bool(weights[0] > 0.5), float(weights[1])
    (True, 0.0)
    """
    y, n = target.z, len(target.z)
    losses = []
    for source in sources:
        mean, std = source.predict(target.x)
        losses.append(discordant(mean + std * rng.standard_normal((SAMPLES, n)), y))
    mean, std = target.left_out()
    drawn = mean + std * rng.standard_normal((SAMPLES, n))
    own = np.zeros(SAMPLES, int)
    i, j = np.triu_indices(n, 1)
    for a, b in ((i, j), (j, i)):  # row a is guessed without itself, and set beside the truth of b
        own += np.sum((drawn[:, a] < y[b]) != (y[a] < y[b]), axis=1)
    table = np.array([*losses, own / 2])
    diluted = np.median(table[:-1], axis=1) > np.quantile(table[-1], _QUANTILE)
    table[:-1][diluted] = np.inf
    least = table == table.min(axis=0)
    # ties go to the target, else they are shared
    least[:-1] &= ~least[-1]
    return np.mean(least / least.sum(axis=0), axis=1)


def rgpe(
    rng: np.random.Generator, sources: Sequence[GP], target: GP, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the ensemble, in the target's standardised units."""
    weights = rgpe_weights(rng, sources, target)
    mean, variance = np.zeros(len(x)), np.zeros(len(x))
    for weight, model in zip(weights, [*sources, target], strict=True):
        if weight > 0:
            m, s = model.predict(x)
            mean += weight * m
            variance += weight**2 * s**2
    return mean, np.sqrt(variance)


def tst_weights(sources: Sequence[GP], target: GP) -> np.ndarray:
    """Weights by the share of discordant pairs, by Epanechnikov's kernel; the target is last."""
    pairs = max(len(target.z) * (len(target.z) - 1) // 2, 1)
    far = np.array([discordant(s.predict(target.x)[0][None], target.z)[0] for s in sources]) / pairs
    near = np.append(0.75 * np.maximum(1 - (far / BANDWIDTH) ** 2, 0), 0.75)
    return near / near.sum()


def tst_r(sources: Sequence[GP], target: GP, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of all that are near by, and the target's own standard deviation.

    >>> from bers_studies.rivals.gaussian_process import fitted
    >>> x = np.linspace(0, 1, 9)[:, None]
    >>> same, turned = fitted(x, x[:, 0]), fitted(x, -x[:, 0])
    >>> tst_weights([same, turned], fitted(x[:5], 2 * x[:5, 0])).tolist()
    [0.5, 0.0, 0.5]
    """
    weights = tst_weights(sources, target)
    own, std = target.predict(x)
    mean = weights[-1] * own
    for weight, source in zip(weights[:-1], sources, strict=True):
        if weight > 0:
            mean = mean + weight * source.predict(x)[0]
    return mean, std


def proposed(mean: np.ndarray, std: np.ndarray, target: GP) -> int:
    """The candidate with the most expected improvement."""
    return int(np.argmax(improvement(mean, std, float(target.z.min()))))


def believed_values(sources: Sequence[GP], x: np.ndarray) -> np.ndarray:
    """What the sources' processes expect at settings, in each source's units: (sources, n)."""
    return np.array([source.predict(x)[0] for source in sources])


def portfolio(values: np.ndarray, size: int) -> list[int]:
    """Settings in the order in which each lowers the mean of the sources' least values most.

    >>> portfolio(np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 1.0]]), 3)
    [2, 0, 1]
    """
    least, chosen = np.full(len(values), np.inf), []
    for _ in range(min(size, values.shape[1])):
        gain = np.minimum(least[:, None], values).mean(axis=0)
        gain[chosen] = np.inf
        chosen.append(int(np.argmin(gain)))
        least = np.minimum(least, values[:, chosen[-1]])
    return chosen


def mean_order(values: np.ndarray) -> list[int]:
    """Settings in the order of their mean over the sources.

    >>> mean_order(np.array([[0.0, 5.0, 1.0], [4.0, 0.0, 1.0]]))
    [2, 0, 1]
    """
    return np.argsort(values.mean(axis=0), kind="stable").tolist()
