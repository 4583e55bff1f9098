"""Labels that lie so far off that nothing at hand explains them.

Enters: the judging model, a target or a source. Leaves: which rows to leave out. One such label
is worth hundreds of others in a sum of squares, so a typing error would decide whom to trust.

A row of the target is far off if it is so for every explanation: a constant, and each source's
function up to an offset and a scale, fitted so that rows far away do not count. A row of a source
is far off if its label is, and the head that was fitted without it does not foresee it.
[Eq. far_off]

Where the rows whose labels are far off can be told by their inputs, nothing is left out: a narrow
peak is no slip of a pen.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.stats import rankdata

from bers.data.demonstrations import Demonstrations
from bers.data.source import Source
from bers.model.neural_linear import Model
from bers.model.posteriors import features
from bers.trust.beliefs import Beliefs

_FAR = 6.0  # robust standard deviations
_FEWEST, _MOST = 8, 4096  # rows of the target that are looked at one by one
_SHARE = 0.1  # of the rows: if more are far off, that is how the labels are
_CODE, _CODES = 3, 0.3  # rows with one far label, from which it is a code for a missing value
_STEPS = 10
_TOLD, _THERE = (
    3.5,
    0.9,
)  # standard errors beyond chance; share of the other rows that lie elsewhere
_RIDGE, _WIDEST = 0.1, 300  # penalty; columns
_FEW_LABELS, _FAR_LABEL = 20, 8.0  # rows of a source; robust standard deviations from its middle


def far_off(model: Model, known: Beliefs, target: Source) -> tuple[int, ...]:
    """Rows of the target, counted from 0, that are left out; none where they cannot be seen."""
    if not isinstance(target, Demonstrations) or not _FEWEST <= target.n <= _MOST:
        return ()
    Phi = features(model.state.encoder, model.inputs.standardise(target.x))
    f = Phi @ known.sources.mu[known.known].T
    odd = odd_rows(target.y, f)
    return tuple(odd[~told_by_inputs(target.x, odd)].tolist())


def told_by_inputs(
    x: Float64[np.ndarray, "n D"], rows: Int[np.ndarray, " k"]
) -> Bool[np.ndarray, " k"]:
    """Which of these rows lie where inputs and their squares say that such rows are.

    None, if a ridge regression does no better than chance at telling them from the others, each
    row being left out, by the sum of ranks.

    >>> x = np.random.default_rng(0).uniform(-1, 1, (300, 4))
    >>> peak = np.flatnonzero(np.sum(x[:, :2] ** 2, 1) < 0.05)
    >>> slips = np.arange(0, 300, 20)
    >>> bool(told_by_inputs(x, peak).mean() > 0.7), bool(told_by_inputs(x, slips).any())
    (True, False)
    """
    n, k = len(x), len(rows)
    nothing = np.zeros(k, bool)
    if k < _CODE or k == n or x.shape[1] > _WIDEST:
        return nothing
    Z = np.hstack([x, (x - x.mean(0)) ** 2])
    spread = Z.std(0)
    Z = (Z - Z.mean(0))[:, spread > 0] / spread[spread > 0]
    if not Z.shape[1]:
        return nothing
    is_one = np.zeros(n)
    is_one[rows] = 1.0
    K = Z @ Z.T / Z.shape[1]
    H = np.linalg.solve(K + _RIDGE * np.eye(n), K)
    left = (is_one - is_one.mean()) - H @ (is_one - is_one.mean())
    said = is_one - left / (1 - np.diagonal(H))
    ranks = rankdata(said)[rows].sum() - k * (k + 1) / 2
    middle, error = k * (n - k) / 2, np.sqrt(k * (n - k) * (n + 1) / 12)
    if ranks - middle <= _TOLD * error:
        return nothing
    return said[rows] > np.quantile(np.delete(said, rows), _THERE)


def odd_rows(y: Float64[np.ndarray, " n"], f: Float64[np.ndarray, "n N"]) -> Int[np.ndarray, " k"]:
    """Rows whose labels are far from their middle and from every function, offset and scale free.

    >>> f = np.linspace(-1, 1, 30)[:, None]
    >>> y = 2 * f[:, 0] + 0.1 * np.cos(np.arange(30.0))
    >>> y[7] += 20
    >>> odd_rows(y, f).tolist()
    [7]
    >>> y[:6] = -999  # a code for a missing value
    >>> odd_rows(y, f).tolist()
    [0, 1, 2, 3, 4, 5, 7]
    """
    away = np.abs(y - np.median(y))
    nearest = _in_spreads(away[:, None], np.median(away)[None])[:, 0]
    if f.shape[1]:
        nearest = np.minimum(nearest, _in_spreads(*_robust_lines(y, f)).min(1))
    odd = np.flatnonzero(nearest > _FAR)
    _, which, counts = np.unique(y[odd], return_inverse=True, return_counts=True)
    codes = counts[which] >= _CODE if len(odd) else np.zeros(0, bool)
    few = np.sum(~codes) <= max(1, _SHARE * len(y)) and np.sum(codes) <= _CODES * len(y)
    return odd if few else odd[:0]


def _robust_lines(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of every label from a line in each function, and its median; far rows count less.

    Where a function is far out the line is less sure, and the distance is shortened by as much.
    """
    weight = np.where(np.abs(y - np.median(y)) <= 3 * _spread(y), 1.0, 0.0)[:, None]
    weight = np.broadcast_to(weight, f.shape)
    away = far = np.zeros_like(f)
    for _ in range(_STEPS):
        total = weight.sum(0)
        middle, centre = (weight * f).sum(0) / total, (weight * y[:, None]).sum(0) / total
        g, z = f - middle, y[:, None] - centre
        size = (weight * g**2).sum(0)
        size = np.where(size > 0, size, 1.0)
        away = np.abs(z - (weight * g * z).sum(0) / size * g)
        far = np.sqrt(1 + 1 / total + g**2 / size)
        u = _in_spreads(away, np.median(away, axis=0)) / 4.685  # Tukey's bisquare
        weight = np.maximum(np.where(u < 1, (1 - u**2) ** 2, 0.0), 1e-12)
    return away / far, np.median(away, axis=0)


