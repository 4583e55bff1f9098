"""What the paper leaves unsaid about the functions: readings, and the best one's claims."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the paper's functions in other readings of it",
    trials=13,
    sources=("Rosenbrock", "Ackley", "Sphere"),
    quick_trials=2,
    order=21,
    places={
        "": "paper, section 4.3",
        "multi-task": "paper, figure 2",
        "demonstration-sizes": "paper, appendix, static functions",
    },
)
