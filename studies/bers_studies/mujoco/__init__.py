"""HalfCheetah at some velocity, with the logs of three policies that ran at others."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="HalfCheetah at some velocity, with the logs of others",
    trials=2,
    seconds=200,
    parts=2,
    quick_trials=1,
    needs=("stable_baselines3", "torch", "mujoco"),
    order=124,
    head=("mujoco-never-below", "mujoco-mislead"),
    page="docs/sb3.md",
)
