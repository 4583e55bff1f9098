"""What the site's builder does with Markdown beyond its own extensions.

Enters: a page, or a docstring. Leaves: equations in ```math fences drawn by Matplotlib, so that
readers need no script and no font; examples of docstrings as code.
"""

import html
import io
import re
from typing import Any

import griffe
from matplotlib import rc_context
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import math_to_image

_EQUATION = re.compile(r"\[Eq\. (\w+)\]")
_EXAMPLE = re.compile(r"^(>>> .*(?:\n.+)*)", re.M)
_SIZE = 13  # points, beside text of the same size


def fence(source: str, *_: Any, **__: Any) -> str:
    """The Markdown extension superfences calls this for every fence named math.

    >>> fence("a = b").startswith('<div class="math"><svg')
    True
    """
    return f'<div class="math">{equation(source)}</div>'


def equation(latex: str) -> str:
    """One displayed equation as an SVG in the colour of the text; its source is what is read out.

    >>> equation("a = b").count("<svg")
    1
    """
    source = " ".join(latex.split())
    drawn = io.StringIO()
    font = FontProperties(math_fontfamily="stix", size=_SIZE)
    with rc_context({"svg.hashsalt": source, "savefig.facecolor": "none"}):
        math_to_image(f"${source}$", drawn, prop=font, format="svg")
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    # its description, a style for all of the page, and names that every equation would share
    for part in ("<metadata>.*?</metadata>", "<style.*?</style>", "<!--.*?-->", ' id="[a-z]+_1"'):
        svg = re.sub(part, "", svg, flags=re.S)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(source)}"', 1)
    return " ".join(svg.split())


class Examples(griffe.Extension):
    """Doctests in docstrings are code, not quotes within quotes."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Griffe calls this for every object that it has read."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring with a fence around every doctest, which ends at a blank line.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2").splitlines()[2:]
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    return _EQUATION.sub(r"[\\[Eq. \1\\]][eq-\1]", _EXAMPLE.sub(r"```pycon\n\1\n```", text))
