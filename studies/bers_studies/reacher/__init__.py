"""The authors' later study: an arm that reaches for a new goal, with four demonstrators."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="an arm with DQN, nine methods, two new goals",
    trials=5,
    seconds=520,
    parts=2,
    quick_trials=1,
    order=100,
    head=("reacher-improves-upper-right", "reacher-both-bers"),
    page="docs/reacher.md",
    places={"": "the authors' later work"},
)
