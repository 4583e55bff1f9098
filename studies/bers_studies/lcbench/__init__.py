"""LCBench: what 33 earlier studies are worth when a neural network is tuned on new data."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="a neural network's tuning with 33 earlier studies",
    trials=5,
    parts=51,
    quick_trials=1,
    needs=("optuna", "cmaes", "onnxruntime"),
    order=132,
    head=("lcbench-regret-20-random", "lcbench-trials-random"),
    page="docs/optuna.md",
)
