"""The heads of several sources as the prior of each of them, and of a new one."""

import time

import numpy as np
import pytest

from bers import ModelConfig
from bers.errors import DataError
from bers.model import nig
from bers.model.pooling import average, joined, pool, population

D = 6


def _features(rng, n, d=D):
    return np.hstack([rng.standard_normal((n, d - 1)), np.ones((n, 1))])


def _rows(rng, n, w, noise=0.3):
    Phi = _features(rng, n, len(w))
    return nig.summarise(Phi, Phi @ w + noise * rng.standard_normal(n))


def _world(seed=0, d=D):
    """Heads around (1, 2, 3, ...): wide in the first weight, narrow in the others."""
    rng = np.random.default_rng(seed)
    spread = np.r_[1.0, np.full(d - 1, 0.01)]
    return rng, lambda: np.arange(1.0, d + 1) + spread * rng.standard_normal(d)


def test_the_population_is_found():
    rng, draw = _world()
    rows = joined([_rows(rng, 40, draw()) for _ in range(150)])
    found = population(rows, tau=1e-3).prior()
    np.testing.assert_allclose(found.mu, np.arange(1, D + 1), atol=0.25)
    noise = float(found.beta / (found.alpha - 1))
    assert noise == pytest.approx(0.3**2, rel=0.15)
    spread = np.sqrt(np.diagonal(found.Sigma) * noise)
    assert spread[0] == pytest.approx(1, rel=0.25)
    assert (spread[1:] < 0.1).all()


def test_an_average_is_exact():
    """Shares are the odds times the evidence of each prior, and the total is their mean."""
    rng = np.random.default_rng(0)
    rows = _rows(rng, 5, np.ones(2))
    both = [nig.prior(2), nig.prior(2, weight_precision=10.0)]
    found = average(nig.stack(both), rows, np.log([1.0, 3.0]))
    evidence = [nig.log_evidence(p, nig.condition(p, rows)) for p in both]
    joint = np.exp(evidence) * [0.25, 0.75]
    np.testing.assert_allclose(found.share, joint / joint.sum())
    assert found.log_evidence == pytest.approx(np.log(joint.sum()))
    Phi = _features(rng, 3, 2)
    mean, std = found.predict(Phi)
    ts = [nig.predict(nig.condition(p, rows), Phi) for p in both]
    np.testing.assert_allclose(mean, found.share @ [t.mean for t in ts])
    assert (std >= np.sqrt(found.share @ [t.std**2 for t in ts])).all()


def test_one_head_for_an_average_keeps_mean_and_covariance():
    rng = np.random.default_rng(0)
    priors = nig.stack([nig.prior(3), nig.prior(3, weight_precision=5.0, bias_mean=2.0)])
    found = average(priors, _rows(rng, 4, np.ones(3)))
    noise = found.heads.beta / found.heads.alpha
    far = found.heads.mu - found.share @ found.heads.mu
    covariance = np.einsum("k,kij->ij", found.share * noise, found.heads.Sigma)
    covariance += np.einsum("k,ki,kj->ij", found.share, far, far)
    head = found.head
    np.testing.assert_allclose(head.mu, found.share @ found.heads.mu)
    np.testing.assert_allclose(head.Sigma * head.beta / head.alpha, covariance)
    assert (np.diagonal(head.U) > 0).all()


@pytest.mark.parametrize("sources", [2, 3, 15, 139])
def test_a_new_source_with_few_rows_starts_from_the_others(sources):
    rng, draw = _world(sources)
    known = pool([_rows(rng, 100, draw()) for _ in range(sources)], config=ModelConfig())
    pooled, alone = [], []
    for _ in range(20):
        w = draw()
        rows = _rows(rng, 4, w)
        found = known.new(rows)
        pooled.append(np.sum((found.head.mu - w) ** 2))
        single = pool([rows], config=ModelConfig()).heads[0]
        alone.append(np.sum((single.head.mu - w) ** 2))
    assert np.mean(pooled) < 0.2 * np.mean(alone)


def test_a_source_unlike_the_others_is_left_alone():
    rng, draw = _world()
    known = pool([_rows(rng, 100, draw()) for _ in range(8)], config=ModelConfig())
    w = np.array([3.0, -9.0, 0.0, 4.0, -7.0, 100.0])
    rows = _rows(rng, 30, w)
    found = known.new(rows)
    np.testing.assert_allclose(found.head.mu, w, atol=0.5)
    assert found.share @ known.informed[found.which] < 0.5


def test_sources_in_other_units_help():
    """Each source has a unit and an offset of its own; shared units say nothing."""
    rng, draw = _world()

    def in_units(n, w, unit, offset):
        Phi = _features(rng, n)
        return nig.summarise(Phi, offset + unit * (Phi @ w + 0.3 * rng.standard_normal(n)))

    many = [in_units(100, draw(), 10.0**k, 1000.0 * k) for k in range(-3, 4)]
    known = pool(many, config=ModelConfig())
    w = draw()
    found = known.new(in_units(9, w, 1e5, -7e6))
    assert found.share[found.which < 4].sum() < 0.01
    slopes = found.head.mu[:-1] / 1e5
    assert np.abs(slopes - w[:-1]).max() < 1.5


