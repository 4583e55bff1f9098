"""The paper's four functions again, by today's default search."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the paper's four functions again, by the default search",
    trials=10,
    quick_trials=1,
    order=48,
    page="docs/static.md",
)
