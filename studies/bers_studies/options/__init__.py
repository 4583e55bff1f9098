"""What each part of reuse is worth: the guard, the number of points, who picks them."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="what each part of reuse is worth",
    trials=20,
    sources=("Rosenbrock", "Ackley", "Sphere"),
    seconds=72,
    order=60,
)
