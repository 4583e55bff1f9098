"""Whatever goes wrong, nothing is lost and nothing is mixed. Run as a program, it is a study."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from bers_studies.runner import provenance
from bers_studies.runner import run as runner
from bers_studies.runner.journal import read_journal, read_journals
from bers_studies.runner.run import Experiment, Outcome, run

from bers.errors import BersError, ConfigError, DataError, FileError

SEEDS = range(8)


@dataclass(frozen=True)
class Inner:
    scale: float = 1.0


@dataclass(frozen=True)
class Config:
    steps: int = 3
    pause: float = 0.0
    limit: float = float("nan")
    inner: Inner = Inner()


def walk(config, seed):
    rng, best = np.random.default_rng(seed), np.inf
    for step in range(config.steps):
        yield {"step": step, "best": best}
        best = min(best, config.inner.scale * rng.uniform())
        time.sleep(config.pause)


SLOW = Experiment("walk", Config(pause=0.1), walk)
QUICK = Experiment("walk", Config(), walk)


def here(experiment, seeds, folder, **options):
    return run(experiment, seeds, folder, backend="here", progress=False, **options)


def in_processes(experiment, seeds, folder, **options):
    return run(experiment, seeds, folder, jobs=2, progress=False, **options)


def table(outcome):
    return json.dumps(outcome.records)


def trials(folder):
    return sorted(Path(folder).glob("trial-*.jsonl"))


def records_on_disk(folder):
    """The bytes of all lines but headers and those that depend on them."""
    return [path.read_bytes().split(b"\n")[1:-2] for path in trials(folder)]


def test_one_journal_per_trial(tmp_path):
    outcome = here(QUICK, [3, 1], tmp_path)
    assert isinstance(outcome, Outcome)
    assert (outcome.ok, outcome.failed, outcome.tracebacks) == (2, 0, {})
    assert [(r["seed"], r["step"]) for r in outcome.records] == [
        (s, i) for s in (3, 1) for i in range(3)
    ]
    assert outcome.records[0]["best"] == np.inf
    assert outcome.records[1]["best"] == np.random.default_rng(3).uniform()
    names = [path.name for path in trials(tmp_path)]
    for name, journal in zip(names, read_journals(tmp_path), strict=True):
        assert name == f"trial-{journal.header['seed']:04d}-{journal.header['id'][:8]}.jsonl"
        assert journal.header["config"]["inner"] == {"scale": 1.0}
        about = journal.header["provenance"]
        assert {"commit", "cpu", "jax", "command", "time"} <= about.keys()
        assert 0 <= about["seconds"] < 60
    assert len(names) == 2


def test_different_seeds_differ_and_the_same_do_not(tmp_path):
    first, second = here(QUICK, [1, 2], tmp_path / "a"), here(QUICK, [2, 1], tmp_path / "b")
    assert first.records[1]["best"] != first.records[4]["best"]
    assert first.records[:3] == second.records[3:]


def test_a_second_run_does_nothing(tmp_path, monkeypatch):
    first = here(QUICK, SEEDS, tmp_path)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in trials(tmp_path)}
    monkeypatch.setattr(runner, "write_journal", None)  # would fail if it were called
    assert table(here(QUICK, SEEDS, tmp_path)) == table(first)
    assert table(here(QUICK, SEEDS[:2], tmp_path)) == json.dumps(first.records[:6])
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in trials(tmp_path)}


def test_processes_give_the_same_bytes(tmp_path):
    outcome = in_processes(QUICK, SEEDS, tmp_path / "a")
    assert table(outcome) == table(here(QUICK, SEEDS, tmp_path / "b"))
    assert records_on_disk(tmp_path / "a") == records_on_disk(tmp_path / "b")
    one = run(QUICK, SEEDS[:2], tmp_path / "c", jobs=1, progress=True)
    assert one.records == outcome.records[:6]


def threads(config, seed):
    import jax
    import jax.numpy as jnp

    x = jnp.ones((400, 400)) / 400
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, y: jnp.tanh(y @ x), x))
    f(x).block_until_ready()
    cpu, wall = time.process_time(), time.perf_counter()
    f(x).block_until_ready()
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    yield {"share": share, "limits": [os.environ["NPROC"], os.environ["OMP_NUM_THREADS"]]}


def test_a_worker_computes_with_one_thread(tmp_path):
    before = dict(os.environ)
    outcome = in_processes(Experiment("threads", Config(), threads), [0], tmp_path)
    assert outcome.records[0]["limits"] == ["1", "1"]
    assert outcome.records[0]["share"] < 1.3
    assert read_journals(tmp_path)[0].header["provenance"]["threads"] == 1
    assert dict(os.environ) == before  # only the workers


# --- stopped in the midst


def start_program(folder):
    return subprocess.Popen(
        [sys.executable, __file__, str(folder)], stderr=subprocess.PIPE, text=True, process_group=0
    )


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return table(here(SLOW, SEEDS, folder)), records_on_disk(folder)


@pytest.mark.parametrize("finished", [0, 3])
def test_kill_9_and_resume_gives_the_same_bytes(tmp_path, undisturbed, finished):
    program = start_program(tmp_path)
    wait_until(lambda: (tmp_path / "config.json").exists() and len(trials(tmp_path)) >= finished)
    tasks = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    workers = [int(one) for one in tasks.read_text().split()] if tasks.exists() else []
    program.kill()
    program.communicate()
    kept = {path: path.read_bytes() for path in trials(tmp_path)}
    assert finished <= len(kept) < len(SEEDS)
    outcome = in_processes(SLOW, SEEDS, tmp_path)
    assert (table(outcome), records_on_disk(tmp_path)) == undisturbed
    assert {path: path.read_bytes() for path in kept} == kept  # nothing was run twice
    assert not list(tmp_path.glob(".*.tmp"))
    wait_until(lambda: not any(alive(one) for one in workers))


def test_two_at_once_and_sigterm(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr("bers_studies.runner.folder._PATIENCE", 0)
    program = start_program(tmp_path)
    wait_until(lambda: trials(tmp_path))
    with pytest.raises(ConfigError, match="another run is at work in .* Wait until it has ended"):
        in_processes(SLOW, SEEDS, tmp_path)
    program.terminate()
    _, message = program.communicate(timeout=60)
    assert program.returncode == 2
    kept = len(trials(tmp_path))
    assert 1 <= kept < len(SEEDS)
    assert f"stopped: {kept} of 8 trials are kept in {tmp_path}. Give the same" in message
    assert "Traceback" not in message
    assert table(in_processes(SLOW, SEEDS, tmp_path)) == undisturbed[0]


def test_ctrl_c_twice(tmp_path, undisturbed):
    program = start_program(tmp_path)
    wait_until(lambda: trials(tmp_path))
    os.killpg(program.pid, signal.SIGINT)
    os.killpg(program.pid, signal.SIGINT)
    _, message = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT
    assert f"stopped: {len(trials(tmp_path))} of 8 trials are kept in {tmp_path}" in message
    assert table(in_processes(SLOW, SEEDS, tmp_path)) == undisturbed[0]


def interrupted(config, seed):
    yield {"step": 0}
    if seed == 1:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)


def test_a_signal_here_stops_too_and_handlers_are_put_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(BersError, match="stopped: 1 of 3 trials are kept"):
        here(Experiment("interrupted", Config(), interrupted), [0, 1, 2], tmp_path)
    assert before == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))


@dataclass(frozen=True)
class Fragile:
    marks: str
    always: bool = False


def fragile(config, seed):
    mark = Path(config.marks) / "killed"
    yield {"step": 0}
    if seed == 2 and (config.always or not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield {"step": 1}


def test_a_killed_worker_is_replaced_once(tmp_path):
    experiment = Experiment("fragile", Fragile(str(tmp_path)), fragile)
    outcome = in_processes(experiment, range(4), tmp_path / "a")
    assert (outcome.ok, outcome.failed, len(outcome.records)) == (4, 0, 8)
    experiment = replace(experiment, config=Fragile(str(tmp_path), always=True))
    with pytest.raises(
        BersError, match=r"killed twice while seeds \[.*2.*\] were open.*fewer jobs"
    ):
        in_processes(experiment, range(4), tmp_path / "b")


# --- refused


def test_seeds_given_twice_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"seeds given twice: \[2\]. They would fake precision"):
        here(QUICK, [1, 2, 3, 2], tmp_path)
    with pytest.raises(ConfigError, match=r"whole numbers from 0 on; got \[\]"):
        here(QUICK, [], tmp_path)
    with pytest.raises(ConfigError, match=r"whole numbers from 0 on; got \[-1\]"):
        here(QUICK, [-1], tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_config_is_refused_by_name(tmp_path):
    first = here(QUICK, [0], tmp_path)
    other = replace(QUICK, config=Config(steps=4, inner=Inner(2.0)))
    expected = r"inner.scale is 1.0 there and 2.0 here; steps is 3 there and 4 here\. .*--fresh"
    with pytest.raises(ConfigError, match=expected):
        here(other, [0], tmp_path)
    with pytest.raises(ConfigError, match="holds the experiment 'walk', not 'run'"):
        here(replace(QUICK, name="run"), [0], tmp_path, fresh=True)
    assert table(here(QUICK, [0], tmp_path)) == table(first)


def test_other_code_is_refused(tmp_path, monkeypatch):
    here(QUICK, [0], tmp_path)
    monkeypatch.setattr(provenance, "code_digest", lambda *module, **source: "0" * 64)
    expected = "made by other code: choose another folder with --out, or start again with --fresh"
    with pytest.raises(ConfigError, match=expected):
        here(QUICK, [0], tmp_path)
    here(QUICK, [0], tmp_path, fresh=True)
    assert len(trials(tmp_path)) == 1


def test_fresh_removes_the_old_trials_and_nothing_else(tmp_path):
    here(QUICK, [0, 1, 2], tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    outcome = here(replace(QUICK, config=Config(steps=1)), [0], tmp_path, fresh=True)
    assert len(outcome.records) == 1
    assert [j.header["config"]["steps"] for j in read_journals(tmp_path)] == [1]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_damaged_files_are_named(tmp_path):
    here(QUICK, [0, 1], tmp_path)
    first, second = trials(tmp_path)
    content = first.read_bytes()
    first.write_bytes(content[:-30])
    with pytest.raises(FileError, match=f"{first.name}, line 5: .* only what was in it is done"):
        here(QUICK, [0, 1], tmp_path)
    first.write_bytes(second.read_bytes())
    with pytest.raises(FileError, match=f"{first.name}, line 1: the journal of another trial"):
        here(QUICK, [0, 1], tmp_path)
    first.unlink()
    assert here(QUICK, [0, 1], tmp_path).ok == 2
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileError, match="config.json: damaged, or not written by BERS"):
        here(QUICK, [0, 1], tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ConfigError, match="holds trials but no config.json"):
        here(QUICK, [0, 1], tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot write in .*: Not a directory. Choose another"):
        here(QUICK, [0], tmp_path / "file" / "out")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    if os.access(closed, os.W_OK):  # for root, no folder is closed
        real = os.open

        def refuse(path, flags, *mode, **more):
            if flags & os.O_CREAT:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return real(path, flags, *mode, **more)

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FileError, match="cannot write in .*closed: .*or make this one writable"):
        here(QUICK, [0], closed)


def test_a_full_disk(tmp_path, monkeypatch):
    here(QUICK, [0], tmp_path)

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("bers.files.flush", full)
        with pytest.raises(FileError, match="cannot write .*trial-000[12].*No space left"):
            in_processes(QUICK, [0, 1, 2], tmp_path)
    assert len(trials(tmp_path)) == 1
    assert here(QUICK, [0, 1, 2], tmp_path).ok == 3


def test_bad_settings_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="one of local, ray, here; got 'spark'"):
        run(QUICK, [0], tmp_path, backend="spark")
    with pytest.raises(ConfigError, match="jobs must be at least 1; got 0"):
        run(QUICK, [0], tmp_path, jobs=0)
    with pytest.raises(ConfigError, match="config must be a dataclass; got dict"):
        here(replace(QUICK, config={}), [0], tmp_path)


# --- trials that fail


@dataclass(frozen=True)
class Bad:
    cure: str


def sometimes(config, seed):
    yield {"step": 0}
    if seed % 2 and not Path(config.cure).exists():
        raise ValueError(f"no luck with {seed}")
    yield {"step": 1}


@pytest.mark.parametrize("go", [here, in_processes])
def test_a_failing_trial_keeps_what_it_had_and_is_run_again(tmp_path, go):
    experiment = Experiment("sometimes", Bad(str(tmp_path / "cure")), sometimes)
    outcome = go(experiment, range(4), tmp_path)
    assert (outcome.ok, outcome.failed) == (2, 2)
    assert [r["seed"] for r in outcome.records] == [0, 0, 2, 2]  # of the good ones
    assert outcome.tracebacks.keys() == {1, 3}
    assert "ValueError: no luck with 3" in outcome.tracebacks[3]
    journal = read_journal(trials(tmp_path)[1])
    assert journal.failed
    assert journal.records == ({"step": 0},)
    assert "no luck with 1" in journal.traceback
    (tmp_path / "cure").touch()
    outcome = go(experiment, range(4), tmp_path)
    assert (outcome.ok, outcome.failed, len(outcome.records)) == (4, 0, 8)


def odd(config, seed):
    yield [{"best": {1, 2}}, 3, {"data_digests": "abc"}][seed]


def leave(config, seed):
    yield {"step": 0}
    sys.exit(3)


def test_records_that_cannot_be_kept_fail_their_trial_only(tmp_path):
    outcome = here(Experiment("odd", Config(), odd), range(3), tmp_path)
    assert (outcome.ok, outcome.failed) == (0, 3)
    assert "record 1 of seed 0, key 'best' has a set" in outcome.tracebacks[0]
    assert "record 1 of seed 1 is a int. Yield dicts only" in outcome.tracebacks[1]
    assert "data_digests must be a dict" in outcome.tracebacks[2]
    outcome = in_processes(Experiment("leave", Config(), leave), [0], tmp_path / "b")
    assert "SystemExit: 3" in outcome.tracebacks[0]
    with pytest.raises(DataError, match="config, key 'limit' has a set"):
        here(replace(QUICK, config=Config(limit={1})), [0], tmp_path / "c")


def reads(config, seed):
    yield {"data_digests": {"alice": "ab12"}}
    yield {"best": 1, "data_digests": {"bob": "cd34"}}


def test_digests_of_data_go_to_the_header(tmp_path):
    outcome = here(Experiment("reads", Config(), reads), [5], tmp_path)
    assert outcome.records == [{"seed": 5, "best": 1}]
    assert read_journals(tmp_path)[0].header["data_digests"] == {"alice": "ab12", "bob": "cd34"}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        in_processes(SLOW, SEEDS, sys.argv[1])
    except BersError as error:
        print(f"bers: {error}", file=sys.stderr)
        sys.exit(2)
