"""BayBE on reactions: how many experiments until a yield of the top 1%?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="reactions with earlier ones, beside BayBE in its own environment",
    trials=5,
    parts=6,
    quick_trials=1,
    needs=("optuna", "pandas", "cmaes", "onnxruntime"),
    order=133,
    page="docs/optuna.md",
)
