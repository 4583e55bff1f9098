"""Agents of Stable-Baselines3 with several demonstrators: with our weights, and without."""

from bers_studies.study import Study

STUDY = Study(
    __name__,
    about="agents of Stable-Baselines3 with several demonstrators",
    trials=5,
    seconds=150,
    parts=5,
    quick_trials=1,
    needs=("stable_baselines3", "torch"),
    order=120,
    head=("agents-ahead-none-supply-chain-td3", "agents-safe-none-pendulum-sac-all-mislead"),
    page="docs/sb3.md",
)
