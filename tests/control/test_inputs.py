"""What a model of rewards sees, where nobody says better."""

import numpy as np

from bers.control.inputs import with_products
from bers.problems.supply_chain import SupplyChain
from bers.problems.supply_inputs import one_hot_stocks


def test_a_price_times_what_is_moved_is_linear_in_the_products():
    rng = np.random.default_rng(0)
    s, a = rng.uniform(0, 9, (400, 3)), rng.uniform(0, 1, (400, 2))
    later = s + rng.normal(size=s.shape)
    prices = rng.normal(size=(3, 2))
    reward = np.einsum("nk,kj,nj->n", s, prices, a) - 0.3 * later[:, 1]
    x = with_products(s, a, later)
    assert x.shape == (400, 3 + 3 + 2 + 6)
    assert x.dtype == np.float32
    w, *_ = np.linalg.lstsq(x.astype(float), reward, rcond=None)
    np.testing.assert_allclose(x @ w, reward, atol=1e-4)
    alone, *_ = np.linalg.lstsq(x[:, :8].astype(float), reward, rcond=None)
    assert np.std(x[:, :8] @ alone - reward) > 0.1  # not without them


def test_stocks_one_hot():
    s, a = np.array([[0, 50, 3]] * 2), np.full((2, 4), 0.25, np.float32)
    x = one_hot_stocks(s, a, s + np.array([[1, -1, 0]]), config=SupplyChain())
    assert x.shape == (2, 2 * 3 * 51 + 4)
    assert np.flatnonzero(x[0]).tolist() == [0, 101, 105, 154, 253, 258, 306, 307, 308, 309]
