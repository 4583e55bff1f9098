"""Whose order of settings holds on a new data set, after a few trials?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the order of settings on a new data set, foretold by 33 others",
    trials=17,
    quick_trials=1,
    needs=("scipy", "onnxruntime"),
    order=169,
    page="docs/weights.md",
)
