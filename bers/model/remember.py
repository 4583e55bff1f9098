"""What was found out about a source, kept for as long as the source is.

A source never changes, so its label statistics and its chosen subset need to be found once. A
source that cannot be a key, or that has grown, is simply looked at again.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from bers.data.source import Source


class Memory:
    """Findings by source; forgets a source when nobody else holds it."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Source, dict[Any, Any]] = WeakKeyDictionary()

    def recall(self, source: Source, key: object, find: Callable[[], Any]) -> Any:
        """What `find` found for this source and key, now or before."""
        try:
            known = self._kept.setdefault(source, {})
        except TypeError:  # not hashable, or not open to weak references
            return find()
        if (key, source.n) not in known:
            known[key, source.n] = find()
        return known[key, source.n]
