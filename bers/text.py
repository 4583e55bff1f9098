"""Names that come from other people's files, made safe to show and to tell apart.

Enters: any text. Leaves: one short line without control characters, for terminals and messages.
"""

from collections.abc import Sequence


def printable(text: str, longest: int = 60) -> str:
    """A name that is safe in a terminal: control characters escaped, the middle of it cut.

    >>> printable("a\\nb")
    'a\\\\nb'
    >>> printable("x" * 100 + "end", 20)
    'xxxxxxxxx...xxxxxend'
    """
    if len(text) > 4 * longest:
        text = text[: 2 * longest] + text[-2 * longest :]
    escaped = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    if len(escaped) <= longest:
        return escaped
    tail = (longest - 3) // 2
    return f"{escaped[: longest - 3 - tail]}...{escaped[-tail:]}"


def unique(names: Sequence[str]) -> list[str]:
    """Names that can be keys: later ones of the same name are numbered.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    taken: set[str] = set()
    result = []
    for name in names:
        own, count = name, 1
        while own in taken:
            count += 1
            own = f"{name} ({count})"
        taken.add(own)
        result.append(own)
    return result
