"""Every claim that can be measured, beside what was measured.

Enters: folders of journals. Leaves: claims with a figure, an interval, and whether they hold.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bers.errors import FileError
from bers_studies.agents.claims import agents_claims, tuning_claims
from bers_studies.reacher.claims import reacher_claims
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs, every_generation, log10_mean, number, read_runs
from bers_studies.report.figures import is_quick
from bers_studies.report.statistics import interquartile_mean
from bers_studies.static.claims import RIGHT, static_claims
from bers_studies.supply.claims import supply_claims
from bers_studies.trust.claims import grunfeld_claims, heads_claims, nobody_claims, trust_claims


def claims(root: Path) -> list[Claim]:
    """All claims for which there are journals under `root`, such as `reproductions`.

    A quick look shows nothing of this kind, and is passed over.
    """
    found: list[Claim] = []
    for name, check in _CHECKS.items():
        folder = root / name
        if folder.is_dir() and any(folder.glob("*.jsonl")) and not is_quick(folder):
            found += check(read_runs(folder))
    if not found:
        raise FileError(
            f"{root} holds no folder of a study with claims. Give the one that holds them: `bers "
            "claims runs`, after `bers-studies reproduce`."
        )
    return found


def claims_of(name: str, runs: Runs) -> list[Claim]:
    """The claims about one study; none if there are none, or if it has not come far enough."""
    try:
        return list(_CHECKS[name](runs)) if name in _CHECKS else []
    except FileError:
        return []


def _safety(runs: Runs) -> Iterator[Claim]:
    for kind in runs.values("kind"):
        for panel in runs.values("panel"):
            ours = log10_mean(runs.best(panel=panel, kind=kind, method="BERS"))
            none = log10_mean(runs.best(panel=panel, kind=kind, method="None"))
            more = float((ours - none).mean())
            yield claim_of(
                runs,
                f"safe-{kind.replace(' ', '-')}-{panel.lower()}",
                f"with only misleading past runs ({kind}), {panel} is at most 0.1 worse than "
                "without any (mean log10 of the best value over 100 generations)",
                "BERS",
                f"{more:+.3f}",
                more <= 0.1,
                ours - none,
            )


def _growth(runs: Runs) -> Iterator[Claim]:
    numbers = runs.values("number")
    needed = [interquartile_mean(runs.evaluations("Rastrigin", number=n)) for n in numbers]
    ratio = needed[-1] / needed[0]
    yield claim_of(
        runs,
        "growth",
        f"evaluations until 1.0 on Rastrigin grow by less than 30% from {numbers[0]} to "
        f"{numbers[-1]} past runs, of which one is right",
        "BERS",
        " / ".join(number(n, "{:.0f}") for n in needed)
        + " evaluations"
        + (f", {ratio - 1:+.0%}" if np.isfinite(ratio) else ""),
        ratio < 1.3,
    )


def _paper_metric(runs: Runs) -> Iterator[Claim]:
    shares = {}
    for method in runs.values("method"):
        weights = every_generation(*runs.weights(panel="Rastrigin", method=method))
        shares[method] = float(weights.mean((0, 1))[2])
    best = max(shares, key=lambda m: shares[m])
    yield claim_of(
        runs,
        "favours-sphere-tried",
        "some reading of the paper's settings makes its metric favour Sphere on Rastrigin, over "
        "100 generations",
        "paper",
        f"largest mean weight on Sphere {shares[best]:.2f} ({best}), of {len(shares)} variants",
        shares[best] > 0.5,
    )
    rows = np.mean([r["rows"] for r in runs.pick(method="as printed")], axis=0)
    printed = np.array([17693, 6452, 5853])
    yield claim_of(
        runs,
        "demonstration-sizes",
        "Differential Evolution as specified needs 17,693, 6,452 and 5,853 evaluations until 0.15 "
        "(within 20%)",
        "paper",
        ", ".join(f"{n:,.0f}" for n in rows),
        np.all(np.abs(rows / printed - 1) < 0.2),
    )


def _latent(runs: Runs) -> Iterator[Claim]:
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


_CHECKS: dict[str, Callable[[Runs], Iterator[Claim]]] = {
    "static": static_claims,
    "paper-metric": _paper_metric,
    "latent": _latent,
    "safety": _safety,
    "growth": _growth,
    "supply": supply_claims,
    "reacher": reacher_claims,
    "agents": agents_claims,
    "tuning": tuning_claims,
    "trust": trust_claims,
    "nobody": nobody_claims,
    "grunfeld": grunfeld_claims,
    "heads": heads_claims,
}
