"""What the paper says of the supply chain, in the readings that were chosen."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the paper's supply chain in its best readings",
    trials=5,
    sources=("scenario 1", "scenario 2", "scenario 3"),
    parts=11,
    quick_trials=1,
    order=73,
    places={
        "": "paper, section 4.3",
        "supply-finds": "paper, figure 5",
        "supply-per": "paper, appendix, prioritised replay",
    },
)
