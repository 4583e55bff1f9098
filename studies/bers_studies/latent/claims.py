"""What the paper says of two features.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs
from bers_studies.static.claims import RIGHT


def claims(runs: Runs) -> Iterator[Claim]:
    """Where the target's mean ends."""
    near = []
    for panel, right in RIGHT.items():
        means = np.array([r["means"] for r in runs.pick(panel=panel)])[:, -1]
        away = np.linalg.norm(means[:, :3] - means[:, 3:], axis=-1)
        near.append(float(np.mean(np.argmin(away, axis=1) == right)))
    yield claim_of(
        runs,
        "latent-converges",
        "with two features, the target's mean ends nearest to that of the right source (share of "
        "trials, worst target)",
        "paper",
        ", ".join(f"{p} {n:.2f}" for p, n in zip(RIGHT, near, strict=True)),
        min(near) > 0.5,
    )
