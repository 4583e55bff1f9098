"""More and more past runs, of which one is right."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="up to 64 past runs of which one is right",
    trials=20,
    seconds=150,
    order=50,
    page="docs/static.md",
)
