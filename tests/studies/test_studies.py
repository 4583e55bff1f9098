"""Every study of static functions, small: all its records, and what they share."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from bers_studies.growth import study as growth
from bers_studies.latent import study as latent
from bers_studies.options import study as options
from bers_studies.paper_metric import study as paper_metric
from bers_studies.safety import study as safety
from bers_studies.static import study as static
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, ROSENBROCK, SOURCES, SPHERE
from bers_studies.static.runs import OURS, PAPER, THRESHOLDS, Method, paper_rule

from bers.data.demonstrations import Demonstrations
from bers.model.config import ModelConfig
from bers.optimise.multitask import minimize_many

# one size for all, because most of the time goes into compiling
TINY = ModelConfig(hidden=(16,), latent_dim=2, batches=1, learning_rate=1e-2)
PANELS = [function.name for function in (*SOURCES, RASTRIGIN)]
OPTIONS = (
    "guard by success, 16 points",
    "the same, points picked by the target's head",
    "the right source alone",
    "None",
)
SEED, GENERATIONS = 91, 2


def tiny(method):
    return replace(method, model=TINY)


def short(rng, function, *, max_generations=6, fitness=0.0, config=None):
    """Demonstrations of a few generations, however good they get."""
    few = min(max_generations, 6)
    return demonstrate(rng, function, fitness=0.0, max_generations=few, config=config)


def small(*arguments, **settings):
    return minimize_many(*arguments, **settings | {"model": TINY})


@pytest.fixture(scope="module")
def records():
    """Of every study, one trial with the same seed."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for study in (static, safety, growth, options, paper_metric, latent):
            patch.setattr(study, "demonstrate", short)
        for study in (safety, growth, options):
            patch.setattr(study, "OURS", tiny(OURS))
        for study in (paper_metric, latent):
            patch.setattr(study, "PAPER", tiny(PAPER))
        methods = {"BERS": tiny(OURS), "UCB": paper_rule("ucb"), "None": Method(None)}
        patch.setattr(static, "METHODS", methods | {"RGPE": tiny(static.METHODS["RGPE"])})
        patch.setattr(static, "minimize_many", small)
        patch.setattr(options, "OPTIONS", {name: tiny(options.OPTIONS[name]) for name in OPTIONS})
        changed = ("as printed", "10 batches a generation")
        patch.setattr(
            paper_metric, "VARIANTS", {name: tiny(paper_metric.VARIANTS[name]) for name in changed}
        )
        settings = {
            static: static.StaticConfig(GENERATIONS),
            safety: safety.SafetyConfig(GENERATIONS, rows=100, run_generations=3),
            growth: growth.GrowthConfig((2, 4), GENERATIONS, run_generations=3),
            options: options.OptionsConfig(GENERATIONS),
            paper_metric: paper_metric.PaperMetricConfig(
                GENERATIONS, long_population=48, long_batches=1
            ),
            latent: latent.LatentConfig(GENERATIONS),
        }
        paper = SimpleNamespace(
            paper=lambda **changes: replace(TINY, **changes)
        )  # of the models that a trial makes up itself
        patch.setattr(paper_metric, "ModelConfig", paper)
        patch.setattr(latent, "ModelConfig", paper)
        for study, config in settings.items():
            found[study.__name__.split(".")[1]] = list(study.trial(config, SEED))
    return found


def of(records, study, **wanted):
    return [r for r in records[study] if all(r.get(key) == value for key, value in wanted.items())]


@pytest.mark.parametrize("study", ["static", "safety", "growth", "options", "paper_metric"])
def test_every_record_is_a_curve_ready_for_a_journal(records, study):
    for r in records[study]:
        json.dumps(r, allow_nan=False)
        assert "seed" not in r  # the runner adds it
        if "data_digests" in r:
            continue
        assert len(r["best"]) == GENERATIONS + 1
        assert np.all(np.diff(r["best"]) <= 0)
        assert list(r["evaluations_to"]) == [str(t) for t in THRESHOLDS]
        if "weights" in r:
            assert len(r["weights"]) == len(r["used"]) == len(r["weights_at"]) == GENERATIONS
            assert np.all(np.array(r["weights"]) >= 0)
            assert np.all(np.sum(r["weights"], axis=1) <= 1 + 4e-3)


