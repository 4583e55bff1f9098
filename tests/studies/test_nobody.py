from bers_studies.nobody.study import KINDS, NobodyConfig, trial


def test_misleading_sources_get_next_to_nothing():
    records = list(trial(NobodyConfig(rules=("odds",)), 55))
    assert [r["kind"] for r in records] == list(KINDS)
    for r in records:
        assert 0.9 <= r["nobody"] <= 1, r
