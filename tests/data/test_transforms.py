import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri
from scipy.stats import rankdata

from bers.data.transforms import Chain, Log1p, RankNormal, Sqrt, Standardise, Trim, from_dict
from bers.errors import ConfigError, DataError, DataWarning

KINDS = [Sqrt(), Log1p(), Standardise(), RankNormal(), RankNormal(max_knots=5), Trim()]
KINDS += [Chain(Sqrt(), Standardise()), Chain(Log1p(), RankNormal(), Standardise())]
LABELS = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e6))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(y=LABELS, other=LABELS)
@settings(deadline=None, max_examples=40)
def test_inverse_undoes_forward_for_seen_and_unseen_labels(kind, y, other):
    fitted = kind.fit(y)
    assert fitted.fitted
    for values in (y, other):
        back = fitted.inverse(fitted.forward(values))
        # Scores have 16 digits for the whole range of labels, not for each label.
        scale = np.abs(values) + max(1.0, np.abs(y).max())
        assert (np.abs(back - values) <= 1e-9 * scale).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_inverse_to_twelve_digits_on_ordinary_labels(kind):
    y = np.random.default_rng(0).uniform(1, 10, 500)
    unseen = np.linspace(0.5, 20, 333)
    fitted = kind.fit(y)
    assert fitted.inverse(fitted.forward(y)) == pytest.approx(y, rel=1e-12)
    assert fitted.inverse(fitted.forward(unseen)) == pytest.approx(unseen, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(y=LABELS)
@settings(deadline=None, max_examples=20)
def test_json_keeps_every_bit(kind, y):
    for transform in (kind, kind.fit(y)):
        assert from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6, 1e-200, 1e150])
def test_constant_labels_are_finite(kind, constant):
    y = np.full(7, constant)
    z = kind.fit(y).forward(y)
    assert np.isfinite(z).all()
    assert np.ptp(z) == 0
    assert kind.fit(y).inverse(z) == pytest.approx(y, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-160, 1e-12, 1.0, 1e12, 1e149])
def test_standardise_whatever_the_scale(scale):
    y = np.array([1.0, 2.0, 3.0, 6.0]) * scale
    z = Standardise().fit(y).forward(y)
    if scale > 1e-150:
        assert z.mean() == pytest.approx(0, abs=1e-12)
        assert z.std() == pytest.approx(1, rel=1e-12)
    assert np.isfinite(z).all()


def test_sqrt_and_log1p_values():
    assert Sqrt().forward(np.array([0.0, 2.25])).tolist() == [0.0, 1.5]
    assert Sqrt().inverse(np.array([-3.0, 1.5])).tolist() == [0.0, 2.25]
    assert Log1p().forward(np.array([np.e - 1])) == pytest.approx([1.0])
    with pytest.raises(
        DataError, match="sqrt needs labels of at least 0; 2 of 3 are not, the first in row 1"
    ):
        Sqrt().fit(np.array([1.0, -1.0, -2.0]))
    with pytest.raises(
        DataError, match="log1p needs labels above -1; 1 of 2 are not, the first in row 0"
    ):
        Log1p().forward(np.array([-1.0, 0.0]))


def test_rank_normal_is_the_normal_quantile_of_average_ranks():
    y = np.array([3.0, 1.0, 1.0, 10.0, 3.0, 3.0, -5.0])
    z = RankNormal().fit(y).forward(y)
    assert z == pytest.approx(ndtri((rankdata(y) - 0.5) / len(y)), abs=1e-12)


def test_rank_normal_ignores_offset_and_scale():
    y = np.random.default_rng(0).normal(size=100)
    z = RankNormal().fit(y).forward(y)
    for moved in (y * 1e12, y * 1e-12, y + 1e6):
        assert RankNormal().fit(moved).forward(moved) == pytest.approx(z, abs=1e-9)


def test_rank_normal_rises_everywhere_and_goes_on_outside():
    y = np.array([0.0, 1.0, 1.0 + 1e-15, 2.0, 50.0])
    fitted = RankNormal().fit(y)
    grid = np.linspace(-100, 200, 3001)
    assert (np.diff(fitted.forward(grid)) > 0).all()
    slope = np.diff(fitted.forward(np.array([60.0, 70.0, 80.0])))
    assert slope[0] == pytest.approx(slope[1])
    assert slope[0] == pytest.approx(10 * np.ptp(fitted.scores) / 50)