def test_no_sources_is_the_same_run_in_all_studies(records):
    for panel in PANELS:
        plain = of(records, "static", panel=panel, method="None")
        plain += of(records, "options", panel=panel, method="None")
        plain += of(records, "safety", panel=panel, method="None")
        assert len(plain) == 1 + 1 + 4
        for r in plain:
            assert r["best"] == plain[0]["best"]
            assert r["evaluations_to"] == plain[0]["evaluations_to"]
            assert "weights" not in r


def test_every_run_of_a_panel_starts_from_the_same_population(records):
    for panel in PANELS:
        starts = {
            r["best"][0]
            for study in ("static", "safety", "growth", "options", "paper_metric")
            for r in of(records, study, panel=panel)
            if r["method"] not in static.RIVALS
        }
        assert len(starts) == 1
    together = of(records, "static", panel=static.MULTI_TASK)
    assert len({r["best"][0] for r in together}) == 1


def test_static_has_all_panels_methods_and_rivals(records):
    pytest.importorskip("cmaes")
    first, *rest = records["static"]
    assert list(first) == ["data_digests"]
    assert list(first["data_digests"]) == [function.name for function in SOURCES]
    methods = ["BERS", "UCB", "None", "RGPE", *static.RIVALS]
    expected = [(panel, method) for panel in PANELS for method in methods]
    expected += [(static.MULTI_TASK, method) for method in ("BERS", "UCB", "None")]
    assert [(r["panel"], r["method"]) for r in rest] == expected
    for r in of(records, "static", panel=static.MULTI_TASK):
        assert np.shape(r["weights"]) == (GENERATIONS, 3)  # of the three other tasks
    for name in static.RIVALS:
        assert all("weights" not in r for r in of(records, "static", method=name))


def test_safety_has_all_kinds_for_all_targets(records):
    kinds = {"other functions": 2, "moved": 2, "sign turned": 1, "noise": 2}
    assert [(r["panel"], r["kind"], r["method"]) for r in records["safety"]] == [
        (panel, kind, method) for panel in PANELS for kind in kinds for method in ("None", "BERS")
    ]
    for kind, number in kinds.items():
        for r in of(records, "safety", kind=kind, method="BERS"):
            assert np.shape(r["weights"]) == (GENERATIONS, number)


def test_runs_that_mislead_do():
    rng = np.random.default_rng(0)
    moved = safety.moved_run(rng, SPHERE, 80, 3)
    assert moved.name == "Sphere 3"
    best = moved.x[np.argmin(moved.y)]
    assert np.all(np.abs(best + 2) > 0.5)  # in every coordinate
    noise = safety.noise_run(rng, 500, 1)
    assert (noise.n, noise.dim, noise.name) == (500, 10, "noise 1")
    assert np.all(np.abs(noise.x) <= 4)
    assert abs(np.corrcoef(noise.y, SPHERE(noise.x))[0, 1]) < 0.2


def test_the_turned_run_is_the_targets_own_upside_down():
    noise = safety.Models([safety.noise_run(np.random.default_rng(0), 50, 0)], 0)
    config = safety.SafetyConfig(run_generations=2, runs=1)
    rng = np.random.default_rng(1)
    others = [demonstrate(rng, function, max_generations=1) for function in SOURCES]
    made = dict(safety._misleading(rng, ROSENBROCK, others, noise, 0, config))
    assert list(made) == ["other functions", "moved", "sign turned", "noise"]
    assert [run.name for run in made["other functions"].sources] == ["Ackley", "Sphere"]
    (turned,) = made["sign turned"].sources
    np.testing.assert_allclose(turned.y, -ROSENBROCK(turned.x), rtol=1e-9)
    made = dict(safety._misleading(rng, RASTRIGIN, others, noise, 0, config))
    assert [run.name for run in made["other functions"].sources] == ["Rosenbrock", "Ackley"]


def test_growth_has_one_record_per_number(records):
    assert [r["number"] for r in records["growth"]] == [2, 4]
    for r in records["growth"]:
        assert (r["panel"], r["method"]) == ("Rastrigin", "BERS")
        assert np.shape(r["weights"]) == (GENERATIONS, 2)  # the right run, and all others
        assert r["weights"][0][0] + r["weights"][0][1] <= 1.01


