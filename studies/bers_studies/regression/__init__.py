"""Regression on real groups: what do they learn from each other, and what does it cost?"""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="schools, reactions, firms, tuning: groups that learn from each other",
    trials=5,
    parts=5,
    quick_trials=1,
    needs=("sklearn", "pandas", "statsmodels", "onnxruntime"),
    order=165,
    page="docs/sklearn.md",
)
