"""Does the default rule say "nobody" when nobody is like the target?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="sources that nobody should trust",
    trials=20,
    seconds=42,
    order=150,
    head=("nobody-noise",),
    page="docs/robustness.md",
)
