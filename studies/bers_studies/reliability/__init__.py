"""How often is a source right that is said to be right with 99%?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="claimed against right, on a thousand targets of four kinds",
    trials=1,
    parts=6,
    quick_trials=1,
    needs=("ioh", "cmaes", "pandas", "scipy", "onnxruntime"),
    order=168,
    page="docs/weights.md",
)
