"""`rank` as a person uses it: whom to trust, how sure that is, and what is said about it."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, load, rank, save
from bers.errors import ConfigError, DataError
from bers.text import unique
from bers.trust.ranking import RankedSource, Ranking
from bers.trust.render import as_page

SMALL = ModelConfig(hidden=(16,), latent_dim=6, batches=200, learning_rate=1e-2)
HOSTILE = "<script>alert('$x_1$')</script>[red]\x1b[2J\n\x00\u202e" + "x" * 10_000
COLUMNS = (HOSTILE.replace("\x00", ""), "b", "c")  # a zero is refused in a column's name


def _run(goal, name, n=300, seed=0, low=-1.0, high=1.0):
    """Someone who looks at one of three inputs."""
    rng = np.random.default_rng([seed, goal])
    x = rng.uniform(low, high, (n, 3))
    return Demonstrations(x, np.sin(2 * x[:, goal]) + 0.1 * rng.standard_normal(n), name)


def _relabelled(source, scale=1.0, offset=0.0, name=None):
    return Demonstrations(source.x, scale * (source.y + offset), name or source.name)


def _ranked(sources, target, **settings):
    return rank(sources, target, **{"model": SMALL, "draws": 100, **settings})


@pytest.fixture(scope="module")
def sources():
    return [_run(0, "alice"), _run(1, "bob"), _run(2, "carol")]


@pytest.fixture(scope="module")
def target():
    return _run(1, "new task", n=60, seed=1)


@pytest.fixture(scope="module")
def ranking(sources, target):
    return _ranked(sources, target)


@pytest.fixture(scope="module")
def hostile(sources, target):
    x = sources[1].x
    named = Demonstrations(x, sources[1].y, HOSTILE, x_names=COLUMNS)
    return _ranked([named, sources[0], named.renamed(HOSTILE)], target.renamed(HOSTILE))


def _sound(ranking):
    """What holds for every ranking."""
    a = ranking.weights
    assert np.all(a >= 0)
    assert a.sum() <= 1 + 1e-9
    assert ranking.nobody == pytest.approx(1 - a.sum(), abs=1e-12)
    json.loads(ranking.to_json(), parse_constant=pytest.fail)  # NaN and infinity are not JSON
    assert "nan" not in repr(ranking)
    assert "nan" not in ranking._repr_html_()
    return ranking


# ---- what it finds -------------------------------------------------------------------------------


def test_the_source_with_the_same_goal_is_best(ranking):
    _sound(ranking)
    assert ranking.best == "bob"
    assert ranking.weights[1] > 0.99
    bob, alice = ranking.sources[1], ranking.sources[0]
    assert bob.correlation > 0.95 > 0.3 > abs(alice.correlation)
    assert bob.error < 0.3 < alice.error
    assert bob.evidence > alice.evidence
    assert bob.distance == pytest.approx(np.sqrt(1 - bob.correlation**2))
    assert bob.extrapolation == 0
    assert bob.explained > 0.9
    assert ranking.explained > 0.9
    assert ranking.mixture_explained > 0.9
    assert ranking.warnings == ()
    assert repr(ranking).splitlines()[2].startswith("bob ")


@pytest.mark.parametrize("rule", ["odds", "weights", "function", "centred", "shape", "averaged"])
def test_intervals_and_chances_are_consistent(sources, target, rule):
    ranking = _sound(_ranked(sources, target, rule=rule))
    for one in ranking.sources:
        assert 0 <= one.low <= one.high <= 1 + 1e-12
        assert one.low - 0.2 <= one.weight <= one.high + 0.2
    chances = [one.prob_best for one in ranking.sources]
    assert sum(chances) + ranking.nobody_prob_best == pytest.approx(1, abs=1e-9)
    assert 0 <= ranking.nobody_low <= ranking.nobody_high <= 1


def test_intervals_are_wider_with_fewer_rows(sources, ranking):
    few = _ranked(sources, _run(1, "few", n=6, seed=1))
    assert (
        few.sources[1].high - few.sources[1].low > ranking.sources[1].high - ranking.sources[1].low
    )
    assert _sound(few).warnings == (
        "the target has only 6 rows; collect more before you rely on the weights.",
    )


@pytest.mark.parametrize("rule", ["equal", "evidence", "ranking", "gradient", "single:2"])
def test_rules_without_intervals_leave_them_out(sources, target, rule):
    ranking = _sound(_ranked(sources, target, rule=rule))
    assert np.isnan([ranking.sources[0].low, ranking.nobody_high]).all()
    found = json.loads(ranking.to_json())
    assert found["intervals"]["alice"] == [None, None]
    assert " to " not in repr(ranking).splitlines()[2].partition("(")[0]  # but in worth


def test_old_names_still_work_and_say_the_new_ones(sources, target, ranking):
    with pytest.warns(DeprecationWarning, match="config= is called model= now"):
        again = rank(sources, target, config=SMALL, draws=100)
    assert again.to_json() == ranking.to_json()
    alice = ranking.sources[0]
    for old, new in (
        ("best", "prob_best"), ("match", "correlation"), ("far", "extrapolation")
    ):  # fmt: skip
        with pytest.warns(DeprecationWarning, match=f"RankedSource.{old} is called {new} now"):
            assert getattr(alice, old) == getattr(alice, new)


def test_the_same_rng_gives_the_same_ranking(sources, target, ranking):
    again = _ranked(sources, target)
    assert again.to_json() == ranking.to_json()
    assert again == ranking
    other = _ranked(sources, target, rng=np.random.default_rng(1))
    assert other.to_json() != ranking.to_json()


def test_a_model_that_is_there_is_reused(sources, target):
    model = fit(sources, config=SMALL)
    ranking = _sound(_ranked(sources, target, model=model))
    assert ranking.best == "bob"
    assert ranking.model.batches == model.batches  # the target has not trained the encoder
    assert ranking.model.names[-1] == "new task"
    assert model.names == ("alice", "bob", "carol")


def test_rows_on_disk_give_the_same_ranking(sources, target, ranking, tmp_path):
    shards = []
    for source in [*sources, target]:
        save(source, tmp_path / f"{source.name}.parquet", rows_per_group=64)
        shards.append(load(tmp_path / f"{source.name}.parquet", stream=True))
    other = _sound(_ranked(shards[:-1], shards[-1]))
    np.testing.assert_allclose(other.weights, ranking.weights, rtol=0, atol=1e-3)
    values = [[one.value for one in r.sources] for r in (other, ranking)]
    np.testing.assert_allclose(*values, rtol=1e-12)


def test_returns_of_episodes_stand_beside_the_weights(sources, target):
    n = 300
    ends = np.arange(n) % 100 == 99
    steps = {
        "reward": np.arange(n, dtype=float),
        "terminated": ends,
        "truncated": np.zeros(n, bool),
    }
    x, y = sources[1].x, sources[1].y
    ranking = _ranked([Demonstrations(x, y, "agent", steps), sources[0]], target)
    assert ranking.sources[0].value == np.arange(n).sum() / 3
    assert ranking.sources[1].value == pytest.approx(sources[0].y.mean())


# ---- what it warns of ----------------------------------------------------------------------------


def test_a_target_far_out_is_named_with_its_column(sources):
    rng = np.random.default_rng(0)
    columns = ("speed", "load", "tilt")
    named = [Demonstrations(s.x, s.y, s.name, x_names=columns) for s in sources]
    x = rng.uniform(-1, 1, (60, 3)) + np.array([0, 4, 0])
    target = Demonstrations(x, np.sin(x[:, 0]), "far", x_names=columns)
    notes = _sound(_ranked(named, target)).warnings
    assert len([one for one in notes if "lie outside what" in one]) == 1
    assert any("'alice', 'bob' and 'carol'" in one and "100% of them, most in load" in one
               for one in notes)  # fmt: skip


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("who", ["a source", "the target"])
def test_a_column_in_other_units_is_named_with_whose_it_is(sources, target, ranking, count, who):
    assert "other units" not in " ".join(ranking.warnings)

    def thousandfold(one):
        return Demonstrations(one.x * [1, 1000, 1], one.y, one.name)

    some = list(sources[:count])
    if who == "a source":
        some[0], odd = thousandfold(some[0]), some[0].name
    else:
        target, odd = thousandfold(target), target.name
    notes = " ".join(_ranked(some, target, draws=20).warnings)
    found = re.findall(r"column (\w+) of '([^']+)' is (\d+) times as large as", notes)
    assert len(found) == 1
    assert found[0][:2] == ("x1", odd)
    assert 750 <= int(found[0][2]) <= 1300


def test_a_target_that_cannot_be_explained_is_said(sources):
    rng = np.random.default_rng(0)
    target = Demonstrations(rng.uniform(-1, 1, (100, 3)), rng.standard_normal(100), "noise")
    ranking = _sound(_ranked(sources, target))
    assert any(re.search(r"explains only \d+% of the target's labels", w) for w in ranking.warnings)
    assert ranking.best is None
    assert ranking.nobody > 0.9


# ---- odd data ------------------------------------------------------------------------------------


def test_sources_of_no_and_of_one_row(sources, target):
    none = sources[0].take([]).renamed("none")
    ranking = _sound(_ranked([none, sources[2].take([0]).renamed("one"), sources[1]], target))
    assert ranking.weights[0] == 0
    assert ranking.weights[1] < 0.05
    assert ranking.weights[2] > 0.9
    assert ranking.warnings[0] == "'none' has no rows: it is undetermined and gets no weight."
    assert json.loads(ranking.to_json())["intervals"]["none"] == [0, 0]


def test_fewer_rows_than_features(sources, target):
    few = [source.take(slice(0, 4)) for source in sources]
    _sound(_ranked(few, target))
    _sound(_ranked(few, target.take(slice(0, 2))))


@pytest.mark.parametrize(("n", "rows"), [(1, "1 row"), (2, "2 rows")])
def test_one_and_two_rows_of_the_target(sources, n, rows):
    ranking = _sound(_ranked(sources, _run(1, "few", n=n)))
    assert any(f"the target has only {rows};" in one for one in ranking.warnings)
    assert ranking.undecided
    assert "Undecided: " in repr(ranking)


def test_fewer_than_four_rows_have_no_intervals(sources, target):
    def few(n):
        return _ranked(sources, Demonstrations(target.x[:n], target.y[:n], "few"))

    assert all(np.isnan([s.low, s.high, s.prob_best]).all() for s in few(3).sources)
    assert few(3).undecided
    assert not any(np.isnan([s.low, s.high, s.prob_best]).any() for s in few(4).sources)


@pytest.mark.parametrize(
    ("mean", "low", "high", "told"),
    [
        (1247.3, 1239.8, 1256.1, "1247 (1240 to 1256)"),
        (100.111, 100.042, 100.188, "100.11 (100.04 to 100.19)"),
        (-0.12, -5.0, 4.0, "-0.12 (-5 to 4)"),
        (5.0, 5.0, 5.0, "5 (5 to 5)"),
        (float("nan"), float("nan"), float("nan"), ""),
    ],
)
def test_worth_has_as_many_digits_as_tell_its_ends_apart(ranking, mean, low, high, told):
    line = replace(ranking.sources[0], worth=mean, worth_low=low, worth_high=high)
    text = repr(replace(ranking, sources=(line, *ranking.sources[1:])))
    first = next(row for row in text.splitlines() if row.startswith(line.name))
    assert first.endswith(told)


@pytest.mark.parametrize("empty", ["target", "sources"])
def test_without_rows_weights_are_equal_and_that_is_said(sources, target, empty):
    none = target.take([])
    ranking = _ranked(sources, none) if empty == "target" else _ranked([none, none, none], target)
    np.testing.assert_allclose(_sound(ranking).weights, 1 / 3, rtol=1e-15)
    assert len(ranking.warnings) == 1
    assert "nothing tells the sources apart" in ranking.warnings[0]


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_a_source_with_constant_labels(sources, target, constant):
    flat = Demonstrations(sources[0].x, np.full(300, constant), "flat")
    ranking = _sound(_ranked([flat, *sources[1:]], target))
    assert ranking.weights[0] < 0.01
    assert ranking.best == "bob"


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_a_target_with_constant_labels(sources, target, constant):
    flat = Demonstrations(target.x, np.full(60, constant), "flat")
    ranking = _sound(_ranked(sources, flat))
    np.testing.assert_allclose(ranking.weights, ranking.weights[0], rtol=0, atol=0.05)
    assert ranking.undecided
    assert "all labels of the target are the same" in ranking.warnings[-1]
    everyone = [Demonstrations(s.x, np.full(300, constant), s.name) for s in sources]
    _sound(_ranked(everyone, flat))


@pytest.mark.parametrize(("scale", "offset"), [(1e-12, 0), (1e12, 0), (1, 1e6)])
def test_all_labels_in_another_unit(sources, target, ranking, scale, offset):
    """Training sees labels in their own unit, in single precision, hence nearly the same."""
    other = [_relabelled(one, scale, offset) for one in (*sources, target)]
    found = _sound(_ranked(other[:-1], other[-1]))
    np.testing.assert_allclose(found.weights, ranking.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("which", [0, 1, 3])
@pytest.mark.parametrize(("scale", "offset"), [(1e-12, 0), (1e12, 0), (1, 1e6)])
def test_one_in_another_unit(sources, target, ranking, which, scale, offset):
    """The small chance of a mixture is shared out in the sources' units, hence not to 1e-6."""
    every = [*sources, target]
    every[which] = _relabelled(every[which], scale, offset)
    found = _sound(_ranked(every[:-1], every[-1]))
    np.testing.assert_allclose(found.weights, ranking.weights, rtol=0, atol=1e-3)


