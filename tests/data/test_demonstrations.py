import copy
import dataclasses
import pickle
import time

import numpy as np
import pytest

from bers.data.demonstrations import Demonstrations
from bers.data.transforms import RankNormal, Sqrt, Standardise, Trim
from bers.errors import ConfigError, DataError, DataWarning


def some(n=10, k=3, **fields):
    rng = np.random.default_rng(0)
    return Demonstrations(rng.normal(size=(n, k)), rng.uniform(size=n), "some", **fields)


def test_values_are_copied_exactly_and_the_callers_arrays_stay_free():
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    d = Demonstrations(x, y, "a", {"act": np.arange(3, dtype=np.int8)})
    x[0, 0], y[0] = 99.0, 99.0
    assert x.flags.writeable
    assert d.x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert d.y.tolist() == [0, 1, 2]
    assert d.payload["act"].dtype == np.int8
    for array in (d.x, d.y, d.payload["act"]):
        assert not array.flags.writeable
        assert array.flags.c_contiguous
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"cannot assign"):
        d.name = "b"
    with pytest.raises(TypeError, match=r"does not support item assignment"):
        d.payload["new"] = 1


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([[1], [2]], np.float16), np.float32),
        (np.array([[1], [2]], np.float32), np.float32),
        (np.array([[1], [2]], np.float64), np.float64),
        (np.array([[1], [2]], ">f4"), np.float32),
        (np.array([[1], [2]], ">i8"), np.float64),
        (np.array([[1], [2]], np.uint64), np.float64),
        ([[True], [2]], np.float64),
        ([1, 2], np.float64),
        (np.array([[1, 9], [2, 9]])[:, :1], np.float64),
        (np.ma.masked_array([[1.0], [2.0]], False), np.float64),
    ],
)
def test_accepted_types(values, dtype):
    d = Demonstrations(values, values if np.ndim(values) == 1 else [1, 2], "a")
    assert d.x.dtype == dtype
    assert d.x.dtype.isnative
    assert d.x.tolist() == [[1.0], [2.0]]
    assert d.y.dtype == np.float64


def test_read_only_and_transposed_arrays_are_accepted():
    x = np.arange(6.0).reshape(2, 3).T
    x.flags.writeable = False
    assert Demonstrations(x, [1, 2, 3], "a").x.tolist() == x.tolist()


@pytest.mark.parametrize("n", [0, 1])
def test_no_rows_and_one_row_work_throughout(n):
    d = Demonstrations(np.ones((n, 3)), np.ones(n), "few", {"p": np.ones((n, 2))})
    assert (d.n, len(d), d.dim) == (n, n, 3)
    assert len(list(d.blocks())) == n
    assert len(d.digest) == 64
    x, y, used = d.draw(np.random.default_rng(0), 2, 4)
    assert x.shape == (2, 4, 3)
    assert used.sum() == 2 * n
    assert y.sum() == 2 * n
    kept, out = d.split(np.random.default_rng(0), 0.5)
    assert (kept.n, out.n) == (n, 0)
    moved = d.transformed(Trim(), Sqrt(), RankNormal(), Standardise())
    assert moved.n == n
    assert np.allclose(moved.original_y, 1.0)
    assert "few" in repr(d)


def test_digest_depends_on_everything():
    base = some(payload={"p": np.arange(10)})
    fields = {"x": base.x, "y": base.y, "name": "some", "payload": dict(base.payload)}
    other = [
        {**fields, "x": base.x + 1},
        {**fields, "x": base.x.astype(np.float32)},
        {**fields, "y": base.y + 1},
        {**fields, "name": "other"},
        {**fields, "payload": {}},
        {**fields, "payload": {"q": np.arange(10)}},
        {**fields, "payload": {"p": np.arange(10, dtype=np.int32)}},
        {**fields, "x_names": ("a", "b", "c")},
        {**fields, "y_name": "r"},
        {**fields, "transforms": (Standardise(0.0, 1.0),)},
    ]
    digests = {base.digest, *(Demonstrations(**each).digest for each in other)}
    assert len(digests) == 1 + len(other)
    assert Demonstrations(**fields).digest == base.digest


