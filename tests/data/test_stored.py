"""Files that an earlier version wrote are read, and written again, to the same bytes."""

import shutil
from pathlib import Path

import pytest
from data_helpers import same_bits

from bers.data.storage import load, save
from bers.integrity import read_sealed, write_sealed

STORED = Path(__file__).parent / "stored"
DIGEST = "49e520331837552b35d4058a114b1bf07986b858a3ce125b15be122f2c8bdf7d"
STREAMED = "0368ed891ceb70fb720a5073ee592fc0ca7ad2cb9f7693b23873f7f152380eb3"


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_records(ending):
    d = load(STORED / f"record.{ending}")
    assert d.digest == DIGEST
    assert same_bits(d, load(STORED / "record.npz"))


def test_streamed_records(tmp_path):
    shutil.copy(STORED / "record.parquet", tmp_path)
    s = load(tmp_path / "record.parquet", stream=True)
    assert s.digest == STREAMED
    assert s.in_memory().y.tolist() == load(STORED / "record.npz").y.tolist()


@pytest.mark.parametrize("name", ["record.npz", "record.csv", "record.csv.bers.json"])
def test_written_again(tmp_path, name):
    d = load(STORED / name.removesuffix(".bers.json"))
    save(d, tmp_path / name.removesuffix(".bers.json"))
    assert (tmp_path / name).read_bytes() == (STORED / name).read_bytes()


def test_sealed_files(tmp_path):
    arrays, about = read_sealed(STORED / "sealed.bers", "example-1", "an example")
    assert about == {"name": "alice", "list": [1, 2.5, None]}
    write_sealed(tmp_path / "sealed.bers", "example-1", arrays, about)
    assert (tmp_path / "sealed.bers").read_bytes() == (STORED / "sealed.bers").read_bytes()
