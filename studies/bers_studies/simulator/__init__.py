"""Simulators of twelve variables, 200 evaluations, five past runs of which few are of use."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="simulators with few evaluations and five past runs",
    trials=3,
    parts=8,
    quick_trials=1,
    order=46,
    needs=("optuna",),
    head=("simulator-50",),
    page="docs/minimize.md",
)
