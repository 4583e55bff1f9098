import numpy as np
import pytest

from bers import Demonstrations, ModelConfig
from bers.errors import DataError
from bers.model.scaling import LabelScale, Memory, input_scale, label_scales


def _source(name, n, k=2, seed=0, loc=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    return Demonstrations(rng.uniform(-1, 1, (n, k)), loc + scale * rng.standard_normal(n), name)


def test_input_statistics_are_pooled_over_all_rows():
    first, second = _source("a", 1000, seed=1), _source("b", 70_000, seed=2)
    x = np.concatenate([first.x, second.x])
    scale = input_scale([first, second], memory=Memory())
    np.testing.assert_allclose(scale.mean, x.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(scale.spread, x.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale.standardise(x).std(axis=0), 1, rtol=1e-5)


def test_a_constant_column_becomes_zero():
    x = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    scale = input_scale([Demonstrations(x, np.zeros(10), "a")], memory=Memory())
    assert scale.spread[0] == 1
    np.testing.assert_allclose(scale.standardise(x)[:, 0], 0, atol=1e-7)


def test_a_large_offset_of_the_inputs_does_not_drown_them():
    x = 1e9 + np.linspace(0, 1, 100)[:, None]
    z = input_scale([Demonstrations(x, x[:, 0], "a")], memory=Memory()).standardise(x)[:, 0]
    assert len(np.unique(z)) == 100


def test_label_scales_are_each_sources_own():
    sources = [_source("a", 500, loc=5.0, scale=2.0), _source("b", 500, seed=3, scale=1e-6)]
    found = label_scales(sources, config=ModelConfig(), memory=Memory())
    for source, scale in zip(sources, found, strict=True):
        np.testing.assert_allclose([scale.loc, scale.scale], [source.y.mean(), source.y.std()])
    printed = label_scales(sources, config=ModelConfig.paper(), memory=Memory())
    assert printed == [LabelScale(), LabelScale()]


def test_few_constant_and_no_labels_borrow():
    known = [_source("a", 500, scale=2.0), _source("b", 500, seed=3, scale=4.0)]
    few = Demonstrations(np.zeros((2, 2)), [10.0, 10.1], "few")
    constant = Demonstrations(np.zeros((50, 2)), np.full(50, 1e6), "constant")
    nothing = Demonstrations(np.zeros((0, 2)), [], "nothing")
    scales = label_scales([*known, few, constant, nothing], config=ModelConfig(), memory=Memory())
    common = np.median([source.y.std() for source in known])
    assert scales[2] == LabelScale(10.05, common)
    assert scales[3] == LabelScale(1e6, common)
    assert scales[4].scale == common
    assert scales[4].loc == np.median([s.loc for s in scales[:4]])


def test_different_dimensions_name_both():
    with pytest.raises(DataError, match=r"'a' has shape \(5, 2\), 'b' has shape \(7, 3\)"):
        input_scale([_source("a", 5), _source("b", 7, k=3)], memory=Memory())
