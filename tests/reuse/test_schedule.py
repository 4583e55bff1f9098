"""p_m is a chance at every iteration, or is refused by name."""

import numpy as np
import pytest

from bers.errors import ConfigError
from bers.schedules import Constant, Linear, Power, schedule_named


def test_power_is_the_papers_formula():
    for rho in (0.0, 0.5, 0.95, 0.99, 1.0):
        for m in (1, 2, 7, 100):
            assert Power(rho)(m) == pytest.approx(rho**m, rel=1e-15)
    assert Power() == Power(0.99)


def test_far_out_it_is_exactly_nothing():
    assert Power(0.99)(10**6) == 0.0
    assert Power(1)(10**9) == 1.0
    assert type(Power(1)(3)) is float  # a whole number must not overflow, nor stay whole


def test_constant_and_linear():
    assert [Constant(0.3)(m) for m in (1, 10, 10**6)] == [0.3] * 3
    assert [Linear(0.5, until=5)(m) for m in (1, 2, 5, 6, 10**6)] == [0.4, 0.3, 0, 0, 0]
    assert Linear(1, until=1)(1) == 0
    assert type(Constant(1)(1)) is float


@pytest.mark.parametrize("schedule", [Power(0.9), Constant(1), Linear(1.0, 7), Power(0)])
def test_a_schedule_is_a_chance_and_never_rises(schedule):
    p = np.array([schedule(m) for m in range(1, 200)])
    assert np.all((p >= 0) & (p <= 1))
    assert np.all(np.diff(p) <= 0)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("paper", Power(0.99)), (0.3, Constant(0.3)), (0, Constant(0)), (1, Constant(1)),
        (Linear(0.2), Linear(0.2)),
    ],
)  # fmt: skip
def test_schedules_by_what_a_user_writes(what, expected):
    assert schedule_named(what) == expected


def test_any_function_of_m_will_do():
    def own(m):
        return 1 / m

    assert schedule_named(own)(4) == 0.25


@pytest.mark.parametrize("p", [-0.01, 1.01, np.nan, np.inf, "0.5", None])
@pytest.mark.parametrize("kind", [Power, Constant, Linear])
def test_what_is_no_chance_is_refused(kind, p):
    with pytest.raises(ConfigError, match=rf"{kind.__name__}\(\w+=...\) must be a chance in \[0"):
        kind(p)


def test_other_settings_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"Linear\(until=...\) must be at least 1; got 0"):
        Linear(until=0)
    with pytest.raises(ConfigError, match="there is no schedule 'linear'. Give a number"):
        schedule_named("linear")
    with pytest.raises(ConfigError, match=r"Constant\(p=...\) must be a chance .* got 2"):
        schedule_named(2)
