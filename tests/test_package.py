"""What is installed is all that is needed, and no more; `make package` tries it with downloads."""

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_PACKED = (
    "reproductions",
    "docs",
    "benchmarks",
    "tests",
    "build",
    "studies",
    "site",
    ".git*",
    ".venv",
)
TRY = """
import sys
from importlib.metadata import distribution
import bers
from bers.trust.qp import simplex
assert bers.__file__.startswith(sys.argv[1]), bers.__file__
for name in bers.__all__:
    getattr(bers, name)
runs = {"a": ([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])}
assert bers.Trust(runs, rule="equal", predicts=False).weights.tolist() == [1.0]
from bers.trust.qp.simplex import __file__ as there
assert (__import__("pathlib").Path(there).parent / "_simplex.so").exists()
print(distribution("bers").entry_points)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built offline, from a copy, with the tools of this environment."""
    copy = tmp_path_factory.mktemp("source") / "bers"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_PACKED, "*.so", "*.egg-info"))
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
               "--no-build-isolation", "-w", str(out), str(copy)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = out.glob("*.whl")
    return found


def test_the_wheel_holds_the_library_and_nothing_else(wheel):
    assert wheel.name.endswith(f"-py3-none-{wheel.stem.rsplit('-', 1)[1]}.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"bers"}
    ours = {str(path.relative_to(ROOT)) for path in (ROOT / "bers").rglob("*.py")}
    assert ours <= set(names)
    assert {"bers/py.typed", "bers/trust/qp/_simplex.so"} <= set(names)
    assert wheel.stat().st_size < 2_000_000


def test_what_a_package_index_shows(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(archive.read(name).decode())
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["License-Expression"] == "MIT"
    text = about.get_payload()
    assert text.startswith("# ")
    assert "](docs/" not in text  # files that an index does not have
    assert ".png)" not in text


def test_the_wheel_works_where_it_is_installed(wheel, tmp_path):
    """In a folder that comes before everything else; the dependencies are those of this one."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    shown = subprocess.run(
        [sys.executable, "-c", TRY, str(tmp_path / "installed")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "bers.cli:main" in shown.stdout


def test_machines_run_the_two_commands():
    steps = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert [line.split("run: ")[1] for line in steps.splitlines() if "run: " in line] == [
        "make demo",
        "make test",
    ]
    make = shutil.which("make")
    for target in ("demo", "test", "fuzz", "package", "lowest"):
        subprocess.run([make, "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_the_lower_bounds_are_found():
    shown = subprocess.run(
        [sys.executable, ".ci/lowest", "plot"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pins = dict(line.split("==") for line in shown.stdout.split())
    assert {"jax", "numpy", "pyarrow", "matplotlib"} <= set(pins)
    for line in (
        (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0].split()
    ):
        name, _, low = line.strip('",').partition(">=")
        assert pins[name] == low
