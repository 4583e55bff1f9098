"""The regressor for several groups: scikit-learn's contract, and what groups share."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bers import ModelConfig
from bers.errors import ConfigError, DataError
from bers.integrations.common_part import CommonPart
from bers.sklearn import MultiSourceRegressor

SMALL = ModelConfig(hidden=(16,), latent_dim=8, batches=200, learning_rate=1e-2)


@parametrize_with_checks([MultiSourceRegressor(model=SMALL)])
@pytest.mark.filterwarnings("ignore::bers.errors.BersWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def world(n=60, groups=6, seed=0):
    """Every group has a line of its own; they share the second slope and differ in the first."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (groups * n, 3))
    number = np.repeat(np.arange(groups), n)
    slope, offset = rng.normal(1, 1, groups), rng.normal(5, 2, groups)
    y = slope[number] * X[:, 0] + 3 * X[:, 1] + offset[number]
    return X, y + 0.1 * rng.standard_normal(len(y)), np.array([f"group {i}" for i in number])


@pytest.fixture(scope="module")
def fitted():
    X, y, groups = world()
    return MultiSourceRegressor(model=SMALL).fit(X, y, groups=groups)


def test_every_group_has_a_function_of_its_own(fitted):
    X, y, groups = world()
    assert fitted.groups_.tolist() == [f"group {i}" for i in range(6)]
    assert fitted.n_features_in_ == 3
    assert fitted.score(X, y, groups=groups) > 0.99
    assert fitted.score(X, y) < 0.9  # of nobody known
    mixed = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(
        fitted.predict(X[mixed], groups=groups[mixed]), fitted.predict(X, groups=groups)[mixed]
    )


def test_weights_say_how_much_a_group_leans_on_the_others(fitted):
    assert fitted.weights_.shape == (6,)
    assert ((fitted.weights_ > 0.9) & (fitted.weights_ <= 1 + 1e-9)).all()
    X, y, _ = world()
    alone = MultiSourceRegressor(model=SMALL).fit(X[:60], y[:60])
    assert alone.weights_.tolist() == [0.0]


def test_a_group_never_seen_gets_what_groups_have_in_common(fitted):
    at = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    mean, std = fitted.predict(at, groups=["new", "new"], return_std=True)
    assert mean[1] - mean[0] == pytest.approx(3, abs=0.3)
    _, known = fitted.predict(at, groups=["group 0"] * 2, return_std=True)
    assert (std > 5 * known).all()
    np.testing.assert_array_equal(fitted.predict(at), mean)


def test_a_group_with_few_rows_learns_from_the_others():
    X, y, groups = world()
    few = np.flatnonzero((groups != "group 5") | (np.arange(len(X)) % 60 < 3))
    rest = np.setdiff1d(np.arange(len(X)), few)
    together = MultiSourceRegressor(model=SMALL).fit(X[few], y[few], groups=groups[few])
    own = few[groups[few] == "group 5"]
    alone = MultiSourceRegressor(model=SMALL).fit(X[own], y[own])
    error = np.mean((together.predict(X[rest], groups=groups[rest]) - y[rest]) ** 2)
    assert error < 0.3 * np.mean((alone.predict(X[rest]) - y[rest]) ** 2)


def test_adapt_takes_in_a_new_group_and_changes_nothing_else(fitted):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (40, 3))
    y = -X[:, 0] + 3 * X[:, 1] + 50
    before = fitted.predict(X, groups=["group 1"] * 40)
    more = fitted.adapt(X[:5], y[:5], group="new")
    assert more.groups_.tolist()[-1] == "new"
    assert "new" not in fitted.groups_
    np.testing.assert_array_equal(more.predict(X, groups=["group 1"] * 40), before)
    error = np.abs(more.predict(X[5:], groups=["new"] * 35) - y[5:]).mean()
    again = more.adapt(X[5:20], y[5:20], group="new")
    assert again.groups_.tolist() == more.groups_.tolist()
    assert np.abs(again.predict(X[20:], groups=["new"] * 20) - y[20:]).mean() < error < 1


def test_adapt_adds_rows_to_a_known_group(fitted):
    X = world(seed=9)[0]
    more = fitted.adapt(X[:50], np.full(50, 1000.0), group="group 2")
    at = np.zeros((1, 3))
    assert more.predict(at, groups=["group 2"])[0] > 100
    assert fitted.predict(at, groups=["group 2"])[0] < 20


def test_views_of_a_new_group_count_as_they_foresee_its_rows(fitted):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 3))
    y = 20 * np.sign(X[:, 2])  # none of the views but the widest may say so
    few = fitted.adapt(X[:2], y[:2], group="new")
    many = few.adapt(X[2:], y[2:], group="new")
    shares = [known._groups[-1].shares for known in (few, many)]
    assert shares[0] == pytest.approx(fitted._shares, abs=0.3)  # two rows hardly tell
    group = many._groups[-1]
    pairs = zip(group.heads, many._views(X, group.scale), strict=True)
    left = np.stack([head.left_out(Phi, y) for head, Phi in pairs], axis=1) - y[:, None]
    errors = [np.mean((left @ share) ** 2) for share in (shares[1], fitted._shares)]
    assert errors[0] <= errors[1]
    np.testing.assert_array_equal(
        many.predict(X, groups=["new"] * 60),
        fitted.adapt(X[:2], y[:2], group="new")
        .adapt(X[2:], y[2:], group="new")
        .predict(X, groups=["new"] * 60),
    )
    assert all(group.shares is None for group in many._groups[:-1])


