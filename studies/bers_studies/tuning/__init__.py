"""Earlier studies for tuning: what they save, and what misleading ones cost."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="Optuna with earlier studies, five families of tuning problems",
    trials=20,
    seconds=15,
    parts=5,
    quick_trials=1,
    needs=("optuna", "sklearn", "cmaes"),
    order=130,
    head=("tuning-saved-kernel-ridge", "tuning-saved-boosting"),
    page="docs/optuna.md",
)
