"""`Trust`: pure, immutable, the same whichever way the rows come in, and kept on disk."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import bers
from bers import Demonstrations, ModelConfig, Trust
from bers.errors import ConfigError, DataError, FileError
from bers.model import nig
from bers.model.neural_linear import fit, refine
from bers.rules import Rule
from bers.transforms import LogGap, Standardise
from bers.trust.beliefs import beliefs
from bers.trust.rules import Past, weigh
from bers.trust.trust import JointTrust

SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
X = np.random.default_rng(0).uniform(-1, 1, (300, 3))


def _run(j, name, n=300, scale=1.0):
    return Demonstrations(X[:n], scale * np.sin(2 * X[:n, j]), name)


@pytest.fixture(scope="module")
def sources():
    return [_run(0, "alice"), _run(1, "bob"), _run(2, "carol")]


@pytest.fixture(scope="module")
def start(sources):
    return Trust(sources, model=SMALL, batches=2, rng=3)


@pytest.fixture(scope="module")
def seen(start):
    return start.observe(X[:80], 5 * np.sin(2 * X[:80, 1]) + 7)


def test_before_anything_is_seen_weights_are_equal(start):
    np.testing.assert_allclose(start.weights, [1 / 3] * 3)
    assert start.nobody == pytest.approx(0)
    assert start.names == ["alice", "bob", "carol"]
    assert not start.has_target
    assert start.target.n == 0
    assert repr(start) == (
        "Trust(alice: 0.33, bob: 0.33, carol: 0.33, nobody: 0.00; 0 rows of the target)"
    )


def test_the_right_source_is_believed_and_the_target_has_a_head(start, seen):
    assert seen.weights[1] > 0.9
    x = np.random.default_rng(5).uniform(-1, 1, (200, 3))
    truth = 5 * np.sin(2 * x[:, 1]) + 7
    left = truth - seen.predict(x).mean
    assert np.mean(left**2) < 0.1 * truth.var()
    by_head = nig.predict(seen.head, seen.model.features(x))
    np.testing.assert_array_equal(seen.relabel(x), by_head.mean)
    less = seen.relabel(x) - seen.relabel(x, pessimism=2.0)
    np.testing.assert_allclose(less, 2 * by_head.scale)


def test_it_never_changes(start, seen):
    before = seen.weights.copy(), seen.y.copy(), seen.model
    other = seen.observe(X[:50], -X[:50, 0])
    np.testing.assert_array_equal(seen.weights, before[0])
    np.testing.assert_array_equal(seen.y, before[1])
    assert seen.model is before[2]
    assert len(other.y) == 130
    assert start.model.names == ("alice", "bob", "carol")
    with pytest.raises(AttributeError, match="a Trust never changes"):
        seen.weights = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        seen.weights[0] = 1.0


def test_observing_twice_gives_the_same_bits(start, seen):
    again = start.observe(X[:80], 5 * np.sin(2 * X[:80, 1]) + 7)
    np.testing.assert_array_equal(again.weights, seen.weights)
    np.testing.assert_array_equal(again.model.heads.mu, seen.model.heads.mu)
    fresh = Trust(seen.sources, model=SMALL, batches=2, rng=3)
    fresh = fresh.observe(X[:80], 5 * np.sin(2 * X[:80, 1]) + 7)
    np.testing.assert_array_equal(fresh.weights, seen.weights)


def test_rows_in_parts_are_the_rows_at_once_where_the_encoder_stays(sources):
    start = Trust(sources, model=SMALL, batches=0)
    y = np.sin(2 * X[:90, 0]) + 0.1
    whole = start.observe(X[:90], y)
    parts = start.observe(X[:10], y[:10]).observe(X[10:60], y[10:60]).observe(X[60:90], y[60:])
    np.testing.assert_array_equal(parts.model.heads.mu, whole.model.heads.mu)
    np.testing.assert_array_equal(parts.weights, whole.weights)


def test_it_is_refine_beliefs_and_weigh(sources):
    """The step of Algorithm 1, written out."""
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    trust = Trust(sources, model=SMALL, batches=3, frozen=False, subset=50, rng=rng)
    x, y = X[:40], np.sin(2 * X[:40, 2])
    trust = trust.observe(x, y)
    model = fit(sources, config=SMALL, rng=other, progress=False)
    target = Demonstrations(x, y, "target")
    model = refine(model, [*sources, target], batches=3, subset=50, rng=other, progress=False)
    known = beliefs(model, target, subset=50)
    np.testing.assert_array_equal(trust.weights, weigh(known, "odds"))
    np.testing.assert_array_equal(trust.model.heads.mu, model.heads.mu)
    for rule in ("affine", "evidence", "equal", "single:2"):
        np.testing.assert_array_equal(trust.weights_by(rule), weigh(known, rule))
    last = np.array([0.2, 0.3, 0.5])
    past = replace(Past.none(3), a=last)
    np.testing.assert_array_equal(
        trust.weights_by("gradient", last), weigh(known, "gradient", past)
    )


def test_rank_is_observe_and_ranking(sources):
    target = Demonstrations(X[:60], 3 * np.sin(2 * X[:60, 2]) - 1, "new")
    ranking = bers.rank(sources, target, model=SMALL, rng=4, draws=50)
    rng = np.random.default_rng(4)
    trust = Trust(sources, model=SMALL, rng=rng).observe(target)
    np.testing.assert_array_equal(ranking.weights, trust.weights)
    again = trust.ranking(draws=50, rng=rng)
    assert again.to_json() == ranking.to_json()
    assert again.target == "new"


def test_failed_rows_are_kept_and_left_out(start):
    y = np.sin(2 * X[:30, 0])
    y[[3, 7]] = np.nan, np.inf
    trust = start.observe(X[:30], y)
    assert len(trust.y) == 30
    assert trust.target.n == 28
    nothing = start.observe(X[:2], [np.nan, np.nan])
    np.testing.assert_array_equal(nothing.weights, start.weights)


def test_keep_remember_and_transform(sources):
    y = np.linspace(-2, 2, 60)
    trust = Trust(sources, model=SMALL, batches=0, keep=(-1.0, 1.0)).observe(X[:60], y)
    assert trust.target.n == np.sum(np.abs(y) <= 1)
    few = Trust(sources, model=SMALL, batches=0, remember=20).observe(X[:60], y)
    np.testing.assert_array_equal(few.y, y[-20:])
    np.testing.assert_array_equal(few.x, X[40:60])
    gap = Trust(sources, model=SMALL, batches=0, transform=LogGap()).observe(X[:60], y)
    assert [one.transforms[0].name for one in (*gap.sources, gap.target)] == ["log_gap"] * 4
    np.testing.assert_allclose(gap.target.original_y, y)
    by_head = gap.model.features(X[:60]) @ gap.head.mu
    np.testing.assert_allclose(
        gap.relabel(X[:60]), gap.target.transforms[0].inverse(by_head)
    )  # in the target's own units
    # a source of rows goes through the same transform, in its own units
    rows = Demonstrations(X[:60], y, "new").transformed(Standardise())
    other = Trust(sources, model=SMALL, batches=0, transform=LogGap()).observe(rows)
    np.testing.assert_allclose(other.weights, gap.weights)


def test_a_rule_that_looks_at_no_posterior_has_a_model_only_where_it_is_asked_for(sources):
    for rule in ("equal", "single:1"):
        blind = Trust(sources, rule=rule, predicts=False).observe(X[:20], X[:20, 0])
        assert blind.model is None
        with pytest.raises(ConfigError, match=r"there is no model here: Trust\(predicts=True\)"):
            blind.predict(X)
        with pytest.raises(ConfigError, match="no model to rank by"):
            blind.ranking()
        with pytest.raises(ConfigError, match="the rule 'odds' needs a model"):
            blind.weights_by("odds")
        with_model = Trust(sources, rule=rule, model=SMALL).observe(X[:20], X[:20, 0])
        np.testing.assert_array_equal(with_model.weights, blind.weights)
        assert np.isfinite(with_model.relabel(X)).all()
        assert with_model.ranking().rule == rule


def test_ucb_learns_from_gains_and_is_refused_where_nobody_tells_them(sources):
    trust = Trust(sources, rule="ucb", predicts=False)
    for gain in (None, 0.0, 3.0, 0.0):
        trust = trust.observe(X[:5], X[:5, 0], gain=gain)
    assert trust.past.pulls.tolist() == [1, 1, 1]
    assert trust.past.gains.tolist() == [0, 3, 0]
    assert trust.weights.tolist() == [0, 1, 0]
    target = Demonstrations(X[:20], X[:20, 0], "new")
    with pytest.raises(ConfigError, match=r"brought: observe\(x, y, gain=...\)"):
        trust.observe(X[:5], X[:5, 0])
    for call in (
        lambda: bers.rank(sources, target, rule="ucb", model=SMALL),
        lambda: trust.weights_by("ucb"),
    ):
        with pytest.raises(ConfigError, match=r"'ucb' learns from what each choice .* brought"):
            call()


def test_a_rule_of_ones_own(sources):
    mine = Rule("worst", lambda known, past: np.eye(known.N)[int(np.argmax(known.rows))])
    trust = Trust(sources, rule=mine, model=SMALL, batches=0).observe(X[:20], X[:20, 1])
    assert trust.weights.tolist() == [1, 0, 0]
    assert "by worst" in repr(trust.ranking())
    with pytest.raises(ConfigError, match=r"a rule of your own \(worst\) cannot be saved"):
        trust.save("nowhere.bers")


@pytest.mark.parametrize("rng", [7, "stream"])
def test_saved_and_loaded_it_goes_on_with_the_same_bits(sources, tmp_path, rng):
    rng = np.random.default_rng(7) if rng == "stream" else rng
    trust = Trust(sources, model=SMALL, batches=2, subset=64, transform=LogGap(), rng=rng)
    trust = trust.observe(X[:30], np.sin(2 * X[:30, 1]))
    trust.save(tmp_path / "t.bers")
    loaded = Trust.load(tmp_path / "t.bers", sources)
    np.testing.assert_array_equal(loaded.weights, trust.weights)
    assert loaded.ranking().to_json() == trust.ranking().to_json()
    more = X[30:60], np.sin(2 * X[30:60, 1])
    one, other = trust.observe(*more), loaded.observe(*more)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.model.heads.mu, other.model.heads.mu)


def test_files_that_do_not_fit_are_refused(seen, sources, tmp_path):
    seen.save(tmp_path / "t.bers")
    with pytest.raises(FileError, match="was saved with other sources"):
        Trust.load(tmp_path / "t.bers", sources[::-1])
    with pytest.raises(FileError, match="was saved with 3 sources; got 2"):
        Trust.load(tmp_path / "t.bers", sources[:2])
    content = bytearray((tmp_path / "t.bers").read_bytes())
    content[-5] ^= 1
    (tmp_path / "bad.bers").write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        Trust.load(tmp_path / "bad.bers", sources)
    with pytest.raises(FileError, match="there is no trust file"):
        Trust.load(tmp_path / "none.bers", sources)


def test_it_can_be_sent_to_another_process(seen):
    there = pickle.loads(pickle.dumps(seen))
    np.testing.assert_array_equal(there.weights, seen.weights)
    x, y = X[80:90], X[80:90, 1]
    np.testing.assert_array_equal(there.observe(x, y).weights, seen.observe(x, y).weights)


def test_rows_on_disk_are_observed_as_those_in_memory(sources, tmp_path):
    target = Demonstrations(X[:120], np.sin(2 * X[:120, 2]), "new")
    bers.save(target, tmp_path / "new.parquet")
    shards = bers.load(tmp_path / "new.parquet", stream=True)
    start = Trust(sources, model=SMALL, batches=0)
    here, there = start.observe(target), start.observe(shards)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-9)
    with pytest.raises(DataError, match="rows on disk can be observed once"):
        there.observe(shards)
    with pytest.raises(DataError, match="rows on disk can be observed once"):
        there.observe(X[:2], X[:2, 0])
    with pytest.raises(ConfigError, match="rows of the target that are on disk cannot be saved"):
        there.save(tmp_path / "t.bers")


def test_bad_input_is_one_sentence(sources, start):
    for given in ((), "alice.parquet", sources[0]):
        with pytest.raises(DataError, match="must be a list of at least one source; got "):
            Trust(given)
    for given in (["alice.parquet"], [3]):
        with pytest.raises(DataError, match="there is no file alice.parquet|got int"):
            Trust(given)
    with pytest.raises(DataError, match="there is no file new.csv"):
        bers.rank(sources, "new.csv")
    with pytest.raises(ConfigError, match="model must be a bers.ModelConfig or a Model; got str"):
        Trust(sources, model="quick")
    wide = Demonstrations(np.zeros((4, 2)), np.zeros(4), "wide")
    with pytest.raises(DataError, match=r"same inputs; 'alice' has 3 \(x0, x1, x2\), 'wide' has 2"):
        Trust([sources[0], wide])
    with pytest.raises(DataError, match=r"needs rows of shape \(2, 3\) for 2 labels; got \(2, 2\)"):
        start.observe(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(DataError, match=r"the target has 2 \(x0, x1\) inputs, the sources have 3"):
        start.observe(wide)
    with pytest.raises(DataError, match=r"observe\(x, y\) needs numbers"):
        start.observe(X[:2], ["a", "b"])
    with pytest.raises(DataError, match="needs the labels y, or one source"):
        start.observe(np.zeros((2, 3)))
    with pytest.raises(DataError, match="nothing is known of the target yet"):
        start.predict(X)
    with pytest.raises(DataError, match="nothing was observed yet"):
        start.weights_by("equal")
    with pytest.raises(ConfigError, match="there is no rule 'best'"):
        Trust(sources, rule="best")


def test_sources_without_rows_get_no_weight(sources):
    empty = Demonstrations(np.zeros((0, 3)), np.zeros(0), "empty")
    trust = Trust([empty, *sources], model=SMALL, batches=0)
    np.testing.assert_allclose(trust.weights, [0, 1 / 3, 1 / 3, 1 / 3])
    assert trust.observe(X[:50], np.sin(2 * X[:50, 1])).weights[0] == 0
    nobody = Trust([empty, empty])
    assert nobody.model is None
    ranking = nobody.observe(X[:5], X[:5, 0]).ranking()
    assert "no source has rows" in ranking.warnings[0]


def test_several_targets_are_each_others_sources():
    tasks = [_run(0, "a", 100), _run(0, "b", 100, scale=3.0), _run(1, "c", 100)]
    start = JointTrust.new(
        3, (), rule="odds", config=SMALL, batches=1, subset=None, rng=np.random.default_rng(0)
    )
    found = start.observe(tasks)
    assert [len(a) for a in found.weights] == [2, 2, 2]
    assert found.weights[0][0] > 0.9  # a believes b
    assert found.weights[1][0] > 0.9  # b believes a
    assert found.weights[2].sum() < 0.1  # c believes nobody
    assert start.model is None
    again = found.observe(tasks)
    assert again.model.batches == found.model.batches + 1


def test_columns_of_a_frame_are_found_by_name_in_predict_and_relabel():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (80, 2)), columns=["speed", "load"])
    frame["pay"] = np.sin(3 * frame["speed"]) + 0.1 * frame["load"]
    names = ["speed", "load"]
    trust = Trust([(frame, "pay")], model=SMALL).observe(frame[names][:30], 2 * frame["pay"][:30])
    turned = frame[names[::-1]][:5]
    for say in (lambda rows: trust.predict(rows).mean, trust.relabel):
        np.testing.assert_array_equal(say(turned), say(frame[names][:5]))
        np.testing.assert_array_equal(say(frame[:5]), say(frame[names][:5]))
    with pytest.raises(DataError, match="numbers"):
        trust.predict([["a", "b"]])


def test_a_loaded_one_keeps_its_target_where_labels_of_sources_are_far_off(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 2))
    y = x[:, 0] + 0.01 * rng.normal(size=60)
    y[7] = 1e3
    runs = [Demonstrations(x, y, "slip"), Demonstrations(x, x[:, 1], "fine")]
    trust = Trust(runs, model=SMALL).observe(x[:20], x[:20, 0])
    trust.save(tmp_path / "t.bers")
    again = Trust.load(tmp_path / "t.bers", runs)
    assert again.has_target
    np.testing.assert_array_equal(again.relabel(x), trust.relabel(x))
    np.testing.assert_array_equal(again.weights, trust.weights)
    more, other = (one.observe(x[20:30], x[20:30, 0]).weights for one in (again, trust))
    np.testing.assert_array_equal(more, other)
