"""Minimising BBOB's functions with past runs: who is ahead, and what misleading runs cost."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="BBOB's functions with past runs",
    trials=5,
    parts=48,
    quick_trials=1,
    order=45,
    needs=("ioh", "optuna"),
    head=("bbob-displaced-10-100", "bbob-misleading", "bbob-many"),
    page="docs/minimize.md",
)