def test_rank_normal_keeps_few_knots_close_to_all():
    y = np.random.default_rng(0).exponential(size=20_000)
    few = RankNormal(max_knots=256).fit(y)
    assert len(few.labels) <= 256
    assert len(RankNormal().fit(y).labels) <= 2048
    z = ndtri((rankdata(y) - 0.5) / len(y))
    assert np.abs(few.forward(y) - z).mean() < 2e-3
    # Half of the knots are evenly spaced scores: no line between two can be off by more.
    assert np.abs(few.forward(y) - z).max() < np.ptp(z) / 127
    assert len(RankNormal(max_knots=2).fit(y).labels) == 2
    assert len(RankNormal(max_knots=3).fit(y).labels) <= 3
    assert few.forward(np.array([y.min(), y.max()])) == pytest.approx([z.min(), z.max()])


def test_trim_keeps_both_ends_and_remembers_labels():
    y = np.arange(101.0)
    fitted = Trim().fit(y)
    assert (fitted.low, fitted.high) == (2.5, 97.5)
    assert Trim(0.1, 0.9).fit(y).keep(np.array([9.0, 10.0, 90.0, 91.0])).tolist() == [0, 1, 1, 0]
    assert fitted.forward(y).tolist() == y.tolist()


def test_trimming_that_would_remove_everything_keeps_two_and_says_so():
    fitted = Trim(low=0.0, high=1.0)
    y = np.array([5.0, -3.0, 9.0, 7.0])
    with pytest.warns(DataWarning, match=r"would leave 0 of 4 rows; the 2 nearest were kept"):
        assert fitted.keep(y).tolist() == [True, True, False, False]
    with pytest.warns(DataWarning, match=r"would leave 0 of 1 rows; the 1 nearest were kept"):
        assert fitted.keep(y[:1]).tolist() == [True]
    with pytest.warns(DataWarning, match=r"would leave 1 of 3 rows; the 2 nearest were kept"):
        assert fitted.keep(np.array([9.0, 0.5, 2.0])).tolist() == [False, True, True]
    assert fitted.keep(np.empty(0)).tolist() == []


def test_chain_fits_each_part_on_what_the_ones_before_leave():
    y = np.append(np.arange(100.0), 1e9)
    chain = Chain(Trim(0.0, 0.98), Sqrt(), Standardise()).fit(y)
    keep = chain.keep(y)
    assert keep.sum() == 99
    z = chain.forward(y[keep])
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.std() == pytest.approx(1)
    assert chain.inverse(z) == pytest.approx(y[keep], rel=1e-12, abs=1e-12)
    nested = Chain(Chain(Sqrt()), Trim(0.5, 1.0), Trim(0.0, 0.5)).fit(y)
    assert y[nested.keep(y)].min() == 50


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trim(0.9, 0.1), "Trim needs 0 <= lower < upper <= 1; got lower=0.9, upper=0.1"),
        (lambda: Trim(0.5, 0.5), "Trim needs 0 <= lower < upper <= 1"),
        (lambda: Trim(-0.1, 0.5), "Trim needs 0 <= lower < upper <= 1"),
        (lambda: Trim(0.1, 1.5), "Trim needs 0 <= lower < upper <= 1"),
        (lambda: Trim("a", 1), r"Trim\(lower=...\) must be a finite number; got 'a'"),
        (lambda: Trim(low=2.0, high=1.0), "Trim needs low <= high"),
        (lambda: Trim(low=2.0), "Trim needs both low and high"),
        (lambda: RankNormal(max_knots=1), "must be a whole number of at least 2; got 1"),
        (lambda: RankNormal(labels=(1, 1), scores=(0, 1)), "must hold a rising number"),
        (lambda: RankNormal(labels=(1, 2), scores=(0,)), "as many labels as scores"),
        (lambda: Standardise(0.0, 0.0), "must be above 0; got 0.0"),
        (lambda: Standardise(float("nan"), 1.0), "must be a finite number"),
        (lambda: Standardise(0.0, "a"), "must be a finite number"),
        (lambda: Standardise().forward(np.ones(1)), "standardise has not been fitted"),
        (lambda: Trim().keep(np.ones(1)), "trim has not been fitted"),
        (lambda: RankNormal().inverse(np.ones(1)), "rank_normal has not been fitted"),
        (lambda: Chain(3), "Chain takes transforms; got 3"),
        (lambda: from_dict({"name": "standardize"}), "Did you mean 'standardise'"),
        (
            lambda: from_dict({"name": "trim", "lowr": 1}),
            "'trim' has no 'lowr'. Did you mean 'lower'",
        ),
        (lambda: from_dict({"name": ["trim"]}), "there is no transform named"),
        (lambda: from_dict([1]), "must be a mapping; got list"),
        (lambda: from_dict({"name": "chain", "transforms": 3}), "must be a list"),
        (lambda: from_dict({"name": "rank_normal", "labels": 3, "scores": 3}), "must hold"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
