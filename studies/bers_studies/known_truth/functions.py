"""Functions of four inputs, drawn at random from families, and how alike two of them are.

Enters: a generator and the name of a family. Leaves: a function of rows. Inputs have a spread of
one and a mean of zero. Those of the half that methods are developed with are sums, products and
Friedman's function; those of the other half are ridges, bumps, steps, monotone and rational ones.
"""

from collections.abc import Callable, Sequence

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
"""From rows, (n, 4) or (n, k), to one number for each."""

MATTER = 4
"""Inputs that matter."""
_EDGE = np.sqrt(3.0)  # of the uniform distribution with a spread of one


def _signs(rng: np.random.Generator, n: int = MATTER) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n)


def _sizes(rng: np.random.Generator, n: int = MATTER) -> np.ndarray:
    """No input is without effect, and none has nearly all of it."""
    return rng.uniform(0.5, 1.5, n) * _signs(rng, n)


def waves(rng: np.random.Generator) -> Function:
    """Σ a sin(w x + p)."""
    a, w, p = _sizes(rng), rng.uniform(1.0, 2.0, MATTER), rng.uniform(0, 2 * np.pi, MATTER)
    return lambda x: np.sin(w * x + p) @ a


def products(rng: np.random.Generator) -> Function:
    """Products of two pairs of inputs, and a line."""
    i, j, k, m = rng.permutation(MATTER)
    (a, b), c = _sizes(rng, 2), 0.6 * _sizes(rng)
    return lambda x: a * x[:, i] * x[:, j] + b * x[:, k] * x[:, m] + x @ c


def friedman(rng: np.random.Generator) -> Function:
    """Friedman's function, inputs in any order and with any signs."""
    i, j, k, m = rng.permutation(MATTER)
    s, a = _signs(rng), _signs(rng, 3)

    def value(x: np.ndarray) -> np.ndarray:
        u = 0.5 + 0.5 * s * x / _EDGE
        wave = np.sin(np.pi * u[:, i] * u[:, j])
        return a[0] * 10 * wave + a[1] * 20 * (u[:, k] - 0.5) ** 2 + a[2] * 10 * u[:, m]

    return value


def bowls(rng: np.random.Generator) -> Function:
    """Σ a (x - c)², some of them upside down."""
    a, c = _sizes(rng), rng.uniform(-1, 1, MATTER)
    return lambda x: (x - c) ** 2 @ a


def ridges(rng: np.random.Generator) -> Function:
    """Three hyperbolic tangents of weighted sums."""
    w = rng.normal(0, 0.9, (MATTER, 3))
    b, a = rng.uniform(-1, 1, 3), _sizes(rng, 3)
    return lambda x: np.tanh(x @ w + b) @ a


def bumps(rng: np.random.Generator) -> Function:
    """Four hills and hollows."""
    centres, a = rng.uniform(-1.3, 1.3, (4, MATTER)), _sizes(rng, 4)
    width = rng.uniform(1.2, 1.8, 4)

    def value(x: np.ndarray) -> np.ndarray:
        gaps = np.sum((x[:, None] - centres) ** 2, axis=2)
        return np.exp(-gaps / (2 * width**2)) @ a

    return value


def steps(rng: np.random.Generator) -> Function:
    """Four trees of three cuts each; every leaf is a constant."""
    cuts = [(rng.permutation(MATTER)[:3], rng.uniform(-0.9, 0.9, 3)) for _ in range(4)]
    leaves = rng.standard_normal((4, 8))

    def value(x: np.ndarray) -> np.ndarray:
        found = [
            leaf[(x[:, inputs] > at) @ [1, 2, 4]]
            for (inputs, at), leaf in zip(cuts, leaves, strict=True)
        ]
        return np.sum(found, axis=0)

    return value


def monotone(rng: np.random.Generator) -> Function:
    """In each input it only rises or only falls: exponential, logistic, cubic, straight."""
    order, a, s = rng.permutation(MATTER), _sizes(rng), _signs(rng)
    b = rng.uniform(-0.8, 0.8)

    def value(x: np.ndarray) -> np.ndarray:
        z = s * x[:, order]
        risen = [np.exp(0.7 * z[:, 0]), 3 / (1 + np.exp(-4 * (z[:, 1] - b))), z[:, 2] ** 3 / 3]
        return np.stack([*risen, z[:, 3]], axis=1) @ a

    return value


def rational(rng: np.random.Generator) -> Function:
    """A line over one plus squares."""
    a, b = _sizes(rng), rng.uniform(-1, 1)
    i, j = rng.permutation(MATTER)[:2]
    c = rng.uniform(0.4, 1.2, 2)
    return lambda x: (x @ a + b) / (1 + c[0] * x[:, i] ** 2 + c[1] * x[:, j] ** 2)


DEVELOP = {f.__name__: f for f in (waves, products, friedman, bowls)}
REPORT = {f.__name__: f for f in (ridges, bumps, steps, monotone, rational)}
FAMILIES: dict[str, Callable[[np.random.Generator], Function]] = DEVELOP | REPORT


def drawn(rng: np.random.Generator, family: str, x: np.ndarray) -> Function:
    """A function of a family, with mean 0 and spread 1 over the rows x.

    >>> x = np.random.default_rng(0).standard_normal((100, 4))
    >>> f = drawn(np.random.default_rng(1), "waves", x)
    >>> round(float(f(x).mean()), 6), round(float(f(x).std()), 6)
    (0.0, 1.0)
    """
    return scaled(FAMILIES[family](rng), x)


def scaled(function: Function, x: np.ndarray) -> Function:
    """The function, less its mean and by its spread over the rows x."""
    mean, spread = float(function(x).mean()), float(function(x).std())
    return lambda x: (function(x) - mean) / spread


def explained(function: Function, others: Sequence[Function], x: np.ndarray) -> float:
    """Share of a function's variance that a weighted sum of others explains over the rows x.

    >>> x = np.random.default_rng(0).standard_normal((100, 4))
    >>> round(explained(lambda x: x[:, 0] + 1, [lambda x: 2 * x[:, 0]], x), 6)
    1.0
    """
    y = function(x) - function(x).mean()
    around = np.stack([f(x) - f(x).mean() for f in others], axis=1)
    left = y - around @ np.linalg.lstsq(around, y, rcond=None)[0]
    return float(1 - left @ left / (y @ y))


def closest(function: Function, others: Sequence[Function], x: np.ndarray) -> float:
    """The largest correlation with one of the others, whatever its sign."""
    return max((abs(np.corrcoef(function(x), f(x))[0, 1]) for f in others), default=0.0)


def unlike(
    rng: np.random.Generator,
    family: str,
    others: Sequence[Function],
    x: np.ndarray,
    limit: float,
    alike: Callable[..., float] = closest,
    tries: int = 300,
) -> Function:
    """A function that is little like the others: the first within the limit, or the best tried."""
    found: list[tuple[float, Function]] = []
    for _ in range(tries):
        function = drawn(rng, family, x)
        found.append((alike(function, others, x) if others else 0.0, function))
        if found[-1][0] <= limit:
            break
    return min(found, key=lambda pair: pair[0])[1]
