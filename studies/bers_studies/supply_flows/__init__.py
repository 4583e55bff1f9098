"""Where goods go in the supply chain, once an agent has learned for a while."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="what goes along each route of the supply chain",
    trials=1,
    seconds=120,
    parts=4,
    quick_trials=1,
    order=90,
)