def _spread(y: np.ndarray) -> float:
    return 1.4826 * float(np.median(np.abs(y - np.median(y)))) or float(np.std(y))


def _in_spreads(away: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """In robust standard deviations; where half of the rows are exact, nothing can be far off."""
    spread = 1.4826 * middle
    return np.where(spread > 0, away / np.where(spread > 0, spread, 1.0), 0.0)


def without_far_labels(source: Any) -> Any:
    """A source without the few labels that are far from its middle, if they can be looked at.

    >>> y = np.append(np.arange(40.0), 1e4)
    >>> without_far_labels(Demonstrations(np.arange(41.0), y, "a")).n
    40
    """
    odd = _odd_labels(source)
    return source.take(np.setdiff1d(np.arange(source.n), odd)) if len(odd) else source


def _odd_labels(source: Any) -> Int[np.ndarray, " k"]:
    """Rows of a source whose labels are far from its middle, and not for a reason."""
    if not isinstance(source, Demonstrations) or source.n < _FEW_LABELS:
        return np.zeros(0, int)
    away = np.abs(source.y - np.median(source.y))
    far = np.flatnonzero(_in_spreads(away, np.median(away)) > _FAR_LABEL)
    if len(far) > _SHARE * source.n:
        return far[:0]
    return far if source.n > _MOST else far[~told_by_inputs(source.x, far)]


def with_explained(model: Model, head: int, source: Any, near: Any) -> Any:
    """The source with those of its far labels that the head, fitted without them, foresees."""
    if near is source:
        return source
    far = _odd_labels(source)
    expected = model.predict(head, source.x[far])
    fine = np.abs(source.y[far] - expected.mean) <= _FAR * expected.std
    if fine.all():
        return source
    return source.take(np.setdiff1d(np.arange(source.n), far[~fine]))


def without_rows(target: Source, rows: tuple[int, ...]) -> Demonstrations:
    """The target without some of its rows."""
    assert isinstance(target, Demonstrations)
    return target.take(np.setdiff1d(np.arange(target.n), rows))
