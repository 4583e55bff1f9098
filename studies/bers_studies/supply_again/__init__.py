"""The supply chain again, by the library's defaults as they are now."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the supply chain again, by today's defaults alone",
    trials=5,
    seconds=160,
    parts=4,
    quick_trials=1,
    order=75,
    page="docs/supply.md",
)
