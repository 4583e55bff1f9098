"""The reacher's studies in small: records, weights that make sense, tables, pictures."""

from dataclasses import replace

import numpy as np
import pytest
from bers_studies.envs.reacher import Reacher
from bers_studies.reacher import study as reacher
from bers_studies.reacher.claims import claims
from bers_studies.reacher.figures import draw_reacher
from bers_studies.reacher.study import GOALS, METHODS, SOURCES, ReacherConfig, ShownConfig, shown
from bers_studies.reacher.tables import tables
from bers_studies.reacher_again import study as reacher_again
from bers_studies.reacher_again.claims import claims as claims_again
from bers_studies.reacher_again.tables import tables as tables_again
from bers_studies.reacher_map import study as reacher_map
from bers_studies.reacher_map.figures import draw_map
from bers_studies.report.curves import Runs, read_runs
from bers_studies.runner.run import Experiment, run

TINY = ShownConfig(steps=6000, rows=2000)


SMALL = ReacherConfig(episodes=2, tests=2, clone_epochs=3, shown=TINY)


def short(method):
    return replace(method, model=replace(method.model, batches=1000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reacher")
    with pytest.MonkeyPatch.context() as patch:
        for name, method in reacher.WEIGHTED.items():
            patch.setitem(reacher.WEIGHTED, name, short(method))
        run(Experiment("reacher", SMALL, reacher.trial), [0], path, backend="here")
    return path


def test_every_method_has_its_record(folder):
    found = read_runs(folder)
    assert found.values("method") == list(METHODS)
    assert found.values("panel") == ["upper right"]
    for record in found.records:
        assert len(record["returns"]) == 2
        assert np.isfinite(record["returns"]).all()
        if "weights" in record:
            assert np.shape(record["weights"]) == (2, 4)
    single = found.pick(method="S3")[0]
    assert single["weights"] == [[0, 0, 1, 0]] * 2


def test_near_demonstrators_are_trusted_from_the_start(folder):
    found = read_runs(folder)
    upper = np.array(found.pick(method="BERS", panel="upper right")[0]["weights"])[-1]
    bench = reacher.ReacherBench(GOALS["lower left"], shown(0, TINY), 0, SMALL)
    lower = np.array(bench.run(short(reacher.OURS))["weights"])[-1]
    names = list(SOURCES)
    assert names[int(upper.argmax())] == "top"
    assert lower[names.index("left")] + lower[names.index("bottom")] > 0.75


def test_demonstrations_are_those_of_their_goals():
    given = shown(0, TINY)
    assert given.counts.tolist() == [2000] * 4
    for i, goal in enumerate(SOURCES.values()):
        rows = given.part(i)
        tips = reacher._tips(rows.s_t) / 5
        expected = 1 - 4 * np.linalg.norm(tips - np.array(goal), axis=1)
        np.testing.assert_allclose(rows.r_t, expected, atol=1e-4)


def test_tables_and_pictures(folder, tmp_path):
    made = tables(folder)
    assert "**upper right**" in made
    assert "| None |" in made
    draw_reacher(folder, tmp_path / "r.png")
    assert (tmp_path / "r.png").stat().st_size > 10_000


def test_a_map_of_whom_to_trust(tmp_path):
    config = reacher_map.ReacherMapConfig(goals=12, shown=TINY)
    run(Experiment("reacher-map", config, reacher_map.trial), [0], tmp_path, backend="here")
    (record,) = read_runs(tmp_path).records
    assert record["names"] == list(SOURCES)  # in the order of the weights
    assert [tuple(place) for place in record["wants"]] == list(SOURCES.values())
    goals, odds = np.array(record["goals"]), np.array(record["weights_at"]["odds"])
    assert (np.linalg.norm(goals, axis=1) <= Reacher().reach).all()
    assert odds.shape == (12, 4)
    far = np.linalg.norm(goals, axis=1) > 0.1
    away = np.linalg.norm(goals[:, None] - np.array(record["wants"]), axis=2)
    nearest = odds.argmax(axis=1) == away.argmin(axis=1)
    assert nearest[far].mean() >= 0.75
    must = np.array(record["weights_at"]["shape"])
    np.testing.assert_allclose(must.sum(axis=1), 1, atol=2e-3)
    assert ((odds.sum(axis=1) >= -1e-9) & (odds.sum(axis=1) <= 1 + 2e-3)).all()
    assert len({tuple(row) for row in must.tolist()}) > 6  # other goals, other demonstrators
    draw_map(tmp_path, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000


def tale(goal, trial, method, level, a):
    """A made-up record."""
    found = {"panel": goal, "trial": trial, "method": method, "names": list(SOURCES)}
    return found | {"returns": [level + trial] * 3, "weights": [a] * 3}


def claimed(ours, upper, lower):
    """Which claims hold of ours, where all others have 300."""
    records = [
        tale(goal, trial, method, ours if method == "BERS" else 300.0, a)
        for goal, a in (("upper right", upper), ("lower left", lower))
        for trial in range(5)
        for method in METHODS
    ]
    runs = Runs(tuple(records), 5, 0, "reacher")
    return {c.id: c.holds for c in claims(runs) if c.said_by == "BERS"}


def test_claims_hold_when_they_should():
    good = claimed(350.0, [0.3, 0, 0.7, 0], [0, 0.5, 0, 0.5])
    assert len(good) == 12
    assert all(good.values())
    bad = claimed(290.0, [0.6, 0, 0.4, 0], [0.3, 0.2, 0.0, 0.5])
    assert not any(bad.values())


def test_the_arm_again_is_bers_with_the_same_numbers(folder, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(reacher.WEIGHTED, "BERS", short(reacher.OURS))
        run(Experiment("reacher-again", SMALL, reacher_again.trial), [0], tmp_path, backend="here")
    (again,) = read_runs(tmp_path).records
    (before,) = read_runs(folder).pick(method="BERS")
    assert again["returns"] == before["returns"]
    assert again["weights"] == before["weights"]
    assert "| upper right | 1 |" in tables_again(tmp_path)


def test_claims_of_the_arm_again_hold_when_they_should():
    def claimed_again(level, upper, lower):
        records = [
            tale(goal, trial, "BERS", level, a)
            for goal, a in (("upper right", upper), ("lower left", lower))
            for trial in range(5)
        ]
        return [c.holds for c in claims_again(Runs(tuple(records), 5, 0, "reacher-again"))]

    assert claimed_again(350.0, [0.3, 0, 0.7, 0], [0, 0.5, 0, 0.5]) == [True] * 6
    assert claimed_again(290.0, [0.6, 0, 0.4, 0], [0.3, 0.2, 0.0, 0.5]) == [False] * 6
