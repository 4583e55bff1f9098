"""Whom the paper's metric trusts in the supply chain, by what the model is shown and told."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="weights of the paper's metric in the supply chain, reading by reading",
    trials=3,
    sources=("scenario 1", "scenario 2", "scenario 3"),
    quick_trials=1,
    parts=14,
    order=71,
)
