"""What is left unsaid about the arm: readings, and the authors' claims in the best one."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the authors' arm in other readings of the recipe",
    trials=6,
    parts=2,
    quick_trials=1,
    order=91,
    places={"": "the authors' later work"},
)
