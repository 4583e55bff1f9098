import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from optimise_helpers import BOTH, BOUNDS, CENTRE, SMALL, assert_same, eight, past, sphere
from safetensors.numpy import save_file

from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import LogGap
from bers.errors import ConfigError, DataWarning, FileError
from bers.integrity import read_sealed, write_sealed
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.model.model_files import save_model
from bers.model.neural_linear import fit
from bers.optimise.ask_tell import Optimizer
from bers.optimise.campaign import Campaign
from bers.schedules import Constant, Linear
from bers.trust.rules import Rule

PAST = {"right": past(), "wrong": past(-2 * CENTRE, seed=1)}
STREAMS = ["PCG64", "PCG64DXSM", "Philox", "MT19937", "SFC64"]
BLIND = ReuseConfig(rule="equal")


def values(points):
    return np.array([sphere(point) for point in points])


def new(sources=PAST, *, stream="PCG64", reuse=BLIND, updating="deferred", model=None, **more):
    rng = np.random.Generator(getattr(np.random, stream)(5))
    learner = eight(updating, **more)
    return Optimizer(BOUNDS, sources, rng=rng, learner=learner, reuse=reuse, model=model)


def run(optimizer, generations):
    while True:
        points = optimizer.ask()
        if optimizer.nit >= generations:
            return
        optimizer.tell(points, values(points))


def in_the_midst(optimizer):
    """Some points of a generation told, others asked for only."""
    for _ in range(3):
        points = optimizer.ask()
        optimizer.tell(points[-2:], values(points[-2:]))


def goes_on_the_same(optimizer, path, generations=4):
    optimizer.save(path)
    loaded = Optimizer.load(path)
    if optimizer.state is not None:
        assert_same(optimizer.result(), loaded.result())
    assert loaded.weights == optimizer.weights
    until = optimizer.nit + generations
    for one in (optimizer, loaded):
        run(one, until)
    assert_same(optimizer.result(), loaded.result())
    for name in ("weight_history", "use_history"):
        np.testing.assert_array_equal(getattr(optimizer, name), getattr(loaded, name))
    assert loaded.rng.random() == optimizer.rng.random()
    return loaded


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_plain_run_goes_on_with_the_same_bits(tmp_path, updating, stream):
    optimizer = new((), updating=updating, stream=stream)
    run(optimizer, 2)
    in_the_midst(optimizer)
    goes_on_the_same(optimizer, tmp_path / "a.bers")


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rule", ["equal", "ucb"])
def test_a_run_by_a_blind_rule_goes_on_with_the_same_bits(tmp_path, updating, stream, rule):
    optimizer = new(updating=updating, stream=stream, reuse=ReuseConfig(rule=rule))
    run(optimizer, 2)
    in_the_midst(optimizer)
    goes_on_the_same(optimizer, tmp_path / "a.bers")


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize(
    ("stream", "reuse"),
    [
        ("PCG64", ReuseConfig()),
        ("Philox", ReuseConfig(guard="success", schedule=Constant(0.8))),
        ("MT19937", ReuseConfig(pick="predicted", elites=3, rule="gradient")),
        ("PCG64", ReuseConfig(guard="none", schedule=Linear(0.9, 20), subset=None, batches=3)),
        ("SFC64", ReuseConfig(rule="shape+nobody", transform="rank", batches=0)),
        ("PCG64DXSM", ReuseConfig(rule="equal", pick="predicted", elites=2)),
    ],
)
def test_a_run_with_a_model_goes_on_with_the_same_bits(tmp_path, updating, stream, reuse):
    optimizer = new(updating=updating, stream=stream, reuse=reuse, model=SMALL)
    run(optimizer, 2)
    in_the_midst(optimizer)
    loaded = goes_on_the_same(optimizer, tmp_path / "a.bers", 3)
    assert loaded.reuse.schedule == reuse.schedule
    assert loaded.trust.rule.name == reuse.rule
    offer = loaded.reuse.offer
    assert (offer.how, offer.pick, offer.elites) == (reuse.guard, reuse.pick, reuse.elites)
    assert loaded.reuse.m == optimizer.reuse.m == 5
    assert str(loaded.ranking()) == str(optimizer.ranking())


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("told", [0, 3, 8])
def test_a_run_that_has_hardly_begun(tmp_path, updating, told):
    optimizer = new(updating=updating)
    points = optimizer.ask()
    optimizer.tell(points[:told], values(points[:told]))
    optimizer.save(tmp_path / "a.bers")
    np.testing.assert_array_equal(Optimizer.load(tmp_path / "a.bers").ask(), optimizer.ask())
    goes_on_the_same(optimizer, tmp_path / "b.bers")