def test_blocks_give_every_row_once_in_order():
    d = some(10)
    blocks = list(d.blocks(4))
    assert [len(y) for _, y in blocks] == [4, 4, 2]
    assert np.array_equal(np.concatenate([x for x, _ in blocks]), d.x)
    assert np.array_equal(np.concatenate([y for _, y in blocks]), d.y)
    with pytest.raises(ConfigError, match=r"rows must be a whole number of at least 1; got 0"):
        next(d.blocks(0))


def test_split_is_disjoint_complete_and_keeps_payload_beside_its_row():
    d = Demonstrations(np.arange(100), np.arange(100), "a", {"p": np.arange(100)})
    kept, out = d.split(np.random.default_rng(1), 0.2)
    assert (kept.n, out.n) == (80, 20)
    assert sorted([*kept.y, *out.y]) == list(range(100))
    for part in (kept, out):
        assert np.array_equal(part.x[:, 0], part.y)
        assert np.array_equal(part.payload["p"], part.y)
        assert not part.x.flags.writeable
    again, _ = d.split(np.random.default_rng(2), 0.2)
    assert again.y.tolist() != kept.y.tolist()


def test_split_gives_both_parts_a_row_and_refuses_a_bad_fraction():
    kept, out = some(10).split(np.random.default_rng(0), 0.999)
    assert (kept.n, out.n) == (1, 9)
    assert some(10).split(np.random.default_rng(0), 0.0)[0].n == 10
    with pytest.raises(ConfigError, match=r"fraction must lie between 0 and 1; got 1.5"):
        some(10).split(np.random.default_rng(0), 1.5)


def test_take_accepts_numbers_masks_slices_and_nothing():
    d = some(5)
    assert np.array_equal(d.take([4, 0]).y, d.y[[4, 0]])
    assert np.array_equal(d.take(d.y > 0.5).y, d.y[d.y > 0.5])
    assert np.array_equal(d.take(slice(1, 3)).x, d.x[1:3])
    assert d.take([]).n == 0
    with pytest.raises(DataError, match=r"row 7 is out of range; there are 5"):
        d.take([7])


def test_transforms_are_fitted_applied_remembered_and_undone():
    y = np.array([0.0, 1.0, 4.0, 9.0, 1e6])
    d = Demonstrations(np.arange(5), y, "a", {"p": np.arange(5)})
    moved = d.transformed(Trim(0.0, 0.8), Sqrt()).transformed(Standardise())
    assert [t.name for t in moved.transforms] == ["trim", "sqrt", "standardise"]
    assert moved.payload["p"].tolist() == [0, 1, 2, 3]
    assert moved.y.mean() == pytest.approx(0, abs=1e-12)
    assert moved.y.std() == pytest.approx(1)
    assert moved.original_y == pytest.approx([0, 1, 4, 9], rel=1e-12, abs=1e-12)
    assert d.transforms == ()
    fresh = Demonstrations([9], [4.0], "b").transformed(*moved.transforms[1:])
    assert fresh.original_y == pytest.approx([4.0])
    with pytest.raises(ConfigError, match=r"'log' is not a transform; use one of sqrt"):
        d.transformed("log")
    with pytest.raises(DataError, match=r"transforms must hold fitted transforms; got Standardise"):
        Demonstrations([1], [1], "a", transforms=(Standardise(),))


def test_dropping_says_how_many():
    x = np.array([[1.0], [np.nan], [3.0], [4.0]])
    y = [1.0, 2.0, np.inf, 1e200]
    with pytest.warns(DataWarning, match=r"'a': dropped 3 of 4 rows"):
        d = Demonstrations.build(x, y, "a", payload={"p": [1, 2, 3, 4]}, drop_nonfinite=True)
    assert d.y.tolist() == [1.0]
    assert d.payload["p"].tolist() == [1]