def test_copies_share_equally(sources, target):
    """To the bit: the same rows under the same encoder are the same head."""
    alice, bob, _ = sources
    copies = [bob, alice, _relabelled(bob, name="copy"), bob.renamed("bob")]
    ranking = _sound(_ranked(copies, target))
    np.testing.assert_allclose(ranking.weights[[2, 3]], ranking.weights[0], rtol=0, atol=1e-9)
    assert ranking.weights[0] == pytest.approx(1 / 3, abs=0.01)
    assert ranking.names == ["bob", "alice", "copy", "bob (2)"]


def test_a_hundred_copies(sources, target):
    ranking = _sound(_ranked([sources[1]] * 100, target))
    np.testing.assert_allclose(ranking.weights, 0.01 * (1 - ranking.nobody), rtol=0, atol=1e-9)
    assert len(json.loads(ranking.to_json())["weights"]) == 100


# ---- how it is shown -----------------------------------------------------------------------------


def test_json_has_weights_and_intervals_by_name(ranking):
    found = json.loads(ranking.to_json())
    assert list(found)[:6] == [
        "weights", "nobody", "intervals", "nobody_interval", "level", "warnings",
    ]  # fmt: skip
    assert list(found["weights"].values()) == ranking.weights.tolist()
    assert found["target_rows"] == 60
    assert found["sources"][1]["name"] == "bob"
    assert "model" not in found