@pytest.mark.parametrize("updating", BOTH)
def test_islands_are_kept_in_every_state(tmp_path, updating):
    optimizer = new({"right": past()}, updating=updating)
    states = set()
    for generation in range(1, 12):
        run(optimizer, generation)
        optimizer.save(tmp_path / "a.bers")
        loaded = Optimizer.load(tmp_path / "a.bers")
        islands, again = optimizer.state.islands, loaded.state.islands
        states.add("one" if islands is None else "two" if islands.won is None else "over")
        assert loaded.state.contest == optimizer.state.contest
        assert (islands is None) == (again is None)
        if islands is not None:
            np.testing.assert_array_equal(islands.guided, again.guided)
            assert (islands.ahead, islands.behind, islands.won) == (
                again.ahead,
                again.behind,
                again.won,
            )
        run(loaded, generation + 2)
        other = Optimizer.load(tmp_path / "a.bers")
        run(other, generation + 2)
        assert_same(loaded.result(), other.result())
    assert states == {"two", "over", "one"}
    run(optimizer, 13)
    assert_same(loaded.result(), optimizer.result())


def test_saving_changes_nothing(tmp_path):
    saved, other = new(), new()
    for generation in range(4):
        for one in (saved, other):
            run(one, generation)
        saved.save(tmp_path / "a.bers")
    assert_same(saved.result(), other.result())
    first = (tmp_path / "a.bers").read_bytes()
    saved.save(tmp_path / "b.bers")
    assert (tmp_path / "b.bers").read_bytes() == first


def test_a_loaded_run_can_be_saved_again(tmp_path):
    optimizer = new(stream="Philox", mutation=(0.5, 1.0))
    run(optimizer, 2)
    optimizer.save(tmp_path / "a.bers")
    Optimizer.load(tmp_path / "a.bers").save(tmp_path / "b.bers")
    assert (tmp_path / "a.bers").read_bytes() == (tmp_path / "b.bers").read_bytes()
    goes_on_the_same(Optimizer.load(tmp_path / "b.bers"), tmp_path / "c.bers")


