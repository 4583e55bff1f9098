"""A real Ray cluster of several processes, and what is killed of it: the results are the same."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "studies" / "runner"))

import ray_study
from bers_studies.runner import workers
from bers_studies.runner.journal import read_journal, read_journals
from bers_studies.runner.run import Experiment, run
from ray_study import SEEDS, Config, slow

from bers import Demonstrations, ModelConfig, load, rank, save
from bers import cluster as ray_cluster
from bers.errors import BersError, ConfigError, FileError
from bers.parallel import pool

pytestmark = [  # Ray leaves sockets open and starts threads while it shuts down
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TOO_BUSY = "timed out during startup"  # Ray waits 30 seconds for its own processes
SEEN = [str(Path(__file__).parent.parent), str(Path(ray_study.__file__).parent)]  # by workers


@pytest.fixture(scope="module")
def there():
    """A cluster for the purpose of a program, with this process connected to it by its address."""
    pytest.importorskip("ray")
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder,
    ):
        patch.setenv("PYTHONPATH", os.pathsep.join(SEEN))
        patch.setenv("RAY_TMPDIR", folder)  # not tmp_path: names of sockets must be short
        program, address = start_cluster()
        with program:  # which ends with its standard input
            cluster = children(program.pid)
            assert {"gcs_server", "raylet"} <= set(cluster.values())
            for process, name in cluster.items():
                if not name.startswith("ray::"):  # these write their name over their variables
                    variables = Path(f"/proc/{process}/environ").read_text().split("\0")
                    assert "RAY_USAGE_STATS_ENABLED=0" in variables
            with ray_cluster.cluster(address) as there:
                yield there
        assert program.returncode == 0
        wait_until(lambda: not any(alive(process) for process in cluster))


def start_cluster(tries=3):
    program = subprocess.Popen(
        [sys.executable, ray_study.__file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        process_group=0,
    )  # fmt: skip
    if address := program.stdout.readline().strip():
        return program, address
    message = program.communicate()[1]
    assert tries > 1, message
    assert TOO_BUSY in message
    return start_cluster(tries - 1)


def children(process):
    """All processes that descend from one, and what they are called."""
    found = {}
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it has just ended
            for child in path.read_text().split():
                name = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0]
                found |= {int(child): Path(name.decode()).name, **children(child)}
    return found


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def on_ray(experiment, seeds, folder, **options):
    return run(experiment, seeds, folder, backend="ray", progress=False, **options)


def here(experiment, seeds, folder):
    return run(experiment, seeds, folder, backend="here", progress=False)


def records_on_disk(folder):
    """The bytes of all lines but headers and those that depend on them."""
    return [p.read_bytes().split(b"\n")[1:-2] for p in sorted(folder.glob("trial-*.jsonl"))]


def headers(folder):
    """All but what may differ: times, and how many threads the process may use."""
    found = [journal.header for journal in read_journals(folder)]
    for header in found:
        for name in ("time", "seconds", "threads"):
            del header["provenance"][name]
    return found


def test_a_worker_that_is_killed_is_replaced_and_the_bytes_are_the_same(there, marks, tmp_path):
    killed = []

    def kill():
        wait_until((marks / "waits").exists)
        (marks / "killed").touch()
        killed.append(int((marks / "waits").read_text() or 0))
        os.kill(killed[0], signal.SIGKILL)

    experiment = Experiment("fragile", Config(marks=str(marks)), ray_study.fragile)
    killer = threading.Thread(target=kill)
    killer.start()
    outcome = on_ray(experiment, SEEDS, tmp_path / "a")
    killer.join()
    tries = {seed: list(marks.glob(f"{seed}-*")) for seed in SEEDS}
    assert [len(tries[seed]) for seed in SEEDS] == [1, 1, 2, 1, 1, 1]
    at_work = [{path.name.split("-")[1] for path in tries[seed]} for seed in (0, 1, 2)]
    assert not at_work[0] & at_work[1]
    assert len(at_work[2]) == 2
    # an error of the trial itself is kept, and not tried again
    assert (outcome.ok, outcome.failed) == (5, 1)
    assert "ValueError: no luck with 4" in outcome.tracebacks[4]
    assert read_journals(tmp_path / "a")[4].records[-1]["step"] == 1
    plain = here(experiment, SEEDS, tmp_path / "b")
    assert outcome.records == plain.records
    assert records_on_disk(tmp_path / "a") == records_on_disk(tmp_path / "b")
    assert headers(tmp_path / "a") == headers(tmp_path / "b")
    assert {j.header["provenance"]["threads"] for j in read_journals(tmp_path / "a")} == {1}


def test_a_trial_that_kills_every_worker_fails_and_the_others_go_on(there, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_cluster, "RETRIES", 1)
    experiment = Experiment("hopeless", Config(marks=str(tmp_path)), ray_study.hopeless)
    outcome = on_ray(experiment, range(3), tmp_path / "a", jobs=2, address="auto")
    assert (outcome.ok, outcome.failed) == (2, 1)
    assert outcome.records[0]["limits"] == ["1", "1"]
    assert "workers died 2 times, perhaps for want of memory: try" in outcome.tracebacks[1]
    assert len(list(tmp_path.glob("died-*"))) == 2


def test_other_code_on_a_machine_is_refused(there, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_travelling_code", lambda trial: "0" * 64)
    expected = f"the machine {socket.gethostname()} of the Ray cluster has other code.*Install"
    with pytest.raises(ConfigError, match=expected):
        on_ray(slow(""), SEEDS, tmp_path)


# --- the program itself


def goes_on(folder, marks, tmp_path):
    """The rest is done by the cluster that is there, what was kept is not, and all is the same."""
    kept = {path: path.read_bytes() for path in folder.glob("trial-*.jsonl")}
    assert 1 <= len(kept) < len(SEEDS)
    outcome = on_ray(slow(marks), SEEDS, folder)
    assert outcome.records == here(slow(marks), SEEDS, tmp_path / "plain").records
    assert records_on_disk(folder) == records_on_disk(tmp_path / "plain")
    assert {path: path.read_bytes() for path in kept} == kept


def start_program(folder, marks, address="", tries=3):
    """Run the study as a program until its first trial is there."""
    program = subprocess.Popen(
        [sys.executable, ray_study.__file__, folder, marks, address],
        stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    wait_until(lambda: program.poll() is not None or list(folder.glob("trial-*.jsonl")))
    if program.poll() is None:
        return program
    message = program.communicate()[1]
    assert tries > 1, message
    assert TOO_BUSY in message
    return start_program(folder, marks, address, tries - 1)


def test_a_stopped_driver_says_how_much_is_kept(there, marks, tmp_path):
    folder = tmp_path / "a"

    def stop():
        wait_until(lambda: list(folder.glob("trial-*.jsonl")))
        os.kill(os.getpid(), signal.SIGTERM)

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(BersError, match=r"stopped: [1-5] of 6 trials are kept in .* Give the same"):
        on_ray(slow(marks), SEEDS, folder, jobs=2)
    stopper.join()
    goes_on(folder, marks, tmp_path)


def test_a_killed_driver_leaves_no_work_behind(there, marks, tmp_path):
    program = start_program(tmp_path / "a", marks, there.address)
    program.kill()
    program.communicate()
    assert program.returncode == -signal.SIGKILL
    busy = [path.name.split("-")[1] for path in marks.iterdir()]
    wait_until(lambda: not any(alive(worker) for worker in busy))
    goes_on(tmp_path / "a", marks, tmp_path)


@pytest.mark.parametrize("killed", ["gcs_server raylet", "raylet"])
def test_a_killed_head_is_told_and_gone_on_with(there, marks, tmp_path, killed):
    program = start_program(tmp_path / "a", marks)
    found = children(program.pid)
    victims = [process for process, name in found.items() if name in killed.split()]
    assert victims, found
    for process in victims:
        os.kill(process, signal.SIGKILL)
    _, message = program.communicate(timeout=120)
    assert program.returncode == 2, message
    assert "is gone. Start it again, then give the same command again" in message
    goes_on(tmp_path / "a", marks, tmp_path)


# --- ranking


def test_parts_that_are_ranked(there, tmp_path):
    function = partial(ray_study.abs_unless_killed, str(tmp_path))
    with pool("ray", jobs=2) as workers:
        assert list(workers(function, range(-9, 0))) == list(range(9, 0, -1))
        assert (tmp_path / "died").exists()
        with pytest.raises(FileError, match="cannot read nowhere"):
            list(workers(read_journal, ["nowhere"]))


def test_a_ranking_on_ray_is_the_same_to_the_bit(there, tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (900, 2))
    sources = []
    for name, column in (("alice", 0), ("bob", 1)):
        path = tmp_path / f"{name}.parquet"
        save(Demonstrations(x, np.sin(2 * x[:, column]), name), path, rows_per_group=300)
        sources.append(load(path, stream=True))
    target = Demonstrations(x[:50], np.sin(2 * x[:50, 1]), "new")
    config = ModelConfig(hidden=(8,), latent_dim=4, batches=20)
    plain = rank(sources, target, model=config, draws=20)
    with pool("ray", jobs=1) as on_cluster:
        other = rank(sources, target, model=config, draws=20, workers=on_cluster)
    assert other.to_json() == plain.to_json()
    np.testing.assert_array_equal(other.model.heads.mu, plain.model.heads.mu)


# --- refused


@pytest.mark.parametrize("wrong", ["head", "ray://head:10001", ":6379", "head:port"])
def test_an_address_that_is_none(wrong, tmp_path):
    with pytest.raises(ConfigError, match=f"HOST:PORT or auto; got '{wrong}'. Run this on"):
        on_ray(slow(""), SEEDS, tmp_path, address=wrong)


@pytest.fixture
def unconnected(monkeypatch):
    """Ray, as if this process were not connected; what it does can be put in."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", lambda *_, **__: None)
    return ray


