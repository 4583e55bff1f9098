"""The paper's metric on Rastrigin: everything that was tried to make it favour Sphere."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="readings of the paper's settings",
    trials=5,
    sources=("Rosenbrock", "Ackley", "Sphere"),
    seconds=144,
    order=20,
    places={"": "paper, section 4.3", "demonstration-sizes": "paper, appendix, static functions"},
)
