"""The arm again, by the library's defaults as they are now."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the arm again, by today's defaults alone",
    trials=5,
    seconds=110,
    parts=2,
    quick_trials=1,
    order=101,
    page="docs/reacher.md",
)
