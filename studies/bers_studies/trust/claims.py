"""Claims about whom to trust: the right source soon, nobody where that is right, real sources.

Enters: the records of the studies trust, nobody, grunfeld and heads. Leaves: claims, all of them
ours: the paper does not measure these.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_RULE = "odds"
_SOON = 5  # generations
_SETTING = "BERS, rate 1e-4"


def trust_claims(runs: Runs) -> Iterator[Claim]:
    """The right source has nearly all of the weight within the first moments."""
    for target in runs.values("target"):
        chosen = runs.pick(target=target, rule=_RULE)
        soon = np.array(chosen[0]["generations"]) >= _SOON
        later = np.array([np.array(r["weights"])[soon, r["right"]].mean() for r in chosen])
        yield claim_of(
            runs,
            f"trust-{target.lower()}",
            f"whom to trust is known within the first moments: from generation {_SOON} on, the "
            f"right source for {target} has a mean weight of 0.9 or more",
            "BERS",
            f"mean weight {later.mean():.3f}",
            later.mean() >= 0.9,
            later,
        )


def nobody_claims(runs: Runs) -> Iterator[Claim]:
    """Where no source can help, nobody is trusted."""
    for kind in runs.values("kind"):
        share = np.array([r["nobody"] for r in runs.pick(kind=kind, rule=_RULE)])
        yield claim_of(
            runs,
            f"nobody-{kind.replace(' ', '-')}",
            f"with sources that cannot help ({kind}), nobody is trusted: 0.9 or more of the weight",
            "BERS",
            f"mean share of nobody {share.mean():.3f}, least {share.min():.3f}",
            share.mean() >= 0.9,
            share,
        )


def grunfeld_claims(runs: Runs) -> Iterator[Claim]:
    """Ranked firms predict another firm better than all firms alike do, for most of them."""
    for years in runs.values("years"):
        chosen = runs.pick(years=years, rule=_RULE)
        won = sum(r["error"] < r["equal"] for r in chosen)
        yield claim_of(
            runs,
            f"grunfeld-{years.replace(' ', '-')}",
            f"of eleven real firms ({years} years seen), 8 or more are predicted better by the "
            "ranked others than by all others alike",
            "BERS",
            f"{won} of {len(chosen)}",
            won >= 8,
        )


def heads_claims(runs: Runs) -> Iterator[Claim]:
    """What each demonstrator wanted is learned."""
    r2 = np.array([r["r2"] for r in runs.pick(kind="source", setting=_SETTING)])
    yield claim_of(
        runs,
        "heads-explain",
        "by default, every source's head explains 98% or more of the labels of rows that it has "
        "not seen, in every trial",
        "BERS",
        f"least {r2.min():.3f}, mean {r2.mean():.3f}",
        r2.min() >= 0.98,
    )
