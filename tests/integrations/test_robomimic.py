"""Weights for robomimic."""

import json

import pytest

from bers.integrations.robomimic import robomimic_weights
from bers.trust.ranking import RankedSource, Ranking


def test_each_data_set_has_its_path_and_weight():
    lines = (RankedSource("alice", 0.2), RankedSource("bob", 0.7), RankedSource("bob", 0.0))
    text = robomimic_weights(Ranking(lines, "new", 9), ["a.hdf5", "b/ü.hdf5", 'c".hdf5'])
    assert text.endswith("}\n")
    assert json.loads(text)["train"] == {
        "data": [
            {"path": "a.hdf5", "weight": 0.2},
            {"path": "b/ü.hdf5", "weight": 0.7},
            {"path": 'c".hdf5', "weight": 0.0},
        ],
        "normalize_weights_by_ds_size": True,
    }


def test_a_path_for_every_source():
    ranking = Ranking((RankedSource("alice", 1.0),), "new", 9)
    with pytest.raises(ValueError, match="shorter|longer"):
        robomimic_weights(ranking, [])
