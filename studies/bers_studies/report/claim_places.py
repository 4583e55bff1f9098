"""Where each claim is made: the place in the paper, or the page of ours.

Enters: the id of a claim and who says it. Leaves: words for a table. Ids start with the name of
what is claimed, so a place is found by the longest beginning.
"""

_DISCUSSION, _APPENDIX = "paper, section 4.3", "paper, appendix"

_PAPER = {
    "small-gap": _DISCUSSION,
    "identified": _DISCUSSION,
    "fewer-than-ucb": _DISCUSSION,
    "less-variable": _DISCUSSION,
    "favours-sphere": _DISCUSSION,
    "quicker-minimum": _DISCUSSION,
    "multi-task": "paper, figure 2",
    "smooth": _DISCUSSION,
    "ucb-is-strong": _DISCUSSION,
    "demonstration-sizes": f"{_APPENDIX}, static functions",
    "latent-converges": "paper, figure 3",
    "supply": _DISCUSSION,
    "supply-finds": "paper, figure 5",
    "supply-per": f"{_APPENDIX}, prioritised replay",
    "reacher": "the authors' later work",
}
_OURS = {
    "best-expert": "docs/static.md",
    "ahead-of-ucb": "docs/static.md",
    "rastrigin-below": "docs/static.md",
    "safe": "docs/minimize.md",
    "growth": "docs/static.md",
    "supply": "docs/supply.md",
    "reacher": "docs/reacher.md",
    "agents": "docs/sb3.md",
    "tuning": "docs/optuna.md",
    "trust": "docs/weights.md",
    "nobody": "docs/robustness.md",
    "grunfeld": "docs/weights.md",
    "heads": "docs/heads.md",
}


def place(id: str, said_by: str) -> str:
    """The place of a claim; who says it, where the place is not known.

    >>> place("supply-per-early-1", "paper"), place("growth", "BERS"), place("other", "paper")
    ('paper, appendix, prioritised replay', 'docs/static.md', 'paper')
    """
    known = _PAPER if said_by == "paper" else _OURS
    found = max((start for start in known if id.startswith(start)), key=len, default=None)
    return said_by if found is None else known[found]
