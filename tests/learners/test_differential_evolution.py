import numpy as np
import pytest

from bers.errors import ConfigError
from bers.learners.differential_evolution import DEConfig, Population, generation, start
from bers.problems.functions import SPHERE

LOW, HIGH = np.full(3, -4.0), np.full(3, 4.0)


def test_agents_never_get_worse_and_stay_in_bounds():
    rng = np.random.default_rng(0)
    agents = start(rng, SPHERE, LOW, HIGH, config=DEConfig())
    for _ in range(30):
        after, tried = generation(rng, agents, SPHERE, LOW, HIGH, config=DEConfig())
        assert (after.f <= agents.f).all()
        np.testing.assert_array_equal(after.f, [SPHERE(x) for x in after.x])
        np.testing.assert_array_equal(tried.f, [SPHERE(x) for x in tried.x])
        assert ((tried.x >= LOW) & (tried.x <= HIGH)).all()
        agents = after
    assert agents.f.min() < 0.01


def test_a_trial_is_made_of_three_other_agents():
    # agents on the axes of their own number: the parents of a trial can be read off
    NP = 8
    agents = Population(np.eye(NP), np.full(NP, np.inf))
    config = DEConfig(population=NP, crossover_rate=1.0, differential_weight=0.5)
    low, high = np.full(NP, -9.0), np.full(NP, 9.0)
    _, tried = generation(
        np.random.default_rng(0), agents, lambda x: np.nan, low, high, config=config
    )
    for j, trial in enumerate(tried.x):
        assert sorted(trial[trial != 0]) == [-0.5, 0.5, 1.0]
        assert trial[j] == 0


def test_agents_are_replaced_in_place():
    """The second agent already sees what became of the first."""
    seen = []

    def fun(x):
        seen.append(x.copy())
        return -float(len(seen))  # every trial wins

    agents = start(np.random.default_rng(1), fun, LOW, HIGH, config=DEConfig(population=4))
    after, tried = generation(
        np.random.default_rng(2), agents, fun, LOW, HIGH, config=DEConfig(population=4)
    )
    np.testing.assert_array_equal(after.x, tried.x)
    # with four agents every trial uses all others, so a trial of old agents only would differ
    old = Population(agents.x, agents.f)
    lone = np.random.default_rng(2)
    for j in range(4):
        a, b, c = lone.choice(3, 3, replace=False)
        a, b, c = a + (a >= j), b + (b >= j), c + (c >= j)
        cross = lone.random(3) < 0.7
        cross[lone.integers(3)] = True
        frozen = np.where(
            cross, np.clip(old.x[a] + 0.5 * (old.x[b] - old.x[c]), LOW, HIGH), old.x[j]
        )
        assert np.array_equal(frozen, tried.x[j]) == (j == 0)


def test_crossover_takes_at_least_one_coordinate():
    rng = np.random.default_rng(3)
    config = DEConfig(crossover_rate=0.0)
    agents = start(rng, SPHERE, LOW, HIGH, config=config)
    _, tried = generation(rng, agents, lambda x: np.inf, LOW, HIGH, config=config)
    moved = (tried.x != agents.x).sum(axis=1)
    assert moved.max() == 1
    assert moved.mean() > 0.9


def test_seeds():
    runs = [
        generation(
            np.random.default_rng(seed),
            start(np.random.default_rng(seed), SPHERE, LOW, HIGH, config=DEConfig()),
            SPHERE, LOW, HIGH, config=DEConfig(),
        )[0].x
        for seed in (0, 0, 1)
    ]  # fmt: skip
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_bad_settings_are_named():
    with pytest.raises(ConfigError, match="population=...*at least 4; got 3"):
        DEConfig(population=3)
    with pytest.raises(ConfigError, match=r"crossover_rate=.*got 1\.1"):
        DEConfig(crossover_rate=1.1)
    with pytest.raises(ConfigError, match=r"differential_weight=.*got -0\.1"):
        DEConfig(differential_weight=-0.1)
    with pytest.raises(ConfigError, match="bounds must be finite with low <= high"):
        start(np.random.default_rng(0), SPHERE, HIGH, LOW, config=DEConfig())
    equal = start(np.random.default_rng(0), SPHERE, LOW, LOW, config=DEConfig())
    assert (equal.x == LOW).all()
