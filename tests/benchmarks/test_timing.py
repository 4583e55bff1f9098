import sys
import time
from functools import partial

import pytest
from apart import apart
from timing import here, program, take_turns


def test_turns_alternate_and_the_first_short_call_does_not_count():
    seen = []

    def turn(name):
        def run(calls):
            seen.append((name, calls))
            return [100.0, *[1.0] * (calls - 1)]

        return run

    seconds = take_turns("test", {"a": turn("a"), "b": turn("b")}, rounds=2, calls=3)
    assert seen == [("a", 4), ("b", 4), ("a", 4), ("b", 4)]
    assert seconds == {"a": 1.0, "b": 1.0}


def test_a_turn_times_every_call():
    seconds = here(partial(time.sleep, 0.01))(3)
    assert len(seconds) == 3
    assert min(seconds) >= 0.01


def test_contenders_apart_time_themselves():
    with apart("test", {"sleeper": partial(partial, time.sleep, 0.01)}) as turns:
        assert min(turns["sleeper"](2)) >= 0.01


def test_a_contender_that_fails_is_named():
    broken = pytest.raises(RuntimeError, match=r"broken stopped; its error is printed above\.")
    with broken, apart("test", {"broken": partial(int, "x")}):
        pass


def test_a_program_that_fails_shows_its_error():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        program([sys.executable, "-c", "1 / 0"])
