"""The truth of every case holds by construction, and the same seed gives the same tables."""

from types import SimpleNamespace

import numpy as np
import pytest
from bers_studies.known_truth import functions
from bers_studies.known_truth.cases import CASES, Setting, World, judged
from bers_studies.known_truth.functions import DEVELOP, REPORT, closest, explained

HALVES = ("develop", "report")
MIXED = [name for name, case in CASES.items() if case.kind == "mixtures"]
NOBODY = {"a target of noise", "an unrelated target", "sign turned"}


def drawn(name, seed=0):
    case = CASES[name]
    tables = case.tables(seed)
    return tables, tables.target(case.target_rng(seed))


def rows(tables, n=3000):
    return tables.aim.inputs(np.random.default_rng(1), n)


def test_both_halves_have_all_kinds_and_enough_cases():
    kinds = [{case.kind for case in CASES.values() if case.half == half} for half in HALVES]
    assert kinds[0] == kinds[1]
    for half in HALVES:
        chosen = [case for case in CASES.values() if case.half == half]
        assert len(chosen) >= 30
    assert all(name == case.name and name.startswith(case.half) for name, case in CASES.items())


def test_no_function_is_in_both_halves():
    families = {half: set() for half in HALVES}
    for case in CASES.values():
        own = case.make.keywords
        families[case.half] |= {*own["setting"].families, *filter(None, [own.get("family")])}
    assert families == {"develop": set(DEVELOP), "report": set(REPORT)}


@pytest.mark.parametrize("name", CASES)
def test_same_seed_same_tables(name):
    (one, target), (same, again), (other, third) = (drawn(name, seed) for seed in (0, 0, 1))
    assert [s.digest for s in one.sources] == [s.digest for s in same.sources]
    assert target.digest == again.digest != third.digest
    assert not {s.digest for s in one.sources} & {s.digest for s in other.sources}
    fresh = one.target(CASES[name].target_rng(0, 1))
    assert fresh.digest != target.digest
    assert (fresh.n, fresh.dim) == (target.n, target.dim) == (one.rows, one.sources[0].dim)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, 7])
def test_the_truth_holds(name, seed):
    tables, _ = drawn(name, seed)
    assert len(tables.laws) == len(tables.sources) >= 3
    x, aim = rows(tables), tables.aim.function
    right = [law.function for s, law in tables.laws.items() if s in tables.right]
    wrong = [law.function for s, law in tables.laws.items() if s not in tables.right]
    if CASES[name].kind in NOBODY:
        assert not right
        if CASES[name].kind == "an unrelated target":
            assert explained(aim, wrong, x) < 0.1
    else:
        assert explained(aim, right, x) == pytest.approx(1)
        assert len(right) == {"mixtures": 2, "duplicates": 2}.get(CASES[name].kind, 1)
        assert closest(aim, wrong, x) < 0.95
        if len(right) == 1:
            assert np.corrcoef(aim(x), right[0](x))[0, 1] == pytest.approx(1)


def test_labels_follow_their_function():
    tables, target = drawn("develop: right")
    for source in tables.sources:
        gap = source.y - tables.laws[source.name].function(source.x.astype(float))
        assert gap.std() == pytest.approx(0.1, rel=0.2)
        assert source.y.std() == pytest.approx(1, rel=0.2)
        assert (source.n, source.dim) == (500, 4)
    assert target.n == 60


def test_irrelevant_columns_do_not_matter():
    tables, target = drawn("report: right, 100 irrelevant")
    assert target.dim == 104
    x = rows(tables, 200)
    moves = []
    for j in range(104):
        changed = x.copy()
        changed[:, j] += 1
        moves.append(np.abs(tables.aim.function(changed) - tables.aim.function(x)).max() > 0)
    assert sum(moves) == 4


def test_units_are_other_units_alone():
    tables, target = drawn("report: all in other units")
    (name,) = tables.right
    values = tables.aim.function(target.x.astype(float))
    np.testing.assert_allclose(target.y, 40 * values - 900, atol=40 * 0.1 * 5)
    assert {law.scale for law in tables.laws.values()} == {0.01, 50, 1}
    assert tables.laws[name].scale == 0.01
    tables, _ = drawn("develop: right source with a large offset")
    means = {s.name: s.y.mean() for s in tables.sources}
    assert {s for s, mean in means.items() if mean > 9e5} == tables.right


def test_only_a_wrong_source_has_a_column_in_other_units():
    tables, target = drawn("develop: a wrong source's column in other units")
    far = {s.name: np.abs(s.x).max() > 100 for s in tables.sources}
    assert sum(far.values()) == 1
    assert not any(far[name] for name in tables.right)
    assert np.abs(target.x).max() < 2


def test_labels_that_are_far_off():
    tables, target = drawn("develop: a target's label far off")
    gap = np.abs(target.y - tables.aim.function(target.x.astype(float)))
    assert (np.sum(gap > 15), np.sum(gap > 1)) == (1, 1)
    for name, who in (
        ("develop: 5% of the right source's labels far off", 1),
        ("report: 5% of all sources' labels far off", 3),
    ):
        tables, _ = drawn(name)
        off = {
            s.name: np.mean(np.abs(s.y - tables.laws[s.name].function(s.x.astype(float))) > 15)
            for s in tables.sources
        }
        assert sorted(off.values()) == [0] * (3 - who) + [0.05] * who
        assert all(off[name] for name in tables.right)


@pytest.mark.parametrize("name", MIXED)
def test_mixtures_have_shares(name):
    tables, _ = drawn(name)
    assert set(tables.shares) == tables.right
    assert sorted(tables.shares.values()) == [0.4, 0.6]


