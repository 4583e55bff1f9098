"""A small tuning problem, and studies of it, for tests of the sampler."""

import numpy as np
import optuna
import pytest
from optuna.samplers import TPESampler
from optuna.trial import create_trial


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def near(rate, width, kind="b"):
    """Least, and 0, at a learning rate, a width and a kind of layer."""

    def objective(trial):
        off = np.log10(trial.suggest_float("rate", 1e-5, 1.0, log=True) / rate)
        wide = (trial.suggest_int("width", 8, 128, step=8) - width) / 60
        return off**2 + wide**2 + (trial.suggest_categorical("kind", ["a", "b", "c"]) != kind)

    return objective


def study_of(objective, trials=40, sampler=None, direction="minimize"):
    """By TPE unless a sampler is given."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler or TPESampler(seed=0), direction=direction)
    study.optimize(objective, n_trials=trials)
    return study


def values(study):
    return [trial.value for trial in study.trials]


def params(study):
    return [trial.params for trial in study.trials]


def turned(past):
    """The trials of all studies upside down."""
    return {
        name: [
            create_trial(params=t.params, distributions=t.distributions, value=-t.value)
            for t in study.trials
        ]
        for name, study in past.items()
    }
