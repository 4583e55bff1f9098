"""Experiments from a list: what is asked, told, believed and kept."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bers
from bers.errors import ConfigError, DataError, DataWarning, FileError
from bers.model.process import Family, stranger


def table():
    """Sixty conditions of words and numbers."""
    return pd.DataFrame(
        [(b, s, h) for b in "abcd" for s in ("dmf", "water", "thf") for h in (1, 2, 4, 8, 16)],
        columns=["base", "solvent", "hours"],
    )


def measured(rows, shift=0.0):
    """A yield: the best is (c, water, 8)."""
    found = 20.0 * (rows["base"] == "c") + 15.0 * (rows["solvent"] == "water")
    return found - (np.log2(rows["hours"]) - 3 + shift) ** 2


def done(campaign, count):
    """Experiments until the best, at most so many."""
    for number in range(1, count + 1):
        rows = campaign.ask()
        campaign.tell(rows, measured(rows))
        if campaign.best == 35:
            return number
    return count + 1


def past(**more):
    return {"last": table().assign(value=measured(table(), 0.3) * 7 - 100)} | more


def test_none_says_that_there_are_no_earlier_campaigns():
    none, empty = (bers.Campaign(table(), sources, rng=0) for sources in (None, ()))
    assert none.ask(5).equals(empty.ask(5))
    assert none.weights == {}


def test_an_earlier_campaign_saves_most_experiments():
    alone = [done(bers.Campaign(table(), maximize=True, rng=seed), 60) for seed in range(4)]
    helped = [
        done(bers.Campaign(table(), past(), y="value", maximize=True, rng=seed), 60)
        for seed in range(4)
    ]
    assert max(alone) < 30  # by chance it takes thirty in the mean
    assert max(helped) <= 3


def test_one_that_misleads_is_given_up():
    turned = {"turned": table().assign(value=-measured(table()))}
    campaigns = [bers.Campaign(table(), turned, y="value", maximize=True, rng=s) for s in range(3)]
    assert all(done(campaign, 60) < 40 for campaign in campaigns)
    assert all(campaign.weights["turned"] < 0.9 for campaign in campaigns)


def test_the_same_rows_are_asked_for_until_they_are_told_in_any_order():
    campaign = bers.Campaign(table(), past(), y="value", maximize=True, rng=0)
    plate = campaign.ask(6)
    assert len(plate.drop_duplicates()) == 6
    assert campaign.ask(6).equals(plate)
    assert campaign.ask(2).equals(plate[:2])
    campaign.tell(plate[::-1][:4], measured(plate[::-1][:4]))
    assert campaign.ask(2).equals(plate[:2])
    rest = campaign.ask(8)
    assert rest[:2].equals(plate[:2])
    assert len(pd.concat([plate, rest[2:]]).drop_duplicates()) == 12
    assert campaign.result().nfev == 4


def test_a_large_plate_is_that_of_its_parts_and_of_little_work():
    def begun():
        campaign = bers.Campaign(table(), past(), y="value", maximize=True, rng=0)
        campaign.tell(table()[:12], measured(table()[:12]))
        return campaign

    whole, parts = begun(), begun()
    with patch.object(Family, "observe", autospec=True, side_effect=Family.observe) as observe:
        plate = whole.ask(40)
    assert observe.call_count == 1  # not once for each row, with all rows before it
    for n in range(1, 41):
        asked = parts.ask(n)
    assert asked.equals(plate)
    assert len(plate.drop_duplicates()) == 40
    for campaign in (whole, parts):
        campaign.tell(plate[:20], measured(plate[:20]))
    assert whole.ask(40).equals(parts.ask(40))
    assert whole.ask(20).equals(plate[20:])


def test_rows_are_told_as_tables_are_written():
    campaign = bers.Campaign(table(), maximize=True, rng=0)
    rows = table().iloc[[7, 30]]
    book = rows.assign(hours=rows["hours"].astype(float), who="ann", got=[3.0, 5.0])
    book = book[["got", "who", "hours", "solvent", "base"]]
    campaign.tell(book, "got")
    campaign.tell(pa.table(book.to_dict("list")), "got")  # the same rows count once
    assert campaign.result().nfev == 2
    assert campaign.result().x == dict(rows.iloc[1])
    campaign.tell(rows[:1], pd.Series([9.0]))  # measured again
    assert (campaign.best, campaign.result().nfev) == (6.0, 3)  # 3 and 9
    grown = pd.concat([book, table().iloc[[8]].assign(who="bob", got=4.0)])
    campaign.tell(grown, "got")
    assert campaign.result().nfev == 4
    assert campaign.result().fun_all.tolist() == [3.0, 5.0, 9.0, 4.0]


@pytest.mark.parametrize("maximize", [False, True])
def test_repetitions_are_worth_their_mean(maximize):
    campaign = bers.Campaign(np.arange(6.0)[:, None], maximize=maximize, rng=0)
    sign = 1 if maximize else -1
    campaign.tell([[2.0], [4.0]], [sign * 91.3, sign * 90.0])
    assert campaign.result().x.tolist() == [2.0]
    campaign.tell([[4.0], [4.0], [2.0], [2.0]], sign * np.array([94.0, np.nan, 121.3, 30.0]))
    assert campaign.best == campaign.result().fun == pytest.approx(sign * 92.0)  # not 121.3
    assert campaign.result().x.tolist() == [4.0]
    assert len(campaign.result().fun_all) == 6


def test_rows_that_nobody_asked_for_are_not_asked_for_again():
    campaign = bers.Campaign(np.arange(8.0)[:, None], rng=0)
    campaign.tell([[1.0], [6.0]], [3.0, 4.0])
    asked = campaign.ask(20)
    assert sorted(asked[:, 0]) == [0, 2, 3, 4, 5, 7]
    assert len(campaign.ask(20)) == 6
    campaign.tell(asked, asked[:, 0])
    assert campaign.ask().shape == (0, 1)
    assert campaign.result().x.tolist() == [0.0]


def test_failures_count_as_the_worst():
    campaign = bers.Campaign(table(), maximize=True, rng=0)
    bad = table()[table()["base"] == "a"]
    campaign.tell(bad, [np.nan] * len(bad))
    assert np.isnan(campaign.best)
    assert campaign.result().x is None
    some = table()[table()["base"] == "b"][:5]
    campaign.tell(some, measured(some))
    assert campaign.best == measured(some).max()
    found = campaign.predict()
    middle, spread = found
    np.testing.assert_array_equal(middle, found.mean)
    np.testing.assert_array_equal(spread, found.spread)
    assert (spread > 0).all()
    assert middle.shape == spread.shape == (60,)
    assert middle[:15].mean() < middle[30:].mean()
    assert (campaign.ask(5)["base"] != "a").all()


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_plates_on_which_nothing_works_are_no_trouble(value):
    campaign = bers.Campaign(table(), past(), y="value", maximize=True, rng=0)
    for _ in range(3):  # a warning of NumPy is an error here
        rows = campaign.ask(4)
        campaign.tell(rows, np.full(4, value))
    assert campaign.result().nfev == 12
    assert len(campaign.ask(4)) == 4


def test_values_of_any_unit_and_either_direction_give_the_same_rows():
    def run(scale, shift, maximize):
        sources = {"last": table().assign(value=scale * measured(table(), 1.0) + shift)}
        campaign = bers.Campaign(table(), sources, y="value", maximize=maximize, rng=1)
        seen = []
        for _ in range(8):
            rows = campaign.ask()
            seen += rows.index.tolist()
            campaign.tell(rows, scale * measured(rows) + shift)
        return seen

    first = run(1.0, 0.0, True)
    assert run(64.0, -512.0, True) == first
    assert run(-2.0, 8.0, False) == first


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "array"])
def test_a_campaign_goes_on_from_its_file(kind, tmp_path):
    frame = table()
    if kind == "array":
        rows = np.random.default_rng(0).random((40, 3))
        sources = {"last": (rows[:20], rows[:20].sum(axis=1))}
    else:
        rows, sources = frame, {"last": (frame[:30], measured(frame[:30]).to_numpy())}
    if kind == "polars":
        rows = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    if kind == "arrow":
        rows = pa.table(frame.to_dict("list"))
    campaign = bers.Campaign(rows, sources, rng=3)
    asked = campaign.ask(5)
    campaign.tell(asked[:3], [1.0, np.nan, 2.0])
    campaign.save(tmp_path / "run.bers")
    later = bers.Campaign.load(tmp_path / "run.bers")
    assert type(later.ask(6)) is type(campaign.ask(6))
    assert np.array_equal(np.asarray(later.ask(6)), np.asarray(campaign.ask(6)))
    assert later.weights == campaign.weights
    assert later.best == 1.0
    later.tell(asked[:2], [1.0, np.nan])  # known already
    assert later.result().nfev == 3


def test_a_file_of_something_else_is_refused(tmp_path):
    bers.Optimizer([(0, 1)]).save(tmp_path / "run.bers")
    with pytest.raises(FileError, match="BERS campaign"):
        bers.Campaign.load(tmp_path / "run.bers")


def test_a_result_is_a_source_of_the_next_campaign():
    first = bers.Campaign(table(), maximize=True, rng=0)
    first.tell(table(), measured(table()))
    result = first.result()
    assert "weights" not in result
    assert result.weights == {}
    second = bers.Campaign(table()[::-1], [result], maximize=True, rng=0)
    assert second.weights == {"campaign 0": 1.0}
    assert done(second, 60) <= 3


def test_sources_may_have_words_and_numbers_that_the_list_has_not():
    other = pd.DataFrame(
        [(b, "dmso", h) for b in "cx" for h in (8, 32)], columns=["base", "solvent", "hours"]
    )
    with pytest.warns(DataWarning, match="1 of"):
        campaign = bers.Campaign(
            table(),
            {"last": other.assign(reward=[9.0, 8.0, 1.0, np.nan])},
            maximize=True,
            rng=0,
        )
    assert campaign.ask()["base"].tolist() == ["c"]


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_source_in_other_units_is_told(kind):
    hours = np.array([1.0, 2, 4, 8, 16, 32])
    days = pd.DataFrame({"a": [0.0, 1, 0, 1], "hours": [50.0, 100, 200, 400]})
    rows = pd.DataFrame({"a": np.resize([0.0, 1], 6), "hours": hours})
    name = "hours"
    if kind == "array":
        rows, days, name = rows.to_numpy(), days.to_numpy(), "x1"
    said = f"'last': {name} goes from 50 to 400, outside the candidates' 1 to 32, .* other units"
    with pytest.warns(DataWarning, match=said) as warned:
        bers.Campaign(rows, {"last": (days, np.arange(4.0))}, rng=0)
    assert len(warned) == 1
    assert warned[0].filename == __file__


@pytest.mark.parametrize("at", [[90.0, 105.0], [16.0, 300.0], [20.0, 20.0], [40.0, 40.0]])
def test_a_source_nearby_or_with_one_value_each_is_not_told(at):
    one = at[0] == 90
    rows = np.full((6, 1), 60.0) if one else np.array([[1.0], [2], [4], [8], [16], [32]])
    if one:
        at = [105.0, 105.0]
    bers.Campaign(rows, [(np.reshape(at, (2, 1)), [1.0, 2.0])], rng=0)  # warnings are errors


def test_a_list_that_says_an_experiment_twice_has_it_once():
    campaign = bers.Campaign([[1.0], [2.0], [1.0]], rng=0)
    assert sorted(campaign.ask(9)[:, 0]) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: bers.Campaign(table()[:0]), DataError, "no rows"),
        (lambda: bers.Campaign(table(), odds=0), ConfigError, "odds must be above 0"),
        (lambda: bers.Campaign(table(), maximize="yes"), ConfigError, "maximize"),
        (lambda: bers.Campaign([["a"], ["b"]]), DataError, "must be a data frame, or rows of numb"),
        (lambda: bers.Campaign([[np.nan]]), DataError, "finite numbers"),
        (
            lambda: bers.Campaign(table().assign(hours=lambda t: t["hours"].where(t.index > 1))),
            DataError,
            "2 of 60 rows have no value in the column 'hours', the first is row 0",
        ),
        (
            lambda: bers.Campaign(table().assign(base=lambda t: t["base"].where(t.index != 7))),
            DataError,
            "1 of 60 rows have no value in the column 'base', the first is row 7",
        ),
        (lambda: bers.Campaign(table(), table()), DataError, "list of earlier campaigns"),
        (lambda: bers.Campaign(table()).ask(0), ConfigError, r"ask\(n\)"),
        (lambda: bers.Campaign(table()).predict(), ConfigError, "Tell some first"),
        (lambda: bers.Campaign(table()).tell(table()[:1], None), DataError, "y must hold numbers"),
        (lambda: bers.Campaign(table()).tell(table()[:1], ["7"]), DataError, "y must hold numbers"),
        (lambda: bers.Campaign(table()).tell(table()[:1], [np.inf]), DataError, "infinite"),
        (lambda: bers.Campaign(table()).tell(table()[:2], [1.0]), DataError, "2 rows, but 1 "),
        (lambda: bers.Campaign(table()).tell(table()[:1], "got"), DataError, "no column 'got'"),
        (lambda: bers.Campaign(table()).tell([["a", "dmf", 1]], [1.0]), DataError, "data frame"),
        (
            lambda: bers.Campaign(table()).tell(table()[:1][["base"]], [1.0]),
            DataError,
            "lack the column 'solvent'",
        ),
        (
            lambda: bers.Campaign(table()).tell(table()[:1].assign(hours=3), [1.0]),
            DataError,
            "none of the candidates",
        ),
        (
            lambda: bers.Campaign(table()).tell(table()[:1].assign(base="z"), [1.0]),
            DataError,
            "base",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_without_earlier_tasks_nothing_is_informed():
    x = np.random.default_rng(0).random((12, 2))
    belief = stranger(np.ones(2)).observe(x, x[:, 0])
    assert belief.informed == 0
    assert belief.weights.shape == (0,)
    assert belief.alone.predict(x)[0] == pytest.approx(belief.predict(x)[0])
