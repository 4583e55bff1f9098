"""Points chosen side by side."""

from dataclasses import replace

import numpy as np
import pytest

from bers.model.plate import Plate
from bers.model.process import _OFFSET, correlation, family, with_guesses


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    sources = []
    for at in ([0.3, 0.4], [0.5, 0.3], [0.4, 0.6], [0.6, 0.5]):
        x = rng.random((25, 2))
        sources.append((x, ((x - at) ** 2).sum(axis=1)))
    return family(sources)


AT = np.array([[0.1, 0.2], [0.8, 0.7], [0.5, 0.5], [0.2, 0.9]])
Y = np.array([3.0, 2.0, 0.5, 7.0])


def grown(belief, x, z):
    """The same hypotheses, as likely as before, with one more row."""
    at = belief.family.places(np.vstack([belief.at.x, x]))
    each, processes, factors = at.k @ belief.family.heads, [], []
    for one in belief.processes:
        K = one.common * at.common @ at.common.T + one.noise * np.eye(len(at.x)) + _OFFSET
        factors.append(np.linalg.cholesky(K + one.residual * correlation(at.x, at.x, one.lengths)))
        kinds = {"informed": at.mean[:, None], "near": each, "neutral": np.zeros((len(at.x), 1))}
        processes.append(replace(one, mean=kinds[one.kind]))
    more = {"at": at, "z": np.append(belief.z, z), "factors": np.array(factors)}
    return replace(belief, processes=tuple(processes), **more)


@pytest.mark.parametrize("alone", [False, True])
def test_a_supposed_value_is_a_row_of_every_process(found, alone):
    belief = found.observe(AT, Y)
    x = np.random.default_rng(1).random((30, 2))
    plate = Plate(belief, found.places(x))
    now = belief.alone if alone else belief
    np.testing.assert_array_equal(plate.improvement(alone=alone), now.improvement(x))
    for i in (7, 22):
        y, _ = belief.predict(x[[i]])
        z = max(float((belief.warp.to(y)[0] - belief.loc) / belief.unit), float(belief.z.min()))
        belief = grown(belief, x[[i]], z)
        plate.suppose(i)
        now = belief.alone if alone else belief
        np.testing.assert_allclose(plate.improvement(alone=alone), now.improvement(x), rtol=1e-6)


def test_it_chooses_much_as_if_guesses_were_evidence(found):
    belief = found.observe(AT, Y)
    x = np.random.default_rng(2).random((200, 2))
    plate = Plate(belief, found.places(x))
    chosen, open_ = [], np.ones(200, bool)
    for _ in range(4):
        there = np.where(open_, with_guesses(belief, x[chosen]).improvement(x), 0)
        chosen.append(int(np.argmax(np.where(open_, plate.improvement(), 0))))
        assert there[chosen[-1]] >= 0.5 * there.max()
        plate.suppose(chosen[-1])
        open_[chosen[-1]] = False
