"""Movement of the posterior means of w in a model with two features."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="how the heads' means move with two features",
    trials=5,
    seconds=24,
    order=30,
    places={"": "paper, figure 3"},
)
