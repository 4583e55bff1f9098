"""Which rule finds the right source, and how soon."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="which rule finds the right source",
    trials=20,
    sources=("Rosenbrock", "Ackley", "Sphere"),
    seconds=72,
    order=140,
    head=("trust-rastrigin",),
    page="docs/weights.md",
)
