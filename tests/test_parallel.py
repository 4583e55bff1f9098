"""Who does the work changes nothing: threads and processes give the same bits."""

import numpy as np
import pytest

from bers import Demonstrations, fit, load, refine, save
from bers.errors import ConfigError
from bers.model.posteriors import summarise_rows
from bers.parallel import BACKENDS, each, each_in_memory, work_on


@pytest.fixture
def shards(tmp_path):
    """A source on disk, in several row groups."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2000, 3))
    y = np.sin(2 * x[:, 0]) + 0.05 * rng.standard_normal(2000)
    save(Demonstrations(x, y, "alice"), tmp_path / "a.parquet", rows_per_group=300)
    source = load(tmp_path / "a.parquet", stream=True)
    assert len(source.parts()) == 7
    return source


def _same(shards, small, backend):
    model = fit([shards], config=small)
    with work_on(backend, jobs=2):
        other = refine(model, [shards], batches=0)
        R = summarise_rows(shards).R
    for name in ("mu", "U", "alpha", "beta"):
        np.testing.assert_array_equal(getattr(other.heads, name), getattr(model.heads, name))
    np.testing.assert_array_equal(R, summarise_rows(shards).R)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_the_same_bits(shards, small, backend):
    _same(shards, small, backend)


def _slow_first(i):
    return sum(range(200_000 if i == 0 else 10)) * 0 + i


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_results_keep_the_order_of_the_parts(backend):
    with work_on(backend, jobs=2):
        assert list(each(_slow_first, range(20))) == list(range(20))
    assert list(each(_slow_first, range(20))) == list(range(20))
    assert list(each_in_memory(_slow_first, range(20))) == list(range(20))


def _refuse(i):
    raise ValueError(f"part {i} is bad")


@pytest.mark.parametrize("work", [each, each_in_memory])
def test_an_error_in_a_part_is_seen(work):
    with pytest.raises(ValueError, match="part 0 is bad"):
        list(work(_refuse, [0]))


def test_unknown_backends_are_refused():
    with (
        pytest.raises(ConfigError, match="one of threads, processes, ray; got 'spark'"),
        work_on("spark"),
    ):
        pass
    assert BACKENDS == ("threads", "processes", "ray")
