"""Past runs that mislead: is the search ever much worse than without them?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="past runs that mislead",
    trials=20,
    seconds=120,
    order=40,
    head=("safe-other-functions-sphere",),
    page="docs/minimize.md",
)
