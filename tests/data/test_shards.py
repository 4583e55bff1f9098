import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bers.data.demonstrations import Demonstrations
from bers.data.shards import Shards, sampled_labels
from bers.data.storage import load, save
from bers.data.transforms import Chain, RankNormal, Sqrt, Standardise, Trim
from bers.errors import ConfigError, DataError, DataWarning, FileError


def write(folder, n=1000, per_group=100, files=1, dtype=np.float64):
    """Rows whose label is the number of the row, in `files` files."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.arange(n), rng.normal(size=n)]).astype(dtype)
    for i, rows in enumerate(np.array_split(np.arange(n), files)):
        part = Demonstrations(x[rows], rows, "alice")
        save(part, folder / f"part{i}.parquet", rows_per_group=per_group)
    return x


@pytest.mark.parametrize("files", [1, 3])
def test_blocks_are_the_rows_in_order(tmp_path, files):
    x = write(tmp_path, files=files)
    s = Shards.open(tmp_path)
    assert (s.n, s.dim, s.name, len(s)) == (1000, 2, "alice", 1000)
    assert (s.x_names, s.y_name) == (("x0", "x1"), "y")
    blocks = list(s.blocks(64))
    assert max(len(y) for _, y in blocks) <= 64
    assert np.array_equal(np.concatenate([b for b, _ in blocks]), x)
    assert np.concatenate([y for _, y in blocks]).tolist() == list(range(1000))
    assert np.array_equal(s.in_memory().x, x)
    with pytest.raises(ConfigError, match=r"rows must be a whole number"):
        next(s.blocks(0))


def test_float32_stays_and_pickles_work(tmp_path):
    write(tmp_path, dtype=np.float32)
    s = pickle.loads(pickle.dumps(Shards.open(tmp_path / "part0.parquet")))
    assert next(s.blocks())[0].dtype == np.float32
    assert s.draw(np.random.default_rng(0), 1, 3)[0].dtype == np.float32
    assert s.digest == Shards.open(tmp_path / "part0.parquet").digest


def test_draws_have_no_row_twice_and_reach_every_row(tmp_path):
    x = write(tmp_path, n=900, per_group=50, files=2)
    s = Shards.open(tmp_path)
    rng = np.random.default_rng(0)
    count = np.zeros(900)
    for _ in range(60):
        bx, by, used = s.draw(rng, 20, 32)
        assert bx.shape == (20, 32, 2)
        assert used.all()
        assert all(len(set(batch)) == 32 for batch in by.tolist())
        assert np.array_equal(bx, x[by.astype(int)])
        np.add.at(count, by.astype(int).ravel(), 1)
    assert count.min() > 0
    # A call mixes 8 of 18 groups, so counts of a group vary more than those of single rows.
    expected = 60 * 20 * 32 / 900
    assert np.abs(count.reshape(-1, 50).mean(axis=1) / expected - 1).max() < 0.5


def test_draws_by_rows_where_row_groups_differ(tmp_path):
    with pq.ParquetWriter(tmp_path / "u.parquet", pa.schema({"a": "f8", "y": "f8"})) as writer:
        for group, n in enumerate([10] * 20 + [300] * 20):
            writer.write_table(pa.table({"a": np.zeros(n), "y": np.full(n, group >= 20, float)}))
    s = Shards.open(tmp_path / "u.parquet")
    rng = np.random.default_rng(0)
    share = np.mean([s.draw(rng, 1, 16)[1].mean() for _ in range(200)])
    # 200 rows of 6200 are in small groups; eight groups a call, so the error is about 0.005.
    assert 1 - share == pytest.approx(200 / 6200, abs=0.015)
    single = np.array([s.draw(rng, 5, 100)[1].mean(axis=1).std() for _ in range(5)])
    assert (single < 0.2).all()


def test_draws_fill_a_batch_from_many_small_groups_and_few_rows(tmp_path):
    write(tmp_path, n=200, per_group=5)
    s = Shards.open(tmp_path)
    _, y, used = s.draw(np.random.default_rng(0), 3, 150)
    assert used.all()
    assert len(set(y[0])) == 150
    _, y, used = s.draw(np.random.default_rng(0), 3, 300)
    assert used.sum(axis=1).tolist() == [200] * 3
    assert sorted(y[0, :200]) == list(range(200))


def test_no_rows(tmp_path):
    save(Demonstrations(np.empty((0, 2)), [], "none"), tmp_path / "a.parquet")
    s = load(tmp_path / "a.parquet", stream=True)
    assert s.n == 0
    assert list(s.blocks()) == []
    x, _, used = s.draw(np.random.default_rng(0), 2, 3)
    assert x.shape == (2, 3, 2)
    assert not used.any()
    assert s.transformed(Trim(), Standardise()).in_memory().n == 0


def test_split_by_row_groups(tmp_path):
    write(tmp_path)
    s = Shards.open(tmp_path)
    kept, out = s.split(np.random.default_rng(0), 0.3)
    assert (kept.n, out.n) == (700, 300)
    both = [*kept.in_memory().y, *out.in_memory().y]
    assert sorted(both) == list(range(1000))
    assert len({s.digest, kept.digest, out.digest}) == 3
    save(Demonstrations([1.0, 2.0], [1, 2], "a"), tmp_path / "one.parquet")
    with pytest.raises(DataError, match=r"has 1 row group, which cannot be split. Save it again"):
        Shards.open(tmp_path / "one.parquet").split(np.random.default_rng(0), 0.5)


def test_transforms_match_those_in_memory(tmp_path):
    write(tmp_path, files=2)
    s = Shards.open(tmp_path)
    chain = (Trim(0.1, 0.9), Sqrt(), RankNormal(), Standardise())
    moved, expected = s.transformed(*chain), s.in_memory().transformed(*chain)
    assert moved.n == expected.n == 800
    assert moved.transforms == expected.transforms
    assert np.array_equal(moved.in_memory().y, expected.y)
    assert np.array_equal(moved.in_memory().x, expected.x)
    assert s.transformed(Chain(*chain)).in_memory().y.tolist() == expected.y.tolist()
    _, y, used = moved.draw(np.random.default_rng(0), 5, 16)
    assert used.all()
    assert set(y.ravel()) <= set(expected.y)
    assert moved.in_memory().original_y == pytest.approx(expected.original_y)
    save(moved, tmp_path / "moved.parquet")
    again = load(tmp_path / "moved.parquet")
    assert again.digest == expected.digest


def test_trimming_that_would_remove_everything_widens_and_says_so(tmp_path):
    write(tmp_path)
    with pytest.warns(DataWarning, match=r"trimming to labels from 0.2 to 0.7 would leave fewer"):
        s = Shards.open(tmp_path).transformed(Trim(low=0.2, high=0.7))
    assert s.in_memory().y.tolist() == [0, 1]
    assert (s.transforms[0].low, s.transforms[0].high) == (0.0, 1.0)


def test_fitting_takes_a_uniform_sample_of_many_labels(tmp_path):
    write(tmp_path, n=20_000, per_group=1000)
    s = Shards.open(tmp_path)
    sample = sampled_labels(s.reader, s.groups, s.rows, most=5000)
    assert len(set(sample)) == 5000
    assert sample.mean() == pytest.approx(10_000, rel=0.03)
    quarter = np.histogram(sample, 4, (0, 20_000))[0]
    assert np.abs(quarter / 1250 - 1).max() < 0.1


def test_bad_values_are_named_with_file_column_row_and_count(tmp_path):
    a = np.arange(100.0)
    a[[57, 58]] = np.nan
    pq.write_table(pa.table({"a": a, "y": a * 0}), tmp_path / "n.parquet", row_group_size=25)
    s = Shards.open(tmp_path / "n.parquet")
    message = r"n.parquet: column 'a': 2 of 25 values are not finite .*, the first in row 57"
    with pytest.raises(FileError, match=message):
        list(s.blocks())
    with pytest.raises(FileError, match=message):
        s.draw(np.random.default_rng(0), 1, 5)


def test_a_file_that_changes_is_seen(tmp_path):
    write(tmp_path)
    s = Shards.open(tmp_path)
    write(tmp_path, n=999)
    with pytest.raises(FileError, match=r"part0.parquet: changed since it was opened"):
        list(s.blocks())
    with pytest.raises(FileError, match=r"part0.parquet: changed since it was opened"):
        s.draw(np.random.default_rng(0), 1, 5)
    (tmp_path / "part0.parquet").unlink()
    with pytest.raises(FileError, match=r"there is no file .*part0.parquet"):
        list(s.blocks())


def test_rows_changed_by_another_program_are_seen(tmp_path):
    write(tmp_path)
    path = tmp_path / "part0.parquet"
    table, stored = pq.read_table(path), pq.read_metadata(path).metadata
    changed = table["x1"].to_numpy().copy()
    changed[500] += 1
    table = table.set_column(1, table.schema.field("x1"), pa.array(changed))
    pq.write_table(table, path, row_group_size=100)
    with pytest.raises(FileError, match=r"was written by BERS, but its metadata are lost"):
        Shards.open(path)
    table = table.replace_schema_metadata({"bers": stored[b"bers"]})
    pq.write_table(table, path, row_group_size=100)
    message = r"part0.parquet: row group 5 does not hold the rows that were saved"
    with pytest.raises(FileError, match=message):
        list(Shards.open(path).blocks())
    assert Shards.open(path, ["x0", "x1"], "y").in_memory().x[500, 1] == changed[500]


def test_digest_tells_contents_apart(tmp_path):
    x = write(tmp_path)
    first = Shards.open(tmp_path)
    x[500, 1] += 1e-9
    save(
        Demonstrations(x, np.arange(1000), "alice"), tmp_path / "part0.parquet", rows_per_group=100
    )
    second = Shards.open(tmp_path)
    assert len({first.digest, second.digest, second.renamed("bob").digest}) == 3
    assert second.transformed(Sqrt()).digest != second.digest


def test_memory_stays_bounded_even_with_one_large_row_group(tmp_path):
    n, k = 400_000, 8
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.normal(size=n) for j in range(k)} | {"y": np.zeros(n)}
    pq.write_table(pa.table(columns), tmp_path / "big.parquet", row_group_size=n)
    del columns
    s = Shards.open(tmp_path / "big.parquet")
    pool = pa.system_memory_pool()
    before, old = pool.max_memory(), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        total = sum(len(y) for _, y in s.blocks(10_000))
    finally:
        pa.set_memory_pool(old)
    assert total == n
    assert pool.max_memory() - before < n * (k + 1) * 8 / 2


def test_files_that_do_not_belong_together(tmp_path):
    save(Demonstrations([1.0], [1.0], "a"), tmp_path / "a.parquet")
    save(Demonstrations([[1.0, 2.0]], [1.0], "a"), tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"b.parquet and a.parquet do not belong together"):
        load(tmp_path)
    save(Demonstrations([1.0], [1.0], "a").transformed(Sqrt()), tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"do not belong together"):
        Shards.open([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_repr_and_settings(tmp_path):
    write(tmp_path)
    s = Shards.open(tmp_path, name="\x1b" * 9999)
    assert repr(s).isprintable()
    assert len(repr(s)) < 150
    with pytest.raises(ConfigError, match=r"rng must be a NumPy Generator; got int"):
        s.draw(1, 2, 3)
    with pytest.raises(ConfigError, match=r"Chain takes transforms; got 'sqrt'"):
        s.transformed("sqrt")
    with pytest.raises(FileError, match=r"no Parquet file in"):
        Shards.open([])


def test_parts_are_the_whole_in_order(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(3):
        x = rng.standard_normal((100, 2))
        save(Demonstrations(x, x[:, 0], "a"), tmp_path / f"{i}.parquet", rows_per_group=30)
    shards = Shards.open(tmp_path)
    for most in (1, 2, 5, 64):
        parts = shards.parts(most)
        assert len(parts) == min(most, 12)
        assert [part.n for part in parts if part.n == 0] == []
        x = np.concatenate([x for part in parts for x, _ in part.blocks()])
        np.testing.assert_array_equal(x, shards.in_memory().x)


def in_parts(folder, files=3, groups=40):
    rng = np.random.default_rng(0)
    for i in range(files):
        x = rng.normal(size=(10 * groups, 3))
        d = Demonstrations(x, x[:, 0], "alice")
        save(d, folder / f"{i}.parquet", rows_per_group=10)
    return load(folder, stream=True)


def test_parts_hold_the_rows_of_the_whole_in_their_order(tmp_path):
    whole = in_parts(tmp_path)
    parts = whole.parts()
    assert len(parts) == 64
    rows = [part.in_memory() for part in parts]
    every = whole.in_memory()
    assert np.concatenate([part.x for part in rows]).tobytes() == every.x.tobytes()
    assert np.concatenate([part.y for part in rows]).tobytes() == every.y.tobytes()
    assert len({part.digest for part in parts}) == len(parts)
    again = parts[5].parts(2)  # of a part, too
    assert sum(part.n for part in again) == parts[5].n
    assert again[0].in_memory().x.tobytes() == rows[5].x[: again[0].n].tobytes()


def test_a_part_does_not_carry_what_others_need(tmp_path):
    whole = in_parts(tmp_path, files=4, groups=100)
    sizes = [len(pickle.dumps(part)) for part in whole.parts()]
    assert len(pickle.dumps(whole)) > 50_000
    assert max(sizes) < 6_000


def test_parts_name_the_row_of_the_file_and_see_other_files(tmp_path):
    x = np.arange(60.0)
    x[43] = np.nan
    pq.write_table(pa.table({"a": x, "y": x * 0}), tmp_path / "a.parquet", row_group_size=10)
    part = load(tmp_path / "a.parquet", stream=True).parts(3)[2]
    with pytest.raises(FileError, match=r"a.parquet: column 'a': 1 of 10 .* row 43\."):
        list(part.blocks())
    (tmp_path / "b").mkdir()
    whole = in_parts(tmp_path / "b", files=1)
    part = whole.parts()[1]
    path = tmp_path / "b" / "0.parquet"
    status, content = path.stat(), bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if nothing had happened
    with pytest.raises(FileError, match=r"0.parquet: is another file than the one that was opened"):
        list(part.blocks())
