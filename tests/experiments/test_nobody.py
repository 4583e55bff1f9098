from bers.experiments.nobody import KINDS, study


def test_misleading_sources_get_next_to_nothing():
    records = study(seeds=(55,), rules=("odds",), progress=False)
    assert [r["kind"] for r in records] == list(KINDS)
    for r in records:
        assert 0.9 <= r["nobody"] <= 1, r
