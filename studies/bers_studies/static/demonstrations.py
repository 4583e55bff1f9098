"""The paper's static benchmark: demonstrations of Differential Evolution on test functions.

Enters: a test function and a generator. Leaves: every point that Differential Evolution
evaluated until it reached a fitness, with log(1 + value) as the label, as in the paper.
"""

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Log1p
from bers.learners.differential_evolution import DE, DifferentialEvolution
from bers_studies.static.functions import HIGH, LOW, Function

DIMENSION = 10
BOUNDS = [(LOW, HIGH)] * DIMENSION
IN_PLACE = DE(updating="immediate")
"""The paper's Differential Evolution, for runs that are made generation by generation."""


def demonstrate(
    rng: np.random.Generator,
    function: Function,
    *,
    fitness: float = 0.15,
    max_generations: int = 2000,
    config: DE | None = None,
) -> Demonstrations:
    """All evaluations of one run, until the best value is at most `fitness`.

    >>> from bers_studies.static.functions import SPHERE
    >>> demonstrate(np.random.default_rng(0), SPHERE).original_y.min() <= 0.15
    np.True_
    """
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    learner = DifferentialEvolution(function, low, high, config or DE())
    agents = learner.start(rng)
    x, y = [agents.x], [agents.f]
    for _ in range(max_generations):
        if agents.f.min() <= fitness:
            break
        agents, seen = learner.iterate(rng, agents)
        x.append(seen.x)
        y.append(seen.y)
    points = Demonstrations(np.concatenate(x), np.concatenate(y), function.name)
    return points.transformed(Log1p())
