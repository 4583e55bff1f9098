"""Every rule keeps its promises, and does what its name says."""

import numpy as np
import pytest

from bers.errors import ConfigError, DataWarning
from bers.model import nig
from bers.trust.beliefs import Counts
from bers.trust.rules import (
    RULES,
    Past,
    Rule,
    by_gradient,
    log_predictive,
    rule_named,
    rule_on,
    ucb,
    weigh,
)

NAMES = [*RULES, "single:1"]
LEARN = [name for name in RULES if name not in ("equal", "ucb")]  # from the posteriors
DRAWN = {"averaged": 0.05, "ranking": 0.1}  # how far other draws may lead


def _weights(seed=0, N=3, d=6):
    return np.random.default_rng(seed).standard_normal((N, d))


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_weights_are_shares(goals, rule, n):
    w = _weights(N=4)
    for target in (w[1], -w[0], w.mean(0)):
        a = weigh(goals(target, w, n=n, m=[1, 3, 40, 400]).known, rule)
        assert a.shape == (4,)
        assert np.all(a >= 0)
        assert a.sum() <= 1 + 1e-12


@pytest.mark.parametrize("rule", LEARN)
def test_the_right_source_gets_most(goals, rule):
    w = _weights()
    a = weigh(goals(w[1], w).known, rule)
    assert a[1] > (0.7 if rule == "gradient" else 0.9)  # which gets there step by step


@pytest.mark.parametrize("rule", LEARN)
@pytest.mark.parametrize("n", [4, 300])
def test_the_order_of_sources_does_not_matter(goals, made, rule, n):
    w = _weights(N=4)
    case = goals(w[1] + 0.5 * w[2], w, n=n, noise=0.5)
    order = [2, 0, 3, 1]
    a = weigh(case.known, rule)
    other = weigh(made(case.Phi, case.y, [case.sources[i] for i in order]).known, rule)
    np.testing.assert_allclose(other, a[order], rtol=0, atol=DRAWN.get(rule, 1e-8))


@pytest.mark.parametrize("rule", LEARN)
def test_a_source_without_rows_changes_nothing(goals, made, rule):
    w = _weights()
    case = goals(w[1] + 0.3 * w[0], w)
    empty = (np.zeros((0, 6)), np.zeros(0))
    with_it = weigh(made(case.Phi, case.y, [case.sources[0], empty, *case.sources[1:]]).known, rule)
    assert with_it[1] == 0
    alone = weigh(case.known, rule)
    np.testing.assert_allclose(with_it[[0, 2, 3]], alone, rtol=0, atol=DRAWN.get(rule, 1e-8))


def test_equal_and_ucb_leave_out_what_has_no_rows(goals):
    known = goals(np.ones(6), _weights(), m=[0, 50, 50]).known
    assert weigh(known, "equal").tolist() == [0, 0.5, 0.5]
    assert weigh(known, "ucb").tolist() == [0, 1, 0]
    past = Past.none(3).after(1, 0.0)
    assert weigh(known, "ucb", past).tolist() == [0, 0, 1]


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize(
    ("n", "m", "who"), [(0, 50, "the target has no rows"), (50, 0, "no source has rows")]
)
def test_where_nothing_can_be_told_all_are_equal(goals, rule, n, m, who):
    known = goals(np.ones(6), _weights(), n=n, m=m).known
    with pytest.warns(DataWarning, match=f"^{who}, so nothing tells the sources apart") as caught:
        a = weigh(known, rule)
    assert len(caught) == 1
    np.testing.assert_allclose(a, 1 / 3, rtol=1e-15)


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_constant_labels_of_the_target_are_finite(goals, relabelled, rule, constant):
    case = relabelled(goals(np.ones(6), _weights()), "target", lambda y: 0 * y + constant)
    a = weigh(case.known, rule)
    assert np.isfinite(a).all()
    if rule in ("centred", "shape", "affine", "shape+nobody"):
        assert not a.any()  # no direction, so nobody


@pytest.mark.parametrize("rule", ["centred", "shape", "affine", "odds", "averaged", "ranking"])
def test_one_source_alone(goals, rule):
    w = _weights(N=1)
    np.testing.assert_allclose(weigh(goals(w[0], w).known, rule), 1, rtol=1e-6)


