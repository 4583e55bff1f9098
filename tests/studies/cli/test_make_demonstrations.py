"""The paper's demonstrations as files, in small; and the command that is printed next."""

import json
import shlex
import tempfile
from importlib import import_module

import gymnasium
import numpy as np
import pytest
from bers_studies.cli import app
from bers_studies.rl.replay import Transitions
from bers_studies.supply import demonstrations as supply_demonstrations
from bers_studies.supply.demonstrations import DemonstrationConfig, with_trucks
from typer.testing import CliRunner

import bers
from bers.cli import app as library
from bers.errors import ConfigError, FileError

minari = pytest.importorskip("minari")
demonstrations = import_module("bers_studies.cli.demonstrations")

SMALL = ["--steps", "400", "--rows", "300"]
QUICK = ["--batches", "20", "--draws", "20", "--no-progress"]


def run(*arguments, app=app):
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def rank(*arguments):
    return run("rank", *arguments, *QUICK, app=library)


def make(what, *options):
    return run("demonstrations", "make", what, *options)


def untrained(seed, scenario, config):
    """In place of a training, which takes long: actions at random, and places that follow."""
    assert config.rows == config.steps  # all of them
    rng, n = np.random.default_rng([seed, scenario]), config.steps
    stocks = rng.integers(0, 51, (n + 1, 7)).astype(np.int32)
    actions = rng.uniform(size=(n, 44)).astype(np.float32)
    return Transitions(stocks[:-1], actions, rng.normal(size=n).astype(np.float32), stocks[1:])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All files, and what was printed."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setattr(supply_demonstrations, "_trained", untrained)
        patch.chdir(folder)
        yield folder / "demonstrations", make("supply-chain", *SMALL)


def test_the_rows_are_those_that_the_study_draws():
    few = supply_demonstrations._trained(5, 2, DemonstrationConfig(steps=400, rows=30))
    every = supply_demonstrations._trained(5, 2, DemonstrationConfig(steps=400, rows=400))
    drawn = every[demonstrations._drawn(5, 2, 400, 30)]
    for column in ("s_tm1", "a_tm1", "r_t", "s_t"):
        assert np.array_equal(getattr(drawn, column), getattr(few, column))
    joins = np.delete(np.arange(399), 199)  # all but where an episode ends
    assert np.array_equal(every.s_t[joins], every.s_tm1[joins + 1])  # in order, none left out


def test_parquet_has_rows_with_the_inputs_of_the_study(made):
    for scenario in (1, 2, 3):
        source = bers.load(made[0] / f"scenario-{scenario}.parquet")
        assert (source.name, source.n) == (f"scenario {scenario}", 300)
        steps = (source.payload[name] for name in ("observation", "action", "next_observation"))
        s_tm1, a_tm1, s_t = steps
        x = with_trucks()(s_tm1.astype(np.int32), a_tm1, s_t.astype(np.int32))
        assert np.array_equal(source.x, x)
        assert np.array_equal(source.y, source.payload["reward"])


def test_minari_has_the_whole_episodes_that_these_rows_are_from(made, monkeypatch):
    folder, _ = made
    for scenario in (1, 2, 3):
        whole = bers.load(folder / f"minari/supply-chain/scenario-{scenario}-v0")
        drawn = bers.load(folder / f"scenario-{scenario}.parquet")
        assert (whole.n, whole.payload["truncated"].sum()) == (400, 2)
        assert np.flatnonzero(whole.payload["truncated"]).tolist() == [199, 399]
        actions = {row.tobytes(): i for i, row in enumerate(whole.payload["action"])}
        places = [actions[row.tobytes()] for row in drawn.payload["action"]]
        assert places == sorted(places)
        for part, values in drawn.payload.items():
            assert values.tobytes() == whole.payload[part][places].tobytes(), part
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))
    assert "supply-chain/scenario-2-v0" in minari.list_local_datasets()
    theirs = minari.load_dataset("supply-chain/scenario-2-v0")
    assert theirs.storage.metadata["algorithm_name"] == "DDPG"
    assert theirs.storage.metadata["demonstrator"] == "scenario 2"
    env = theirs.recover_environment()
    assert env.unwrapped.network.truck_cost == gymnasium.make(
        "bers/SupplyChain-v0", scenario=2
    ).unwrapped.network.truck_cost  # fmt: skip