def test_a_smaller_set_of_runs_is_part_of_every_larger_one(monkeypatch):
    seen = []
    monkeypatch.setattr(growth, "demonstrate", short)
    monkeypatch.setattr(growth, "Models", lambda runs, seed: seen.append(runs))
    monkeypatch.setattr(growth, "curve", lambda *args, **more: {"weights": [[0.5, 0.25, 0.2]]})
    config = growth.GrowthConfig(numbers=(2, 3, 6), run_generations=1)
    found = list(growth.trial(config, 0))
    assert [len(runs) for runs in seen] == [2, 3, 6]
    assert [run.name for run in seen[2]] == [
        "Sphere", "Ackley 1", "Sphere 2", "Rastrigin 3", "Rosenbrock 4", "Ackley 5"
    ]  # fmt: skip
    for few, more in pairwise(seen):
        assert [a.digest for a in few] == [b.digest for b in more[: len(few)]]
    assert found[0]["weights"] == [[0.5, 0.45]]


def test_options_has_every_option_for_every_target(records):
    assert [(r["panel"], r["method"]) for r in records["options"]] == [
        (panel, name) for panel in PANELS for name in OPTIONS
    ]
    for panel, right in (("Rosenbrock", 0), ("Rastrigin", 2)):
        (r,) = of(records, "options", panel=panel, method="the right source alone")
        assert r["weights"][1:] == [np.eye(3)[right].tolist()] * (GENERATIONS - 1)


def test_options_go_from_the_papers_way_to_ours_and_beyond():
    first, *_ = options.OPTIONS.values()
    assert replace(first.reuse, guard="trial", elites=16) == OURS.reuse
    assert options.OPTIONS["guard by trial, 16 points (default)"] == OURS
    assert options.OPTIONS["None"] == Method(None)
    assert len({repr(method) for method in options.OPTIONS.values()}) == len(options.OPTIONS) - 1


def test_paper_metric_has_every_variant_and_says_how_long_the_runs_were(records):
    methods = [r["method"] for r in records["paper_metric"]]
    assert methods == [
        "as printed", "10 batches a generation", "1 batches before", "demonstrations with NP = 48"
    ]  # fmt: skip
    assert [r["rows"] for r in records["paper_metric"]] == [[7 * 32] * 3] * 3 + [[7 * 48] * 3]
    assert {r["panel"] for r in records["paper_metric"]} == {"Rastrigin"}


def test_latent_has_the_means_of_all_heads_after_every_generation(records):
    assert [r["panel"] for r in records["latent"]] == PANELS
    for r in records["latent"]:
        assert set(r) == {"panel", "means", "covariances"}
        wide = np.array(r["covariances"])
        assert wide.shape == (GENERATIONS // latent.EVERY + 1, 4, 2, 2)
        assert (np.linalg.eigvalsh(wide) > 0).all()
        assert np.shape(r["means"]) == (GENERATIONS + 1, 4, 3)  # sources and target; two and a bias
        moves = np.abs(np.diff(r["means"], axis=0)).max(axis=(0, 2))
        assert (moves > 0).all()
        json.dumps(r, allow_nan=False)


@pytest.mark.parametrize("study", [safety, growth])
def test_same_seed_same_records_and_other_seeds_differ(study, monkeypatch):
    """Of what a trial makes itself; curves are compared elsewhere."""
    runs = []

    def look(function, models, method, *, seed, generations):
        runs.extend([] if models is None else [run.digest for run in models.sources])
        return {"weights": [[1.0, 0.0]]}

    monkeypatch.setattr(study, "demonstrate", short)
    monkeypatch.setattr(study, "curve", look)
    config = {
        safety: safety.SafetyConfig(2, rows=20, run_generations=1),
        growth: growth.GrowthConfig((3,), 2, run_generations=1),
    }[study]
    found = []
    for seed in (0, 0, 1):
        runs.clear()
        list(study.trial(config, seed))
        found.append(list(runs))
    assert found[0] == found[1]
    assert not set(found[0]) & set(found[2])


def test_demonstrations_hold_every_evaluation_until_the_fitness():
    run = demonstrate(np.random.default_rng(0), SPHERE, fitness=1.0)
    assert run.n % 32 == 0
    assert run.original_y.min() <= 1.0 < run.original_y[:-32].min()
    np.testing.assert_allclose(run.original_y, SPHERE(run.x), rtol=1e-12)
    assert [t.name for t in run.transforms] == ["log1p"]
    assert isinstance(run, Demonstrations)
    again, other = (demonstrate(np.random.default_rng(s), SPHERE, fitness=1.0) for s in (0, 1))
    assert again.digest == run.digest != other.digest
    short_run = demonstrate(np.random.default_rng(0), RASTRIGIN, max_generations=3)
    assert short_run.n == 4 * 32