def test_nobody_where_the_only_source_is_a_flipped_copy(goals):
    w = _weights(N=1)
    known = goals(-w[0], w).known
    assert weigh(known, "shape").tolist() == [1.0]
    assert weigh(known, "shape+nobody").tolist() == [0.0]
    assert weigh(known, "odds")[0] < 0.01


def test_a_blind_rule_weighs_by_counts_as_by_posteriors(goals):
    needs = {rule: rule_named(rule).needs for rule in NAMES}
    assert {rule: need for rule, need in needs.items() if need != "posteriors"} == {
        "equal": "rows",
        "ucb": "gains",
        "single:1": "rows",
    }
    known = goals(np.ones(6), _weights(), m=[40, 0, 50]).known
    past = Past(np.array([2.0, 0.0, 3.0]), np.array([1.0, 0.0, 9.0]), np.full(3, 1 / 3))
    for rule, expected in (
        ("equal", [0.5, 0, 0.5]), ("ucb", [0, 0, 1]), ("single:0", [1, 0, 0]), ("single:1", [0] * 3)
    ):  # fmt: skip
        assert weigh(Counts(known.rows, known.n), rule, past).tolist() == expected
        assert weigh(known, rule, past).tolist() == expected


def test_counts_of_nothing_give_equal_weights_and_a_warning():
    for counts, who in (
        (Counts(np.array([4, 4]), 0), "the target has no rows"),
        (Counts(np.array([0, 0]), 4), "no source has rows"),
    ):
        with pytest.warns(DataWarning, match=who):
            assert weigh(counts, "ucb").tolist() == [0.5, 0.5]


def test_only_rules_that_exist_have_a_name():
    with pytest.raises(ConfigError, match="there is no rule 'blind'"):
        rule_named("blind")
    with pytest.raises(ConfigError, match="there is no rule 'single:x'"):
        rule_named("single:x")


# ---- one by one ----------------------------------------------------------------------------------


def test_ucb_tries_each_once_and_then_follows_its_formula():
    past, tried = Past.none(3), []
    for gain in (1.0, 4.0, 2.0):
        tried.append(int(np.argmax(ucb(past))))
        past = past.after(tried[-1], gain)
    assert tried == [0, 1, 2]
    for _ in range(30):
        mean = past.gains / past.pulls
        total = sum(past.pulls)
        bound = [
            m / max(mean) + np.sqrt(2 * np.log(total) / k)
            for m, k in zip(mean, past.pulls, strict=True)
        ]
        pick = bound.index(max(bound))
        assert ucb(past).tolist() == [float(i == pick) for i in range(3)]
        past = past.after(pick, [1.0, 4.0, 2.0][pick])
    assert past.pulls[1] > past.pulls[2] > past.pulls[0]


def test_ucb_of_gains_of_nothing_is_finite():
    past = Past(np.array([2.0, 1.0]), np.zeros(2), np.full(2, 0.5))
    assert ucb(past).tolist() == [0, 1]  # the one tried less


def test_past_counts(goals):
    past = Past.none(2).after(1, 3.0).after(1, 1.0).after(0, 0.5)
    assert past.pulls.tolist() == [1, 2]
    assert past.gains.tolist() == [0.5, 4.0]


def test_evidence_is_the_product_of_one_step_predictions(goals):
    w = _weights()
    case = goals(w[1] + 0.1 * w[0], w, n=12, m=15, noise=1.0)
    totals = []
    for i in range(3):
        head, total = case.known.sources[i], 0.0
        for k in range(12):
            row = case.Phi[k : k + 1], case.y[k : k + 1]
            total += float(nig.predict(head, row[0]).log_density(row[1])[0])
            head = nig.condition(head, nig.summarise(*row))
        totals.append(total)
    np.testing.assert_allclose(log_predictive(case.known), totals, rtol=1e-9)
    expected = np.exp(totals - np.max(totals))
    np.testing.assert_allclose(weigh(case.known, "evidence"), expected / expected.sum(), rtol=1e-8)


