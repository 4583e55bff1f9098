"""Names that come from other people's files, made safe to show.

Enters: any text. Leaves: one short line without control characters, for terminals and messages.
"""


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