def test_six_rows_in_ten_follow_the_first():
    tables, target = drawn("develop: rows of two")
    x = target.x.astype(float)
    near = {s: np.abs(target.y - tables.laws[s].function(x)) < 0.4 for s in tables.right}
    for name, share in tables.shares.items():
        assert near[name].sum() >= round(share * 60)
    assert np.all(np.any(list(near.values()), axis=0))


def test_sizes_are_what_names_say():
    assert drawn("develop: target of 5")[1].n == 5
    assert {s.n for s in drawn("report: sources of 2,000")[0].sources} == {2000}
    assert len(drawn("report: 30 sources")[0].sources) == 30
    tables, _ = drawn("report: right source of 10")
    assert {s.name: s.n for s in tables.sources if s.n < 500} == dict.fromkeys(tables.right, 10)


def test_duplicates_share_rows_or_do_not():
    for name, same in (
        ("develop: the right one twice, same rows", True),
        ("report: the right one twice, other rows", False),
    ):
        tables, _ = drawn(name)
        one, other = (s for s in tables.sources if s.name in tables.right)
        assert np.array_equal(one.x, other.x) is same


def test_who_has_seen_what():
    def sides(x):
        return [j for j in range(4) if np.all(x[:, j] >= 0) or np.all(x[:, j] <= 0)]

    tables, target = drawn("develop: right source saw half")
    assert [s.name for s in tables.sources if sides(s.x)] == list(tables.right)
    assert sides(target.x) == []
    tables, target = drawn("report: wrong sources saw the other half")
    (j,) = sides(target.x)
    here = {s.name for s in tables.sources if np.sign(s.x[0, j]) == np.sign(target.x[0, j])}
    assert here == tables.right
    assert all(sides(s.x) == [j] for s in tables.sources)


def test_sign_turned_is_the_opposite_of_one():
    tables, _ = drawn("report: sign turned")
    x = rows(tables)
    found = [
        np.corrcoef(tables.aim.function(x), law.function(x))[0, 1] for law in tables.laws.values()
    ]
    assert min(found) == pytest.approx(-1)
    assert max(found) < 0.3


def test_labels_that_are_whole_numbers():
    for name in ("develop: 0 or 1 by a threshold", "report: 0 or 1 by chance"):
        tables, target = drawn(name)
        for y in (target.y, *(s.y for s in tables.sources)):
            assert set(y) == {0.0, 1.0}
    tables, _ = drawn("report: counts around 8")
    assert all(np.all((s.y % 1 == 0) & (s.y >= 0)) for s in tables.sources)


def test_one_is_nearly_alike():
    tables, _ = drawn("report: one alike by .9")
    x = rows(tables)
    wrong = [law.function for s, law in tables.laws.items() if s not in tables.right]
    assert closest(tables.aim.function, wrong, x) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("inputs", ["uniform", "normal", "correlated"])
def test_inputs_have_a_spread_of_one(inputs):
    world = World(np.random.default_rng(0), Setting(("waves", "bowls"), inputs, 2))
    x = world.inputs(np.random.default_rng(1), 20_000)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=0.05)
    between = np.corrcoef(x.T)[np.triu_indices(6, 1)]
    np.testing.assert_allclose(between, 0.5 if inputs == "correlated" else 0, atol=0.05)


@pytest.mark.parametrize("family", functions.FAMILIES)
def test_every_input_of_a_function_matters(family):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.7, 1.7, (500, 4))
    f = functions.drawn(rng, family, x)
    for j in range(4):
        changed = x.copy()
        changed[:, j] = rng.permutation(x[:, j])
        if family != "steps":  # its trees may leave one out
            assert np.mean((f(changed) - f(x)) ** 2) > 0.01


def ranking(weights, undecided=None, notes=()):
    lines = [SimpleNamespace(name=name, weight=w) for name, w in weights.items()]
    more = {} if undecided is None else {"undecided": undecided}
    nobody = 1 - sum(weights.values())
    return SimpleNamespace(sources=lines, nobody=nobody, warnings=notes, **more)


def answer(right, weights, shares=(), **more):
    tables = SimpleNamespace(right=frozenset(right), shares=dict.fromkeys(shares, 0.5))
    found = judged(tables, ranking(weights, **more))
    return found["top"], found["outcome"], found["confidently_wrong"]


def test_what_counts_as_right():
    assert answer("a", {"a": 0.4, "b": 0.3}) == ("a", "right", False)
    assert answer("a", {"a": 0.3, "b": 0.3}) == ("nobody", "wrong", False)
    assert answer("a", {"a": 0.4, "b": 0.6}) == ("b", "wrong", True)
    assert answer("a", {"a": 0.4, "b": 0.3}, undecided=False) == ("a", "right", False)
    assert answer("a", {"a": 0.1, "b": 0.4}, undecided=True) == ("undecided", "undecided", False)
    assert answer("", {"a": 0.4, "b": 0.15}) == ("nobody", "right", False)
    assert answer("", {"a": 0.6, "b": 0.0}) == ("a", "wrong", True)
    assert answer("ab", {"a": 0.3, "b": 0.2, "c": 0.4}) == ("c", "right", False)


def test_of_a_mixture_both_must_count():
    assert answer("ab", {"a": 0.8, "b": 0.12}, shares="ab")[1] == "right"
    assert answer("ab", {"a": 0.95, "b": 0.05}, shares="ab")[1] == "wrong"
    note = ("no single source explains the target",)
    assert answer("ab", {"a": 0.95, "b": 0.05}, shares="ab", notes=note)[1] == "right"
    assert answer("ab", {"a": 0.3, "b": 0.0}, shares="ab", notes=note)[1] == "wrong"