def test_ranking_looks_at_the_order_only(goals, relabelled):
    w = _weights(4)
    case = goals(w[2], w)
    a = weigh(case.known, "ranking")
    assert a[2] > 0.99
    bent = relabelled(case, "target", lambda y: np.exp(y))
    np.testing.assert_array_equal(weigh(bent.known, "ranking"), a)


def test_ranking_shares_ties(goals, made):
    w = _weights(4)
    case = goals(w[0], w, n=1)  # one row has no pairs
    np.testing.assert_allclose(weigh(case.known, "ranking"), 1 / 3, rtol=1e-12)


def test_gradient_multiplies_from_call_to_call(goals):
    w = _weights()
    case = goals(w[1] + 0.4 * w[0], w)
    error = [np.mean((case.y - case.Phi @ mu) ** 2) for mu in case.known.sources.mu]
    assert np.argmin(error) == 1
    factor = np.exp(-np.minimum(np.array(error) / case.y.var(), 100))
    a, expected = np.full(3, 1 / 3), np.full(3, 1 / 3)
    for _ in range(4):
        before, past = a, Past(np.zeros(3), np.zeros(3), a)
        a = by_gradient(case.known, past)
        expected = expected * factor / np.sum(expected * factor)
        np.testing.assert_allclose(a, expected, rtol=1e-9)
        assert a[1] > before[1]


def test_averaged_is_cautious_at_first_and_sharp_later(goals):
    few, many = [], []
    for seed in range(12):
        w = _weights(seed)
        for n, found in ((3, few), (300, many)):
            found.append(weigh(goals(w[1], w, n=n, noise=1.0, seed=seed).known, "averaged"))
    assert np.mean(np.max(few, 1)) < 0.7
    assert np.min(few) > 0
    assert np.mean(many, 0)[1] > 0.9


def test_a_single_source_whatever_the_data_say(goals):
    known = goals(np.ones(6), _weights()).known
    assert weigh(known, "single:1").tolist() == [0, 1, 0]
    with pytest.raises(ConfigError, match="there is no source 3; there are 3, counted from 0"):
        weigh(known, "single:3")


@pytest.mark.parametrize("name", ["best", "single", "single:x", "single:-1", "odds:1", ""])
def test_unknown_rules_are_refused_and_the_known_listed(name):
    with pytest.raises(ConfigError, match=f"there is no rule '{name}'. Known: odds, weights.*ucb"):
        rule_named(name)


def test_any_metric_may_allow_nobody(goals):
    w = _weights(N=1)
    known = goals(-w[0], w).known
    for metric in ("weights", "function", "centred", "shape", "affine"):
        name = rule_on(metric, "at_most_one")
        assert name == f"{metric}+nobody"
        assert weigh(known, name).tolist() == [0.0]  # the only source is a flipped copy
        assert rule_on(metric, "simplex") == rule_on(metric, None) == metric
    right = goals(w[0], w).known
    assert weigh(right, "function+nobody")[0] > 0.9


def test_a_feasible_set_is_for_metrics_only():
    assert rule_on("ucb", None) == "ucb"
    with pytest.raises(ConfigError, match='feasible must be "simplex" or "at_most_one"; got'):
        rule_on("shape", "ball")
    with pytest.raises(ConfigError, match="feasible is for the metrics .* got metric='odds'"):
        rule_on("odds", "simplex")
    with pytest.raises(ConfigError, match="there is no rule 'shapes'"):
        rule_on("shapes", "simplex")


def test_a_rule_of_ones_own(goals):
    known = goals(np.ones(6), _weights(), m=[10, 10, 0]).known
    mine = Rule("mine", lambda known, past: np.array([0.2, 0.3, 0.5]))
    a = weigh(known, mine)
    for wrong in ([1.0, 1.0, 0.0], [-0.5, 1.0, 0.0], [np.nan, 1.0, 0.0], [0.5, 0.5]):
        bad = Rule("bad", lambda known, past, wrong=wrong: np.array(wrong))
        with pytest.raises(ConfigError, match="the rule 'bad' must give 3 weights of 0 or above"):
            weigh(known, bad)
    assert a.tolist() == [0.2, 0.3, 0.0]
