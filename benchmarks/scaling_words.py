"""Numbers in words that a reader can compare: seconds, hours, bytes, counts."""

_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")


def seconds_said(seconds: float) -> str:
    """Two digits and the unit that fits.

    >>> seconds_said(0.00123), seconds_said(4.5e-8), seconds_said(12.3)
    ('1.2 ms', '45 ns', '12 s')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.9995 * scale:
            return f"{_two(seconds / scale)} {unit}"
    return f"{_two(seconds * 1e9)} ns"


def hours_said(seconds: float) -> str:
    """CPU hours, or less where it is less.

    >>> hours_said(90), hours_said(7200), hours_said(7.2e7), hours_said(0.02)
    ('1.5 min', '2.0 h', '20,000 h', '20 ms')
    """
    if seconds < 60:
        return seconds_said(seconds)
    return f"{_two(seconds / 60)} min" if seconds < 3600 else f"{_two(seconds / 3600)} h"


def bytes_said(size: float) -> str:
    """In powers of 1000.

    >>> bytes_said(4133), bytes_said(88e12), bytes_said(12)
    ('4.1 kB', '88 TB', '12 B')
    """
    power = 0
    while size >= 999.5 and power < len(_BYTES) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.0f} B" if power == 0 else f"{_two(size)} {_BYTES[power]}"


def count(number: float) -> str:
    """Whole, with commas; powers of ten from a hundred million on.

    >>> count(65536), count(10**9), count(1.5e8)
    ('65,536', '10⁹', '150,000,000')
    """
    digits = str(round(number))
    if number >= 10**8 and digits.rstrip("0") == "1":
        return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{round(number):,}"


def _two(value: float) -> str:
    if value < 9.95:
        return f"{value:.1f}"
    digits = max(0, len(str(round(value))) - 2)
    return f"{round(value, -digits):,.0f}"