def test_a_cluster_that_is_not_there(unconnected, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    expected = f"cannot reach a Ray cluster at {nobody}: nobody answers.*ray start --head"
    with pytest.raises(ConfigError, match=expected):
        on_ray(slow(""), SEEDS, tmp_path, address=nobody)
    with pytest.raises(ConfigError, match=expected), pool("ray", address=nobody):
        pass


def test_a_cluster_that_asks_for_its_token_or_has_no_cores(unconnected, tmp_path, monkeypatch):
    monkeypatch.setattr(unconnected, "cluster_resources", dict)
    with pytest.raises(ConfigError, match="at auto has no cores to give. Add machines"):
        on_ray(slow(""), SEEDS, tmp_path, address="auto")

    def refuse(*_, **__):
        raise ConnectionError("no") from unconnected.exceptions.AuthenticationError("no token")

    monkeypatch.setattr(unconnected, "init", refuse)
    with pytest.raises(ConfigError, match="at auto asks for its token. Set RAY_AUTH_MODE=token"):
        on_ray(slow(""), SEEDS, tmp_path, address="auto")


def test_sigterm_while_ray_starts(unconnected, tmp_path, monkeypatch):
    def init(*_, **__):  # as Ray does it
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(unconnected, "init", init)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(BersError, match="stopped: 0 of 6 trials are kept"):
        on_ray(slow(""), SEEDS, tmp_path)
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_address_is_for_ray_only(tmp_path):
    with pytest.raises(ConfigError, match="give --backend ray with it"):
        run(slow(""), SEEDS, tmp_path, address="head:6379")
    with (
        pytest.raises(ConfigError, match="give --backend ray with it"),
        pool("threads", address="head:6379"),
    ):
        pass


def test_two_clusters_at_once(there, tmp_path):
    expected = f"connected to the Ray cluster at {there.address}, not head:6379.*Leave the address"
    with pytest.raises(ConfigError, match=expected):
        on_ray(slow(""), SEEDS, tmp_path, address="head:6379")


def test_without_ray_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'bers\[ray\]'"):
        on_ray(slow(""), SEEDS, tmp_path)
    with pytest.raises(ConfigError, match=r"pip install 'bers\[ray\]'"), pool("ray"):
        pass
    with pool("threads", jobs=1) as workers:  # nothing is left behind
        assert list(workers(abs, [-1])) == [1]
