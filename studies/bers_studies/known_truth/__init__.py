"""Does the default say who is right, on tables whose true answer is known?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="tables whose true answer is known",
    trials=10,
    quick_trials=1,
    needs=("sklearn",),
    order=155,
    page="docs/robustness.md",
)
