"""Whom a learner follows, how freely, and when it stops: by returns alone."""

import numpy as np
import pytest

from bers.integrations.sb3.following import FIRST, FREE, Following

ALL = np.ones(3, bool)


def following(**how):
    return Following(np.random.default_rng(0), 1, **how)


def episode(state, pays, steps=10):
    """One episode; the leader acts where it is his turn. Returns how many steps he led."""
    led = 0
    for step in range(steps):
        acts = state.leads()
        led += int(acts[0])
        state.acted(acts)
        state.stepped(np.array([pays(acts[0]) / steps]), np.array([step == steps - 1]))
    return led


def own(state, earned):
    """Episodes until one was the learner's own."""
    while episode(state, lambda acts: 10.0 if acts else earned):
        pass


def led_by_one(theirs=10.0):
    state = following()
    episode(state, lambda _: 0.0)
    state.consider(np.array([1.0, 12.0, 5.0]), np.array([0.6, 0.9, 0.8]), ALL)
    assert (state.leader, state.trying) == (1, True)
    assert episode(state, lambda _: theirs) == 10  # from the first step to the last
    return state


def test_who_is_worth_most_is_tried_and_then_followed():
    state = led_by_one()
    assert state.follows
    assert state.new
    assert state.reference == pytest.approx(10.0)
    assert state.freedom == FIRST


def test_who_earns_less_than_the_learner_is_refused_and_the_next_one_tried():
    state = led_by_one(theirs=-3.0)
    assert state.leader is None
    state.consider(np.array([1.0, 12.0, 5.0]), np.array([0.6, 0.9, 0.8]), ALL)
    assert state.leader == 2


def test_who_is_hardly_better_is_not_followed():
    state = following(spread=30.0)
    episode(state, lambda _: 0.0)
    state.consider(np.array([1.0, 12.0, 5.0]), np.array([0.6, 0.9, 0.8]), ALL)
    assert state.leader is None  # fifteen would be needed
    state.consider(np.array([1.0, 16.0, 5.0]), np.array([0.6, 0.9, 0.8]), ALL)
    episode(state, lambda _: 14.0)
    assert state.leader is None  # he did not earn what he was worth


def test_nobody_is_tried_who_would_not_earn_more_or_of_whom_that_cannot_be_said():
    state = following()
    episode(state, lambda _: 0.0)
    state.consider(np.array([1.0, 12.0, 5.0]), np.array([0.4, 0.1, 0.2]), ALL)
    assert state.leader is None
    state.consider(np.array([1.0, 12.0, 5.0]), np.ones(3), np.array([True, False, False]))
    assert state.leader == 0


def test_freedom_grows_while_the_learner_holds_and_the_leader_stops_leading():
    state = led_by_one()
    found = []
    for _ in range(30):
        own(state, 10.0)
        found.append(state.freedom)
    assert found == sorted(found)
    assert found[-1] == FREE
    assert not state.follows
    assert sum(episode(state, lambda _: 10.0) for _ in range(9)) == 0


def test_it_grows_faster_where_the_learner_is_ahead_and_shrinks_where_it_fell():
    ahead, level, behind = led_by_one(), led_by_one(), led_by_one()
    for _ in range(4):
        own(ahead, 20.0)
        own(level, 10.0)
        own(behind, 10.0)
    assert ahead.freedom > level.freedom == behind.freedom > FIRST
    own(behind, 0.0)
    assert behind.freedom < level.freedom
    before = level.freedom
    own(level, 10.0)
    own(behind, 10.0)
    assert behind.freedom / max(FIRST, 0.4 * before) < level.freedom / before  # careful now


def test_a_leader_who_wants_something_else_is_soon_let_go():
    alike, half, unlike = (led_by_one() for _ in range(3))
    half.alike, unlike.alike = 0.9, 0.3
    for state in (alike, half, unlike):
        own(state, 10.0)
    grown = [np.log(state.freedom / FIRST) for state in (alike, half, unlike)]
    assert grown == pytest.approx([np.log(1.4), 2.4 * np.log(1.4), 4.8 * np.log(1.4)])
    own(unlike, 20.0)
    assert unlike.freedom == pytest.approx(min(FREE, FIRST * 1.4**4.8 * 2**4.8))
    before = unlike.freedom
    own(unlike, -30.0)
    assert unlike.freedom == pytest.approx(0.1 if before == FREE else 0.4 * before)


def test_a_learner_that_falls_after_it_was_free_is_held_again():
    state = led_by_one()
    for _ in range(30):
        own(state, 10.0)
    own(state, -5.0)
    assert state.follows


def test_a_rule_that_names_the_leader_is_obeyed():
    state = following(forced=True)
    episode(state, lambda _: 0.0)
    state.try_out(2, -1.0)
    episode(state, lambda _: -50.0)
    assert state.leader == 2
    assert state.follows


def test_a_leader_who_may_not_act_is_taken_at_his_worth():
    state = following(acts=False)
    episode(state, lambda _: 0.0)
    state.consider(np.array([1.0, 12.0, 5.0]), np.array([0.6, 0.9, 0.8]), ALL)
    assert state.follows
    assert state.reference == 12.0
    assert sum(episode(state, lambda _: 12.0) for _ in range(9)) == 0


def test_much_better_ones_are_tried_later_and_the_best_is_kept():
    state = led_by_one()
    state.consider(np.array([1.0, 10.0, 30.0]), np.array([0.0, 0.5, 0.99]), ALL)
    assert (state.leader, state.trying) == (2, True)
    while state.trying:
        episode(state, lambda acts: 7.0)
    assert state.leader == 1  # seven is less than ten
    state.consider(np.array([1.0, 10.0, 30.0]), np.array([0.0, 0.5, 0.99]), ALL)
    assert state.leader == 1  # who was tried is known
