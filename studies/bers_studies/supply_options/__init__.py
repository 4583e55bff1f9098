"""What each part of reuse is worth in control."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="what each part of control is worth",
    trials=5,
    sources=("scenario 1", "scenario 2", "scenario 3"),
    seconds=1080,
    parts=2,
    quick_trials=1,
    order=80,
)
