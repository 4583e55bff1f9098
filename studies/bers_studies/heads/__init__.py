"""How well the heads learn the paper's test functions."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="error and calibration of every head",
    trials=5,
    seconds=72,
    order=170,
    page="docs/heads.md",
)