def test_the_same_random_state_gives_the_same_bits(fitted):
    X, y, groups = world()
    again = clone(fitted).fit(X, y, groups=groups)
    one, other = (m.predict(X, groups=groups, return_std=True) for m in (fitted, again))
    np.testing.assert_array_equal(one, other)
    kept = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(kept.predict(X, groups=groups), one[0])
    drawn = MultiSourceRegressor(SMALL, random_state=np.random.RandomState(3))
    assert (
        drawn.fit(X[:80], y[:80], groups=groups[:80]).score(X[:80], y[:80], groups=groups[:80])
        > 0.9
    )


def test_frames_and_numbers_as_groups():
    X, y, groups = world(groups=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    numbers = pd.Series(groups).str[-1].astype(int)
    found = MultiSourceRegressor(model=SMALL).fit(frame, pd.Series(y), groups=numbers)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    assert found.groups_.tolist() == [0, 1, 2]
    assert found.score(frame, y, groups=numbers) > 0.99
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(frame.rename(columns={"a": "z"}), groups=numbers)


def test_numbers_and_words_are_not_mixed_as_groups(fitted):
    X, y = np.zeros((4, 2)), np.zeros(4)
    for mixed in ([1, "a", 1, "a"], np.array([1, "a", 1, "a"], object)):
        with pytest.raises(DataError, match="groups mix numbers and words"):
            MultiSourceRegressor().fit(X, y, groups=mixed)


def test_groups_go_through_cross_validation_and_pipelines():
    X, y, groups = world(n=40, groups=3)
    order = np.random.default_rng(0).permutation(len(X))
    X, y, groups = X[order], y[order], groups[order]
    with sklearn.config_context(enable_metadata_routing=True):
        one = MultiSourceRegressor(model=SMALL)
        one = one.set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_val_score(one, X, y, cv=2, params={"groups": groups})
        assert scores.min() > 0.95
        line = make_pipeline(StandardScaler(), one)
        assert cross_val_score(line, X, y, cv=2, params={"groups": groups}).min() > 0.95
        search = GridSearchCV(one, {"model": [SMALL]}, cv=2).fit(X, y, groups=groups)
        assert search.best_score_ > 0.95
    # without routing, only fit can be told
    scores = cross_val_score(MultiSourceRegressor(SMALL), X, y, cv=2, params={"groups": groups})
    assert scores.max() < 0.95


def test_bad_calls_say_what_to_do():
    X, y, groups = world(n=10)
    with pytest.raises(ConfigError, match=r"must be a bers.ModelConfig or None; got str. Write"):
        MultiSourceRegressor(model="big").fit(X, y)
    with pytest.raises(DataError, match=r"for each of 60 rows; got shape \(3,\).*Give a column"):
        MultiSourceRegressor(model=SMALL).fit(X, y, groups=groups[:3])
    with pytest.raises(DataError, match=r"mix numbers and words.*strings"):
        MultiSourceRegressor(model=SMALL).fit(X, y, groups=np.array([1, "a"] * 30, dtype=object))
    with pytest.raises(DataError, match="missing.*Fill"):
        MultiSourceRegressor(model=SMALL).fit(X, y, groups=[None] * 60)


def bent(n=150, groups=4, seed=0):
    """All groups share a step; each has its own offset and scale."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (groups * n, 3))
    number = np.repeat(np.arange(groups), n)
    step = np.where(X[:, 0] > 0, 1.0, -1.0) * np.where(X[:, 1] > 0.3, 1.0, -1.0)
    y = (1 + number) * step + 5.0 * number + 0.2 * rng.standard_normal(len(X))
    return X, y, number


def test_what_all_groups_say_together_is_a_view_of_its_own():
    X, y, groups = bent()
    fresh_X, fresh_y, fresh_groups = bent(seed=1)
    lines = ModelConfig(hidden=(2,), latent_dim=1, batches=1)  # an encoder that sees nothing
    known = MultiSourceRegressor(model=lines).fit(X, y, groups=groups)
    assert known._common is not None
    assert known._shares[2] > 0.9
    assert known.score(fresh_X, fresh_y, groups=fresh_groups) > 0.98
    own = fresh_groups == 3  # what comes later is seen by the same trees
    few = known.adapt(fresh_X[own][:20], 100 - 2 * fresh_y[own][:20], group=99)
    said = few.predict(fresh_X[own][20:], groups=[99] * (own.sum() - 20))
    assert np.corrcoef(said, 100 - 2 * fresh_y[own][20:])[0, 1] > 0.95


def test_rows_that_trained_the_trees_are_foretold_by_others():
    rng = np.random.default_rng(0)
    noise = [(rng.uniform(size=(300, 2)), rng.standard_normal(300)) for _ in range(2)]
    common = CommonPart(noise)
    for (x, y), columns in zip(noise, common.columns, strict=True):
        assert abs(np.corrcoef(columns[:, 0], y)[0, 1]) < 0.15
        assert np.corrcoef(common(x)[:, 0], y)[0, 1] > 0.3  # seen, so foretold too well
    assert np.concatenate(common.columns).std(axis=0) == pytest.approx([1, 1])


def test_few_rows_or_one_group_have_no_common_part():
    assert CommonPart.worth_it(2, 400)
    assert not CommonPart.worth_it(2, 399)
    assert not CommonPart.worth_it(1, 10_000)
