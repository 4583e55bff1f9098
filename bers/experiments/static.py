"""The paper's static benchmark: demonstrations of Differential Evolution on test functions.

Enters: a test function and a generator. Leaves: every point that Differential Evolution
evaluated until it reached a fitness, with log(1 + value) as the label, as in the paper.
"""

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Log1p
from bers.learners import differential_evolution as de
from bers.problems.functions import HIGH, LOW, Function

DIMENSION = 10


def demonstrate(
    rng: np.random.Generator,
    function: Function,
    *,
    fitness: float = 0.15,
    max_generations: int = 2000,
    config: de.DEConfig | None = None,
) -> Demonstrations:
    """All evaluations of one run, until the best value is at most `fitness`.

    >>> from bers.problems.functions import SPHERE
    >>> demonstrate(np.random.default_rng(0), SPHERE).original_y.min() <= 0.15
    np.True_
    """
    config = config or de.DEConfig()
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    agents = de.start(rng, function, low, high, config=config)
    x, y = [agents.x], [agents.f]
    for _ in range(max_generations):
        if agents.f.min() <= fitness:
            break
        agents, trials = de.generation(rng, agents, function, low, high, config=config)
        x.append(trials.x)
        y.append(trials.f)
    points = Demonstrations(np.concatenate(x), np.concatenate(y), function.name)
    return points.transformed(Log1p())
