"""What does it cost the target's head if all sources mislead, one of them or fifty?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="what one to fifty misleading sources cost",
    trials=5,
    quick_trials=1,
    order=151,
    page="docs/robustness.md",
)
