import numpy as np
import pytest
from optimise_helpers import D
from scipy.optimize import Bounds

from bers.errors import ConfigError
from bers.optimise.inputs import box, two_streams


@pytest.mark.parametrize(
    "bounds",
    [
        [(-1, 2), (0, 0)],
        ((-1, 2), (0, 0)),
        np.array([[-1.0, 2.0], [0.0, 0.0]]),
        np.array([[-1, 2], [0, 0]], np.int8),
        Bounds([-1, 0], [2, 0]),
    ],
)
def test_bounds_in_any_form(bounds):
    low, high = box(bounds)
    assert (low.tolist(), high.tolist()) == ([-1, 0], [2, 0])
    assert low.dtype == high.dtype == np.float64


def test_bounds_of_scipy_may_share_an_end():
    low, high = box(Bounds([-1, -2, -3], 5))
    assert (low.tolist(), high.tolist()) == ([-1, -2, -3], [5, 5, 5])
    low[0] = 7  # an own copy, not a view of one number
    assert high.tolist() == [5, 5, 5]


def test_the_users_array_is_not_shared():
    mine = np.array([[-1.0, 2.0]])
    low, high = box(mine)
    low[0], high[0] = 5, 6
    assert mine.tolist() == [[-1, 2]]
    ours = Bounds(np.array([-1.0]), np.array([2.0]))
    box(ours)[0][0] = 5
    assert ours.lb.tolist() == [-1]


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([(0, 1), (2, 1)], r"low <= high; variable 1 has \(2.0, 1.0\)"),
        ([(0, np.inf)], r"finite with low <= high; variable 0 has \(0.0, inf\)"),
        ([(np.nan, 1)], r"finite with low <= high; variable 0 has \(nan, 1.0\)"),
        (Bounds(), r"finite with low <= high; variable 0 has \(-inf, inf\)"),
        ([(None, 1)], "finite with low <= high; variable 0"),
        ([], "must be pairs"),
        (np.zeros((0, 2)), "must be pairs"),
        ([(0, 1, 2)], "must be pairs"),
        ([(0, 1), (0,)], "must be pairs"),
        ([("a", "b")], "must be pairs"),
        (np.zeros((2, 2, 2)), "must be pairs"),
        (None, "must be pairs"),
        (5, "must be pairs"),
    ],
)
def test_bad_bounds_are_refused(bounds, said):
    with pytest.raises(ConfigError, match=said):
        box(bounds)


def test_bounds_too_wide_for_a_number_are_refused():
    with pytest.raises(ConfigError, match="bounds"):
        box([(-1e308, 1e308)] * D)


def test_the_second_stream_draws_nothing_from_the_first():
    for rng in (3, np.random.default_rng(3)):
        first, second = two_streams(rng)
        assert first.random() == np.random.default_rng(3).random()
        assert second.random() == np.random.default_rng(3).spawn(1)[0].random()
    legacy = np.random.RandomState(3)
    first, second = two_streams(legacy)  # it cannot be split
    assert first.random() != second.random()