def test_equal_names_are_kept_apart(sources, target):
    same = [source.renamed("a") for source in sources]
    found = json.loads(_ranked(same, target).to_json())
    assert list(found["weights"]) == list(found["intervals"]) == ["a", "a (2)", "a (3)"]
    assert found["weights"]["a (2)"] > 0.99
    assert unique(["a", "a (2)", "a", ""]) == ["a", "a (2)", "a (3)", ""]


def _harmless(text, longest=400):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert max(len(line) for line in text.splitlines()) < longest


def test_hostile_names_in_text(hostile):
    _harmless(repr(_sound(hostile)))
    assert len(repr(hostile).splitlines()) < 10
    assert "<script>" in repr(hostile)  # plain text needs no escapes for markup


def test_hostile_names_in_html(hostile):
    for text in (hostile._repr_html_(), as_page(hostile.to_dict())):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
        text.encode("utf-8")


def test_hostile_names_in_json(hostile):
    text = hostile.to_json()
    assert text.isascii()
    names = list(json.loads(text)["weights"])
    assert names == [HOSTILE, "alice", f"{HOSTILE} (2)"]


def test_hostile_names_in_the_figure(hostile, tmp_path):
    canvas = hostile.plot(str(tmp_path / "a.png"))
    axes = canvas.axes[0]
    for text in [axes.get_title(loc="left"), *(t.get_text() for t in axes.get_yticklabels())]:
        _harmless(text, 120)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_hostile_columns_in_warnings(sources):
    x = sources[0].x + np.array([100, 0, 0])
    far = Demonstrations(x, sources[0].y, "far", x_names=COLUMNS)
    named = [Demonstrations(s.x, s.y, HOSTILE, x_names=COLUMNS) for s in sources]
    ranking = _ranked(named, far)
    assert any("lie outside what" in one for one in ranking.warnings)
    _harmless("".join(ranking.warnings), 1000)