@pytest.mark.parametrize("transform", ["auto", "rank", "paper", None])
@pytest.mark.parametrize("init", ["random", "sobol"])
def test_all_settings_are_kept(tmp_path, transform, init):
    how = {"mutation": [0.4, 0.9], "recombination": 0.6, "tol": 0.1, "atol": 0.2, "init": init}
    reuse = replace(BLIND, transform=transform)
    optimizer = new(updating="immediate", reuse=reuse, **how)
    loaded = goes_on_the_same(optimizer, tmp_path / "a.bers")
    assert loaded.learner == replace(optimizer.learner, init="random")  # it has begun already
    assert loaded.converged == optimizer.converged
    assert loaded.best == optimizer.best
    for one, other in zip(loaded.trust.sources, optimizer.trust.sources, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(loaded.trust.target.y, optimizer.trust.target.y)


def test_odd_sources_are_kept(tmp_path):
    x, y = past()
    sources = [
        Demonstrations(x.astype(np.float32), y, "a"),
        (np.zeros((0, 2)), []),
        Demonstrations(x, y, "a"),
    ]
    loaded = goes_on_the_same(new(sources), tmp_path / "a.bers")
    assert list(loaded.weights) == ["a", "run 1", "a (2)"]
    with pytest.warns(DataWarning, match="no past run has any points"):
        optimizer = new([(np.zeros((0, 2)), [])])
    goes_on_the_same(optimizer, tmp_path / "b.bers")


def test_settings_may_be_numbers_of_numpy(tmp_path):
    optimizer = new(reuse=ReuseConfig(rule="equal", elites=np.int64(4)))
    goes_on_the_same(optimizer, tmp_path / "a.bers")


def test_failed_evaluations_are_kept(tmp_path):
    optimizer = new()
    points = optimizer.ask()
    optimizer.tell(points, np.where(points[:, 0] > 0, np.nan, values(points)))
    goes_on_the_same(optimizer, tmp_path / "a.bers")


def test_a_start_from_an_earlier_result_is_kept(tmp_path):
    first = new(())
    run(first, 3)
    optimizer = new((), init=first.result())
    goes_on_the_same(optimizer, tmp_path / "a.bers")
    np.testing.assert_array_equal(optimizer.result().x_all[:8], first.result().population)


def test_an_optimiser_of_your_own_cannot_be_saved(tmp_path):
    class Own:
        def ask(self):
            return np.zeros((1, 2))

        def tell(self, x, y):
            pass

    with pytest.raises(ConfigError, match="optimiser of your own cannot be saved: save that one"):
        Optimizer(BOUNDS, learner=Own()).save(tmp_path / "a.bers")
    assert list(tmp_path.iterdir()) == []


def test_a_rule_of_your_own_is_refused(tmp_path):
    own = Rule("mine", lambda known, past: np.eye(known.N)[-1], needs="rows")
    with pytest.raises(ConfigError, match=r"rule of your own \(mine\) cannot be saved"):
        new(reuse=ReuseConfig(rule=own)).save(tmp_path / "a.bers")
    assert list(tmp_path.iterdir()) == []


def test_a_schedule_of_your_own_is_refused(tmp_path):
    optimizer = new(reuse=ReuseConfig(rule="equal", schedule=lambda m: 0.5))
    with pytest.raises(ConfigError, match="schedule of your own .function. cannot be saved.*Power"):
        optimizer.save(tmp_path / "a.bers")
    assert list(tmp_path.iterdir()) == []


# files that are no runs


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "a.bers"
    optimizer = new()
    run(optimizer, 2)
    optimizer.save(path)
    return path


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no run file .*nowhere.bers. Check the path"):
        Optimizer.load(tmp_path / "nowhere.bers")
    with pytest.raises(FileError, match="there is no run file"):
        Optimizer.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\0" * 100, b"\x10" + b"\0" * 7 + b"{}" * 8])
def test_a_file_of_something_else_is_named(tmp_path, content):
    path = tmp_path / "a.bers"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"a.bers is (damaged or )?not a BERS run"):
        Optimizer.load(path)


def test_a_file_of_another_kind_is_named(tmp_path):
    path = tmp_path / "a.bers"
    save_file({"x": np.ones(3)}, path)
    with pytest.raises(FileError, match=r"is not a BERS run .format None, wanted 'bers-run-2'"):
        Optimizer.load(path)
    x, y = past()
    rows = Demonstrations(x, y, "a").transformed(LogGap())
    model = fit([rows], config=SMALL, rng=np.random.default_rng(0), progress=False)
    save_model(model, path)
    with pytest.raises(FileError, match=r"is not a BERS run .format 'bers-model"):
        Optimizer.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_cut_file_is_named(good, tmp_path, share):
    whole = good.read_bytes()
    path = tmp_path / "cut.bers"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FileError, match="cut.bers is damaged"):
        Optimizer.load(path)