def test_what_is_printed_says_where_and_how_well(made):
    _, text = made
    lines = [line.split() for line in text.splitlines()]
    assert ["scenario", "1", "400", "2", "300"] in [line[:5] for line in lines]
    assert ["target", "2,000", "10", "2,000"] in [line[:4] for line in lines]
    assert "Parquet: demonstrations/scenario-3.parquet" in text
    assert "Minari: demonstrations/minari/supply-chain/new-task-v0" in text
    profit = float(next(line for line in lines if line[:2] == ["scenario", "1"])[5])
    whole = bers.load(made[0] / "minari/supply-chain/scenario-1-v0")
    assert profit == pytest.approx(whole.y.sum() / 2, abs=1)


def test_the_printed_command_runs(made, monkeypatch):
    folder, text = made
    monkeypatch.chdir(folder.parent)
    command = shlex.split(text.strip().splitlines()[-1])
    assert command[:3] == ["bers", "rank", "demonstrations/scenario-1.parquet"]
    ranking = json.loads(rank(*command[2:], "--json"))
    assert {one["name"] for one in ranking["sources"]} == {"scenario 1", "scenario 2", "scenario 3"}
    folders = [f"demonstrations/minari/supply-chain/scenario-{i}-v0" for i in (1, 2)]
    target = "demonstrations/minari/supply-chain/new-task-v0"
    ranking = json.loads(rank(*folders, "--target", target, "--json"))
    assert ranking["sources"][0]["name"] == "supply-chain/scenario-1-v0"


def test_nothing_is_replaced_unless_forced(made, monkeypatch):
    folder, _ = made
    monkeypatch.chdir(folder.parent)
    before = (folder / "scenario-1.parquet").read_bytes()
    with pytest.raises(FileError, match="scenario-1.parquet is there already. .* --force"):
        make("supply-chain", *SMALL)
    with pytest.raises(FileError, match="scenario-1-v0 is there already. .* --force"):
        make("supply-chain", *SMALL, "--format", "minari")
    text = make("supply-chain", *SMALL, "--force", "--format", "parquet")
    assert "Minari:" not in text
    assert (folder / "scenario-1.parquet").read_bytes() == before  # the same seed, the same bits
    other = make("supply-chain", *SMALL, "--format", "minari", "--out", "other")
    assert "Parquet:" not in other
    assert "bers rank other/minari/supply-chain/scenario-1-v0" in other
    assert not list((folder.parent / "other").glob("*.parquet"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["supply-chain", "--steps", "500"], "--steps must be a multiple of 200"),
        (["supply-chain", "--steps", "200"], "--rows 10000 are more than --steps 200"),
        (["functions", "--format", "minari"], "functions have points, not episodes"),
        (["functions", "--format", "both"], "functions have points, not episodes"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=says):
        make(*options)
    assert not list(tmp_path.iterdir())


def test_functions_are_the_past_runs_of_the_static_study(tmp_path, monkeypatch):
    from bers_studies.static.demonstrations import demonstrate
    from bers_studies.static.functions import SOURCES

    monkeypatch.chdir(tmp_path)
    text = make("functions", "--seed", "3", "--out", "my runs")
    rng = np.random.default_rng(3)
    for function in SOURCES:
        path = tmp_path / "my runs" / f"{function.name.lower()}.parquet"
        assert bers.load(path).digest == demonstrate(rng, function).digest
    command = shlex.split(text.strip().splitlines()[-1])
    assert command[-1] == "my runs/new-function.parquet"
    ranking = json.loads(rank(*command[2:], "--json"))
    assert ranking["target"] == "Rastrigin, 10 generations"
    with pytest.raises(FileError, match="rosenbrock.parquet is there already"):
        make("functions", "--out", "my runs")


def test_help_says_what_there_is():
    assert "demonstrations" in run("--help")
    assert "make" in run("demonstrations", "--help")
    shown_help = run("demonstrations", "make", "--help")
    for word in ("supply-chain", "functions", "--format", "--rows", "--steps", "--force", "Minari"):
        assert word in shown_help
