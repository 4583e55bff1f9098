"""A format is one module: found, read, written, streamed, and named in messages."""

import subprocess
import sys

import numpy as np
import pytest

from bers.data import formats
from bers.data.demonstrations import Demonstrations
from bers.data.shards import Shards
from bers.data.storage import load, save
from bers.errors import ConfigError, FileError

TOY = """
from pathlib import Path
import numpy as np
from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format

def read(path, options):
    rows = np.loadtxt(path, ndmin=2)
    return Demonstrations.build(rows[:, :-1], rows[:, -1], options.name or Path(path).stem)

def write(d, path):
    np.savetxt(path, np.column_stack([d.x, d.y]), fmt="%.17g")

FORMAT = Format("Toy", (".toy",), load=read, save=write)
"""

GROUPED = """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from bers.data.formats import Format
from bers.data.formats.tables import Choice, Column

@dataclass(frozen=True)
class Rows:
    path: Path
    rows: tuple
    row_bytes: int = 16
    own: object = None
    fingerprint: str = "toy"
    choice: Choice = Choice((Column("a"),), "y", False)

    def refuse_large(self, max_bytes):
        pass

    def blocks(self, group, rows, *, y_only=False):
        values = np.loadtxt(self.path, ndmin=2)[3 * group : 3 * group + 3]
        for start in range(0, len(values), rows):
            some = values[start : start + rows]
            yield (some[:, :0] if y_only else some[:, :1]), some[:, 1]

    def payload(self, wanted):
        return {}

def opened(path, x, y):
    count = len(np.loadtxt(path, ndmin=2))
    return Rows(Path(path), tuple(min(3, count - start) for start in range(0, count, 3)))

def write(source, path, rows_per_group):
    np.savetxt(path, np.vstack([np.column_stack(block) for block in source.blocks()]), fmt="%.17g")

FORMAT = Format("Groups", (".groups",), open_groups=opened, save_groups=write)
"""


@pytest.fixture
def add(tmp_path, monkeypatch):
    """Put a module into the package, and take it out again."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])

    def write(name, text):
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"bers.data.formats.{name}", raising=False)

    yield write
    for path in folder.glob("*.py"):
        sys.modules.pop(f"bers.data.formats.{path.stem}", None)
        vars(formats).pop(path.stem, None)


def test_a_new_module_is_a_new_format(tmp_path, add):
    d = Demonstrations([[0.1, 2.0], [1 / 3, 4.0]], [5.0, 6.0], "alice")
    with pytest.raises(ConfigError, match=r"the ending must be .csv, .npz or .parquet"):
        save(d, tmp_path / "a.toy")
    add("toy", TOY)
    save(d, tmp_path / "a.TOY")
    again = load(tmp_path / "a.TOY", name="bob")
    assert np.array_equal(again.x, d.x)
    assert np.array_equal(again.y, d.y)
    assert again.name == "bob"
    with pytest.raises(ConfigError, match=r"must be .csv, .npz, .parquet or .toy"):
        save(d, tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("1 2")
    with pytest.raises(FileError, match=r"a.txt: the ending .*or .toy, or the path a folder of"):
        load(tmp_path / "a.txt")
    with pytest.raises(ConfigError, match=r"stream=True is for Parquet; .*a.TOY is not"):
        load(tmp_path / "a.TOY", stream=True)
    with pytest.raises(
        ConfigError, match=r"inputs=... is for LeRobot, Minari, robomimic data sets"
    ):
        load(tmp_path / "a.TOY", inputs=len)


def test_a_new_format_can_be_streamed(tmp_path, add):
    add("groups", GROUPED)
    d = Demonstrations(np.arange(8.0), np.arange(8.0) ** 2, "alice")
    (tmp_path / "two").mkdir()
    for i in range(2):
        save(d.take(slice(i * 5, i * 5 + 5)), tmp_path / "two" / f"{i}.groups")
    s = load(tmp_path / "two", stream=True)
    assert isinstance(s, Shards)
    assert s.rows == (3, 2, 3)
    assert s.in_memory().y.tolist() == d.y.tolist()
    assert load(tmp_path / "two").y.tolist() == d.y.tolist()
    assert load([tmp_path / "two" / "1.groups"]).n == 3
    save(s, tmp_path / "all.groups")
    save(s, tmp_path / "all.parquet")
    assert load(tmp_path / "all.groups").y.tolist() == load(tmp_path / "all.parquet").y.tolist()
    with pytest.raises(ConfigError, match=r"can be saved to .parquet or .groups only"):
        save(s, tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("ending", "without"),
    [
        ("csv", {"pyarrow.parquet", "h5py", "minari", "jax", "pandas"}),
        ("npz", {"pyarrow", "h5py", "minari", "jax", "scipy"}),
        ("parquet", {"pyarrow.csv", "h5py", "minari", "jax"}),
    ],
)
def test_one_format_does_not_load_the_library_of_another(tmp_path, ending, without):
    path = tmp_path / f"a.{ending}"
    save(Demonstrations([1.0], [2.0], "alice"), path)
    program = (
        f"import sys, bers; assert bers.load({str(path)!r}).n == 1;"
        f"bad = {without!r} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_parquet_file_is_opened_once(tmp_path, monkeypatch):
    opened = footers(monkeypatch)
    d = Demonstrations(np.arange(30.0), np.arange(30.0), "alice")
    save(d, tmp_path / "a.parquet", rows_per_group=10)
    for options in ({}, {"stream": True}, {"stream": False}, {"drop_nonfinite": True}):
        opened.clear()
        source = load(tmp_path / "a.parquet", **options)
        assert source.digest
        assert source.x_names == ("x0",)
        assert not source.columns_guessed
        assert opened == [str(tmp_path / "a.parquet")]


def test_ranking_by_command_opens_each_file_once(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from bers.cli import app

    rng = np.random.default_rng(0)
    names = [str(tmp_path / f"{name}.parquet") for name in ("alice", "bob", "new")]
    for name in names:
        x = rng.uniform(-1, 1, (40, 2))
        save(Demonstrations(x, x[:, 0], "one", x_names=("speed", "load")), name)
    opened = footers(monkeypatch)
    command = ["rank", *names[:2], "--target", names[2], "--batches", "5", "--no-progress"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Inputs: speed, load; label: y." in result.output
    assert opened == names


def footers(monkeypatch):
    """Names of the files whose footers Arrow reads, from now on."""
    import pyarrow.parquet as pq

    seen, real = [], pq.ParquetFile

    def counted(source, *more, **options):
        if options.get("metadata") is None:
            seen.append(str(getattr(source, "name", source)))
        return real(source, *more, **options)

    monkeypatch.setattr(pq, "ParquetFile", counted)
    return seen
