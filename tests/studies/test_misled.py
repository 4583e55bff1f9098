"""Does the study measure what misleading sources cost?"""

import numpy as np
import pytest
from bers_studies.misled.claims import claims
from bers_studies.misled.study import KINDS, QUICK, _inputs, _source, _uneven, trial
from bers_studies.report.curves import Runs


@pytest.fixture(scope="module")
def records():
    return list(trial(QUICK, 0))


def test_every_kind_and_number_has_a_record(records):
    assert [(r["kind"], r["sources"]) for r in records] == [(k, n) for k in KINDS for n in (1, 2)]
    assert len({r["alone"] for r in records}) == 1  # the target is the same for all
    assert all(r["BERS"] > 0 and 0 <= r["nobody"] <= 1 for r in records)


def test_sources_mislead():
    rng = np.random.default_rng(0)
    f = _uneven(rng, "ridges")
    turned, mirrored = (
        _source(rng, kind, f, "ridges", QUICK, kind) for kind in ("turned", "mirrored")
    )
    assert np.corrcoef(turned.y, f(turned.x))[0, 1] < -0.8
    assert np.corrcoef(mirrored.y, f(-mirrored.x))[0, 1] > 0.8
    x = _inputs(rng, 1000)
    assert abs(np.corrcoef(f(x), f(-x))[0, 1]) < 0.35
    constant = _source(rng, "constant", f, "ridges", QUICK, "constant")
    assert np.ptp(constant.y) == 0


@pytest.mark.parametrize(("error", "holds"), [(1.04, True), (1.2, False)])
def test_a_claim_asks_for_the_worst_mean(error, holds):
    record = {"kind": "noise", "sources": 1, "rows": 20, "nobody": 0.95}
    good = {**record, "BERS": 0.5, "neutral": 1.0, "alone": 1.0}
    bad = {**good, "sources": 50, "BERS": error}
    runs = Runs((good, bad), 1, 0, "runs/misled")
    found = {c.id: c.holds for c in claims(runs)}
    assert found["misled-noise-neutral"] is holds
    assert found["misled-noise-nobody"]
