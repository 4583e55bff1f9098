"""The supply chain's study, in small: its records, its repetition, its tables and claims."""

import json
import tempfile
from functools import partial

import numpy as np
import pytest
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.report.curves import read_runs
from bers_studies.rl.ddpg import DDPG, DDPGConfig
from bers_studies.runner.run import Experiment, run
from bers_studies.supply import demonstrations as supply_demonstrations
from bers_studies.supply import study as supply
from bers_studies.supply.claims import claims
from bers_studies.supply.demonstrations import DemonstrationConfig, shown, with_trucks
from bers_studies.supply.figures import FIGURES
from bers_studies.supply.study import METHODS, TRUTHS, SupplyConfig, trial
from bers_studies.supply.tables import tables
from bers_studies.supply_flows import study as supply_flows
from bers_studies.supply_options import study as supply_options
from bers_studies.supply_options.tables import tables as options_tables

from bers.reuse.transitions import with_products

SMALL = SupplyConfig(episodes=2, tests=2, shown=DemonstrationConfig(steps=400, rows=300))


@pytest.fixture(scope="module", autouse=True)
def small_networks():
    """An episode with the study's own, 300 and 300, takes a second."""
    small = DDPGConfig(hidden=(32, 32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supply, "DDPG", partial(DDPG, config=small))
        patch.setattr(supply_demonstrations, "DDPGConfig", lambda: small)
        yield


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """One trial on scenario 2, with the settings of a model that is quick to fit."""
    folder = tmp_path_factory.mktemp("demonstrations")
    quick = {name: replace_model(method, batches=40) for name, method in supply.WEIGHTED.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setattr(supply, "WEIGHTED", quick)
        yield list(trial(SMALL, seed=1))


def replace_model(method, **changes):
    from dataclasses import replace

    return replace(method, model=replace(method.model, **changes))


def test_every_method_has_a_record(records):
    digests, *runs = records
    assert list(digests["data_digests"]) == ["scenario 1", "scenario 2", "scenario 3"]
    assert [r["method"] for r in runs] == list(METHODS)
    for record in runs:
        assert record["truth"] == "2"
        assert record["trial"] == 0
        assert len(record["profit"]) == 2
        assert np.isfinite(record["profit"]).all()
        assert len(record["sources"]) == 3
    json.dumps(runs)  # plain values only


def test_weights_are_shares_and_single_sources_are_single(records):
    by_name = {r["method"]: r for r in records[1:]}
    for name in ("BERS", "BERS, paper's recipe"):
        a = np.array(by_name[name]["weights"])
        assert a.shape == (2, 3)
        assert (a >= 0).all()
        assert (a.sum(axis=1) <= 1.001).all()
    assert by_name["S3"]["weights"] == [[0.0, 0.0, 1.0]] * 2
    assert by_name["RLPD"]["weights"][0] == pytest.approx([0.333] * 3, abs=1e-3)


def test_the_right_source_is_found_at_once(records):
    a = np.array(records[1]["weights"])
    assert records[1]["method"] == "BERS"
    assert (a[:, 1] > 0.5).all()


def test_posteriors_are_kept_of_sources_and_target(records):
    kept = records[1]["posteriors"]
    assert len(kept["entries"]) == 12
    centre = np.array(kept["0"]["centre"])
    assert centre.shape == (3, 12)  # the target has no head yet
    assert (np.array(kept["0"]["scale"]) > 0).all()


def test_prioritised_batches_are_made_of_demonstrations_at_first(records):
    makeup = np.array({r["method"]: r for r in records[1:]}["PER"]["makeup"])
    np.testing.assert_allclose(makeup.sum(axis=1), 1.0, atol=2e-3)
    assert makeup[0, 1:].sum() > 0.5
    assert makeup[1, 0] > makeup[0, 0]


def test_policies_are_each_tried(records):
    assert {r["method"]: r for r in records[1:]}["PPR"]["arms"] == [0, 1]


def test_options_differ_in_one_thing_each(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    quick = replace_model(supply.OURS, batches=40)
    chosen = {"BERS": (quick, supply_options._TRUCKS), "products": (quick, with_products)}
    chosen["None"] = ("None", supply_options._TRUCKS)
    monkeypatch.setattr(supply_options, "OPTIONS", chosen)
    config = supply_options.SupplyOptionsConfig(study=SMALL)
    run(Experiment("options", config, supply_options.trial), [1], tmp_path / "o", backend="here")
    found = read_runs(tmp_path / "o")
    assert found.values("method") == list(chosen)
    assert found.values("truth") == ["target"]
    assert "posteriors" not in found.records[0]
    first, second, alone = (r["profit"] for r in found.records)
    assert first != second  # the inputs matter
    assert first != alone
    made = options_tables(tmp_path / "o")
    assert "| None |" in made
    assert "target: after 1 | mean of 2 | right weight |" in made


def test_flows_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    quick = replace_model(supply.WEIGHTED["BERS"], batches=40)
    monkeypatch.setitem(supply.WEIGHTED, "BERS", quick)
    config = supply_flows.FlowsConfig(episodes=1, tests=2, shown=SMALL.shown)
    ours, none = supply_flows.trial(config, seed=3)
    assert (ours["method"], none["method"], ours["truth"]) == ("BERS", "None", "target")
    network = SupplyChain("target")
    for record in (ours, none):
        flows = np.array(record["flows"])
        assert flows.shape == (7, 7)
        assert (flows >= 0).all()
        assert (np.diag(flows) == 0).all()
        assert (flows[:, 0] == 0).all()  # nothing goes back to the factory
        assert flows[0].sum() <= network.max_production  # no more leaves it than was made
        np.testing.assert_allclose(record["truck_cost"], network.truck_cost)
        assert np.isfinite(record["earned"])


def test_the_options_named_are_ours_with_one_thing_changed():
    for name, (method, inputs) in supply_options.OPTIONS.items():
        if name in ("BERS", "None"):
            continue
        changed = [inputs is not supply_options._TRUCKS, method.handing != supply.OURS.handing]
        changed += [method.reuse.rule != supply.OURS.reuse.rule]
        changed += [method.model != supply.OURS.model]
        assert sum(changed) == 1, name


def test_demonstrations_repeat_and_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = []
    real = supply_demonstrations._trained
    monkeypatch.setattr(supply_demonstrations, "_trained", lambda *a: made.append(a) or real(*a))
    first, again = (shown(0, inputs=with_trucks(), config=SMALL.shown) for _ in range(2))
    assert len(made) == 3
    assert [s.digest for s in first.sources] == [s.digest for s in again.sources]
    assert first.counts.tolist() == [300] * 3
    low, high = first.keep
    assert all(((s.y >= low) & (s.y <= high)).all() for s in first.sources)
    assert [s.n for s in first.sources] == [pytest.approx(285, abs=3)] * 3
    # a row is a transition of its own scenario: rewards follow from trucks and stocks
    assert first.x.shape == (900, 94)


def tale(truth, trial, method, level):
    """A made-up record."""
    right = {"1": 0, "2": 1, "3": 2}.get(truth)
    a = np.eye(3)[right] if right is not None else np.array([0.5, 0.5, 0.0])
    found = {"profit": [level + 10.0 * trial] * 60, "truth": truth, "trial": trial}
    found |= {"method": method, "sources": [1000.0, 1100.0, 1200.0]}
    if method.startswith("BERS"):
        kept = {"centre": [[0.0] * 3] * 4, "scale": [[1.0] * 3] * 4}
        found |= {"weights": [a.tolist()] * 60, "posteriors": {"entries": [0, 1, 2], "0": kept}}
    if method == "PER":
        found["makeup"] = np.linspace([0.1, 0.3, 0.3, 0.3], [1, 0, 0, 0], 60).tolist()
    return found


LEVELS = {"BERS": 2000.0, "BERS, paper's recipe": 900.0, "None": 1000.0}


def made_up(config, seed):
    number, which = divmod(seed, 4)
    for method in METHODS:
        yield tale(str(TRUTHS[which]), number, method, LEVELS.get(method, 1500.0))


@pytest.fixture
def folder(tmp_path):
    run(Experiment("supply", SMALL, made_up), range(12), tmp_path, backend="here")
    return tmp_path


def test_claims_follow_from_the_records(folder):
    found = {claim.id: claim for claim in claims(read_runs(folder))}
    assert all(claim.trials == 3 for claim in found.values())
    for truth in ("1", "2", "3", "target"):
        assert found[f"supply-best-expert-{truth}-bers"].holds
        assert not found[f"supply-best-expert-{truth}-paper"].holds
        assert found[f"supply-safe-{truth}"].holds
    assert found["supply-ahead-of-none-1"].measured == "2010 against 1010: +99%"
    assert found["supply-finds-2-bers"].measured == "in 100%"
    assert found["supply-jump-start-3-bers"].holds
    assert not found["supply-jump-start-3-paper"].holds
    assert found["supply-both-weights-bers"].measured == "1.00"
    assert found["supply-ahead-s1-target-bers"].measured == "2010 against 1510"
    low, high = found["supply-best-expert-1-bers"].interval
    assert 2000 <= low < 2010 < high <= 2020
    assert found["supply-per-favours-1"].measured == "0.33"
    assert found["supply-per-early-target"].holds


def test_tables_and_pictures_come_from_the_journals(folder):
    made = tables(folder)
    assert "3 trials." in made
    assert "| BERS | 2010 | 2010 | 2010 | 2010 | 2010 ± 6 | 2010 ± 6 |" in made
    for name, draw in FIGURES.items():
        draw(folder, folder / name)
        assert (folder / name).stat().st_size > (10_000 if name.endswith(".png") else 5_000)
