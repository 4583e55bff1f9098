"""A cart on a track with three people's logs: own goal, a goal near one of theirs, nobody's."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="a cart on a track: a goal of one's own near those of others",
    trials=5,
    seconds=50,
    parts=3,
    quick_trials=1,
    needs=("stable_baselines3", "torch"),
    order=122,
    head=("track-final-near",),
    page="docs/sb3.md",
)
