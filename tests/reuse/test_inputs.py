"""What a model of rewards sees, where nobody says better."""

import numpy as np
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_inputs import one_hot_stocks

from bers.reuse.transitions import with_products, with_squares


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


def test_a_squared_distance_is_linear_in_the_squares():
    rng = np.random.default_rng(0)
    s, a = rng.normal(size=(300, 2)), rng.normal(size=(300, 1))
    later = s + rng.normal(size=s.shape)
    reward = -((later[:, 0] - 0.7) ** 2) - 0.1 * (s[:, 1] + 8) ** 2 - 0.01 * a[:, 0] ** 2
    x = np.column_stack([with_squares(s, a, later), np.ones(300)]).astype(float)
    assert x.shape == (300, 2 * 2 + 1 + 2 + 5 + 1)
    w, *_ = np.linalg.lstsq(x, reward, rcond=None)
    np.testing.assert_allclose(x @ w, reward, atol=1e-4)


def test_a_square_of_whole_numbers_does_not_wrap_around():
    s = np.full((1, 1), 200, np.uint8)
    assert with_squares(s, np.zeros((1, 1)), s)[0, -3:].tolist() == [40000, 40000, 0]


def test_stocks_one_hot():
    s, a = np.array([[0, 50, 3]] * 2), np.full((2, 4), 0.25, np.float32)
    x = one_hot_stocks(s, a, s + np.array([[1, -1, 0]]), config=SupplyChain())
    assert x.shape == (2, 2 * 3 * 51 + 4)
    assert np.flatnonzero(x[0]).tolist() == [0, 101, 105, 154, 253, 258, 306, 307, 308, 309]
