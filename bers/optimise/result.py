"""What a search gives back: scipy's result, which also answers for past runs where there were none.

Enters: the entries of a result. Leaves: a `Result`.
"""

from typing import Any

from scipy.optimize import OptimizeResult


class Result(OptimizeResult):
    """scipy's result; `weights` and `sources_used` are empty where there were no past runs.

    Without past runs the entries are those of scipy alone, since it cannot print an empty mapping.

    Examples
    --------
    >>> plain, helped = Result(fun=1.0), Result(fun=1.0, weights={"a": 0.5})
    >>> plain.weights, helped.weights, plain["weights"], list(plain)
    ({}, {'a': 0.5}, {}, ['fun'])
    """

    def __missing__(self, name: str) -> Any:
        """What is said of past runs that there were not."""
        if name in ("weights", "sources_used"):
            return {}
        raise KeyError(name)
