"""Rows to a Parquet file, a row group at a time.

Enter: names and transforms, and blocks of rows with their payload. Leave: one file that holds
no more than a block in memory while it is written. Pages carry checksums; the footer carries
the metadata, a SHA-256 of every row group and one of the whole.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from bers.data.arrow import table_columns
from bers.data.demonstrations import record_digest
from bers.data.metadata import Metadata, to_json
from bers.data.parquet import FIELD_ID, FIRST_ID
from bers.files import write_atomically
from bers.integrity import ArrayDigest

Block = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
"""x, y and payload of some rows."""


def write_parquet(
    path: str | os.PathLike[str], metadata: Metadata, empty: Block, blocks: Iterable[Block]
) -> None:
    """Write blocks as row groups; `empty` holds no rows and shows types and shapes.

    >>> import tempfile
    >>> from bers.data.demonstrations import Demonstrations
    >>> from bers.data.metadata import metadata_of
    >>> from bers.data.parquet import open_parquet
    >>> d = Demonstrations([[1.0]], [2.0], "a")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(f"{folder}/a.parquet", metadata_of(d), (d.x[:0], d.y[:0], {}),
    ...                   [(d.x, d.y, {})])
    ...     open_parquet(f"{folder}/a.parquet").own.name
    'a'
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: column.type for name, column in table_columns(*empty, metadata).items()}
    schema = pa.schema(
        [
            pa.field(name, kind, nullable=False, metadata={FIELD_ID: str(FIRST_ID + i)})
            for i, (name, kind) in enumerate(kinds.items())
        ]
    )
    arrays = {"x": empty[0], "y": empty[1]}
    arrays |= {f"payload/{name}": values for name, values in empty[2].items()}
    totals, groups, n = {name: ArrayDigest() for name in arrays}, [], 0
    with (
        write_atomically(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            use_dictionary=False,
            write_statistics=False,
            write_page_checksum=True,
        ) as writer,
    ):
        for x, y, payload in blocks:
            columns = table_columns(x, y, payload, metadata)
            writer.write_table(pa.table(columns, schema=schema), row_group_size=max(len(y), 1))
            parts = {"x": x, "y": y, **{f"payload/{k}": v for k, v in payload.items()}}
            for name, values in parts.items():
                totals[name].update(values)
            groups.append("".join(ArrayDigest(values).hexdigest() for values in (x, y)))
            n += len(y)
        sealed = {
            name: totals[name].text(values.dtype, (n, *values.shape[1:]))
            for name, values in arrays.items()
        }
        m = metadata
        whole = record_digest(m.name, m.x_names, m.y_name, m.transforms, sealed)
        final = replace(metadata, n=n, digest=whole, groups=tuple(groups))
        writer.add_key_value_metadata({"bers": to_json(final)})
