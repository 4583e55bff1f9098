"""The logarithm of the gap to the least label: any units, far outliers, and back."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bers import Demonstrations
from bers.data.transforms import Chain, LogGap, Standardise, from_dict
from bers.errors import ConfigError

ANY = st.floats(-1e6, 1e6, allow_subnormal=False)
LABELS = arrays(np.float64, st.integers(1, 40), elements=ANY)


def test_values_by_hand():
    y = np.array([3.0, 1.0, 7.0])
    fitted = LogGap().fit(y)
    assert (fitted.least, fitted.unit) == (1.0, 2.0)
    np.testing.assert_allclose(fitted.forward(y), np.log([2, 1, 4]), rtol=1e-15)
    assert LogGap().fit(y[:0]).fitted


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 7.0, 1e12])
def test_units_do_not_matter(scale):
    y = np.random.default_rng(0).exponential(size=300)
    z = LogGap().fit(y).forward(y)
    scaled = LogGap().fit(scale * y).forward(scale * y)
    np.testing.assert_allclose(scaled, z, rtol=0, atol=1e-12)
    moved = 3.0 * scale + scale * y
    np.testing.assert_allclose(LogGap().fit(moved).forward(moved), z, rtol=0, atol=1e-12)
    unseen = np.array([-0.5, 0.0, 30.0])
    one, two = LogGap().fit(y).forward(unseen), LogGap().fit(moved).forward(scale * (3 + unseen))
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_a_large_offset_costs_its_own_rounding_only(offset):
    y = np.random.default_rng(0).exponential(size=300)
    z = LogGap().fit(y).forward(y)
    np.testing.assert_allclose(LogGap().fit(y + offset).forward(y + offset), z, rtol=0, atol=1e-8)


@given(y=LABELS, b=st.floats(1e-3, 1e3), a=st.floats(-10, 10))
@settings(deadline=None, max_examples=100)
def test_labels_of_any_shape_are_the_same_in_other_units(y, b, a):
    y = np.round(y, 3) / 1e3  # so that neither way to write them loses what is there
    z, moved = LogGap().fit(y).forward(y), LogGap().fit(a + b * y)
    unit = np.median(y) - y.min() or np.mean(y - y.min()) or 1.0
    lost = 1e-15 * (1 + abs(a) / b + np.abs(y).max()) / unit
    np.testing.assert_allclose(moved.forward(a + b * y), z, rtol=0, atol=1e-12 + 4 * lost)


@given(y=LABELS, other=LABELS)
@settings(deadline=None, max_examples=100)
def test_inverse_undoes_forward_for_seen_and_unseen_labels(y, other):
    fitted = LogGap().fit(y)
    for values in (y, other):
        scale = np.abs(values) + np.abs(y).max() + fitted.unit
        back = fitted.inverse(fitted.forward(values))
        assert (np.abs(back - values) <= 1e-12 * scale).all()


@given(y=LABELS, more=arrays(np.float64, 30, elements=ANY))
@settings(deadline=None, max_examples=200)
def test_the_order_of_labels_is_kept(y, more):
    fitted = LogGap().fit(y)
    z = fitted.forward(np.sort(more))
    assert np.isfinite(z).all()
    assert (np.diff(z) >= 0).all()
    apart = np.diff(np.sort(more)) > 1e-9 * (np.abs(more).max() + np.abs(y).max() + fitted.unit)
    assert (np.diff(z)[apart] > 0).all()
    assert (np.diff(fitted.inverse(z)) >= 0).all()


@given(y=LABELS)
@settings(deadline=None, max_examples=50)
def test_the_least_is_zero_and_half_of_the_labels_are_below_log_two(y):
    z = LogGap().fit(y).forward(y)
    assert z.min() == 0
    if np.median(y) - y.min() > 1e-150:
        assert np.median(z) <= np.log(2) + 1e-12


def test_a_far_outlier_changes_little():
    y = np.random.default_rng(0).exponential(size=101)
    with_it = np.append(y, 1e12)
    z, far = LogGap().fit(y).forward(y), LogGap().fit(with_it).forward(with_it)
    np.testing.assert_allclose(far[:-1], z, rtol=0.1)
    assert far[-1] < 30


def test_where_half_of_the_labels_are_the_least_the_unit_is_the_mean_gap():
    fitted = LogGap().fit(np.array([2.0, 2.0, 2.0, 6.0, 10.0]))
    assert (fitted.least, fitted.unit) == (2.0, 2.4)
    assert LogGap().fit(np.array([0.0, 0.0, 0.0, 1e-100])).unit == 2.5e-101


@pytest.mark.parametrize("constant", [0.0, 5.0, -1e6, 1e-200, 1e150])
def test_constant_labels_are_zero(constant):
    y = np.full(7, constant)
    fitted = LogGap().fit(y)
    assert fitted.forward(y).tolist() == [0.0] * 7
    assert fitted.inverse(np.zeros(7)).tolist() == y.tolist()


def test_below_the_least_a_straight_line_goes_on():
    fitted = LogGap().fit(np.array([1.0, 3.0, 5.0]))
    np.testing.assert_allclose(fitted.forward(np.array([0.0, -1.0, -9.0])), [-0.5, -1.0, -5.0])
    step = 1e-6
    slopes = np.diff(fitted.forward(np.array([1 - step, 1.0, 1 + step]))) / step
    np.testing.assert_allclose(slopes, 0.5, rtol=1e-5)  # no kink


def test_all_rows_stay():
    assert LogGap().fit(np.arange(3.0)).keep(np.arange(5.0)).tolist() == [True] * 5


@given(y=LABELS)
@settings(deadline=None, max_examples=30)
def test_json_keeps_every_bit(y):
    for transform in (LogGap(), LogGap().fit(y), Chain(LogGap(), Standardise()).fit(y)):
        assert from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


def test_demonstrations_remember_it():
    y = np.array([5.0, -2.0, 1e6, 7.5])
    run = Demonstrations(np.zeros((4, 1)), y, "a").transformed(LogGap())
    assert [t.name for t in run.transforms] == ["log_gap"]
    np.testing.assert_allclose(run.original_y, y, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogGap(0.0, 0.0), r"LogGap\(unit=...\) must be above 0; got 0.0"),
        (lambda: LogGap(0.0, -1.0), r"LogGap\(unit=...\) must be above 0; got -1.0"),
        (lambda: LogGap(np.nan, 1.0), r"LogGap\(least=...\) must be a finite number; got nan"),
        (lambda: LogGap(0.0, "a"), r"LogGap\(unit=...\) must be a finite number; got 'a'"),
        (lambda: LogGap().forward(np.ones(1)), "log_gap has not been fitted"),
        (lambda: LogGap(least=1.0).inverse(np.ones(1)), "log_gap has not been fitted"),
        (lambda: from_dict({"name": "log_gap", "units": 1}), "Did you mean 'unit'"),
        (lambda: from_dict({"name": "loggap"}), "Did you mean 'log_gap'"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