def test_the_page_asks_for_nothing_and_runs_nothing(ranking):
    page = as_page(ranking.to_dict())
    assert (
        "default-src 'none'" in re.search(r'Content-Security-Policy"\s+content="([^"]*)"', page)[1]
    )
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"\son\w+=", page)
    assert page.count("<tr>") == 5
    assert page.count('<span class="rail">') == 4  # a bar a source, and nobody
    assert "prefers-color-scheme: dark" in page


def test_many_sources_in_one_figure():
    lines = tuple(RankedSource(f"s{i}", 1 / 100) for i in range(50))
    ranking = Ranking(lines, "new", 10)
    labels = [t.get_text() for t in ranking.plot().axes[0].get_yticklabels()]
    assert labels[-2:] == ["20 more", "nobody"]
    assert len(labels) == 32


def test_nobody_is_best_when_it_has_most():
    ranking = Ranking((RankedSource("a", 0.2), RankedSource("b", 0.3)), "new", 10)
    assert ranking.best is None
    _sound(ranking)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "best"}, "there is no rule 'best'. Known: odds, "),
        ({"level": 1.0}, r"rank\(level=...\) must lie between 0 and 1; got 1.0"),
        ({"level": 0.0}, r"rank\(level=...\) must lie between 0 and 1; got 0.0"),
        ({"draws": 0}, r"rank\(draws=...\)"),
    ],
)
def test_settings_out_of_range(sources, target, settings, message):
    with pytest.raises(ConfigError, match=message):
        _ranked(sources, target, **settings)


