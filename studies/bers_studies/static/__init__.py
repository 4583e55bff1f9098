"""The paper's first study: four functions with past runs on three, and all four at once."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="past runs on four functions, in both forms, against thirteen other methods",
    trials=20,
    sources=("Rosenbrock", "Ackley", "Sphere"),
    seconds=90,
    needs=("cmaes",),
    order=10,
    head=("best-expert-rastrigin", "ahead-of-ucb-rastrigin", "favours-sphere-paper"),
    page="docs/static.md",
    places={"": "paper, section 4.3", "multi-task": "paper, figure 2"},
)
