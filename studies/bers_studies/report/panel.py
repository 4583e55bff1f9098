"""What a study adds to its part of the page, beside the charts that all studies have."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Panel:
    """Drawings of one kind under a heading. A study's `view.py` offers them as `panels(runs)`."""

    title: str
    figures: Sequence[tuple[str, str]]
    """Captions, each with its SVG as text."""
    names: Sequence[str] = ()
    """What a reader can switch off: the elements of class m0, m1, ... in every SVG."""
    legend: str = "Lines"
    """What these are."""
    frames: bool = False
    """Whether every SVG is of class "frames" and shows its groups of class "frame" one by one."""
    note: str = ""
    """HTML between heading and drawings, such as that of `keys`."""


def keys(text: str, names: Sequence[str]) -> str:
    """A line that says which colour (class c0, c1, ...) means what.

    >>> keys("Price:", ["low"])
    '<p class="routes">Price: <span class="c0"><span class="key"></span>low</span></p>'
    """
    told = "\n".join(
        f'<span class="c{i}"><span class="key"></span>{escape(name)}</span>'
        for i, name in enumerate(names)
    )
    return f'<p class="routes">{escape(text)} {told}</p>'
