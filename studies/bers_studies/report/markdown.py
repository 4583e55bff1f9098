"""The little Markdown of our own tables, as HTML or as what a terminal shows.

Enters: paragraphs, bold words, code and tables. Leaves: HTML in which everything else is text; or
plain words, and tables as rows of cells.
"""

import re
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Plain:
    """A paragraph, or a table with its headings."""

    words: str = ""
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def to_plain(text: str) -> list[Plain]:
    """Paragraphs and tables without marks.

    >>> to_plain("**Sphere**\\n\\n| a | b |\\n|---|---|\\n| 1 | `x` |")[1].rows
    (('1', 'x'),)
    """
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if _is_table(lines):
            head, _, *rows = [tuple(_unmarked(cell) for cell in _split(line)) for line in lines]
            # a row that is short or long would not fit under the headings
            rows = [(*row, *[""] * len(head))[: len(head)] for row in rows]
            found.append(Plain(headings=head, rows=tuple(rows)))
        else:
            found.append(Plain(_unmarked(" ".join(lines).lstrip("# "))))
    return found


def _is_table(lines: list[str]) -> bool:
    return len(lines) > 1 and lines[0].startswith("|") and not set(lines[1]) - set("|-: ")


def _unmarked(text: str) -> str:
    return re.sub(r"`(.+?)`", r"\1", re.sub(r"\*\*(.+?)\*\*", r"\1", text))


def to_html(text: str) -> str:
    """Paragraphs and tables.

    >>> print(to_html("**Sphere** <1>\\n\\n| a | b |\\n|---|---|\\n| 1 | `x` |"))
    <p><strong>Sphere</strong> &lt;1&gt;</p>
    <div class="table"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
    <tr><td>1</td><td><code>x</code></td></tr>
    </tbody></table></div>
    """
    blocks = re.split(r"\n\s*\n", text.strip())
    return "\n".join(_table(block) if block.startswith("|") else _words(block) for block in blocks)


def _words(block: str) -> str:
    if block.startswith("#"):
        return f"<h4>{_inline(block.lstrip('# '))}</h4>"
    return f"<p>{_inline(' '.join(block.splitlines()))}</p>"


def _table(block: str) -> str:
    lines = block.splitlines()
    if not _is_table(lines):
        return _words(block)  # no table, whatever it is
    head, _, *rows = [_cells(line) for line in lines]
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="table"><table><thead><tr>{top}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def _cells(line: str) -> list[str]:
    return [_inline(cell) for cell in _split(line)]


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    safe = escape(text)
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
