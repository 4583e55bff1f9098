"""The target's head: sources help it from the first rows on, and do not hold it back."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, Trust
from bers.errors import ConfigError
from bers.model import nig
from bers.model.pooling import pool

LINES = ModelConfig(hidden=(2,), latent_dim=1, batches=0, skip=True)


def lines(slopes, n=200, seed=0, noise=0.1):
    """Sources that are planes over eight inputs."""
    rng = np.random.default_rng(seed)
    for i, w in enumerate(slopes):
        x = rng.standard_normal((n, 8))
        yield Demonstrations(x, x @ w + noise * rng.standard_normal(n), f"s{i}")


def slopes(count, spread, seed=1):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(8)
    return [common + spread * rng.standard_normal(8) for _ in range(count)]


def error(trust, w, seed=9):
    x = np.random.default_rng(seed).standard_normal((500, 8))
    return float(np.sqrt(np.mean((trust.predict(x).mean - x @ w) ** 2)))


def seen(trust, w, n, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 8))
    return trust.observe(x, x @ w + 0.1 * rng.standard_normal(n))


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_what_sources_have_in_common_is_known_from_four_rows_on(count):
    *others, w = slopes(count + 1, 0.05)
    sources = list(lines(others))
    informed = seen(Trust(sources, model=LINES), w, 4)
    neutral = seen(Trust(sources, model=LINES, prior="neutral"), w, 4)
    assert error(informed, w) < 0.4
    assert error(informed, w) < 0.2 * error(neutral, w)


def test_the_one_source_that_is_right_among_many_is_leaned_on():
    others = slopes(12, 2.0)
    sources = list(lines(others))
    informed = seen(Trust(sources, model=LINES), others[7], 12)
    assert informed.weights.argmax() == 7
    assert error(informed, others[7]) < 0.3
    assert error(informed, others[7]) < 0.3 * error(
        seen(Trust(sources, model=LINES, prior="neutral"), others[7], 12), others[7]
    )


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("kind", ["turned", "noise", "constant"])
def test_sources_that_mislead_lose_their_say(count, kind):
    w = slopes(1, 0.0)[0]
    rng = np.random.default_rng(3)
    sources = []
    for one in lines([-w] * count):
        y = {"turned": one.y, "noise": rng.standard_normal(one.n), "constant": np.full(one.n, 2.0)}
        sources.append(Demonstrations(one.x, y[kind], one.name))
    both = [
        seen(Trust(sources, model=LINES, prior=prior), w, 40) for prior in ("sources", "neutral")
    ]
    informed, neutral = (np.hypot(error(trust, w), 0.1) for trust in both)  # of fresh labels
    assert informed < 1.05 * neutral


def test_other_units_of_the_target_do_not_matter():
    *others, w = slopes(6, 0.05)
    trust = Trust(list(lines(others)), model=LINES)
    rng = np.random.default_rng(5)
    x = rng.standard_normal((12, 8))
    y = x @ w + 0.1 * rng.standard_normal(12)
    plain = trust.observe(x, y).predict(x).mean
    other = trust.observe(x, 1e6 + 1e3 * y).predict(x).mean
    assert np.abs((other - 1e6) / 1e3 - plain).max() < 0.2


def test_rows_at_once_one_by_one_and_in_another_order_give_one_head():
    *others, w = slopes(4, 0.3)
    start = Trust(list(lines(others)), model=LINES)
    rng = np.random.default_rng(5)
    x = rng.standard_normal((9, 8))
    y = x @ w
    once = start.observe(x, y).head
    step = start
    for row, label in zip(x[::-1], y[::-1], strict=True):
        step = step.observe(row[None], [label])
    assert step.head.mu == pytest.approx(once.mu, abs=1e-9)
    assert step.head.Lam == pytest.approx(once.Lam, rel=1e-6)


def test_its_intervals_are_somewhat_narrow():
    """They take what sources have in common as known: of 90%, some 80% hold."""
    held, total = 0, 0
    for seed in range(12):
        *others, w = slopes(14, 0.3, seed=seed)
        rows = [nig.summarise(np.c_[s.x, np.ones(s.n)], s.y) for s in lines(others, 60, seed)]
        rng = np.random.default_rng(seed + 100)
        x, fresh = rng.standard_normal((2, 20, 8))
        few = nig.summarise(np.c_[x[:5], np.ones(5)], x[:5] @ w + 0.1 * rng.standard_normal(5))
        head = pool(rows, config=LINES).new(few, like=np.zeros(13)).head
        low, high = nig.predict(head, np.c_[fresh, np.ones(20)]).interval(0.9)
        y = fresh @ w + 0.1 * rng.standard_normal(20)
        held, total = held + int(np.sum((y > low) & (y < high))), total + 20
    assert 0.7 < held / total < 0.95


def test_a_saved_trust_has_the_same_head(tmp_path):
    *others, w = slopes(3, 0.3)
    sources = list(lines(others))
    trust = seen(Trust(sources, model=LINES), w, 6)
    trust.save(tmp_path / "t.bers")
    again = Trust.load(tmp_path / "t.bers", sources)
    assert again.head.mu.tobytes() == trust.head.mu.tobytes()
    assert again.head.beta == trust.head.beta


def test_the_paper_begins_at_zero_and_other_words_are_refused():
    *others, w = slopes(3, 0.05)
    sources = list(lines(others))
    trust = seen(Trust(sources, model=LINES, frozen=False), w, 4)
    assert trust.head.mu.tobytes() == trust.model.heads[-1].mu.tobytes()
    with pytest.raises(ConfigError, match='"sources" or "neutral"'):
        Trust(sources, model=LINES, prior="paper")
