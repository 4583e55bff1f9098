"""The little Markdown of our own tables, as HTML.

Enters: paragraphs, bold words, code and tables. Leaves: HTML in which everything else is text.
"""

import re
from html import escape


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
    if len(lines) < 2 or set(lines[1]) - set("|-: "):
        return _words(block)  # no table, whatever it is
    head, _, *rows = [_cells(line) for line in lines]
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="table"><table><thead><tr>{top}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def _cells(line: str) -> list[str]:
    return [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    safe = escape(text)
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
