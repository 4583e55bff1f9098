"""What the paper leaves unsaid about the supply chain: readings, one thing changed at a time."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="readings of what the paper leaves unsaid about the supply chain",
    trials=3,
    sources=("scenario 1", "scenario 2", "scenario 3"),
    seconds=45,
    parts=24,
    quick_trials=1,
    order=72,
)
