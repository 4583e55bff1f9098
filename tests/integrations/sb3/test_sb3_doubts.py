"""Cases in which weights say little: each ends in a sentence with numbers, and what to do."""

import warnings

import numpy as np
import pytest
from sb3_helpers import QUICK, Line, demonstrator
from stable_baselines3 import SAC

from bers import Demonstrations
from bers.errors import DataWarning
from bers.integrations.sb3 import BersCallback, BersReplayBuffer
from bers.integrations.sb3.doubts import LOOKS, doubts_of, warn_of_equal_rewards

SOURCES = [demonstrator(-1.0), demonstrator(1.0), demonstrator(0.3)]


class Other(Line):
    """The same line, with rewards and observations that were changed."""

    def __init__(self, pay=lambda r, x: r, see=lambda seen: seen):
        super().__init__(1.0)
        self.pay, self.see = pay, see

    def reset(self, **how):
        seen, info = super().reset(**how)
        return np.float32(self.see(seen)), info

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return np.float32(self.see(seen)), float(self.pay(reward, self.x)), *rest


def paid(source, rewards):
    return Demonstrations(
        source.x, rewards, source.name, payload={**source.payload, "reward": rewards}
    )


def told(env, sources=SOURCES, steps=130, **how):
    """What is said in a run of fewer looks than doubts wait for."""
    found = BersCallback(**{"model": QUICK, "every": 40, "subset": 200, "schedule": 0.9, **how})
    model = SAC(
        "MlpPolicy",
        env,
        replay_buffer_class=BersReplayBuffer,
        replay_buffer_kwargs={"sources": sources},
        seed=0,
        policy_kwargs={"net_arch": [8]},
        learning_starts=20,
        batch_size=16,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.learn(steps, callback=found)
    return found, [str(one.message) for one in caught if one.category is DataWarning]


def test_in_a_plain_case_nothing_is_said():
    assert told(Other())[1] == []


def test_a_novice_is_told_how_many_of_its_rows_are_dropped_though_training_ends_early():
    found, said = told(Other(pay=lambda r, x: r - 100 * (x > 0.4)))
    assert 0.25 < found.doubts.share < 1
    (text,) = said
    assert f"{found.doubts.outside} of the first {found.doubts.rows} rows are left out" in text
    assert "If only one side was normalised, undo it; if the learner is just a novice" in text
    assert "None is left" not in text


def test_where_all_rows_are_dropped_it_says_that_nobody_is_trusted():
    found, (text,) = told(Other(pay=lambda r, x: r - 100))
    assert found.weights["nobody"] == 1
    assert "None is left, so nobody is trusted" in text
    assert "(they: -9.1" in text


def test_rare_rewards_are_mentioned():
    _, (text,) = told(Other(pay=lambda r, x: abs(x - 1) < 0.1))
    assert "rewards are rare" in text
    assert "Pass trimmed=0" in text


def test_logs_whose_rewards_are_all_equal_are_named_at_once():
    sources = [SOURCES[0], paid(SOURCES[1], np.zeros(SOURCES[1].n))]
    _, said = told(Other(), sources)
    assert len(said) == 1
    assert "all rewards are equal in the logs of 'to 1' (0)" in said[0]
    assert "bers.load(..., rewards=...)" in said[0]
    assert told(Other(), sources, rule="single:0")[1] == []


def test_observations_in_other_units_are_mentioned():
    _, said = told(Other(see=lambda seen: 100 * seen))
    assert "look as if they were in other units: entry 1 is " in said[-1]


@pytest.mark.parametrize(
    ("ours", "theirs", "doubtful"),
    [
        ((0.0, 1.0), (0.0, 1.0), False),
        ((0.0, 1.0), (1.0, 2.0), True),  # ours were normalised
        ((1.0, 2.0), (0.0, 1.0), True),
        ((1.0, 2.0), (1.5, 3.0), False),  # a novice has been elsewhere
        ((50.0, 1.0), (1.0, 2.0), True),
        ((1.0, 20.0), (1.0, 2.0), True),
    ],
)
def test_normalised_columns_are_told_from_those_that_are_not(ours, theirs, doubtful):
    rng = np.random.default_rng(0)
    doubts = doubts_of([rng.normal(*theirs, (500, 3)), np.empty((0, 3))], (0.0, 1.0))
    doubts.look(rng.normal(*ours, (200, 3)), rng.uniform(size=200))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        doubts.tell()
        doubts.tell()
    assert [("other units" in str(one.message)) for one in caught] == [True] * doubtful


def test_doubts_are_told_once_and_many_names_are_shortened():
    with pytest.warns(DataWarning, match=r"'e' \(1\) and 2 more, so nothing says"):
        warn_of_equal_rewards(list("abcdefg"), [np.ones(3)] * 7)
    assert LOOKS == 5
