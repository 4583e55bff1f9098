"""What a model of the reward is shown of a transition, where nobody says anything better.

Enters: states, actions and next states, as rows of numbers. Leaves: one row of numbers each. The
weights are right where the reward is close to additive in these numbers, so whoever knows what is
paid for (trucks, clicks, litres) should hand in a function that counts it.
"""

import numpy as np
from jaxtyping import Float, Float32, Num


def with_products(
    s_tm1: Num[np.ndarray, "n k"], a_tm1: Float[np.ndarray, "n A"], s_t: Num[np.ndarray, "n k"]
) -> Float32[np.ndarray, "n inputs"]:
    """State, next state, action, and every product of a state's entry with an action's.

    Most rewards are a price times how much is done, and how much is done is often a share of what
    is there; so products do what no single entry does.

    >>> one = np.array([[2.0, 3.0]])
    >>> with_products(one, np.array([[0.5]]), one + 1).tolist()
    [[2.0, 3.0, 3.0, 4.0, 0.5, 1.0, 1.5]]
    """
    products = (s_tm1[:, :, None] * a_tm1[:, None, :]).reshape(len(s_tm1), -1)
    return np.concatenate([s_tm1, s_t, a_tm1, products], axis=1, dtype=np.float32)


def with_squares(
    s_tm1: Num[np.ndarray, "n k"], a_tm1: Float[np.ndarray, "n A"], s_t: Num[np.ndarray, "n k"]
) -> Float32[np.ndarray, "n inputs"]:
    """The same, and the square of every entry: most other rewards are the squared distance from
    where somebody wants to be.

    >>> one = np.array([[2.0]])
    >>> with_squares(one, np.array([[0.5]]), one + 1).tolist()
    [[2.0, 3.0, 0.5, 1.0, 4.0, 9.0, 0.25]]
    """
    plain = with_products(s_tm1, a_tm1, s_t)
    squares = [np.square(part, dtype=np.float32) for part in (s_tm1, s_t, a_tm1)]
    return np.concatenate([plain, *squares], axis=1)