def test_sources_that_do_not_fit(sources, target):
    with pytest.raises(DataError, match="must be a list of at least one source"):
        _ranked([], target)
    narrow = Demonstrations(target.x[:, :2], target.y, "narrow")
    with pytest.raises(DataError, match=r"the target has 2 \(x0, x1\) inputs, the sources have 3"):
        _ranked(sources, narrow)
    named = Demonstrations(sources[0].x, sources[0].y, "named", x_names=("a", "b", "c"))
    swapped = Demonstrations(target.x, target.y, "other", x_names=("b", "a", "c"))
    same = _ranked([named], Demonstrations(target.x, target.y, "other"))
    assert not np.array_equal(_ranked([named], swapped).weights, same.weights)
    back = Demonstrations(target.x[:, [1, 0, 2]], target.y, "other", x_names=("b", "a", "c"))
    np.testing.assert_array_equal(_ranked([named], back).weights, same.weights)


def test_nothing_but_warnings_in_the_ranking(sources, target):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ranked(sources, target.take(slice(0, 3)))


def test_where_all_labels_are_the_same_no_chances_are_printed():
    x = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    runs = [Demonstrations(x, x[:, 0], "a"), Demonstrations(x, x[:, 1], "b")]
    config = ModelConfig(hidden=(8,), latent_dim=4, batches=50)
    found = rank(runs, Demonstrations(x[:20], np.full(20, 3.0), "flat"), model=config, draws=10)
    assert found.verdict == "undecided"
    assert all(np.isnan(one.prob_best) and np.isnan(one.low) for one in found.sources)
    assert found.weights[0] == pytest.approx(found.weights[1])
