import threading
import time

import pytest

from bers.data.ahead import ahead


def test_items_come_in_order_and_all():
    assert list(ahead(iter(range(1000)))) == list(range(1000))
    assert list(ahead([])) == []


def test_it_runs_ahead_but_not_far():
    made = []

    def items():
        for i in range(100):
            made.append(i)
            yield i

    stream = ahead(items(), depth=2)
    assert next(stream) == 0
    time.sleep(0.3)
    assert 2 <= len(made) <= 4  # one handed over, two waiting, one in the hand
    assert list(stream) == list(range(1, 100))


def test_an_error_comes_out_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("row 2 is broken")

    stream = ahead(items())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="row 2 is broken"):
        next(stream)


def test_the_thread_ends_with_its_consumer():
    before = threading.active_count()
    stream = ahead(iter(range(10**9)))
    assert next(stream) == 0
    stream.close()
    assert threading.active_count() == before
