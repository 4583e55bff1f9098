"""What would each demonstrator have earned in the new task?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the worth of nine demonstrators of the supply chain",
    trials=5,
    seconds=150,
    quick_trials=1,
    order=95,
    page="docs/trust.md",
)
