"""Records of every kind that storage must keep to the bit, and how to compare them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Chain, RankNormal, Standardise

NUMBERS = st.floats(-1e150, 1e150, allow_subnormal=True)
NAMES = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12
)
SAFE_NAMES = NAMES.filter(lambda name: not name.startswith(("=", "+", "-", "@", "\t", "\r")))
TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@st.composite
def records(draw, names=NAMES, nan=True):
    """Any record: 0 to 6 rows, odd names, all types of payload, with NaN and infinities."""
    n, k = draw(st.integers(0, 6)), draw(st.integers(1, 4))
    if draw(st.booleans()):
        x = draw(arrays(np.float64, (n, k), elements=NUMBERS))
    else:
        x = draw(arrays(np.float32, (n, k), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
    y = draw(arrays(np.float64, n, elements=NUMBERS))
    columns = draw(st.lists(names, min_size=k + 1, max_size=k + 1, unique=True))
    payload = {}
    for name in draw(st.lists(names, max_size=3, unique=True)):
        shape = (n, *draw(array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)))
        values = draw(arrays(draw(st.sampled_from(TYPES)), shape))
        if values.dtype.kind == "f" and not nan:
            values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        payload[name] = values
    done = (Chain(Standardise(0.1, 0.3), RankNormal(labels=(0.1, 0.7), scores=(-1.0, 1 / 3))),)
    transforms = done if draw(st.booleans()) else ()
    name = draw(st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
    return Demonstrations(x, y, name, payload, transforms, tuple(columns[:-1]), columns[-1])


def same_bits(a, b):
    """Whether two records are equal in every bit of every field."""
    arrays = [(a.x, b.x), (a.y, b.y), *((a.payload[k], b.payload[k]) for k in a.payload)]
    return (
        a.digest == b.digest
        and list(a.payload) == list(b.payload)
        and (a.name, a.x_names, a.y_name, a.transforms)
        == (b.name, b.x_names, b.y_name, b.transforms)
        and all(
            p.dtype == q.dtype and p.shape == q.shape and p.tobytes() == q.tobytes()
            for p, q in arrays
        )
    )


def example(n=50, seed=0):
    """A plain record with payload and a transform."""
    rng = np.random.default_rng(seed)
    d = Demonstrations(
        rng.normal(size=(n, 3)),
        rng.uniform(1, 2, n),
        "alice",
        {"action": rng.integers(0, 4, n), "pixels": rng.normal(size=(n, 2, 2)).astype("f4")},
    )
    return d.transformed(Standardise())
