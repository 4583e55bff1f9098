"""Tables of claims in Markdown, and pages that are filled in."""

import re
from pathlib import Path

import pytest
from bers_studies.report.claim import Claim
from bers_studies.report.claims import claims
from bers_studies.report.claims_page import all_claims, fill_in, filled, head_claims, tally
from bers_studies.study import studies

from bers.errors import ConfigError

ROOT = Path(__file__).parent.parent.parent.parent
HEAD = [id for study in studies().values() for id in study.head]
PAGES = [ROOT / name for name in ("README.md", "docs/index.md", "docs/claims.md")]


@pytest.fixture(scope="module")
def stored():
    return claims(ROOT / "reproductions")


def claim(id, said_by, holds, text="a | b <i>", interval=None):
    return Claim(id, text, said_by, "0.5", interval, 3, holds, "runs/x")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_the_stored_journals_give(page, stored):
    text = page.read_text()
    assert filled(page, text, stored) == text, "run `make claims`"


def test_no_number_of_the_readme_is_typed():
    text = (ROOT / "README.md").read_text()
    for part in (r"<!-- claims.*?end of claims -->", r"^```.*?^```", r"`.*?`", r"\]\(.*?\)"):
        text = re.sub(part, "", text, flags=re.M | re.S)
    known = {"Python 3.11", "Lee, 2020", "S1, S2 and S3", "Baselines3", "DDPG, TD3"}
    for words in known:
        text = text.replace(words, "")
    assert re.findall(r".*\d.*", text) == []


def test_every_claim_is_on_the_page_with_all_that_is_known(stored):
    rows = (ROOT / "docs" / "claims.md").read_text().splitlines()
    for one in stored:
        cells = [one.claim, one.where, one.measured, one.span, str(one.trials)]
        holds = "yes" if one.holds else "**no**"
        start = f"| {holds} | {' | '.join(cells)} | `{one.journal}` |"
        (row,) = [row for row in rows if row.startswith(start)]
        if one.best is not None:
            assert f"{one.best.measured} ({one.best.reading}; " in row


def test_the_readme_shows_claims_of_every_kind(stored):
    known = {one.id: one for one in stored}
    assert len(set(HEAD)) == len(HEAD) <= 24
    for study in studies().values():
        for id in study.head:
            assert Path(known[id].journal).name == study.name
    chosen = [known[id] for id in HEAD]
    assert {one.said_by for one in chosen} == {"paper", "BERS"}
    assert {one.holds for one in chosen} == {True, False}


def test_every_stored_claim_has_a_place(stored):
    for one in stored:
        if one.said_by == "paper":
            places = ("paper, section", "paper, figure", "paper, appendix", "the authors' later")
            assert one.where.startswith(places), one.id
        else:
            assert (ROOT / one.where).suffix == ".md"
            assert (ROOT / one.where).exists(), one.id


def test_claims_are_told_apart_by_who_says_them_and_whether_they_hold():
    some = [
        claim("a", "paper", True),
        claim("b", "paper", False),
        claim("c", "paper", False, interval=(1.0, float("inf"))),
        claim("d", "BERS", False),
    ]
    made = all_claims(some)
    assert made.startswith("**1 of 3 claims of the paper, and 0 of 1 of ours hold.**\n")
    titles = [line for line in made.splitlines() if line.startswith("## ")]
    assert titles == [
        "## The paper's claims that do not hold",
        "## The paper's claims that hold",
        "## Our claims that do not hold",
    ]
    assert "| **no** | a \\| b &lt;i> | paper | 0.5 | 1 to never | 3 | `runs/x` |" in made
    assert made.count("| **no** |") == 3
    assert tally(some[:1]) == "**1 of 1 claims of the paper hold.**"


def test_the_short_table_keeps_its_order_and_links_to_all(tmp_path):
    some = [claim(id, "BERS", True, text=id) for id in reversed(HEAD[:3])]
    made = head_claims([*some, claim("another", "paper", False, text="another")])
    shown = [line.split(" | ")[1] for line in made.splitlines()[2:5]]
    assert shown == list(HEAD[:3])
    assert "another" not in made
    assert "0 of 1 claims of the paper, and 3 of 3 of ours hold.**" in made
    assert "(docs/claims.md#the-papers-claims-that-do-not-hold)" in made
    page = tmp_path / "docs" / "index.md"
    text = "<!-- claims: head -->\n<!-- end of claims -->\n"
    assert "[all of them](claims.md)" in filled(page, text, some)


def test_only_what_stands_between_the_comments_changes(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("above\n<!-- claims: all -->\nold\n<!-- end of claims -->\nbelow\n")
    some = [claim("a", "BERS", True)]
    assert fill_in([page], some) == [page]
    made = page.read_text()
    assert made == (
        f"above\n<!-- claims: all -->\n\n{all_claims(some)}\n<!-- end of claims -->\nbelow\n"
    )
    assert fill_in([page], some) == []


@pytest.mark.parametrize(
    "text", ["", "<!-- claims: all -->\n", "<!-- claims: some -->\n<!-- end of claims -->\n"]
)
def test_a_page_without_a_place_is_refused_and_no_other_is_written(tmp_path, text):
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("<!-- claims: all -->\n<!-- end of claims -->\n")
    bad.write_text(text)
    with pytest.raises(ConfigError, match=r"bad.md has no place for claims. Put the lines"):
        fill_in([good, bad], [claim("a", "BERS", True)])
    assert "0.5" not in good.read_text()
    with pytest.raises(ConfigError, match=r"cannot read .*missing.md: No such file"):
        fill_in([tmp_path / "missing.md"], [])