def test_the_rows_of_a_source_are_left_out_of_its_own_prior():
    rng, draw = _world()
    rows = [_rows(rng, 50, draw()) for _ in range(3)]
    every = population(joined(rows), tau=1e-2)
    far = _rows(rng, 5000, np.full(D, 50.0))
    with_far = population(joined([*rows, far]), tau=1e-2)
    np.testing.assert_allclose(with_far.prior(without=3).mu, every.prior().mu, atol=0.5)
    assert np.abs(with_far.prior().mu - every.prior().mu).max() > 3


def test_without_rows_the_population_speaks():
    rng, draw = _world()
    known = pool([_rows(rng, 60, draw()) for _ in range(20)], config=ModelConfig())
    mean, std = known.new().predict(np.eye(D))
    np.testing.assert_allclose(mean, np.arange(1, D + 1), atol=0.7)
    assert std[0] > 2 * std[1]


def test_one_source_alone_has_neutral_priors_only():
    rng, draw = _world()
    known = pool([_rows(rng, 30, draw())], config=ModelConfig())
    assert not known.informed[known.heads[0].which].any()
    again = known.new(_rows(rng, 30, draw()), without=0)
    assert not known.informed[again.which].any()


@pytest.mark.parametrize("labels", ["standardised", "raw"])
def test_empty_and_constant_sources_are_taken(labels):
    rng, draw = _world()
    Phi = _features(rng, 9)
    odd = [nig.empty(D), nig.summarise(Phi, np.full(9, 5.0)), nig.summarise(Phi[:1], np.ones(1))]
    known = pool([*odd, _rows(rng, 40, draw())], config=ModelConfig(labels=labels))
    for head in known.heads:
        mean, _ = head.predict(Phi)
        assert np.isfinite(mean).all()


def test_an_offset_common_to_all_labels_costs_nothing():
    rng, draw = _world()
    Phi, w = [_features(rng, 20) for _ in range(5)], [draw() for _ in range(5)]
    y = [P @ v + 0.3 * rng.standard_normal(20) for P, v in zip(Phi, w, strict=True)]
    plain = pool([nig.summarise(P, v) for P, v in zip(Phi, y, strict=True)], config=ModelConfig())
    moved = pool(
        [nig.summarise(P, 1e4 + 10 * v) for P, v in zip(Phi, y, strict=True)],
        config=ModelConfig(),
    )
    for one, other in zip(plain.heads, moved.heads, strict=True):
        np.testing.assert_allclose(other.predict(Phi[0])[0], 1e4 + 10 * one.predict(Phi[0])[0],
                                   rtol=1e-6)  # fmt: skip


def test_a_thousand_sources_take_seconds():
    rng, draw = _world(d=20)
    rows = [_rows(rng, 30, draw()) for _ in range(1000)]
    start = time.process_time()
    known = pool(rows, config=ModelConfig())
    assert time.process_time() - start < 60
    assert len(known.heads) == 1000
    assert len(known.speakers) == 200


def test_no_source_is_refused():
    with pytest.raises(DataError, match="at least one source; got none. Give a summary"):
        pool([], config=ModelConfig())


def test_the_mean_of_those_it_is_like_is_a_prior_of_its_own():
    rng = np.random.default_rng(3)
    heads = [2 * rng.standard_normal(12) for _ in range(6)]
    found = pool([_rows(rng, 400, w) for w in heads], config=ModelConfig())
    few = _rows(rng, 12, 0.5 * (heads[0] + heads[1]))
    like = np.array([0.6, 0.2, 0, 0, 0, 0])
    one, two = (len(found.priors(few, like=a)[0].mu) for a in (np.eye(6)[0], like))
    assert two == one + 4 + 4  # around the second source, and around both
    priors, log_odds, cost = found.priors(few, like=like)
    assert len(priors.mu) == len(log_odds) == len(cost)
    unit = found.label_scale(few)
    own = [
        (head - np.eye(12)[-1] * scale.loc) / scale.scale
        for head, scale in zip(heads, found.scales, strict=False)
    ]
    expected = (0.75 * own[0] + 0.25 * own[1]) * unit.scale
    expected[-1] += unit.loc
    near = np.abs(priors.mu - expected).max(axis=1)
    assert np.sort(near)[:4] == pytest.approx(np.zeros(4), abs=0.15)
    assert np.exp(log_odds[np.argsort(near)[:4]]).sum() == pytest.approx(0.8)


def test_rows_left_out_are_foretold_as_without_them():
    rng = np.random.default_rng(3)
    Phi, y = np.c_[rng.normal(size=(7, 2)), np.ones(7)], rng.normal(size=7)
    priors = nig.stack([nig.prior(3), nig.prior(3, weight_precision=9.0, bias_mean=2.0)])
    whole = average(priors, nig.summarise(Phi, y))
    expected = []
    for i in range(7):
        rest = np.arange(7) != i
        without = nig.condition(priors, nig.summarise(Phi[rest], y[rest]))
        expected.append(whole.share @ (without.mu[whole.which] @ Phi[i]))
    np.testing.assert_allclose(whole.left_out(Phi, y), expected, atol=1e-9)
