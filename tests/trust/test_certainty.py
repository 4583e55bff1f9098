"""How sure a ranking is: intervals, the verdict, and what is said before weights are relied on."""

from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, rank
from bers.model.neural_linear import History
from bers.model.skill import Skill
from bers.trust.ranking import RankedSource, Ranking, _converged, _decided, _drawn, _explained
from bers.trust.rules import rule_named
from bers.trust.trust import Trust

SMALL = ModelConfig(hidden=(16,), latent_dim=6, batches=200, learning_rate=1e-2)
GOALS = (
    lambda x: np.sin(3 * x[:, 0]) + x[:, 1],
    lambda x: 2 * x[:, 2] - 1.5 * x[:, 0] ** 2,
    lambda x: np.cos(3 * x[:, 3]) - x[:, 1] * x[:, 2],
)


# ---- other rows ----------------------------------------------------------------------------------


def _gram(known):
    return known.summary.R.T @ known.summary.R


def test_the_mean_over_other_rows_is_what_was_seen(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    known = goals(w[0], w, n=60).known
    rng = np.random.default_rng(1)
    drawn = np.array([_gram(known.resampled(rng)) for _ in range(2000)])
    size = np.sqrt(np.outer(np.diag(_gram(known)), np.diag(_gram(known))))
    error = drawn.std(0) / np.sqrt(2000)
    assert np.all(np.abs(drawn.mean(0) - _gram(known)) <= 5 * error + 1e-9 * size)
    assert np.all(drawn.std(0)[0] > 1e-3 * size[0])


def test_more_rows_spread_less(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    spread = []
    for n in (20, 80, 240):
        known, rng = goals(w[0], w, n=n).known, np.random.default_rng(1)
        drawn = [known.resampled(rng).label_variance for _ in range(300)]
        spread.append(np.std(drawn) / known.label_variance)
    assert spread[0] > 1.5 * spread[1] > 2 * spread[2] > 0


def test_other_rows_are_as_many_and_condition_the_targets_head(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    known = goals(w[0], w, n=40).known
    other = known.resampled(np.random.default_rng(1))
    assert other.n == 40
    assert other.counts.sum() == pytest.approx(40)
    assert other.counts.min() > 0
    Phi, y = known.sample
    root = np.sqrt(other.counts)[:, None]
    rows = np.concatenate([Phi, y[:, None]], 1) * root
    np.testing.assert_allclose(_gram(other), rows.T @ rows, atol=1e-9)
    prior = known.prior
    precision = prior.U.T @ prior.U + rows[:, :-1].T @ rows[:, :-1]
    right = prior.U.T @ prior.U @ prior.mu + rows[:, :-1].T @ rows[:, -1]
    np.testing.assert_allclose(other.target.mu, np.linalg.solve(precision, right), atol=1e-8)
    np.testing.assert_array_equal(other.sources.mu, known.sources.mu)


def test_a_sample_stands_for_all_rows(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    known = goals(w[0], w, n=2000).known  # the sample is 256 of them
    rng = np.random.default_rng(1)
    drawn = np.array([known.resampled(rng).label_variance for _ in range(300)])
    assert np.std(drawn) / known.label_variance < 2 * np.sqrt(2 / 2000)
    assert known.resampled(rng).n == 2000


def test_where_sources_are_known_well_rows_of_the_target_make_the_interval(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    known = goals(w[0], w, n=20, m=20_000, noise=1.0).known
    rule, rng = rule_named("odds"), np.random.default_rng(1)
    as_seen = rule.draw(rng, known, 200)
    drawn = _drawn(rng, known, rule, 200)
    assert drawn.shape == (200, 3)
    np.testing.assert_allclose(drawn.sum(1), 1, atol=1e-9)
    assert drawn[:, 0].std() > 5 * as_seen[:, 0].std() > 0


# ---- decided or not ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "groups", "decided"),
    [
        ((0.7, 0.1, 0.2), [[0], [1]], True),
        ((0.5, 0.3, 0.2), [[0], [1]], False),
        ((0.35, 0.35, 0.3), [[0, 1]], True),
        ((0.5, 0.45, 0.05), [[0], [1]], True),
        ((0.55, 0.1, 0.35), [[0], [1]], False),
        ((0.1, 0.05, 0.85), [[0], [1]], False),
        ((0.05, 0.03, 0.92), [[0], [1]], True),
    ],
)
def test_one_answer_must_hold_over_the_draws(mean, groups, decided):
    assert _decided(np.array(mean), groups) is decided


@pytest.mark.parametrize(
    ("weights", "undecided", "verdict"),
    [
        ((0.9, 0.05), False, "a"),
        ((0.3, 0.6), False, "b and a"),
        ((0.2, 0.2), False, "nobody"),
        ((0.9, 0.05), True, "undecided"),
    ],
)
def test_the_verdict_is_in_a_word_and_in_the_text(weights, undecided, verdict):
    lines = tuple(RankedSource(name, a) for name, a in zip("ab", weights, strict=True))
    found = Ranking(lines, "new", 50, undecided=undecided)
    assert found.verdict == found.to_dict()["verdict"] == verdict
    said = "Undecided: " if undecided else f"Answer: {verdict}."
    assert said in repr(found)
    assert said in found._repr_html_()


# ---- end to end, with columns that do not matter -------------------------------------------------


def _rows(rng, n, goal, columns=29):
    x = rng.uniform(-1, 1, (n, columns))
    wanted = rng.standard_normal(n) if goal is None else GOALS[goal](x)
    return x, wanted + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def wide():
    """Three sources, one of noise labels; four columns of 29 matter; the encoder is chosen."""
    rng = np.random.default_rng(0)
    runs = [Demonstrations(*_rows(rng, 200, g), name) for g, name in enumerate("abc")]
    runs.append(Demonstrations(*_rows(rng, 200, None), "dice"))
    return runs, fit(runs, config=ModelConfig(batches=600))


def _ranked(wide, n, goal, seed=1, draws=100):
    target = Demonstrations(*_rows(np.random.default_rng([seed, n]), n, goal), "new")
    return rank(wide[0], target, model=wide[1], draws=draws)


@pytest.mark.parametrize("goal", range(3))
def test_the_right_source_among_columns_that_do_not_matter(wide, goal):
    found = _ranked(wide, 60, goal)
    assert found.weights[goal] > 0.9
    assert found.verdict == "abc"[goal]
    assert found.sources[goal].low > 0.8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_target_of_noise_is_like_nobody(wide, seed):
    found = _ranked(wide, 60, None, seed)
    assert found.weights.max() < 0.5
    assert found.verdict in ("nobody", "undecided")
    assert found.best is None
    assert found.explained < 0.3
    assert any("of the target's labels, so weights rest on little" in w for w in found.warnings)


def test_two_rows_leave_it_undecided(wide):
    found = _ranked(wide, 2, 1)
    assert found.undecided
    assert found.verdict == "undecided"
    assert "Undecided" in repr(found)
    assert "Undecided" in found._repr_html_()
    assert any("only 2 rows" in note for note in found.warnings)


def test_eight_rows_have_a_wider_interval_than_sixty(wide):
    few, many = (_ranked(wide, n, 1).sources[1] for n in (8, 60))
    assert few.high - few.low > 0.03
    assert few.high - few.low > 3 * (many.high - many.low)


def test_a_source_of_noise_has_no_skill_and_that_is_said(wide):
    found = _ranked(wide, 60, 1)
    assert [line.skill > 0.9 for line in found.sources] == [True, True, True, False]
    assert -0.6 < found.sources[3].skill < 0.15
    notes = [note for note in found.warnings if "on rows that were held out" in note]
    assert len(notes) == 1
    assert "the head of 'dice' explains less than 30%" in notes[0]
    assert "'a'" not in notes[0]


# ---- what is said --------------------------------------------------------------------------------


def _run(goal, name, n=200, seed=0, **changes):
    """Someone who looks at one of three inputs; `changes` map its columns by number."""
    rng = np.random.default_rng([seed, goal])
    x = rng.uniform(-1, 1, (n, 3))
    y = np.sin(2 * x[:, goal]) + 0.1 * rng.standard_normal(n)
    for column, change in changes.items():
        x[:, int(column[1:])] = change(x[:, int(column[1:])])
    return Demonstrations(x, y, name)


def _said(runs, target, words, config=SMALL):
    """The notes with some words in them."""
    found = rank(runs, target, model=config, draws=20)
    return [note for note in found.warnings if words in note]


@pytest.fixture(scope="module")
def runs():
    return [_run(0, "a"), _run(1, "b"), _run(2, "c")]


@pytest.fixture(scope="module")
def target():
    return _run(1, "new", n=60, seed=1)


def test_nothing_is_said_where_all_is_well(runs, target):
    assert rank(runs, target, model=SMALL, draws=20).warnings == ()


def test_sources_that_are_alike_are_named(runs, target):
    again = _run(1, "b again", seed=5)
    again = Demonstrations(again.x, 100 - 7 * again.y, "upside down")
    twin = Demonstrations(runs[1].x, 3 * runs[1].y - 5, "twin")
    notes = _said([runs[1], twin, again], target, "say the same")
    assert len(notes) == 1
    assert "'b' and 'twin' say the same" in notes[0]
    assert "upside down" not in notes[0]


def test_a_column_in_other_units_is_named_with_its_source(runs, target):
    odd = [runs[0], runs[1], _run(2, "c", x1=lambda x: 1000 * x)]
    notes = _said(odd, target, "other units")
    assert len(notes) == 1
    assert "column x1 of 'c'" in notes[0]


def test_target_rows_outside_are_one_note_for_all_sources(runs):
    far = _run(1, "new", n=60, seed=1, x2=lambda x: x + 1.5)
    notes = _said(runs, far, "lie outside")
    assert len(notes) == 1
    assert all(f"'{name}'" in notes[0] for name in "abc")
    assert "most in x2" in notes[0]


def test_one_source_of_another_range_is_named_alone(runs, target):
    narrow = [runs[0], runs[1], _run(2, "c", x0=lambda x: 0.2 * x)]
    notes = _said(narrow, target, "lie outside")
    assert len(notes) == 1
    assert "what 'c' has seen" in notes[0]
    assert "most in x0" in notes[0]


def test_a_rare_one_in_a_column_of_zeros_is_not_outside(runs, target):
    def rare(x):
        return (np.arange(len(x)) % 50 == 7) * 1.0

    def often(x):
        return (np.arange(len(x)) % 2) * 1.0

    rarely = [_run(i, name, x2=rare) for i, name in enumerate("abc")]
    new = _run(1, "new", n=60, seed=1, x2=often)
    assert _said(rarely, new, "lie outside") == []
    never = [_run(i, name, x2=lambda x: 0 * x) for i, name in enumerate("abc")]
    seldom = _run(1, "new", n=60, seed=1, x2=rare)
    assert _said(never, seldom, "lie outside") == []
    assert len(_said(never, new, "lie outside")) == 1


def test_training_that_was_not_at_rest_is_said(runs, target):
    soon = replace(SMALL, batches=60, learning_rate=3e-3)
    assert len(_said(runs, target, "not come to rest", soon)) == 1


@pytest.mark.parametrize(
    ("objective", "scores", "rest"),
    [
        (np.linspace(0, 4, 100), 0, False),
        (np.minimum(np.linspace(0, 4, 100), 1.0), 0, True),
        (np.linspace(4, 0, 100), 0, True),
        (np.linspace(0, 4, 100), 3, True),
        (np.linspace(0, 4, 30), 0, True),
    ],
    ids=["rises", "levels", "falls", "stopped by held-out rows", "too short to tell"],
)
def test_training_is_at_rest_where_its_last_quarter_gained_nothing(runs, objective, scores, rest):
    model = fit(runs, config=replace(SMALL, batches=0))
    history = History(objective, np.zeros((scores, 2)))
    assert _converged(replace(model, history=history)) is rest


def test_intervals_that_hold_too_few_labels_are_named(runs, target):
    skill = Skill(np.array([0.9, 0.9, 0.9]), np.array([0.9, 0.4, 0.3]), np.array([50, 50, 5]))
    model = replace(fit(runs, config=SMALL), skill=skill)
    notes = _said(runs, target, "90% intervals", model)
    assert len(notes) == 1
    assert "'b' hold 40%" in notes[0]


def test_what_the_targets_head_explains_is_by_leaving_out_each_row(runs, target):
    trust = Trust(runs, model=SMALL).observe(target)
    known = trust._known
    Phi, y = known.sample
    assert len(y) == 60
    precision, mean = known.prior.U.T @ known.prior.U, known.prior.mu
    left, alone = [], []
    for i in range(60):
        rest = np.arange(60) != i
        A = precision + Phi[rest].T @ Phi[rest]
        w = np.linalg.solve(A, precision @ mean + Phi[rest].T @ y[rest])
        left.append(y[i] - Phi[i] @ w)
        alone.append(y[i] - y[rest].mean())
    share = 1 - np.sum(np.square(left)) / np.sum(np.square(alone))
    assert _explained(known) == pytest.approx(share, abs=1e-9)
    assert 0.8 < share < 1


def test_a_code_for_missing_labels_is_left_out():
    x = np.random.default_rng(0).uniform(-1, 1, (250, 2))
    runs = [Demonstrations(x, x[:, 0], "a"), Demonstrations(x, x[:, 1], "b")]
    y = x[:50, 1].copy()
    y[::7] = -999.0
    found = rank(runs, Demonstrations(x[:50], y, "new"), model=SMALL)
    assert found.outliers == tuple(range(0, 50, 7))
    assert found.verdict == "b"


def test_copies_of_a_few_rows_settle_nothing():
    x = np.random.default_rng(0).uniform(-1, 1, (250, 2))
    runs = [Demonstrations(x, x[:, 0], "a"), Demonstrations(x, x[:, 1], "b")]
    copied = np.tile(np.arange(6), 10)
    found = rank(runs, Demonstrations(x[copied], x[copied, 1], "new"), model=SMALL)
    assert found.undecided
    assert found.distinct_rows == 6
    assert any("only 6 of the target's 60 rows are distinct" in note for note in found.warnings)
    once = rank(runs, Demonstrations(x[:60], x[:60, 1], "new"), model=SMALL)
    assert once.verdict == "b"
    assert not any("distinct" in note for note in once.warnings)
