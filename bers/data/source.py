"""What the model needs of a source of demonstrations, wherever its rows are kept.

`Demonstrations` (in memory) and `Shards` (on disk) both have this surface, and so may any class
of a user's own: a database, a message log. Rows are inputs x and labels y.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float


@runtime_checkable
class Source(Protocol):
    """One demonstrator's rows, to be streamed or drawn from."""

    @property
    def name(self) -> str:
        """Who this is."""
        ...

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    @property
    def dim(self) -> int:
        """Number of input columns."""
        ...

    def blocks(
        self, rows: int = ...
    ) -> Iterator[tuple[Float[np.ndarray, "b k"], Float[np.ndarray, " b"]]]:
        """All rows, in order, at most `rows` at a time."""
        ...

    def parts(self) -> Sequence["Source"]:
        """Sources that together are this one, and can be streamed side by side."""
        ...

    def draw(
        self, rng: np.random.Generator, batches: int, size: int
    ) -> tuple[
        Float[np.ndarray, "batches size k"],
        Float[np.ndarray, "batches size"],
        Bool[np.ndarray, "batches size"],
    ]:
        """Random batches of rows, no row twice in a batch; the mask says which slots are used."""
        ...

    def split(self, rng: np.random.Generator, fraction: float) -> tuple["Source", "Source"]:
        """Two disjoint sources: the rows kept and the `fraction` held out."""
        ...
