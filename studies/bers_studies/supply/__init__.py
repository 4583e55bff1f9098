"""The paper's second study: the supply chain with DDPG."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="the supply chain, nine methods, four ground truths",
    trials=5,
    sources=("scenario 1", "scenario 2", "scenario 3"),
    seconds=1020,
    parts=4,
    quick_trials=1,
    order=70,
    head=("supply-best-expert-target-bers", "supply-equal-weights-bers"),
    page="docs/supply.md",
    places={
        "": "paper, section 4.3",
        "supply-finds": "paper, figure 5",
        "supply-per": "paper, appendix, prioritised replay",
    },
)