def test_any_flipped_byte_is_noticed(good, tmp_path):
    whole = bytearray(good.read_bytes())
    path = tmp_path / "flipped.bers"
    for at in np.linspace(0, len(whole) - 1, 60).astype(int):
        flipped = whole.copy()
        flipped[at] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(FileError, match="flipped.bers is (damaged|not)"):
            Optimizer.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, about: arrays.pop("low"),
        lambda arrays, about: arrays.pop("agents.f"),
        lambda arrays, about: arrays.pop("points.1"),
        lambda arrays, about: about.pop("streams"),
        lambda arrays, about: about.update(streams=[]),
        lambda arrays, about: about.update(streams=about["streams"][:1]),
        lambda arrays, about: about["streams"][0].update(bit_generator="RandomState"),
        lambda arrays, about: about["streams"][0].update(state={}),
        lambda arrays, about: about["learner"].update(population=2),
        lambda arrays, about: about["learner"].update(unknown=2),
        lambda arrays, about: about["reuse"].update(schedule=["open", {}]),
        lambda arrays, about: about["reuse"].update(schedule=["Power", {"file": 1}]),
        lambda arrays, about: about["reuse"]["trust"].update(rule="maybe"),
        lambda arrays, about: about["reuse"]["trust"].update(remember=-1),
        lambda arrays, about: about["reuse"]["trust"].update(transform={"name": "os.system"}),
        lambda arrays, about: about.update(names=["one", "two", "three"]),
        lambda arrays, about: about["reuse"].update(how="maybe"),
        lambda arrays, about: about["reuse"].update(pick="worst"),
        lambda arrays, about: about["reuse"].update(elites=-1),
        lambda arrays, about: about["reuse"].pop("m"),
        lambda arrays, about: arrays.pop("trust.a"),
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(good, tmp_path, change):
    arrays, about = read_sealed(good, "bers-run-2", "a BERS run")
    change(arrays, about)
    write_sealed(tmp_path / "b.bers", "bers-run-2", arrays, json.loads(json.dumps(about)))
    with pytest.raises((FileError, ConfigError), match=r"."):
        Optimizer.load(tmp_path / "b.bers")


def test_a_failed_save_leaves_the_old_file(good, tmp_path, monkeypatch):
    path = tmp_path / "a.bers"
    path.write_bytes(good.read_bytes())

    def full(*args, **more):
        raise OSError("No space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(FileError, match="cannot write .*a.bers: No space left.*has room"):
        new().save(path)
    assert path.read_bytes() == good.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("written", [np.float32, lambda x: x.round(4)])
@pytest.mark.parametrize("learner", [CMAES(batch=5), DE(population=5)])
def test_values_of_what_was_asked_for_may_be_told_to_the_loaded_run(tmp_path, learner, written):
    optimizer = Optimizer([(-1, 1)] * 3, rng=0, learner=learner)
    points = optimizer.ask()
    optimizer.tell(written(points[:1]), [7.0])
    optimizer.save(tmp_path / "run.bers")
    later = Optimizer.load(tmp_path / "run.bers")
    values = np.sum(points[1:] ** 2, axis=1)
    for one in (optimizer, later):
        one.tell(written(points[1:])[::-1], values[::-1])
        assert one.result().nfev == len(points)
    assert np.array_equal(optimizer.ask(), later.ask())
    assert not any((np.abs(points - new) < 1e-3).all(axis=1).any() for new in later.ask())


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("generations", [0, 2])
def test_points_that_nobody_asked_for_are_kept(tmp_path, updating, generations):
    optimizer = new(updating=updating)
    run(optimizer, generations)
    optimizer.tell([CENTRE, -CENTRE], values([CENTRE, -CENTRE]))
    in_the_midst(optimizer)
    optimizer.save(tmp_path / "a.bers")
    loaded = Optimizer.load(tmp_path / "a.bers")
    assert (loaded.best, loaded.result().nfev) == (0, optimizer.result().nfev)
    goes_on_the_same(optimizer, tmp_path / "b.bers")


STORED = Path(__file__).parent / "stored"
"""Files of version 0.1.0: each version after it has to read them."""


@pytest.mark.parametrize(("name", "told", "best"), [("cmaes", 16, 1.3e-9), ("de", 27, 0.01)])
def test_a_file_of_this_version_is_read_for_ever(name, told, best):
    optimizer = Optimizer.load(STORED / f"{name}.bers")
    assert optimizer.result().nfev == told
    assert optimizer.best == pytest.approx(best, rel=0.05)
    assert optimizer.names == ["old"]
    points = optimizer.ask()
    optimizer.tell(points, np.sum((points - 0.5) ** 2, axis=1))
    assert optimizer.result().nfev >= told + len(points)
    assert not np.array_equal(optimizer.ask(), points)


def test_so_is_a_campaigns():
    campaign = Campaign.load(STORED / "campaign.bers")
    assert (campaign.best, campaign.result().nfev, campaign.names) == (3.0, 2, ["old"])
    assert campaign.ask().to_dict("records") == [{"base": "a", "hours": 2.0}]
