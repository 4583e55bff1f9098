"""Whom an arm trusts, for goals all over the disc it can reach."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="whom the arm trusts, for a hundred goals",
    trials=1,
    seconds=240,
    quick_trials=1,
    order=110,
)
