"""Claims as Markdown, and pages whose tables of claims are filled in, never typed.

Enters: claims; pages with a pair of comments. Leaves: Markdown; the same pages with what stands
between the comments made anew. `<!-- claims: head -->` is the short table, `<!-- claims: all -->`
has all of them; both end at `<!-- end of claims -->`.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bers.errors import ConfigError
from bers.files import write_atomically
from bers_studies.report.claim import Claim
from bers_studies.report.curves import table
from bers_studies.study import studies

_MEASURED = ("measured", "95% interval", "trials")
_WHO = {"paper": "The paper's claims", "BERS": "Our claims"}
_ENDS: dict[str, Callable[[Claim], bool]] = {
    "that do not hold": lambda c: not c.holds_somehow,
    "that hold in another reading": lambda c: c.holds_somehow and not c.holds,
    "that hold": lambda c: c.holds,
}
_MARKED = re.compile(r"(<!-- claims: (head|all) -->\n).*?(<!-- end of claims -->)", re.S)


def all_claims(found: Sequence[Claim]) -> str:
    """Every claim with all that is known of it: the paper's and ours, first those that fail.

    >>> one = Claim("a", "it works", "BERS", "0.9", (0.8, 1.0), 20, True, "runs/a")
    >>> print(all_claims([one]).splitlines()[-1])
    | yes | it works | BERS | 0.9 | 0.8 to 1 | 20 | `runs/a` |
    """
    lines = [tally(found)]
    for who, title in _WHO.items():
        for end, belongs in _ENDS.items():
            chosen = [c for c in found if c.said_by == who and belongs(c)]
            if not chosen:
                continue
            headings = ["holds", "claim", "where", *_MEASURED, "journal"]
            rows = [
                [_yes(c), c.claim, c.where or who, c.measured, c.span, str(c.trials), _code(c)]
                for c in chosen
            ]
            if any(c.best for c in chosen):
                headings.append("in its best reading")
                rows = [[*row, _read(c.best)] for row, c in zip(rows, chosen, strict=True)]
            lines += ["", f"## {title} {end}", "", *table(headings, _escaped(rows))]
    return "\n".join(lines) + "\n"


def head_claims(found: Sequence[Claim], page: str = "docs/claims.md") -> str:
    """The claims that studies put first, with the number of those that hold; `page` has all.

    >>> one = Claim("trust-rastrigin", "it works", "BERS", "0.9", None, 20, True, "runs/a")
    >>> print(head_claims([one]).splitlines()[2])
    | yes | it works | BERS | 0.9 |  | 20 |
    """
    known = {c.id: c for c in found}
    chosen = [known[id] for study in studies().values() for id in study.head if id in known]
    rows = [[_yes(c), c.claim, c.said_by, c.measured, c.span, str(c.trials)] for c in chosen]
    lines = table(["holds", "claim", "said by", *_MEASURED], _escaped(rows))
    failing = f"{page}#the-papers-claims-that-do-not-hold"
    lines += ["", f"{tally(found)} [Those that do not]({failing}); [all of them]({page})."]
    return "\n".join(lines) + "\n"


def tally(found: Sequence[Claim]) -> str:
    """How many hold, of the paper's and of ours.

    >>> from dataclasses import replace
    >>> one = Claim("a", "it works", "paper", "0.9", None, 20, False, "runs/a")
    >>> tally([one])
    '**0 of 1 claims of the paper hold.**'
    >>> tally([replace(one, best=replace(one, holds=True, reading="another"))])
    '**0 of 1 claims of the paper hold as printed, 1 in their best reading.**'
    """
    paper, ours = ([c for c in found if c.said_by == who] for who in _WHO)
    said = f"{sum(c.holds for c in paper)} of {len(paper)} claims of the paper" if paper else ""
    if any(c.best for c in paper):
        said += f" hold as printed, {sum(c.holds_somehow for c in paper)} in their best reading"
    if ours:
        said += f"{', and ' if paper else ''}{sum(c.holds for c in ours)} of {len(ours)} of ours"
    return f"**{said}{'' if ' hold as' in said and not ours else ' hold'}.**"


def filled(page: Path, text: str, found: Sequence[Claim]) -> str:
    """The text of a page with its tables of claims made anew."""
    if not _MARKED.search(text):
        raise ConfigError(
            f"{page} has no place for claims. Put the lines <!-- claims: head --> (or: all) and "
            "<!-- end of claims --> where the table shall stand."
        )
    inside = "claims.md" if page.absolute().parent.name == "docs" else "docs/claims.md"
    made = {"head": lambda: head_claims(found, inside), "all": lambda: all_claims(found)}
    return _MARKED.sub(lambda m: f"{m[1]}\n{made[m[2]]()}\n{m[3]}", text)


def fill_in(pages: Sequence[Path], found: Sequence[Claim]) -> list[Path]:
    """Write the tables of claims into pages; gives those that changed. Bad pages stop all."""
    made = {}
    for page in pages:
        try:
            text = page.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read {page}: {error.strerror}. Name a page.") from error
        after = filled(page, text, found)
        if after != text:
            made[page] = after
    for page, text in made.items():
        with write_atomically(page) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(made)


def _yes(claim: Claim) -> str:
    return "yes" if claim.holds else "**no**"


def _code(claim: Claim) -> str:
    return f"`{claim.journal}`"


def _read(best: Claim | None) -> str:
    """What became of a claim in its best reading, in a cell."""
    if best is None:
        return ""
    said = f"{_yes(best)}: {best.measured}"
    trials = f"{best.trials} trial{'s' * (best.trials != 1)}"
    return f"{said} ({best.reading}; {trials}, {_code(best)})"


def _escaped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in row] for row in rows]
