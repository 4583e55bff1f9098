"""Ranking many real sources: eleven firms, each in turn the new task."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="eleven firms, each in turn the new task",
    trials=11,
    seconds=22,
    given="firm",
    needs=("statsmodels",),
    order=160,
    page="docs/weights.md",
)
