"""Reactions in up to 100 experiments: what do those that were carried out before save?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="reactions in up to 100 experiments, chosen from a list",
    trials=10,
    parts=5,
    quick_trials=1,
    needs=("pandas",),
    order=47,
    head=("reactions-half",),
    page="docs/minimize.md",
)
