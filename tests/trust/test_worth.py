"""What sources would have earned: linear in the target's weights; by episodes or by rows."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, Trust, fit
from bers.data.transforms import transform_named
from bers.errors import ConfigError, DataError
from bers.trust.worth import rows_of

LINES = ModelConfig(hidden=(2,), latent_dim=1, batches=0, skip=True)


def logs(where, name, episodes=20, length=5, seed=0):
    """Episodes at places around `where`; each wanted to be at 3."""
    rng = np.random.default_rng(seed)
    x = np.asarray(where) + 0.3 * rng.standard_normal((episodes * length, 2))
    ends = np.arange(len(x)) % length == length - 1
    payload = {"reward": x[:, 0] - 3, "terminated": ends, "truncated": np.zeros(len(x), bool)}
    return Demonstrations(
        x, x[:, 0] - 3 + 0.01 * rng.standard_normal(len(x)), name, payload=payload
    )


def target(n=40, seed=7):
    x = np.random.default_rng(seed).standard_normal((n, 2))
    return x, 2 * x[:, 0] + x[:, 1] + 1


def test_the_worth_is_what_the_target_pays_where_the_source_went():
    sources = [logs((2.0, 0.0), "far", seed=1), logs((0.0, 0.0), "here", seed=2)]
    found = Trust(sources, model=LINES).observe(*target()).worth()
    true = [5 * np.mean(2 * s.x[:, 0] + s.x[:, 1] + 1) for s in sources]
    assert found.mean == pytest.approx(true, rel=0.02)
    assert found.best == "far"
    assert found.of == "an episode"
    for line, value in zip(found.sources, true, strict=True):
        assert line.low <= line.mean <= line.high
        assert line.low < value < line.high
        assert line.foreseen > 0.5
    assert [line.prob_best for line in found.sources] == [1.0, 0.0]


def test_discounts_count_from_the_start_of_each_episode():
    source = logs((1.0, 1.0), "a", episodes=3, length=4)
    model = fit([source], config=LINES)
    Phi = model.features(source.x).reshape(3, 4, -1)
    expected = np.einsum("t,etd->d", 0.5 ** np.arange(4), Phi) / 3
    assert rows_of(model, source, discount=0.5).psi == pytest.approx(expected)


def test_rows_that_are_in_no_episode_are_paid_one_by_one_or_over_a_horizon():
    x, y = target(200)
    source = Demonstrations(x, y, "rows")
    trust = Trust([source], model=LINES).observe(*target())
    one, many = trust.worth(), trust.worth(horizon=10, discount=0.9)
    assert one.of == "a row"
    assert one.mean == pytest.approx([y.mean()], abs=0.05)
    assert many.mean == pytest.approx(one.mean * (1 - 0.9**10) / 0.1)


def test_past_runs_are_worth_their_best_rows():
    x, y = target(200)
    sources = [Demonstrations(x, y, "same"), Demonstrations(x, -y, "turned")]
    trust = Trust(sources, model=LINES).observe(*target())
    low, high = trust.worth(best="lowest"), trust.worth(best="highest")
    assert low.mean == pytest.approx([y.min(), y.max()], abs=0.2)
    assert (low.best, high.best) == ("same", "same")
    assert low.of == "its lowest row"
    logged = Trust(
        [Demonstrations(x, np.exp(y), "e")], model=LINES, transform=transform_named("log")
    )
    found = logged.observe(x[:50], np.exp(y[:50])).worth(best="lowest")
    assert found.mean == pytest.approx([np.exp(y.min())], abs=0.2)  # the head alone says -0.86
    with pytest.raises(ConfigError, match="sums of transformed labels.*no transform"):
        logged.observe(x[:50], np.exp(y[:50])).worth()


def test_the_chance_to_be_better_than_oneself():
    sources = [logs((2.0, 0.0), "far", seed=1), logs((0.0, 0.0), "here", seed=2)]
    found = Trust(sources, model=LINES).observe(*target()).worth(than=10.0)
    assert [line.prob_better for line in found.sources] == [1.0, 0.0]
    assert "above 10" in repr(found)


def test_where_the_target_was_never_seen_little_is_foreseen():
    rng = np.random.default_rng(0)
    x = np.c_[rng.standard_normal(100), np.zeros(100)]
    source = Demonstrations(
        rng.standard_normal((200, 2)) * [0.1, 30.0], rng.standard_normal(200), "a"
    )
    alone = Trust([source], model=LINES, prior="neutral")
    found = alone.observe(x, x[:, 0]).worth()
    assert found.sources[0].foreseen < 0.5
    assert found.sources[0].high - found.sources[0].low > 0.1


def test_a_source_without_rows_has_no_worth_and_bad_words_are_refused():
    empty = Demonstrations(np.zeros((0, 2)), np.zeros(0), "empty")
    trust = Trust([logs((0.0, 0.0), "a"), empty], model=LINES).observe(*target())
    found = trust.worth()
    assert np.isnan(found.mean[1])
    assert found.best == "a"
    with pytest.raises(ConfigError, match="lowest"):
        trust.worth(best="least")
    with pytest.raises(ConfigError, match="discount.*above 0"):
        trust.worth(discount=1.5)
    with pytest.raises(ConfigError, match="whole number of at least 1; got 0"):
        trust.worth(horizon=0)
    mixed = [logs((0.0, 0.0), "a"), Demonstrations(*target(), "rows")]
    with pytest.raises(DataError, match="in episodes and others are not"):
        Trust(mixed, model=LINES).observe(*target()).worth()
    with pytest.raises(DataError, match="observe"):
        Trust(mixed, model=LINES).worth()


def test_a_ranking_shows_what_sources_are_worth_and_where_that_is_not_the_weight():
    sources = [logs((0.0, 0.0), "clumsy", seed=2), logs((3.0, 0.0), "able", seed=1)]
    x = 0.3 * np.random.default_rng(3).standard_normal((60, 2))
    y = x[:, 0] - 3 + 0.01 * np.random.default_rng(4).standard_normal(60)
    trust = Trust(sources, model=LINES).observe(x, y)
    ranking = trust.ranking(draws=20)
    assert [one.worth for one in ranking.sources] == pytest.approx([-15, 0], abs=0.3)
    assert all(one.worth_low < one.worth < one.worth_high for one in ranking.sources)
    assert [one.worth for one in ranking.sources] == pytest.approx(trust.worth().mean, abs=1e-9)
    assert '"worth_low"' in ranking.to_json()
    assert "worth" in repr(ranking)
    if ranking.weights[0] > ranking.weights[1]:
        assert any("'able' would have earned more" in note for note in ranking.warnings)


def test_rows_in_no_episodes_are_not_read_again_for_a_ranking():
    x, y = target(200)
    ranking = Trust([Demonstrations(x, y, "rows")], model=LINES).observe(*target()).ranking(draws=5)
    assert ranking.sources[0].worth == pytest.approx(y.mean(), abs=0.05)
    assert not any("Imitate" in note for note in ranking.warnings)


def test_transformed_labels_have_no_worth_in_a_ranking():
    x, y = target(50)
    trust = Trust([Demonstrations(x, y, "a")], model=LINES, transform=transform_named("rank"))
    ranking = trust.observe(*target()).ranking(draws=5)
    assert np.isnan(ranking.sources[0].worth)


def test_relabelling_keeps_what_the_model_does_not_see():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 2))
    luck = rng.standard_normal(500)  # of which no column tells
    source = Demonstrations(x, x[:, 0] + luck, "source")
    own = rng.standard_normal((200, 2))
    y = own[:, 0] + own[:, 1] + rng.standard_normal(200)
    trust = Trust([source], model=LINES).observe(own, y)
    true = x[:, 0] + x[:, 1] + luck
    plain = trust.relabel(x)
    kept = trust.relabel(x, rewards=source.y, source="source")
    assert np.mean((kept - true) ** 2) < 0.1
    assert np.mean((plain - true) ** 2) > 0.8
    np.testing.assert_array_equal(kept, trust.relabel(x, rewards=source.y, source=0))


def test_relabelling_asks_for_rewards_and_source_together():
    x, y = target(50)
    trust = Trust([Demonstrations(x, y, "a")], model=LINES).observe(*target())
    with pytest.raises(ConfigError, match="go together"):
        trust.relabel(x, rewards=y)
    with pytest.raises(DataError, match="there is no source 'b'"):
        trust.relabel(x, rewards=y, source="b")
    with pytest.raises(DataError, match="there is no source 3"):
        trust.relabel(x, rewards=y, source=3)
    with pytest.raises(DataError, match="one reward for each row"):
        trust.relabel(x, rewards=y[:3], source="a")


def test_what_is_foreseen_falls_with_the_distance_from_the_targets_rows():
    near, far = logs((0.0, 0.0), "near"), logs((40.0, 40.0), "far")
    trust = Trust([near, far], model=LINES, prior="neutral").observe(*target(10))
    assert trust.foreseen[0] > trust.foreseen[1]
    worth = trust.worth()
    assert trust.foreseen == pytest.approx([one.foreseen for one in worth.sources])


def test_the_best_row_is_worth_what_is_foretold_of_it_noise_included():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((300, 2))
    waves = x[:, 0] + 2 * np.sin(9 * x[:, 1])  # no line foretells them; what stands beside it does
    trust = Trust([Demonstrations(x, waves, "run")], model=LINES).observe(x[:200], waves[:200])
    found = trust.worth(best="lowest").sources[0]
    assert found.low < waves.min() < found.high
    assert found.high - found.low < 0.5
    loud = waves + 3 * rng.standard_normal(300)
    trust = Trust([Demonstrations(x, waves, "run")], model=LINES).observe(x[:200], loud[:200])
    found = trust.worth(best="lowest").sources[0]
    assert found.high - found.low == pytest.approx(1.5 * 2 * 1.645 * 3.0, rel=0.25)
