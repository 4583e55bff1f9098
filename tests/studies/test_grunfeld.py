"""Real firms. The stored results are of the default model; here a small one shows that it works."""

import numpy as np
from bers_studies.grunfeld.study import GrunfeldConfig, firms, trial

from bers import ModelConfig


def test_the_data_are_eleven_firms_of_twenty_years():
    every = firms()
    assert len(every) == 11
    assert {firm.n for firm in every} == {20}
    assert every[0].name == "General Motors"
    np.testing.assert_allclose(every[0].y[:2], [317.6, 391.8])


def test_a_ranked_mixture_beats_equal_weights():
    small = ModelConfig(hidden=(32,), latent_dim=8, batches=300, learning_rate=3e-3)
    config = GrunfeldConfig(("every other",), ("odds", "function"), small)
    records = [record for firm in range(11) for record in trial(config, firm)]
    better = {
        rule: [r["error"] < r["equal"] for r in records if r["rule"] == rule]
        for rule in ("odds", "function")
    }
    assert {len(found) for found in better.values()} == {11}
    assert sum(better["function"]) >= 8
    assert sum(better["odds"]) >= 8
