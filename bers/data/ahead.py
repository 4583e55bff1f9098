"""Reading ahead: the next rows are fetched while the last ones are worked on.

Enters: an iterator. Leaves: the same items in the same order, made by one thread that stays at
most `depth` items ahead, so memory stays bounded. An error comes out where it would have. When
the consumer stops early, so does the thread.
"""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield `items`, up to `depth` of them made in advance.

    >>> list(ahead(range(4)))
    [0, 1, 2, 3]
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(depth)
    stop = threading.Event()
    reader = threading.Thread(target=_fill, args=(items, ready, stop), daemon=True)
    reader.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stop.set()
        reader.join()


def _fill(items: Iterable[Any], ready: queue.Queue, stop: threading.Event) -> None:
    try:
        for item in items:
            if not _put(ready, (item, None), stop):
                return
        _put(ready, (_END, None), stop)
    except BaseException as error:
        _put(ready, (None, error), stop)


def _put(ready: queue.Queue, entry: tuple, stop: threading.Event) -> bool:
    """Wait for room; False when the consumer has gone."""
    while not stop.is_set():
        try:
            ready.put(entry, timeout=0.05)
            return True
        except queue.Full:
            continue
    return False
