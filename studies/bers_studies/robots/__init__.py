"""Robots of MuJoCo with other goals, and nine logs of three goals and three skills."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="four robots with the logs of others: near, between, misled; goal and skill",
    trials=5,
    parts=11,
    quick_trials=1,
    needs=("stable_baselines3", "torch", "mujoco"),
    order=125,
)