def test_copies_and_pickles_are_equal_and_read_only():
    d = some(payload={"p": np.arange(10)}).transformed(Sqrt())
    for other in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d), copy.copy(d)):
        assert other.digest == d.digest
        assert not other.x.flags.writeable
        assert not other.payload["p"].flags.writeable


def test_repr_is_short_and_safe_whatever_the_name():
    text = repr(some().renamed("<b>" + "\x1b[31m\n\u202e" + "x" * 10_000))
    assert len(text) < 150
    assert text.isprintable()
    assert r"\x1b[31m\n\u202e" in text
    assert "n=10, k=3, y " in text


def test_transitions_default_inputs_and_payload():
    s = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    d = Demonstrations.from_transitions(
        s, np.array([0, 2, 1]), [1, 2, 3], s + 1, [False, False, True], [0, 0, 0], name="a"
    )
    assert d.x.shape == (3, 4 + 3 + 4)
    assert d.x.dtype == np.float32
    assert d.x[1].tolist() == [4, 5, 6, 7, 0, 0, 1, 5, 6, 7, 8]
    assert d.x_names[:5] == (*(f"observation.{j}" for j in range(4)), "action.0")
    assert list(d.payload) == [
        "observation",
        "action",
        "reward",
        "next_observation",
        "terminated",
        "truncated",
    ]
    assert d.payload["observation"].shape == (3, 2, 2)
    assert d.payload["terminated"].dtype == bool
    assert d.y.tolist() == [1, 2, 3]


def test_transitions_with_inputs_and_with_more_actions():
    steps = ([[0.0], [1.0]], [0, 1], [1.0, 2.0], [[1.0], [2.0]], [0, 1], [0, 0])
    own = Demonstrations.from_transitions(*steps, name="a", inputs=lambda s, a, t: t - s)
    assert own.x.tolist() == [[1.0], [1.0]]
    wide = Demonstrations.from_transitions(*steps, name="a", n_actions=4)
    assert wide.dim == 6
    real = Demonstrations.from_transitions(steps[0], [[0.5], [0.7]], *steps[2:], name="a")
    assert real.x.tolist() == [[0.0, 0.5, 1.0], [1.0, 0.7, 2.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"action": [0, 5]},
            "column 'action': 1 actions do not lie in 0 ... 1, the first in row 1",
        ),
        ({"action": [-1, 0]}, "the first in row 0"),
        ({"reward": [[1.0], [2.0]]}, "reward must have shape"),
        ({"observation": [[1.0]]}, "payload 'observation' has shape"),
    ],
)
def test_bad_transitions_are_named(change, message):
    steps = {
        "observation": [[0.0], [1.0]],
        "action": [0, 1],
        "reward": [1.0, 2.0],
        "next_observation": [[1.0], [2.0]],
        "terminated": [0, 1],
        "truncated": [0, 0],
    }
    with pytest.raises(DataError, match=message):
        Demonstrations.from_transitions(**{**steps, **change}, name="a", n_actions=2)


def test_transition_options_that_do_not_go_together():
    steps = ([[0.0]], [[0.5]], [1.0], [[1.0]], [0], [0])
    with pytest.raises(ConfigError, match=r"Leave n_actions out"):
        Demonstrations.from_transitions(*steps, name="a", n_actions=2)
    with pytest.raises(ConfigError, match=r"n_actions has no effect"):
        Demonstrations.from_transitions(*steps, name="a", n_actions=2, inputs=lambda *a: a[0])


def test_drawing_is_fast_enough_for_training():
    d = some(10_000, 8)
    rng = np.random.default_rng(0)
    best = min(_timed(lambda: d.draw(rng, 100, 64)) for _ in range(20))
    assert best < 0.01


def _timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
