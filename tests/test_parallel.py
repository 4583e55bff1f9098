"""Who does the work changes nothing: threads and processes give the same bits."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, load, rank, refine, save
from bers.errors import ConfigError
from bers.model.posteriors import summarise_rows
from bers.model.scaling import Memory, input_scale, label_moments
from bers.parallel import BACKENDS, in_threads, map_of, pool
from bers.trust.trust import Trust

SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=50)


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


def assert_same_heads(one, other):
    for name in ("mu", "U", "alpha", "beta"):
        np.testing.assert_array_equal(getattr(one.heads, name), getattr(other.heads, name))


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_the_same_bits(shards, backend):
    model = fit([shards], config=SMALL)
    plain = summarise_rows(shards).R
    with pool(backend, jobs=2) as workers:
        assert_same_heads(refine(model, [shards], batches=0, workers=workers), model)
        assert_same_heads(fit([shards], config=SMALL, workers=workers), model)
        np.testing.assert_array_equal(summarise_rows(shards, workers).R, plain)
    np.testing.assert_array_equal(summarise_rows(shards, map).R, plain)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_a_ranking_and_a_trust_have_the_same_bits(shards, backend):
    x = np.random.default_rng(1).uniform(-1, 1, (40, 3))
    target = Demonstrations(x, np.sin(2 * x[:, 0]), "new")
    plain = rank([shards], target, model=SMALL, draws=20)
    trust = Trust([shards], model=SMALL).observe(target.x, target.y)
    with pool(backend, jobs=2) as workers:
        other = rank([shards], target, model=SMALL, draws=20, workers=workers)
        seen = Trust([shards], model=SMALL, workers=workers).observe(target.x, target.y)
    assert other.to_json() == plain.to_json()
    assert_same_heads(other.model, plain.model)
    np.testing.assert_array_equal(seen.weights, trust.weights)
    assert_same_heads(seen.model, trust.model)


class Counted:
    """A map that knows how many parts went through it."""

    def __init__(self):
        self.parts = 0

    def __call__(self, function, parts):
        self.parts += len(parts)
        return map(function, parts)


def test_whoever_is_given_does_the_work(shards):
    workers = Counted()
    model = fit([shards], config=SMALL, workers=workers)
    assert workers.parts == 14  # the first pass, and the heads
    refine(model, [shards], batches=0, workers=workers)
    assert workers.parts == 21
    summarise_rows(shards, workers)
    assert workers.parts == 28
    trust = Trust([shards], model=model, batches=0, workers=workers)
    trust.observe(np.zeros((2, 3)), [0.0, 0.1])
    assert workers.parts == 36  # the target is one more


def test_rows_in_memory_are_not_handed_out():
    workers = Counted()
    x = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    rows = Demonstrations(x, x[:, 0], "alice")
    fit([rows], config=SMALL, workers=workers)
    summarise_rows(rows, workers)
    assert workers.parts == 0


def _slow_first(i):
    return sum(range(200_000 if i == 0 else 10)) * 0 + i


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_results_keep_the_order_of_the_parts(backend):
    with pool(backend, jobs=2) as workers:
        assert list(workers(_slow_first, range(20))) == list(range(20))


@pytest.mark.parametrize("workers", [in_threads, map_of(2), map_of(map)])
def test_other_maps_keep_it_too(workers):
    assert list(workers(_slow_first, range(20))) == list(range(20))


def _refuse(i):
    raise ValueError(f"part {i} is bad")


@pytest.mark.parametrize("workers", [in_threads, map_of(2), map])
def test_an_error_in_a_part_is_seen(workers):
    with pytest.raises(ValueError, match="part 0 is bad"):
        list(workers(_refuse, [0]))


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_an_error_in_a_part_of_a_pool_is_seen(backend):
    with pool(backend, jobs=2) as workers, pytest.raises(ValueError, match="part 0 is bad"):
        list(workers(_refuse, [0]))


def test_a_number_of_workers_is_a_map_and_one_is_none():
    assert map_of(None) is map_of(1) is map_of(np.int64(1)) is None
    assert map_of(map) is map
    for wrong in (0, "two", 1.5):
        with pytest.raises(ConfigError, match=f"or map-like; got {wrong!r}"):
            map_of(wrong)


def test_unknown_backends_are_refused():
    with (
        pytest.raises(ConfigError, match="one of threads, processes, ray; got 'spark'"),
        pool("spark"),
    ):
        pass
    assert BACKENDS == ("threads", "processes", "ray")


def test_nothing_is_left_behind_when_a_pool_ends():
    with pytest.raises(KeyError, match="stopped"), pool("threads", jobs=2):
        raise KeyError("stopped")
    from joblib.parallel import get_active_backend

    before = get_active_backend()
    with pool("threads", jobs=2):
        assert get_active_backend()[1] == 2
    assert get_active_backend()[1] == before[1]


@pytest.mark.parametrize("workers", [-5, 0, True, 2.5, "two"])
def test_numbers_of_workers_that_cannot_be(workers):
    with pytest.raises(
        ConfigError, match=r"workers must be a whole number .* Give 1 or more, or -1"
    ):
        map_of(workers)


def test_all_cores_by_minus_one():
    assert list(map_of(-1)(abs, [-1, -2])) == [1, 2]


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_the_first_pass_is_shared_and_gives_the_same_bits(shards, backend):
    plain = input_scale([shards], memory=Memory())
    in_order = input_scale([shards], memory=Memory(), workers=map)
    counted = Counted()
    memory = Memory()
    input_scale([shards], memory=memory, workers=counted)
    assert counted.parts == 7
    label_moments(shards, memory, workers=counted)
    assert counted.parts == 7  # measured along
    with pool(backend, jobs=2) as workers:
        other = input_scale([shards], memory=Memory(), workers=workers)
    for one in (in_order, other):
        np.testing.assert_array_equal(one.mean, plain.mean)
        np.testing.assert_array_equal(one.spread, plain.spread)
    x = shards.in_memory().x
    np.testing.assert_allclose(plain.mean, x.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(plain.spread, x.std(axis=0), rtol=1e-12)
