"""Every error and warning that BERS raises.

All errors descend from `BersError`, so one `except` catches them. Each message says what was
wrong, where, and what to do next.
"""


class BersError(Exception):
    """Base of all BERS errors."""


class DataError(BersError, ValueError):
    """The rows handed over cannot be used: wrong shape, wrong type, not finite.

    `row` is the one that the message names, counted from 0, where it names one.
    """

    row: int | None = None


class FileError(DataError):
    """A file is damaged, foreign, unsafe or not in a format that BERS reads."""


class ConfigError(BersError, ValueError):
    """A setting is out of its range, of the wrong type, or unknown."""


class SolverError(BersError, RuntimeError):
    """The weights could not be found, or no weights satisfy the constraints."""


class ObjectiveError(BersError, RuntimeError):
    """The function to minimise raised, or returned something that is no number.

    `result` holds what was reached before, where there is anything.
    """

    result: object = None


class BersWarning(UserWarning):
    """Base of all BERS warnings."""


class DataWarning(BersWarning):
    """The data were accepted, with something the user should know."""


class PrecisionWarning(BersWarning):
    """A result is right, but may have fewer than eight correct digits."""
